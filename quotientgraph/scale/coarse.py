"""The coarse space of the filling: functions that are bilinear between the nodes of a wide grid, one set for each component.

Tiles correct each other's filling only where their windows overlap. What is wrong over longer distances is corrected here,
by the best combination of the coarse functions. The system for it (PᵀLP, where the columns of P are the functions) is added
up over the edges of all tiles; see `quotientgraph.scale.coarse_system`.

An edge spans one pixel, so that both of its ends lie in one closed cell of the grid. It therefore adds to the equations of
the four corners of that cell only. Where the map wraps, the grid goes on in its first nodes; its last cells are as wide as
it takes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from laplacians.core.jit import kernel

from ..geometry.camera import Shape
from ..geometry.wrapping import Wrap
from .tiling import Box


@dataclass(frozen=True)
class Grid:
    """The nodes over a whole map.

    Attributes
    ----------
    shape : (H, W)
        Of the map.
    spacing : int
        Pixels between nodes.
    wrap : Wrap
    """

    shape: Shape
    spacing: int
    wrap: Wrap = field(default_factory=Wrap)

    @property
    def poles(self) -> bool:
        """Whether rows meet at a pole. The nodes at a pole are one, and the others are the same half a turn further."""
        return self.wrap.top or self.wrap.bottom

    @property
    def nodes(self) -> tuple[int, int]:
        """Nodes in a column and in a row of the grid."""
        (height, width), spacing = self.shape, self.spacing
        rows = max(1, height // spacing) if self.wrap.y else (height - 1) // spacing + 2
        columns = max(1, width // spacing) if self.wrap.x else (width - 1) // spacing + 2
        return (
            (max(1, (height - 1) // spacing) + 1, 2 * max(1, width // 2 // spacing)) if self.poles else (rows, columns)
        )

    @property
    def size(self) -> int:
        """Nodes of the grid, which is the number of keys of each component."""
        return self.nodes[0] * self.nodes[1]

    def keys(self, rank: np.ndarray, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """The number that nodes of components have in the whole map, int64; the three are broadcast."""
        rows, columns = self.nodes
        if self.poles:
            beyond = (row < 0) | (row >= rows)
            column = np.where(beyond, column + columns // 2, column)
            row = np.where(beyond, np.where(row < 0, -row, 2 * (rows - 1) - row), row)
            for wraps, at in ((self.wrap.top, 0), (self.wrap.bottom, rows - 1)):
                column = np.where(wraps & (row == at), 0, column)
        return rank * self.size + row % rows * columns + column % columns

    def cells(self, axis: int, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For rows (axis 0) or columns: the last node before each, and the way from it to the next one as a part of 1.

        Beyond a border around which the map goes on, nodes are counted on.
        """
        size, nodes = self.shape[axis], self.nodes[axis]
        if self.poles:
            if axis == 0:
                return self._rows_and_beyond(at)
            size, nodes = size // 2, nodes // 2
        elif not (self.wrap.y, self.wrap.x)[axis]:
            return at // self.spacing, at % self.spacing / self.spacing
        turn, at = np.divmod(at, size)
        node, way = self._within(at, size, nodes)
        return turn * nodes + node, way

    def _within(self, at: np.ndarray, size: int, cells: int) -> tuple[np.ndarray, np.ndarray]:
        """Cells of the usual size, but for the last one, which is as long as it takes."""
        node = np.minimum(at // self.spacing, cells - 1)
        return node, (at - node * self.spacing) / np.where(
            node < cells - 1, self.spacing, size - (cells - 1) * self.spacing
        )

    def _rows_and_beyond(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows that may lie beyond a pole, where they are counted backwards; the first and the last row are nodes."""
        height, cells = self.shape[0], self.nodes[0] - 1
        above, below = at < 0, at >= height
        inside = np.where(above, -1 - at, np.where(below, 2 * height - 1 - at, at))
        node, way = self._within(inside, height - 1, cells)
        node = np.where(above, -1 - node, np.where(below, 2 * cells - 1 - node, node))
        return node, np.where(above | below, 1 - way, way)


@dataclass(frozen=True, eq=False)
class Patch:
    """The part of the coarse grid that a window touches, for the components that have coarse functions there.

    Attributes
    ----------
    box : Box
        The window.
    number : (height, width) int32
        Component of each cell, as `Field` numbers them; the window begins at the second row and column. −1 for none.
    slot : (n_components,) int32
        Which of `ranks` each of those components is; −1 if it has no coarse functions.
    ranks : (m,) int64
        Number of each component among those with coarse functions.
    grid : Grid
    """

    box: Box
    number: np.ndarray
    slot: np.ndarray
    ranks: np.ndarray
    grid: Grid

    @classmethod
    def from_ranks(cls, box: Box, grid: Grid, number: np.ndarray, rank: np.ndarray) -> Patch:
        """From the rank (n_components,) of each component, −1 for none."""
        seen = np.zeros(len(rank), dtype=bool)
        _mark(number, seen)
        used = seen & (rank >= 0)
        ranks = np.unique(rank[used])
        slot = np.where(used, np.searchsorted(ranks, rank), -1).astype(np.int32)
        return cls(box, number, slot, ranks.astype(np.int64), grid)

    @cached_property
    def _lines(self) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """For rows and columns: the first node; of each cell the node before it, counted from that one, and the way."""
        out = []
        for axis, begin, n in ((0, self.box.top, self.box.shape[0]), (1, self.box.left, self.box.shape[1])):
            node, way = self.grid.cells(axis, begin + np.clip(np.arange(-1, self.number.shape[axis] - 1), 0, n - 1))
            out.append((int(node[0]), node - node[0], way))
        return out

    @property
    def size(self) -> tuple[int, int, int]:
        """Number of components, and of rows and columns of nodes."""
        (_, rows, _), (_, columns, _) = self._lines
        return len(self.ranks), int(rows[-1]) + 2, int(columns[-1]) + 2

    @property
    def keys(self) -> np.ndarray:
        """(m, rows, columns) int64: the number that each node of each component has in the whole map."""
        _, rows, columns = self.size
        row, column = (line[0] for line in self._lines)
        return self.grid.keys(
            self.ranks[:, None, None], (row + np.arange(rows))[:, None], column + np.arange(columns)[None, :]
        )

    @property
    def _place(self) -> tuple[np.ndarray, ...]:
        """Of each row of cells and of each column: the node before it, and the way from there to the next one."""
        (_, rows, down), (_, columns, right) = self._lines
        return rows, down, columns, right

    def add_to(self, x: np.ndarray, keys: np.ndarray, values: np.ndarray) -> None:
        """Add the combination of coarse functions with the given values (at sorted keys) to x (height, width), in place."""
        if len(self.ranks) and len(keys):
            wanted = self.keys
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            table = np.where(keys[at] == wanted, values[at], 0.0)
            _prolong(self.number, self.slot, *self._place, table, x)

    def sums(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Keys and values of Pᵀ r, where r is (height, width)."""
        table = np.zeros(self.size)
        if len(self.ranks):
            _restrict(self.number, self.slot, *self._place, r, table)
        used = np.flatnonzero(table)
        return self.keys.ravel()[used], table.ravel()[used]

    def matrix(self, weight: np.ndarray, rows: slice, columns: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What edges add to PᵀLP, as keys of rows, keys of columns and values, of the upper triangle.

        `weight` (4, height, width) is that of a `Field`; the edges of the cells in the given rows and columns are counted.
        """
        m, n_rows, n_columns = self.size
        cells = np.zeros((m, max(n_rows - 1, 0), max(n_columns - 1, 0), 4, 4))
        if m:
            bounds = (rows.start, rows.stop, columns.start, columns.stop)
            _assemble(weight, self.number, self.slot, *self._place, *bounds, cells)
        keys = self.keys
        corners = np.stack([keys[:, :-1, :-1], keys[:, :-1, 1:], keys[:, 1:, :-1], keys[:, 1:, 1:]], axis=-1)
        used = np.flatnonzero(np.abs(cells).sum(axis=(-1, -2)).ravel())
        cells, corners = cells.reshape(-1, 4, 4)[used], corners.reshape(-1, 4)[used]
        row, column = (np.broadcast_to(c, cells.shape) for c in (corners[:, :, None], corners[:, None, :]))
        upper = row <= column
        return summed(row[upper], column[upper], cells[upper])


def summed(row: np.ndarray, column: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries of a matrix sorted by (row, column), with equal places added up."""
    order = np.lexsort((column, row))
    row, column, value = row[order], column[order], value[order]
    if not len(row):
        return row, column, value
    begin = np.flatnonzero(np.append(True, (row[1:] != row[:-1]) | (column[1:] != column[:-1])))
    return row[begin], column[begin], np.add.reduceat(value, begin)


@kernel
def _mark(number, seen):
    """Set `seen` of every number that occurs; negative ones are passed over."""
    for v in range(number.shape[0]):
        for u in range(number.shape[1]):
            if number[v, u] >= 0:
                seen[number[v, u]] = True


@kernel
def _prolong(number, slot, row, down, column, right, table, x):
    """x += the bilinear function between the values of `table` (m, rows, columns) at each cell with a slot.

    `row` and `down` have the node before each row of cells and the way to the next one. The frame is not read.
    """
    height, width = number.shape
    for v in range(1, height - 1):
        a, p = row[v], down[v]
        for u in range(1, width - 1):
            s = slot[number[v, u]] if number[v, u] >= 0 else -1
            if s >= 0:
                b, q = column[u], right[u]
                x[v, u] += (1 - p) * ((1 - q) * table[s, a, b] + q * table[s, a, b + 1]) + p * (
                    (1 - q) * table[s, a + 1, b] + q * table[s, a + 1, b + 1]
                )


@kernel
def _restrict(number, slot, row, down, column, right, r, table):
    """The transpose of `_prolong`: table += Pᵀ r."""
    height, width = number.shape
    for v in range(1, height - 1):
        a, p = row[v], down[v]
        for u in range(1, width - 1):
            s = slot[number[v, u]] if number[v, u] >= 0 else -1
            if s >= 0 and r[v, u] != 0:
                b, q = column[u], right[u]
                table[s, a, b] += (1 - p) * (1 - q) * r[v, u]
                table[s, a, b + 1] += (1 - p) * q * r[v, u]
                table[s, a + 1, b] += p * (1 - q) * r[v, u]
                table[s, a + 1, b + 1] += p * q * r[v, u]


@kernel
def _assemble(weight, number, slot, row, down, column, right, first, last, begin, end, cells):
    """cells[slot, row, column] += weight·δδᵀ for each edge of the cells in rows first:last and columns begin:end, where δ is
    the difference of its ends in the four corners of the square of nodes that holds it.
    """
    delta = np.empty(4)
    for v in range(first, last):
        for u in range(begin, end):
            s = slot[number[v, u]] if number[v, u] >= 0 else -1
            if s < 0:
                continue
            for k in range(4):
                w = np.float64(weight[k, v, u])
                if w > 0:
                    below, beside = (v, u + 1) if k == 0 else (v + 1, u + k - 2)
                    a, b = row[v], min(column[u], column[beside])
                    pa, qa = down[v], right[u] if column[u] == b else 1.0
                    pb = down[below] if row[below] == a else 1.0
                    qb = right[beside] if column[beside] == b else 1.0
                    delta[0] = (1 - pa) * (1 - qa) - (1 - pb) * (1 - qb)
                    delta[1] = (1 - pa) * qa - (1 - pb) * qb
                    delta[2] = pa * (1 - qa) - pb * (1 - qb)
                    delta[3] = pa * qa - pb * qb
                    for i in range(4):
                        for j in range(4):
                            cells[s, a, b, i, j] += w * delta[i] * delta[j]
