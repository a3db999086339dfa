"""What junctions say about the pieces of borders that meet there.

Where three components meet, three borders do, and not every order in depth is possible: never is exactly one of the three
torn. And where two of the borders continue each other in a straight line, while the third ends at it, the line is most
likely the edge of the component that lies on its one side alone: it hides the other two. Pieces that follow each other along
a border mostly are of one kind, too.

The states of a piece are 0, contact; 1, left in front; 2, right in front. Their log-probabilities are improved by belief
propagation over junctions and along chains.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from laplacians.core.jit import kernel

from .border_facts import PieceFacts
from .border_pieces import BorderPieces

# Nine classes of orders at a junction, as seen from the owner of its line: all touch; the owner in front of, or behind, the
# other two, which touch; another in front, or behind; the owner first, second or last of three; impossible.
_N_ORDERS = 9
_ROUNDS, _DAMPING = 8, 0.3


@dataclass(frozen=True)
class _Factors:
    """Log-factors of orders, by geometry, and of neighbours in a chain, by turn; fitted with the cues, times 0.7.

    The geometries are: no line, perhaps a line, surely a line. The turns are: straight on, around the left, and around
    the right.
    """

    orders: tuple[tuple[float, ...], ...] = (
        (0.2003, 0.4984, 0.5435, 0.3588, 0.5448, 0.6177, 0.4932, 0.3503, -0.8898),
        (0.0265, 0.5134, 0.7736, -0.6458, 0.3579, 0.6890, 0.8157, -0.1886, -0.9431),
        (0.0545, 0.6940, 0.8057, -0.7004, 0.4215, 0.3017, 0.0286, -1.5115, -1.6257),
    )
    neighbours: tuple[tuple[tuple[float, ...], ...], ...] = (
        ((0.0858, -1.2859, -1.2859), (-1.2859, 0.3539, -1.6729), (-1.2859, -1.6729, 0.3539)),
        ((0.2342, -0.3499, -0.0775), (-0.3499, 0.1961, -0.9612), (-0.0775, -0.9612, 0.2697)),
        ((0.2342, -0.0775, -0.3499), (-0.0775, 0.2697, -0.9612), (-0.3499, -0.9612, 0.1961)),
    )
    contact_scale: float = 0.9737  # after propagation the log-odds are brought back to the truth
    contact_shift: float = 0.3168
    front_scale: float = 0.8435


_FACTORS = _Factors()


def propagated(
    borders: BorderPieces, facts: PieceFacts, contact: np.ndarray, front: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds of contact and of the left in front, (n_pieces,) each, improved by the junctions."""
    contact, front = propagate(
        log_probabilities(contact, front),
        junctions(borders, facts),
        following(borders, facts),
        without_owner(np.array(_FACTORS.orders)),
        np.array(_FACTORS.neighbours),
    )
    return _FACTORS.contact_scale * contact + _FACTORS.contact_shift, _FACTORS.front_scale * front


def log_probabilities(contact: np.ndarray, front: np.ndarray) -> np.ndarray:
    """(3, ...) log-probabilities of the states from log-odds (...) of contact and of the left in front."""
    # Both sides of a choice have a logarithm in common, which takes most of the time.
    one, other = np.logaddexp(0, -np.abs(contact)), np.logaddexp(0, -np.abs(front))
    torn = -(np.maximum(contact, 0) + one)
    in_front = torn - (np.maximum(-front, 0) + other), torn - (np.maximum(front, 0) + other)
    return np.stack([-(np.maximum(-contact, 0) + one), *in_front])


