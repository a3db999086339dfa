"""Conjugate gradients preconditioned by PyAMG's smoothed aggregation.

A hierarchy is kept with its pattern and used for the following systems too, whose weights differ. It is allowed
`patience` times the iterations that it took when it was new; if they do not suffice, a new one is set up from the
weights at hand, and the iteration goes on from the x that was reached. Where PyAMG fails, the diagonal takes its place.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from ..solution import Solution
from ..system import LaplacianSystem
from .iterative import Iterative, iterate
from .scipy_cg import jacobi, scipy_corrector

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class PyamgCG(Iterative):
    """CG with a smoothed-aggregation preconditioner; ``pip install "quotientgraph[amg]"``.

    Attributes
    ----------
    strength : float
        Neighbours are aggregated when their weight is above this fraction of the geometric mean of their diagonals. The
        weights of one system span many powers of ten, so zero does badly; much larger ones make dense coarse graphs.
    patience : float, ≥ 1
        When a kept hierarchy is given up, in multiples of the iterations it took when it was new.
    """

    strength: float = 0.02
    patience: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.strength < 1:
            raise ValueError(f"strength={self.strength} must lie in [0, 1)")
        if not self.patience >= 1:
            raise ValueError(f"patience={self.patience} must be at least 1")

    def solve(self, system: LaplacianSystem) -> Solution:
        """Solve a system to a relative residual of `rtol`, with the hierarchy of an earlier system if that suffices."""
        if system.settled:
            return system.nothing()
        x, iterations, residual = None, 0, 1.0
        kept = system.pattern.memo.get(self._key)
        if kept is not None:
            preconditioner, when_new = kept
            limit = min(self.maxiter, int(self.patience * when_new) + 1)
            x, iterations, residual = iterate(system, scipy_corrector(system, preconditioner), self.rtol, limit)
        for make in (self._hierarchy, jacobi):
            if not residual > self.rtol or iterations >= self.maxiter:
                break
            try:
                preconditioner = make(system)
            except Exception as error:  # of PyAMG, for reasons of its own
                _LOG.warning("PyAMG could not set up its hierarchy (%s); the diagonal takes its place", error)
                continue
            correct = scipy_corrector(system, preconditioner)
            x, more, residual = iterate(system, correct, self.rtol, self.maxiter - iterations, x)
            iterations += more
            if make != jacobi:
                system.pattern.memo[self._key] = preconditioner, more
        return self.finished(system, x, iterations, residual)

    @property
    def _key(self) -> str:
        return f"pyamg {self.strength} {self.rtol}"

    def _hierarchy(self, system: LaplacianSystem) -> Any:
        """A preconditioner from the weights of a system."""
        import pyamg
        from scipy.sparse import csr_matrix

        # PyAMG knows sparse matrices of the older kind only. It needs a positive diagonal on all levels, also where a
        # whole piece is contracted into one unknown; the ground keeps it positive.
        matrix = csr_matrix(system.matrix)
        matrix.setdiag(system.diagonal + system.ground)
        matrix.eliminate_zeros()
        # Prolongation is smoothed with local weights, since the global weight is estimated from random numbers.
        hierarchy = pyamg.smoothed_aggregation_solver(
            matrix,
            strength=("symmetric", {"theta": self.strength}),
            smooth=("jacobi", {"weighting": "local"}),
            max_coarse=300,
            coarse_solver="pinv",
        )
        return hierarchy.aspreconditioner()
