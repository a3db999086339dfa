"""Filling: the potential of every component, each integrated on its own, all of them at once.

A component is first integrated along a spanning tree, which is nearly right already, and for a plane all there is to do.
The least-squares problem is then solved for the correction: small components by elimination, exactly, and the large ones by
multigrid. That stops when the energy that is left to gain is a hundred-thousandth of the whole: the normals then contradict
each other hundreds of times more than the solution is off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import laplacians
from laplacians import GridGraph, LaplacianSystem, Multigrid, NeighbourLists, solve_checked
from laplacians.core.arrays import centred, gathered
from laplacians.core.jit import WHOLE, kernel, portion
from laplacians.core.lookups import placed
from laplacians.direct.pieces import solve_pieces

from ..graph.pixels import PixelGraph
from ..graph.quotient import Quotient
from .exact_trees import leave_out_exact
from .torus import fill_torus, is_continuous

# A function of a graph, the weights and the jumps of its edges that returns the edges inside components to leave out.
LeaveOut = Callable[[Quotient, np.ndarray, np.ndarray], np.ndarray]

_MULTIGRID = Multigrid(rtol=1e-9, energy_tol=1e-5)
_PRECISE = Multigrid(rtol=1e-9, energy_tol=1e-12)
# Where more than this part of the edges is cut, hardly a square of 2×2 pixels lies in one component, and neighbour lists are
# quicker than a grid.
_MOST_CUT = 0.3
# Where more than this part of the edges is cut, small components are solved one by one. Elsewhere they hold few pixels, and
# the kernels for it need not be compiled.
_SOME_CUT = 0.05
# Pixels from which on a grid pays: fewer where filling is precise, which takes twice as many iterations. Smaller maps are
# filled in a moment, and a first run on them compiles one form only.
GRID_FROM = {"usual": 2**18, "precise": 3 * 2**15}
# Where no more than this part of the pixels is left to multigrid, lists of these are quicker than a grid of all.
_LEAST_LEFT = 0.25
# The largest graph that is solved directly below a grid. Maps of 640×480 then have a level less, which takes as long but
# comes nearer to the solution.
_COARSEST = 6000


@dataclass(frozen=True)
class Filling:
    """How the components were filled.

    Attributes
    ----------
    potential : (n_pixels,) float64
        Of zero mean over each component.
    converged : bool
    iterations : int
    """

    potential: np.ndarray
    converged: bool
    iterations: int


def fill(graph: Quotient, solver: Any = "auto", leave_out: LeaveOut | None = None, precise: bool = False) -> Filling:
    """Minimise Σ W (φ_a − φ_b − jump)² over the edges inside components.

    At the start all potentials are equal, so the bilateral weight of an equation is ½γ². One solve is made. No two
    components share an unknown, so one block-diagonal system holds them all. Nothing is solved where the graph knows the
    potential inside its components already.

    Parameters
    ----------
    graph : Quotient
    solver : "auto" or a backend
        "auto" is multigrid from the spanning tree on.
    leave_out : callable, optional
        Chooses edges inside components that shall not count. None counts all of them, as the paper does.
    precise : bool
        Whether "auto" goes on until the solution has seven digits, for who draws conclusions from it.

    Returns
    -------
    Filling
    """
    pixels, labels = graph.pixels, graph.labels
    if graph.inside is not None:
        return Filling(centred(graph.inside, labels), True, 0)
    if solver == "auto" and pixels.map.wrap and graph.n_components == 1 and is_continuous(pixels):
        x, converged, iterations = fill_torus(pixels)
        return Filling(x - x.mean(), converged, iterations)
    weight, jump = equations(graph, leave_out)
    x, first = along_trees(pixels.n_pixels, pixels.tail, pixels.head, weight, jump)
    rhs = np.zeros(pixels.n_pixels)
    energy, worst = mismatch(pixels.tail, pixels.head, weight, jump, x, rhs)
    converged, iterations = True, 0
    if worst <= 1e-13:  # the tree is a solution, to rounding
        pass
    elif solver == "auto":
        n_left = pixels.n_pixels - leave_out_exact(pixels.tail, pixels.head, weight, jump, x, first, rhs)
        del jump  # memory is needed for the multigrid hierarchy
        if len(graph.cut) > _SOME_CUT * pixels.n_edges:
            gain, n_left = solve_pieces(pixels.tail, pixels.head, weight, first, x, rhs)
            energy -= gain
        del first
        multigrid, grid_from = (_PRECISE, GRID_FROM["precise"]) if precise else (_MULTIGRID, GRID_FROM["usual"])
        pays = pixels.n_pixels >= grid_from and n_left > _LEAST_LEFT * pixels.n_pixels
        framed = pixels.cells() if pays and len(graph.cut) < _MOST_CUT * pixels.n_edges else None
        neighbours: NeighbourLists | GridGraph
        if framed is None:
            left, neighbours = _lists_of_rest(pixels, weight, n_left)
            del weight
            solution = multigrid.improve(neighbours, x[left], rhs[left], energy)
            x[left] = solution.x
        else:
            shape, cell = framed
            neighbours = GridGraph.from_edges(shape, cell, pixels.tail, pixels.head, weight)
            del weight
            x, rhs = (placed(values, cell, neighbours.n) for values in (x, rhs))
            del framed, cell  # memory is at its peak now, and they are soon found again
            solution = replace(multigrid, coarsest=_COARSEST).improve(neighbours, x, rhs, energy)
            del neighbours, rhs
            x = gathered(x, pixels.cells()[1])  # type: ignore[index]
        converged, iterations = solution.converged, solution.iterations
    else:
        used = weight > 0
        tail, head, weight = pixels.tail[used], pixels.head[used], weight[used].astype(np.float64)
        flow = weight * (jump[used] - (x[tail] - x[head]))
        system = LaplacianSystem(laplacians.Pattern(pixels.n_pixels, tail, head), weight, flow, energy)
        solution = solve_checked(laplacians.get(solver) if isinstance(solver, str) else solver, system, energy, 0)
        x, converged, iterations = x + solution.x, solution.converged, solution.iterations
    return Filling(centred(x, labels), converged, iterations)


def _lists_of_rest(pixels: PixelGraph, weight: np.ndarray, n_left: int) -> tuple[np.ndarray | slice, NeighbourLists]:
    """Neighbour lists of the edges of positive weight, and of which pixels: of all or, if few are left, of those."""
    if 2 * n_left > pixels.n_pixels:
        return slice(None), NeighbourLists.from_edges(pixels.n_pixels, pixels.tail, pixels.head, weight)
    used, left = weight > 0, np.zeros(pixels.n_pixels, dtype=bool)
    tail, head = pixels.tail[used], pixels.head[used]
    left[tail], left[head] = True, True
    number = np.cumsum(left, dtype=np.int32)
    number -= 1
    return left, NeighbourLists.from_edges(int(number[-1]) + 1, number[tail], number[head], weight[used])


def equations(graph: Quotient, leave_out: LeaveOut | None) -> tuple[np.ndarray, np.ndarray]:
    """Weight (n_edges,) float32 of both equations of each edge together, 0 if it does not count, and their mean jump."""
    tail, head = graph.pixels.tail, graph.pixels.head
    jump = np.asarray(graph.jump)
    if jump.ndim == 2:
        gamma = graph.pixels.gamma_squared
        jump = (gamma[tail] * jump[0] + gamma[head] * jump[1]) / (gamma[tail] + gamma[head])
    weight = np.empty(len(tail), dtype=np.float32)
    _weigh(half_gamma(graph.pixels), graph.labels, tail, head, weight)
    if leave_out is not None:
        weight[leave_out(graph, weight, jump)] = 0
    return weight, jump


def half_gamma(pixels: PixelGraph) -> np.ndarray:
    """(n_pixels,) float32 ½γ² of each pixel; the weight of an edge is the sum of its two ends."""
    gamma = pixels.gamma_squared
    gamma *= 0.5
    return gamma.astype(np.float32)


def along_trees(
    n: int, tail: np.ndarray, head: np.ndarray, weight: np.ndarray, jump: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Add up jumps along a spanning tree of every connected piece of the edges of positive weight.

    Returns
    -------
    x : (n,) float64
    root : (n,) int32
        First node of the piece of each node.
    """
    x, root = np.zeros(n), np.arange(n, dtype=np.int32)
    _integrate_trees(tail, head, weight, jump, root, x)
    return x, root


