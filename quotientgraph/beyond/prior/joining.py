"""Joining: which components are put together as a rigid group before a depth prior places them.

Normals decide what they know. Components that touch are joined by the offset that the edges of their border agree on. The
prior decides only whether they touch, which is a question of probability: the edges vote for one offset, and the prior
agrees with that offset or does not, when it is asked on both sides of the border, where its smooth error is the same. The
surest pairs are joined first, and the groups that result know more than their parts.
"""

from __future__ import annotations

import numpy as np
import scipy

from ...graph.selection import connected_components
from ...method.filling import along_trees
from ..joining import Judgement
from .adoption import TOGETHER, adopt
from .borders import Contacts
from .placement import Placing


def run(placing: Placing, shift: np.ndarray, whole: np.ndarray, judged: Judgement | None = None) -> None:
    """Place everything; see `quotientgraph.beyond.prior.adoption.adopt` for the parameters."""
    placing.begin(shift)
    for _ in range(3):
        placing.settle()
    adopt(placing, shift, whole, judged)
    for least in (None, *placing.constants.rounds):
        if least is not None and not join(placing, least):
            continue
        placing.settle()
        if expel(placing):
            placing.settle()
    placing.settle()
    follow(placing, shift)


def join(placing: Placing, least: float) -> int:
    """Put pairs of groups together whose log-odds for contact exceed `least`; returns how many.

    Each group of which the prior does not say where it lies joins the group it most surely touches. Groups that the
    prior places themselves join each other only: else two of them could be joined by a crumb between them, though
    the prior says that they are far apart.
    """
    contacts = Contacts.between(
        placing.cut, placing.shift, placing.group, placing.constants.tolerance, placing.constants.span * placing.unit
    )
    if not len(contacts.one):
        return 0
    odds, known = _odds(placing, contacts)
    good = np.flatnonzero(odds > least)
    if not len(good):
        return 0
    one, other = contacts.one[good], contacts.other[good]
    free_one, free_other = ~known[one] | known[other], ~known[other] | known[one]
    best = np.full(len(known), -np.inf)
    np.maximum.at(best, one[free_one], odds[good][free_one])
    np.maximum.at(best, other[free_other], odds[good][free_other])
    picked = (free_one & (odds[good] == best[one])) | (free_other & (odds[good] == best[other]))
    good = good[picked]
    one, other = contacts.one[good], contacts.other[good]
    move, _ = along_trees(
        len(known), one.astype(np.int32), other.astype(np.int32), np.ones(len(one), np.float32), contacts.offset[good]
    )
    placing.shift = placing.shift + move[placing.group]
    chosen = np.zeros(len(contacts.one), dtype=bool)
    chosen[good] = True
    placing.joined[contacts.edge[contacts.agrees & chosen[contacts.pair]]] = True
    placing.group = connected_components(len(known), one, other)[placing.group]
    return len(good)


def follow(placing: Placing, shift: np.ndarray) -> None:
    """Move groups of which the prior says nothing with those they are tied to, from where normals put them (`shift`)."""
    unit = placing.unit
    told = np.bincount(placing.group[placing.cells.component], placing.base)
    lost = (told < 1 / (placing.constants.span * unit) ** 2)[placing.group]
    if lost.all() or not lost.any():
        return
    move = placing.ties.following(lost, placing.shift - shift, unit)
    placing.shift = np.where(lost, shift + move, placing.shift)
    either = lost[placing.cut.one] | lost[placing.cut.other]
    placing.joined |= either & (np.abs(move[placing.cut.one] - move[placing.cut.other]) < TOGETHER * unit)
    placing.regroup()
    placing.settle()


