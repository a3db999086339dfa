"""What a pattern alone determines of its factorisation: order of elimination, pattern of L, fronts and who works on them.

Consecutive unknowns whose columns of L have the same pattern are eliminated together, as a *front*: a small dense matrix
that holds their columns, the entries of the system in them, and what earlier fronts have left to subtract. Each front
passes on what is left of it, its *update*, to the front of the first unknown in its remaining rows (Duff and Reid, 1983).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.jit import kernel
from ..system import Pattern
from .ordering import minimum_degree

_PARTS = 4  # into which independent fronts are sorted; fixed, so that results do not depend on the number of threads


@dataclass(frozen=True)
class Analysis:
    """The pattern of a factor L and the fronts that compute it.

    Attributes
    ----------
    order : (n,) int32
        Unknowns in the order of elimination.
    start : (n + 1,) int64
        Columns of L: rows start[j]:start[j+1] of `rows`, increasing.
    rows : (nnz,) int32
    front : (n_fronts + 1,) int32
        Front s eliminates the columns front[s]:front[s+1]; its rows are these and the rows of its first column.
    first, after : (n_fronts,) int32
        First of the fronts whose updates a front takes, and the next one that the same front takes; −1 at the end.
    offset : (n_fronts,) int64
        Where the update of each front is put; the upper triangle, row by row.
    schedule, part : (n_fronts,) int32, (n_parts + 2,) int64
        Fronts sorted into parts that do not depend on each other, schedule[part[i]:part[i+1]], and last those that
        depend on several parts.
    room : (n_parts + 1,) int64
        Rows of the largest front of each part.
    n_updates : int
        Room for all updates that exist at a time.
    entry_start, entry_at, entry_pair : CSR
        For each front, where in its matrix, counted row by row, the entries of the system belong, and their pairs.
    taken_start, taken_at : CSR
        For each front, which rows of the front that takes its update those of the update are.
    """

    order: np.ndarray
    start: np.ndarray
    rows: np.ndarray
    front: np.ndarray
    first: np.ndarray
    after: np.ndarray
    offset: np.ndarray
    schedule: np.ndarray
    part: np.ndarray
    room: np.ndarray
    n_updates: int
    entry_start: np.ndarray
    entry_at: np.ndarray
    entry_pair: np.ndarray
    taken_start: np.ndarray
    taken_at: np.ndarray

    @classmethod
    def from_pattern(cls, pattern: Pattern) -> Analysis:
        n = pattern.n
        *neighbours, pair = pattern.adjacency
        order = minimum_degree(*neighbours)
        place, parent, count = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32), np.zeros(n, dtype=np.int64)
        seen, spare = np.empty(n, dtype=np.int32), np.empty((3, n), dtype=np.int32)
        place[order] = np.arange(n, dtype=np.int32)
        _elimination_tree(*neighbours, order, place, seen, parent, count)
        # An order in which every subtree is consecutive has the same fill, and fronts are ranges of columns in it.
        later = np.empty(n, dtype=np.int32)
        _postorder(parent, count, spare, later)
        order, count = order[later], count[later]
        place[order] = np.arange(n, dtype=np.int32)
        new = np.empty(n, dtype=np.int32)
        new[later] = np.arange(n, dtype=np.int32)
        parent = np.where(parent[later] >= 0, new[parent[later]], np.int32(-1))
        start = np.concatenate([[0], np.cumsum(count)])
        rows = np.empty(start[-1], dtype=np.int32)
        _list_rows(*neighbours, order, place, seen, parent, start[:-1].copy(), rows)
        shared = front, first, after, *_ = _fronts(parent, count)
        entry_start, taken_start = np.zeros(len(front), dtype=np.int64), np.zeros(len(front), dtype=np.int64)
        np.cumsum(count[front[1:] - 1], out=taken_start[1:])
        entry_at, entry_pair = np.empty(pattern.n_pairs, dtype=np.int32), np.empty(pattern.n_pairs, dtype=np.int32)
        taken_at = np.empty(taken_start[-1], dtype=np.int32)
        _relate(
            *neighbours, pair, order, place, start, rows, front, first, after, seen,
            entry_start, entry_at, entry_pair, taken_start, taken_at,
        )  # fmt: skip
        fields = (order, start, rows, *shared, entry_start, entry_at, entry_pair, taken_start, taken_at)
        return cls(*fields)

    @property
    def n_nonzeros(self) -> int:
        return len(self.rows)


def _fronts(parent: np.ndarray, count: np.ndarray) -> tuple[Any, ...]:
    """The fronts of a postordered elimination tree, who works on each, and where updates are put."""
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


@kernel
def _elimination_tree(start, neighbour, order, place, seen, parent, count):
    """Parent of each place in the elimination tree (−1: none), and how many non-zeros its column of L has."""
    for k in range(len(order)):
        parent[k] = -1
        seen[k] = k
        i = order[k]
        for e in range(start[i], start[i + 1]):
            j = place[neighbour[e]]
            if j < k:
                while seen[j] != k:
                    if parent[j] == -1:
                        parent[j] = k
                    seen[j] = k
                    count[j] += 1
                    j = parent[j]


@kernel
def _postorder(parent, count, spare, out):
    """Children before parents, subtree after subtree; of siblings the one with most non-zeros last.

    That one, if any, can share a front with its parent, and then comes right before it.
    """
    n = len(parent)
    first, after, heavy = spare[0], spare[1], spare[2]
    for j in range(n):
        first[j] = -1
        heavy[j] = -1
    for j in range(n):
        p = parent[j]
        if p >= 0 and (heavy[p] < 0 or count[j] >= count[heavy[p]]):
            heavy[p] = j
    for p in range(n):
        if heavy[p] >= 0:
            first[p] = heavy[p]
            after[heavy[p]] = -1
    for j in range(n - 1, -1, -1):
        p = parent[j]
        if p >= 0 and heavy[p] != j:
            after[j] = first[p]
            first[p] = j
    k = 0
    for root in range(n):
        if parent[root] >= 0:
            continue
        j = root
        while j >= 0:
            if first[j] >= 0:
                child = first[j]
                first[j] = after[child]
                j = child
            else:
                out[k] = j
                k += 1
                j = parent[j]


@kernel
def _list_rows(start, neighbour, order, place, seen, parent, cursor, rows):
    """Rows of each column of L; `cursor` is where each column begins."""
    for k in range(len(order)):
        seen[k] = k
        i = order[k]
        for e in range(start[i], start[i + 1]):
            j = place[neighbour[e]]
            if j < k:
                while seen[j] != k:
                    seen[j] = k
                    rows[cursor[j]] = k
                    cursor[j] += 1
                    j = parent[j]


@kernel
def _share_out(above, work, owner, load, limit):
    """Deal out subtrees of no more work than `limit`, each to the part that has least so far; `work` is added up."""
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
    """Where updates are put: on the stack of their part, but for those that another part takes, which stay.

    `region` is the number of the part, and one more than the last for what stays; offsets are within a region.
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
    """What goes where in each front: entries of the system, and updates; `local` is working memory."""
    n_entries = 0
    for s in range(len(first)):
        begin, end = front[s], front[s + 1]
        listed = start[begin] - 1  # rows[listed + i] is the i-th row, for i > 0
        m = start[begin + 1] - listed
        local[begin] = 0
        for i in range(1, m):
            local[rows[listed + i]] = i
        for k in range(begin, end):
            unknown = order[k]
            for e in range(near_start[unknown], near_start[unknown + 1]):
                j = place[neighbour[e]]
                if j > k:
                    entry_at[n_entries] = (k - begin) * m + local[j]
                    entry_pair[n_entries] = pair[e]
                    n_entries += 1
        entry_start[s + 1] = n_entries
        c = first[s]
        while c >= 0:
            left = start[front[c + 1] - 1] - taken_start[c]
            for q in range(taken_start[c], taken_start[c + 1]):
                taken_at[q] = local[rows[left + q]]
            c = after[c]
