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

from laplacians.core.arrays import sums
from laplacians.core.edges import root_of
from laplacians.core.jit import kernel

from ..graph.quotient import Quotient

_Q = TypeVar("_Q", bound=Quotient)

_REACH = 100.0  # degrees × pixels: a component of n pixels is absorbed over an angle up to this divided by n
_WIDEST = 60.0  # degrees: beyond it nothing is absorbed
# A flat face has at least this share of the pixels and this many, and one minus the length of its mean normal is at most so
# much, beside what noise makes of it. Faces are notable from this share of the pixels on: DiLiGenT objects have 0, rooms,
# streets and real views 0.4 to 1.
_LARGE, _FEWEST, _SCATTER, _NOTABLE = 0.005, 100, 1e-4, 0.25
_SAMPLE = 200_000  # edges that noise is estimated from
# Of a map without noise that has notable faces, this part of the neighbouring normals differs by no more than so much.
_ALIKE, _ROUNDED = 0.2, 1e-5
_PRECISE_UP_TO = 2**18  # pixels of a map that is filled precisely; larger ones would take noticeably longer


def absorbed(graph: _Q) -> _Q:
    """The graph with its crumbs contracted into their most similar neighbours, one level up."""
    pixels, cut = graph.pixels, graph.cut
    normals = pixels.map.normals
    cosine = np.einsum("ij,ij->i", normals[pixels.tail[cut]], normals[pixels.head[cut]])
    angle = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    size = graph.sizes.copy()
    one, other = size[graph.tail], size[graph.head]
    smaller, larger, least = np.minimum(one, other), np.maximum(one, other), 0.0 if graph.angle is None else graph.angle
    # Components only grow, so that an edge too wide for the smaller of the two now will be too wide later.
    order = np.flatnonzero((angle <= _WIDEST) & (angle <= least + _REACH / smaller))
    # Of equal angles the smaller first, then what is nearer to the middle of the image, whichever way that is turned.
    keys = _from_middle(graph, order), larger[order], smaller[order], np.round(angle[order], 9)
    order = order[np.lexsort(keys)]
    chosen = np.zeros(len(cut), dtype=np.bool_)
    parent = np.arange(graph.n_components, dtype=np.int32)
    _absorb(order, graph.tail, graph.head, angle, parent, size, least, chosen)
    return graph.contract(cut[chosen])


def _from_middle(graph: Quotient, which: np.ndarray) -> np.ndarray:
    """(n,) squared distance of the middles of cut edges from that of the image."""
    pixels, (height, width) = graph.pixels, graph.pixels.map.shape
    edge, at = graph.cut[which], pixels.map.position
    (row, column), (row_head, column_head) = (np.divmod(at[end[edge]], width) for end in (pixels.tail, pixels.head))
    return (row + row_head - height + 1.0) ** 2 + (column + column_head - width + 1.0) ** 2


def flat_components(graph: Quotient, least: float, scatter: float) -> np.ndarray:
    """(n_components,) bool: components of at least so many pixels whose normals are all equal but for noise.

    One minus the length of their mean normal is at most `scatter`, beside what noise makes of it.

    Noise scatters the normals of a face, but that shows between neighbours too, and is no reason to doubt it. The smooth
    errors of a network do not show there. They bend faces, and their borders then ask for offsets that drift.
    """
    normals, size = graph.pixels.map.normals, graph.sizes
    large = size >= least
    if not large.any():
        return large
    total = np.stack([sums(graph.labels, normals[:, axis], len(size)) for axis in range(3)])
    step = max(1, graph.pixels.n_edges // _SAMPLE)
    tail, head = graph.pixels.tail[::step], graph.pixels.head[::step]
    label = graph.labels[tail]
    inside = large[label] & (label == graph.labels[head])
    tail, head, label = tail[inside], head[inside], label[inside]
    difference = normals.take(tail, axis=0)  # some four times as quick as an index
    difference -= normals.take(head, axis=0)
    between = 0.25 * np.einsum("ij,ij->i", difference, difference)
    noise = np.bincount(label, between, len(size)) / np.maximum(np.bincount(label, minlength=len(size)), 1)
    return large & are_flat(size, total, noise, scatter)


def are_flat(size: np.ndarray, total: np.ndarray, noise: np.ndarray, scatter: float) -> np.ndarray:
    """(n,) bool: whether components are flat, from their pixels (n,), the sums (3, n) of their normals, and noise (n,).

    Noise is the mean of a quarter of the squared difference of neighbouring normals.
    """
    return 1 - np.linalg.norm(total, axis=0) / size < scatter + 1.2 * noise


def has_faces(graph: Quotient) -> bool:
    """Whether a notable part of the pixels lies in large flat faces, as in a room; it is next to none on a statue."""
    size = graph.sizes
    least, notable = max(_FEWEST, _LARGE * len(graph.labels)), _NOTABLE * len(graph.labels)
    return bool(size[size >= least].sum() >= notable and size[flat_components(graph, least, _SCATTER)].sum() >= notable)


def has_notable_faces(size: np.ndarray, total: np.ndarray, noise: np.ndarray) -> bool:
    """The same from the sizes (n,) of components, the sums (3, n) of their normals and their noise; see `are_flat`."""
    n_pixels = size.sum()
    flat = (size >= max(_FEWEST, _LARGE * n_pixels)) & are_flat(size, total, noise, _SCATTER)
    return bool(size[flat].sum() >= _NOTABLE * n_pixels)


def deserves_precision(graph: Quotient) -> bool:
    """Whether a map that has faces is small and free of noise: neighbouring normals of a face are then equal to rounding.

    Joining such a map is worth a precise filling: a flipped map then gives the flipped surface. With noise, even that of 8
    bits, more digits would be digits of the noise.
    """
    pixels = graph.pixels
    if pixels.n_pixels > _PRECISE_UP_TO:
        return False
    step = max(1, pixels.n_edges // 20_000)
    chord = np.abs(pixels.map.normals[pixels.tail[::step]] - pixels.map.normals[pixels.head[::step]]).max(axis=1)
    return bool(len(chord)) and float(np.quantile(chord, _ALIKE)) < _ROUNDED


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
