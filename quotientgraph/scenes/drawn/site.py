"""`Site`: solids and where a camera may stand among them; walls with doors, windows and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..hollow_solids import Interior
from ..round_solids import Frustum
from ..solids import Array, Box, Convex, Solid, turned
from .things import Draw, Floor

Point = tuple[float, float, float]


@dataclass(frozen=True)
class Site:
    """Solids in a world whose z points up, in metres, and the limits within which a view of them is drawn.

    Attributes
    ----------
    solids : list of Solid
    eye : two corners of the box in which the camera stands
    target : two corners of the box towards which it looks
    near : nothing seen is nearer to the camera than this
    width : least and largest width of an orthographic view
    framed : whether the camera steps back or forward until it sees as much as a camera of 50° would
    """

    solids: list[Solid]
    eye: tuple[Point, Point]
    target: tuple[Point, Point]
    near: float = 0.5
    width: tuple[float, float] = (2.5, 5.0)
    framed: bool = False


@dataclass(frozen=True, eq=False)
class Wall:
    """A wall: where it begins on the floor, the directions along it and out of the room, its length and height."""

    start: Array
    along: Array
    out: Array
    length: float
    height: float

    def block(self, low: tuple[float, float], high: tuple[float, float], inner: float, outer: float) -> Box:
        """The box over a rectangle of the wall, from `inner` to `outer` measured outwards."""
        (u0, z0), (u1, z1) = low, high
        middle = self.start + self.along * (u0 + u1) / 2 + self.out * (inner + outer) / 2
        frame = np.stack([self.along, self.out, [0.0, 0.0, 1.0]], axis=1)
        return Box((middle[0], middle[1], (z0 + z1) / 2), (u1 - u0, outer - inner, z1 - z0), frame)

    def dressed(self, draw: Draw, niches: int, pictures: int) -> tuple[list[Convex], list[Solid]]:
        """Doors and windows, to be added to the room, and pictures and boards that hang on the wall."""
        plan = Floor((0.1, 0.0), (self.length - 0.1, self.height - 0.1))
        cells: list[Convex] = []
        hung: list[Solid] = []
        for _ in range(niches):
            if draw.random() < 0.4:  # a door
                half, z = (draw.uniform(0.35, 0.5), draw.uniform(0.95, 1.05)), 0.0
            else:
                half, z = tuple(draw.uniform((0.25, 0.25), (0.8, 0.6))), draw.uniform(0.5, 1.0)
            u = draw.uniform(0, self.length)
            if plan.claim(half, u, z + half[1], 0.0):
                deep = draw.uniform(0.06, 0.4)
                cells.append(self.block((u - half[0], z), (u + half[0], z + 2 * half[1]), -0.05, deep))
                if draw.random() < 0.3 and z + 2 * half[1] + half[0] < self.height - 0.05:  # an arch above it
                    cells.append(self._arch(u, z + 2 * half[1], half[0], deep))
        for _ in range(pictures):
            half, z = tuple(draw.uniform((0.12, 0.12), (0.5, 0.4))), draw.uniform(1.0, max(1.1, self.height - 0.6))
            u = draw.uniform(0, self.length)
            if plan.claim(half, u, z, 0.0):
                thick = draw.uniform(0.015, 0.06)
                if draw.random() < 0.25:  # a board on which nothing stands
                    hung.append(self.block((u - half[0], z), (u + half[0], z + 0.03), -0.22, 0.0))
                else:
                    hung.append(self.block((u - half[0], z - half[1]), (u + half[0], z + half[1]), -thick, 0.0))
        return cells, hung

    def _arch(self, u: float, z: float, r: float, deep: float) -> Frustum:
        middle = self.start + self.along * u + self.out * (deep - 0.05) / 2
        axes = np.stack([self.along, [0.0, 0.0, -1.0], self.out], axis=1)
        axes[:, 1] = np.cross(axes[:, 2], axes[:, 0])
        return Frustum((middle[0], middle[1], z), r, r, deep + 0.05, axes)


def walls_of(half: tuple[float, float], height: float) -> dict[str, Wall]:
    """The four walls of a room that is 2·`half` long along x and y, with the origin in the middle of its floor."""
    a, b = half
    corners = {"N": (-a, b), "E": (a, b), "S": (a, -b), "W": (-a, -b)}
    turns = {"N": 0, "E": -90, "S": 180, "W": 90}
    walls = {}
    for side, turn in turns.items():
        along, out = (np.rint(turned(turn)[:, i]) for i in (0, 1))
        length = 2 * (a if side in "NS" else b)
        walls[side] = Wall(np.array([*corners[side], 0.0]), along, out, length, height)
    return walls


def room_shell(
    draw: Draw,
    half: tuple[float, float],
    height: float,
    dressed: Sequence[str] = "NEW",
    more: Sequence[Convex] = (),
    main: Convex | None = None,
) -> list[Solid]:
    """A closed room with doors, windows and pictures on some walls; `more` cells are joined to it.

    `main` is the room itself where it is not the whole box of this size.
    """
    box = Box((0, 0, height / 2), (2 * half[0], 2 * half[1], height))
    cells: list[Convex] = [main or box, *more]
    hung: list[Solid] = []
    for side in dressed:
        wall = walls_of(half, height)[side]
        niches, pictures = wall.dressed(draw, int(draw.integers(0, 3)), int(draw.integers(0, 3)))
        cells += niches
        hung += pictures
    return [Interior(tuple(cells)), *hung]
