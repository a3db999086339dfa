"""Known depth that contradicts the normals: a prior of another kind or view, and anchors that exclude each other."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from ..graph.quotient import Quotient
from ..method.outcome import Outcome
from .anchors import Anchors

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Constants:
    """Chosen so that no prior or anchor of the tests that is right within its errors gives a warning."""

    relief: float = 0.05  # least root mean square relief within components, in log-depth, that a prior is compared with
    opposite: float = -0.3  # slope of the prior's log-depth over that of the normals, below which it runs the other way
    unrelated: float = 0.2  # slope and correlation, both, below which the prior knows nothing of the relief
    most: float = 0.5  # log-depth: what a pixel of the prior may say about the relief of its component
    # So many times as much of all borders meets by normals alone if the prior is of another picture, unit or kind. Of 190
    # priors of realistic make, half and sparse ones included, nine are above it, of 84 wrong ones that harm 83.
    torn: float = 1.75
    negative: float = 0.01  # share of the values of a prior that is worth a word
    # Share of its depth (orthographic: of the depth range) by which the surface may miss an anchor.
    missed: float = 0.05


_CHOSEN = Constants()


def compared(outcome: Outcome, anchors: Anchors | None) -> Outcome:
    """The outcome with a warning, until it is moved, if the anchors clearly contradict the normals or each other."""
    text = "" if anchors is None else about_anchors(outcome, anchors)
    if not text:
        return outcome
    logger.warning(text)
    return replace(outcome, warnings=[*outcome.warnings, text], doubts=(*outcome.doubts, text))


def about_prior(
    graph: Quotient,
    filled: np.ndarray,
    values: np.ndarray,
    kind: str,
    negative: float,
    meeting: tuple[float, float],
    overturned: bool,
) -> tuple[str, ...]:
    """Sentences about a prior that contradicts the normals, says nothing in places, or was not read as it looks.

    Parameters
    ----------
    graph : Quotient
    filled : (n_pixels,) float64
        Each component integrated on its own.
    values : (n_pixels,) float64
        The prior, NaN where it says nothing.
    kind : str
        One of `quotientgraph.beyond.prior.KINDS`.
    negative : float
        Share of its values that are negative.
    meeting : (float, float)
        Share of the borders between components along which these meet, by normals alone and with the prior.
    overturned : bool
        Whether it looks like disparity or has an offset, but was read as plain depth.
    """
    texts = []
    if negative > _CHOSEN.negative and "affine" in kind:
        texts.append(
            f"prior: {negative:.0%} of its values are one negative number, the smallest, which was taken for unknown "
            "depth and left out; write NaN there"
        )
    elif negative > _CHOSEN.negative:
        texts.append(
            f"prior: {negative:.0%} of its values are negative and were left out; write NaN where the depth is unknown, or "
            'if negative values are meant, use prior_kind="affine" or "affine-disparity", which have an unknown offset'
        )
    if overturned:
        texts.append(
            "prior: its relief looks like that of disparity or of depth with an offset, but it was read as plain depth, "
            "because surfaces meet along far more borders then; prior_kind decides it"
        )
    texts.append(
        _about_relief(graph, filled, values, kind) or _about_borders(*meeting, graph.pixels.map.camera.central)
    )
    texts = [text for text in texts if text]
    for text in texts:
        logger.warning(text)
    return tuple(texts)


def _about_borders(alone: float, together: float, central: bool) -> str:
    """A sentence if the prior tears much of what the normals join."""
    if alone <= _CHOSEN.torn * together:
        return ""
    scale = "" if central else ', and has the unit of the columns and rows or prior_kind="affine"'
    return (
        f"prior: with it surfaces meet along {together:.0%} of all borders, those that it makes itself among them, by the "
        f"normals alone along {alone:.0%}; "
        "if that surprises you, check that it belongs to this view, is not flipped or shifted, holds depth or "
        f"disparity{scale}"
    )


def _about_relief(graph: Quotient, filled: np.ndarray, values: np.ndarray, kind: str) -> str:
    """A sentence if the prior runs against the relief that normals give each component, or knows nothing of it.

    Within a component the normals know the depth, up to a factor. The logarithm of a depth map rises with theirs, that of
    a disparity falls, whatever its scale. Noise does not change that slope, and an offset changes only its size.
    """
    camera = graph.pixels.map.camera
    known = np.flatnonzero(np.isfinite(values))
    label = graph.labels[known]
    count = np.maximum(np.bincount(label), 1)

    def relief(heights: np.ndarray) -> np.ndarray:
        return heights - (np.bincount(label, heights) / count)[label]

    x = relief(filled[known])
    if not camera.central:
        y = relief(values[known])
        together = float(np.sum(x * y)) / max(float(np.sqrt(np.sum(x * x) * np.sum(y * y))), 1e-300)
        if together > -0.5:
            return ""
        return (
            "prior: it falls where the depth that the normals give rises; depth grows away from the camera, so negate the "
            "prior if it holds heights, or check that it belongs to this view"
        )
    y = np.clip(relief(np.log(values[known])), -_CHOSEN.most, _CHOSEN.most)
    square = float(np.sum(x * x))
    if square < _CHOSEN.relief**2 * len(x) or not len(x):
        return ""
    slope = float(np.sum(x * y)) / square
    together = float(np.sum(x * y)) / max(float(np.sqrt(square * np.sum(y * y))), 1e-300)
    if max(abs(slope), abs(together)) < _CHOSEN.unrelated:
        return (
            "prior: it knows nothing of the relief that the normals show within surfaces; check that it belongs to this "
            "view, is not flipped or shifted, and holds depth or disparity"
        )
    inverse = "disparity" in kind
    if kind == "auto" or (-slope if inverse else slope) > _CHOSEN.opposite:
        return ""
    other = kind.replace("affine-disparity", "affine").replace("disparity", "depth")
    other = other if inverse else {"depth": "disparity", "affine": "affine-disparity"}[kind]
    rises = "rises" if inverse else "falls"
    return (
        f'prior_kind="{kind}": the prior {rises} where the depth that the normals give rises; it is probably '
        f'"{other}", which "auto" finds by itself'
    )


def about_anchors(outcome: Outcome, anchors: Anchors) -> str:
    """A sentence if the surface misses anchors by far, which it does where normals and anchors exclude each other."""
    camera = outcome.graph.pixels.map.camera
    off = anchors.potential - outcome.potential[anchors.pixel]
    missed = (
        np.abs(np.expm1(np.clip(off, -50, 50)))
        if camera.central
        else np.abs(off) / max(np.ptp(outcome.potential), 1e-300)
    )
    far = np.flatnonzero(missed > _CHOSEN.missed)
    if not len(far):
        return ""
    worst = int(missed.argmax())
    v, u = divmod(int(outcome.graph.pixels.map.position[anchors.pixel[worst]]), outcome.graph.pixels.map.shape[1])
    unit = "of the depth" if camera.central else "of the depth range"
    return (
        f"anchors: the surface misses {len(far)} of {len(off)} of them by more than {_CHOSEN.missed:.0%} {unit}, that at "
        f"column {u}, row {v} most ({missed[worst]:.0%}); they contradict the normals or each other, so check their "
        "unit, and that the column comes first"
    )
