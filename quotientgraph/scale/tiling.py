"""`Tiling`: how a map is divided into tiles, and the windows that tiles see beyond their own pixels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..geometry.camera import Shape

# Hidden jumps compare normals with their surroundings in squares of this many pixels; tiles and windows begin at multiples.
ALIGNED = 8
# Pixels that a tile sees beyond its own where it needs its neighbours only; two of those squares.
MARGIN = 2 * ALIGNED


def compact(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the values that occur, in their order; like ``np.unique`` with its inverse, without sorting.

    >>> [part.tolist() for part in compact(np.array([7, 3, 7]))]
    [[3, 7], [1, 0, 1]]
    """
    seen = np.zeros(int(numbers.max(initial=-1)) + 1, dtype=bool)
    seen[numbers] = True
    return np.flatnonzero(seen), (np.cumsum(seen, dtype=np.int32) - 1)[numbers].astype(np.int32, copy=False)


class Box(NamedTuple):
    """A rectangle of pixels: rows top:bottom, columns left:right."""

    top: int
    left: int
    bottom: int
    right: int

    @property
    def shape(self) -> Shape:
        return self.bottom - self.top, self.right - self.left

    def within(self, other: Box) -> tuple[slice, slice]:
        """The slices of this box in an array that begins where `other` begins."""
        return (
            slice(self.top - other.top, self.bottom - other.top),
            slice(self.left - other.left, self.right - other.left),
        )

    def moved(self, columns: int) -> Box:
        """The box so many columns further to the right."""
        return Box(self.top, self.left + columns, self.bottom, self.right + columns)

    def turns(self, width: int) -> Iterator[tuple[int, Box]]:
        """The parts of a box that may reach beyond a map of this width: how far each was moved, and the part in the map."""
        for begin in range(self.left // width * width, max(self.right, 1), width):
            piece = self.moved(-begin).common(Box(self.top, 0, self.bottom, width))
            if piece.left < piece.right:
                yield begin, piece

    def common(self, other: Box) -> Box:
        """What two boxes share."""
        return Box(
            max(self.top, other.top),
            max(self.left, other.left),
            min(self.bottom, other.bottom),
            min(self.right, other.right),
        )


@dataclass(frozen=True)
class Tiling:
    """Square tiles over a map, row by row; those at the right and the bottom may be smaller.

    Attributes
    ----------
    shape : (H, W)
    tile : int
        Pixels along the side of a tile, a multiple of 8.
    overlap : int
        How far the window of a tile reaches beyond it while filling is corrected, a multiple of 8.
    around : bool
        Whether the last column goes on in the first one. Windows then reach beyond the map: their columns may be negative
        or above the width, and mean those a width further.

    Examples
    --------
    >>> tiling = Tiling((100, 70), 64, 16)
    >>> tiling.n_tiles, tiling.core(3)
    (4, Box(top=64, left=64, bottom=100, right=70))
    """

    shape: Shape
    tile: int
    overlap: int
    around: bool = False

    def __post_init__(self) -> None:
        for name, least in (("tile", 2 * MARGIN), ("overlap", MARGIN)):
            value = getattr(self, name)
            if value % ALIGNED or value < least:
                raise ValueError(f"{name}={value} must be a multiple of {ALIGNED} and at least {least} pixels")

    @property
    def rows(self) -> int:
        return -(-self.shape[0] // self.tile)

    @property
    def columns(self) -> int:
        return -(-self.shape[1] // self.tile)

    @property
    def n_tiles(self) -> int:
        return self.rows * self.columns

    def core(self, k: int) -> Box:
        """The pixels that belong to tile `k`."""
        row, column = divmod(k, self.columns)
        top, left = row * self.tile, column * self.tile
        return Box(top, left, min(top + self.tile, self.shape[0]), min(left + self.tile, self.shape[1]))

    def window(self, k: int, reach: int) -> Box:
        """The pixels of tile `k` and those up to `reach` beyond it, inside the map."""
        core, (height, width) = self.core(k), self.shape
        beside = reach if self.around else 0
        return Box(core.top - reach, core.left - reach, core.bottom + reach, core.right + reach).common(
            Box(0, -beside, height, width + beside)
        )

    def parts(self, box: Box) -> Iterator[tuple[int, Box]]:
        """The tiles that a box touches, and what each has of it, in the coordinates of the box."""
        for begin, piece in box.turns(self.shape[1]):
            for row in range(piece.top // self.tile, -(-piece.bottom // self.tile)):
                for column in range(piece.left // self.tile, -(-piece.right // self.tile)):
                    k = row * self.columns + column
                    yield k, self.core(k).common(piece).moved(begin)

    def places(self, box: Box, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns in a box of flat positions in the map; they may lie outside the box."""
        row, column = np.divmod(position, self.shape[1])
        column = column - box.left
        return row - box.top, column % self.shape[1] if self.around else column

    def steps(self, tail: np.ndarray, head: np.ndarray) -> np.ndarray:
        """Which neighbour of `tail` each `head` is, both flat positions: 0 right, 1 lower left, 2 lower, 3 lower right."""
        (row, column), (below, beside) = (np.divmod(end, self.shape[1]) for end in (tail, head))
        right = beside - column
        if self.around:
            right = (right + 1) % self.shape[1] - 1
        return np.where(below == row, 0, right + 2)

    def seen_by(self, k: int) -> set[int]:
        """The tiles whose windows in rounds of filling have pixels of tile `k`, which are also those that its window has."""
        return {j for j, _ in self.parts(self.window(k, self.overlap))}

    def tile_of(self, position: np.ndarray) -> np.ndarray:
        """The tile of each flat position (int64) in the map."""
        row, column = np.divmod(position, self.shape[1])
        return row // self.tile * self.columns + column // self.tile
