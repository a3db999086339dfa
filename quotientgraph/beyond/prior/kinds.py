"""Kinds of priors: how the numbers of a depth map turn into potentials.

A prior may be depth or disparity (inverse depth), of unknown scale, and with an unknown offset besides ("affine"). The scale
is no matter for a central camera, whose potential is log-depth. An offset shows within surfaces, whose relief the normals
know: it is one more unknown beside the smooth error when differences of neighbouring cells are explained. An orthographic
camera's potential is depth itself, for which the offset is no matter and the factor is the unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from ...geometry.camera import Camera
from .bend import sized_bend
from .cells import Cells, medians
from .told import Told

KINDS = ("auto", "depth", "disparity", "affine", "affine-disparity")

# An offset this large against the prior, or a factor this far from one, is an error of the prior; once there is one, it is
# followed further.
_WRONG, _STILL_WRONG = 0.04, 0.002
_SURE = 3.0  # standard errors
_EXPECTED = 1.0  # standard deviation of an offset, relative to the median of the prior
_MOST = 0.9  # share of the pixels that an offset must leave in front of the camera
_NOTABLE = 0.01  # share of the values: fewer are taken for outliers, and a value that more of them share for a filler
_FALLS = -0.3  # slope of the prior over depth, both logarithmic, below which it is a disparity


@dataclass(frozen=True)
class Reading:
    """How to read the values of a prior.

    Attributes
    ----------
    camera : Camera
    inverse : bool
        The values are disparities.
    bent : bool
        There may be an offset (orthographic: a factor) to be found.
    offset, factor : float
        What is subtracted from the values, and what they are divided by.
    """

    camera: Camera
    inverse: bool = False
    bent: bool = True
    offset: float = 0.0
    factor: float = 1.0

    @classmethod
    def from_values(
        cls, camera: Camera, kind: str, values: np.ndarray, filled: np.ndarray, labels: np.ndarray
    ) -> Reading:
        """Choose how to read the values (n_pixels,), which for the kind "auto" the relief of the components tells."""
        bent = kind not in ("depth", "disparity")
        if kind != "auto" or not camera.central:
            return cls(camera, "disparity" in kind, bent)
        known = np.flatnonzero(np.isfinite(values))
        label, y = labels[known], np.log(values[known])
        count = np.maximum(np.bincount(label), 1)
        x = filled[known] - (np.bincount(label, filled[known]) / count)[label]
        y = np.clip(y - (np.bincount(label, y) / count)[label], -0.5, 0.5)
        relief = float(np.sum(x * x))
        return cls(camera, relief > 0 and float(np.sum(x * y)) < _FALLS * relief, bent)

    def potential(self, values: np.ndarray) -> np.ndarray:
        """(n_pixels,) potentials; NaN where the values cannot be those of something in front of the camera."""
        straight = (values - self.offset) / self.factor
        return -self.camera.potential(straight) if self.inverse else self.camera.potential(straight)

    @property
    def changed(self) -> bool:
        """Whether an offset or a factor was found."""
        return self.offset != 0 or self.factor != 1

    def effect(self, values: np.ndarray, filled: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """(n_pixels,) how the potential would change with the offset (relative to the prior), or with the factor.

        It is computed from the relief of the components (`filled`): that of the prior has noise, which would be taken for
        an effect.
        """
        if not self.camera.central:
            return filled
        known = np.isfinite(self.potential(values))
        straight, ones = values[known] - self.offset, np.ones(int(known.sum()))
        relief = np.exp(-filled if self.inverse else filled)
        scale = medians(labels[known], straight / relief[known], ones, int(labels.max()) + 1)[labels]
        size = float(np.median(straight)) * (-1.0 if self.inverse else 1.0)
        effect = size / (scale * relief)
        return np.where(np.isfinite(effect), effect, 0.0)

    def revised(self, values: np.ndarray, told: Told, cells: Cells, effect: np.ndarray) -> Reading | None:
        """The same with the offset or factor found from differences of cells; None if there is no significant one.

        Parameters
        ----------
        values : (n_pixels,) float64
        told : Told
            What is said with the present reading.
        cells : Cells
            The same without blur.
        effect : (n_cells,) float64
            That of an offset or factor.
        """
        one, other, rows = told.one, told.other, told.rows
        if len(one) < 3:
            return None
        extended = scipy.sparse.hstack([rows, scipy.sparse.csr_matrix((effect[one] - effect[other])[:, None])]).tocsr()
        difference, variance = cells.offset[one] - cells.offset[other], cells.variance[one] + cells.variance[other]
        _, fit = sized_bend(told.bend, extended, difference, variance, _EXPECTED)
        value, error = float(fit.coefficients[-1]), float(np.sqrt(fit.covariance[-1, -1]))
        if not abs(value) > max(_STILL_WRONG if self.changed else _WRONG, _SURE * error):
            return None
        if self.camera.central:
            better = replace(self, offset=self.offset + float(np.nanmedian(values - self.offset)) * value)
        else:
            better = replace(self, factor=self.factor * float(np.exp(np.clip(value, -1, 1))))
        if np.isfinite(better.potential(values)).sum() < _MOST * np.isfinite(values).sum():
            return None
        return better


def in_front(values: np.ndarray) -> np.ndarray:
    """Values of a prior whose offset is unknown, moved to in front of the camera if a notable share of them is negative.

    What says nothing of depth must not decide how far they are moved, and stays where it is left out: zeros, a smallest
    value that many pixels share, which stands for "unknown", and outliers, which no quantile follows.
    """
    known = np.isfinite(values) & (values != 0)
    lowest = known & (values == np.min(values, where=known, initial=np.inf))
    known &= ~lowest if lowest.sum() > _NOTABLE * known.sum() else True
    if np.count_nonzero(known & (values < 0)) <= _NOTABLE * known.sum():
        return values
    low, high = np.quantile(values[known], [_NOTABLE, 1 - _NOTABLE])
    return np.where(known, values - low + (high - low) / 2, values)
