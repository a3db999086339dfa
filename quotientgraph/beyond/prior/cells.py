"""Cells: what a depth prior says, gathered over the pixels that one component has in one square of the image.

The *offset* of a pixel is what the prior says of its potential, minus the potential of its component as the normals give it.
If the prior were right, the offset would be the same number all over a surface. The median over a cell takes noise and
outliers out of it, and all later questions are asked to cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from laplacians.core.jit import kernel

from ...graph.pixels import PixelGraph
from ..offsets import in_order
from .regions import unique_pairs

_DEVIATION = 1.4826  # standard deviation of normal errors over the median of their size
_MEDIAN = 1.5708  # variance of a median over that of a mean
_SIDE = 8  # pixels a side of a cell where the prior is known everywhere
_FILLED = 16  # pixels with a prior that a cell should have; sparse priors get larger cells
_SLOPED = 24  # pixels that it takes to tell a slope from noise
_CHANCE = 8.0  # squares explained by a slope, in units of the noise, that noise alone hardly reaches (two are expected)


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a division into components.

    Attributes
    ----------
    of : (n_pixels,) int32
        Cell of each pixel.
    component : (n_cells,) int32
    row, column : (n_cells,) float64
        Centre of each cell in the image.
    weight : (n_cells,) float64
        Sum of the confidences of its pixels for which the prior says something, so usually their number; 0 for none.
    offset : (n_cells,) float64
        Median offset; 0 where the weight is.
    noise : float
        Standard deviation of the offset of one pixel within its cell.
    sparse : bool
        Whether the prior is known at so few pixels that cells are larger than usual.
    """

    of: np.ndarray
    component: np.ndarray
    row: np.ndarray
    column: np.ndarray
    weight: np.ndarray
    offset: np.ndarray
    noise: float
    sparse: bool

    @classmethod
    def from_offsets(
        cls, pixels: PixelGraph, labels: np.ndarray, offset: np.ndarray, trust: np.ndarray, least: float
    ) -> Cells:
        """Gather offsets over cells.

        Parameters
        ----------
        pixels : PixelGraph
        labels : (n_pixels,) integers
            Component of each pixel.
        offset : (n_pixels,) float64
            Offset of each pixel, NaN where the prior says nothing.
        trust : (n_pixels,) float64
            Confidence of each pixel of the prior, 0 … 1.
        least : float
            The noise is not believed to be less than this.
        """
        height, width = pixels.map.shape
        known = np.flatnonzero(np.isfinite(offset) & (trust > 0))
        side = int(np.clip(_wanted_side(pixels.n_pixels, len(known)), _SIDE, max(height, width) / 4 + _SIDE))
        row, column = np.divmod(pixels.map.position, width)
        square = (row // side).astype(np.int64) * (width // side + 1) + column // side
        key = labels.astype(np.int64) * ((height // side + 1) * (width // side + 1)) + square
        _, first, of = np.unique(key, return_index=True, return_inverse=True)
        n, count = len(first), np.bincount(of)
        weight = np.bincount(of[known], trust[known], n)
        middle = medians(of[known], offset[known], trust[known], n)
        spread = np.abs(offset[known] - middle[of[known]])
        for enough in (_FILLED, 4, 2):
            judged = weight[of[known]] >= enough
            if np.count_nonzero(judged) >= _FILLED:
                break
        noise = _DEVIATION * float(np.median(spread[judged])) if judged.any() else 0.0
        centre = (np.bincount(of, row) / count, np.bincount(of, column) / count)
        return cls(
            of.astype(np.int32),
            labels[first],
            *centre,
            weight,
            np.nan_to_num(middle),
            max(noise, least),
            side > 2 * _SIDE,
        )

    @property
    def n_cells(self) -> int:
        return len(self.component)

    @cached_property
    def variance(self) -> np.ndarray:
        """(n_cells,) variance of the offset that noise leaves; infinite where the prior says nothing."""
        with np.errstate(divide="ignore"):
            return _MEDIAN * self.noise**2 / self.weight

    def over(self, values: np.ndarray) -> np.ndarray:
        """(n_cells,) mean over the pixels of each cell."""
        return np.bincount(self.of, values, self.n_cells) / np.bincount(self.of, minlength=self.n_cells)

    def neighbours(self, pixels: PixelGraph, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of cells that one of the `chosen` edges of G0 joins, each pair once, the smaller number first."""
        return unique_pairs(self.of[pixels.tail[chosen]], self.of[pixels.head[chosen]], self.n_cells)

    def ramp(self, pixels: PixelGraph, offset: np.ndarray, reach: float) -> np.ndarray:
        """(n_cells,) how far the median of each cell may be off because the offset slopes within it.

        On one surface the offset hardly changes over a few pixels. Where it does, the prior is passing from one surface
        to another, and is right for neither. The slope times `reach` pixels is returned where it exceeds the noise.
        """
        row, column = np.divmod(pixels.map.position, pixels.map.shape[1])
        known = np.flatnonzero(np.isfinite(offset))
        of, n = self.of[known], self.n_cells
        count = np.bincount(of, minlength=n)
        x, y, z = (
            values[known] - (np.bincount(of, values[known], n) / np.maximum(count, 1))[of]
            for values in (column, row, offset)
        )
        xx, xy, yy, xz, yz = (np.bincount(of, product, n) for product in (x * x, x * y, y * y, x * z, y * z))
        area = xx * yy - xy * xy
        steady = (count >= _SLOPED) & (area > 0.05 * xx * yy)
        across, along = (
            np.where(steady, a / np.where(steady, area, 1), 0) for a in (yy * xz - xy * yz, xx * yz - xy * xz)
        )
        explained = (across * xz + along * yz) / self.noise**2
        beyond = np.sqrt(np.maximum(explained - _CHANCE, 0) / np.maximum(explained, 1e-300))
        return reach * beyond * np.hypot(across, along)


def _wanted_side(n_pixels: int, n_known: int) -> float:
    """Pixels a side of a square that has enough pixels with a prior."""
    return float(np.sqrt(_FILLED * n_pixels / max(n_known, 1)))


def medians(group: np.ndarray, value: np.ndarray, weight: np.ndarray, n: int) -> np.ndarray:
    """(n,) weighted median of the values of each group, numbered from 0; NaN for a group without values."""
    out = np.full(n, np.nan)
    start = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n))])
    _write_medians(group, value, weight, start, np.empty(len(group), dtype=np.int64), out)
    return out


@kernel
def _write_medians(group, value, weight, start, member, out):
    """Write the weighted median of each group that has values; `start` says where its members begin in `member`."""
    place = start[:-1].copy()
    for i in range(len(group)):
        member[place[group[i]]] = i
        place[group[i]] += 1
    longest = 0
    for g in range(len(out)):
        longest = max(longest, start[g + 1] - start[g])
    ranked, order, spare = np.empty(longest), np.empty(longest, np.int64), np.empty(longest, np.int64)
    for g in range(len(out)):
        own, half = member[start[g] : start[g + 1]], 0.0
        if len(own) == 0:
            continue
        for i in range(len(own)):
            ranked[i] = value[own[i]]
            half += 0.5 * weight[own[i]]
        in_order(ranked, len(own), order, spare)
        below, k = 0.0, 0
        while k < len(own) - 1 and below + weight[own[order[k]]] < half:
            below += weight[own[order[k]]]
            k += 1
        above = k
        if below + weight[own[order[k]]] <= half and k < len(own) - 1:
            above = k + 1
        out[g] = 0.5 * (ranked[order[k]] + ranked[order[above]])
