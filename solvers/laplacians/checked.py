"""Calling a backend, and refusing what cannot be a solution."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from .core.arrays import array_namespace, norm, to_device
from .pattern import Pattern
from .registry import name_of
from .solution import Solution, SolverError, objection_to
from .system import LaplacianSystem

# A backend that says it has converged must have removed at least half of the residual. It has not converged if what is left
# exceeds both of the other two: a thousandth, with which many stop, and ten times what it says. In all tests the backends of
# this package are right about what is left to a hundredth of it.
_LARGEST_RESIDUAL = 0.5
_LOOSEST_RESIDUAL = 1e-3
_TIMES_THE_CLAIM = 10.0


def solve_checked(solver: Any, system: LaplacianSystem, start_energy: float, iteration: int) -> Solution:
    """Call a backend and check what it returns; an error names the backend and the iteration.

    The system is moved to the host for a backend that does not say ``on_device = True``, and x is moved to where the
    system is.

    Parameters
    ----------
    solver : Solver
        Anything with ``solve(system)``.
    system : LaplacianSystem
    start_energy : float
        The value of the objective at x = 0. A solution may not be worse.
    iteration : int
        The number that an error names; which iteration of the caller this is.

    Returns
    -------
    Solution
        Its x is a float64 array in the namespace of the system, and its residual is measured. It has not converged if the
        backend says so, or if the residual is far above the one that the backend claims.

    Raises
    ------
    SolverError
        If the backend raises, or if it returns something else than a `Solution`, a wrong length, values that are not
        finite or not real, a result worse than no change at all, or a result that it calls converged although it is far
        from a solution.

    Examples
    --------
    >>> from quotientgraph import solvers
    >>> system = solvers.LaplacianSystem.from_edges(2, [0], [1], [1.0], [2.0])
    >>> solve_checked(solvers.get("direct"), system, system.energy, iteration=1).x.tolist()
    [1.0, -1.0]
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
        x = to_device(solution.x, array_namespace(system.weight))
        x = x if x.dtype.kind == "c" else x.astype(np.float64, copy=False)
    except Exception as error:
        _refuse(solver, iteration, f"x is a {type(solution.x).__name__}, not an array of numbers", error)
    try:
        converged, iterations, claim = bool(solution.converged), int(solution.iterations), float(solution.residual)
    except Exception as error:
        given = f"converged={solution.converged!r}, iterations={solution.iterations!r}, residual={solution.residual!r}"
        _refuse(solver, iteration, f"expected a bool, an int and a float, got {given}", error)
    unusable = f"x is {x.dtype}; expected real numbers" if x.dtype.kind == "c" else objection_to(x, system.n)
    if unusable:
        _refuse(solver, iteration, unusable)
    b = system.totals[1]
    pull = b - system.apply(x)
    gain = float((x * (b + pull)).sum())
    if gain < -1e-6 * start_energy:
        _refuse(solver, iteration, f"the result is worse than no change at all (energy grows by {-gain:.3g})")
    residual = system.relative(pull)
    # Where the flows of a right-hand side cancel each other, its residual is rounding and proves nothing.
    if converged and residual > _LOOSEST_RESIDUAL and norm(b) > 2e-10 * norm(system.flow):
        if residual > _LARGEST_RESIDUAL:
            _refuse(solver, iteration, f"it says it has converged, but the relative residual is {residual:.3g}")
        converged = residual <= _TIMES_THE_CLAIM * claim  # no, if the claim is NaN
    return Solution(x, converged, iterations, residual)


def prepare_checked(solver: Any, pattern: Pattern, iteration: int) -> None:
    """Let a backend that has ``prepare(pattern)`` begin with a pattern; an error names the backend and the iteration."""
    try:
        if hasattr(solver, "prepare"):
            solver.prepare(pattern)
    except Exception as error:
        _refuse(solver, iteration, f"its prepare(pattern) raised {type(error).__name__}: {error}", error)


def _refuse(solver: Any, iteration: int, reason: str, cause: Exception | None = None) -> NoReturn:
    raise SolverError(f"backend {name_of(solver)}, iteration {iteration}: {reason}") from cause
