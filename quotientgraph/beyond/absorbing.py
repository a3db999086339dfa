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
    pixels, tail, head = graph.pixels, graph.tail, graph.head
    angle, edge = absorbing_angles(graph, np.minimum(graph.sizes[tail], graph.sizes[head]))
    at = (pixels.map.position[end[graph.cut[edge]]] for end in (pixels.tail, pixels.head))
    away = from_middle(pixels.map.shape, *at)
    chosen = absorbing_edges(tail[edge], head[edge], angle, away, graph.sizes, graph.angle)
    return graph.contract(graph.cut[edge[chosen]])


def absorbing_angles(graph: Quotient, smaller: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angles (n,) in degrees of the cut edges over which a component may be absorbed, and which of the cut edges they are.

    `smaller` (n_cut,) are the pixels of the smaller of the two components of each cut edge.
    """
    pixels, normals = graph.pixels, graph.pixels.map.normals
    cosine = np.einsum("ij,ij->i", normals[pixels.tail[graph.cut]], normals[pixels.head[graph.cut]])
    angle = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    # Components only grow, so that an edge too wide for the smaller of the two now will be too wide later.
    edge = np.flatnonzero((angle <= _WIDEST) & (angle <= (graph.angle or 0.0) + _REACH / smaller))
    return angle[edge], edge


def from_middle(shape: tuple[int, int], tail: np.ndarray, head: np.ndarray) -> np.ndarray:
    """(n,) how far the middles of edges between flat positions lie from the middle of the image, squared, in half pixels."""
    (row, column), (row_head, column_head) = (np.divmod(end, shape[1]) for end in (tail, head))
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
    order = np.lexsort((away, np.maximum(one, other), np.minimum(one, other), np.round(angle, 9)))
    chosen, parent = np.zeros(len(tail), dtype=np.bool_), np.arange(len(size), dtype=np.int32)
    _absorb(order, tail, head, angle, parent, size.copy(), float(least or 0.0), chosen)
    return chosen


def flat_components(graph: Quotient, least: float, scatter: float) -> tuple[np.ndarray, np.ndarray]:
    """(n_components,) bool: components of at least so many pixels whose normals are all equal but for noise.

    One minus the length of their mean normal is at most `scatter`, beside what noise makes of it. The second result is
    (3, n_components), the sums of the normals of all components.

    Noise scatters the normals of a face, but that shows between neighbours too, and is no reason to doubt it. The smooth
    errors of a network do not show there. They bend faces, and their borders then ask for offsets that drift.
    """
    pixels, size = graph.pixels, graph.sizes
    large, step = size >= least, sampling_step(pixels.n_edges)
    total, noise = normal_sums(pixels.map.normals, graph.labels, large, pixels.tail, pixels.head, step)
    return large & are_flat(size, total, noise[0] / np.maximum(noise[1], 1), scatter), total


def normal_sums(
    normals: np.ndarray, labels: np.ndarray, wanted: np.ndarray, tail: np.ndarray, head: np.ndarray, step: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Add up the normals of components, and how much they scatter between neighbours.

    Parameters
    ----------
    normals : (n_pixels, 3) float64
    labels : (n_pixels,) int32
    wanted : (n,) bool
        The components whose scatter is of interest.
    tail, head : (n_edges,) int32
        Edges, of which every `step`-th is looked at.

    Returns
    -------
    total : (3, n) float64
    noise : (2, n) float64
        Of the edges inside wanted components: the sum of a quarter of the squared difference of their normals, the mean
        of which is the noise, and how many they are.
    """
    total, noise = np.zeros((3, len(wanted))), np.zeros((2, len(wanted)))
    _add_normals(normals, labels, wanted, tail, head, step, total, noise)
    return total, noise


def sampling_step(n_edges: int) -> int:
    """One in so many of the edges of G0 is looked at to estimate noise."""
    return max(1, n_edges // _SAMPLE)


def are_flat(size: np.ndarray, total: np.ndarray, noise: np.ndarray, scatter: float) -> np.ndarray:
    """(n,) bool: whether components are flat, from their pixels (n,), the sums (3, n) of their normals, and noise (n,).

    Noise is the mean of a quarter of the squared difference of neighbouring normals.
    """
    return 1 - np.linalg.norm(total, axis=0) / size < scatter + 1.2 * noise


def has_faces(graph: Quotient) -> bool:
    """Whether a notable part of the pixels lies in large flat faces, as in a room; it is next to none on a statue."""
    size = graph.sizes
    least, notable = max(_FEWEST, _LARGE * len(graph.labels)), _NOTABLE * len(graph.labels)
    return bool(
        size[size >= least].sum() >= notable and size[flat_components(graph, least, _SCATTER)[0]].sum() >= notable
    )


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
    ends = (pixels.map.normals.take(end[::step], axis=0) for end in (pixels.tail, pixels.head))
    chord = np.maximum.reduce(np.abs(np.subtract(*ends)).T)
    return bool(len(chord)) and float(np.quantile(chord, _ALIKE)) < _ROUNDED


@kernel
def _add_normals(normals, labels, wanted, tail, head, step, total, noise):
    """Add up in order, without copies of rows; see `normal_sums`. `total` and `noise` are zero on entry."""
    for i in range(len(labels)):
        for axis in range(3):
            total[axis, labels[i]] += normals[i, axis]
    for e in range(0, len(tail), step):
        a, b = np.uint32(tail[e]), np.uint32(head[e])  # unsigned: Numba need not look for negative ones
        label = labels[a]
        if wanted[label] and labels[b] == label:
            square = 0.0
            for axis in range(3):
                difference = normals[a, axis] - normals[b, axis]
                square += difference * difference
            noise[0, label] += 0.25 * square
            noise[1, label] += 1.0


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
