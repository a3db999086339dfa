"""Conjugate gradients of SciPy with a Jacobi preconditioner: the plain reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .options import IterativeOptions
from .system import LaplacianSystem, Solution


def status() -> tuple[str | None, str]:
    import scipy

    return None, scipy.__version__


@dataclass(frozen=True)
class ScipyCG(IterativeOptions):
    """`scipy.sparse.linalg.cg`, starting from zero."""

    def solve(self, system: LaplacianSystem) -> Solution:
        from scipy.sparse import diags_array
        from scipy.sparse.linalg import cg

        rhs = system.rhs
        if not rhs.any():
            return Solution(np.zeros(system.n), True, 0, 0.0)
        count = 0

        def step(_: np.ndarray) -> None:
            nonlocal count
            count += 1

        diagonal = system.diagonal
        inverse = np.divide(1.0, diagonal, out=np.ones_like(diagonal), where=diagonal > 0)
        x, failed = cg(system.matrix, rhs, rtol=self.rtol, maxiter=self.maxiter, M=diags_array(inverse), callback=step)
        return Solution(system.centred(x), failed == 0, count, system.residual(x))
