"""Components divided by faces, and the fragments that this leaves: passes over the edges of G0 without copies of them."""

from __future__ import annotations

import numpy as np

from laplacians.core.arrays import counts

from ..graph.quotient import Quotient
from ..graph.selection import cut_edges, equal_parts

_FRAGMENT = 20  # pixels: smaller parts go to what surrounds them


def divided_components(graph: Quotient, face: np.ndarray) -> np.ndarray:
    """(n_pixels,) int32 components of a graph, divided where the number of the face (n_pixels,) int32 changes.

    They are connected and numbered by their first pixel.
    """
    n = graph.n_components
    if n * (int(face.max(initial=0)) + 1) < 2**31:
        return equal_parts(graph.pixels, graph.labels + np.int32(n) * face)
    number = np.unique(np.int64(n) * face + graph.labels, return_inverse=True)[1]
    return equal_parts(graph.pixels, number.astype(np.int32))


def settle_fragments(graph: Quotient, number: np.ndarray) -> None:
    """Give small parts of faces, and small parts that faces leave over, to what they border on.

    Parameters
    ----------
    graph : Quotient
    number : (n_pixels,) int32
        Number of the face of each pixel, 0 for the rest of a component; changed in place.
    """
    pixels = graph.pixels
    for _ in range(2):
        part = divided_components(graph, number)
        edge = cut_edges(pixels, part)
        tail, head = pixels.tail[edge], pixels.head[edge]
        inside = graph.labels[tail] == graph.labels[head]  # then the two belong to different faces
        tail, head = tail[inside], head[inside]
        ends = np.stack([np.append(tail, head), np.append(head, tail)])
        size = counts(part, int(part.max()) + 1)
        one, other = part[ends]
        loose = (size[one] < _FRAGMENT) & (size[other] >= _FRAGMENT)
        if not loose.any():
            return
        pair, first, count = np.unique(part[ends[:, loose]], axis=1, return_index=True, return_counts=True)
        best = np.lexsort((size[pair[1]], count))  # what it borders on most comes last and stays
        target = np.full(len(size), -1, dtype=np.int32)
        target[pair[0, best]] = number[ends[1, loose][first[best]]]
        moved = np.flatnonzero((target >= 0)[part])
        number[moved] = target[part[moved]]
