"""The backend that picks a backend: by the size and density of each system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .system import LaplacianSystem, Solution

# Up to here factorisation wins: the systems are quotients of planar graphs, whose factors stay sparse.
DIRECT_LIMIT = 200_000


@dataclass(frozen=True)
class Auto:
    """Factorise while that is cheapest, else multigrid."""

    def choose(self, system: LaplacianSystem) -> Any:
        if system.n <= DIRECT_LIMIT:
            from .direct import Direct

            return Direct()
        from .multigrid import Multigrid

        return Multigrid()

    def solve(self, system: LaplacianSystem) -> Solution:
        return self.choose(system).solve(system)
