"""Doubts: which regions a reconstruction leaves hanging, in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..graph.quotient import Quotient
from ..graph.selection import connected_components


@dataclass(frozen=True)
class _Constants:
    """Chosen on the random scenes of the split "tune"; `docs/accuracy.md` has the calibration on other splits."""

    low: float = 0.2  # confidence below which the place of a component is a guess
    notable: float = 0.03  # share of the pixels that is worth a warning


_CHOSEN = _Constants()


def doubt(graph: Quotient, confidence: np.ndarray) -> str | None:
    """A sentence about the pixels whose depth relative to the rest is a guess; None if they are few.

    Parameters
    ----------
    graph : Quotient
    confidence : (n_components,) float64
        As `quotientgraph.beyond.confidence.confidence` returns it.

    Returns
    -------
    str or None
    """
    pixels = graph.pixels
    low = confidence[graph.labels] < _CHOSEN.low
    share = float(low.mean())
    if share < _CHOSEN.notable:
        return None
    inside = low[pixels.tail] & low[pixels.head]
    region = connected_components(pixels.n_pixels, pixels.tail[inside], pixels.head[inside])
    size = np.bincount(region[low])
    largest = np.flatnonzero(region == int(size.argmax()))
    v, u = np.divmod(pixels.map.position[largest], pixels.map.shape[1])
    where = f"around column {int(np.median(u))}, row {int(np.median(v))}"
    part = (
        "all in one region" if len(largest) == low.sum() else f"the largest region, {len(largest) / len(low):.0%}, lies"
    )
    return (
        f"the depth of {share:.0%} of the pixels relative to the rest is a guess ({part} {where}): "
        "the borders that fit are too few or too short to hold them; see `confidence`. A depth prior or an anchor decides"
    )
