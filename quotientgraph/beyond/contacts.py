"""Contact: whether two surfaces can touch at an edge, when it is not known where between its two pixels they would meet.

Two planes that touch do so along a crease, and the crease crosses an edge of G0 somewhere. So the normals state an
*interval* of jumps (`quotientgraph.geometry.jumps.interval`), and the jump of a crease midway is but one of them. The
distance by which a reconstruction misses the interval is the *gap* of the edge: 0 where the surfaces may touch, large where
one of them hides the other. Gaps need no ground truth. They tell what the relative scale of a component rests on.
"""

from __future__ import annotations

import numpy as np

from laplacians.core.arrays import gathered
from laplacians.core.sharing import in_blocks

from ..geometry.jumps import interval
from ..geometry.normals import rows_and_columns
from ..graph.quotient import Quotient
from ..method.weights import DOUBT

# Normals that differ by less than the first angle (degrees) are those of one curved surface, for which the middle of the
# interval is right to second order; beyond the second they are those of a crease.
CURVED, CREASED = 8.0, 24.0


def gaps(graph: Quotient, potential: np.ndarray, edges: np.ndarray | None = None) -> np.ndarray:
    """By how many pixels the jumps of a reconstruction miss the intervals of their edges.

    Parameters
    ----------
    graph : Quotient
    potential : (n_pixels,) float64
    edges : (n,) integers, optional
        Numbers of edges of G0; by default the cut edges.

    Returns
    -------
    (n,) float64
        0 where the two surfaces may touch.
    """
    pixels, edges = graph.pixels, graph.cut if edges is None else edges
    tail, head = (gathered(end, edges) for end in (pixels.tail, pixels.head))
    out = gathered(potential, tail)
    out -= gathered(potential, head)

    def write(part: slice) -> None:
        low, high = interval(pixels.map, tail[part], head[part])
        low -= out[part]
        np.maximum(low, out[part] - high, out=low)
        np.maximum(low, 0.0, out=low)
        np.multiply(low, pixels.focal_at(edges[part]), out=out[part])

    in_blocks(write, len(edges))
    return out


def support(gap: np.ndarray) -> np.ndarray:
    """How surely each edge is a contact, 0 … 1, from its gap in pixels; ½ at the length `DOUBT`."""
    return 1 / (1 + np.square(gap / DOUBT))


def resting(graph: Quotient, potential: np.ndarray, inside: np.ndarray) -> tuple[int, int]:
    """What a part of the pixels hangs on: the number of borders that touch, and their length in pixels.

    Parameters
    ----------
    graph : Quotient
    potential : (n_pixels,) float64
    inside : (n_pixels,) bool
        Whole components.

    Returns
    -------
    n_borders, length : int
        A border is that of two components. Where fewer than two pixels of it touch, it does not count.
    """
    pixels = graph.pixels
    edges = graph.cut[np.flatnonzero(inside[pixels.tail[graph.cut]] != inside[pixels.head[graph.cut]])]
    (v, u), (y, x) = (
        rows_and_columns(pixels.map.position[end[edges]], pixels.map.shape[1]) for end in (pixels.tail, pixels.head)
    )
    edges = edges[(v == y) | (u == x)]  # a diagonal edge has no side of a pixel
    edges = edges[support(gaps(graph, potential, edges)) > 0.5]
    ends = np.sort(graph.labels[np.stack([pixels.tail[edges], pixels.head[edges]])], axis=0).astype(np.int64)
    _, count = np.unique(ends[0] * graph.n_components + ends[1], return_counts=True)
    return int((count > 1).sum()), int(count[count > 1].sum())
