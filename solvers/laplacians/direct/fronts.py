"""Fronts: the small dense matrices in which a factorisation does its work, and where each entry of them comes from.

Consecutive unknowns whose columns of L have the same pattern are eliminated together, as a *front*: a small dense matrix
that holds their columns, the entries of the system in them, and what earlier fronts have left to subtract. Each front
passes on what is left of it, its *update*, to the front of the first unknown in its remaining rows (Duff and Reid, 1983).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.jit import kernel
from ..pattern import Pattern

# Independent fronts are dealt out to this number of parts. It is fixed, so that results do not depend on the threads.
_PARTS = 4


def fronts_of_tree(parent: np.ndarray, count: np.ndarray) -> tuple[Any, ...]:
    """Find the fronts of a postordered elimination tree, which part each belongs to, and where updates are put.

    Parameters
    ----------
    parent : (n,) int32
        Parent of each place in the tree; −1 for a root.
    count : (n,) int64
        Number of non-zeros of each column of L, without its diagonal.

    Returns
    -------
    front, first, after, offset, schedule, part, room, n_updates
        The fields of `Analysis` with these names.
    """
    n = len(parent)
    joined = np.zeros(n, dtype=bool)  # to the column before
    joined[1:] = (parent[:-1] == np.arange(1, n)) & (count[:-1] == count[1:] + 1)
    front = np.append(np.flatnonzero(~joined), n).astype(np.int32)
    number, last, n_fronts = np.cumsum(~joined, dtype=np.int32) - np.int32(1), front[1:] - 1, len(front) - 1
    above = np.where(parent[last] >= 0, number[parent[last]], np.int32(-1))
    work = np.add.reduceat((count + 1.0) ** 2, front[:-1])
    owner = np.full(n_fronts, _PARTS, dtype=np.int32)
    _share_out(above, work, owner, np.zeros(_PARTS), work.sum() / (4 * _PARTS))
    first, after = np.full(n_fronts, -1, dtype=np.int32), np.full(n_fronts, -1, dtype=np.int32)
    offset, region = np.zeros(n_fronts, dtype=np.int64), owner.copy()
    top, height = np.zeros(_PARTS + 2, dtype=np.int64), np.zeros(_PARTS + 2, dtype=np.int64)
    _stack(above, owner, count[last] * (count[last] + 1) // 2, first, after, offset, region, top, height)
    offset += (np.cumsum(height) - height)[region]
    room = np.zeros(_PARTS + 1, dtype=np.int64)
    np.maximum.at(room, owner, count[front[:-1]] + 1)
    part = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=_PARTS + 1))])
    schedule = np.argsort(owner, kind="stable").astype(np.int32)
    return front, first, after, offset, schedule, part, room, int(height.sum())


def entries_of_fronts(
    pattern: Pattern, order: np.ndarray, start: np.ndarray, rows: np.ndarray, front: np.ndarray, first: np.ndarray,
    after: np.ndarray,
) -> tuple[np.ndarray, ...]:  # fmt: skip
    """Find where in the matrix of each front the entries of the system and the updates of other fronts belong.

    Parameters
    ----------
    pattern : Pattern
    order, start, rows
        From `factor_pattern`.
    front, first, after
        From `fronts_of_tree`.

    Returns
    -------
    entry_start, entry_at, entry_pair, taken_start, taken_at
        The fields of `Analysis` with these names.
    """
    n, n_pairs, count = pattern.n, pattern.n_pairs, np.diff(start)
    place, local = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    entry_start, taken_start = np.zeros(len(front), dtype=np.int64), np.zeros(len(front), dtype=np.int64)
    np.cumsum(count[front[1:] - 1], out=taken_start[1:])
    entry_at, entry_pair = np.empty(n_pairs, dtype=np.int32), np.empty(n_pairs, dtype=np.int32)
    taken_at = np.empty(taken_start[-1], dtype=np.int32)
    _relate(
        *pattern.adjacency, order, place, start, rows, front, first, after, local,
        entry_start, entry_at, entry_pair, taken_start, taken_at,
    )  # fmt: skip
    return entry_start, entry_at, entry_pair, taken_start, taken_at


@kernel
def _share_out(above, work, owner, load, limit):
    """Write the owner of each front: subtrees of at most `limit` work go to the part that has the least work so far.

    Assumes a postordered tree, `owner` filled with the number of parts, and `load` of that length filled with zeros. On
    exit `work` holds the work of each subtree.
    """
    n = len(above)
    for s in range(n):
        if above[s] >= 0:
            work[above[s]] += work[s]
    for s in range(n - 1, -1, -1):
        if above[s] >= 0 and owner[above[s]] < len(load):
            owner[s] = owner[above[s]]
        elif work[s] <= limit:
            least = 0
            for i in range(1, len(load)):
                if load[i] < load[least]:
                    least = i
            owner[s] = least
            load[least] += work[s]


@kernel
def _stack(above, owner, size, first, after, offset, region, top, height):
    """Write where updates are put, and the lists of the fronts that each front takes updates from.

    An update lies on the stack of its part until it is taken; one that another part takes lies in a region of its own,
    the last one, and stays. `region` holds the owner of each front on entry, and `offset` is counted within a region.
    `height` receives the largest extent of each region. Assumes a postordered tree, `first` and `after` filled with −1,
    and `top` and `height` filled with zeros.
    """
    for s in range(len(above)):
        c = first[s]
        while c >= 0:
            if region[c] == owner[s]:
                top[region[c]] -= size[c]
            c = after[c]
        a = above[s]
        if a >= 0:
            after[s] = first[a]
            first[a] = s
            if owner[a] != owner[s]:
                region[s] = len(top) - 1
            offset[s] = top[region[s]]
            top[region[s]] += size[s]
            height[region[s]] = max(height[region[s]], top[region[s]])


@kernel
def _relate(
    near_start, neighbour, pair, order, place, start, rows, front, first, after, local,
    entry_start, entry_at, entry_pair, taken_start, taken_at,
):  # fmt: skip
    """Write where in each front the entries of the system (`entry_…`) and the updates it takes (`taken_…`) belong.

    Assumes neighbour lists with the pair of each entry, `place` the inverse of `order`, the pattern of L in `start` and
    `rows`, fronts from `fronts_of_tree`, and `entry_start` zero on entry. `local` is working memory.
    """
    n_entries = 0
    for s in range(len(first)):
        begin, end = front[s], front[s + 1]
        listed = start[begin] - 1  # rows[listed + i] is the i-th row, for i > 0
        m = start[begin + 1] - listed
        local[begin] = 0
        for i in range(1, m):
            local[np.uint32(rows[np.uint64(listed + i)])] = i
        for k in range(begin, end):
            unknown = order[k]
            for e in range(np.uint64(near_start[unknown]), np.uint64(near_start[unknown + 1])):
                j = np.uint32(place[np.uint32(neighbour[e])])
                if j > k:
                    entry_at[n_entries] = (k - begin) * m + local[j]
                    entry_pair[n_entries] = pair[e]
                    n_entries += 1
        entry_start[s + 1] = n_entries
        c = first[s]
        while c >= 0:
            left = start[front[c + 1] - 1] - taken_start[c]
            for q in range(taken_start[c], taken_start[c + 1]):
                taken_at[np.uint64(q)] = local[np.uint32(rows[np.uint64(left + q)])]
            c = after[c]
