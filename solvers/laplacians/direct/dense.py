"""Cholesky factorisation of small Laplacians by LAPACK: quicker than a sparse one, and nothing has to be compiled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..system import LaplacianSystem


@dataclass(frozen=True)
class DenseFactor:
    """The Cholesky factor of a Laplacian with its `ground` added.

    Attributes
    ----------
    lower : (n, n) float64
        The factor in the lower triangle, as LAPACK's potrf leaves it.
    """

    lower: np.ndarray

    @classmethod
    def from_system(cls, system: LaplacianSystem) -> DenseFactor | None:
        """Factorise a system; None if in double precision its matrix is not positive definite."""
        from scipy.linalg.lapack import dpotrf

        tail, head = system.pattern.tail, system.pattern.head
        matrix = np.zeros((system.n, system.n), order="F")
        matrix[head, tail] = -system.weight
        np.fill_diagonal(matrix, system.diagonal + system.ground)
        lower, failed = dpotrf(matrix, lower=1, overwrite_a=1)
        return None if failed else cls(lower)

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """The solution x of (L + ground) x = rhs, as a new array."""
        from scipy.linalg.lapack import dpotrs

        return dpotrs(self.lower, rhs, lower=1)[0]

    def solve_rows(self, rows: np.ndarray) -> None:
        """Replace each row of a (k, n) float64 array, a right-hand side, by its solution."""
        rows[:] = self.solve(rows.T).T
