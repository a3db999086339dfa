"""Ties: components stay as normals alone put them against each other, unless the prior has more to say than their borders.

Every border is a tie between two components at the places that were found from normals. It is as strong as the border is
certain to be a contact. What the prior says of a component pulls it elsewhere. The sum of all |pulls| and |ties| is least
where components move together, in groups, by what most of the prior says of a group, and only along the borders that are
weakest: a pull is as strong wherever it wants to go, so a few points that are wrong by much move nothing. A component of
which the prior says nothing follows those it is tied to most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import laplacians
from laplacians import LaplacianSystem

from ...graph.quotient import Quotient
from ..joining import Judgement, weight_of_sides
from .bodies import Bodies
from .borders import CutIntervals

_ROUNDS = 24  # of reweighting
_FIRST, _LAST = (
    0.1,
    1e-5,
)  # of the unit: lengths below which ties count by their square, in the first and the last round
_HELD = 0.1  # tie of every two neighbours, touching or not
_BODY = 1000.0  # tie of two components of one body
_PLAIN = 2.0  # log-odds for contact of a border that fits, where borders were not judged
_MOST = 4.0  # log-odds beyond which a border is not believed more
_FITS = 1.5  # tolerances by which a piece that was judged may miss the offset at which it fits


@dataclass(frozen=True, eq=False)
class Ties:
    """Pairs of neighbouring components, and how firmly they keep their places against each other.

    Attributes
    ----------
    n : int
        Number of components.
    one, other : (n_pairs,) int64
    strength : (n_pairs,) float64
    step : (n_pairs,) float64
        Place of `one` minus that of `other` as they were found from normals.
    """

    n: int
    one: np.ndarray
    other: np.ndarray
    strength: np.ndarray
    step: np.ndarray

    @classmethod
    def between(
        cls, graph: Quotient, cut: CutIntervals, fits: np.ndarray, shift: np.ndarray, judged: Judgement | None
    ) -> Ties:
        """The ties of a graph.

        Parameters
        ----------
        graph : Quotient
        cut : CutIntervals
            Its cut edges.
        fits : (n_cut,) bool
            Whether an edge fits at the places that were found from normals.
        shift : (n_components,) float64
            These places.
        judged : Judgement, optional
            What is known of the borders of a coarser graph.
        """
        n = graph.n_components
        low, high = np.minimum(cut.one, cut.other).astype(np.int64), np.maximum(cut.one, cut.other).astype(np.int64)
        key, pair = np.unique(low * n + high, return_inverse=True)
        one, other = key // n, key % n
        length = np.bincount(pair, cut.length * fits, len(key))
        odds = np.full(len(key), _PLAIN)
        if judged is not None:
            whole = judged.graph.labels[graph.first_pixels]
            apart = np.flatnonzero(whole[one] != whole[other])
            odds[apart] = _judged_odds(judged, whole, shift, whole[one[apart]], whole[other[apart]])
        return cls(n, one, other, _HELD + weight_of_sides(length) * odds, shift[one] - shift[other])

    def and_bodies(self, bodies: Bodies, shift: np.ndarray) -> Ties:
        """These ties and those of bodies, which hold at the places (n_components,) that were found from normals."""
        one, other = (np.append(pairs, links) for pairs, links in zip((self.one, self.other), bodies.links))
        strength = np.append(self.strength, np.full(len(bodies.links[0]), _BODY))
        return Ties(self.n, one, other, strength, shift[one] - shift[other])

    def moves(
        self, component: np.ndarray, wanted: np.ndarray, force: np.ndarray, slack: np.ndarray, unit: float
    ) -> np.ndarray:
        """(n,) by how much each component moves.

        Parameters
        ----------
        component : (n_pulls,) integers
        wanted : (n_pulls,) float64
            The move of its component that each pull asks for.
        force : (n_pulls,) float64
        slack : (n_pulls,) float64
            Error of `wanted`: a pull that is closer counts by its square.
        unit : float
            What lengths are parts of.
        """
        ground = np.full(len(component), self.n)
        tail, head = np.concatenate([self.one, component]), np.concatenate([self.other, ground])
        target = np.concatenate([np.zeros(len(self.one)), wanted])
        x = np.full(self.n, np.average(wanted, weights=force))
        solver = laplacians.get("auto")
        for length in unit * np.geomspace(_FIRST, _LAST, _ROUNDS):
            tie = self.strength / np.maximum(np.abs(x[self.one] - x[self.other]), length)
            pull = force / np.maximum(np.abs(x[component] - wanted), np.maximum(slack, length))
            solution = solver.solve(
                LaplacianSystem.from_edges(self.n + 1, tail, head, np.concatenate([tie, pull]), target)
            ).x
            x = solution[:-1] - solution[-1]
        return x

    def following(self, lost: np.ndarray, move: np.ndarray, unit: float) -> np.ndarray:
        """(n,) the moves of all components, if those that are lost follow the others.

        Parameters
        ----------
        lost : (n,) bool
        move : (n,) float64
            By how much each component that is not lost has moved.
        unit : float
        """
        number = np.cumsum(lost) - 1
        inside = lost[self.one] & lost[self.other]
        across = np.flatnonzero(lost[self.one] != lost[self.other])
        if not len(across):
            return move
        turned = lost[self.other[across]]
        follower = np.where(turned, self.other[across], self.one[across])
        leader = np.where(turned, self.one[across], self.other[across])
        one, other = number[self.one[inside]], number[self.other[inside]]
        own = Ties(int(lost.sum()), one, other, self.strength[inside], self.step[inside])
        moved = own.moves(number[follower], move[leader], self.strength[across], np.zeros(len(across)), unit)
        out = move.copy()
        out[lost] = moved
        return out


def _judged_odds(
    judged: Judgement, whole: np.ndarray, shift: np.ndarray, one: np.ndarray, other: np.ndarray
) -> np.ndarray:
    """(n_pairs,) log-odds for contact of the borders between components of the judged graph, from the pieces that fit.

    `whole` is the component of the judged graph that each component, which is at `shift`, is a part of.
    """
    facts, n = judged.facts, judged.graph.n_components + 1
    place = np.zeros(n)
    first = np.unique(whole, return_index=True)[1]
    place[whole[first]] = shift[first]
    miss = np.abs(facts.offset - (place[facts.left] - place[facts.right]))
    kept = facts.valid & (miss <= _FITS * judged.tolerance)
    left, right = facts.left[kept].astype(np.int64), facts.right[kept].astype(np.int64)
    key, pair = np.unique(np.minimum(left, right) * n + np.maximum(left, right), return_inverse=True)
    best = np.zeros(len(key))
    np.maximum.at(best, pair, np.clip(judged.contact[kept], 0.0, _MOST))
    wanted = np.minimum(one, other).astype(np.int64) * n + np.maximum(one, other)
    at = np.minimum(np.searchsorted(key, wanted), max(len(key) - 1, 0))
    return np.where(key[at] == wanted, best[at], 0.0) if len(key) else np.zeros(len(one))
