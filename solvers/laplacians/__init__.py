"""Backends for the weighted graph Laplacians of quotientgraph; usable on their own, knowing nothing of images.

>>> import solvers
>>> system = solvers.LaplacianSystem.from_edges(3, [0, 1], [1, 2], [1.0, 1.0], [2.0, 1.0])
>>> solvers.get("direct").solve(system).x.round(6).tolist()
[1.666667, -0.333333, -1.333333]
"""

from .registry import Backend, Solver, available, backends, get, register
from .system import LaplacianSystem, Pattern, Solution, SolverError

__all__ = [
    "Backend",
    "LaplacianSystem",
    "Pattern",
    "Solution",
    "Solver",
    "SolverError",
    "available",
    "backends",
    "get",
    "register",
]