@kernel(parallel_from=2**21)
def _weigh(gamma, labels, tail, head, weight, share=WHOLE):
    """Write the weight of each edge, 0 if it is cut."""
    for e in portion(len(weight), share):
        a, b = np.uint32(tail[e]), np.uint32(head[e])  # unsigned: Numba need not look for negative ones
        weight[e] = gamma[a] + gamma[b] if labels[a] == labels[b] else np.float32(0)


@kernel
def _integrate_trees(tail, head, weight, jump, parent, x):
    """Union-find in which every node knows its offset to its parent; parents come before their children.

    On entry every node is its own parent, and x is zero. On exit the parent of a node is the root of its tree.
    """
    for e in range(len(tail)):
        if weight[e] > 0:
            a, b = np.uint32(tail[e]), np.uint32(head[e])
            if parent[a] == parent[b]:  # most edges: both ends are in one tree already
                continue
            up_a, up_b = 0.0, 0.0
            while parent[a] != a:
                above = np.uint32(parent[a])
                x[a] += x[above] if parent[above] != above else 0.0
                parent[a] = parent[above]
                up_a += x[a]
                a = np.uint32(parent[a])
            while parent[b] != b:
                above = np.uint32(parent[b])
                x[b] += x[above] if parent[above] != above else 0.0
                parent[b] = parent[above]
                up_b += x[b]
                b = np.uint32(parent[b])
            if a < b:
                parent[b] = a
                x[b] = up_a - jump[e] - up_b
            elif b < a:
                parent[a] = b
                x[a] = up_b + jump[e] - up_a
    for i in range(len(x)):
        if parent[i] != i:
            x[i] += x[parent[i]]
            parent[i] = parent[parent[i]]


@kernel
def mismatch(tail, head, weight, jump, x, rhs):
    """rhs += Bᵀ W (jump − B x). Return the energy of the mismatch and the largest mismatch of an edge."""
    energy, worst = 0.0, 0.0
    for e in range(len(tail)):
        if weight[e] > 0:
            a, b = np.uint32(tail[e]), np.uint32(head[e])
            left = jump[e] - (x[a] - x[b])
            flow = weight[e] * left
            rhs[a] += flow
            rhs[b] -= flow
            energy += flow * left
            worst = max(worst, abs(left))
    return energy, worst
