"""Factorisation, exact up to rounding: sparse L D Lᵀ with ordering and pattern kept between solves, dense if small."""

from __future__ import annotations

from dataclasses import dataclass

from ..direct.cholesky import Factor, factorise
from ..direct.dense import DenseFactor
from ..system import LaplacianSystem, Solution


def status() -> tuple[str | None, str]:
    from importlib.metadata import version

    return None, f"LDLᵀ in Numba {version('numba')}"


@dataclass(frozen=True)
class Direct:
    """L D Lᵀ with a minimum-degree ordering computed once per pattern; LAPACK's Cholesky for small systems.

    Attributes
    ----------
    rtol : float
        The solution counts as converged when its relative residual is below this.
    dense_up_to : int
        Systems of at most so many unknowns are factorised as dense matrices by LAPACK. From about 100 on it uses threads,
        which take longer to wake than the work takes.
    """

    rtol: float = 1e-8
    dense_up_to: int = 96

    def __post_init__(self) -> None:
        if not 0 < self.rtol < 1:
            raise ValueError(f"rtol={self.rtol} must lie between 0 and 1")

    def solve(self, system: LaplacianSystem) -> Solution:
        if system.settled:
            return system.nothing()
        rhs = system.rhs
        factor = self._factor(system)
        x = factor.solve(rhs)
        residual = system.residual(x)
        if residual > 0.01 * self.rtol:  # one step of refinement mends what the spread of the weights cost
            x += factor.solve(rhs - system.apply(x))
            residual = system.residual(x)
        return Solution(system.centred(x), residual <= self.rtol, 1, residual)

    def _factor(self, system: LaplacianSystem) -> Factor | DenseFactor:
        # A pivot that rounding has made negative stops LAPACK; L D Lᵀ goes on, and the residual tells what came of it.
        dense = DenseFactor.from_system(system) if system.n <= self.dense_up_to else None
        return dense or factorise(system.pattern, system.weight, system.ground)
