"""The options that iterative backends share, validated where they are made."""

from __future__ import annotations

from dataclasses import dataclass

# CG stops when the residual is below this fraction of rtol: the error in the energy norm may be some ten times larger
# than the residual, on quotient graphs, and shall be below 10·rtol too.
MARGIN = 0.3


@dataclass(frozen=True)
class IterativeOptions:
    """Stopping rule of an iterative backend.

    Attributes
    ----------
    rtol : float
        Stop when ‖b − L x‖ ≤ rtol·‖b‖.
    maxiter : int
        Give up after this many iterations; the solution then says it has not converged.
    """

    rtol: float = 1e-6
    maxiter: int = 5000

    def __post_init__(self) -> None:
        if not 0 < self.rtol < 1:
            raise ValueError(f"rtol={self.rtol} must lie between 0 and 1")
        if int(self.maxiter) != self.maxiter or self.maxiter < 1:
            raise ValueError(f"maxiter={self.maxiter} must be a positive whole number")
