"""Contraction of a graph on a grid: the cells of every square of 2×2 that are joined to each other become one node.

The largest group of a square becomes a cell of the contracted grid. At borders between components a square has other groups
too; these become nodes without a cell, and stay as they are in further contractions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.edges import group_edges
from ..core.jit import WHOLE, kernel, portion
from .grid import PARALLEL_FROM, GridGraph, LooseEdges
from .lists import NeighbourLists


@dataclass(frozen=True, eq=False)
class Squares:
    """The group of each node, which is a node of the contracted graph.

    Attributes
    ----------
    shape : height, width
        Of the contracted grid, its frame included.
    n_others : int
        Number of nodes of the contracted graph that have no cell.
    first : (n_rows, n_columns) int32
        For each square of 2×2 cells with several groups, the node that its second group becomes; −1 for all others.
    part : (height, width) uint8
        Number of the group of each cell within its square, 0 … 3; 0 becomes the cell of the contracted grid. Cells
        without edges have 0, which is harmless: nothing comes from them.
    tail, head : (n_loose,) int32
        Groups at the ends of the loose edges.
    """

    shape: tuple[int, int]
    n_others: int
    first: np.ndarray
    part: np.ndarray
    tail: np.ndarray
    head: np.ndarray

    @classmethod
    def from_graph(cls, graph: GridGraph) -> Squares:
        """Divide the squares of a graph into groups. The cells of a group are connected inside their square."""
        height, width = graph.weight.shape[1:]
        count = np.zeros((height // 2 - 1, width // 2 - 1), dtype=np.uint8)
        part = np.zeros((height, width), dtype=np.uint8)
        _divide(graph.weight, graph.on_grid(graph.inverse), count, part)
        shape = tuple(n + n % 2 + 2 for n in count.shape)
        others = np.maximum(count, 1) - 1
        n_cells, ends = shape[0] * shape[1], np.cumsum(others, dtype=np.int32).reshape(others.shape)
        first, n_new = np.where(others > 0, ends - others + np.int32(n_cells), np.int32(-1)), int(ends[-1, -1])
        to_tail, to_head = (_groups_of(node, part, first, shape, n_cells + n_new) for node in graph.loose[:2])
        return cls(shape, n_new + graph.n - graph.n_cells, first, part, to_tail, to_head)

    @property
    def n_groups(self) -> int:
        return self.shape[0] * self.shape[1] + self.n_others

    def on_grid(self, values: np.ndarray) -> np.ndarray:
        """The values of the groups that become cells, as an image: a view of the first part of a vector."""
        return values[: self.shape[0] * self.shape[1]].reshape(self.shape)


def _groups_of(node: np.ndarray, part: np.ndarray, first: np.ndarray, shape: tuple[int, int], kept: int) -> np.ndarray:
    """Groups of nodes; those without a cell stay as they are, and are numbered from `kept` on."""
    v, u = np.divmod(np.where(node < part.size, node, part.shape[1] + 1), part.shape[1])
    row, column, own = (v - 1) // 2, (u - 1) // 2, part[v, u]
    cell = np.where(own == 0, (row + 1) * shape[1] + column + 1, first[row, column] + own - 1)
    return np.where(node < part.size, cell, node - part.size + kept).astype(np.int32)


def contracted_grid(graph: GridGraph, squares: Squares) -> GridGraph:
    """The graph whose nodes are the groups; weights between two groups are added up, or are parallel if loose."""
    weight = np.zeros((4, *squares.shape), dtype=np.float32)
    start = np.zeros(len(squares.first) + 1, dtype=np.int64)
    fields = graph.weight, squares.first, squares.part
    _add_up(*fields, weight, start)
    np.cumsum(start, out=start)
    tail, head = np.empty(start[-1], dtype=np.int32), np.empty(start[-1], dtype=np.int32)
    value = np.empty(start[-1], dtype=np.float32)
    if len(value):
        _list_loose(*fields, squares.shape[1], start, tail, head, value)
    pairs = (tail, squares.tail), (head, squares.head), (value, graph.loose.weight)
    runs = graph.runs.contracted(squares.shape)  # a group may have no edges, and yet a right-hand side from rounding
    return GridGraph.from_weights(weight, squares.n_others, LooseEdges(*map(np.concatenate, pairs)), runs)


def as_lists(graph: GridGraph) -> NeighbourLists:
    """The same graph as neighbour lists; its nodes keep their numbers."""
    width, flat = graph.weight.shape[2], graph.weight.reshape(4, -1)
    held = [np.flatnonzero(w).astype(np.int32) for w in flat]
    tail = np.concatenate([*held, np.minimum(*graph.loose[:2])])
    steps = 1, width - 1, width, width + 1
    head = np.concatenate([*(c + np.int32(s) for c, s in zip(held, steps)), np.maximum(*graph.loose[:2])])
    weight = np.concatenate([*(w[c] for w, c in zip(flat, held)), graph.loose.weight])
    order = group_edges(graph.n, tail, head)
    tail, head, weight = tail[order], head[order], weight[order]
    first = np.flatnonzero(np.append(True, (tail[1:] != tail[:-1]) | (head[1:] != head[:-1]))[: len(tail)])
    total = np.add.reduceat(weight, first) if len(first) else weight
    return NeighbourLists.from_edges(graph.n, tail[first], head[first], total)


@kernel(parallel_from=PARALLEL_FROM)
def _divide(weight, inverse, count, part, share=WHOLE):
    """Write the number of groups in each square, and for each cell which one it is in. Assumes zeros in both arrays."""
    for row in portion(count.shape[0], share):
        v = 2 * row + 1
        label, size, number = np.empty(4, dtype=np.int64), np.empty(4, dtype=np.int64), np.empty(4, dtype=np.uint8)
        for k in range(count.shape[1]):
            u = 2 * k + 1
            if weight[0, v, u] > 0 and weight[0, v + 1, u] > 0 and weight[2, v, u] > 0:
                count[row, k] = 1
                continue
            for i in range(4):
                label[i] = i
                size[i] = 0
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
            n, largest = 0, 0
            for i in range(4):
                if inverse[v + i // 2, u + i % 2] > 0:
                    if size[label[i]] == 0:
                        number[i] = n
                        n += 1
                    size[label[i]] += 1
                    if size[label[i]] >= size[largest]:
                        largest = label[i]
            for i in range(4):
                if inverse[v + i // 2, u + i % 2] > 0:
                    own = number[label[i]]
                    if label[i] == largest:
                        own = 0
                    elif own == 0:
                        own = number[largest]
                    part[v + i // 2, u + i % 2] = own
            count[row, k] = n


@kernel(inline="always")
def _all_whole(own, next_row, k):
    """Whether square k, those beside it and those below these three have at most one group each; see `Squares.first`."""
    low, high = max(k - 1, 0), min(k + 1, len(own) - 1)
    return (own[low] & own[k] & own[high] & next_row[low] & next_row[k] & next_row[high]) < 0


@kernel(no_cpython_wrapper=True)
def _is_loose(weight, part, row, k, i):
    """Whether edge i of a square, 0 … 15, joins two groups of which one has no cell; and the cells at its ends."""
    v, u = 2 * row + 1 + i // 8, 2 * k + 1 + i // 4 % 2
    y, x = (v, u + 1) if i % 4 == 0 else (v + 1, u + i % 4 - 2)
    inside = (y - 1) // 2 == row and (x - 1) // 2 == k and part[v, u] == part[y, x]
    return weight[i % 4, v, u] > 0 and part[v, u] + part[y, x] > 0 and not inside, v, u, y, x


@kernel(parallel_from=PARALLEL_FROM)
def _add_up(weight, first, part, out, start, share=WHOLE):
    """Write the weights of the contracted grid, and count the loose edges of each row of squares into start[row + 1].

    Assumes zeros in both. Inside a component all squares are whole, so that no cell must be looked at.
    """
    n_rows, n_columns = first.shape
    for row in portion(n_rows, share):
        v, n = 2 * row + 1, 0
        own, next_row = first[row], first[min(row + 1, n_rows - 1)]
        right, left_down, down, right_down = out[0, row + 1], out[1, row + 1], out[2, row + 1], out[3, row + 1]
        for k in range(n_columns):
            u = 2 * k + 1
            if _all_whole(own, next_row, k):
                right[k + 1] = weight[0, v, u + 1] + weight[3, v, u + 1] + weight[0, v + 1, u + 1] + weight[1, v, u + 2]
                left_down[k + 1] = weight[1, v + 1, u]
                down[k + 1] = (
                    weight[2, v + 1, u] + weight[3, v + 1, u] + weight[1, v + 1, u + 1] + weight[2, v + 1, u + 1]
                )
                right_down[k + 1] = weight[3, v + 1, u + 1]
                continue
            for i in range(16):
                loose, y, x, other_y, other_x = _is_loose(weight, part, row, k, i)
                n += loose
                w = weight[i % 4, y, x]
                if w > 0 and part[y, x] + part[other_y, other_x] == 0:
                    across = (other_x - 1) // 2 - k
                    if (other_y - 1) // 2 > row:
                        out[across + 2, row + 1, k + 1] += w
                    elif across > 0:
                        right[k + 1] += w
            if part[v, u + 2] + part[v + 1, u + 1] == 0:  # this edge is kept by the square to the right
                right[k + 1] += weight[1, v, u + 2]
        start[row + 1] = n


@kernel(parallel_from=PARALLEL_FROM)
def _list_loose(weight, first, part, width, start, tail, head, value, share=WHOLE):
    """Write the loose edges of each row of squares from start[row] on. `width` is that of the contracted grid."""
    n_rows, n_columns = first.shape
    for row in portion(n_rows, share):
        e = start[row]
        next_row = first[min(row + 1, n_rows - 1)]
        for k in range(n_columns if start[row + 1] > e else 0):
            for i in range(0 if _all_whole(first[row], next_row, k) else 16):
                loose, v, u, y, x = _is_loose(weight, part, row, k, i)
                if loose:
                    other_row, other_k, own, other = (y - 1) // 2, (x - 1) // 2, part[v, u], part[y, x]
                    tail[e] = (row + 1) * width + k + 1 if own == 0 else first[row, k] + own - 1
                    head[e] = (
                        (other_row + 1) * width + other_k + 1 if other == 0 else first[other_row, other_k] + other - 1
                    )
                    value[e] = weight[i % 4, v, u]
                    e += 1
