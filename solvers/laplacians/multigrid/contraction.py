"""Contraction of a weighted graph: groups of strongly joined nodes become the nodes of a smaller graph.

Nodes are processed in fixed blocks, and no group straddles two blocks. So blocks can be processed at the same time, and
the number of threads does not change the result.
"""

from __future__ import annotations

import numpy as np

from ..core.jit import WHOLE, kernel, portion
from .lists import NeighbourLists
from .vectors import PARALLEL_FROM

_GROUP = 4  # the most nodes that are contracted into one


def block_size(n: int) -> int:
    """Number of consecutive nodes that one task works on: large blocks smooth better, but every core needs several."""
    return max(8192, -(-n // 64))


def grouped(graph: NeighbourLists) -> tuple[np.ndarray, np.ndarray]:
    """Group nodes with their strongest neighbours.

    Parameters
    ----------
    graph : NeighbourLists

    Returns
    -------
    group : (n,) int32
        The group of each node; −1 for a node without neighbours.
    block_start : (n_blocks + 1,) int32
        The first group of each block of nodes; the last entry is the number of groups.
    """
    group, block = np.empty(graph.n, dtype=np.int32), block_size(graph.n)
    block_start = np.zeros(-(-graph.n // block) + 1, dtype=np.int32)
    room, inside = np.empty(graph.n, dtype=np.int8), np.empty(graph.n, dtype=np.float32)
    _aggregate(graph.start, graph.neighbour, graph.weight, group, block_start, room, inside, block, _GROUP)
    np.cumsum(block_start, out=block_start)
    for b, first in enumerate(block_start[:-1]):
        part = group[b * block : (b + 1) * block]
        np.add(part, first, out=part, where=part >= 0)
    return group, block_start


def contracted(graph: NeighbourLists, group: np.ndarray, block_start: np.ndarray) -> NeighbourLists:
    """The graph whose nodes are the groups from `grouped`; weights between two groups are added up."""
    n_groups, block = int(block_start[-1]), block_size(graph.n)
    columns, values = np.empty_like(graph.neighbour), np.empty_like(graph.weight)
    start = np.zeros(n_groups + 1, dtype=graph.start.dtype)
    inverse = np.empty(n_groups, dtype=np.float32)
    head, after = np.empty(n_groups, dtype=np.int32), np.empty(graph.n, dtype=np.int32)
    _gather(
        graph.start, graph.neighbour, graph.weight, group, block_start, columns, values, start, inverse, head, after, block
    )  # fmt: skip
    count = start[1:].copy()
    np.cumsum(count, out=start[1:])
    neighbour, weight = np.empty(start[-1], dtype=np.int32), np.empty(start[-1], dtype=np.float32)
    _pack(graph.start, block_start, columns, values, count, start, neighbour, weight, block)
    return NeighbourLists(start, neighbour, weight, inverse)


@kernel(parallel_from=PARALLEL_FROM)
def _aggregate(start, neighbour, weight, group, block_start, room, inside, block, size, share=WHOLE):
    """Write the group of each node, counted from 0 in every block; block_start[b + 1] is the number of groups of block b.

    Groups have at most `size` nodes. Assumes ``block_start`` of one entry more than there are blocks of `block` nodes;
    `room` and `inside` are working memory of one entry a node.
    """
    n = len(group)
    for b in portion(len(block_start) - 1, share):
        lo, hi = b * block, min(n, (b + 1) * block)
        count = 0
        for i in range(lo, hi):
            group[i] = -1
            inside[i] = 0
        for i in range(lo, hi):
            if group[i] >= 0 or start[i] == start[i + 1]:
                continue
            best, partner = np.float32(0), -1
            strongest, host = np.float32(0), -1
            for k in range(np.uint64(start[i]), np.uint64(start[i + 1])):
                j = np.uint32(neighbour[k])
                if lo <= j < hi:
                    if group[j] < 0:
                        inside[j] = weight[k]
                        if weight[k] > best:
                            best, partner = weight[k], j  # type: ignore[assignment]
                    elif room[lo + group[j]] > 0 and weight[k] > strongest:
                        strongest, host = weight[k], group[j]
            if partner < 0 and host >= 0:
                group[i] = host
                room[lo + host] -= 1
                continue
            group[i] = count
            room[lo + count] = size - 1
            # Of the free neighbours of i take the one that is joined most strongly to the group so far; this makes
            # groups compact.
            while partner >= 0:
                group[partner] = count
                room[lo + count] -= 1
                if room[lo + count] == 0:
                    break
                for k in range(np.uint64(start[partner]), np.uint64(start[partner + 1])):
                    j = np.uint32(neighbour[k])
                    if lo <= j < hi and group[j] < 0 and inside[j] > 0:
                        inside[j] += weight[k]
                best, partner = np.float32(0), -1
                for k in range(np.uint64(start[i]), np.uint64(start[i + 1])):
                    j = np.uint32(neighbour[k])
                    if lo <= j < hi and group[j] < 0 and inside[j] > best:
                        best, partner = inside[j], j  # type: ignore[assignment]
            for k in range(np.uint64(start[i]), np.uint64(start[i + 1])):
                j = np.uint32(neighbour[k])
                if lo <= j < hi:
                    inside[j] = 0
            count += 1
        block_start[b + 1] = count


@kernel(parallel_from=PARALLEL_FROM)
def _gather(
    start, neighbour, weight, group, block_start, columns, values, count, inverse, head, after, block, share=WHOLE
):  # fmt: skip
    """Write the sorted neighbour lists of the contracted graph, loosely packed; `_pack` moves them to their place.

    The lists of the groups of a block follow each other in `columns` and `values`, from where the lists of its nodes begin
    in `neighbour`; together they are never longer than those. count[g + 1] receives the length of the list of group g,
    and `inverse` one over the sum of its weights. Assumes groups from `_aggregate`. `head` and `after` are working memory:
    the members of each group as a linked list.
    """
    n = len(group)
    for b in portion(len(block_start) - 1, share):
        lo, hi, first = b * block, min(n, (b + 1) * block), block_start[b]
        for g in range(first, block_start[b + 1]):
            head[g] = -1
        for i in range(hi - 1, lo - 1, -1):
            if group[i] >= 0:
                after[i] = head[group[i]]
                head[group[i]] = i
        at = start[lo]
        for g in range(first, block_start[b + 1]):
            begin, total = at, np.float32(0)
            i = head[g]
            while i >= 0:
                for k in range(np.uint64(start[i]), np.uint64(start[i + 1])):
                    other = group[np.uint32(neighbour[k])]
                    if other == g:
                        continue
                    total += weight[k]
                    place = at
                    while place > begin and columns[place - 1] > other:
                        place -= 1
                    if place > begin and columns[place - 1] == other:
                        values[place - 1] += weight[k]
                        continue
                    for later in range(at, place, -1):
                        columns[later] = columns[later - 1]
                        values[later] = values[later - 1]
                    columns[place] = other
                    values[place] = weight[k]
                    at += 1
                i = after[i]
            count[g + 1] = at - begin
            inverse[g] = np.float32(1) / total if total > 0 else np.float32(0)


@kernel(parallel_from=PARALLEL_FROM)
def _pack(fine_start, block_start, columns, values, count, start, neighbour, weight, block, share=WHOLE):
    """Write `neighbour` and `weight`: the lists of `_gather`, moved to where `start` says. Assumes its counts."""
    for b in portion(len(block_start) - 1, share):
        at = fine_start[b * block]
        for g in range(block_start[b], block_start[b + 1]):
            for k in range(count[g]):
                neighbour[start[g] + k] = columns[at]
                weight[start[g] + k] = values[at]
                at += 1
