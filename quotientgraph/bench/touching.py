"""Along what length the parts of a reconstruction touch each other, in their places and in others.

An edge between two parts touches if its jump lies in the interval that its two normals allow. Only edges between components
count: no edge inside of one is evidence of where a part belongs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import maximum_filter1d

from ..geometry.jumps import interval
from ..graph.quotient import Quotient
from ..graph.selection import connected_components

LEAST = 8.0  # pixels along which parts have to touch for it to mean anything
_TOUCH = 0.3  # pixels: an edge that misses its interval by less touches
_DIAGONAL = 0.7  # length of a diagonal edge
_CHANCE = 0.9  # of other places, in which a part touches less than what is taken for chance
_FINE, _REACH = 10, 400  # places are a tenth of a step apart, and so many to either side are tried


@dataclass(frozen=True, eq=False)
class Borders:
    """The cut edges of a graph, between parts.

    Attributes
    ----------
    graph : Quotient
    ends : (2, n_cut) int64
        Parts at the two ends of each cut edge.
    n_parts : int
    length : (n_cut,) float64
    step : float
        To how much places are known, in the unit of the potential.
    """

    graph: Quotient
    ends: np.ndarray
    n_parts: int
    length: np.ndarray
    step: float

    @classmethod
    def of(cls, graph: Quotient, number: np.ndarray, step: float) -> Borders:
        """For the parts of all pixels (n_pixels,)."""
        ends = np.stack([graph.pixels.tail[graph.cut], graph.pixels.head[graph.cut]])
        v, u = np.divmod(graph.pixels.map.position[ends], graph.pixels.map.shape[1])
        length = np.where((v[0] == v[1]) | (u[0] == u[1]), 1.0, _DIAGONAL)
        return cls(graph, number[ends], int(number.max()) + 1, length, step)

    @property
    def between(self) -> np.ndarray:
        """(n_cut,) bool: edges between different parts."""
        return self.ends[0] != self.ends[1]

    def along(self, edges: np.ndarray) -> np.ndarray:
        """(n_parts,) length of those of the cut edges, chosen by (n_cut,) bool, that lead from each part to others."""
        weight = self.length * (edges & self.between)
        return np.bincount(self.ends[0], weight, self.n_parts) + np.bincount(self.ends[1], weight, self.n_parts)

    def touching(self, potential: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n_parts,) length along which each part touches others, and which it has in nine of ten other places at most."""
        (low, high), curves = self.curves(potential)
        total = np.zeros((self.n_parts, curves.shape[1]))
        np.add.at(total, low, curves)
        np.add.at(total, high, curves[:, ::-1])
        return total[:, _REACH], _by_chance(total)

    def held(self, potential: np.ndarray, number: np.ndarray) -> np.ndarray:
        """(n_parts,) bool: whether contacts of the parts of all pixels (n_pixels,) tie each of them to what holds it.

        Contacts make groups. What is not held is the largest part of each group that touches the others no more than by
        chance, but for the group with most pixels.
        """
        (low, high), curves = self.curves(potential)
        tied = curves[:, _REACH] > np.maximum(_by_chance(curves), LEAST)
        group = connected_components(self.n_parts, low[tied], high[tied])
        touch, chance = replace(self, ends=group[self.ends].astype(np.int64), n_parts=int(group.max()) + 1).touching(
            potential
        )
        size = np.bincount(number)
        loose = touch <= np.maximum(chance, LEAST)
        loose[np.bincount(group, size).argmax()] = False
        largest = np.lexsort((size, group))[np.cumsum(np.bincount(group)) - 1]
        held = np.ones(self.n_parts, dtype=bool)
        held[largest] = ~loose
        return held

    def curves(self, potential: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The pairs of parts (2, n_pairs), and the length (n_pairs, n_places) along which each touches in other places.

        The places are moves of the first part, the middle one none. A pair may be one step off, where it touches more:
        places are not known better.
        """
        pixels, used = self.graph.pixels, np.flatnonzero(self.between)
        edges, length, ends = self.graph.cut[used], self.length[used], self.ends[:, used]
        tail, head = pixels.tail[edges], pixels.head[edges]
        low, high = interval(pixels.map, tail, head) - (potential[tail] - potential[head])
        turned, slack, wide = ends[0] > ends[1], _TOUCH / pixels.focal_at(edges), 2 * _REACH + 2
        low, high = np.where(turned, -high, low) - slack, np.where(turned, -low, high) + slack
        place = np.stack([np.ceil(low * _FINE / self.step), np.floor(high * _FINE / self.step) + 1])
        begin, end = np.clip(place + _REACH, 0, wide - 1).astype(np.int64)
        pair, of = np.unique(np.sort(ends, axis=0), axis=1, return_inverse=True)
        of, n = of.ravel() * wide, pair.shape[1]
        change = np.bincount(of + begin, length, n * wide) - np.bincount(of + end, length, n * wide)
        curve = np.round(np.cumsum(change.reshape(n, wide), axis=1)[:, :-1], 6)
        return pair, maximum_filter1d(curve, 2 * _FINE + 1, axis=1, mode="nearest")


def _by_chance(curves: np.ndarray) -> np.ndarray:
    """(n,) length that each of the curves (n, n_places) has in nine of ten other places at most."""
    other = np.abs(np.arange(-_REACH, _REACH + 1)) > 2 * _FINE
    return np.quantile(curves[:, other], _CHANCE, axis=1)
