"""Ridges: the convex creases of a flat component, put together to chains.

A ridge is the edge at which a face ends and the next one falls away behind it, as the top of a box ends at its front. Where
the outline of a component shows several ridges in a row, they are part of the outline of one face.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .border_facts import PieceFacts
from .border_pieces import BorderPieces
from .face_outlines import next_ones

RIDGE = 8.0  # degrees by which both sides together lean away from a ridge, or towards a valley
LEAST_ODDS = 1.0  # of contact, for a ridge or a valley that is relied on
LEAST_SIDES, LEAST_ANGLE = 4, 15.0  # of it, and degrees between its two normals
_SHORT = 6  # sides: shorter ridges have no direction, as where a corner is rounded by pixels
_NEAR = 6.0  # pixels between the ends of two ridges that meet
_CORNER = 8.0  # pixels from there at which their lines may cross
_BESIDE, _ALIGNED = 2.0, 0.99  # pixels, and cosine: two ridges of one line, of which something hides the part between
_TOO_FAR = 1e9


@dataclass(frozen=True, eq=False)
class RidgeChain:
    """Ridges of one component in a row, walked with the component on the left.

    Attributes
    ----------
    component : int
    pieces : (n,) int64
        Pieces of borders.
    begin, end : (n, 2) float64
        Rows and columns of the ends of each; pixel centres are at integers.
    closed : bool
        Whether the last one meets the first one.
    facts : PieceFacts
        Of all pieces.
    """

    component: int
    pieces: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    closed: bool
    facts: PieceFacts

    @cached_property
    def vertices(self) -> np.ndarray:
        """(n + 1, 2) rows and columns of the corners between the ridges; most chains are never asked for them."""
        if len(self.pieces) == 1:
            return np.concatenate([self.begin, self.end])
        between = _corners(self.facts, self.pieces, self.end, next_ones(self.begin))
        first, last = (between[-1:], between[-1:]) if self.closed else (self.begin[:1], self.end[-1:])
        return np.concatenate([first, between[:-1], last])


def relied_on(facts: PieceFacts, contact: np.ndarray) -> np.ndarray:
    """(n_pieces,) bool: creases that are long, sharp and likely enough to conclude something from their kind."""
    plain = (facts.n >= LEAST_SIDES) & (facts.angle > LEAST_ANGLE)
    return facts.valid & (contact > LEAST_ODDS) & plain


def ridge_chains(
    borders: BorderPieces, facts: PieceFacts, contact: np.ndarray, wanted: np.ndarray
) -> Iterator[RidgeChain]:
    """The chains of ridges of the wanted components (n_components,) bool, one component after the other."""
    chosen = relied_on(facts, contact) & (facts.lean_left + facts.lean_right < -RIDGE) & (facts.n >= _SHORT)
    ridge = np.flatnonzero(chosen)
    first, last = borders.start[ridge], borders.start[ridge + 1] - 1
    step = np.stack([borders.down, borders.along], axis=1)
    middle = np.stack([borders.row, borders.column], axis=1)
    begin, end = middle[first] - 0.5 * step[first], middle[last] + 0.5 * step[last]
    component = np.concatenate([facts.left[ridge], facts.right[ridge]])
    piece = np.concatenate([ridge, ridge])
    begin, end = np.concatenate([begin, end]), np.concatenate([end, begin])
    kept = np.flatnonzero(wanted[component])
    order = kept[np.argsort(component[kept], kind="stable")]
    for own in np.split(order, np.flatnonzero(np.diff(component[order])) + 1) if len(order) else ():
        for run, closed in _runs(begin[own], end[own]):
            k = own[run]
            yield RidgeChain(int(component[k[0]]), piece[k], begin[k], end[k], closed and len(k) > 1, facts)


def _runs(begin: np.ndarray, end: np.ndarray) -> Iterator[tuple[np.ndarray, bool]]:
    """Ridges in the order in which they follow each other, and whether they close."""
    n = len(begin)
    if n == 1:
        yield np.zeros(1, dtype=np.intp), False
        return
    after, before, seen = [-1] * n, [-1] * n, [False] * n
    cost = _costs(begin, end).ravel()
    near = np.flatnonzero(cost < _TOO_FAR)
    for link in near[np.argsort(cost[near], kind="stable")].tolist():
        one, other = divmod(link, n)
        if after[one] < 0 and before[other] < 0:
            after[one], before[other] = other, one
    for closed in (False, True):
        for first in range(n):
            if seen[first] or (before[first] >= 0 and not closed):
                continue
            run, k = [], first
            while k >= 0 and not seen[k]:
                seen[k] = True
                run.append(k)
                k = after[k]
            yield np.array(run), closed


def _costs(begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """(n, n) how doubtful it is that ridge j follows ridge i: their distance if they meet, more if a gap lies between."""
    down, along = (begin[:, i] - end[:, i, None] for i in range(2))
    distance = np.hypot(down, along)
    length = np.hypot(*(end - begin).T)
    heading = (end - begin) / np.maximum(length, 1e-9)[:, None]
    y, x = heading.T
    alike = heading @ heading.T
    beside = np.maximum(np.abs(down * x[:, None] - along * y[:, None]), np.abs(down * x - along * y))
    line = (down * y[:, None] + along * x[:, None] > 0) & (beside < _BESIDE) & (alike > _ALIGNED)
    line &= distance < np.maximum(length[:, None], length)
    cost = np.where(distance <= _NEAR, distance, np.where(line, _NEAR + distance, _TOO_FAR))
    cost += 0.1 * (1 - alike)  # of several at one distance, that which turns least
    np.fill_diagonal(cost, _TOO_FAR)
    return cost


def _corners(facts: PieceFacts, piece: np.ndarray, end: np.ndarray, begin: np.ndarray) -> np.ndarray:
    """(n, 2) where each piece of a run meets the next one: where their lines cross, if that is near their ends."""
    place = np.stack([facts.row[piece], facts.column[piece]], axis=1)
    heading = np.stack([facts.down[piece], facts.along[piece]], axis=1)
    other, turned = next_ones(place), next_ones(heading)
    middle = 0.5 * (begin + end)
    cross = heading[:, 0] * turned[:, 1] - heading[:, 1] * turned[:, 0]
    away = other - place
    along = (away[:, 0] * turned[:, 1] - away[:, 1] * turned[:, 0]) / np.where(np.abs(cross) > 0.1, cross, np.inf)
    crossing = place + along[:, None] * heading
    near = (np.abs(cross) > 0.1) & (np.hypot(*(crossing - middle).T) < _CORNER)
    return np.where(near[:, None], crossing, middle)
