"""The solver of the paper's experiments: conjugate gradients with a Jacobi preconditioner, from zero to a tolerance of 10⁻³.

Its imprecision shows in the paper's tables. Without outlier reweighting the second alignment repeats the first. Solved
exactly, the energy then does not change and the loop ends there; imprecise solves keep it going (bear at θ 2° ends at
0.19 mm instead of 0.05 mm). The tables of the paper are therefore made with this solver; the library's own are more precise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import laplacians
from laplacians.backends.numba_cg import conjugate_gradients

NAME = "paper-cg"


@dataclass(frozen=True)
class PaperCG:
    """Conjugate gradients that stop as SciPy's do: when the residual they update is below `rtol` of the right-hand side."""

    rtol: float = 1e-3
    maxiter: int = 5000

    def solve(self, system: laplacians.LaplacianSystem) -> laplacians.Solution:
        start, neighbour, pair = system.pattern.adjacency
        x = np.zeros(system.n)
        if not system.rhs.any():
            return laplacians.Solution(x, True, 0, 0.0)
        used = conjugate_gradients(
            start, neighbour, system.weight[pair], system.diagonal, system.rhs, x, self.rtol, self.maxiter
        )
        return laplacians.Solution(system.centred(x), used < self.maxiter, used, system.residual(x))
