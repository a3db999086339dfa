"""Places that deserve a look: regions of low confidence, and what else the normals would allow there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy

if TYPE_CHECKING:
    from ..beyond.alternatives import Alternative
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
    """Return the parts that could sit elsewhere, in the order of `result.alternatives`, with how probably that is better."""
    offered: Iterable[Alternative] = getattr(result, "alternatives", ())
    return [Region(one.mask, f"{one.text} (better: {100 * one.probability:.0f} %)") for one in offered][:MAX_REGIONS]


def _share(part: int, whole: int) -> str:
    share = 100 * part / whole
    return f"{share:.1f} %" if share >= 0.1 else f"{share:.2f} %"
