"""Joining: components are placed against each other in the order of how certain their borders are.

Every piece of a border states an offset at which its two components touch, the probability that they do, and which side is
in front if they do not (`border_cues`, `border_context`). Between two groups of components, every offset therefore has a
likelihood. The pair whose best offset leads by most over every other is joined there, and becomes one group; and so on,
until all are one. Large faces with long borders come first, things that stand on them next, crumbs last. From there the
reweighted descent of the published method goes on.

Pieces of one pair that agree on an offset lie on one line, so they are one witness, not many.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from laplacians.core.arrays import gathered
from laplacians.core.sorting import order_within

from ..graph.quotient import Quotient
from ..method.optimize import Joined
from .border_context import Context, placing_odds
from .border_cues import log_odds, weight_of_sides
from .border_facts import PieceFacts
from .border_junctions import log_probabilities, propagated
from .border_pieces import BorderPieces
from .common_planes import PlanePairs
from .disturbance import CLEAN, NOISY, typical_places
from .held_planes import HeldPlanes
from .hidden_faces import HiddenFaces, hidden_faces
from .offsets import join_groups, number_runs


@dataclass(frozen=True)
class _Constants:
    """Chosen on the random scenes of the split "tune"."""

    most_odds: float = 4.0  # log-odds beyond which a piece is not believed more
    slack: float = 1.5  # how many tolerances an offset may miss a piece that touches
    margin: float = 1e-3  # of the potential: offsets that are this close to the best are no rivals of it
    share: float = 0.5  # of the largest lead: pairs above it are joined in the same round


_CHOSEN = _Constants()


@dataclass(frozen=True, eq=False)
class Witnesses:
    """What the pieces of all borders say, and what common planes do; all arrays but the last have one entry a witness.

    Attributes
    ----------
    left, right : int64
        Components on the two sides.
    offset : float64
        Shift of left minus shift of right with which they touch, in the unit of the potential.
    tolerance : float64
        By how much a contact may miss it.
    weight : float64
    touch, left_front, right_front : float64
        Log-probabilities of the three states.
    piece : int64
        Numbers of the pieces in `BorderPieces` that the first witnesses are; those behind them are pairs of faces.
    """

    left: np.ndarray
    right: np.ndarray
    offset: np.ndarray
    tolerance: np.ndarray
    weight: np.ndarray
    touch: np.ndarray
    left_front: np.ndarray
    right_front: np.ndarray
    piece: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def states(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log-probabilities of touching, of left and of right in front."""
        return self.touch, self.left_front, self.right_front

    @classmethod
    def from_judgement(cls, judged: Judgement) -> Witnesses:
        """What the borders of a graph say after they were judged, and what its planes do."""
        told = cls.from_pieces(judged)
        return told.beside(cls(*PlanePairs.of(judged, told).witnesses(judged.span)))

    def beside(self, others: Witnesses) -> Witnesses:
        """These witnesses, and then others."""
        return Witnesses(**{name: np.concatenate([own, getattr(others, name)]) for name, own in vars(self).items()})

    @property
    def of_pieces(self) -> Witnesses:
        """Those that are pieces of borders."""
        return Witnesses(**{name: values[: len(self.piece)] for name, values in vars(self).items()})

    @classmethod
    def from_pieces(cls, judged: Judgement) -> Witnesses:
        """What the pieces of the borders say."""
        facts, tolerance = judged.facts, judged.tolerance
        size = np.append(judged.graph.sizes, 0)
        weight = _weights(facts, tolerance, size)
        odds = placing_odds(judged.context)
        contact, front = (np.clip(one, -_CHOSEN.most_odds, _CHOSEN.most_odds) for one in odds)
        kept = facts.valid
        left, right = facts.left[kept].astype(np.int64), facts.right[kept].astype(np.int64)
        slack, states = _CHOSEN.slack * tolerance[kept], log_probabilities(contact[kept], front[kept])
        known = left, right, facts.offset[kept], slack, weight[kept], states[0], states[1], states[2]
        return cls(*known, piece=np.flatnonzero(kept))


