"""`Tiling`: how a map is divided into tiles, and the windows that tiles see beyond their own pixels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..geometry.camera import Shape
from ..geometry.wrapping import Wrap

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

    def common(self, other: Box) -> Box:
        """What two boxes share."""
        return Box(
            max(self.top, other.top),
            max(self.left, other.left),
            min(self.bottom, other.bottom),
            min(self.right, other.right),
        )


class Turn(NamedTuple):
    """A part of a box that may reach beyond the borders of a map that wraps.

    `part` is in the coordinates of the box, and `source` is where its pixels are in the map. Beyond a pole of a panorama the
    rows are `flipped`: the first row of the part is the last one of the source.
    """

    part: Box
    source: Box
    flipped: bool

    def seen(self, values: np.ndarray) -> np.ndarray:
        """An image of the source as the part sees it."""
        return values[::-1] if self.flipped else values


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
    wrap : Wrap
        Which borders of the map meet. Windows reach beyond these: their rows and columns may be negative or above the size
        of the map, and mean those a turn further. A window may have a pixel several times, if the map is smaller than it.

    Examples
    --------
    >>> tiling = Tiling((100, 70), 64, 16)
    >>> tiling.n_tiles, tiling.core(3)
    (4, Box(top=64, left=64, bottom=100, right=70))
    """

    shape: Shape
    tile: int
    overlap: int
    wrap: Wrap = field(default_factory=Wrap)

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
        beside, (above, below) = reach if self.wrap.x else 0, self._beyond(reach)
        return Box(core.top - reach, core.left - reach, core.bottom + reach, core.right + reach).common(
            Box(-above, -beside, height + below, width + beside)
        )

    def _beyond(self, reach: int) -> tuple[int, int]:
        """How far windows reach beyond the first and the last row of the map."""
        if self.wrap.y:
            return reach, reach
        most = min(reach, self.shape[0])
        return most if self.wrap.top else 0, most if self.wrap.bottom else 0

    def turns(self, box: Box) -> Iterator[Turn]:
        """The parts of a box that do not cross a border of the map."""
        height, width = self.shape
        for down in range(box.top // height * height, max(box.bottom, 1), height):
            top, bottom = max(box.top, down), min(box.bottom, down + height)
            flipped = down != 0 and not self.wrap.y
            aside = width // 2 if flipped else 0
            first = top - down
            if flipped:  # above the map −1 is row 0, and below it H is row H − 1
                first = -bottom if down < 0 else 2 * height - bottom
            left, right = box.left + aside, box.right + aside
            for turn in range(left // width * width, max(right, 1), width):
                begin, end = max(left, turn), min(right, turn + width)
                if top < bottom and begin < end:
                    part = Box(top, begin - aside, bottom, end - aside)
                    yield Turn(part, Box(first, begin - turn, first + bottom - top, end - turn), flipped)

    def pieces(self, box: Box) -> Iterator[tuple[int, Turn]]:
        """The tiles that a box touches, and what each has of it."""
        for part, source, flipped in self.turns(box):
            for row in range(source.top // self.tile, -(-source.bottom // self.tile)):
                for column in range(source.left // self.tile, -(-source.right // self.tile)):
                    k = row * self.columns + column
                    own = self.core(k).common(source)
                    left = part.left + own.left - source.left
                    top = part.top + (source.bottom - own.bottom if flipped else own.top - source.top)
                    yield k, Turn(Box(top, left, top + own.shape[0], left + own.shape[1]), own, flipped)

    def parts(self, box: Box) -> Iterator[tuple[int, Box]]:
        """The same, without where it is in the map."""
        return ((k, turn.part) for k, turn in self.pieces(box))

    def meets_itself(self, box: Box) -> bool:
        """Whether a window may have a pixel more than once."""
        (height, width), (rows, columns) = self.shape, box.shape
        over_pole = not self.wrap.y and (box.top < 0 or box.bottom > height)
        return (self.wrap.y and rows > height) or (self.wrap.x and columns > (width // 2 if over_pole else width))

    def positions(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """(n,) int64 flat positions in the map of rows and columns that may lie beyond its borders."""
        height, width = self.shape
        if self.wrap.top or self.wrap.bottom:
            beyond = (row < 0) | (row >= height)
            column = np.where(beyond, column + width // 2, column)
            row = np.where(beyond, np.where(row < 0, -1 - row, 2 * height - 1 - row), row)
        return row % height * width + column % width

    def edges(self, box: Box, tail: np.ndarray, head: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where edges between flat positions in the map are in a box, each as often as it is there.

        Returns rows and columns of the first of their two pixels, counted from the corner of the box, and which neighbour
        the other is: 0 right, 1 lower left, 2 lower, 3 lower right. That one may lie outside the box.
        """
        height, width = self.shape
        (row, column), (below, beside) = (np.divmod(end, width) for end in (tail, head))
        down, right = below - row, beside - column
        if self.wrap.y:
            down = (down + 1) % height - 1
        if self.wrap.x:
            right = (right + width // 2) % width - width // 2
            over_pole = np.abs(right) > 1
            right = np.where(over_pole, (right + width // 2 + 1) % width - 1, right)
            down = np.where(over_pole, np.where(row == 0, -1, 1), down)
        found = [(np.zeros(0, dtype=np.int64),) * 3]
        for part, source, flipped in self.turns(box):
            here = (row >= source.top) & (row < source.bottom) & (column >= source.left) & (column < source.right)
            v, u = row[here] - source.top, column[here] - source.left
            v, dv = (source.shape[0] - 1 - v, -down[here]) if flipped else (v, down[here])
            v, u, du = v + part.top - box.top, u + part.left - box.left, right[here]
            turned = (dv < 0) | ((dv == 0) & (du < 0))  # the other end comes first
            v, u = np.where(turned, v + dv, v), np.where(turned, u + du, u)
            dv, du = np.where(turned, -dv, dv), np.where(turned, -du, du)
            seen = (v >= 0) & (u >= 0) & (u < box.shape[1])
            found.append((v[seen], u[seen], np.where(dv == 0, 0, du + 2)[seen]))
        rows, columns, steps = (np.concatenate(one) for one in zip(*found))
        return rows, columns, steps

    def seen_by(self, k: int) -> set[int]:
        """The tiles whose windows in rounds of filling have pixels of tile `k`, which are also those that its window has."""
        return {j for j, _ in self.parts(self.window(k, self.overlap))}

    def tile_of(self, position: np.ndarray) -> np.ndarray:
        """The tile of each flat position (int64) in the map."""
        row, column = np.divmod(position, self.shape[1])
        return row // self.tile * self.columns + column // self.tile
