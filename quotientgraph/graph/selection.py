"""Which edges to contract: those between similar normals (Q0), those of least residual (Qm+1); and connected components."""

from __future__ import annotations

from typing import Any

import numpy as np

from laplacians.core.arrays import array_namespace
from laplacians.core.edges import connected_labels
from laplacians.core.jit import kernel, prange

from .pixels import PixelGraph

# The angle below which neighbours are joined (degrees). A larger one joins what does not belong together, a smaller one
# leaves crumbs of surfaces with much noise or detail.
_ANGLE, _NOISY_ANGLE, _STRUCTURED_ANGLE = 2.0, 3.5, 4.0

# A normal that turns this many times faster than is usual nearby does not turn: two surfaces meet there. Steps below
# `_UNDOUBTED` degrees are not judged: 8-bit normals on a plane are all equal but for such steps.
_UNUSUAL = 6.0
_UNDOUBTED = 1.0
_TILE = 8  # pixels a side: what "nearby" means
_N_BINS = 32  # of the histogram that medians are read from

_MANY = 2**21  # entries from which on two threads pay

# Building an igraph object takes 0.3 µs an edge and more, union-find 0.01; beyond this many edges "auto" uses the latter.
_IGRAPH_LIMIT = 20_000


def similar_edges(graph: PixelGraph, angle: float | None) -> np.ndarray:
    """(n_edges,) bool: edges whose two normals differ by less than `angle` degrees; none for None."""
    out = np.zeros(graph.n_edges, dtype=bool)
    if angle is not None:
        _similar(graph.map.normals, graph.tail, graph.head, np.cos(np.radians(angle)), out)
    return out


