"""Contraction of a graph on a grid: the cells of every square of 2×2 that are joined to each other become one node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.jit import kernel, prange
from .grid import PARALLEL_FROM, GridGraph
from .lists import NeighbourLists

_MOST = 20  # edges that can leave a square of 2×2 cells, and so the most neighbours that a group can have


@dataclass(frozen=True, eq=False)
class Squares:
    """The group of each cell: the first group of its square of 2×2 cells, and which of the groups in that square it is.

    Attributes
    ----------
    first : (n_rows, n_columns) int32
        Number of the first group in each square; −1 for a square without edges.
    count : (n_rows + 2, n_columns + 2) uint8
        Number of groups in each square, with a frame of zeros.
    part : (height, width) uint8
        0 … 3 for each cell of the grid. Cells without edges have 0, which is harmless: nothing comes from them.
    n_groups : int
    """

    first: np.ndarray
    count: np.ndarray
    part: np.ndarray
    n_groups: int

    @classmethod
    def from_graph(cls, graph: GridGraph) -> Squares:
        """Number the groups of a graph, square by square. The cells of a group are connected inside their square."""
        height, width = graph.inverse.shape
        count = np.zeros((height // 2 + 1, width // 2 + 1), dtype=np.uint8)
        part = np.zeros((height, width), dtype=np.uint8)
        _divide(graph.weight, graph.inverse, count, part)
        inner = count[1:-1, 1:-1]
        ends = np.cumsum(inner, dtype=np.int32).reshape(inner.shape)
        return cls(np.where(inner > 0, ends - inner, np.int32(-1)), count, part, int(ends[-1, -1]))


def contracted_grid(graph: GridGraph, squares: Squares) -> NeighbourLists:
    """The graph whose nodes are the groups; weights between two groups are added up."""
    n = squares.n_groups
    start = np.zeros(n + 1, dtype=np.int32 if graph.n < 2**28 else np.int64)
    nowhere, nothing = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
    fields = graph.weight, squares.first, squares.count, squares.part
    _list_groups(*fields, start, nowhere, nothing, nothing)
    np.cumsum(start, out=start)
    neighbour, value = np.empty(start[-1], dtype=np.int32), np.empty(start[-1], dtype=np.float32)
    inverse = np.empty(n, dtype=np.float32)
    _list_groups(*fields, start, neighbour, value, inverse)
    return NeighbourLists(start, neighbour, value, inverse)


@kernel(parallel=True, parallel_from=PARALLEL_FROM)
def _divide(weight, inverse, count, part):
    """Write the number of groups in each square, and for each cell which one it is in. Assumes zeros in both arrays."""
    for row in prange(count.shape[0] - 2):
        v = 2 * row + 1
        label, number = np.empty(4, dtype=np.int64), np.empty(4, dtype=np.uint8)
        for k in range(count.shape[1] - 2):
            u = 2 * k + 1
            if weight[0, v, u] > 0 and weight[0, v + 1, u] > 0 and weight[2, v, u] > 0:
                count[row + 1, k + 1] = 1
                continue
            for i in range(4):
                label[i] = i
            for _ in range(3):  # the longest way between two of four cells has three edges
                for i in range(3):
                    for j in range(i + 1, 4):
                        if i == 0:
                            joined = weight[(0, 0, 2, 3)[j], v, u] > 0
                        elif i == 1:
                            joined = weight[(0, 0, 1, 2)[j], v, u + 1] > 0
                        else:
                            joined = weight[0, v + 1, u] > 0
                        if joined:
                            label[i] = label[j] = min(label[i], label[j])
            n = 0
            for i in range(4):
                y, x = v + i // 2, u + i % 2
                if inverse[y, x] > 0:
                    if label[i] == i:
                        number[i] = n
                        n += 1
                    part[y, x] = number[label[i]]
            count[row + 1, k + 1] = n


@kernel(parallel=True, parallel_from=PARALLEL_FROM)
def _list_groups(weight, first, count, part, start, neighbour, value, inverse):
    """Write the sorted neighbour lists of the groups; where `inverse` is empty, write their lengths to start[1:] only.

    Inside a component a square is one group and so are the squares around it: the eight sums are then written out.
    """
    write = len(inverse) > 0
    for row in prange(first.shape[0]):
        columns, sums = np.empty(_MOST, dtype=np.int32), np.empty(_MOST, dtype=np.float32)
        v = 2 * row + 1
        for k in range(first.shape[1]):
            u = 2 * k + 1
            whole = True
            for i in range(row, row + 3):
                for j in range(k, k + 3):
                    whole = whole and count[i, j] <= 1
            for g in range(count[row + 1, k + 1]):
                n, s = 0, np.float32(0)
                if whole:
                    for i in range(9):
                        if i == 0:
                            s = weight[3, v - 1, u - 1]
                        elif i == 1:
                            s = (
                                weight[2, v - 1, u]
                                + weight[3, v - 1, u]
                                + weight[1, v - 1, u + 1]
                                + weight[2, v - 1, u + 1]
                            )
                        elif i == 2:
                            s = weight[1, v - 1, u + 2]
                        elif i == 3:
                            s = weight[0, v, u - 1] + weight[3, v, u - 1] + weight[0, v + 1, u - 1] + weight[1, v, u]
                        elif i == 5:
                            s = (
                                weight[0, v, u + 1]
                                + weight[3, v, u + 1]
                                + weight[0, v + 1, u + 1]
                                + weight[1, v, u + 2]
                            )
                        elif i == 6:
                            s = weight[1, v + 1, u]
                        elif i == 7:
                            s = (
                                weight[2, v + 1, u]
                                + weight[3, v + 1, u]
                                + weight[1, v + 1, u + 1]
                                + weight[2, v + 1, u + 1]
                            )
                        elif i == 8:
                            s = weight[3, v + 1, u + 1]
                        if i != 4 and s > 0:
                            columns[n] = first[row + i // 3 - 1, k + i % 3 - 1]
                            sums[n] = s
                            n += 1
                else:
                    n = _neighbours_of(weight, first, part, row, k, g, columns, sums)
                own = first[row, k] + g
                if write:
                    total = np.float32(0)
                    for i in range(n):
                        neighbour[start[own] + i] = columns[i]
                        value[start[own] + i] = sums[i]
                        total += sums[i]
                    inverse[own] = np.float32(1) / total if n > 0 else np.float32(0)
                else:
                    start[own + 1] = n


@kernel
def _neighbours_of(weight, first, part, row, k, g, columns, sums):
    """Write the sorted neighbours of group g of a square and the weights to them; return how many there are."""
    n = 0
    for i in range(4):
        v, u = 2 * row + 1 + i // 2, 2 * k + 1 + i % 2
        if part[v, u] != g:
            continue
        for step in range(9):
            y, x = v + step // 3 - 1, u + step % 3 - 1
            if step == 4:
                continue
            w = weight[step - 5, v, u] if step > 4 else weight[3 - step, y, x]
            if not w > 0:
                continue
            other_row, other_k = (y - 1) // 2, (x - 1) // 2
            if other_row == row and other_k == k and part[y, x] == g:
                continue
            other = first[other_row, other_k] + part[y, x]
            place = n
            while place > 0 and columns[place - 1] > other:
                place -= 1
            if place > 0 and columns[place - 1] == other:
                sums[place - 1] += w
                continue
            for later in range(n, place, -1):
                columns[later] = columns[later - 1]
                sums[later] = sums[later - 1]
            columns[place] = other
            sums[place] = w
            n += 1
    return n
