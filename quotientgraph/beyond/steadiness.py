"""Steadiness: which components would stand elsewhere if their borders had spoken differently, by little or by much.

Joining decides by what the borders say, and some of its decisions are close. Which ones shows when it is repeated: what each
pair of components says about its offset is disturbed at random, and everything is joined anew. A component that many firm
borders hold stays where it is. One that hangs on a close decision, with all that hangs on it in turn, is found elsewhere in
some of the arrangements.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from laplacians.core.arrays import weighted_median
from laplacians.core.sorting import order_within

from ..graph.selection import connected_components
from .disturbance import disturbed
from .joining import Judgement, Witnesses, join


@dataclass(frozen=True)
class _Constants:
    """Chosen on the random scenes of the split "tune"; the size of crumbs by the time that they take."""

    times: int = 6  # arrangements of each sort
    little: float = 1.0  # standard deviations of what is added to log-odds
    much: float = 4.0
    moved: float = 0.02  # of the potential (of its range, for parallel rays): what moves by more stands elsewhere
    crumb: float = 1e-3  # of the pixels: what is smaller stays with its neighbour


_CHOSEN = _Constants()


class Unsteadiness(NamedTuple):
    """Shares of the arrangements by disturbed evidence in which components stand elsewhere.

    Most pixels are taken to stand where they do, so it is always the smaller part that is said to move, and that in each
    connected piece of the map by itself.

    Attributes
    ----------
    little, much : (n_components,) float64
        Where the evidence is disturbed by little, and where by much.
    """

    little: np.ndarray
    much: np.ndarray


def unsteadiness(judged: Judgement, witnesses: Witnesses, settled: tuple[tuple[int, int], ...] = ()) -> Unsteadiness:
    """Disturb what borders say, join again and again, and see what moves.

    Parameters
    ----------
    judged : Judgement
        The borders at the present potential.
    witnesses : Witnesses
        What they say.
    settled : pairs of pixels
        Whose depth relative to each other is known.
    """
    pairs = judged.graph.labels[np.array(settled, dtype=np.int64).reshape(-1, 2)]
    group = _kept_together(witnesses, judged.graph.sizes, pairs)
    size = np.bincount(group, judged.graph.sizes)
    left, right = group[witnesses.left], group[witnesses.right]
    w = _chosen(replace(witnesses, left=left, right=right), left != right)

    piece = np.empty(len(size), dtype=np.int64)
    piece[group] = judged.graph.pixels.pieces[judged.graph.first_pixels]
    pieces = np.split(np.argsort(piece, kind="stable"), np.cumsum(np.bincount(piece))[:-1])
    pieces = [one for one in pieces if len(one) > 1]

    def elsewhere(deviation: float) -> np.ndarray:
        times = np.zeros(len(size))
        for one in disturbed(w, np.arange(len(size)), _CHOSEN.times, deviation) if len(w.left) else ():
            shift = join(len(size), one, size)
            for own in pieces:
                move = shift[own] - weighted_median(shift[own], size[own])
                times[own] += np.abs(move) > _CHOSEN.moved * judged.span
        return times[group] / _CHOSEN.times

    return Unsteadiness(elsewhere(_CHOSEN.little), elsewhere(_CHOSEN.much))


def _kept_together(witnesses: Witnesses, size: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """(n_components,) groups of components that are not moved apart: pairs (n, 2), and crumbs with a neighbour.

    A crumb stays with the neighbour that it touches most at present, or else has most of its border with.
    """
    w, n = witnesses, len(size)
    own, other = np.append(w.left, w.right), np.append(w.right, w.left)
    tie = np.tile(w.weight * np.where(np.abs(w.offset) <= w.tolerance, 1.0, 1e-3), 2)
    of_crumb = size[own] < _CHOSEN.crumb * size.sum()
    own, other, tie = own[of_crumb], other[of_crumb], tie[of_crumb]
    order = order_within(own, tie)
    last = order[np.flatnonzero(np.diff(own[order], append=-1))]
    return connected_components(n, np.append(own[last], pairs[:, 0]), np.append(other[last], pairs[:, 1])).astype(
        np.int64
    )


def _chosen(witnesses: Witnesses, kept: np.ndarray) -> Witnesses:
    """Some of the witnesses, whatever they are."""
    return Witnesses(**{name: values[kept] for name, values in vars(witnesses).items() if name != "piece"})
