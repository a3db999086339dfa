"""Filling: the potential of every component, each integrated on its own, all at once.

A component is first integrated along a breadth-first tree, which is nearly right already; the least-squares problem is
then solved for the correction. It stops when what is left to gain is a millionth of the energy: the normals then
contradict each other a thousand times more than the solution is off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import solvers
from solvers.jit import kernel
from solvers.multigrid import Multigrid

from .quotient import QuotientGraph


@dataclass(frozen=True)
class Filling:
    """(n_pixels,) potential of zero mean over each component, and how the solve went."""

    potential: np.ndarray
    converged: bool
    iterations: int


def fill(graph: QuotientGraph, solver: Any = "auto") -> Filling:
    """Minimise Σ W (φ_a − φ_b − jump)² over the edges inside components.

    At the start all potentials are equal, so the bilateral weight of an equation is ½γ²; one solve is made. No two
    components share an unknown, so one block-diagonal system holds them all.
    """
    pixels = graph.pixels
    inside = np.ones(pixels.n_edges, dtype=bool)
    inside[graph.cut] = False
    edges = np.flatnonzero(inside)
    if not len(edges):
        return Filling(np.zeros(pixels.n_pixels), True, 0)
    tail, head = pixels.tail[edges], pixels.head[edges]
    gamma = 0.5 * pixels.gamma_squared
    weight = gamma[tail] + gamma[head]
    if graph.jump.ndim == 1:
        jump = graph.jump[edges]
    else:
        jump = (gamma[tail] * graph.jump[0, edges] + gamma[head] * graph.jump[1, edges]) / weight
    pattern = solvers.Pattern(pixels.n_pixels, tail, head)
    tree = np.empty(pixels.n_pixels)
    _integrate_trees(*pattern.adjacency, jump, tree)
    left = jump - (tree[tail] - tree[head])
    if np.abs(left).max() <= 1e-13:  # the tree is a solution, to rounding
        return Filling(_centred(tree, graph.labels), True, 0)
    flow = weight * left
    system = pattern.system(weight, flow, float(flow @ left))
    solution = _backend(solver).solve(system)
    return Filling(_centred(tree + solution.x, graph.labels), solution.converged, solution.iterations)


def _backend(solver: Any) -> Any:
    if solver == "auto":
        return Multigrid(rtol=1e-9, energy_tol=1e-6)
    return solvers.get(solver) if isinstance(solver, str) else solver


def _centred(potential: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return potential - (np.bincount(labels, potential) / np.bincount(labels))[labels]


@kernel
def _integrate_trees(start, neighbour, pair, jump, potential):
    """Add up the jumps along a breadth-first tree of every connected piece, from its first pixel.

    Pairs run from the smaller pixel to the larger, and jump[p] is φ_smaller − φ_larger.
    """
    n = len(potential)
    queue = np.empty(n, dtype=np.int32)
    for i in range(n):
        potential[i] = np.inf
    for root in range(n):
        if potential[root] < np.inf:
            continue
        potential[root] = 0.0
        queue[0] = root
        done, found = 0, 1
        while done < found:
            i = queue[done]
            done += 1
            for k in range(start[i], start[i + 1]):
                j = neighbour[k]
                if potential[j] == np.inf:
                    step = jump[pair[k]]
                    potential[j] = potential[i] - step if i < j else potential[i] + step
                    queue[found] = j
                    found += 1