def suitable_angle(graph: PixelGraph) -> float:
    """θ_c in degrees that suits a normal map: 2, up to 3.5 under noise, 4 for finely structured surfaces.

    How far normals are from the mean of their two neighbours in the row tells: curvature hardly changes it. Noise, which
    is everywhere the same, makes its lower quartile 1.31 standard deviations, and the median half as much again. Detail,
    which is not, makes the median larger than that.
    """
    index = graph.map.index
    left, centre, right = (index[:, k : max(index.shape[1] - 2, 0) + k].ravel() for k in range(3))
    whole = np.flatnonzero((left >= 0) & (centre >= 0) & (right >= 0))
    if not len(whole):
        return _ANGLE
    whole = whole[:: max(1, len(whole) // 100_000)]
    n = graph.map.normals
    bend = np.linalg.norm(n[left[whole]] - 2 * n[centre[whole]] + n[right[whole]], axis=1)
    quartile, median = np.degrees(np.percentile(bend, (25, 50)))
    if median > max(2.0, 1.9 * quartile):
        return _STRUCTURED_ANGLE
    return float(np.clip(_ANGLE + 2.5 * (quartile / 1.31 - 0.7), _ANGLE, _NOISY_ANGLE))


def steady_edges(graph: PixelGraph, angle: float | None) -> np.ndarray:
    """(n_edges,) bool: edges along which the surface surely goes on.

    Their normals differ by less than `angle` degrees (None: any angle), and not by more than six times the median of
    the tile of 8×8 pixels around either end.
    """
    height, width = graph.map.shape
    across = -(-width // _TILE)
    limit = 2 * np.sin(np.radians(180 if angle is None else angle) / 2)
    least = 2 * np.sin(np.radians(_UNDOUBTED) / 2)
    out = np.empty(graph.n_edges, dtype=bool)
    count = np.zeros((across * -(-height // _TILE), _N_BINS + 1), dtype=np.int32)
    chord, median = np.empty(graph.n_edges, dtype=np.float32), np.empty(len(count))
    tile = _tiles(graph.map.position, width, across)
    _chords(graph.map.normals, graph.tail, graph.head, chord)
    _medians(chord, tile, graph.tail, _N_BINS * _UNUSUAL / limit, count, median)
    _below(chord, tile, graph.tail, graph.head, median, limit, least, out)
    return out


def connected_components(n: int, tail: np.ndarray, head: np.ndarray, engine: str = "auto") -> np.ndarray:
    """(n,) int32 component of each node, numbered by first node.

    `engine` is "igraph", "union-find", or "auto": igraph for quotient graphs, union-find at pixel scale. Both give the
    same labels.
    """
    if engine == "auto":
        engine = "igraph" if len(tail) <= _IGRAPH_LIMIT else "union-find"
    if engine == "union-find":
        return connected_labels(n, tail, head)
    if engine != "igraph":
        raise ValueError(f'engine={engine!r} is not known; use "auto", "igraph" or "union-find"')
    import igraph

    graph = igraph.Graph(n, edges=np.column_stack([tail, head]))
    membership = np.asarray(graph.connected_components().membership, dtype=np.int32)
    first = np.unique(membership, return_index=True)[1]
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank[membership]


def least_residual_edges(n: int, tail: Any, head: Any, residual: Any) -> Any:
    """For each of n components the incident edge of least |residual|, the first among equals; indices, sorted.

    `tail` and `head` are the components that each edge joins; the arrays are of one namespace, numpy or cupy.
    """
    xp = array_namespace(residual)
    if xp is np:
        best = np.full(n, -1, dtype=np.int64)
        _least(tail, head, residual, best)
        return np.unique(best[best >= 0])
    order = xp.argsort(xp.abs(residual), kind="stable")
    rank = xp.empty(len(order), dtype=np.int32)
    rank[order] = xp.arange(len(order), dtype=np.int32)
    least = xp.full(n, len(order), dtype=np.int32)
    xp.minimum.at(least, tail, rank)
    xp.minimum.at(least, head, rank)
    return xp.unique(order[least[least < len(order)]])


@kernel
def _least(tail, head, residual, best):
    """For each component the first of its edges of least |residual|."""
    for e in range(len(residual)):
        size = abs(residual[e])
        if best[tail[e]] < 0 or size < abs(residual[best[tail[e]]]):
            best[tail[e]] = e
        if best[head[e]] < 0 or size < abs(residual[best[head[e]]]):
            best[head[e]] = e


@kernel(parallel=True, parallel_from=_MANY)
def _similar(normals, tail, head, cosine, out):
    for e in prange(len(out)):
        a, b = tail[e], head[e]
        dot = normals[a, 0] * normals[b, 0] + normals[a, 1] * normals[b, 1] + normals[a, 2] * normals[b, 2]
        out[e] = dot > cosine


def _tiles(position: np.ndarray, width: int, across: int) -> np.ndarray:
    """(n_pixels,) int32 tile of each pixel, numbered row by row."""
    row = position // np.int32(width)
    column = position - row * np.int32(width)
    return row // np.int32(_TILE) * np.int32(across) + column // np.int32(_TILE)


@kernel(parallel=True, parallel_from=_MANY)
def _chords(normals, tail, head, out):
    """Distance of the two unit normals of each edge, which stands for their angle."""
    for e in prange(len(out)):
        a, b = tail[e], head[e]
        x, y, z = normals[a, 0] - normals[b, 0], normals[a, 1] - normals[b, 1], normals[a, 2] - normals[b, 2]
        out[e] = np.sqrt(x * x + y * y + z * z)


@kernel
def _medians(chord, tile, tail, scale, count, median):
    """Median of the chords of each tile, from `count`, a histogram of each with bins of 1/scale."""
    n_bins = _N_BINS
    for e in range(len(tail)):
        count[tile[tail[e]], min(n_bins, int(chord[e] * scale))] += 1
    for t in range(len(median)):
        left = 0
        for k in range(n_bins + 1):
            left += count[t, k]
        left //= 2
        k = 0
        while k < n_bins and left >= count[t, k]:
            left -= count[t, k]
            k += 1
        median[t] = (k + 1) / scale


@kernel(parallel=True, parallel_from=_MANY)
def _below(chord, tile, tail, head, median, limit, least, out):
    for e in prange(len(tail)):
        usual = max(median[tile[tail[e]]], median[tile[head[e]]])
        out[e] = chord[e] < min(limit, max(least, _UNUSUAL * usual))
