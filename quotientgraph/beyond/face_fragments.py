"""Components divided by faces, and the fragments that this leaves: passes over the edges of G0 without copies of them."""

from __future__ import annotations

import numpy as np

from laplacians.core.arrays import counts, gathered

from ..graph.quotient import Quotient
from ..graph.selection import connected_components, cut_edges, equal_parts

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
    pixels, part = graph.pixels, divided_components(graph, number)
    edge = cut_edges(pixels, part)
    tail, head = (gathered(end, edge) for end in (pixels.tail, pixels.head))
    # Of one component, so that the two belong to different faces.
    inside = np.flatnonzero(gathered(graph.labels, tail) == gathered(graph.labels, head))
    tail, head = part[tail[inside]], part[head[inside]]
    told = np.empty(int(part.max()) + 1, dtype=np.int32)
    told[part] = number
    number[:] = gathered(
        settled_parts(told, counts(part, len(told)), tail, head, np.ones(len(tail), dtype=np.int64)), part
    )


def settled_parts(
    number: np.ndarray, size: np.ndarray, tail: np.ndarray, head: np.ndarray, n_edges: np.ndarray
) -> np.ndarray:
    """(n_parts,) int32 numbers of faces after small parts went to what they border on most.

    Parameters
    ----------
    number : (n_parts,) int32
        Number of the face of each part.
    size : (n_parts,) int64
        Pixels of each part.
    tail, head : (n,) integers
        Parts of one component that border on each other.
    n_edges : (n,) int64
        By how many edges of G0; a pair may be listed several times.
    """
    number = number.copy()
    for _ in range(2):
        # Parts of one face that border on each other, as they do once one of them has changed its face, are one part.
        same = number[tail] == number[head]
        group = connected_components(len(number), tail[same], head[same])
        total, face = np.bincount(group, size).astype(np.int64), np.empty(int(group.max()) + 1, dtype=np.int32)
        face[group] = number
        ends = group[np.stack([np.append(tail, head), np.append(head, tail)])]
        loose = (total[ends[0]] < _FRAGMENT) & (total[ends[1]] >= _FRAGMENT)
        if not loose.any():
            break
        pair, inverse = np.unique(ends[:, loose], axis=1, return_inverse=True)
        count = np.bincount(inverse.ravel(), np.tile(n_edges, 2)[loose])
        best = np.lexsort((total[pair[1]], count))  # what it borders on most comes last and stays
        face[pair[0, best]] = face[pair[1, best]]
        number = face[group]
    return number
