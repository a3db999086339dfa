"""Small connected pieces of a graph, each solved on its own by elimination in the order of its nodes.

Where a graph falls into many pieces of some dozens of nodes, one sparse factorisation of all of them would spend its time on
orderings and lists. The nodes of a piece of an image, taken row by row, are joined to nodes that come soon after them. So
the rows of the factor are short and dense: from the diagonal to the last node that is joined to this node or to one before
it (the *envelope*). Pieces for which that would be much work are left alone.
"""

from __future__ import annotations

import numpy as np

from ..core.jit import WHOLE, kernel, portion

# The most multiplications for each node of a piece; multigrid takes as long as about so many. The most nodes of a piece and
# values of its factor, which must fit into the caches.
_MOST_WORK, _MOST_NODES, _MOST_VALUES = 3000, 2**13, 2**18


def solve_pieces(
    tail: np.ndarray, head: np.ndarray, weight: np.ndarray, first: np.ndarray, x: np.ndarray, rhs: np.ndarray
) -> tuple[float, int]:
    """Solve for the pieces that take little work, and take them out of the problem.

    Parameters
    ----------
    tail, head : (n_edges,) int32
        Ends of the edges, tail < head, sorted by tail.
    weight : (n_edges,) float32, ≥ 0
        Edges of weight zero join nothing. The weights of pieces that are solved become zero.
    first : (n,) int32
        First node of the piece of each node.
    x : (n,) float64
        The start. The solution d of L d = rhs is added to it, which is zero at one node of each piece.
    rhs : (n,) float64
        b − L x for the start. It becomes zero where a piece is solved.

    Returns
    -------
    gain : float
        How much smaller Σ w (x_tail − x_head − target)² has become.
    n_left : int
        Number of nodes of the pieces that were left alone; nodes without edges are not among them.

    Examples
    --------
    >>> tail, head = np.array([0, 1], dtype=np.int32), np.array([1, 2], dtype=np.int32)
    >>> x, rhs = np.zeros(3), np.array([2.0, -1.0, -1.0])
    >>> solve_pieces(tail, head, np.ones(2, dtype=np.float32), np.zeros(3, dtype=np.int32), x, rhs)
    (5.0, 0)
    >>> x.tolist()
    [3.0, 1.0, 0.0]
    """
    n = len(first)
    after, last, edge_start = (
        np.full(n, -1, dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.zeros(n + 1, dtype=np.int64),
    )
    _link(tail, first, after, last, edge_start)
    own = first == np.arange(n, dtype=np.int32)
    roots = np.flatnonzero(own & (after >= 0))
    gain, size = np.zeros(len(roots)), np.zeros(len(roots), dtype=np.int64)
    limits = _MOST_WORK, _MOST_NODES, _MOST_VALUES
    _solve_pieces(roots, after, edge_start, head, weight, *limits, last, x, rhs, gain, size)
    n_alone = np.count_nonzero(own) - len(roots)
    return float(gain.sum()), n - int(n_alone) - int(size.sum())


@kernel
def _link(tail, first, after, last, edge_start):
    """Write the next node of the same piece to `after`, which holds −1 on entry, and where the edges of each tail begin.

    `last` is working memory, and `edge_start` is zero on entry.
    """
    for i in range(len(first)):
        r = np.uint32(first[i])
        if r != i:
            after[np.uint32(last[r])] = i
        last[r] = i
    for e in range(len(tail)):
        edge_start[np.uint32(tail[e]) + np.uint32(1)] = e + 1
    for i in range(len(first)):
        edge_start[i + 1] = max(edge_start[i + 1], edge_start[i])


@kernel(parallel_from=2**15)
def _solve_pieces(
    roots, after, edge_start, head, weight, most_work, most_nodes, most_values, place, x, rhs, gain, size, share=WHOLE
):  # fmt: skip
    """Solve the pieces that begin at `roots`, change x, rhs and weight, and write the energy that each gains, and its nodes.

    Row k of the upper triangle of a piece's matrix reaches to column `reach[k]` and stands in `values` from `at[k]` on. The
    last unknown stays zero. Assumes the lists of `_link`; `place` is working memory, one entry a node.
    """
    node, reach = np.empty(most_nodes, dtype=np.uint32), np.empty(most_nodes, dtype=np.int64)
    at, b, values = np.empty(most_nodes + 1, dtype=np.int64), np.empty(most_nodes), np.empty(most_values)
    for number in portion(len(roots), share):
        m, following = 0, roots[number]
        while following >= 0 and m < most_nodes:
            node[m] = following
            place[following] = m
            m += 1
            following = np.int64(after[following])
        if following >= 0:
            continue
        furthest, work = 0, 0
        at[0] = 0
        for k in range(m):
            for e in range(edge_start[node[k]], edge_start[node[k] + 1]):
                if weight[e] > 0:
                    j = place[np.uint32(head[e])]
                    furthest = j if j > furthest else furthest
            reach[k] = furthest
            work += (furthest - k) * (furthest - k)
            at[k + 1] = at[k] + furthest - k + 1
        if work > most_work * m or at[m] > most_values:
            continue
        for q in range(np.uint64(at[m])):
            values[q] = 0.0
        for k in range(m):
            b[k] = rhs[node[k]]
            for e in range(edge_start[node[k]], edge_start[node[k] + 1]):
                if weight[e] > 0:
                    j = place[np.uint32(head[e])]
                    values[at[k] + j - k] -= weight[e]
                    values[at[k]] += weight[e]
                    values[at[j]] += weight[e]
                    weight[e] = 0
        for k in range(m - 1):
            row, inverse = at[k] - k, 1.0 / values[at[k]]
            for i in range(k + 1, reach[k] + 1):
                factor, to = values[row + i] * inverse, at[i] - i
                for j in range(i, reach[k] + 1):
                    values[np.uint64(to + j)] -= factor * values[np.uint64(row + j)]
                b[i] -= factor * b[k]
        b[m - 1] = 0.0
        total = 0.0
        for k in range(m - 2, -1, -1):
            value = b[k]
            for j in range(k + 1, reach[k] + 1):
                value -= values[np.uint64(at[k] + j - k)] * b[np.uint64(j)]
            b[k] = value / values[at[k]]
            total += b[k] * rhs[node[k]]
            x[node[k]] += b[k]
            rhs[node[k]] = 0.0
        rhs[node[m - 1]] = 0.0
        gain[number] = total
        size[number] = m
