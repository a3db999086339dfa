"""What a border says about the places of its two components, judged with all that is seen around it.

Whether two surfaces touch along a piece of their border (`border_cues`) is not yet what places their components. A component
can hold several faces, and a piece along which the smaller one of them touches says nothing about the larger one. And an
occluding edge can be parallel to the crease that it imitates. Both show in the context: in what the other pieces of the same
pair ask for, in what else the two components touch, in ridges and valleys at other offsets.

A small network with fixed weights turns the cues of a piece and of its context into log-odds: that its offset is the one
between the main faces of the two components, and if not, that the left one is nearer than that. A second network judges all
pieces again, by what the first one made of those around them. Both are evaluated twice, with the sides exchanged, so that
the result does not depend on which of the two is called left.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from laplacians.core.jit import kernel

from ..graph.quotient import Quotient
from .border_cues import contact_cues, weight_of_sides
from .border_facts import PieceFacts
from .border_junctions import log_probabilities
from .networks import Cues, Network, stored_networks
from .ridges import RIDGE

_MOST_ODDS = (
    4.0  # log-odds of contact and of the side in front beyond which a piece of the same pair is not believed more
)
_SLACK = 3.0  # tolerances between the offsets of two pieces of one pair that agree


@cache
def fitted_networks() -> tuple[Network, ...]:
    """The first and the second network, with the weights that the library brings along."""
    return stored_networks("border_networks.json")


@dataclass(frozen=True, eq=False)
class Context:
    """The borders of a graph, and what each piece says on its own.

    Attributes
    ----------
    graph : Quotient
    facts : PieceFacts
    contact, front : (n_pieces,) float64
        Log-odds that the two sides touch, and that the left one is in front if they do not.
    tolerance : (n_pieces,) float64
        By how much a contact may miss the offset of its piece.
    unseen : (n_pieces,) bool
        Edges that no normals show. What is known about them stays as it is.
    """

    graph: Quotient
    facts: PieceFacts
    contact: np.ndarray
    front: np.ndarray
    tolerance: np.ndarray
    unseen: np.ndarray

    def judged_by(
        self, network: Network, odds: tuple[np.ndarray, np.ndarray] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log-odds (n_pieces,) of the places, from those found before or else from what each piece says on its own."""
        _, cues, turned = self.cues(odds)
        found = network.odds(cues, turned)
        return np.where(self.unseen, self.contact, found[0]), np.where(self.unseen, self.front, found[1])

    def cues(self, odds: tuple[np.ndarray, np.ndarray] | None = None) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Names of the cues, and their values (n_pieces, n_cues) as they are and with left and right exchanged."""
        facts, found = self.facts, Cues()
        contact, front = (self.contact, self.front) if odds is None else odds
        for name, pair in (("", (self.contact, self.front)), ("_before", (contact, front))):
            found.even(f"contact{name}", np.clip(pair[0], -8, 8))
            found.odd(f"front{name}", np.clip(pair[1], -8, 8))
        for name, cue in contact_cues(self.graph, facts).items():
            if name != "always":
                found.even(name, cue)
        found.even("sides", np.log(facts.n))
        found.even("angle", facts.angle / 45)
        found.both("lean", facts.lean_left / 45, facts.lean_right / 45)
        found.both("facing", facts.facing_left, facts.facing_right)
        _cues_of_components(self.graph, facts, contact, front, found)
        _cues_of_pair(facts, contact, front, _SLACK * self.tolerance, found)
        return found.names, *found.columns(len(facts.n))


def placing_odds(context: Context) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds that the offset of a piece is that of its two components, and that the left one is nearer if it is not."""
    if not len(context.facts.n):
        return context.contact, context.front
    first, second = fitted_networks()
    return context.judged_by(second, context.judged_by(first))


