"""The backend that picks a backend: by where a system is, its size, and how the last one of its pattern went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import array_namespace
from ..system import LaplacianSystem, Solution

# Measured on the benchmark's systems, see docs/solvers.md. A factorisation costs n^1.5 whatever the weights are; its
# ordering is found once per pattern. Multigrid costs n for each of its iterations: ten for uniform weights, a hundred
# for some reweighted ones. Up to so many unknowns factorisation always wins; on quotient graphs, where some components
# have many neighbours, up to the second number; beyond, and on pixel grids, once multigrid has taken more iterations on
# average than the last constant times √n. One hard system alone decides nothing.
ALWAYS_DIRECT = 30_000
DIRECT_ON_QUOTIENTS = 200_000
GRID_DEGREE = 8  # neighbours that a pixel has at most
ITERATIONS_PER_ROOT = 0.1


@dataclass(frozen=True)
class Auto:
    """CG on the GPU for a system that is there; else factorise or multigrid, whichever is cheaper."""

    on_device = True

    def choose(self, system: LaplacianSystem) -> Any:
        if array_namespace(system.weight) is not np:
            from .cupy_cg import CupyCG

            return CupyCG()
        solves, iterations = system.pattern.memo.get("auto", (0, 0))
        hard = iterations > ITERATIONS_PER_ROOT * system.n**0.5 * solves > 0
        if system.n <= ALWAYS_DIRECT or hard or (system.n <= DIRECT_ON_QUOTIENTS and _has_hubs(system)):
            from .direct import Direct

            return Direct()
        from .multigrid import Multigrid

        return Multigrid()

    def solve(self, system: LaplacianSystem) -> Solution:
        solution = self.choose(system).solve(system)
        if solution.iterations > 1:
            solves, iterations = system.pattern.memo.get("auto", (0, 0))
            system.pattern.memo["auto"] = solves + 1, iterations + solution.iterations
        return solution


def _has_hubs(system: LaplacianSystem) -> bool:
    """Whether some unknown has more neighbours than a pixel can have."""
    return bool(np.diff(system.pattern.adjacency[0]).max(initial=0) > GRID_DEGREE)
