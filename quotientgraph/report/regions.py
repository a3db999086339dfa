"""Places that deserve a look: regions of low confidence, and what else the normals would allow there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

if TYPE_CHECKING:
    from ..result import Reconstruction

MAX_REGIONS = 12
DOUBTFUL = 0.5  # a component that hangs on the rest by less than this is a guess
_LEAST = 0.0005  # share of the valid pixels


@dataclass(frozen=True, eq=False)
class Region:
    """A part of the image with something to say about it.

    Attributes
    ----------
    mask : (H, W) bool
    text : str
    """

    mask: np.ndarray
    text: str


def doubtful_regions(result: Reconstruction) -> list[Region]:
    """Return the largest connected regions whose confidence is below one half, the largest first."""
    confidence = getattr(result, "confidence", None)
    if confidence is None:
        return []
    with np.errstate(invalid="ignore"):
        low = confidence < DOUBTFUL
    n_valid = max(1, int(np.isfinite(confidence).sum()))
    label, count = scipy.ndimage.label(low, structure=np.ones((3, 3)))
    size = np.bincount(label.ravel(), minlength=count + 1)[1:]
    found = []
    for k in np.argsort(-size, kind="stable")[:MAX_REGIONS]:
        if size[k] < max(4, _LEAST * n_valid):
            break
        mask = label == k + 1
        mean = float(confidence[mask].mean())
        found.append(Region(mask, f"{_share(size[k], n_valid)} of the pixels, confidence {mean:.2f}"))
    return found


def alternatives(result: Reconstruction) -> list[Region]:
    """Return the regions of `result.alternatives`, if there are any: other depths that the normals allow as well.

    An alternative says which pixels it moves (`mask`, (H, W) or (n_pixels,) bool) and may describe itself in words.
    """
    offered: Iterable[Any] = getattr(result, "alternatives", None) or ()
    shape, place = result.depth.shape, result.graph.pixels.map.position
    n_valid = max(1, len(place))
    found = []
    for one in offered:
        mask = np.asarray(getattr(one, "mask", None))
        if mask.shape == (len(place),):
            image = np.zeros(shape, dtype=bool)
            image.ravel()[place[mask.astype(bool)]] = True
        elif mask.shape == shape:
            image = mask.astype(bool)
        else:
            continue
        words = getattr(one, "text", None) or getattr(one, "description", None) or "another depth is possible"
        found.append(Region(image, f"{words} ({_share(int(image.sum()), n_valid)} of the pixels)"))
    return found[:MAX_REGIONS]


def _share(part: int, whole: int) -> str:
    share = 100 * part / whole
    return f"{share:.1f} %" if share >= 0.1 else f"{share:.2f} %"
