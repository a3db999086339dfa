"""Runs of cells in the rows of a grid: which parts of it hold nodes, so that sweeps pass over the rest.

Large parts of a grid can be empty, outside an object or where components are solved already. Their values are zero in all
vectors and stay so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Runs of a row that are no farther apart are one. To begin another takes as long as to go on over so many empty cells.
_GAP = 32


class Runs(NamedTuple):
    """Parts of the rows of a grid; what lies outside them holds no node.

    Runs consist of whole squares of 2×2 cells, so they begin and end at odd columns.

    Attributes
    ----------
    first : (height + 1,) int32
        The runs of row v are first[v] to first[v + 1].
    begin, end : (n_runs,) int32
        Columns.
    """

    first: np.ndarray
    begin: np.ndarray
    end: np.ndarray

    @classmethod
    def from_cells(cls, occupied: np.ndarray) -> Runs:
        """The runs of the cells (height, width) bool that hold nodes. There are none in the frame; both sizes are even.

        >>> cells = np.zeros((4, 100), dtype=bool)
        >>> cells[1, [4, 90]], cells[2, 5:8] = True, True
        >>> [part.tolist() for part in Runs.from_cells(cells)]
        [[0, 0, 2, 3, 3], [3, 89, 5], [5, 91, 9]]
        """
        flat = occupied.reshape(-1)
        change = np.flatnonzero(flat[1:] != flat[:-1]) + 1  # the frame is empty, so that runs end in their row
        return cls._joined(occupied.shape, change[::2], change[1::2])

    def contracted(self, shape: tuple[int, int]) -> Runs:
        """The runs of the grid of the given shape whose cells are the squares of 2×2 cells of this one."""
        row = (np.repeat(np.arange(len(self.first) - 1), np.diff(self.first)) + 1) // 2 * shape[1]
        begin, end = row + (self.begin + 1) // 2, row + (self.end + 1) // 2
        order = np.argsort(begin, kind="stable")
        begin, end = begin[order], np.maximum.accumulate(end[order])
        new = np.ones(len(begin) + 1, dtype=np.bool_)  # the end counts as one more beginning
        new[1:-1] = begin[1:] > end[:-1]
        return self._joined(shape, begin[new[:-1]], end[new[1:]])

    @classmethod
    def _joined(cls, shape: tuple[int, int], begin: np.ndarray, end: np.ndarray) -> Runs:
        """From runs of flat positions, each in one row: made of whole squares, and those joined that are near each other."""
        row = begin // shape[1]
        begin, end = (begin - row * shape[1] - 1) | 1, (end - row * shape[1]) | 1
        new = np.ones(len(row) + 1, dtype=np.bool_)
        new[1:-1] = (row[1:] != row[:-1]) | (begin[1:] - end[:-1] > _GAP)
        row, begin, end = row[new[:-1]], begin[new[:-1]], end[new[1:]]
        first = np.searchsorted(row, np.arange(shape[0] + 1))
        return cls(first.astype(np.int32), begin.astype(np.int32), end.astype(np.int32))
