"""Doubts: which parts of a reconstruction hang on too little, in words."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from laplacians.core.arrays import gathered, sums

from ..graph.quotient import Quotient
from ..graph.selection import connected_components
from ..method.outcome import Outcome
from ..method.weights import TEAR
from .certainty import certainty
from .confidence import confidence
from .contacts import resting
from .region_words import part_of, percentage, resting_on

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Constants:
    """Chosen on the random scenes of the split "tune"; docs/confidence.md has the calibration."""

    low: float = 0.05  # confidence by springs below which a component is a guess
    unlikely: float = 0.25  # the same for the probability that the depth is right
    notable: float = 0.03  # share of the pixels that is worth a warning
    named: float = 0.01  # share of the pixels from which on a part is named in it
    most_named: int = 3
    most: int = 100_000  # components up to which confidence costs little against the optimisation itself


CHOSEN = Constants()


def judged(outcome: Outcome) -> Outcome:
    """The outcome with the confidence of its pixels, and with a warning if many of them hang on next to nothing.

    An outcome whose certainty is known, or that has too many components for a cheap judgement, is returned as it is.
    """
    first = outcome.levels[0]
    if outcome.certainty is not None or first.n_components > CHOSEN.most:
        return outcome
    if outcome.judged is None:
        graph, low = first, CHOSEN.low
        sure = gathered(confidence(first, outcome.potential, outcome.borders, outcome.settled), first.labels)
    else:
        borders = outcome.judged.at(outcome.potential)
        graph, low = borders.graph, CHOSEN.unlikely
        sure = certainty(borders, outcome.settled)
    text = doubt(graph, outcome.potential, sure, low)
    if text:
        logger.warning(text)
    further = (text,) if text else ()
    warnings, doubts = [*outcome.warnings, *further], (*outcome.doubts, *further)
    return replace(outcome, borders=None, certainty=sure, warnings=warnings, doubts=doubts)


def doubt(graph: Quotient, potential: np.ndarray, sure: np.ndarray, low: float) -> str | None:
    """A sentence about the parts whose depth relative to the rest is a guess; None if they are small.

    Parameters
    ----------
    graph : Quotient
    potential : (n_pixels,) float64
    sure : (n_pixels,) float64
        Confidence.
    low : float
        Below it, depth is a guess.

    Returns
    -------
    str or None
    """
    size = graph.sizes
    guessed = sums(graph.labels, sure < low, len(size)) > 0.5 * size
    if size[guessed].sum() < CHOSEN.notable * size.sum():
        return None
    guessed = _with_rest(graph, potential, guessed)
    share = float(size[guessed].sum() / size.sum())
    if share < CHOSEN.notable:
        return None
    tail, head = graph.tail, graph.head
    between = np.flatnonzero(guessed[tail] & guessed[head])
    part = connected_components(graph.n_components, tail[between], head[between])
    pixels = np.bincount(part, size * guessed)
    named = [
        k for k in np.argsort(-pixels, kind="stable")[: CHOSEN.most_named] if pixels[k] >= CHOSEN.named * size.sum()
    ]
    told = []
    for k in named or [pixels.argmax()]:
        inside = ((part == k) & guessed)[graph.labels]
        told.append(f"{part_of(graph.pixels.map, inside)} {resting_on(*resting(graph, potential, inside))}")
    return (
        f"the depth of {percentage(share)} of the pixels relative to the rest is a guess: {'; '.join(told)}. "
        "These borders are few, or others that look like contacts are torn. See `confidence` and `alternatives`; a contact, "
        "anchors or a depth prior decide"
    )


def _with_rest(graph: Quotient, potential: np.ndarray, guessed: np.ndarray) -> np.ndarray:
    """(n_components,) whether a component is guessed, and its piece has a rest to be placed against, or a torn border.

    Of many small components in a long strip each is far from most others, however well all of them fit.
    """
    piece, n = graph.pixels.pieces[graph.first_pixels], graph.pixels.n_pieces
    rest = np.bincount(piece, graph.sizes * ~guessed, n) > CHOSEN.notable * np.bincount(piece, graph.sizes, n)
    torn = np.abs(graph.residual(potential)) * graph.pixels.focal_at(graph.cut) > TEAR
    rest[piece[graph.tail[torn]]] = True
    return guessed & rest[piece]
