"""Calling a backend and refusing what cannot be a solution."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from .core.arrays import array_namespace, norm, sums, to_device
from .registry import name_of
from .system import LaplacianSystem, Solution, SolverError

# A backend that says it has converged must have got rid of at least half of the residual.
_LARGEST_RESIDUAL = 0.5


def solve_checked(solver: Any, system: LaplacianSystem, start_energy: float, iteration: int) -> Solution:
    """Call a backend; an error names it and the iteration.

    The system is moved to the host for a backend that does not say ``on_device = True``, and x to where the system is.

    Parameters
    ----------
    start_energy : float
        The objective at x = 0: a solution may not be worse.

    Raises
    ------
    SolverError
        If the backend raises, or returns something else than a `Solution`, a wrong length, values that are not finite,
        a result worse than no change at all, or one that it calls converged although it is far from a solution.
    """
    try:
        solution = solver.solve(system if getattr(solver, "on_device", False) else system.to(np))
    except Exception as error:
        _refuse(solver, iteration, f"it raised {type(error).__name__}: {error}", error)
    missing = [name for name in ("x", "converged", "iterations", "residual") if not hasattr(solution, name)]
    if missing:
        kind = type(solution).__name__
        _refuse(solver, iteration, f"expected a solvers.Solution, got {kind} without {', '.join(missing)}")
    try:
        x = to_device(solution.x, array_namespace(system.weight)).astype(np.float64, copy=False)
    except Exception as error:
        _refuse(solver, iteration, f"x is a {type(solution.x).__name__}, not an array of numbers", error)
    objection = _objection(x, bool(solution.converged), system, start_energy)
    if objection:
        _refuse(solver, iteration, objection)
    return Solution(x, bool(solution.converged), int(solution.iterations), float(solution.residual))


def _refuse(solver: Any, iteration: int, reason: str, cause: Exception | None = None) -> NoReturn:
    raise SolverError(f"backend {name_of(solver)}, iteration {iteration}: {reason}") from cause


def _objection(x: Any, converged: bool, system: LaplacianSystem, start_energy: float) -> str | None:
    """Why x cannot be a solution."""
    if x.shape != (system.n,):
        return f"expected {system.n} values, got an array of shape {x.shape}"
    finite = array_namespace(x).isfinite(x)
    if not finite.all():
        return f"{int((~finite).sum())} of {system.n} values are not finite"
    tail, head = system.pattern.tail, system.pattern.head
    change = x[tail] - x[head]
    pull = system.flow - system.weight * change
    gain = float((change * (system.flow + pull)).sum())
    if gain < -1e-6 * start_energy:
        return f"the result is worse than no change at all (energy grows by {-gain:.3g})"
    size, left = norm(system.rhs), norm(sums(tail, pull, system.n) - sums(head, pull, system.n))
    # A right-hand side that is all cancellation has no residual worth a judgement.
    if converged and left > _LARGEST_RESIDUAL * size > 1e-10 * norm(system.flow):
        return f"it says it has converged, but the relative residual is {left / size:.3g}"
    return None
