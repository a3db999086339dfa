"""How a reconstruction stands: what its borders say of the places of its components, and how known offsets rearrange them.

The borders are questioned at the reconstruction as it is, by the same witnesses that joining listens to. Every two
neighbouring components add a witness for their present places, so that nothing moves without a reason. An offset that is
known for sure, a *pin*, outweighs all of them. Joining everything anew then moves what the pins are about, together with
what hangs on it more than on the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from laplacians.core.arrays import weighted_median

from ..graph.quotient import Quotient
from ..graph.selection import connected_components
from ..method.outcome import Outcome
from .absorbing import absorbed
from .joining import Judgement, Witnesses, join


@dataclass(frozen=True)
class _Constants:
    """The weights were chosen on the random scenes of the split "tune"."""

    held: float = 1.0  # weight of the present place where borders placed the components
    held_fast: float = 100.0  # the same where they did not: only what must move does
    room: float = 0.1  # pixels: how exactly a place is the present one
    pinned: float = 1000.0  # weight of what is known
    against: float = -8.0  # log-probability that what is known is wrong
    sure: float = 0.5  # certainty by a depth prior from which on a component is known to be in its place


_CHOSEN = _Constants()


@dataclass(frozen=True, eq=False)
class Pins:
    """Offsets between components that are known.

    Attributes
    ----------
    left, right : (n,) int64
        Components.
    offset : (n,) float64
        Shift of left minus shift of right, from their present places, that is right.
    """

    left: np.ndarray
    right: np.ndarray
    offset: np.ndarray

    @classmethod
    def at_present(cls, left: np.ndarray, right: np.ndarray) -> Self:
        """Pins of pairs of components that are in the right places already."""
        return cls(left.astype(np.int64), right.astype(np.int64), np.zeros(len(left)))

    def with_one(self, left: int, right: int, offset: float) -> Pins:
        """The same and one more."""
        return Pins(np.append(self.left, left), np.append(self.right, right), np.append(self.offset, offset))


@dataclass(frozen=True, eq=False)
class Standing:
    """The components of a reconstruction in their present places, and what is known of those.

    Attributes
    ----------
    judged : Judgement
        The borders of components that move as wholes, at the present potential.
    witnesses : Witnesses
        What they say: an offset of 0 is the present place.
    size : (n_components,) int64
        Pixels.
    pins : Pins
        What is known already.
    held : float
        Weight of the present places.
    percent : float
        Change of the potential that is one per cent of depth; orthographic: of the range of depth.
    absolute : bool
        Whether what is pinned has to stay where it is.
    """

    judged: Judgement
    witnesses: Witnesses
    size: np.ndarray
    pins: Pins
    held: float
    percent: float
    absolute: bool

    @classmethod
    def from_outcome(cls, outcome: Outcome) -> Standing:
        """Question the borders of what a method has found."""
        by_prior = outcome.absolute and outcome.certainty is not None
        first = outcome.levels[0]
        if outcome.judged is not None:
            judged = outcome.judged.at(outcome.potential)
        else:  # what a prior has divided must not be absorbed again
            judged = Judgement.of(first if by_prior else absorbed(first), outcome.potential)
        graph = judged.graph
        ends = graph.labels[np.array(outcome.settled, dtype=np.int64).reshape(-1, 2)]
        known = Pins.at_present(ends[:, 0], ends[:, 1])
        size = graph.sizes
        if by_prior:
            sure = np.bincount(graph.labels, outcome.certainty) >= _CHOSEN.sure * size
            one = np.flatnonzero(sure)
            if len(one):
                largest = one[size[one].argmax()]
                more = Pins.at_present(one[one != largest], np.full(len(one) - 1, largest))
                known = Pins(*(np.concatenate([getattr(more, k), getattr(known, k)]) for k in vars(known)))
        held = _CHOSEN.held if outcome.joined else _CHOSEN.held_fast
        return cls(judged, judged.witnesses, size, known, held, max(0.01 * judged.span, 1e-9), outcome.absolute)

    @property
    def graph(self) -> Quotient:
        """Its components move as wholes."""
        return self.judged.graph

    def rearranged(self, pins: Pins) -> np.ndarray:
        """(n_components,) shifts that realise the pins, in the order of how certain the borders are.

        Most pixels stay where they are; with absolute depth, the components that are pinned already do.
        """
        n, graph = self.graph.n_components, self.graph
        tail, head = np.unique(np.sort(np.stack([graph.tail, graph.head]), axis=0), axis=1).astype(np.int64)
        focal = float(np.median(graph.pixels.map.focal))
        present = _more(self.witnesses, tail, head, np.zeros(len(tail)), _CHOSEN.room / focal, self.held, -1.0)
        told = _more(present, pins.left, pins.right, pins.offset, 1e-3 * self.percent, _CHOSEN.pinned, _CHOSEN.against)
        shift = join(n, told, self.size)
        if self.absolute and len(self.pins.left):
            return shift - shift[self.pins.right[0]]
        block = connected_components(n, np.append(tail, pins.left), np.append(head, pins.right))
        for k in range(int(block.max()) + 1):
            of = np.flatnonzero(block == k)
            shift[of] -= weighted_median(shift[of], self.size[of])
        return shift

    def log_likelihood(self, shift: np.ndarray) -> float:
        """Of all that is seen at the borders, for components shifted by so much (n_components,)."""
        w = self.witnesses
        miss = shift[w.left] - shift[w.right] - w.offset
        state = np.where(np.abs(miss) <= w.tolerance, w.touch, np.where(miss < 0, w.left_front, w.right_front))
        return float((w.weight * state).sum())

    def moves(self, shift: np.ndarray) -> np.ndarray:
        """(n_components,) bool: those that such shifts move by half a per cent or more."""
        return np.abs(shift) > 0.5 * self.percent


def _more(
    witnesses: Witnesses,
    left: np.ndarray,
    right: np.ndarray,
    offset: np.ndarray,
    tolerance: float,
    weight: float,
    against: float,
) -> Witnesses:
    """The witnesses and others, who say that components touch at an offset, and how unlikely it is that they do not."""
    tolerances, weights, apart = (np.full(len(left), value) for value in (tolerance, weight, against))
    return witnesses.beside(Witnesses(left, right, offset, tolerances, weights, np.zeros(len(left)), apart, apart))
