"""Adoption: what normals alone have found is kept where a depth prior does not object.

A reconstruction by normals alone is often right but for a few places, and there it is right to a fraction of a per cent, far
below the errors of a prior. So its components stay together as it put them, tied by their borders
(`quotientgraph.beyond.prior.ties`). A group of them moves only if the prior has more to say about it than its ties
withstand.
"""

from __future__ import annotations

import numpy as np

from ..joining import Judgement
from .cells import medians
from .placement import Placing
from .regions import merged, unique_pairs
from .ties import Ties

# Log-odds of what the prior says against those of a border: by one point of a sparse prior, by a full cell of a dense one.
_POINT, _FULL = 2.0, 4.0
_CELL = 64.0  # pixels of a full cell, whose errors are not independent of each other
_BLOCK = 4.0, 32.0  # pixels a side of a block of vague components, at least and at most
TOGETHER = 1e-3  # of the unit: components that move by the same stay together


def adopt(placing: Placing, shift: np.ndarray, whole: np.ndarray, judged: Judgement | None = None) -> None:
    """Take over those parts of a reconstruction by normals alone to which the prior does not object.

    Parameters
    ----------
    shift : (n_components,) float64
        Shift of each component in that reconstruction.
    whole : (n_components,) integers
        Components of the graph before it was split by the prior: parts of one of them are not tied.
    judged : Judgement, optional
        What the borders of that graph say.
    """
    cells, cut, n = placing.cells, placing.cut, placing.graph.n_components
    fits = cut.gaps(shift) < placing.constants.fit
    key = np.minimum(cut.one, cut.other).astype(np.int64) * n + np.maximum(cut.one, cut.other)
    _, pair = np.unique(key, return_inverse=True)
    share = np.bincount(pair, cut.length * fits) / np.bincount(pair, cut.length)
    fits &= (share[pair] >= 0.5) & (whole[cut.one] != whole[cut.other])
    placing.ties = Ties.between(placing.graph, cut, fits, shift, judged).and_bodies(placing.bodies, shift)
    rest = cells.offset - shift[cells.component] - placing.basis @ placing.coefficients
    if judged is None and not cells.sparse:
        _unite(placing, shift, rest, fits)
    else:
        _follow(placing, shift, rest)


def _follow(placing: Placing, shift: np.ndarray, rest: np.ndarray) -> None:
    """Move components from where normals put them by what the prior says, in groups that stay together."""
    c, cells, cut, unit = placing.constants, placing.cells, placing.cut, placing.unit
    known = np.flatnonzero(cells.weight > 0)
    variance, force = cells.variance[known] + (c.cell_error * unit) ** 2, _POINT * cells.weight[known]
    if not cells.sparse:
        variance = variance + placing.blurred[known] ** 2
        clear = placing.clear[known] / np.maximum(placing.base[known], 1e-300)
        force = _FULL * np.minimum(cells.weight[known] / _CELL, 1.0) * np.sqrt(clear)
    move = placing.ties.moves(cells.component[known], rest[known], force, np.sqrt(variance), unit)
    placing.shift = shift + move
    placing.joined = np.abs(move[cut.one] - move[cut.other]) < TOGETHER * unit
    placing.regroup()


def _unite(placing: Placing, shift: np.ndarray, rest: np.ndarray, fits: np.ndarray) -> None:
    """Put components that touch together while the prior, within its noise, puts them in the same relative places.

    This is for borders that were not judged, of which nobody knows how firmly they tie.
    """
    c, cells, cut, n = placing.constants, placing.cells, placing.cut, placing.graph.n_components
    share = cells.weight * placing.clear / np.maximum(placing.base, 1e-300)
    middle = medians(np.zeros(cells.n_cells, dtype=np.int64), rest, share, 1)[0]
    off = np.average(np.abs(rest - middle), weights=share + 1e-300)
    most = c.reliable * placing.unit + np.average(np.sqrt(cells.variance[share > 0]), weights=share[share > 0])
    if off > most and not placing.bodies.tied.any():  # where bodies are known, the prior is off
        return
    total = np.bincount(cells.component, placing.clear, n)
    mean = np.bincount(cells.component, placing.clear * rest, n) / np.maximum(total, 1e-300)
    variance = 1 / np.maximum(total, 1e-12)
    least = c.part_error * placing.unit
    together = fits & _in_one_block(placing, variance, max(least, c.vague * placing.unit))
    region = placing.bodies.united(cut.one[together], cut.other[together])
    known = np.bincount(region, 1 / variance)
    level = np.bincount(region, mean / variance) / known
    one, other = unique_pairs(region[cut.one[fits]], region[cut.other[fits]], len(level))
    region = merged(one, other, level, 1 / known, least, c.adopted)[region]
    precision = 1 / (variance + least**2)
    level = np.bincount(region, precision * mean) / np.bincount(region, precision)
    several = np.bincount(region)[region] > 1
    placing.shift = np.where(several, shift + level[region], placing.shift)
    placing.joined = fits & (region[cut.one] == region[cut.other])
    placing.regroup()


def _in_one_block(placing: Placing, variance: np.ndarray, vague: float) -> np.ndarray:
    """(n_cut,) whether both components of an edge are too vague to be compared and lie in the same block of the image.

    If vague components were put together by the similarity of what the prior says of them, noise would decide:
    those with errors of one sign would come together, and even the mean over many of them would be wrong.
    """
    cells, cut, n = placing.cells, placing.cut, placing.graph.n_components
    side = np.clip(cells.noise / vague * 1.25, _BLOCK[0], _BLOCK[1])
    count = np.bincount(cells.component, minlength=n)
    row, column = (np.bincount(cells.component, at, n) / count // side for at in (cells.row, cells.column))
    both = (variance > vague**2)[cut.one] & (variance > vague**2)[cut.other]
    return both & (row[cut.one] == row[cut.other]) & (column[cut.one] == column[cut.other])
