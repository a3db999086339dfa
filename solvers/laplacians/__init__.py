"""Solvers for weighted graph Laplacians: minimise Σ w (x_tail − x_head − target)² over the edges of a graph.

`LaplacianSystem` states the problem, `get` makes a solver by name, and `register` adds one of your own. Nothing in here
knows about images. The package is installed as `laplacians` and reached as ``from quotientgraph import solvers``.

>>> from quotientgraph import solvers
>>> system = solvers.LaplacianSystem.from_edges(3, [0, 1], [1, 2], [1.0, 1.0], [2.0, 1.0])
>>> solvers.get("direct").solve(system).x.round(6).tolist()
[1.666667, -0.333333, -1.333333]
"""

from .backends.direct import Direct
from .backends.multigrid import Multigrid
from .checked import solve_checked
from .comparison import Dumping, Timing, compare, timing_table
from .core.compiling import compile_seconds, kernel_notes, on_compile, working_clock
from .multigrid.grid import GridGraph
from .multigrid.lists import NeighbourLists
from .pattern import Pattern
from .registry import Backend, Solver, available, backends, get, register
from .solution import Solution, SolverError
from .system import LaplacianSystem

__all__ = [
    "Backend",
    "Direct",
    "Dumping",
    "GridGraph",
    "LaplacianSystem",
    "Multigrid",
    "NeighbourLists",
    "Pattern",
    "Solution",
    "Solver",
    "SolverError",
    "Timing",
    "available",
    "backends",
    "compare",
    "compile_seconds",
    "get",
    "kernel_notes",
    "on_compile",
    "register",
    "solve_checked",
    "timing_table",
    "working_clock",
]
