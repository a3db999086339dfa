"""The solver of the paper's experiments: conjugate gradients from zero, Jacobi, to 10⁻³ of the right-hand side.

Its imprecision shows in tables. Without outlier reweighting the second alignment repeats the first; solved exactly, the
energy then does not change and the loop ends there, while imprecise solves keep it going (bear, θ 2°: 0.19 mm against
0.05). The tables of the paper are therefore made with this solver; the library's own are more precise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import laplacians
from laplacians.backends.numba_cg import conjugate_gradients

NAME = "paper-cg"


@dataclass(frozen=True)
class PaperCG:
    """CG that stops at `rtol` of the right-hand side by its own running residual, as SciPy's does."""

    rtol: float = 1e-3
    maxiter: int = 5000

    def solve(self, system: laplacians.LaplacianSystem) -> laplacians.Solution:
        start, neighbour, pair = system.pattern.adjacency
        x = np.zeros(system.n)
        if not system.rhs.any():
            return laplacians.Solution(x, True, 0, 0.0)
        used = conjugate_gradients(
            start, neighbour, system.weight[pair], system.diagonal, system.rhs.copy(), x, self.rtol, self.maxiter
        )
        return laplacians.Solution(system.centred(x), used < self.maxiter, used, system.residual(x))


laplacians.register(NAME, PaperCG)
