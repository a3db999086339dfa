"""The coarse space of the filling: functions that are bilinear between the nodes of a wide grid, one set for each component.

Tiles correct each other's filling only where their windows overlap. What is wrong over longer distances is corrected here,
by the best combination of the coarse functions. The system for it (PᵀLP, where the columns of P are the functions) is added
up over the edges of all tiles; see `quotientgraph.scale.coarse_system`.

An edge spans one pixel, so that both of its ends lie in one closed cell of the grid. It therefore adds to the equations of
the four corners of that cell only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laplacians.core.jit import kernel

from ..geometry.camera import Shape
from .tiling import Box


@dataclass(frozen=True)
class Grid:
    """The nodes over a whole map.

    Attributes
    ----------
    shape : (H, W)
        Of the map.
    spacing : int
        Pixels between nodes; it divides the width if the map goes all around.
    around : bool
    """

    shape: Shape
    spacing: int
    around: bool = False

    @property
    def across(self) -> int:
        """Nodes in a row."""
        return self.shape[1] // self.spacing if self.around else (self.shape[1] - 1) // self.spacing + 2

    @property
    def size(self) -> int:
        """Nodes of the grid, which is the number of keys of each component."""
        return ((self.shape[0] - 1) // self.spacing + 2) * self.across

    def keys(self, rank: np.ndarray, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """The number that nodes of components have in the whole map, int64; the three are broadcast."""
        return rank * self.size + row * self.across + (column % self.across if self.around else column)


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

    @property
    def spacing(self) -> int:
        return self.grid.spacing

    @property
    def corner(self) -> tuple[int, int]:
        """Row and column of the first node of the patch in the grid of the map."""
        return self.box.top // self.spacing, self.box.left // self.spacing

    @property
    def size(self) -> tuple[int, int, int]:
        """Number of components, and of rows and columns of nodes."""
        row, column = self.corner
        last_row, last_column = (self.box.bottom - 1) // self.spacing, (self.box.right - 1) // self.spacing
        return len(self.ranks), last_row - row + 2, last_column - column + 2

    @property
    def keys(self) -> np.ndarray:
        """(m, rows, columns) int64: the number that each node of each component has in the whole map."""
        _, rows, columns = self.size
        row, column = self.corner
        return self.grid.keys(
            self.ranks[:, None, None], (row + np.arange(rows))[:, None], column + np.arange(columns)[None, :]
        )

    @property
    def _place(self) -> tuple[int, ...]:
        """Row and column of the first cell, the frame, in pixels from the first node; and the spacing."""
        row, column = self.corner
        return self.box.top - 1 - row * self.spacing, self.box.left - 1 - column * self.spacing, self.spacing

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
def _prolong(number, slot, top, left, spacing, table, x):
    """x += the bilinear function between the values of `table` (m, rows, columns) at each cell with a slot.

    The first cell is `top` rows and `left` columns from the first node, which may be negative: the frame is not read.
    """
    height, width = number.shape
    for v in range(1, height - 1):
        a, p = (top + v) // spacing, ((top + v) % spacing) / spacing
        for u in range(1, width - 1):
            s = slot[number[v, u]] if number[v, u] >= 0 else -1
            if s >= 0:
                b, q = (left + u) // spacing, ((left + u) % spacing) / spacing
                x[v, u] += (1 - p) * ((1 - q) * table[s, a, b] + q * table[s, a, b + 1]) + p * (
                    (1 - q) * table[s, a + 1, b] + q * table[s, a + 1, b + 1]
                )


@kernel
def _restrict(number, slot, top, left, spacing, r, table):
    """The transpose of `_prolong`: table += Pᵀ r."""
    height, width = number.shape
    for v in range(1, height - 1):
        a, p = (top + v) // spacing, ((top + v) % spacing) / spacing
        for u in range(1, width - 1):
            s = slot[number[v, u]] if number[v, u] >= 0 else -1
            if s >= 0 and r[v, u] != 0:
                b, q = (left + u) // spacing, ((left + u) % spacing) / spacing
                table[s, a, b] += (1 - p) * (1 - q) * r[v, u]
                table[s, a, b + 1] += (1 - p) * q * r[v, u]
                table[s, a + 1, b] += p * (1 - q) * r[v, u]
                table[s, a + 1, b + 1] += p * q * r[v, u]


@kernel
def _assemble(weight, number, slot, top, left, spacing, first, last, begin, end, cells):
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
                    va, ua = top + v, left + u
                    vb, ub = (va, ua + 1) if k == 0 else (va + 1, ua + k - 2)
                    a, b = va // spacing, min(ua, ub) // spacing
                    pa, qa = va / spacing - a, ua / spacing - b
                    pb, qb = vb / spacing - a, ub / spacing - b
                    delta[0] = (1 - pa) * (1 - qa) - (1 - pb) * (1 - qb)
                    delta[1] = (1 - pa) * qa - (1 - pb) * qb
                    delta[2] = pa * (1 - qa) - pb * (1 - qb)
                    delta[3] = pa * qa - pb * qb
                    for i in range(4):
                        for j in range(4):
                            cells[s, a, b, i, j] += w * delta[i] * delta[j]
