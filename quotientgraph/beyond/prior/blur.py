"""Blur: how wide the window is over which a depth prior is averaged, and what it therefore says of given surfaces.

A network or a stereo method looks at a neighbourhood of each pixel, so its depth passes gradually from one surface to the
next, and near a tear it is right for neither. Normals alone give most surfaces in about their places. Averaged over a window
of the right width, they show nearly the same passages as the prior. What is left of the difference are its other errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from ...geometry.normals import NormalMap
from .cells import Cells

_WIDTHS = (2.0, 4.0, 8.0, 16.0, 32.0)  # pixels, standard deviations of the windows that are tried
_ASSUMED = 4.0  # the same for a prior that does not show how much it is blurred
_NOTABLE = 0.02  # part of the misfit that is a notable change of it


@dataclass(frozen=True, eq=False)
class Blur:
    """A Gaussian window over the valid pixels of an image.

    Attributes
    ----------
    map : NormalMap
    width : float
        Standard deviation in pixels; 0 for no blur.
    measured : bool
        Whether the prior shows it. Otherwise it is what may be, and nothing can be taken out.
    """

    map: NormalMap
    width: float = 0.0
    measured: bool = True

    @classmethod
    def from_offsets(cls, cells: Cells, one: np.ndarray, other: np.ndarray, place: np.ndarray, seen: NormalMap) -> Blur:
        """The window that explains best how the offset changes between neighbouring cells of one component.

        Parameters
        ----------
        cells : Cells
        one, other : (n_pairs,) integers
            Neighbouring cells of one component.
        place : (n_pixels,) float64
            A potential that has most surfaces in about their places.
        seen : NormalMap
        """
        if cells.sparse:
            return cls(seen)
        best, plain = cls(seen, _ASSUMED, measured=False), typical(cells.offset[one] - cells.offset[other])
        least = (1 - _NOTABLE) * plain
        for width in _WIDTHS if len(one) else ():
            blur = cls(seen, width)
            rest = cells.offset - cells.over(blur.change(place))
            misfit = typical(rest[one] - rest[other])
            if misfit < least:
                least, best = misfit, blur
            elif best.measured:
                break
            elif misfit > (1 + _NOTABLE) * plain and width <= _ASSUMED:  # it would show, and it does not
                best = cls(seen)
        return best

    def change(self, place: np.ndarray) -> np.ndarray:
        """(n_pixels,) by how much blur changes a potential (n_pixels,)."""
        if self.width == 0:
            return np.zeros(len(place))
        if not self.map.camera.central:
            return self._averaged(place) / self._share - place
        depth = np.exp(place - np.median(place))
        return np.log(self._averaged(depth) / (self._share * depth))

    @cached_property
    def _share(self) -> np.ndarray:
        """(n_pixels,) share of the window around each pixel that is valid."""
        return np.maximum(self._averaged(np.ones(len(self.map.position))), 1e-9)

    def _averaged(self, values: np.ndarray) -> np.ndarray:
        image = np.zeros(self.map.shape)
        image.ravel()[self.map.position] = values
        return scipy.ndimage.gaussian_filter(image, self.width, mode="constant").ravel()[self.map.position]


def typical(difference: np.ndarray) -> float:
    """Mean size of differences, of which jumps count as three times the median."""
    size = np.abs(difference)
    return float(np.minimum(size, 3 * np.median(size)).mean()) if len(size) else 0.0
