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
from .pictures import residual_scale, stable_labels
from .regions import Region
from .viewer_mesh import byte_planes

if TYPE_CHECKING:
    from ..result import Reconstruction

MAX_POINTS = 120_000
MAX_LEVELS = 40


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
        Values are stored in even steps of it.
    fine : bool
        Whether to store two bytes a value, and not one.
    """

    name: str
    unit: str
    values: np.ndarray
    scale: Scale
    fine: bool = False


def readings_of(
    result: Reconstruction,
    angle: np.ndarray | None = None,
    error: np.ndarray | None = None,
    prior: np.ndarray | None = None,
) -> list[Reading]:
    """Return the values of a result that can be read under the pointer."""
    found = [Reading("Depth", "", result.depth, Scale.of(result.depth), True)]
    if prior is not None:
        found.append(Reading("Prior", "", prior, Scale.of(prior), True))
    confidence = getattr(result, "confidence", None)
    if confidence is not None:
        found.append(Reading("Confidence", "", confidence, Scale(0.0, 1.0)))
    residual = getattr(result, "discontinuity", None)
    if residual is not None:
        found.append(Reading("Residual", " px", np.abs(residual), residual_scale(residual)))
    if angle is not None:
        found.append(Reading("Angle to the input", "°", angle, Scale.of(angle, log=False)))
    if error is not None:
        found.append(Reading("Error", " %", 100 * error, residual_scale(100 * error)))
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
    parts = [byte_planes(_codes(one.values[thin], one.scale, one.fine)) for one in readings]
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
                "bytes": 2 if one.fine else 1,
            }
            for one in readings
        ],
    }
    return about, base64.b64encode(gzip.compress(b"".join(parts), 9, mtime=0)).decode()


def _number(value: float) -> float:
    return float(f"{value:.9g}")


def _codes(values: np.ndarray, scale: Scale, fine: bool) -> np.ndarray:
    """0 where there is no value, and whole numbers from 1 to the largest from one end of the scale to the other."""
    kind = np.uint16 if fine else np.uint8
    most = np.iinfo(kind).max
    with np.errstate(invalid="ignore"):
        codes = np.where(np.isfinite(values), 1 + np.round(np.nan_to_num(scale(values)) * (most - 1)), 0)
    return codes.astype(kind)
