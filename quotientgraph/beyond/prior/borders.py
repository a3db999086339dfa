"""Borders between groups of components: the offset at which two groups would touch, and how surely they do.

A cut edge states an interval of offsets between its two components (`quotientgraph.beyond.contacts`). Along a contact one
offset lies in the intervals of most edges. The edges then *vote* for it, and a vote counts the more the narrower its
interval is: at the limb of a round thing the interval is so wide that any offset fits, which says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laplacians.core.jit import kernel

from ...geometry.jumps import interval
from ...graph.quotient import Quotient
from ..contacts import CREASED, CURVED
from ..offsets import in_order

_BESIDE = 8.0  # tolerances by which an edge just misses the offset of its border


@dataclass(frozen=True, eq=False)
class CutIntervals:
    """The cut edges of a graph, as intervals of the shift of one component against the other.

    Attributes
    ----------
    number : (n_cut,) int32
        Which edge of G0 it is.
    one, other : (n_cut,) int32
        The two components.
    lower, upper : (n_cut,) float64
        Range of shift[one] − shift[other] with which the two surfaces touch at this edge.
    length : (n_cut,) float64
        How much of the border an edge stands for: diagonal edges count less.
    focal : (n_cut,) float64
        What turns differences of the potential into pixels.
    """

    number: np.ndarray
    one: np.ndarray
    other: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    length: np.ndarray
    focal: np.ndarray

    @classmethod
    def from_graph(cls, graph: Quotient, potential: np.ndarray) -> CutIntervals:
        """The intervals at a potential (n_pixels,)."""
        pixels, number = graph.pixels, graph.cut
        tail, head = pixels.tail[number], pixels.head[number]
        normals = pixels.map.normals
        middle = np.atleast_2d(graph.jump[..., number]).mean(axis=0)
        chord = np.linalg.norm(normals[tail] - normals[head], axis=1)
        angle = np.degrees(2 * np.arcsin(np.minimum(chord / 2, 1)))
        room = (interval(pixels.map, tail, head) - middle) * np.clip((angle - CURVED) / (CREASED - CURVED), 0, 1)
        at = middle - (potential[tail] - potential[head])
        down, right = pixels.steps(number)
        straight = (down == 0) | (right == 0)
        return cls(
            number,
            graph.labels[tail],
            graph.labels[head],
            at + np.minimum(room[0], 0),
            at + np.maximum(room[1], 0),
            np.where(straight, 1.0, 0.7),
            pixels.focal_at(number),
        )

    def gaps(self, shift: np.ndarray) -> np.ndarray:
        """(n_cut,) by how many pixels each edge misses its interval after a shift (n_components,)."""
        step = shift[self.one] - shift[self.other]
        return np.maximum(np.maximum(self.lower - step, step - self.upper), 0.0) * self.focal

    def nearest(self, shift: np.ndarray) -> np.ndarray:
        """(n_cut,) the value in each interval that is nearest to the present difference of the shifts."""
        return np.clip(shift[self.one] - shift[self.other], self.lower, self.upper)


@dataclass(frozen=True, eq=False)
class Contacts:
    """For each pair of neighbouring groups, the offset that most edges between them agree on.

    Attributes
    ----------
    one, other : (n_pairs,) int64
        The two groups, the smaller number first.
    edge : (n_edges,) int64
        Cut edges between groups, in order of their pairs.
    pair : (n_edges,) int64
        Pair of each.
    turned : (n_edges,) bool
        Whether the edge runs from `other` to `one`.
    offset : (n_pairs,) float64
        By how much `one` is to be moved against `other`.
    agrees : (n_edges,) bool
        Whether the edge agrees with the offset.
    votes, beside, against : (n_pairs,) float64
        Evidence of the edges that agree, of those that just miss, and of all others. Many edges just miss where the offset
        drifts along a border, which is no contact though some edges agree.
    """

    one: np.ndarray
    other: np.ndarray
    edge: np.ndarray
    pair: np.ndarray
    turned: np.ndarray
    offset: np.ndarray
    agrees: np.ndarray
    votes: np.ndarray
    beside: np.ndarray
    against: np.ndarray

    @classmethod
    def between(
        cls, cut: CutIntervals, shift: np.ndarray, group: np.ndarray, tolerance: float, span: float
    ) -> Contacts:
        """Find the offsets.

        Parameters
        ----------
        cut : CutIntervals
        shift : (n_components,) float64
        group : (n_components,) integers
        tolerance : float
            Pixels by which every interval is widened.
        span : float
            Range of offsets that tears have; an interval this wide is no evidence.
        """
        one, other = group[cut.one].astype(np.int64), group[cut.other].astype(np.int64)
        edge = np.flatnonzero(one != other)
        one, other = one[edge], other[edge]
        turned = one > other
        one, other = np.where(turned, other, one), np.where(turned, one, other)
        order = np.argsort(one * (int(group.max(initial=0)) + 1) + other, kind="stable")
        edge, one, other, turned = edge[order], one[order], other[order], turned[order]
        first = np.flatnonzero((np.diff(one, prepend=-1) != 0) | (np.diff(other, prepend=-1) != 0))
        start = np.append(first, len(edge))
        pair = np.repeat(np.arange(len(first)), np.diff(start))
        room, step = tolerance / cut.focal[edge], shift[cut.one[edge]] - shift[cut.other[edge]]
        lower, upper = cut.lower[edge] - step - room, cut.upper[edge] - step + room
        lower, upper = np.where(turned, -upper, lower), np.where(turned, -lower, upper)
        evidence = cut.length[edge] * np.maximum(np.log(span / (upper - lower)), 0.0)
        offset, votes = np.empty(len(first)), np.empty(len(first))
        _elect(start, lower, upper, evidence, offset, votes)
        agrees = (lower <= offset[pair]) & (offset[pair] <= upper)
        miss = np.maximum(lower - offset[pair], offset[pair] - upper)
        just = (miss > 0) & (miss <= _BESIDE * room)
        beside = np.bincount(pair, evidence * just, len(first))
        against = np.bincount(pair, evidence, len(first)) - votes - beside
        return cls(one[first], other[first], edge, pair, turned, offset, agrees, votes, beside, against)


@kernel
def _elect(start, lower, upper, evidence, offset, votes):
    """For each pair the middle of the range that intervals of the most evidence share, by sweeping over their ends."""
    longest = 0
    for p in range(len(start) - 1):
        longest = max(longest, start[p + 1] - start[p])
    low, high, spare = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    for p in range(len(start) - 1):
        first, n = start[p], start[p + 1] - start[p]
        in_order(lower[first:], n, low, spare)
        in_order(upper[first:], n, high, spare)
        i, j = 0, 0
        now, best = 0.0, -1.0
        while i < n:
            begins, ends = first + low[i], first + high[j]
            if lower[begins] <= upper[ends]:
                now += evidence[begins]
                i += 1
                if now > best + 1e-12:
                    best = now
                    offset[p] = 0.5 * (lower[begins] + upper[ends])
            else:
                now -= evidence[ends]
                j += 1
        votes[p] = best
