"""Consensus: what the edges along a border agree on.

An edge between two components states an interval of jumps (`quotientgraph.beyond.contacts`), and thereby an interval of
offsets between the two. Where they touch, one offset lies in the intervals of nearly all edges; where one hides the
other, each edge asks for another offset. A *run* is the largest set of edges of a border that can agree, then the
largest among those left, and so on. Edges that agree know more together than each alone: the crease crosses every one
of them elsewhere, and what all intervals have in common is a small part of each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from laplacians.core.jit import kernel

from ..graph.quotient import Quotient
from ..method.cutedges import CutEdges
from .contacts import crease_slack, normal_angle, residual_range

# Normals must differ by this much, in degrees, for a border to be a crease.
_CREASE = 8.0
# Of a border, how many edges and which part of them must agree to speak with one voice.
_LEAST_VOTES, _MAJORITY = 8, 0.6


@dataclass(frozen=True)
class Runs:
    """Sets of cut edges that agree, in order of their borders.

    Attributes
    ----------
    of : (n_cut,) int32
        Run of each cut edge, −1 for none.
    pair : (n_runs,) int32
        Border, as a pair of `CutEdges.pattern`.
    lower, upper : (n_runs,) float64
        Shift of the pair's tail against its head between which all edges of the run are content.
    votes : (n_runs,) int32
        Number of edges.
    aside : (n_runs,) int32
        Edges not in earlier runs that would agree on an offset just beside: many where offsets drift along a border.
    """

    of: np.ndarray
    pair: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    votes: np.ndarray
    aside: np.ndarray

    @classmethod
    def find(cls, graph: Quotient, cut: CutEdges, least: int, most: int, tolerance: float) -> Runs:
        """Up to `most` runs of each border, of at least `least` edges.

        Intervals are widened by `tolerance`, in pixels, for what noise does to the normals.
        """
        used = np.flatnonzero(np.repeat(np.diff(cut.start) >= least, np.diff(cut.start)))
        used = used[normal_angle(graph, cut, used) > _CREASE]
        start = np.searchsorted(used, cut.start)  # edges come in order of their borders
        room = tolerance / graph.pixels.focal_at(cut.number[used])
        lower, upper = residual_range(graph, cut, used) - cut.residual[used]
        lower, upper = lower - room, upper + room
        border = np.repeat(np.arange(len(start) - 1), np.diff(start))
        by_lower, by_upper = np.lexsort((lower, border)), np.lexsort((upper, border))
        of = np.full(len(used), -1, dtype=np.int32)
        most_runs = len(used) // least
        pair, votes, aside = (np.empty(most_runs, dtype=np.int32) for _ in range(3))
        low, high = np.empty(most_runs), np.empty(most_runs)
        n = _elect(start, by_lower, by_upper, lower, upper, least, most, of, pair, low, high, votes, aside)
        run = np.full(len(cut.number), -1, dtype=np.int32)
        run[used] = of
        return cls(run, pair[:n], low[:n], high[:n], votes[:n], aside[:n])

    @property
    def middle(self) -> np.ndarray:
        return 0.5 * (self.lower + self.upper)

    @property
    def half(self) -> np.ndarray:
        """(n_runs,) half the room between `lower` and `upper`."""
        return 0.5 * (self.upper - self.lower)


def agreed(graph: Quotient, cut: CutEdges, contact: np.ndarray) -> CutEdges:
    """The cut edges with slack, and with creases where most edges of their border say they are.

    Elsewhere creases have the whole room between their two pixels (`crease_slack`).
    """
    runs = Runs.find(graph, cut, _LEAST_VOTES, most=1, tolerance=0.02)
    slack = crease_slack(graph, cut, contact)
    clear = runs.votes >= _MAJORITY * np.diff(cut.start)[runs.pair]
    edges = np.flatnonzero(runs.of >= 0)
    edges = edges[clear[runs.of[edges]]]
    run = runs.of[edges]
    residual = cut.residual.copy()
    residual[edges] = -runs.middle[run]
    slack[:, edges] = -runs.half[run], runs.half[run]
    return replace(cut, residual=residual, residual_back=residual, slack=slack)


@kernel
def _elect(start, by_lower, by_upper, lower, upper, least, most, of, pair, low, high, votes, aside):
    """Of each border the offset in most intervals, by a sweep over their sorted ends; then again without those."""
    n = 0
    for p in range(len(start) - 1):
        first, last = start[p], start[p + 1]
        for _ in range(most):
            i, j, open_now, best = first, first, 0, 0
            at, until = 0.0, 0.0
            while i < last:
                begins, ends = by_lower[i], by_upper[j]
                if of[begins] >= 0:
                    i += 1
                elif of[ends] >= 0:
                    j += 1
                elif lower[begins] <= upper[ends]:
                    open_now += 1
                    i += 1
                    if open_now > best:
                        best, at, until = open_now, lower[begins], upper[ends]
                else:
                    open_now -= 1
                    j += 1
            if best < least:
                break
            middle, width = 0.5 * (at + until), 0.0
            for k in range(first, last):
                e = by_lower[k]
                if of[e] < 0 and lower[e] <= middle <= upper[e]:
                    width += upper[e] - lower[e]
            step = width / best + 0.5 * (until - at)
            left, right = 0, 0
            for k in range(first, last):
                e = by_lower[k]
                if of[e] < 0:
                    left += lower[e] <= middle - step <= upper[e]
                    right += lower[e] <= middle + step <= upper[e]
                    if lower[e] <= middle <= upper[e]:
                        of[e] = n
            pair[n], low[n], high[n], votes[n], aside[n] = p, at, until, best, max(left, right)
            n += 1
    return n
