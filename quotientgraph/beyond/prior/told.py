"""What a prior says of surfaces: its offsets from them in cells, its blur, and what its smooth error is made of.

Within a surface the normals know the relief, so the offset should be the same in all of its cells. How it differs between
neighbouring cells shows the smooth error of the prior, or that its values have to be read in another way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from ...graph.pixels import PixelGraph
from .bend import Bend, sized_bend
from .blur import Blur
from .cells import Cells
from .constants import CHOSEN

_JUDGED = 16.0, 4.0  # pixels that a cell needs to take part in a difference, of a dense prior and of a sparse one
_COVERED = 0.5  # share of the prior that cells of surfaces must cover to tell its smooth error


@dataclass(frozen=True, eq=False)
class Told:
    """What a prior says of surfaces, and pairs of neighbouring cells of one surface.

    Attributes
    ----------
    cells : Cells
        Their offsets are those of the prior, blurred as it is.
    blur : Blur
    bend : Bend
        The largest smooth error that is expected.
    one, other : (n_pairs,) integers
        Cells.
    rows : (n_pairs, n_coefficients) sparse
        Difference of the splines between the two.
    """

    cells: Cells
    blur: Blur
    bend: Bend
    one: np.ndarray
    other: np.ndarray
    rows: scipy.sparse.csr_matrix

    @classmethod
    def of(cls, pixels: PixelGraph, surface: np.ndarray, cells: Cells, found: np.ndarray, unit: float) -> Told:
        """What is said of surfaces (n_pixels,) by their cells, if normals alone have `found` this potential (n_pixels,)."""
        bend = Bend(pixels.map.shape, CHOSEN.bend_size * unit, CHOSEN.bend_length, CHOSEN.bend_steps)
        one, other = cells.neighbours(pixels, surface[pixels.tail] == surface[pixels.head])
        enough = cells.weight >= (_JUDGED[1] if cells.sparse else _JUDGED[0])
        use = enough[one] & enough[other]
        one, other = one[use], other[use]
        basis = bend.at(cells.row, cells.column)
        rows = (basis[one] - basis[other]).tocsr()
        return cls(cells, Blur.from_offsets(cells, one, other, found, pixels.map), bend, one, other, rows)

    def blurring(self, potential: np.ndarray) -> np.ndarray:
        """(n_pixels,) what the blur of the prior does to a potential (n_pixels,), if it was measured."""
        return self.blur.change(potential) if self.blur.measured else np.zeros(len(potential))

    def without(self, blurring: np.ndarray) -> Cells:
        """The cells without what blur does (n_pixels,)."""
        return replace(self.cells, offset=self.cells.offset - self.cells.over(blurring))

    def smooth_error(self, cells: Cells) -> tuple[Bend, np.ndarray]:
        """The smooth error that cells without blur show: its size, and its coefficients (n_coefficients,)."""
        if not len(self.one):
            return self.bend, np.zeros(len(self.bend.precision))
        difference = cells.offset[self.one] - cells.offset[self.other]
        variance = cells.variance[self.one] + cells.variance[self.other]
        bend, fit = sized_bend(self.bend, self.rows, difference, variance)
        return bend, fit.coefficients


def too_small(cells: Cells) -> bool:
    """Whether the surfaces of a dense prior's cells are too small to show its blur and its smooth error."""
    enough = cells.weight >= _JUDGED[0]
    return bool(np.sum(cells.weight[enough]) < _COVERED * np.sum(cells.weight)) and not cells.sparse
