"""The elimination tree of a graph and an order, and the pattern of the factor L that follows from it.

Eliminating an unknown changes the columns of later unknowns. The *parent* of an unknown is the first of them; parents make
a tree, or one tree for each connected piece. Unknowns on different branches do not affect each other.
"""

from __future__ import annotations

import numpy as np

from ..core.jit import kernel
from ..pattern import Pattern


def factor_pattern(pattern: Pattern, order: np.ndarray) -> tuple[np.ndarray, ...]:
    """Find where the factor is non-zero, in an order of the same fill in which every subtree is consecutive.

    Parameters
    ----------
    pattern : Pattern
    order : (n,) int32
        The unknowns in an order of elimination.

    Returns
    -------
    order : (n,) int32
        The unknowns in the new order.
    parent : (n,) int32
        Parent of each place of the new order in the elimination tree; −1 for a root.
    start : (n + 1,) int64
        Column j of L has the rows ``rows[start[j]:start[j+1]]``, which increase.
    rows : (n_nonzeros,) int32
    """
    n, (start, neighbour, _) = pattern.n, pattern.adjacency
    place, parent, count = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32), np.zeros(n, dtype=np.int64)
    seen, spare, later = np.empty(n, dtype=np.int32), np.empty((3, n), dtype=np.int32), np.empty(n, dtype=np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    _elimination_tree(start, neighbour, order, place, seen, parent, count)
    _postorder(parent, count, spare, later)
    order, count = order[later], count[later]
    place[order] = np.arange(n, dtype=np.int32)
    new = np.empty(n, dtype=np.int32)
    new[later] = np.arange(n, dtype=np.int32)
    parent = np.where(parent[later] >= 0, new[parent[later]], np.int32(-1))
    column_start = np.concatenate([[0], np.cumsum(count)])
    rows = np.empty(column_start[-1], dtype=np.int32)
    _list_rows(start, neighbour, order, place, seen, parent, column_start[:-1].copy(), rows)
    return order, parent, column_start, rows


@kernel
def _elimination_tree(start, neighbour, order, place, seen, parent, count):
    """Write the parent of each place, −1 for a root, and add the number of non-zeros of its column to `count`.

    Assumes that `place` is the inverse of `order` and that `count` is zero on entry. `seen` is working memory.
    """
    for k in range(len(order)):
        parent[k] = -1
        seen[k] = k
        i = order[k]
        for e in range(np.uint64(start[i]), np.uint64(start[i + 1])):
            j = np.uint32(place[np.uint32(neighbour[e])])
            if j < k:
                while seen[j] != k:
                    if parent[j] == -1:
                        parent[j] = k
                    seen[j] = k
                    count[j] += 1
                    j = np.uint32(parent[j])


@kernel
def _postorder(parent, count, spare, out):
    """Write into `out` the places in an order with children before parents and every subtree consecutive.

    The sibling with most non-zeros comes last, right before its parent, since only that one can share a front with it.
    Assumes parents from `_elimination_tree`. `spare` is working memory.
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
    """Write the rows of each column of L; `cursor` holds the beginning of each column on entry and its end on exit.

    Assumes a postordered tree and the counts of `_elimination_tree`. `seen` is working memory.
    """
    for k in range(len(order)):
        seen[k] = k
        i = order[k]
        for e in range(np.uint64(start[i]), np.uint64(start[i + 1])):
            j = np.uint32(place[np.uint32(neighbour[e])])
            if j < k:
                while seen[j] != k:
                    seen[j] = k
                    rows[np.uint64(cursor[j])] = k
                    cursor[j] += 1
                    j = np.uint32(parent[j])
