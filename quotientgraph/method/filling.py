"""Filling: the potential of every component, each integrated on its own, all at once.

A component is first integrated along a spanning tree, which is nearly right already; the least-squares problem is then
solved for the correction. It stops when what is left to gain is a hundred-thousandth of the energy: the normals then
contradict each other hundreds of times more than the solution is off.

A component may hold a depth jump: its two sides are joined by a way around. The paper fills over all edges inside a
component ("induced"), those across the jump included, and smooths it away. "contracted" integrates along the edges that
surely follow the surface, and leaves out the others where they contradict what comes out by more than a pixel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import laplacians
from laplacians.checked import solve_checked
from laplacians.core.jit import kernel

from ..graph.quotient import QuotientGraph
from ..graph.selection import connected_components, steady_edges

FILLINGS = ("contracted", "induced")
# Pixels. A depth jump shows as a chain of edges with gaps above the first length, somewhere above the second; shorter gaps
# are what errors add up to along a tree.
_GAP, _SURE_GAP = 0.5, 12.0
_MULTIGRID = laplacians.Multigrid(rtol=1e-9, energy_tol=1e-5)


@dataclass(frozen=True)
class Filling:
    """(n_pixels,) potential of zero mean over each component, and how the solve went."""

    potential: np.ndarray
    converged: bool
    iterations: int


def fill(graph: QuotientGraph, solver: Any = "auto", filling: str = "induced") -> Filling:
    """Minimise Σ W (φ_a − φ_b − jump)² over the edges inside components: all ("induced") or without hidden jumps.

    At the start all potentials are equal, so the bilateral weight of an equation is ½γ²; one solve is made. No two
    components share an unknown, so one block-diagonal system holds them all.
    """
    pixels, labels = graph.pixels, graph.labels
    rhs = np.zeros(pixels.n_pixels)
    weight, jump = _equations(graph, filling)
    x = _along_trees(pixels.n_pixels, pixels.tail, pixels.head, weight, jump)
    energy, worst = _mismatch(pixels.tail, pixels.head, weight, jump, x, rhs)
    converged, iterations = True, 0
    if worst <= 1e-13:  # the tree is a solution, to rounding
        pass
    elif solver == "auto":
        lists = laplacians.NeighbourLists.from_edges(pixels.n_pixels, pixels.tail, pixels.head, weight)
        del weight, jump  # the multigrid hierarchy takes their room
        solution = _MULTIGRID.improve(lists, x, rhs, energy)
        converged, iterations = solution.converged, solution.iterations
    else:
        used = weight > 0
        tail, head, weight = pixels.tail[used], pixels.head[used], weight[used].astype(np.float64)
        flow = weight * (jump[used] - (x[tail] - x[head]))
        pattern = laplacians.Pattern(pixels.n_pixels, tail, head)
        system = laplacians.LaplacianSystem(pattern, weight, flow, energy)
        solution = solve_checked(laplacians.get(solver) if isinstance(solver, str) else solver, system, energy, 0)
        x, converged, iterations = x + solution.x, solution.converged, solution.iterations
    x -= (np.bincount(labels, x) / np.bincount(labels))[labels]
    return Filling(x, converged, iterations)


def _equations(graph: QuotientGraph, filling: str) -> tuple[np.ndarray, np.ndarray]:
    """(n_edges,) float32 weight, zero for edges that do not count, and (n_edges,) float64 jump of each edge of G0."""
    tail, head = graph.pixels.tail, graph.pixels.head
    gamma = 0.5 * graph.pixels.gamma_squared
    jump = np.asarray(graph.jump)
    if jump.ndim == 2:
        jump = (gamma[tail] * jump[0] + gamma[head] * jump[1]) / (gamma[tail] + gamma[head])
    gamma = gamma.astype(np.float32)
    weight = gamma[tail] + gamma[head]
    weight[graph.cut] = 0
    if filling == "contracted":
        weight[hidden_jumps(graph, weight, jump)] = 0
    return weight, jump


def hidden_jumps(graph: QuotientGraph, weight: np.ndarray, jump: np.ndarray) -> np.ndarray:
    """Edges inside components, by number, across which the depth jumps.

    They are not steady, and the potential integrated along a tree of steady edges contradicts them, in chains that reach
    a sure gap. What the steady edges of a component do not connect cannot contradict.
    """
    pixels = graph.pixels
    steady = steady_edges(pixels, graph.angle) & (weight > 0)
    doubtful = np.flatnonzero((weight > 0) & ~steady)
    if not len(doubtful):
        return doubtful
    parts = connected_components(pixels.n_pixels, pixels.tail[steady], pixels.head[steady])
    tail, head = pixels.tail[doubtful], pixels.head[doubtful]
    x = _along_trees(pixels.n_pixels, pixels.tail, pixels.head, np.where(steady, weight, 0), jump)
    focal = np.broadcast_to(pixels.focal, pixels.n_pixels)[tail]
    gap = np.abs(x[tail] - x[head] - jump[doubtful]) * focal
    apart = np.flatnonzero((parts[tail] == parts[head]) & (gap > _GAP))
    tail, head, gap = tail[apart], head[apart], gap[apart]
    chain = connected_components(pixels.n_pixels, tail, head, "union-find")[tail]
    widest = np.zeros(pixels.n_pixels)
    np.maximum.at(widest, chain, gap)
    return doubtful[apart[widest[chain] > _SURE_GAP]]


def _along_trees(n: int, tail: np.ndarray, head: np.ndarray, weight: np.ndarray, jump: np.ndarray) -> np.ndarray:
    """(n,) jumps added up along a spanning tree of every connected piece, from its first node."""
    x = np.zeros(n)
    _integrate_trees(tail, head, weight, jump, np.arange(n, dtype=np.int32), x)
    return x


@kernel
def _integrate_trees(tail, head, weight, jump, parent, x):
    """Union-find in which every node knows its offset to its parent; parents come before their children.

    On entry every node is its own parent, and x is zero.
    """
    for e in range(len(tail)):
        if weight[e] > 0:
            a, b = tail[e], head[e]
            up_a, up_b = 0.0, 0.0
            while parent[a] != a:
                x[a] += x[parent[a]] if parent[parent[a]] != parent[a] else 0.0
                parent[a] = parent[parent[a]]
                up_a += x[a]
                a = parent[a]
            while parent[b] != b:
                x[b] += x[parent[b]] if parent[parent[b]] != parent[b] else 0.0
                parent[b] = parent[parent[b]]
                up_b += x[b]
                b = parent[b]
            if a < b:
                parent[b] = a
                x[b] = up_a - jump[e] - up_b
            elif b < a:
                parent[a] = b
                x[a] = up_b + jump[e] - up_a
    for i in range(len(x)):
        if parent[i] != i:
            x[i] += x[parent[i]]


@kernel
def _mismatch(tail, head, weight, jump, x, rhs):
    """rhs += Bᵀ W (jump − B x); returns the energy of what is left and its largest part."""
    energy, worst = 0.0, 0.0
    for e in range(len(tail)):
        if weight[e] > 0:
            left = jump[e] - (x[tail[e]] - x[head[e]])
            flow = weight[e] * left
            rhs[tail[e]] += flow
            rhs[head[e]] -= flow
            energy += flow * left
            worst = max(worst, abs(left))
    return energy, worst