@dataclass(frozen=True, eq=False)
class Judgement:
    """The borders of a graph whose components are filled, and what is made of them, piece by piece.

    Attributes
    ----------
    graph : Quotient
    potential : (n_pixels,) float64
    borders, facts : BorderPieces, PieceFacts
    contact, front : (n_pieces,) float64
        Log-odds that the two sides touch, and that the left one is in front if they do not.
    tolerance : (n_pieces,) float64
        By how much a contact may miss the offset of its piece.
    unseen : (n_pieces,) bool
        Edges of hidden faces, which no normals show.
    """

    graph: Quotient
    potential: np.ndarray
    borders: BorderPieces
    facts: PieceFacts
    contact: np.ndarray
    front: np.ndarray
    tolerance: np.ndarray
    unseen: np.ndarray

    @classmethod
    def of(cls, graph: Quotient, potential: np.ndarray, faces: HiddenFaces | None = None) -> Judgement:
        """Judge the borders at a potential (n_pixels,), with what is known of the edges of hidden faces."""
        borders = BorderPieces.from_graph(graph)
        facts = PieceFacts.measure(graph, potential, borders)
        contact, front = log_odds(graph, facts)
        known = np.full((2, borders.n_pieces), np.nan)
        if faces is not None:
            faces.tell(borders, *known)
        unseen = np.isfinite(known[0])
        contact, front = (np.where(unseen, told, own) for told, own in zip(known, (contact, front), strict=True))
        contact, front = propagated(borders, facts, contact, front)
        wide = np.maximum(facts.width, 0.2)
        tolerance = (np.clip(0.5 * facts.width / np.sqrt(facts.n), 0.1, 0.5 * wide) + 0.1) / facts.focal
        return cls(graph, potential, borders, facts, contact, front, tolerance, unseen)

    @cached_property
    def span(self) -> float:
        """What a part of the potential is measured by: 1 for log-depth, the range of depth for parallel rays."""
        central = self.graph.pixels.map.camera.central
        return 1.0 if central else float(np.ptp(np.quantile(self.potential, [0.01, 0.99])))

    @property
    def context(self) -> Context:
        """What the places of components are judged by."""
        return Context(self.graph, self.facts, self.contact, self.front, self.tolerance, self.unseen)

    @cached_property
    def witnesses(self) -> Witnesses:
        """What the borders say, in the terms of joining."""
        return Witnesses.from_judgement(self)

    def at(self, potential: np.ndarray) -> Judgement:
        """The same when components have moved as wholes to another potential (n_pixels,): only offsets change.

        What a piece says depends on the offsets of its own pair relative to each other, which stay as they are.
        """
        first = self.graph.first_pixels
        step = np.append(potential[first] - self.potential[first], 0.0)
        offset = self.facts.offset - (step[self.facts.left] - step[self.facts.right])
        moved = replace(self, potential=potential, facts=replace(self.facts, offset=offset))
        w = self.witnesses
        vars(moved)["witnesses"] = replace(w, offset=w.offset - (step[w.left] - step[w.right]))
        return moved


def join(n: int, witnesses: Witnesses, size: np.ndarray) -> np.ndarray:
    """(n,) shifts that place components of the given sizes in pixels, the most certain borders first."""
    w, shift = witnesses, np.zeros(n)
    join_groups(
        w.left, w.right, w.offset, w.tolerance, w.weight, w.touch, w.left_front, w.right_front, _CHOSEN.margin,
        _CHOSEN.share, size.astype(np.float64), shift,
    )  # fmt: skip
    return shift


def joined(graph: Quotient, potential: np.ndarray, noisy: bool = False) -> Joined:
    """Move the components of a graph to where their borders place them against each other.

    Parameters
    ----------
    graph : Quotient
    potential : (n_pixels,) float64
        Each component filled on its own.
    noisy : bool
        Whether the normals have noise; see `places`.

    Returns
    -------
    Joined
        The graph, with hidden faces as components of their own, and its potential; or both as they are, where borders
        cannot tell. In either case with the `Judgement` of the borders.
    """
    as_it_is = Judgement.of(graph, potential)
    faces = hidden_faces(graph, as_it_is.borders, as_it_is.facts, as_it_is.contact, as_it_is.front, as_it_is.tolerance)
    judged = as_it_is if faces is None else Judgement.of(faces.divide(graph), potential, faces)
    shift = places(judged, noisy)
    if shift is None:
        return Joined(graph, potential, as_it_is, placed=False)
    graph = judged.graph
    held = HeldPlanes.of(judged.witnesses, shift, moved=True)
    return Joined(graph, potential + gathered(shift, graph.labels), judged, placed=True, held=held)


def places(judged: Judgement, noisy: bool = False) -> np.ndarray | None:
    """(n_components,) shifts that place the components of a graph; None where borders cannot tell.

    They are those in the middle of several arrangements (`disturbance`), because chance has a part in which of them is the
    likeliest; the more so under noise.
    """
    n, witnesses, size = judged.graph.n_components, judged.witnesses, _told_apart(judged)
    if not len(witnesses.left):
        return None
    return typical_places(witnesses, size, lambda told: join(n, told, size), NOISY if noisy else CLEAN)


def _told_apart(judged: Judgement) -> np.ndarray:
    """(n_components,) sizes in pixels, and less than half a pixel more by how far from the middle their outlines lie.

    Of two equal ones the larger would otherwise be a matter of how they are numbered.
    """
    graph, facts = judged.graph, judged.facts
    height, width = graph.pixels.map.shape
    apart = facts.n * ((facts.row - 0.5 * (height - 1)) ** 2 + (facts.column - 0.5 * (width - 1)) ** 2)
    outline = facts.of_components(graph.n_components, apart, apart)[:-1]
    return graph.sizes + 0.49 * outline / max(outline.max(initial=0.0), 1.0)


def _weights(facts: PieceFacts, tolerance: np.ndarray, size: np.ndarray) -> np.ndarray:
    """(n_pieces,) weights; pieces of one pair that agree on an offset share that of one piece as long as all of them."""
    # The offset is that of the smaller component against the larger one, so that it does not depend on their numbers.
    smaller = size[facts.left] < size[facts.right]
    equal = (size[facts.left] == size[facts.right]) & (facts.left < facts.right)
    offset = np.where(smaller | equal, facts.offset, -facts.offset)
    lower, upper, pair = offset - tolerance, offset + tolerance, facts.pair_number
    order = np.argsort(upper, kind="stable")
    order = order[order_within(pair[order], lower[order])]
    witness = np.empty(len(order), dtype=np.int64)
    number_runs(pair[order], lower[order], upper[order], witness)
    length = np.bincount(witness, facts.n[order])[witness]
    weight = np.empty(len(order))
    weight[order] = weight_of_sides(length) * facts.n[order] / length
    return weight
