"""What all iterative backends share: their stopping rule, and the loop that holds them to the true residual.

Conjugate gradients update their residual instead of computing it anew, and what they update drifts from the true one. So
every iterative backend works in rounds: it solves for a correction, the true residual b − L x is computed, and while that
is too large the next round solves for what is left. A backend brings the part that differs, a *corrector*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core.arrays import array_namespace
from ..solution import Solution
from ..system import LaplacianSystem

# corrector(left, x, goal, limit) -> iterations: find d with ‖left − L d‖ ≤ goal·‖left‖ in at most `limit` iterations, and
# add it to x in place. It may use `left` as working memory.
Corrector = Callable[[Any, Any, float, int], int]

# A round stops when its residual is below this fraction of rtol: on quotient graphs the error in the energy norm may be
# some ten times larger than the residual, and it shall be below 10·rtol too.
_MARGIN = 0.3
# No round aims lower than this: rounding would not let it get there. The next round does the rest.
_LOWEST_GOAL = 1e-10
_ROUNDS = 10
_SLACK = 1e-9  # by which rounding may change the objective, relative to what has been gained


@dataclass(frozen=True)
class Iterative:
    """Base of the iterative backends: options, which are validated where they are made, and how a solve ends.

    A subclass that needs no more than rounds of one corrector defines `corrector(system)`; others define `solve`.

    Attributes
    ----------
    rtol : float
        Stop when ‖b − L x‖ ≤ rtol·‖b‖.
    maxiter : int
        Give up after this many iterations; the solution then says that it has not converged.
    """

    rtol: float = 1e-6
    maxiter: int = 5000

    def __post_init__(self) -> None:
        if not 0 < self.rtol < 1:
            raise ValueError(f"rtol={self.rtol} must lie between 0 and 1")
        if int(self.maxiter) != self.maxiter or self.maxiter < 1:
            raise ValueError(f"maxiter={self.maxiter} must be a positive whole number")

    def solve(self, system: LaplacianSystem) -> Solution:
        """Solve a system to a relative residual of `rtol`.

        Parameters
        ----------
        system : LaplacianSystem

        Returns
        -------
        Solution
            Its mean over each connected piece is zero.
        """
        if system.settled:
            return system.nothing()
        return self.finished(system, *iterate(system, self.corrector(system), self.rtol, self.maxiter))

    def corrector(self, system: LaplacianSystem) -> Corrector:
        """The corrector for a system: what each round of `iterate` calls."""
        raise NotImplementedError

    def finished(self, system: LaplacianSystem, x: Any, iterations: int, residual: float) -> Solution:
        """The solution that keeps the contract, from what `iterate` returns."""
        return Solution(system.centred(x), residual <= self.rtol, iterations, residual)


def iterate(
    system: LaplacianSystem,
    correct: Corrector,
    rtol: float,
    maxiter: int,
    start: Any = None,
    margin: float = _MARGIN,
    rounds: int = _ROUNDS,
) -> tuple[Any, int, float]:
    """Correct x in rounds until its true residual is small enough.

    A round that does not lower the objective, because a preconditioner broke down, is undone, and is the last one.

    Parameters
    ----------
    system : LaplacianSystem
        It must not be settled: its right-hand side is more than rounding.
    correct : Corrector
    rtol, maxiter : float, int
        Stop when ‖b − L x‖ ≤ rtol·‖b‖, or after so many iterations of all rounds together.
    start : (n,) float64, optional
        Where to begin; zero if it is not given. It is changed in place.
    margin : float
        Each round aims at this fraction of what is wanted.
    rounds : int
        Most rounds to make.

    Returns
    -------
    x : (n,) float64
        Not centred.
    iterations : int
    residual : float
        ‖b − L x‖ / ‖b‖, computed from x.
    """
    if start is None:
        x, left, residual = array_namespace(system.weight).zeros(system.n), system.rhs, 1.0
    else:
        x, left = start, system.totals[1] - system.apply(start)
        residual = system.relative(left)
    iterations, gained = 0, _gain(system, x, left)
    for _ in range(rounds):
        if not residual > rtol or iterations >= maxiter:
            break
        reached = x.copy()
        more = correct(left, x, max(_LOWEST_GOAL, margin * rtol / residual), maxiter - iterations)
        if more == 0:
            break
        iterations += more
        left = system.totals[1] - system.apply(x)
        now = _gain(system, x, left)
        if not now >= gained - _SLACK * abs(gained):
            return reached, iterations, residual
        gained, residual = now, system.relative(left)
    return x, iterations, residual


def _gain(system: LaplacianSystem, x: Any, left: Any) -> float:
    """How much lower the objective is at x than at zero, where `left` is b − L x."""
    return float((x * (system.totals[1] + left)).sum())
