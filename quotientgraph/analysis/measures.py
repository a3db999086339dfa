"""Measures of a decomposition: where the normals contradict each other, and what hangs on a single border.

face_residuals(graph)            how far the jumps around each square of four pixels fail to add up to zero
cycle_residuals(graph, φ)        the same around cycles of the quotient graph
bridges(graph, φ)                borders whose loss would leave a region without a scale
articulation(graph, φ)           components whose loss would do so
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from laplacians.core.jit import kernel
from laplacians.system import Pattern

from ..geometry.jumps import planar
from ..graph.quotient import Quotient
from ..graph.selection import connected_components
from ..method.filling import along_trees
from .tables import pair_columns


def face_residuals(graph: Quotient) -> np.ndarray:
    """How far the normals are from being those of one surface: the sum of the planar jumps around each square of pixels.

    It needs no reconstruction. On a smooth surface it is of the third order in the width of a pixel; it is large at
    discontinuities, and where normals are noisy.

    Parameters
    ----------
    graph : Quotient

    Returns
    -------
    (H − 1, W − 1) float64
        The sum, in pixels, around the square whose upper left pixel is (v, u); NaN where one of the four pixels is invalid.
    """
    source = graph.pixels.map
    index = source.index
    corners = np.stack([index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]])
    valid = (corners >= 0).all(axis=0)
    a, b, c, d = (np.ascontiguousarray(corner[valid]) for corner in corners)
    total = planar(source, a, b) + planar(source, b, c) - planar(source, d, c) - planar(source, a, d)
    out = np.full(valid.shape, np.nan)
    out[valid] = total * np.broadcast_to(source.focal, source.n_pixels)[a]
    return out


def cycle_residuals(graph: Quotient, potential: np.ndarray) -> np.ndarray:
    """How far the offsets between components fail to close around cycles of the quotient graph.

    The borders with the most edges make a spanning forest. Every other border closes one cycle with it, and the sum of
    the mean residuals around that cycle does not depend on the scales of the components: no choice of scales makes it
    smaller. Large values show where discontinuities must be.

    Parameters
    ----------
    graph : Quotient
    potential : (n_pixels,) float64
        The shift of each component does not matter.

    Returns
    -------
    (n_pairs,) float64
        In the order of `QuotientGraph.edge_table`, in pixels at the border that closes the cycle; 0 for borders of the
        forest.
    """
    pattern, order, start = Pattern.from_edges(graph.n_components, graph.tail, graph.head)
    if not len(order):
        return np.zeros(0)
    signed = np.where(graph.tail < graph.head, 1.0, -1.0) * graph.residual(potential)
    count = np.diff(start)
    offset = np.add.reduceat(signed[order], start[:-1]) / count
    longest = np.argsort(-count, kind="stable")  # along_trees takes the edges in order, as Kruskal's algorithm does
    x, _ = along_trees(
        graph.n_components, pattern.tail[longest], pattern.head[longest], np.ones(len(count)), offset[longest]
    )
    closing = offset - (x[pattern.tail] - x[pattern.head])
    closing[np.abs(closing) < 1e-12 * max(1.0, float(np.abs(offset).max()))] = 0.0
    # Potentials add up around a cycle; lengths in pixels do not where the focal length varies.
    return closing * (np.add.reduceat(graph.pixels.focal_at(graph.cut)[order], start[:-1]) / count)


@dataclass(frozen=True, eq=False)
class Bridges:
    """Borders that alone carry the scale of a region.

    Attributes
    ----------
    pair : (n,) int64
        Their numbers in the order of `QuotientGraph.edge_table`, those that carry most first.
    tail, head : (n,) int32
        The two components.
    carries : (n,) int64
        Number of pixels on the smaller side: what loses its scale without the border.
    n_edges : (n,) int64
        Number of edges of G0 that the border has.
    """

    pair: np.ndarray
    tail: np.ndarray
    head: np.ndarray
    carries: np.ndarray
    n_edges: np.ndarray


def bridges(graph: Quotient, potential: np.ndarray, least: float = 0.5) -> Bridges:
    """Find the borders on which alone the scale of a region rests.

    Parameters
    ----------
    graph : Quotient
    potential : (n_pixels,) float64
        A reconstruction: borders across which it jumps hold nothing.
    least : float
        Mean outlier weight from which on a border holds; 0 counts all of them.

    Returns
    -------
    Bridges
    """
    pattern, held, net, size = _holding(graph, potential, least)
    found = np.asarray(net.bridges(), dtype=np.int64)
    cut = np.ones(len(held), dtype=bool)
    cut[found] = False
    tail, head = pattern.tail[held], pattern.head[held]
    block = connected_components(graph.n_components, tail[cut], head[cut])
    carries = _smaller_sides(block[tail[found]], block[head[found]], np.bincount(block, size).astype(np.int64))
    order = np.argsort(-carries, kind="stable")
    pair = held[found][order]
    n_edges = np.diff(Pattern.from_edges(graph.n_components, graph.tail, graph.head)[2])
    return Bridges(pair, pattern.tail[pair], pattern.head[pair], carries[order], n_edges[pair])


def articulation(graph: Quotient, potential: np.ndarray, least: float = 0.5) -> np.ndarray:
    """Find the components whose loss would leave others without a connection to the rest.

    Parameters are those of `bridges`.

    Returns
    -------
    (n,) int64
        Numbers of the components, increasing.
    """
    net = _holding(graph, potential, least)[2]
    return np.sort(np.asarray(net.articulation_points(), dtype=np.int64))


def _holding(graph: Quotient, potential: np.ndarray, least: float) -> tuple[Pattern, np.ndarray, Any, np.ndarray]:
    """The pattern, the pairs that hold, an igraph `Graph` of them, and the sizes of the components."""
    import igraph

    if not 0 <= least <= 1:
        raise ValueError(f"least={least} must lie between 0 and 1; it is compared with outlier weights")
    pattern, _, _ = Pattern.from_edges(graph.n_components, graph.tail, graph.head)
    held = np.flatnonzero(pair_columns(graph, potential)["outlier"] >= least)
    net = igraph.Graph(graph.n_components, edges=np.column_stack([pattern.tail[held], pattern.head[held]]))
    return pattern, held, net, np.bincount(graph.labels, minlength=graph.n_components)


def _smaller_sides(tail: np.ndarray, head: np.ndarray, size: np.ndarray) -> np.ndarray:
    """For each edge of a forest with weighted nodes, the weight on its lighter side."""
    n = len(size)
    tree = connected_components(n, tail, head)
    total = np.zeros(n, dtype=np.int64)
    np.add.at(total, tree, size)
    degree = np.bincount(tail, minlength=n) + np.bincount(head, minlength=n)
    below, child = size.astype(np.int64), np.zeros(len(tail), dtype=np.int64)
    _peel(tail, head, degree, np.zeros(n, dtype=np.int64), below, child)
    return np.minimum(below[child], total[tree[child]] - below[child])


@kernel
def _peel(tail, head, degree, link, below, child):
    """Take away leaf after leaf of a forest: write to `child` the end of each edge that was the leaf, and add up `below`.

    `degree` counts the edges of each node, `link` is zero on entry; a node of degree 1 finds its last edge there, because
    link holds the exclusive or of the numbers of its edges.
    """
    for e in range(len(tail)):
        link[tail[e]] ^= e
        link[head[e]] ^= e
    for s in range(len(degree)):
        i = s
        while degree[i] == 1:
            e = link[i]
            j = head[e] if tail[e] == i else tail[e]
            child[e] = i
            below[j] += below[i]
            link[j] ^= e
            degree[i] = 0
            degree[j] -= 1
            i = j
