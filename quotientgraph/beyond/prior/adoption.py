"""Adoption: what normals alone have found is kept where a depth prior does not object.

A reconstruction by normals alone is often right but for a few places, and there it is right to a fraction of a per cent, far
below the errors of a prior. So its components stay together as it put them, tied by their borders
(`quotientgraph.beyond.prior.ties`). A group of them moves only if the prior has more to say about it than its ties
withstand.
"""

from __future__ import annotations

import numpy as np

from ...graph.selection import connected_components
from ..joining import Judgement
from .placement import Placing
from .ties import Ties

# Log-odds of what one point of a sparse prior, or one full cell of a dense one, says, against those of a border.
_POINT = 2.0
_CELL = 64.0  # pixels of a full cell, whose errors are not independent of each other
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
    c, cells, cut, unit = placing.constants, placing.cells, placing.cut, placing.unit
    n = placing.graph.n_components
    fits = cut.gaps(shift) < c.fit
    key = np.minimum(cut.one, cut.other).astype(np.int64) * n + np.maximum(cut.one, cut.other)
    _, pair = np.unique(key, return_inverse=True)
    share = np.bincount(pair, cut.length * fits) / np.bincount(pair, cut.length)
    fits &= (share[pair] >= 0.5) & (whole[cut.one] != whole[cut.other])
    placing.ties = Ties.between(placing.graph, cut, fits, shift, judged)
    known = np.flatnonzero(cells.weight > 0)
    rest = (cells.offset - shift[cells.component] - placing.basis @ placing.coefficients)[known]
    variance, force = cells.variance[known] + (c.cell_error * unit) ** 2, _POINT * cells.weight[known]
    if not cells.sparse:
        variance = variance + placing.blurred[known] ** 2
        clear = placing.clear[known] / np.maximum(placing.base[known], 1e-300)
        force = np.minimum(force / _CELL, _POINT) * np.sqrt(clear)
    move = placing.ties.moves(cells.component[known], rest, force, np.sqrt(variance), unit)
    placing.shift = shift + move
    placing.joined = np.abs(move[cut.one] - move[cut.other]) < TOGETHER * unit
    placing.group = connected_components(n, cut.one[placing.joined], cut.other[placing.joined])
