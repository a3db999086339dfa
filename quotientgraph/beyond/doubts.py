"""Doubts: which regions a reconstruction leaves hanging, in words."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from ..graph.quotient import Quotient
from ..graph.selection import connected_components
from ..method.outcome import Outcome
from .confidence import confidence

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Constants:
    """Chosen on the random scenes of the split "tune"; docs/accuracy.md has the calibration."""

    low: float = 0.05  # below it 98 % of the pixels were off by more than 2 % on tune, 81 % on test
    notable: float = 0.03  # share of the pixels that is worth a warning
    most: int = 100_000  # components up to which confidence costs little against the optimisation itself


CHOSEN = Constants()


def judged(outcome: Outcome) -> Outcome:
    """The outcome with the confidence of its pixels, and with a warning if many of them hang on next to nothing.

    An outcome whose certainty is known, or that has too many components for a cheap judgement, is returned as it is.
    """
    first = outcome.levels[0]
    if outcome.certainty is not None or first.n_components > CHOSEN.most:
        return outcome
    sure = confidence(first, outcome.potential, outcome.borders)
    text = doubt(first, sure)
    if text:
        logger.warning(text)
    doubts = (text,) if text else ()
    return replace(
        outcome, borders=None, certainty=sure[first.labels], warnings=[*outcome.warnings, *doubts], doubts=doubts
    )


def doubt(graph: Quotient, sure: np.ndarray) -> str | None:
    """A sentence about the pixels whose depth relative to the rest is a guess; None if they are few.

    Parameters
    ----------
    graph : Quotient
    sure : (n_components,) float64
        Confidence, as `quotientgraph.beyond.confidence.confidence` returns it.

    Returns
    -------
    str or None
    """
    pixels = graph.pixels
    low = sure[graph.labels] < CHOSEN.low
    share = float(low.mean())
    if share < CHOSEN.notable:
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
