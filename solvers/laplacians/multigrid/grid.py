"""Weighted graphs whose nodes lie on a grid, each joined to some of its eight neighbours: the finest level of multigrid.

A node keeps the weights of four of its edges, and its other four edges are kept by their other ends. Rows of the grid are
read in order and no neighbour is looked up, so memory is read at full speed and loops use vector instructions. This takes a
quarter of the memory of neighbour lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..core.jit import WHOLE, kernel, portion
from .runs import Runs
from .vectors import Spans

# Sweeps over a grid read memory in order, so that threads pay for large grids only.
PARALLEL_FROM = 2**21
# The grid is processed in blocks of rows: at most so many of them, with at least so many rows each.
_N_BLOCKS, _BLOCK_ROWS = 32, 32
# Edges within a row are smoothed by Jacobi's method, which needs damping: this fraction of their weights is added to the
# diagonal. A pair of nodes that is joined to nothing else would otherwise not converge.
DAMPING = np.float32(0.5)


class LooseEdges(NamedTuple):
    """Edges that a grid cannot hold.

    Attributes
    ----------
    tail, head : (n_loose,) int32
    weight : (n_loose,) float32
    """

    tail: np.ndarray
    head: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True, eq=False)
class GridGraph:
    """A weighted graph on a grid with a frame of empty cells around it. The cells are numbered row by row.

    Height and width are even, so that squares of 2×2 cells fit into the frame. Contracted graphs have some nodes for which
    there is no cell. They come after the cells in all vectors, and their edges are loose.

    Attributes
    ----------
    weight : (4, height, width) float32, ≥ 0
        Weights of the edges of each cell to its right, lower left, lower and lower right neighbour; 0 where there is no
        edge. No edge reaches the first or last row or column.
    inverse : (n,) float32
        One over what the smoother divides by: the sum of the weights of all edges of a node, and half of those that are
        loose or within a row once more; 0 for a node without edges.
    loose : LooseEdges
        The other edges. Each has an end without a cell.
    loose_ends : (n_ends,) int64
        The nodes that have loose edges, each once.
    runs : Runs
        Which parts of the grid hold nodes.

    Examples
    --------
    >>> cell = np.array([5, 6, 9], dtype=np.int32)
    >>> graph = GridGraph.from_edges((4, 4), cell, np.array([0, 1]), np.array([1, 2]), np.array([1.0, 4.0]))
    >>> graph.weight[:, 1, 1:3].tolist()
    [[1.0, 0.0], [0.0, 4.0], [0.0, 0.0], [0.0, 0.0]]
    """

    weight: np.ndarray
    inverse: np.ndarray
    loose: LooseEdges
    loose_ends: np.ndarray
    runs: Runs

    @classmethod
    def from_edges(
        cls, shape: tuple[int, int], cell: np.ndarray, tail: np.ndarray, head: np.ndarray, weight: np.ndarray
    ) -> GridGraph:
        """Place the edges of a graph on a grid.

        Parameters
        ----------
        shape : height, width
            Of the grid, the frame of empty cells included. Both are even.
        cell : (n,) int32
            Where each node lies: a position inside the frame, counted row by row, increasing.
        tail, head : (n_edges,) int32
            Nodes at the two ends of each edge, tail < head. They lie in neighbouring cells.
        weight : (n_edges,) float32 or float64, ≥ 0

        Returns
        -------
        GridGraph
        """
        placed = np.zeros((4, *shape), dtype=np.float32)
        _place(cell, tail, head, weight, shape[1], placed.reshape(4, -1))
        return cls.from_weights(placed)

    @classmethod
    def from_weights(
        cls, weight: np.ndarray, n_others: int = 0, loose: LooseEdges | None = None, runs: Runs | None = None
    ) -> GridGraph:
        """The graph of weights that are on the grid already, of nodes without a cell, and of loose edges.

        Without `runs`, the cells without edges are taken to hold no nodes.
        """
        nowhere = np.zeros(0, dtype=np.int32)
        loose = loose or LooseEdges(nowhere, nowhere, np.zeros(0, dtype=np.float32))
        n_cells, ends = weight[0].size, np.zeros(0, dtype=np.int64)
        inverse = np.zeros(n_cells + n_others, dtype=np.float32)
        _invert(weight, inverse[:n_cells].reshape(weight.shape[1:]))
        if len(loose.tail):
            ends, place = np.unique(np.concatenate(loose[:2]), return_inverse=True)
            total = np.bincount(place, np.tile(loose.weight, 2)) * (1.0 + DAMPING)
            on_grid = np.divide(1.0, inverse[ends], out=np.zeros(len(ends)), where=inverse[ends] > 0)
            inverse[ends] = 1.0 / (on_grid + total)
        if runs is None:
            runs = Runs.from_cells(inverse[:n_cells].reshape(weight.shape[1:]) > 0)
        return cls(weight, inverse, loose, ends.astype(np.int64), runs)

    @property
    def n(self) -> int:
        """Number of nodes, which is that of all cells and of the nodes without one."""
        return len(self.inverse)

    @property
    def n_cells(self) -> int:
        return self.weight[0].size

    @cached_property
    def spans(self) -> Spans:
        """The parts of a vector with one value per node, or per empty cell, that hold nodes."""
        row = np.repeat(np.arange(self.weight.shape[1]), np.diff(self.runs.first)) * self.weight.shape[2]
        begin, end = np.append(row + self.runs.begin, self.n_cells), np.append(row + self.runs.end, self.n)
        return Spans.from_runs(self.n, begin, end)

    @cached_property
    def blocks(self) -> np.ndarray:
        """First row of each block of rows that is smoothed on its own, and the end of the last one; the frame left out.

        Blocks begin at odd rows, where squares of 2×2 cells begin.
        """
        height = self.weight.shape[1] - 2
        n_blocks = max(1, min(_N_BLOCKS, height // _BLOCK_ROWS))
        return 1 + np.append(height // 2 * np.arange(n_blocks) // n_blocks * 2, height)

    def on_grid(self, values: np.ndarray) -> np.ndarray:
        """The values of the cells as an image: a view of the first part of a vector."""
        return values[: self.n_cells].reshape(self.weight.shape[1:])

    def apply(self, x: np.ndarray, out: np.ndarray) -> float:
        """Write L x into `out` and return x·L x, where L is the Laplacian of this graph. Both have one value per node.

        Both are zero on entry where there is no node.
        """
        rows, product = self.blocks, self.on_grid(out)
        part = np.zeros(len(rows) - 1)
        _apply(self.weight, self.runs, self.on_grid(x), product, rows, part)
        out[self.n_cells :] = 0
        return float(part.sum()) + (_apply_loose(*self.loose, x, out) if len(self.loose.tail) else 0.0)


@kernel(parallel_from=PARALLEL_FROM)
def _place(cell, tail, head, weight, width, placed, share=WHOLE):
    """Write the weight of each edge to where its tail keeps it. Assumes neighbouring cells, the tail's first."""
    for e in portion(len(tail), share):
        at = cell[np.uint32(tail[e])]
        step = cell[np.uint32(head[e])] - at
        placed[np.uint64(0 if step == 1 else step - width + 2), np.uint32(at)] = weight[e]


