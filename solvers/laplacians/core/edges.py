"""Lists of edges: sorted into pairs, turned into neighbour lists, and divided into connected pieces."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import array_namespace
from .jit import kernel
from .lookups import suits

# Up to this number of edges, array expressions are as quick as a kernel, which would have to be compiled first.
_FEW_EDGES = 10_000


def checked_edges(n: Any, tail: Any, head: Any, weight: Any, target: Any) -> tuple[int, Any, Any, Any, Any]:
    """What a user gives as weighted edges, as an int, two int32 and two float64 arrays; ValueError says what is wrong."""
    count, tail, head = (_whole(name, given) for name, given in (("n", n), ("tail", tail), ("head", head)))
    weight, target = _real("weight", weight), _real("target", target)
    if count.ndim or count < 0:
        raise ValueError(f"n: expected one whole number ≥ 0, got {n!r}")
    if any(array.ndim != 1 or len(array) != len(tail) for array in (tail, head, weight, target)):
        shapes = ", ".join(str(array.shape) for array in (tail, head, weight, target))
        raise ValueError(f"tail, head, weight, target must be equally long lists, got arrays of shape {shapes}")
    if len(tail) and (min(tail.min(), head.min()) < 0 or max(tail.max(), head.max()) >= count):
        raise ValueError(f"tail and head must lie in [0, {count})")
    if not (weight >= 0).all() or not np.isfinite(weight).all() or not np.isfinite(target).all():
        raise ValueError("weight must be finite and ≥ 0, target finite")
    return int(count), tail, head, weight, target


def _real(name: str, given: Any) -> np.ndarray:
    array = np.asarray(given)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name}: expected real numbers, got {array.dtype}")
    return array.astype(np.float64, copy=False)


def _whole(name: str, given: Any) -> np.ndarray:
    array = np.asarray(given)
    with np.errstate(invalid="ignore"):
        whole = (array if array.dtype.kind in "iu" else _real(name, array)).astype(np.int32, copy=False)
    if whole is not array and not (whole == array).all():
        wrong = array[whole != array].flat[0]
        raise ValueError(f"{name}: expected whole numbers that fit into int32, got {wrong}")
    return whole


def group_edges(n: int, tail: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Sort edges by the unordered pair of their ends; parallel edges keep their order.

    Parameters
    ----------
    n : int
        Number of nodes.
    tail, head : (n_edges,) integers in [0, n)

    Returns
    -------
    (n_edges,) int32
        The edges by number, in sorted order.

    Examples
    --------
    >>> group_edges(3, np.array([2, 0, 1]), np.array([1, 1, 0])).tolist()
    [1, 2, 0]
    """
    xp = array_namespace(tail)
    if xp is not np or len(tail) <= _FEW_EDGES:
        key = xp.minimum(tail, head).astype(np.int64) * n + xp.maximum(tail, head)
        return xp.argsort(key, kind="stable").astype(np.int32)
    order, sorted_order = np.arange(len(tail), dtype=np.int32), np.empty(len(tail), dtype=np.int32)
    for key in (np.maximum(tail, head), np.minimum(tail, head)):
        sort_by_count(key, order, np.zeros(n + 1, dtype=np.int64), sorted_order)
        order, sorted_order = sorted_order, order
    return order


