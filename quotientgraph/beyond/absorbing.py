"""Absorbing: crumbs join the neighbour whose normals are most like theirs.

Where a curved surface turns away, normals change fast from pixel to pixel, and components formed by one angle fall into
crumbs along its outline. Crumbs hold no evidence of their own, only noise, and there are thousands of them. Here the pairs
of components are visited from the smallest angle between neighbouring normals to the largest, and a pair is joined if the
smaller of the two is small enough for that angle. A crumb thus joins the surface that it belongs to, which is more like it
than the one behind; two large faces are never joined.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from laplacians.core.arrays import gathered
from laplacians.core.edges import root_of
from laplacians.core.jit import WHOLE, kernel, portion

from ..geometry.normals import rows_and_columns
from ..graph.quotient import Quotient

_Q = TypeVar("_Q", bound=Quotient)

_REACH = 100.0  # degrees × pixels: a component of n pixels is absorbed over an angle up to this divided by n
_WIDEST = 60.0  # degrees: beyond it nothing is absorbed


def absorbed(graph: _Q) -> _Q:
    """The graph with its crumbs contracted into their most similar neighbours, one level up."""
    pixels, tail, head = graph.pixels, graph.tail, graph.head
    size = graph.sizes.astype(np.int32)
    angle, edge = absorbing_angles(graph, np.minimum(gathered(size, tail), gathered(size, head)))
    at = (gathered(pixels.map.position, end, graph.cut[edge]) for end in (pixels.tail, pixels.head))
    away = from_middle(pixels.map.shape, *at)
    chosen = absorbing_edges(tail[edge], head[edge], angle, away, graph.sizes, graph.angle)
    return graph.contract(graph.cut[edge[np.flatnonzero(chosen)]])


def absorbing_angles(graph: Quotient, smaller: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angles (n,) in degrees of the cut edges over which a component may be absorbed, and which of the cut edges they are.

    `smaller` (n_cut,) are the pixels of the smaller of the two components of each cut edge.
    """
    pixels, normals = graph.pixels, graph.pixels.map.normals
    cosine = np.empty(len(graph.cut))
    _products(normals, pixels.tail, pixels.head, graph.cut, cosine)
    angle = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    # Components only grow, so that an edge too wide for the smaller of the two now will be too wide later.
    edge = np.flatnonzero((angle <= _WIDEST) & (angle <= (graph.angle or 0.0) + _REACH / smaller))
    return angle[edge], edge


def from_middle(shape: tuple[int, int], tail: np.ndarray, head: np.ndarray) -> np.ndarray:
    """(n,) how far the middles of edges between flat positions lie from the middle of the image, squared, in half pixels."""
    (row, column), (row_head, column_head) = (rows_and_columns(end, shape[1]) for end in (tail, head))
    return (row + row_head - shape[0] + 1.0) ** 2 + (column + column_head - shape[1] + 1.0) ** 2


def absorbing_edges(
    tail: np.ndarray, head: np.ndarray, angle: np.ndarray, away: np.ndarray, size: np.ndarray, least: float | None
) -> np.ndarray:
    """(n,) bool: the edges over which crumbs are absorbed.

    Parameters
    ----------
    tail, head : (n,) integers
        Components of the edges that `absorbing_angles` lists, in the order of the edges of G0.
    angle, away : (n,) float64
        Angles in degrees; see `from_middle`.
    size : (n_components,) int64
    least : float or None
        The angle in degrees that components were formed with.
    """
    one, other = size[tail], size[head]
    # Of equal angles the smaller first, then what is nearer to the middle of the image, whichever way that is turned.
    order = _sorted_by(np.round(angle, 9), np.minimum(one, other), np.maximum(one, other), away)
    chosen, parent = np.zeros(len(tail), dtype=np.bool_), np.arange(len(size), dtype=np.int32)
    _absorb(order, tail, head, angle, parent, size.copy(), float(least or 0.0), chosen)
    return chosen


def _sorted_by(value: np.ndarray, *further: np.ndarray) -> np.ndarray:
    """(n,) the order by one value and, among equal ones, by the further ones; otherwise as they come.

    The same as ``np.lexsort``, which sorts all entries by every value; here only those with an equal are.
    """
    order = np.argsort(value)
    ranked = value[order]
    equal = np.zeros(len(order), dtype=np.bool_)
    np.equal(ranked[1:], ranked[:-1], out=equal[1:])
    equal[:-1] |= equal[1:]
    tied = np.flatnonzero(equal)
    among = np.sort(order[tied])
    order[tied] = among[np.lexsort((*(one[among] for one in reversed(further)), value[among]))]
    return order


@kernel(parallel_from=2**19)
def _products(normals, tail, head, edges, out, share=WHOLE):
    """Write the product of the normals at the two ends of each of the edges, which are listed by number."""
    for k in portion(len(out), share):
        e = np.uint32(edges[k])  # unsigned: Numba need not look for negative ones
        a, b = np.uint32(tail[e]), np.uint32(head[e])
        out[k] = normals[a, 0] * normals[b, 0] + normals[a, 1] * normals[b, 1] + normals[a, 2] * normals[b, 2]


@kernel
def _absorb(order, tail, head, angle, parent, size, least, chosen):
    """Join components over the edges in order; `parent` is a forest of them, `size` in pixels is kept at its roots."""
    for e in order:
        a, b = root_of(parent, tail[e]), root_of(parent, head[e])
        if a == b or angle[e] > least + _REACH / min(size[a], size[b]):
            continue
        if size[a] < size[b]:
            a, b = b, a
        parent[b] = a
        size[a] += size[b]
        chosen[e] = True
