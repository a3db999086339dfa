"""Sparse L D Lᵀ factorisation: exact up to rounding, and fast, because ordering and pattern are kept between solves."""

from __future__ import annotations

from dataclasses import dataclass

from .cholesky import factorise
from .system import LaplacianSystem, Solution


def status() -> tuple[str | None, str]:
    from importlib.metadata import version

    return None, f"LDLᵀ in Numba {version('numba')}"


@dataclass(frozen=True)
class Direct:
    """L D Lᵀ with a minimum-degree ordering computed once per pattern.

    Attributes
    ----------
    rtol : float
        The solution counts as converged when its relative residual is below this.
    """

    rtol: float = 1e-8

    def __post_init__(self) -> None:
        if not 0 < self.rtol < 1:
            raise ValueError(f"rtol={self.rtol} must lie between 0 and 1")

    def solve(self, system: LaplacianSystem) -> Solution:
        if system.settled:
            return system.nothing()
        rhs = system.rhs
        factor = factorise(system.pattern, system.weight, system.ground)
        x = factor.solve(rhs)
        residual = system.residual(x)
        if residual > 0.01 * self.rtol:  # one step of refinement mends what the spread of the weights cost
            x += factor.solve(rhs - system.apply(x))
            residual = system.residual(x)
        return Solution(system.centred(x), residual <= self.rtol, 1, residual)
