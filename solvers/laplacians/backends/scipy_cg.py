"""Conjugate gradients of SciPy with the diagonal as preconditioner: the plain reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..system import LaplacianSystem
from .iterative import Corrector, Iterative


@dataclass(frozen=True)
class ScipyCG(Iterative):
    """`scipy.sparse.linalg.cg` with a Jacobi preconditioner.

    Examples
    --------
    >>> from quotientgraph import solvers
    >>> system = solvers.LaplacianSystem.from_edges(2, [0], [1], [1.0], [2.0])
    >>> ScipyCG(rtol=1e-9).solve(system).x.tolist()
    [1.0, -1.0]
    """

    def corrector(self, system: LaplacianSystem) -> Corrector:
        """Conjugate gradients with the inverse of the diagonal."""
        return scipy_corrector(system, jacobi(system))


def jacobi(system: LaplacianSystem) -> Any:
    """The inverse of the diagonal of a system, as a sparse matrix; one where the diagonal is zero."""
    from scipy.sparse import diags_array

    diagonal = system.diagonal
    return diags_array(np.divide(1.0, diagonal, out=np.ones_like(diagonal), where=diagonal > 0))


def scipy_corrector(system: LaplacianSystem, preconditioner: Any) -> Corrector:
    """A corrector by `scipy.sparse.linalg.cg`.

    Parameters
    ----------
    system : LaplacianSystem
    preconditioner : matrix or LinearOperator
        Approximate inverse of L, symmetric and positive definite.

    Returns
    -------
    Corrector
    """
    from scipy.sparse.linalg import cg

    matrix = system.matrix

    def correct(left: np.ndarray, x: np.ndarray, goal: float, limit: int) -> int:
        iterations = 0

        def count(reached: np.ndarray) -> None:
            nonlocal iterations
            iterations += 1
            if not np.isfinite(reached.sum()):  # a preconditioner broke down; CG would go on to the limit
                raise FloatingPointError

        try:
            with np.errstate(all="ignore"):
                change, _ = cg(matrix, left, rtol=goal, maxiter=limit, M=preconditioner, callback=count)
        except FloatingPointError:
            change = np.nan
        x += change
        return iterations

    return correct
