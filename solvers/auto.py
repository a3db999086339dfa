"""The backend that picks a backend: by where a system is, its size and its density."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .arrays import array_namespace
from .system import LaplacianSystem, Solution

# Measured, see docs/solvers.md. Factorisation wins on quotient graphs of any size met so far: its cost grows faster than
# the number of unknowns, but their ordering is found once and the weights change many times.
DIRECT_LIMIT = 30_000


@dataclass(frozen=True)
class Auto:
    """CG on the GPU for a system that is there; else factorise while that is cheapest, else multigrid."""

    on_device = True

    def choose(self, system: LaplacianSystem) -> Any:
        import numpy as np

        if array_namespace(system.weight) is not np:
            from .cupy_cg import CupyCG

            return CupyCG()
        if system.n <= DIRECT_LIMIT:
            from .direct import Direct

            return Direct()
        from .multigrid import Multigrid

        return Multigrid()

    def solve(self, system: LaplacianSystem) -> Solution:
        return self.choose(system).solve(system)
