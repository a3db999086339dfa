"""Calling a backend, and refusing what cannot be a solution."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from .core.arrays import array_namespace, norm, to_device
from .registry import name_of
from .solution import Solution, SolverError, objection_to
from .system import LaplacianSystem

# A backend that says it has converged must have removed at least half of the residual.
_LARGEST_RESIDUAL = 0.5


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
        Its x is a float64 array in the namespace of the system.

    Raises
    ------
    SolverError
        If the backend raises, or if it returns something else than a `Solution`, a wrong length, values that are not
        finite, a result worse than no change at all, or a result that it calls converged although it is far from a
        solution.

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
    """Why x cannot be a solution of the system, or None if it can be."""
    unusable = objection_to(x, system.n)
    if unusable:
        return unusable
    pull = system.rhs - system.apply(x)
    gain = float((x * (system.rhs + pull)).sum())
    if gain < -1e-6 * start_energy:
        return f"the result is worse than no change at all (energy grows by {-gain:.3g})"
    size, left = norm(system.rhs), norm(pull)
    # Where the flows of a right-hand side cancel each other, its residual is rounding and proves nothing.
    if converged and left > _LARGEST_RESIDUAL * size > 1e-10 * norm(system.flow):
        return f"it says it has converged, but the relative residual is {left / size:.3g}"
    return None
