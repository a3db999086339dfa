"""Disturbance: what the borders might as well have said, and where components stand by most of it.

Joining decides by what the borders say, and some of its decisions are close. So it is repeated with other evidence: what two
components say of each other is changed at random, and everything is joined anew. In how many of these arrangements a
component stands elsewhere tells how steady its place is (`steadiness`). And where nearly all of them put it on one side of
its place in the likeliest one, that was an accident of a close decision, and the middle of all is nearer to the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from laplacians.core.arrays import weighted_median

from .border_junctions import log_probabilities

if TYPE_CHECKING:
    from .joining import Witnesses

_DEVIATION = 1.0  # standard deviation of what is added to log-odds


class Middle(NamedTuple):
    """What the middle of several arrangements is.

    Attributes
    ----------
    times : int
        Arrangements with disturbed evidence.
    likeliest : int
        As how many of them the likeliest one counts.
    """

    times: int
    likeliest: int


# Chosen on random scenes of the split "tune", furnished rooms and real views. The evidence of exact normals deserves more
# trust: there a component leaves its likeliest place only if four in five of the others agree.
CLEAN, NOISY = Middle(10, 6), Middle(24, 1)


def disturbed(witnesses: Witnesses, rank: np.ndarray, times: int, deviation: float) -> Iterator[Witnesses]:
    """Witnesses with random numbers added to the log-odds of contact, and of the side in front, of each pair of components.

    Parameters
    ----------
    witnesses : Witnesses
    rank : (n_components,) integers
        An order of the components, all different; it decides which random number a pair is given.
    times : int
        How many to make.
    deviation : float
        Standard deviation of the numbers.
    """
    w, left, right = witnesses, rank[witnesses.left], rank[witnesses.right]
    pair, number = np.unique(np.minimum(left, right) * len(rank) + np.maximum(left, right), return_inverse=True)
    turned = np.where(left < right, 1.0, -1.0)
    contact, front = w.touch - np.logaddexp(w.left_front, w.right_front), w.left_front - w.right_front
    added = deviation * np.random.default_rng(0).standard_normal((times, 2, len(pair)))
    for of_contact, of_front in added.take(number, axis=2):
        touch, left_front, right_front = log_probabilities(contact + of_contact, front + turned * of_front)
        yield replace(w, touch=touch, left_front=left_front, right_front=right_front)


def typical_places(
    witnesses: Witnesses, size: np.ndarray, join: Callable[[Witnesses], np.ndarray], middle: Middle
) -> np.ndarray:
    """(n_components,) shifts: of each component the median over the likeliest arrangement and some with disturbed evidence.

    Parameters
    ----------
    witnesses : Witnesses
    size : (n_components,) float64
        Pixels. Random numbers are given by size, so that they do not depend on how components are numbered.
    join : callable
        Gives the shifts (n_components,) that witnesses ask for.
    middle : Middle
    """
    first, rank = join(witnesses), np.empty(len(size), dtype=np.int64)
    rank[np.argsort(-size, kind="stable")] = np.arange(len(size))
    found = [first] * middle.likeliest
    for one in disturbed(witnesses, rank, middle.times, _DEVIATION):
        shift = join(one)
        found.append(shift - weighted_median(shift - first, size))  # most pixels are taken to stand where they do
    return np.median(np.stack(found), axis=0)
