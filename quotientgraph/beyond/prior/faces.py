"""Faces: components are split where the prior jumps and the normals do not tell.

A table top and the floor behind it have the same normal, so they may be one component. Over each of them the offset of the
prior is constant, up to noise and the smooth error of the prior, and from one to the other it jumps. Cells are merged into
regions, the most similar first, as long as noise can explain their difference; then each pixel near a border between two
regions goes to the region that the prior is nearer to.
"""

from __future__ import annotations

import numpy as np
import scipy

from ...graph.quotient import Quotient
from ...graph.selection import connected_components
from .cells import Cells, medians
from .regions import merged

_SMOOTH = 1.5  # pixels over which the offset is averaged before a pixel chooses its region
_NEAR = 12  # pixels from a region up to which a pixel may choose it


def faces(
    graph: Quotient,
    cells: Cells,
    offset: np.ndarray,
    variance: np.ndarray,
    least: float,
    sure: float,
    n_known: float,
    smallest: int,
) -> np.ndarray:
    """Split components into regions over which the offset of the prior is constant.

    Parameters
    ----------
    graph : Quotient
    cells : Cells
    offset : (n_pixels,) float64
        Offset of each pixel without the smooth error of the prior; NaN where the prior says nothing.
    variance : (n_cells,) float64
        Of the median of each cell; infinite where the prior says nothing.
    least : float
        Standard deviation of the difference of two regions that is always allowed for.
    sure : float
        Standard deviations of difference beyond which two regions are two surfaces.
    n_known : float
        Pixels with a prior that a region must have.
    smallest : int
        Pixels that a region must have.

    Returns
    -------
    (n_pixels,) int32
        Labels of the new components, connected and numbered by their first pixel.
    """
    pixels, labels = graph.pixels, graph.labels
    known = np.isfinite(offset)
    inside = labels[pixels.tail] == labels[pixels.head]
    level = np.bincount(cells.of[known], minlength=cells.n_cells)
    middle = np.zeros(cells.n_cells)
    found = medians(cells.of[known], offset[known], np.ones(np.count_nonzero(known)), cells.n_cells)
    middle[level > 0] = found[level > 0]
    region = merged(*cells.neighbours(pixels, inside), middle, variance, least, sure)
    precision = 1 / variance
    total = np.bincount(region, precision)
    level_of = np.bincount(region, precision * middle) / np.maximum(total, 1e-300)
    size = np.bincount(region, cells.weight)
    of = region[cells.of]
    apart = inside & (of[pixels.tail] != of[pixels.head])
    for component in np.unique(labels[pixels.tail[apart]]):
        chosen = np.flatnonzero(labels == component)
        large = np.unique(of[chosen])
        large = large[size[large] >= n_known]
        of[chosen] = _nearest(graph, chosen, of, offset, large, level_of) if len(large) > 1 else component
    same = inside & (of[pixels.tail] == of[pixels.head])
    parts = connected_components(pixels.n_pixels, pixels.tail[same], pixels.head[same])
    return _without_crumbs(graph, parts, inside, smallest)


def _nearest(graph, chosen, of, offset, large, level):
    """Region of each of the chosen pixels: that of the nearest level among the large regions close by."""
    row, column = np.divmod(graph.pixels.map.position[chosen], graph.pixels.map.shape[1])
    row, column = row - row.min(), column - column.min()
    shape = (row.max() + 1, column.max() + 1)
    known = np.isfinite(offset[chosen])
    value, there = np.zeros(shape), np.zeros(shape)
    value[row[known], column[known]], there[row[known], column[known]] = offset[chosen[known]], 1.0
    with np.errstate(invalid="ignore"):
        smooth = scipy.ndimage.gaussian_filter(value, _SMOOTH) / scipy.ndimage.gaussian_filter(there, _SMOOTH)
    said = smooth[row, column]
    best, out = np.full(len(chosen), np.inf), np.full(len(chosen), large[0])
    for one in large:
        away = np.ones(shape, dtype=bool)
        own = of[chosen] == one
        away[row[own], column[own]] = False
        distance = scipy.ndimage.distance_transform_edt(away)[row, column]
        misfit = np.where(np.isfinite(said), np.abs(said - level[one]), 0.0)
        cost = np.where(distance > _NEAR, 1e6 + distance, misfit + 1e-9 * distance)
        out = np.where(cost < best, one, out)
        best = np.minimum(cost, best)
    return out


def _without_crumbs(graph: Quotient, parts: np.ndarray, inside: np.ndarray, smallest: float) -> np.ndarray:
    """The parts with those that are small joined to the largest neighbour in their component."""
    pixels = graph.pixels
    for _ in range(4):
        size = np.bincount(parts)
        border = np.flatnonzero(inside & (parts[pixels.tail] != parts[pixels.head]))
        tail, head = parts[pixels.tail[border]], parts[pixels.head[border]]
        crumb, host = np.concatenate([tail, head]), np.concatenate([head, tail])
        use = size[crumb] < smallest
        if not use.any():
            break
        crumb, host = crumb[use], host[use]
        order = np.lexsort((size[host], crumb))
        last = np.flatnonzero(np.diff(crumb[order], append=-1))
        to = np.arange(len(size))
        to[crumb[order][last]] = host[order][last]
        to = np.where(size[to] >= size, to, np.arange(len(size)))
        parts = to[parts]
        same = inside & (parts[pixels.tail] == parts[pixels.head])
        parts = connected_components(pixels.n_pixels, pixels.tail[same], pixels.head[same])
    return parts
