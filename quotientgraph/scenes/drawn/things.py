"""Things that stand on a floor, and how they are set up beside, on and in front of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..solids import Array, Box, Solid, turned

Draw = np.random.Generator


@dataclass(frozen=True)
class Thing:
    """Solids that stand on z = 0 around the origin; the front of furniture looks along −y.

    Attributes
    ----------
    solids : tuple of Solid
    half : half lengths, along x and y, of the rectangle that it stands in
    height : how tall it is
    top : half lengths of a flat surface at `height` on which things can stand; None if there is none
    """

    solids: tuple[Solid, ...]
    half: tuple[float, float]
    height: float
    top: tuple[float, float] | None = None

    def at(self, x: float, y: float, z: float = 0.0, degrees: float = 0.0) -> list[Solid]:
        """Its solids after turning it by `degrees` and moving it to (x, y, z)."""
        turn = turned(degrees)
        return [solid.moved(turn, np.array([x, y, z])) for solid in self.solids]


Maker = Callable[[Draw], Thing]


@dataclass
class Floor:
    """A rectangle on which things are set down so that they do not overlap.

    `low` and `high` are its corners; `taken` holds the corners (4, 2) of what already stands there.
    """

    low: tuple[float, float]
    high: tuple[float, float]
    taken: list[Array] = field(default_factory=list)

    def claim(self, half: tuple[float, float], x: float, y: float, degrees: float, gap: float = 0.0) -> bool:
        """Take the rectangle if it lies inside the floor and is free, with `gap` to spare on all sides."""
        corners = corners_of((half[0] + gap, half[1] + gap), x, y, degrees)
        inside = (corners >= np.array(self.low) - 1e-9).all() and (corners <= np.array(self.high) + 1e-9).all()
        if not inside or any(overlap(corners, other) for other in self.taken):
            return False
        self.taken.append(corners_of(half, x, y, degrees))
        return True

    def scatter(self, draw: Draw, things: Iterable[Thing], z: float = 0.0, off_axis: float = 0.5) -> list[Solid]:
        """Set things down wherever there is room; a share `off_axis` of them is turned by any angle."""
        solids: list[Solid] = []
        for thing in things:
            for _ in range(30):
                x, y = draw.uniform(self.low, self.high)
                degrees = draw.uniform(0, 360) if draw.random() < off_axis else 90.0 * draw.integers(4)
                if self.claim(thing.half, x, y, degrees, gap=0.004):
                    solids += thing.at(x, y, z, degrees)
                    break
        return solids

    def along_walls(self, draw: Draw, things: Iterable[Thing], walls: Sequence[str] = "NESW") -> list[Solid]:
        """Set things down with their backs to a wall: N is the side of largest y, E of largest x."""
        solids: list[Solid] = []
        for thing in things:
            for _ in range(20):
                wall = walls[int(draw.integers(len(walls)))]
                gap = 0.0 if draw.random() < 0.5 else draw.uniform(0, 0.1)
                x, y = draw.uniform(self.low, self.high)
                x = {"E": self.high[0] - thing.half[1] - gap, "W": self.low[0] + thing.half[1] + gap}.get(wall, x)
                y = {"N": self.high[1] - thing.half[1] - gap, "S": self.low[1] + thing.half[1] + gap}.get(wall, y)
                degrees = {"N": 0.0, "W": 90.0, "S": 180.0, "E": 270.0}[wall]
                if self.claim(thing.half, x, y, degrees):
                    solids += thing.at(x, y, 0.0, degrees)
                    break
        return solids


def laden(draw: Draw, base: Thing, makers: Sequence[Maker], count: int) -> Thing:
    """The thing with up to `count` others on its flat top."""
    if base.top is None:
        return base
    shelf = Floor((-base.top[0], -base.top[1]), base.top)
    load = [makers[int(draw.integers(len(makers)))](draw) for _ in range(count)]
    solids = shelf.scatter(draw, load, base.height)
    highest = max((thing.height for thing in load), default=0.0)
    return Thing((*base.solids, *solids), base.half, base.height + highest)


def block(size: tuple[float, float, float], x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Box:
    """A box that stands at height z on the point (x, y)."""
    return Box((x, y, z + size[2] / 2), size)


def corners_of(half: tuple[float, float], x: float, y: float, degrees: float) -> Array:
    """Corners (4, 2) of a rectangle around (x, y), turned by `degrees`."""
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    return signs * half @ turned(degrees)[:2, :2].T + (x, y)


def overlap(one: Array, two: Array) -> bool:
    """Whether two rectangles overlap: no side of either separates them."""
    for shape in (one, two):
        for side in (shape[1] - shape[0], shape[2] - shape[1]):
            a, b = one @ side, two @ side
            if a.max() <= b.min() + 1e-12 or b.max() <= a.min() + 1e-12:
                return False
    return True
