"""Factorisation, exact up to rounding: sparse L D Lᵀ whose ordering is kept between solves, or dense if it is small."""

from __future__ import annotations

from dataclasses import dataclass

from ..direct.analysis import analyse_ahead
from ..direct.cholesky import Factor, factorise
from ..direct.dense import DenseFactor
from ..pattern import Pattern
from ..solution import Solution
from ..system import LaplacianSystem


@dataclass(frozen=True)
class Direct:
    """L D Lᵀ with a minimum-degree ordering computed once per pattern; LAPACK's Cholesky for small systems.

    Attributes
    ----------
    rtol : float
        The solution counts as converged when its relative residual is below this.
    dense_up_to : int
        Systems of at most this many unknowns are factorised as dense matrices by LAPACK. From about 100 on LAPACK uses
        threads, and waking them takes longer than the work.

    Examples
    --------
    >>> from quotientgraph import solvers
    >>> system = solvers.LaplacianSystem.from_edges(2, [0], [1], [1.0], [2.0])
    >>> Direct().solve(system).x.tolist()
    [1.0, -1.0]
    """

    rtol: float = 1e-8
    dense_up_to: int = 96

    def __post_init__(self) -> None:
        if not 0 < self.rtol < 1:
            raise ValueError(f"rtol={self.rtol} must lie between 0 and 1")

    def prepare(self, pattern: Pattern) -> None:
        """Have the ordering of a pattern found while the caller goes on; the first solve waits for it."""
        if pattern.n > self.dense_up_to:
            analyse_ahead(pattern)

    def solve(self, system: LaplacianSystem) -> Solution:
        """Factorise and solve; one step of refinement where the residual shows that it is needed."""
        if system.settled:
            return system.nothing()
        rhs = system.rhs
        factor = self.factor(system)
        x = factor.solve(rhs)
        residual = system.residual(x)
        if residual > 0.01 * self.rtol:  # weights that differ by many powers of ten cost accuracy
            x += factor.solve(rhs - system.apply(x))
            residual = system.residual(x)
        return Solution(system.centred(x), residual <= self.rtol, 1, residual)

    def factor(self, system: LaplacianSystem) -> Factor | DenseFactor:
        """The factorisation of a system, whose ``solve(rhs)`` serves any number of right-hand sides.

        Solutions are right up to a constant for each connected piece, if the right-hand side sums to zero over it.
        """
        # LAPACK stops at a pivot that rounding has made negative. L D Lᵀ goes on, and the residual shows the damage.
        dense = DenseFactor.from_system(system) if system.n <= self.dense_up_to else None
        return dense or factorise(system)