def expel(placing: Placing) -> int:
    """Take components out of their group of which the prior surely says another place; returns how many.

    The components of a part of a body are asked together, and leave it together.
    """
    c, cells, n, part = placing.constants, placing.cells, placing.graph.n_components, placing.bodies.number
    rest = cells.offset - placing.shift[cells.component] - placing.basis @ placing.coefficients
    own = part[cells.component]
    total = np.bincount(own, placing.clear, n)[part]
    mean = np.bincount(own, placing.clear * rest, n)[part] / np.maximum(total, 1e-300)
    error = np.where(placing.bodies.tied, c.body_error, c.part_error)
    variance = 1 / np.maximum(total, 1e-12) + (error * placing.unit) ** 2
    size = np.bincount(part, placing.graph.sizes, n)[part]
    share = np.bincount(placing.group, placing.graph.sizes)[placing.group]
    precise = total > 1 / (c.known * placing.unit) ** 2
    if cells.sparse:  # so few points that one or two of them may be wrong
        precise &= np.bincount(own, cells.weight, n)[part] >= c.least_points
    out = precise & (mean**2 > c.expelled**2 * variance) & (size < 0.5 * share)
    if not out.any():
        return 0
    placing.joined &= ~(out[placing.cut.one] | out[placing.cut.other])
    placing.shift = np.where(out, placing.shift + mean, placing.shift)
    placing.bodies = placing.bodies.without(out)
    placing.regroup()
    return int(out.sum())


def _odds(placing: Placing, contacts: Contacts) -> tuple[np.ndarray, np.ndarray]:
    """(n_pairs,) log-odds for contact; (n_groups,) whether the prior says where a group lies."""
    c, unit, cells = placing.constants, placing.unit, placing.cells
    n_cells, group = cells.n_cells, placing.group[cells.component]
    rest = cells.offset - placing.shift[cells.component] - placing.basis @ placing.coefficients
    one, other = placing.neighbours
    same = group[one] == group[other]
    one, other = one[same], other[same]
    ring = scipy.sparse.csr_matrix((np.ones(len(one)), (one, other)), shape=(n_cells, n_cells))
    ring = ring + ring.T + scipy.sparse.identity(n_cells)
    near = ring @ placing.weight
    around = ring @ near
    local = (ring @ (ring @ (placing.weight * rest))) / np.maximum(around, 1e-300)
    # what the prior says of the two sides of the border, along the edges that agree
    pixels, number = placing.graph.pixels, placing.cut.number[contacts.edge]
    tail, head = cells.of[pixels.tail[number]], cells.of[pixels.head[number]]
    tail, head = np.where(contacts.turned, head, tail), np.where(contacts.turned, tail, head)
    n_pairs = len(contacts.one)
    say = np.where(contacts.agrees, np.minimum(around[tail], around[head]), 0.0)
    total_say = np.maximum(np.bincount(contacts.pair, say, n_pairs), 1e-300)
    said: np.ndarray = np.bincount(contacts.pair, say * (local[tail] - local[head]), n_pairs) / total_say
    sums = [_distinct_sums(contacts, side, near, n_pairs) for side in (tail, head)]
    variance = (c.side_error * unit) ** 2 + 1 / np.maximum(sums[0], 1e-12) + 1 / np.maximum(sums[1], 1e-12)
    # and of the two groups as wholes, where that is more precise
    total, plain = np.bincount(group, placing.weight), np.bincount(group, placing.base)
    mean = np.bincount(group, placing.weight * rest) / np.maximum(total, 1e-300)
    blurred = np.bincount(group, placing.base * placing.blurred) / np.maximum(plain, 1e-300)
    place = np.minimum(1 / np.maximum(total, 1e-12), 1 / np.maximum(plain, 1e-12) + (c.blurring * blurred) ** 2)
    whole = (c.group_error * unit) ** 2 + place[contacts.one] + place[contacts.other]
    said = np.where(whole < variance, mean[contacts.one] - mean[contacts.other], said)
    variance = np.minimum(whole, variance)
    spread = 2 * np.pi * variance / (c.span * unit) ** 2
    agreement = np.log(np.exp(-0.5 * (said - contacts.offset) ** 2 / variance) * np.sqrt(1 + 1 / spread) + c.wrong)
    votes = c.vote * (contacts.votes - contacts.beside) - c.objection * contacts.against
    votes = np.clip(votes, -c.most, c.most)
    return agreement + votes, total > 1 / (c.known * unit) ** 2


def _distinct_sums(contacts: Contacts, cell: np.ndarray, value: np.ndarray, n_pairs: int) -> np.ndarray:
    """(n_pairs,) sum of a value over the different cells along the edges of each pair that agree."""
    key = np.unique(contacts.pair[contacts.agrees] * len(value) + cell[contacts.agrees])
    return np.bincount(key // len(value), value[key % len(value)], n_pairs)