@kernel(parallel_from=PARALLEL_FROM, error_model="numpy")
def _invert(weight, inverse, share=WHOLE):
    """Write what `GridGraph.inverse` holds for the cells, without loose edges. Assumes zeros in `inverse`."""
    height, width = inverse.shape
    for row in portion(height - 2, share):
        v = row + 1
        right, left_down, down, right_down = weight[0, v], weight[1, v], weight[2, v], weight[3, v]
        left_up, up, right_up = weight[3, v - 1], weight[2, v - 1], weight[1, v - 1]
        for u in range(1, width - 1):
            across = right[u] + right[u - 1]
            above = (left_up[u - 1] + up[u]) + right_up[u + 1]
            below = (left_down[u] + down[u]) + right_down[u]
            total = across + above + below
            inverse[v, u] = np.float32(1) / (total + DAMPING * across) if total > 0 else np.float32(0)


@kernel(parallel_from=PARALLEL_FROM)
def _apply(weight, runs, x, out, rows, part, share=WHOLE):
    """Write out = L x within the runs, and x·L x of each block of rows into `part`. Assumes x of zero outside the runs.

    Products are made with differences of x, so that constants vanish exactly, and in double precision.
    """
    first, begin, end = runs
    for b in portion(len(rows) - 1, share):
        s = 0.0
        for v in range(rows[b], rows[b + 1]):
            right, left_down, down, right_down = weight[0, v], weight[1, v], weight[2, v], weight[3, v]
            left_up, up, right_up = weight[3, v - 1], weight[2, v - 1], weight[1, v - 1]
            above, here, below, product = x[v - 1], x[v], x[v + 1], out[v]
            for k in range(first[v], first[v + 1]):
                lo, hi = max(1, int(begin[k])), int(end[k])  # at least 1: Numba need not look for negative columns
                for u in range(lo, hi):
                    at = np.float64(here[u])
                    product[u] = right[u] * (at - here[u + 1]) + right[u - 1] * (at - here[u - 1])
                for u in range(lo, hi):
                    at = np.float64(here[u])
                    product[u] += left_up[u - 1] * (at - above[u - 1]) + up[u] * (at - above[u])
                for u in range(lo, hi):
                    at = np.float64(here[u])
                    product[u] += right_up[u + 1] * (at - above[u + 1]) + left_down[u] * (at - below[u - 1])
                for u in range(lo, hi):
                    at = np.float64(here[u])
                    product[u] += down[u] * (at - below[u]) + right_down[u] * (at - below[u + 1])
                for u in range(lo, hi):
                    s += product[u] * here[u]
        part[b] = s


@kernel
def _apply_loose(tail, head, weight, x, out):
    """Add the part of the loose edges to out = L x, and return that of x·L x."""
    s = 0.0
    for e in range(len(tail)):
        i, j = np.uint32(tail[e]), np.uint32(head[e])  # unsigned: see `laplacians.multigrid.smoothing`
        step = np.float64(x[i]) - x[j]
        flow = weight[e] * step
        out[i] += flow
        out[j] -= flow
        s += flow * step
    return s