def _cues_of_components(
    graph: Quotient, facts: PieceFacts, contact: np.ndarray, front: np.ndarray, found: Cues
) -> None:
    """How large the two components are, whether they leave the picture, and what the rest of their outlines shows."""
    n, left, right = graph.n_components, facts.left, facts.right
    size = np.append(graph.sizes, 1).astype(np.float64)
    leaves = np.append(graph.at_rim, False)
    share = np.log(size / size.sum())
    outline = np.append(facts.of_components(n, facts.n, facts.n)[:-1], 1.0)
    shared = facts.of_pairs(facts.n)
    weight, p, q = weight_of_sides(facts.n) * facts.valid, _chance(contact), _chance(front)
    bend = facts.lean_left + facts.lean_right
    found.both("size", share[left], share[right])
    found.both("leaves", leaves[left].astype(np.float64), leaves[right].astype(np.float64))
    found.both("enclosed", shared / np.maximum(outline[left], 1), shared / np.maximum(outline[right], 1))
    thin = np.log(np.maximum(outline, 1) / np.sqrt(size))
    found.both("thin", thin[left], thin[right])
    of_left, of_right = weight * (1 - p) * q, weight * (1 - p) * (1 - q)
    for name, one, other in (
        ("valleys", weight * p * (bend > RIDGE), weight * p * (bend > RIDGE)),
        ("ridges", weight * p * (bend < -RIDGE), weight * p * (bend < -RIDGE)),
        ("touching", weight * p, weight * p),
        ("ahead", of_left, of_right),
        ("behind", of_right, of_left),
    ):
        total = facts.of_components(n, one, other)
        rest = np.maximum(total[left] - one, 0), np.maximum(total[right] - other, 0)
        found.both(name, np.log1p(rest[0]), np.log1p(rest[1]))


def _cues_of_pair(facts: PieceFacts, contact: np.ndarray, front: np.ndarray, slack: np.ndarray, found: Cues) -> None:
    """What the other pieces between the same two components ask for."""
    number, offset, weight = facts.pair_number, facts.pair_offset, weight_of_sides(facts.n)
    order = facts.by_offset
    start = np.append(0, np.cumsum(np.bincount(number)))
    first, last = start[number], start[number + 1]
    begin, end = np.empty(len(order), dtype=np.int64), np.empty(len(order), dtype=np.int64)
    _windows(offset[order], offset, slack, first, last, begin, end)
    states = log_probabilities(*(np.clip(odds, -_MOST_ODDS, _MOST_ODDS) for odds in (contact, front)))
    low, bend = facts.left < facts.right, facts.lean_left + facts.lean_right
    told = weight * _chance(contact)
    parts = [
        weight * states[0],
        weight * np.where(low, states[1], states[2]),
        weight * np.where(low, states[2], states[1]),
        weight * states.max(axis=0),
        facts.n,
        told,
        told * (bend > RIDGE),
        told * (bend < -RIDGE),
    ]
    values = np.column_stack(parts)
    total = np.concatenate([np.zeros((1, len(parts))), np.cumsum(values[order], axis=0)])
    below, above = total[begin] - total[first], total[last] - total[end]
    same = total[end] - total[begin] - values
    # With the offset of this piece, those that ask for a larger one have the component of the smaller number in front.
    explained = same[:, 0] + above[:, 1] + below[:, 2] - (below + same + above)[:, 3]
    found.even("explained", np.clip(explained, -60, 0) / 10)
    found.even("pair_sides", np.log(facts.of_pairs(facts.n)))
    found.even("same_sides", np.log1p(np.maximum(same[:, 4], 0)))
    toward = np.where(low, 1.0, -1.0)[:, None] * (below - above)
    same, apart = (np.log1p(np.maximum(v, 0)) for v in (same, below + above))
    for k, name in ((5, ""), (6, "_valleys"), (7, "_ridges")):
        found.even(f"same{name}", same[:, k])
        found.even(f"other{name}", apart[:, k])
        found.odd(f"toward{name}", np.sign(toward[:, k]) * np.log1p(np.abs(toward[:, k])))


@kernel
def _windows(ranked, offset, slack, first, last, begin, end):
    """For each piece, the part of ranked[first:last] that lies within its slack of its offset."""
    for k in range(len(offset)):
        low, high = first[k], last[k]
        while low < high:
            middle = (low + high) // 2
            if ranked[middle] < offset[k] - slack[k]:
                low = middle + 1
            else:
                high = middle
        begin[k], high = low, last[k]
        while low < high:
            middle = (low + high) // 2
            if ranked[middle] <= offset[k] + slack[k]:
                low = middle + 1
            else:
                high = middle
        end[k] = low


def _chance(odds: np.ndarray) -> np.ndarray:
    """The probability of log-odds."""
    return 1 / (1 + np.exp(-odds))
