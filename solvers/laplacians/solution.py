"""What a backend answers: a solution with its status, or an error that says which backend failed and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .core.arrays import array_namespace


class SolverError(RuntimeError):
    """A backend raised an exception, or returned something that cannot be a solution."""


@dataclass(frozen=True, eq=False)
class Solution:
    """What a backend returns.

    Attributes
    ----------
    x : (n,) float64
        The solution, with zero mean over each connected piece of the graph.
    converged : bool
        Whether the backend reached its own tolerance.
    iterations : int
        Number of iterations: 1 for a direct solve, 0 if there was nothing to do.
    residual : float
        ‖b − L x‖ / ‖b‖, or zero where the numerator is nothing but rounding; see `LaplacianSystem.residual`.

    Examples
    --------
    >>> Solution(np.zeros(3), converged=True, iterations=0, residual=0.0).converged
    True
    """

    x: np.ndarray
    converged: bool
    iterations: int
    residual: float


def objection_to(x: Any, n: int) -> str | None:
    """Why an array cannot be the x of a solution with n unknowns, or None if it can be.

    >>> objection_to(np.array([1.0, np.nan]), 2)
    '1 of 2 values are not finite'
    """
    if x.shape != (n,):
        return f"expected {n} values, got an array of shape {x.shape}"
    finite = array_namespace(x).isfinite(x)
    return None if finite.all() else f"{int((~finite).sum())} of {n} values are not finite"