def sorted_by_key(key: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort places by key, long lists in two passes; those of one key keep their order.

    Parameters
    ----------
    key : (m,) int32 in [0, n)

    Returns
    -------
    order : (m,) integers
    end : (n,) int64
        The places of key k are ``order[end[k - 1]:end[k]]``, for key 0 from 0 on.
    """
    if not suits(sort_by_count, key):
        few = key.astype(np.uint16) if n <= 2**16 else key  # numbers of two bytes are sorted in two passes
        return np.argsort(few, kind="stable"), np.cumsum(np.bincount(key, minlength=n))
    order, start = np.empty(len(key), dtype=np.int32), np.zeros(n + 1, dtype=np.int64)
    sort_by_count(key, np.arange(len(key), dtype=np.int32), start, order)
    return order, start[:-1]


def neighbour_lists(
    n: int, tail: np.ndarray, head: np.ndarray, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """List the neighbours of every node in increasing order; every pair is in the lists of both its ends.

    Parameters
    ----------
    n : int
        Number of nodes.
    tail, head : (n_pairs,) int32
        Pairs with tail < head, sorted by (tail, head).
    weight : (n_pairs,) float, optional
        If given, pairs of weight zero are left out.

    Returns
    -------
    start : (n + 1,) int32, or int64 for more than 2³⁰ pairs
        The list of node i is ``start[i]:start[i+1]`` of the other two arrays.
    neighbour : (n_entries,) int32
    entry : (n_entries,) int32 or float32
        The number of the pair or, if weights are given, its weight in single precision.

    Examples
    --------
    >>> tail, head = np.array([0, 1], dtype=np.int32), np.array([1, 2], dtype=np.int32)
    >>> [a.tolist() for a in neighbour_lists(3, tail, head)]
    [[0, 1, 3, 4], [1, 0, 2, 1], [0, 0, 1, 1]]
    """
    start = np.zeros(n + 1, dtype=np.int64 if len(tail) >= 2**30 else np.int32)
    _count_neighbours(tail, head, weight, start)
    neighbour = np.empty(start[-1], dtype=np.int32)
    entry = np.empty(start[-1], dtype=np.int32 if weight is None else np.float32)
    _list_neighbours(tail, head, weight, start[:-1].copy(), neighbour, entry)
    return start, neighbour, entry


def with_diagonal(n: int, start: np.ndarray, neighbour: np.ndarray, pair: np.ndarray) -> tuple[np.ndarray, ...]:
    """Put every node into its own neighbour list, in its sorted place, with n_pairs as the number of the pair."""
    row = np.repeat(np.arange(n, dtype=np.int32), np.diff(start))
    diagonal = start[:-1] + np.bincount(row[neighbour < row], minlength=n)
    column = np.insert(neighbour, diagonal, np.arange(n, dtype=np.int32))
    return start + np.arange(n + 1, dtype=start.dtype), column, np.insert(pair, diagonal, len(pair) // 2)


def connected_labels(n: int, tail: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Label connected components by union-find.

    Parameters
    ----------
    n : int
        Number of nodes.
    tail, head : (n_edges,) integers in [0, n)

    Returns
    -------
    (n,) int32
        Labels 0, 1, 2, … in the order of the first node of each component.

    Examples
    --------
    >>> connected_labels(4, np.array([3]), np.array([1])).tolist()
    [0, 1, 2, 1]
    """
    parent = np.arange(n, dtype=np.int32)
    _unite(parent, tail.astype(np.int32, copy=False), head.astype(np.int32, copy=False))  # one type to compile for
    number_trees(parent)
    return parent


def number_trees(parent: np.ndarray) -> None:
    """Replace the parents of a forest, in place, by the number of their tree in the order of its first node.

    Parameters
    ----------
    parent : (n,) int32
        No node comes before its parent; roots are their own parents.
    """
    _number(parent)


def union_find_is_loaded() -> bool:
    """Whether `connected_labels` has been used in this process, so that its kernels need neither compiling nor loading."""
    return _number.is_loaded


@kernel
def sort_by_count(key, given, start, out):
    """Write the edges of `given` to `out` by increasing key; those of one key keep their order.

    `start` has one entry more than there are keys, and is zero on entry. Sorting twice sorts pairs.
    """
    for e in range(len(key)):
        start[np.uint32(key[e]) + np.uint32(1)] += 1
    for k in range(len(start) - 1):
        start[k + 1] += start[k]
    for e in given:
        i = np.uint32(key[np.uint32(e)])
        out[np.uint64(start[i])] = e
        start[i] += 1


@kernel
def _count_neighbours(tail, head, weight, start):
    """Write into `start`, which is zero on entry, where the list of each node begins.

    Assumes tail and head in [0, len(start) − 1). `weight` is None or has one value per pair.
    """
    for p in range(len(tail)):
        if weight is None or weight[p] > 0:
            start[tail[p] + 1] += 1
            start[head[p] + 1] += 1
    for i in range(len(start) - 1):
        start[i + 1] += start[i]


@kernel
def _list_neighbours(tail, head, weight, cursor, neighbour, entry):
    """Write the neighbour lists; `cursor` holds the beginning of each list on entry and its end on exit.

    Assumes pairs sorted by tail and counts from `_count_neighbours`. The smaller neighbours of all nodes are written
    first and the larger ones after them, so that every list comes out sorted.
    """
    for p in range(len(tail)):
        if weight is None or weight[p] > 0:
            i = np.uint32(head[p])
            k = np.uint64(cursor[i])
            neighbour[k] = tail[p]
            entry[k] = p if weight is None else weight[p]
            cursor[i] += 1
    for p in range(len(tail)):
        if weight is None or weight[p] > 0:
            i = np.uint32(tail[p])
            k = np.uint64(cursor[i])
            neighbour[k] = head[p]
            entry[k] = p if weight is None else weight[p]
            cursor[i] += 1


@kernel(no_cpython_wrapper=True)
def root_of(parent, i):
    """The root of the tree that i belongs to in a forest, whose paths are halved on the way. For kernels."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def _unite(parent, tail, head):
    """Join the trees of both ends of every edge; afterwards the root of every tree is its least node.

    Assumes that `parent` holds 0, 1, 2, … on entry and that tail and head are within it.
    """
    for e in range(len(tail)):
        i, j = parent[np.uint32(tail[e])], parent[np.uint32(head[e])]
        if i == j:  # most edges: both ends are in one tree already
            continue
        i, j = root_of(parent, i), root_of(parent, j)
        if i < j:
            parent[j] = i
        elif j < i:
            parent[i] = j


@kernel
def _number(parent):
    """Replace parents by the number of their tree, in the order of first appearance. Assumes parent[i] ≤ i."""
    count = 0
    for i in range(len(parent)):
        if parent[i] == i:
            parent[i] = count
            count += 1
        else:
            parent[i] = parent[np.uint32(parent[i])]
