"""Weighted graphs whose nodes lie on a grid, each joined to some of its eight neighbours: the finest level of multigrid.

A node keeps the weights of four of its edges, and its other four edges are kept by their other ends. Rows of the grid are
read in order and no neighbour is looked up, so memory is read at full speed and loops use vector instructions. This takes a
quarter of the memory of neighbour lists.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.jit import kernel, prange

# Sweeps over a grid read memory in order, so that threads pay for large grids only.
PARALLEL_FROM = 2**21
# The grid is processed in blocks of rows: at most so many of them, with at least so many rows each.
_N_BLOCKS, _BLOCK_ROWS = 32, 32
# Edges within a row are smoothed by Jacobi's method, which needs damping: this fraction of their weights is added to the
# diagonal. A pair of nodes that is joined to nothing else would otherwise not converge.
DAMPING = np.float32(0.5)


@dataclass(frozen=True, eq=False)
class GridGraph:
    """A weighted graph on a grid with a frame of empty cells around it. The nodes are numbered row by row.

    Height and width are even, so that squares of 2×2 cells fit into the frame.

    Attributes
    ----------
    weight : (4, height, width) float32, ≥ 0
        Weights of the edges of each cell to its right, lower left, lower and lower right neighbour; 0 where there is no
        edge. No edge reaches the first or last row or column.
    inverse : (height, width) float32
        One over what the smoother divides by: the sum of the weights of all eight edges, and half of those within the row
        once more; 0 for a cell without edges.

    Examples
    --------
    >>> cell = np.array([5, 6, 9], dtype=np.int32)
    >>> graph = GridGraph.from_edges((4, 4), cell, np.array([0, 1]), np.array([1, 2]), np.array([1.0, 4.0]))
    >>> graph.weight[:, 1, 1:3].tolist()
    [[1.0, 0.0], [0.0, 4.0], [0.0, 0.0], [0.0, 0.0]]
    """

    weight: np.ndarray
    inverse: np.ndarray

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
    def from_weights(cls, weight: np.ndarray) -> GridGraph:
        """The graph of weights that are on the grid already; see the attribute `weight`."""
        inverse = np.zeros(weight.shape[1:], dtype=np.float32)
        _invert(weight, inverse)
        return cls(weight, inverse)

    @property
    def n(self) -> int:
        """Number of cells."""
        return self.inverse.size

    @property
    def blocks(self) -> np.ndarray:
        """First row of each block of rows that is smoothed on its own, and the end of the last one; the frame left out.

        Blocks begin at odd rows, where squares of 2×2 cells begin.
        """
        height = self.inverse.shape[0] - 2
        n_blocks = max(1, min(_N_BLOCKS, height // _BLOCK_ROWS))
        return 1 + np.append(height // 2 * np.arange(n_blocks) // n_blocks * 2, height)

    def apply(self, x: np.ndarray, out: np.ndarray) -> float:
        """Write L x into `out` and return x·L x, where L is the Laplacian of this graph. Both have one value per cell."""
        rows, shape = self.blocks, self.inverse.shape
        part, product = np.zeros(len(rows) - 1), out.reshape(shape)
        _apply(self.weight, x.reshape(shape), product, rows, part)
        product[[0, -1]] = product[:, [0, -1]] = 0
        return float(part.sum())


@kernel
def _place(cell, tail, head, weight, width, placed):
    """Write the weight of each edge to where its tail keeps it. Assumes neighbouring cells, the tail's first."""
    for e in range(len(tail)):
        at = cell[tail[e]]
        step = cell[head[e]] - at
        placed[0 if step == 1 else step - width + 2, at] = weight[e]


@kernel(parallel=True, parallel_from=PARALLEL_FROM, error_model="numpy")
def _invert(weight, inverse):
    """Write what `GridGraph.inverse` holds. Assumes an empty frame, and zeros in `inverse`."""
    height, width = inverse.shape
    for v in prange(1, height - 1):
        right, left_down, down, right_down = weight[0, v], weight[1, v], weight[2, v], weight[3, v]
        left_up, up, right_up = weight[3, v - 1], weight[2, v - 1], weight[1, v - 1]
        for u in range(1, width - 1):
            across = right[u] + right[u - 1]
            above = (left_up[u - 1] + up[u]) + right_up[u + 1]
            below = (left_down[u] + down[u]) + right_down[u]
            total = across + above + below
            inverse[v, u] = np.float32(1) / (total + DAMPING * across) if total > 0 else np.float32(0)


@kernel(parallel=True, parallel_from=PARALLEL_FROM)
def _apply(weight, x, out, rows, part):
    """Write out = L x, and x·L x of each block of rows into `part`.

    Products are made with differences of x, so that constants vanish exactly, and in double precision.
    """
    width = x.shape[1]
    for b in prange(len(rows) - 1):
        s = 0.0
        for v in range(rows[b], rows[b + 1]):
            right, left_down, down, right_down = weight[0, v], weight[1, v], weight[2, v], weight[3, v]
            left_up, up, right_up = weight[3, v - 1], weight[2, v - 1], weight[1, v - 1]
            above, here, below, product = x[v - 1], x[v], x[v + 1], out[v]
            for u in range(1, width - 1):
                at = np.float64(here[u])
                product[u] = right[u] * (at - here[u + 1]) + right[u - 1] * (at - here[u - 1])
            for u in range(1, width - 1):
                at = np.float64(here[u])
                product[u] += left_up[u - 1] * (at - above[u - 1]) + up[u] * (at - above[u])
            for u in range(1, width - 1):
                at = np.float64(here[u])
                product[u] += right_up[u + 1] * (at - above[u + 1]) + left_down[u] * (at - below[u - 1])
            for u in range(1, width - 1):
                at = np.float64(here[u])
                product[u] += down[u] * (at - below[u]) + right_down[u] * (at - below[u + 1])
            for u in range(1, width - 1):
                s += product[u] * here[u]
        part[b] = s