def propagate(
    belief: np.ndarray,
    meeting: tuple[np.ndarray, np.ndarray, np.ndarray],
    follow: tuple[np.ndarray, np.ndarray],
    orders: np.ndarray,
    neighbours: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds of contact and of the left in front after belief propagation from log-probabilities (3, n_pieces).

    `meeting` and `follow` are what `junctions` and `following` return; `orders` and `neighbours` are log-factors.
    """
    own, belief = np.ascontiguousarray(belief.T), np.array(belief.T, order="C")
    pieces, sign, geometry = meeting
    kind = 8 * geometry.astype(np.int64) + (sign < 0) @ np.array([1, 2, 4])
    _propagate(
        belief, own, pieces, kind, _junction_tables(orders), _states(), *follow, neighbours,
        _ROUNDS, _DAMPING, np.empty((3, 3)), np.empty(3), np.empty(27),
        np.zeros((len(pieces), 3, 3)), np.zeros((len(follow[0]), 2, 3)),
    )  # fmt: skip
    p = np.exp(belief - belief.max(axis=1, keepdims=True))
    p = p / p.sum(axis=1, keepdims=True) + 1e-5
    return np.log(p[:, 0]) - np.log(p[:, 1] + p[:, 2]), np.log(p[:, 1]) - np.log(p[:, 2])


def without_owner(orders: np.ndarray) -> np.ndarray:
    """The (3, 9) log-factors of orders with those of no line averaged over the three that might own one.

    Without a line no component is its owner, so who is called that must not matter.
    """
    out = orders.copy()
    for alone, pair in ((1, 3), (2, 4)):
        out[0, [alone, pair]] = (orders[0, alone] + 2 * orders[0, pair]) / 3
    out[0, 5:8] = orders[0, 5:8].mean()
    return out


@cache
def order_table() -> np.ndarray:
    """(3, 3, 3) class of the states of owner|second, owner|third and second|third; 1: the first named is in front."""
    table = np.full((3, 3, 3), _N_ORDERS - 1, dtype=np.int8)
    for depth in np.ndindex(3, 3, 3):
        owner, second, third = depth
        state = tuple(0 if a == b else 1 if a < b else 2 for a, b in ((owner, second), (owner, third), (second, third)))
        if len(set(depth)) == 1:
            found = 0
        elif second == third:
            found = 1 if owner < second else 2
        elif len(set(depth)) == 2:
            alone = third if owner == second else second
            found = 3 if alone < owner else 4
        else:
            found = 5 if owner == min(depth) else 7 if owner == max(depth) else 6
        table[state] = found
    return table


def junctions(borders: BorderPieces, facts: PieceFacts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Junctions of three pieces: their numbers, the two of the line first; how to read their states; the geometry."""
    corner = borders.ends.ravel()
    order = np.argsort(corner, kind="stable")
    order = order[corner[order] >= 0]
    begin = np.flatnonzero(np.diff(corner[order], prepend=-1))
    begin = begin[np.diff(np.append(begin, len(order))) == 3]
    end = order[begin[:, None] + np.arange(3)]
    width = borders.width + 1
    place = np.stack([corner[end] // width - 0.5, corner[end] % width - 0.5], axis=-1)
    piece, heading, away = _leaving(end, place, borders.chain, facts)
    left, right = facts.left[piece], facts.right[piece]
    sides = np.sort(np.concatenate([left, right], axis=1), axis=1)
    whole = (
        (sides[:, 0] >= 0) & (sides[:, ::2] == sides[:, 1::2]).all(axis=1) & (np.diff(sides[:, ::2]) > 0).all(axis=1)
    )
    piece, heading, away, left, right = (v[whole] for v in (piece, heading, away, left, right))
    choices = np.array([(0, 1, 2), (0, 2, 1), (1, 2, 0)])
    misfit = np.empty((len(piece), 3))
    for k, (a, b, _) in enumerate(choices):
        one, other = heading[:, a], heading[:, b]
        cross, dot = one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0], (one * other).sum(axis=1)
        shorter = np.minimum(facts.length[piece[:, a]], facts.length[piece[:, b]])
        bent = np.arctan2(np.abs(cross), -dot) / (0.025 + 0.7 / shorter)
        misfit[:, k] = np.where(shorter < 4, 9.0, np.maximum(bent, np.maximum(np.abs(away[:, a]), np.abs(away[:, b]))))
    best = np.argmin(misfit, axis=1)
    # Where two lines are equally likely there is none.
    second = np.partition(misfit, 1, axis=1)[:, 1]
    misfit[second - misfit.min(axis=1) < 1e-9] = 9.0
    turn = choices[best]
    piece, left, right = (np.take_along_axis(v, turn, axis=1) for v in (piece, left, right))
    shorter = np.minimum(facts.length[piece[:, 0]], facts.length[piece[:, 1]])
    misfit = misfit.min(axis=1)
    geometry = np.where((misfit < 1) & (shorter >= 8), 2, np.where(misfit < 2, 1, 0)).astype(np.int8)
    shared = (left[:, 0] == left[:, 1]) | (left[:, 0] == right[:, 1])
    owner = np.where(shared, left[:, 0], right[:, 0])
    second = np.where(shared, right[:, 0], left[:, 0])
    sign = np.column_stack([left[:, 0] == owner, left[:, 1] == owner, left[:, 2] == second])
    return piece, np.where(sign, 1, -1).astype(np.int8), geometry


def following(borders: BorderPieces, facts: PieceFacts) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of pieces that follow each other along a chain, and how the chain turns between them."""
    count = np.diff(borders.chain)
    last = borders.chain[1:] - 1
    after = np.arange(1, borders.n_pieces + 1)
    after[last[count > 0]] = -1
    around = (borders.ends[:, 0] < 0) & (count > 1)  # the last piece of a closed loop is followed by its first
    after[last[around]] = borders.chain[:-1][around]
    a = np.flatnonzero((after >= 0) & facts.valid & facts.valid[after])
    b = after[a]
    cross = facts.along[a] * facts.down[b] - facts.down[a] * facts.along[b]
    turn = -np.arctan2(cross, facts.along[a] * facts.along[b] + facts.down[a] * facts.down[b])
    # Where a chain turns right back, the side that it goes back on tells the direction.
    beside = facts.along[a] * (facts.row[b] - facts.row[a]) - facts.down[a] * (facts.column[b] - facts.column[a])
    turn = np.where(np.abs(turn) < 3.1, turn, -4 * np.sign(np.round(beside, 9)))
    kind = np.where(np.abs(turn) < 0.25, 0, np.where(turn > 0, 1, 2)).astype(np.int8)
    return np.column_stack([a, b]).astype(np.int32), kind


def _leaving(
    end: np.ndarray, place: np.ndarray, chain: np.ndarray, facts: PieceFacts
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each end of a chain the piece there, the direction in which it leaves, and by how much it misses the corner.

    Up to four pixels of pieces too short to have a direction are skipped. `end` and the first and last results are
    (n, 3), `place` and the direction (n, 3, 2).
    """
    c, at_last = end >> 1, (end & 1) == 1
    low, high = chain[c], chain[c + 1]
    i, step, walked = np.where(at_last, high - 1, low), np.where(at_last, -1, 1), np.zeros(end.shape)
    for _ in range(4):
        short = (facts.n[i] < 4) & (low <= i + step) & (i + step < high) & (walked + facts.n[i] <= 4)
        walked += np.where(short, facts.n[i], 0)
        i = np.where(short, i + step, i)
    down, along, bend = facts.down[i], facts.along[i], facts.bend[i]
    y, x = place[..., 0] - facts.row[i], place[..., 1] - facts.column[i]
    side = y * down + x * along
    sign = np.where(side < 0, 1.0, -1.0)
    t = np.where(side < 0, facts.first[i], facts.last[i])
    curved = facts.n[i] >= 8
    slope = np.where(curved, bend[..., 1] + 2 * bend[..., 2] * t, 0.0)
    height = np.where(curved, bend[..., 0] + bend[..., 1] * side + bend[..., 2] * side * side, 0.0)
    dy, dx = down + slope * along, along - slope * down
    length = np.sqrt(dy * dy + dx * dx)
    heading = np.stack([sign * dy / length, sign * dx / length], axis=-1)
    return i.astype(np.int32), heading, y * along - x * down - height


def _junction_tables(orders: np.ndarray) -> np.ndarray:
    """(24, 27) log-factors of the states 9a + 3b + c of three pieces, by 8·geometry + how their states are to be read.

    Bit k of the latter is set where the states "left in front" and "right in front" of piece k are exchanged.
    """
    kind, state = np.arange(24)[:, None, None], _states()
    exchanged = (state > 0) & (kind >> np.arange(3) & 1 == 1)
    owner, line, third = np.moveaxis(np.where(exchanged, 3 - state, state), -1, 0)
    return orders[kind[..., 0] >> 3, order_table()[owner, line, third]]


@cache
def _states() -> np.ndarray:
    """(27, 3) the states of three pieces, in the order of 9a + 3b + c."""
    return np.array(list(np.ndindex(3, 3, 3)))


@kernel
def _propagate(
    belief, own, pieces, kind, table, state, follow, turn, neighbours, rounds, damping, told, new, value, sent, passed
):  # fmt: skip
    """Damped belief propagation in place, with `table` from `_junction_tables` and `state` (27, 3), the states in its rows.

    All messages of a round are sent at once, so their order does not matter. `own` is a copy of the beliefs on entry;
    `sent` (n_junctions, 3, 3) and `passed` (n_follow, 2, 3) are the messages, zero on entry; told (3, 3), new (3,) and
    value (27,) are working memory.
    """
    for _ in range(rounds):
        for j in range(len(pieces)):
            for k in range(3):
                for s in range(3):
                    told[k, s] = belief[pieces[j, k], s] - sent[j, k, s]
            for k in range(3):
                highest = -1e300
                for q in range(27):
                    v = table[kind[j], q]
                    for i in range(3):
                        if i != k:
                            v += told[i, state[q, i]]
                    value[q] = v
                    highest = max(highest, v)
                for s in range(3):
                    new[s] = 0.0
                for q in range(27):
                    new[state[q, k]] += np.exp(value[q] - highest)
                _mix(sent[j], k, new, damping)
        for j in range(len(follow)):
            for k in range(2):
                for s in range(3):
                    told[k, s] = belief[follow[j, 1 - k], s] - passed[j, 1 - k, s]
            for k in range(2):
                highest = max(told[k, 0], told[k, 1], told[k, 2])
                for s in range(3):
                    new[s] = 0.0
                    for r in range(3):
                        factor = neighbours[turn[j], s, r] if k == 0 else neighbours[turn[j], r, s]
                        new[s] += np.exp(told[k, r] - highest + factor)
                _mix(passed[j], k, new, damping)
        for i in range(len(own)):
            for s in range(3):
                belief[i, s] = own[i, s]
        for j in range(len(pieces)):
            for k in range(3):
                for s in range(3):
                    belief[pieces[j, k], s] += sent[j, k, s]
        for j in range(len(follow)):
            for k in range(2):
                for s in range(3):
                    belief[follow[j, k], s] += passed[j, k, s]


@kernel(no_cpython_wrapper=True)
def _mix(message, k, new, damping):
    """Replace message k by the mean of itself and the logarithm of a new one."""
    total = new[0] + new[1] + new[2]
    for s in range(3):
        message[k, s] = damping * message[k, s] + (1 - damping) * np.log(new[s] / total + 1e-6)
