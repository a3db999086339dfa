"""Lists of edges: sorted into pairs, turned into neighbour lists, and divided into connected pieces."""

from __future__ import annotations

import numpy as np

from .arrays import array_namespace
from .jit import kernel

# Up to so many, array expressions are as quick as a kernel, which would have to be compiled first.
_FEW_EDGES = 10_000


def adjacency(n: int, tail: np.ndarray, head: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """CSR neighbour lists of pairs sorted by (tail, head) with tail < head; see `Pattern.adjacency`."""
    start = np.zeros(n + 1, dtype=np.int64 if len(tail) >= 2**30 else np.int32)
    neighbour, pair = np.empty(2 * len(tail), dtype=np.int32), np.empty(2 * len(tail), dtype=np.int32)
    _adjacency(tail, head, start, neighbour, pair)
    return start, neighbour, pair


def group_edges(n: int, tail: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Order (n_edges,) int32 that sorts edges by their unordered pair, keeping the order of parallel edges."""
    xp = array_namespace(tail)
    if xp is not np or len(tail) <= _FEW_EDGES:
        key = xp.minimum(tail, head).astype(np.int64) * n + xp.maximum(tail, head)
        return xp.argsort(key, kind="stable").astype(np.int32)
    order = np.empty(len(tail), dtype=np.int32)
    _group_edges(n, tail, head, order)
    return order


def connected_labels(n: int, tail: np.ndarray, head: np.ndarray) -> np.ndarray:
    """(n,) int32 labels of connected components, numbered by their first node (union-find)."""
    parent = np.arange(n, dtype=np.int32)
    _unite(parent, tail, head)
    _number(parent)
    return parent


@kernel
def _group_edges(n, tail, head, order):
    """Two stable counting sorts: by the larger end, then by the smaller."""
    m = len(tail)
    half = np.empty(m, dtype=np.int32)
    for by_larger in (True, False):
        start = np.zeros(n + 1, dtype=np.int64)
        for e in range(m):
            start[(max(tail[e], head[e]) if by_larger else min(tail[e], head[e])) + 1] += 1
        for i in range(n):
            start[i + 1] += start[i]
        for k in range(m):
            e = k if by_larger else half[k]
            key = max(tail[e], head[e]) if by_larger else min(tail[e], head[e])
            if by_larger:
                half[start[key]] = e
            else:
                order[start[key]] = e
            start[key] += 1


@kernel
def _adjacency(tail, head, start, neighbour, pair):
    n, m = len(start) - 1, len(tail)
    for p in range(m):
        start[tail[p] + 1] += 1
        start[head[p] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    cursor = start[:-1].copy()
    # Smaller neighbours first, then larger ones: pairs are sorted, so each row comes out sorted.
    for p in range(m):
        i = head[p]
        neighbour[cursor[i]] = tail[p]
        pair[cursor[i]] = p
        cursor[i] += 1
    for p in range(m):
        i = tail[p]
        neighbour[cursor[i]] = head[p]
        pair[cursor[i]] = p
        cursor[i] += 1


def with_diagonal(n: int, start: np.ndarray, neighbour: np.ndarray, pair: np.ndarray) -> tuple[np.ndarray, ...]:
    """Neighbour lists with the diagonal put in its sorted place; its entries have pair = n_pairs."""
    row = np.repeat(np.arange(n, dtype=np.int32), np.diff(start))
    diagonal = start[:-1] + np.bincount(row[neighbour < row], minlength=n)
    column = np.insert(neighbour, diagonal, np.arange(n, dtype=np.int32))
    return start + np.arange(n + 1, dtype=start.dtype), column, np.insert(pair, diagonal, len(pair) // 2)


@kernel
def _unite(parent, tail, head):
    """Union-find: afterwards every root is the least node of its component."""
    for e in range(len(tail)):
        i, j = tail[e], head[e]
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        while parent[j] != j:
            parent[j] = parent[parent[j]]
            j = parent[j]
        if i < j:
            parent[j] = i
        elif j < i:
            parent[i] = j


@kernel
def _number(parent):
    """Replace parents by component numbers in order of first appearance (parent[i] ≤ i)."""
    count = 0
    for i in range(len(parent)):
        if parent[i] == i:
            parent[i] = count
            count += 1
        else:
            parent[i] = parent[parent[i]]
