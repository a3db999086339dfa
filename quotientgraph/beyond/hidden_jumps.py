"""Depth jumps that are hidden inside a component.

A component may hold a depth jump whose two sides are joined by a way around it. The paper fills over all edges inside a
component, those across the jump included, and smooths it away. Here the edges that surely follow the surface are integrated
first, and the others are left out where they contradict the result by more than a pixel.
"""

from __future__ import annotations

import numpy as np

from laplacians.core.arrays import blocks
from laplacians.core.jit import WHOLE, kernel, portion

from ..graph.pixels import PixelGraph
from ..graph.quotient import LEAN_EDGES, Quotient
from ..graph.selection import connected_components
from ..method.filling import along_trees

# Pixels. A depth jump shows as a chain of edges with gaps above the first length, and somewhere above the second. Shorter
# gaps are what errors add up to along a tree.
WIDE_GAP, SURE_GAP = 0.5, 12.0

# A normal that turns this many times faster than is usual nearby belongs to another surface. Steps below `_UNDOUBTED`
# degrees are not judged: the 8-bit normals of a plane are all equal but for such steps.
_UNUSUAL = 6.0
_UNDOUBTED = 1.0
_TILE = 8  # pixels a side: what "nearby" means
_N_BINS = 32  # of the histogram that medians are read from

_MANY = 2**21  # entries above which two threads pay


def hidden_jumps(graph: Quotient, weight: np.ndarray, jump: np.ndarray) -> np.ndarray:
    """Find the edges inside components across which the depth jumps.

    They are not steady, and the potential integrated along a tree of steady edges contradicts them, in chains that reach
    a sure gap somewhere. Parts of a component that steady edges do not connect cannot contradict each other.

    Parameters
    ----------
    graph : Quotient
    weight, jump : (n_edges,)
        Weight of each edge of G0 in the filling, 0 for cut edges, and its predicted jump.

    Returns
    -------
    (n,) integers
        Numbers of the edges.
    """
    pixels = graph.pixels
    doubtful = np.flatnonzero((weight > 0) > steady_edges(pixels, graph.angle))
    if not len(doubtful):
        return doubtful
    weight[doubtful] *= -1  # so that trees do not use them
    x, part = along_trees(pixels.n_pixels, pixels.tail, pixels.head, weight, jump)
    weight[doubtful] *= -1
    gap = np.empty(len(doubtful))
    _measure_gaps(pixels.tail, pixels.head, jump, doubtful, x, part, gap)
    gap *= pixels.focal_at(doubtful)
    apart = np.flatnonzero(gap > WIDE_GAP)
    gap, edge = gap[apart], doubtful[apart]
    # They are few, and so are the pixels at their ends.
    ends, number = np.unique(np.append(pixels.tail[edge], pixels.head[edge]), return_inverse=True)
    tail, head = number.reshape(2, -1)
    chain = connected_components(len(ends), tail, head, "union-find")[tail]
    widest = np.zeros(len(ends))
    np.maximum.at(widest, chain, gap)
    return edge[widest[chain] > SURE_GAP]


def steady_edges(graph: PixelGraph, angle: float | None) -> np.ndarray:
    """(n_edges,) bool: the edges along which the surface surely goes on.

    Their normals differ by less than `angle` degrees (None: by any angle), and by at most six times the median over the
    tile of 8×8 pixels around either end.
    """
    height, width = graph.map.shape
    across = -(-width // _TILE)
    tile = _tiles(graph.map.position, width, across)
    return steady_among(graph.map.normals, tile, across * -(-height // _TILE), graph.tail, graph.head, angle)


def steady_among(
    normals: np.ndarray, tile: np.ndarray, n_tiles: int, tail: np.ndarray, head: np.ndarray, angle: float | None
) -> np.ndarray:
    """The same for pixels in given tiles, (n_pixels,) int32; an edge counts for the median of the tile of its tail."""
    limit = 2 * np.sin(np.radians(180 if angle is None else angle) / 2)
    least = 2 * np.sin(np.radians(_UNDOUBTED) / 2)
    out = np.empty(len(tail), dtype=bool)
    count, median = np.zeros((n_tiles, _N_BINS + 1), dtype=np.int32), np.empty(n_tiles)
    # Large maps need the memory for other things.
    chord = np.empty(len(tail) if len(tail) <= LEAN_EDGES else 0, dtype=np.float32)
    _medians(normals, tile, tail, head, _N_BINS * _UNUSUAL / limit, count, median, chord)
    _below(normals, tile, tail, head, median, limit, least, chord, out)
    return out


def _tiles(position: np.ndarray, width: int, across: int) -> np.ndarray:
    """(n_pixels,) int32 tile of each pixel, numbered row by row."""
    out = np.empty_like(position)
    for part in blocks(len(position)):  # what is made on the way stays in the caches
        row = position[part] // np.int32(width)
        column = position[part] - row * np.int32(width)
        np.add(row // np.int32(_TILE) * np.int32(across), column // np.int32(_TILE), out=out[part])
    return out


@kernel(no_cpython_wrapper=True)
def _chord(normals, a, b):
    """The distance between two unit normals, which stands for their angle."""
    x, y, z = normals[a, 0] - normals[b, 0], normals[a, 1] - normals[b, 1], normals[a, 2] - normals[b, 2]
    return np.float32(np.sqrt(x * x + y * y + z * z))


@kernel
def _medians(normals, tile, tail, head, scale, count, median, chord):
    """Write the median chord of each tile, read from a histogram with bins of width 1/scale; `count` is zero on entry.

    Chords are kept in `chord` (n_edges,), unless that is empty. Edges of one tile and bin mostly come in a row, and are
    counted together: to write a count and read it again takes longer than the rest.
    """
    n_bins = _N_BINS
    at, into, run = np.uint32(0), np.uint64(0), np.int32(0)
    for e in range(len(tail)):
        a, b = np.uint32(tail[e]), np.uint32(head[e])  # unsigned: Numba need not look for negative ones
        length = _chord(normals, a, b)
        if len(chord) > 0:
            chord[e] = length
        own, bin_of_it = np.uint32(tile[a]), np.uint64(min(n_bins, int(length * scale)))
        if own != at or bin_of_it != into:
            count[at, into] += run
            at, into, run = own, bin_of_it, np.int32(0)
        run += np.int32(1)
    if len(tail) > 0:
        count[at, into] += run
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


@kernel(parallel_from=_MANY)
def _measure_gaps(tail, head, jump, edges, x, part, gap, share=WHOLE):
    """Write by how much x contradicts the jump of each of the `edges`; 0 if its ends are in different parts."""
    for k in portion(len(edges), share):
        e = np.uint64(edges[k])
        a, b = np.uint32(tail[e]), np.uint32(head[e])
        gap[k] = abs(x[a] - x[b] - jump[e]) if part[a] == part[b] else 0.0


@kernel(parallel_from=_MANY)
def _below(normals, tile, tail, head, median, limit, least, chord, out, share=WHOLE):
    """Write whether each edge is steady; see `steady_edges`. Chords that are not kept are computed again."""
    for e in portion(len(tail), share):
        a, b = np.uint32(tail[e]), np.uint32(head[e])
        usual = max(median[np.uint32(tile[a])], median[np.uint32(tile[b])])
        length = chord[e] if len(chord) > 0 else _chord(normals, a, b)
        out[e] = length < min(limit, max(least, _UNUSUAL * usual))
