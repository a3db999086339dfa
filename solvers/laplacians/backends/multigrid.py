"""Conjugate gradients preconditioned by multigrid: few iterations at any size, for the largest systems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..multigrid.flexible import Goal, Outcome, flexible_cg
from ..multigrid.grid import GridGraph
from ..multigrid.hierarchy import Hierarchy
from ..multigrid.lists import NeighbourLists
from ..solution import Solution, SolverError, objection_to
from ..system import LaplacianSystem
from .iterative import Iterative, iterate

# Multigrid reduces the residual by a large factor in each iteration, so a round needs little margin. More than two further
# rounds, which make up for the rounding of the weights to single precision, gain nothing.
_MARGIN, _ROUNDS = 0.9, 3


@dataclass(frozen=True)
class Multigrid(Iterative):
    """CG with a contraction-multigrid preconditioner; see `laplacians.multigrid.hierarchy`.

    The weights of the hierarchy are rounded to single precision; the residual is that of the system as it is.

    Attributes
    ----------
    coarsest : int
        Graphs with at most this many unknowns are solved directly.
    energy_tol : float, optional
        Also stop when the energy that can still be gained is estimated to be below this fraction of the energy, for
        systems that say what their energy is: the equations then contradict each other far more than the solution is off.

    Examples
    --------
    >>> from quotientgraph import solvers
    >>> system = solvers.LaplacianSystem.from_edges(2, [0], [1], [1.0], [2.0])
    >>> Multigrid(rtol=1e-9).solve(system).x.tolist()
    [1.0, -1.0]
    """

    coarsest: int = 4000
    energy_tol: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if int(self.coarsest) != self.coarsest or self.coarsest < 1:
            raise ValueError(f"coarsest={self.coarsest} must be a positive whole number")
        if self.energy_tol is not None and not 0 < self.energy_tol < 1:
            raise ValueError(f"energy_tol={self.energy_tol} must lie between 0 and 1, or be None")

    def solve(self, system: LaplacianSystem) -> Solution:
        """Solve a system to a relative residual of `rtol`, or until `energy_tol` allows to stop."""
        if system.settled:
            return system.nothing()
        scale = system.weight.max()  # keeps the rounded weights within the range of single precision
        tail, head = system.pattern.tail, system.pattern.head
        graph = NeighbourLists.from_edges(system.n, tail, head, system.weight / scale)
        hierarchy, reached = Hierarchy.from_graph(graph, self.coarsest), False

        def correct(left: np.ndarray, x: np.ndarray, goal: float, limit: int) -> int:
            nonlocal reached
            left /= scale
            wanted = Goal(goal, limit, self.energy_tol, system.energy / scale)
            iterations, _, reached = flexible_cg(graph, hierarchy, left, x, wanted)
            return iterations

        rounds = _ROUNDS if self.energy_tol is None else 1
        x, iterations, residual = iterate(system, correct, self.rtol, self.maxiter, margin=_MARGIN, rounds=rounds)
        enough = residual <= self.rtol or (self.energy_tol is not None and reached)
        return Solution(system.centred(x), enough, iterations, residual)

    def improve(
        self, graph: NeighbourLists | GridGraph, x: np.ndarray, rhs: np.ndarray, energy: float = float("nan")
    ) -> Solution:
        """Improve a start, in place and with little memory, for graphs of many millions of unknowns.

        The caller hands over the graph as neighbour lists, or on a grid, instead of a system. So the edges can be freed
        before the hierarchy is built, and the two vectors serve as working memory.

        Parameters
        ----------
        graph : NeighbourLists or GridGraph
            The graph of L; its weights are used as they are.
        x : (n,) float64
            The start. It is changed in place, and is the x of the solution.
        rhs : (n,) float64
            b − L x for the start: what it leaves of the equations. It is overwritten.
        energy : float, optional
            Σ w (x_tail − x_head − target)² at the start. Without it `energy_tol` is ignored.

        Returns
        -------
        Solution
            Its x is not centred, and its residual is relative to the `rhs` given.

        Raises
        ------
        ValueError
            If x or rhs is not a writable float64 vector with one value per node.
        SolverError
            If the result is not finite.

        Examples
        --------
        >>> tail, head = np.array([0, 1], dtype=np.int32), np.array([1, 2], dtype=np.int32)
        >>> graph = NeighbourLists.from_edges(3, tail, head, np.ones(2))
        >>> solution = Multigrid().improve(graph, np.zeros(3), np.array([2.0, -1.0, -1.0]))
        >>> (solution.x - solution.x.mean()).round(6).tolist()
        [1.666667, -0.333333, -1.333333]
        """
        for name, values in (("x", x), ("rhs", rhs)):
            if values.shape != (graph.n,) or values.dtype != np.float64 or not values.flags.writeable:
                raise ValueError(
                    f"{name}: expected a writable float64 array of shape ({graph.n},), got {values.dtype} {values.shape}"
                )
        if not rhs.any():
            return Solution(x, True, 0, 0.0)
        hierarchy = Hierarchy.from_graph(graph, self.coarsest)
        outcome = flexible_cg(graph, hierarchy, rhs, x, Goal(self.rtol, self.maxiter, self.energy_tol, energy))
        if not outcome.reached and not hierarchy.levels:  # a direct solve of ill-conditioned equations: refine it once
            again = flexible_cg(graph, hierarchy, rhs, x, Goal(self.rtol / outcome.residual, 1))
            outcome = Outcome(2, outcome.residual * again.residual, again.reached)
        objection = objection_to(x, graph.n) or objection_to(rhs, graph.n)
        if objection:
            raise SolverError(f"backend multigrid: {objection}; rhs must be finite and sum to zero over each piece")
        return Solution(x, outcome.reached, outcome.iterations, outcome.residual)
