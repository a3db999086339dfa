"""`Tree`: tiles in groups, groups in larger groups, up to one that holds the whole map.

What concerns several tiles is settled in groups. The task of a group reads the tables of its members, settles what does not
reach beyond the group, and passes on what is open at its own border: that is the way up. The group of the whole map has no
border, so everything is settled there at the latest, and goes down again to the members. No process holds a list as long as
the map has tiles; the longest lists are as long as the border of a group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .tiling import ALIGNED, Tiling
from .work import Work

SIDE = 2  # members along the side of a group


@dataclass(frozen=True)
class Tree:
    """Groups of tiles. Level 0 are the tiles; the groups of each level are numbered row by row, as tiles are.

    Attributes
    ----------
    tiling : Tiling
    side : int
        Members along the side of a group; those at the right and the bottom may have fewer.

    Examples
    --------
    >>> tree = Tree(Tiling((300, 200), 64, 16), 2)
    >>> tree.height, tree.n_groups(1), tree.members(1, 5), tree.above(1, 5)
    (3, 6, [18, 19], (1, 1))
    """

    tiling: Tiling
    side: int

    @property
    def height(self) -> int:
        """Level of the group that holds the whole map, at least 1."""
        level = 1
        while self.side**level < max(self.tiling.rows, self.tiling.columns):
            level += 1
        return level

    def _shape(self, level: int) -> tuple[int, int]:
        size = self.side**level
        return -(-self.tiling.rows // size), -(-self.tiling.columns // size)

    def n_groups(self, level: int) -> int:
        rows, columns = self._shape(level)
        return rows * columns

    def members(self, level: int, g: int) -> list[int]:
        """The groups of the level below that make up a group."""
        row, column = divmod(g, self._shape(level)[1])
        rows, columns = self._shape(level - 1)
        return [
            i * columns + j
            for i in range(self.side * row, min(self.side * (row + 1), rows))
            for j in range(self.side * column, min(self.side * (column + 1), columns))
        ]

    def above(self, level: int, g: int) -> tuple[int, int]:
        """The group of the level above that a group belongs to, and which of its members it is."""
        row, column = divmod(g, self._shape(level)[1])
        parent = row // self.side * self._shape(level + 1)[1] + column // self.side
        return parent, self.members(level + 1, parent).index(g)

    def group_of(self, level: int, tile: np.ndarray) -> np.ndarray:
        """The group of a level that each tile belongs to."""
        row, column = np.divmod(tile, self.tiling.columns)
        size = self.side**level
        return row // size * self._shape(level)[1] + column // size


def neighbours(tiling: Tiling, k: int) -> list[int]:
    """The tiles that tile `k` has edges to or from, itself included."""
    return sorted({k} | {j for j, _ in tiling.parts(tiling.window(k, ALIGNED))})


def edges_around(work: Work, k: int, name: str, *columns: str) -> dict[str, np.ndarray]:
    """Columns of the edges between tiles that have an end in tile `k`, which tables list by ``tail`` and ``head``.

    Each edge between tiles is listed by one of them. So both of them find it here, with the same values.
    """
    names, found = ("tail", "head", *columns), []
    for j in neighbours(work.tiling, k):
        table = work.table(name, j, *names)
        here = (work.tiling.tile_of(table["tail"]) == k) | (work.tiling.tile_of(table["head"]) == k)
        found.append([table[column][here] for column in names])
    return {column: np.concatenate(values) for column, values in zip(names, zip(*found))}


def starts(lists: list[np.ndarray]) -> np.ndarray:
    """Where each of some lists begins when they are put one after the other, and the end of the last one."""
    return np.append(0, np.cumsum([len(one) for one in lists], dtype=np.int64))


def found_at(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where each wanted number is in a list of keys, all of which are there; the list need not be sorted."""
    order = np.argsort(keys, kind="stable")
    return order[np.searchsorted(keys[order], wanted)]
