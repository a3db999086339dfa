"""Flexible conjugate gradients: the outer iteration of multigrid.

A K-cycle is not a fixed matrix, since its coarse steps depend on the residual. The flexible formula for the next direction
(Polak and Ribière's) allows for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .grid import GridGraph
from .hierarchy import Hierarchy
from .lists import NeighbourLists
from .vectors import advance, combine, dot

# How many times the expected gain must be below the tolerance if it is not measured. From the third step on, measured gains
# were 0.5 to 1.6 times the expected ones, on 23 maps with and without noise.
_MARGIN = 2.0


@dataclass(frozen=True)
class Goal:
    """When to stop.

    Attributes
    ----------
    rtol : float
        Stop when the residual has shrunk by this factor.
    maxiter : int
        Give up after this many iterations.
    energy_tol : float, optional
        Also stop when the energy that can still be gained is estimated to be below this fraction of the energy.
    energy : float
        Value of the objective at the start; `energy_tol` is ignored unless it is positive.
    """

    rtol: float
    maxiter: int
    energy_tol: float | None = None
    energy: float = float("nan")


class Outcome(NamedTuple):
    """How the iteration ended: iterations made, ‖r‖ relative to the start, and whether a tolerance was reached."""

    iterations: int
    residual: float
    reached: bool


def flexible_cg(
    graph: NeighbourLists | GridGraph, hierarchy: Hierarchy, r: np.ndarray, x: np.ndarray, goal: Goal
) -> Outcome:
    """Improve x until r = b − L x is small enough.

    Parameters
    ----------
    graph : NeighbourLists or GridGraph
        The graph of L.
    hierarchy : Hierarchy
        Made from the same graph.
    r : (n,) float64
        b − L x for the x given; what is left of it on return.
    x : (n,) float64
        Changed in place.
    goal : Goal

    Returns
    -------
    Outcome
    """
    spans = graph.spans
    size = np.sqrt(dot(r, r, spans))
    if size == 0:
        return Outcome(0, 0.0, True)
    if not hierarchy.levels:
        return _direct_step(graph, hierarchy, r, x, size, goal)
    energy, energy_tol = goal.energy, goal.energy_tol if goal.energy > 0 else None
    # A direction may be rounded, since x and r take the same steps along it.
    p, q = np.zeros(graph.n, dtype=np.float32), np.zeros(graph.n)
    rr, rz, alpha = size * size, 1.0, 0.0
    for iteration in range(1, goal.maxiter + 1):
        z = hierarchy.cycle(0, r)
        new_rz = dot(r, z, spans)  # an estimate of the energy that can still be gained
        if energy_tol is not None and new_rz <= energy_tol * energy:
            return Outcome(iteration - 1, float(np.sqrt(rr) / size), True)
        # The formula needs the last residual, which was r + alpha·q, times z. By construction its product with the last z
        # is rz, so that no copy of it is needed.
        beta = -alpha * dot(q, z, spans) / rz if iteration > 1 else 0.0
        combine(p, z, beta, spans)
        hierarchy.give_back(0, z)
        curvature = graph.apply(p, q)
        if not curvature > 0:  # r is not a right-hand side of this graph, or not finite
            return Outcome(iteration - 1, float(np.sqrt(rr) / size), False)
        alpha = new_rz / curvature
        rr, before = advance(x, r, p, q, alpha, spans), rr
        rz = new_rz
        energy -= alpha * new_rz
        # What can still be gained shrinks as the squared residual does. The next estimate of it would take a cycle.
        enough = energy_tol is not None and iteration > 2 and _MARGIN * rz * rr <= energy_tol * energy * before
        if enough or np.sqrt(rr) <= goal.rtol * size:
            return Outcome(iteration, float(np.sqrt(rr) / size), True)
    return Outcome(goal.maxiter, float(np.sqrt(rr) / size), False)


def _direct_step(
    graph: NeighbourLists | GridGraph, hierarchy: Hierarchy, r: np.ndarray, x: np.ndarray, size: float, goal: Goal
) -> Outcome:
    """Solve with the factor of a graph so small that there are no levels. Writes x and r."""
    change, product = hierarchy.factor.solve(r), np.empty(graph.n)
    graph.apply(change, product)
    left = float(np.sqrt(advance(x, r, change, product, 1.0, graph.spans)) / size)
    return Outcome(1, left, left <= goal.rtol)
