"""What the page knows at every point of its pictures: values to read under the pointer, components of every level, regions.

The maps are thinned to about `MAX_POINTS` points, stored in one or two bytes a point as differences to the left
neighbour, packed by gzip and written in base64. maps.js unpacks them.
"""

from __future__ import annotations

import base64
import gzip
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .color import Scale, label_colors
from .pictures import stable_labels
from .regions import Region
from .viewer_mesh import byte_planes

if TYPE_CHECKING:
    from ..result import Reconstruction

MAX_POINTS = 120_000
MAX_LEVELS = 40
_MOST = 65533  # steps that two bytes can tell apart, beside "none" and 0


@dataclass(frozen=True, eq=False)
class Reading:
    """A map of values that are shown under the pointer.

    Attributes
    ----------
    name : str
        What the value is called.
    unit : str
        What follows the number, such as "°".
    values : (H, W) float64, NaN where there is none
    scale : Scale
        Values are stored in even steps of it. It reaches from the smallest to the largest, so that none is clipped; on a
        logarithmic one no value is negative, and 0 is stored exactly.
    digits : int
        How many digits are shown.
    """

    name: str
    unit: str
    values: np.ndarray
    scale: Scale
    digits: int

    @classmethod
    def of_sizes(cls, name: str, unit: str, values: np.ndarray) -> Reading:
        """Return the reading of values that are not negative and may span many decades."""
        values = np.where(values < 1e-100, 0.0, values)  # two bytes hold 142 decades
        return cls(name, unit, values, Scale.of(values, log=True), 3)

    @property
    def steps(self) -> int:
        """Number of steps of the scale: on a logarithmic one of half a per cent, if three digits are shown."""
        if self.scale.log:
            span = math.log(self.scale.high) - math.log(self.scale.low)
            return min(_MOST, math.ceil(span / (5 * 10.0**-self.digits)))
        return _MOST if self.digits > 2 else 250

    def codes(self, thin: tuple[slice, slice]) -> np.ndarray:
        """0 where there is no value, then 0 itself on a logarithmic scale, then the steps; uint8 or uint16."""
        values = self.values[thin]
        first = 2 if self.scale.log else 1
        with np.errstate(invalid="ignore"):
            codes = first + np.round(np.nan_to_num(self.scale(values)) * self.steps)
        if self.scale.log:
            codes[values == 0] = 1
        codes[~np.isfinite(values)] = 0
        return codes.astype(np.uint8 if first + self.steps < 256 else np.uint16)


def readings_of(
    result: Reconstruction,
    angle: np.ndarray | None = None,
    error: np.ndarray | None = None,
    prior: np.ndarray | None = None,
) -> list[Reading]:
    """Return the values of a result that can be read under the pointer."""
    found = [Reading("Depth", "", result.depth, Scale.of(result.depth), 4)]
    if prior is not None:
        found.append(Reading("Prior", "", prior, Scale.of(prior), 4))
    confidence = getattr(result, "confidence", None)
    if confidence is not None:
        found.append(Reading("Confidence", "", confidence, Scale(0.0, 1.0), 2))
    residual = getattr(result, "discontinuity", None)
    if residual is not None:
        found.append(Reading.of_sizes("Residual", " px", np.abs(residual)))
    if angle is not None:
        found.append(Reading.of_sizes("Angle to the input", "°", angle))
    if error is not None:
        found.append(Reading.of_sizes("Error", " %", 100 * error))
    return found


def pack_readings(
    result: Reconstruction, crop: tuple[slice, slice], readings: list[Reading], regions: list[Region]
) -> tuple[dict[str, Any], str]:
    """Return a description for JSON, and the bytes of all maps: gzip in base64.

    The arrays follow one another in the order of the description: each reading, the number of the component of Q_0, the
    number of the region (0 is none), the colour of each component, and for each level the component whose name and
    colour a component of Q_0 has there.
    """
    valid = np.isfinite(result.depth)[crop]
    step = max(1, math.ceil(math.sqrt(valid.size / MAX_POINTS)))
    thin = (slice(crop[0].start, crop[0].stop, step), slice(crop[1].start, crop[1].stop, step))
    codes = [one.codes(thin) for one in readings]
    parts = [byte_planes(one) for one in codes]
    place = np.zeros(result.depth.shape, dtype=np.uint8)
    for k, region in reversed(list(enumerate(regions, start=1))):
        place[region.mask] = k
    levels = list(result.levels) or [result.graph]
    chosen = sorted({round(x) for x in np.linspace(0, len(levels) - 1, min(MAX_LEVELS, len(levels)))})
    labels = [image[thin] for image in stable_labels(levels)]
    seen = [labels[k][labels[0] >= 0] for k in chosen]
    names, number = np.unique(np.concatenate(seen), return_inverse=True)
    number = number.reshape(len(chosen), -1)
    rows, columns = labels[0].shape
    component = np.zeros((rows, columns), dtype=np.uint32)
    component[labels[0] >= 0] = number[0] + 1
    whole = np.tile(np.arange(len(names), dtype=np.uint32), (len(chosen), 1))
    for level in range(len(chosen)):
        whole[level, number[0]] = number[level]
    parts += [byte_planes(component), byte_planes(place[thin]), label_colors(names).tobytes()]
    parts += [byte_planes(names.astype(np.uint32)), *(byte_planes(row) for row in whole)]
    about = {
        "rows": rows,
        "columns": columns,
        "step": step,
        "height": valid.shape[0],
        "width": valid.shape[1],
        "first": [crop[0].start, crop[1].start],
        "components": len(names),
        "levels": [[int(levels[k].level), int(levels[k].n_components)] for k in chosen],
        "maps": [
            {
                "name": one.name,
                "unit": one.unit,
                "low": _number(one.scale.low),
                "high": _number(one.scale.high),
                "log": one.scale.log,
                "steps": one.steps,
                "digits": one.digits,
                "bytes": stored.itemsize,
            }
            for one, stored in zip(readings, codes, strict=True)
        ],
    }
    return about, base64.b64encode(gzip.compress(b"".join(parts), 9, mtime=0)).decode()


def _number(value: float) -> float:
    return float(f"{value:.9g}")
