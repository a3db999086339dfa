"""Lines of discontinuity that a user draws: no edge of G0 goes across them.

Normals cannot tell that two parallel surfaces lie at different depths. A user who sees the jump draws it, and the edges
across it are taken out of the graph: components, filling, scales and meshes all stop there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from .pixels import PixelGraph

Lines = ArrayLike | Sequence[ArrayLike]


def without_lines(pixels: PixelGraph, lines: Lines) -> tuple[PixelGraph, np.ndarray]:
    """G0 without the edges across drawn lines.

    Parameters
    ----------
    pixels : PixelGraph
    lines : (H, W) bool array, or sequence of (n, 2) arrays
        Either the pixels of the drawn lines, one or more pixels wide; each drawn pixel stays joined to the one neighbour
        whose normal is most similar, so that it lies on one side. Or polylines of points (column, row), where pixel centres
        are whole numbers; an edge is taken out if it crosses one.

    Returns
    -------
    pixels : PixelGraph
    kept : (n_kept,) int64
        Numbers that the edges of the new graph had in the old one.
    """
    crossed = _crossed_by_drawing(pixels, lines) if _is_drawing(pixels, lines) else _crossed_by_lines(pixels, lines)
    kept = np.flatnonzero(~crossed)
    gone = np.stack([pixels.tail[crossed], pixels.head[crossed]], axis=1)
    tail, head = pixels.tail[kept], pixels.head[kept]
    return replace(pixels, tail=tail, head=head, removed=np.concatenate([pixels.removed, gone])), kept


def _is_drawing(pixels: PixelGraph, lines: Lines) -> bool:
    """Whether the lines are an image of drawn pixels; ValueError if they are neither that nor polylines."""
    if isinstance(lines, np.ndarray) or hasattr(lines, "__array__"):
        image = np.asarray(lines)
        if image.ndim == 2 and image.shape == pixels.map.shape and image.dtype.kind in "bui":
            return True
        if image.dtype == bool or image.ndim != 3:
            raise ValueError(
                f"forbidden: expected an image of truth values of shape {pixels.map.shape} or a list of polylines, "
                f"got {image.dtype} {image.shape}"
            )
    if not isinstance(lines, Iterable):
        raise ValueError(f"forbidden: expected an image of truth values or a list of polylines, got {lines!r}")
    for line in lines:
        what = "forbidden: a polyline is two or more points (column, row)"
        try:
            points = np.asarray(line, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{what}, got {line!r}; pass numbers") from None
        if points.ndim != 2 or points.shape[1] != 2 or len(points) < 2:
            raise ValueError(f"{what}, got shape {points.shape}")
        if not np.isfinite(points).all():
            raise ValueError(
                f"{what}, and they are numbers, got {points.tolist()}; leave out those that are not finite"
            )
    return False


def _crossed_by_drawing(pixels: PixelGraph, image: Lines) -> np.ndarray:
    """(n_edges,) bool: edges at drawn pixels, but for the one that joins each of them to a side, and edges between them.

    Drawn pixels are taken from the borders of a line inwards: each joins, among its neighbours that are not drawn or have a
    side already, the one of most similar normal.
    """
    drawn = np.asarray(image).astype(bool).ravel()[pixels.map.position]
    tail, head = pixels.tail, pixels.head
    crossed = drawn[tail] | drawn[head] | _between_drawn(pixels, np.asarray(image).astype(bool))
    at = np.flatnonzero(drawn[tail] | drawn[head])
    alike = np.einsum("ij,ij->i", pixels.map.normals[tail[at]], pixels.map.normals[head[at]])
    settled = ~drawn
    while True:
        inward = settled[tail[at]] != settled[head[at]]
        edges, new = at[inward], np.where(settled[tail[at]], head[at], tail[at])[inward]
        if not len(edges):
            return crossed
        order = np.lexsort((-alike[inward], new))
        first = order[np.flatnonzero(np.diff(new[order], prepend=-1))]
        crossed[edges[first]] = False
        settled[new[first]] = True


def _between_drawn(pixels: PixelGraph, drawn: np.ndarray) -> np.ndarray:
    """(n_edges,) bool: diagonal edges that pass between two drawn pixels that touch at a corner only."""
    (_, width), position = pixels.map.shape, pixels.map.position
    va, ua = np.divmod(position[pixels.tail], width)
    vb, ub = np.divmod(position[pixels.head], width)
    return (va != vb) & (ua != ub) & drawn[va, ub] & drawn[vb, ua]


def _crossed_by_lines(pixels: PixelGraph, lines: Lines) -> np.ndarray:
    """(n_edges,) bool: edges whose segment between the two pixel centres meets a segment of a polyline."""
    (_, width), position = pixels.map.shape, pixels.map.position
    v, u = np.divmod(position, width)
    points = np.stack([u, v], axis=1).astype(np.float64)
    crossed = np.zeros(pixels.n_edges, dtype=bool)
    for line in lines:  # type: ignore[union-attr]
        corners = np.asarray(line, dtype=np.float64)
        for p, q in pairwise(corners):
            low, high = np.minimum(p, q) - 1, np.maximum(p, q) + 1
            inside = ((points >= low) & (points <= high)).all(axis=1)
            near = np.flatnonzero(inside[pixels.tail] & inside[pixels.head])
            near = near[np.abs(points[pixels.tail[near]] - points[pixels.head[near]]).max(axis=1, initial=0) <= 1]
            a, b = points[pixels.tail[near]], points[pixels.head[near]]
            apart = (_side(p, q, a) >= 0) != (_side(p, q, b) >= 0)
            before, after = _turn(a, b, p), _turn(a, b, q)
            crossed[near] |= apart & (before * after <= 0)
    return crossed


def _side(p: np.ndarray, q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Twice the signed area of the triangles p, q, x[i]: which side of the line p q each point is on."""
    return (q[0] - p[0]) * (x[:, 1] - p[1]) - (q[1] - p[1]) * (x[:, 0] - p[0])


def _turn(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The same for the lines a[i] b[i] and one point x."""
    return (b[:, 0] - a[:, 0]) * (x[1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (x[0] - a[:, 0])
