"""Conjugate gradients of SciPy with a Jacobi preconditioner: the plain reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.stopping import MARGIN, IterativeOptions
from ..system import LaplacianSystem, Solution


def status() -> tuple[str | None, str]:
    from importlib.metadata import version

    return None, version("scipy")


@dataclass(frozen=True)
class ScipyCG(IterativeOptions):
    """`scipy.sparse.linalg.cg`, starting from zero."""

    def solve(self, system: LaplacianSystem) -> Solution:
        from scipy.sparse import diags_array

        if system.settled:
            return system.nothing()
        diagonal = system.diagonal
        inverse = np.divide(1.0, diagonal, out=np.ones_like(diagonal), where=diagonal > 0)
        x, iterations, residual = conjugate_gradients(
            system, np.zeros(system.n), diags_array(inverse), self.rtol, self.maxiter
        )
        return Solution(system.centred(x), residual <= self.rtol, iterations, residual)


def conjugate_gradients(
    system: LaplacianSystem, x: np.ndarray, preconditioner: Any, rtol: float, maxiter: int
) -> tuple[np.ndarray, int, float]:
    """`scipy.sparse.linalg.cg` from x; returns x, the iterations and ‖b − L x‖ / ‖b‖.

    The residual that CG updates as it goes drifts from the true one; while that is too large, CG is started again.
    """
    from scipy.sparse.linalg import cg

    matrix, rhs, iterations = system.matrix, system.rhs, 0

    def count(_: np.ndarray) -> None:
        nonlocal iterations
        iterations += 1

    residual = system.residual(x)
    while residual > rtol and iterations < maxiter:
        before = iterations
        x, _ = cg(matrix, rhs, x, rtol=MARGIN * rtol, maxiter=maxiter - iterations, M=preconditioner, callback=count)
        residual = system.residual(x)
        if iterations == before:
            break
    return x, iterations, residual
