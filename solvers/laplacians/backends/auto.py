"""The backend that chooses a backend: by where a system is, its size, and how earlier systems of its pattern went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import array_namespace
from ..pattern import Pattern
from ..solution import Solution
from ..system import LaplacianSystem
from .cupy_cg import CupyCG
from .direct import Direct
from .multigrid import Multigrid

# Chosen on the systems of the benchmark objects; docs/solvers.md has the measurements. A factorisation costs n^1.5 whatever
# the weights are, and its ordering is found once per pattern. Multigrid costs n for each of its iterations, of which there
# are ten for uniform weights and a hundred for some reweighted ones.
ALWAYS_DIRECT = 30_000  # up to this number of unknowns factorisation always wins
DIRECT_ON_QUOTIENTS = 200_000  # the same for quotient graphs, in which some components have many neighbours
GRID_DEGREE = 8  # the most neighbours that a pixel can have
ITERATIONS_PER_ROOT = (
    0.1  # factorise if multigrid has taken more iterations, on average over a pattern, than this times √n
)


@dataclass(frozen=True)
class Auto:
    """CG on the GPU for a system that is there; otherwise factorisation or multigrid, whichever should be quicker.

    Examples
    --------
    >>> from quotientgraph import solvers
    >>> system = solvers.LaplacianSystem.from_edges(2, [0], [1], [1.0], [2.0])
    >>> Auto().choose(system)
    Direct(rtol=1e-08, dense_up_to=96)
    """

    on_device = True

    def choose(self, system: LaplacianSystem) -> Any:
        """The solver for a system; nothing is solved."""
        if array_namespace(system.weight) is not np:
            return CupyCG()
        solves, iterations = system.pattern.memo.get("auto", (0, 0))
        hard = iterations > ITERATIONS_PER_ROOT * system.n**0.5 * solves > 0
        return Direct() if hard or _is_for_direct(system.pattern) else Multigrid()

    def prepare(self, pattern: Pattern) -> None:
        """Have what depends on a pattern alone found while the caller goes on."""
        if array_namespace(pattern.tail) is np and _is_for_direct(pattern):
            Direct().prepare(pattern)

    def solve(self, system: LaplacianSystem) -> Solution:
        """Solve a system with the backend chosen for it, and remember with its pattern how many iterations it took."""
        solution = self.choose(system).solve(system)
        if solution.iterations > 1:
            solves, iterations = system.pattern.memo.get("auto", (0, 0))
            system.pattern.memo["auto"] = solves + 1, iterations + solution.iterations
        return solution


def _is_for_direct(pattern: Pattern) -> bool:
    """Whether systems of a pattern are factorised from the start."""
    return pattern.n <= ALWAYS_DIRECT or (pattern.n <= DIRECT_ON_QUOTIENTS and _has_hubs(pattern))


def _has_hubs(pattern: Pattern) -> bool:
    """Whether some unknown has more neighbours than a pixel can have."""
    return bool(np.diff(pattern.adjacency[0]).max(initial=0) > GRID_DEGREE)
