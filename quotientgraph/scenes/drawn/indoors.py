"""Random places indoors: closed and open rooms, shelves, tables."""

from __future__ import annotations

import numpy as np

from ..hollow_solids import Carved, Common
from ..round_solids import Frustum, Polyhedron
from ..solids import Array, Box, Solid
from .furniture import AT_WALLS, FREE, bare_table, bookcase, chair
from .site import Site, room_shell, walls_of
from .small_things import IN_SHELVES, ON_TABLES
from .things import Draw, Floor, Thing, block, corners_of, laden


def some(draw: Draw, makers: tuple, low: int, high: int) -> list[Thing]:
    """Between `low` and `high` things, each by one of the makers."""
    return [makers[draw.integers(len(makers))](draw) for _ in range(draw.integers(low, high + 1))]


def _furnish(draw: Draw, floor: Floor, walls: str, crowd: float) -> list[Solid]:
    """Furniture along some walls and in the middle; more of it, the larger `crowd` and the floor are."""
    area = float(np.prod(np.subtract(floor.high, floor.low)))
    at_walls = some(draw, AT_WALLS, 2, 3 + int(crowd * area / 6))
    free = some(draw, FREE, 2, 3 + int(crowd * area / 4))
    return floor.along_walls(draw, at_walls, walls) + floor.scatter(draw, free, off_axis=0.35)


def closed_room(draw: Draw) -> Site:
    """A furnished room with four walls and a ceiling.

    Some have an alcove or a second room joined to them, some a wall across a corner or a sloping ceiling.
    """
    half, height = tuple(draw.uniform((1.6, 1.8), (3.4, 4.0))), draw.uniform(2.3, 3.3)
    floor = Floor((-half[0], -half[1]), half)
    more, main, dressed, ceiling = [], None, "NEW", height
    style = draw.random()
    if style < 0.25:  # an alcove, or the other arm of an L
        wide, deep = draw.uniform(0.8, 1.8), draw.uniform(0.8, 3.0)
        x = draw.uniform(-half[0] + wide / 2, half[0] - wide / 2)
        tall = height if draw.random() < 0.5 else draw.uniform(2.0, height)
        more.append(Box((x, half[1] + deep / 2 - 0.1, tall / 2), (wide, deep + 0.2, tall)))
        dressed = "EW"
    elif style < 0.4:  # a wall across the corner of north and east, or nearly the whole north wall aslant
        by, cut = np.radians(draw.uniform(15, 75)), draw.uniform(0.4, 1.6)
        face = np.array([np.sin(by), np.cos(by), 0.0])
        reach = face[:2] @ half - cut * min(face[:2])
        main = _cut_off(half, height, [face], [reach])
        middle = (reach + 4) * face[:2]
        floor.taken.append(corners_of((8, 4), middle[0], middle[1], -float(np.degrees(by))))
        dressed = "W"
    elif style < 0.55:  # a sloping ceiling on one side or on both
        by = np.radians(draw.uniform(25, 55))
        face = np.array([np.sin(by), 0.0, np.cos(by)])
        faces = [face] if draw.random() < 0.5 else [face, face * (-1, 1, 1)]
        low = draw.uniform(0.8, 1.6)  # height of the wall below it
        main = _cut_off(half, height, faces, [face @ (half[0], 0.0, low)] * len(faces))
        floor = Floor((-half[0] + 0.5, -half[1]), (half[0] - 0.5, half[1]))
        dressed = "N" if half[0] > 2.4 else ""
        ceiling = low
    solids = room_shell(draw, half, height, dressed, more, main)
    solids += _furnish(draw, floor, "NNEEWWS" if ceiling == height else "NS", draw.uniform(0.4, 1.4))
    if draw.random() < 0.3:  # a lamp below the ceiling
        x, y, r = *draw.uniform(-0.5, 0.5, size=2), draw.uniform(0.12, 0.3)
        drop = draw.uniform(0.3, 0.7)
        solids.append(Frustum((x, y, height - drop / 2), 0.01, 0.01, drop))
        solids.append(Frustum((x, y, height - drop), r, 0.3 * r, 0.2))
    if main is None and draw.random() < 0.25:  # beams
        for y in np.linspace(-half[1], half[1], int(draw.integers(3, 7)))[1:-1]:
            solids.append(Box((0, y, height - 0.1), (2 * half[0], 0.16, 0.2)))
    eye = ((-0.85 * half[0], -0.92 * half[1], 0.9), (0.85 * half[0], -0.3 * half[1], min(2.1, height - 0.3)))
    target = ((-0.7 * half[0], 0.2 * half[1], 0.2), (0.7 * half[0], half[1], 1.3))
    return Site(solids, eye, target, near=0.9, width=(2.5, 5.0))


def _cut_off(half: tuple[float, float], height: float, faces: list[Array], offsets: list[float]) -> Common:
    """A box-shaped room without what lies beyond some planes, given by their outward normals."""
    planes = Polyhedron((0.0, 0.0, 0.0), np.array(faces), np.array(offsets), np.inf)
    return Common((Box((0, 0, height / 2), (2 * half[0], 2 * half[1], height)), planes))


def open_room(draw: Draw) -> Site:
    """A furnished corner, seen from outside: a floor that ends, two or three walls, no ceiling."""
    half, height = tuple(draw.uniform((1.3, 1.3), (2.8, 2.8))), draw.uniform(1.2, 2.8)
    sides = ["NE", "NW", "NEW", "N"][draw.integers(4)]
    thick = draw.uniform(0.08, 0.3)
    base = block((2 * half[0] + 2 * thick, 2 * half[1] + 2 * thick, 0.2), z=-0.2)
    solids: list[Solid] = [base]
    for side in sides:
        wall = walls_of(half, height)[side]
        # At the corners, walls run past each other on the north side only.
        more = thick if side == "N" else 0.0
        body = wall.block((-more, 0.0), (wall.length + more, height), 0.0, thick)
        niches, hung = wall.dressed(draw, int(draw.integers(0, 3)), int(draw.integers(0, 3)))
        through = draw.random() < 0.4
        cavities = []
        for cell in niches:
            if isinstance(cell, Box):
                shift = wall.out * (thick if through else 0.0)
                cavities.append(
                    Box(
                        tuple(np.add(cell.centre, shift)),
                        (cell.size[0], cell.size[1] + 2 * thick * through, cell.size[2]),
                        cell.rotation,
                    )
                )
        solids += [Carved(body, tuple(cavities)) if cavities else body, *hung]
    solids += _furnish(draw, Floor((-half[0], -half[1]), half), sides, draw.uniform(0.3, 1.0))
    away = draw.uniform(1.0, 2.2)
    eye = ((-1.3 * half[0], -half[1] - 1.3 * away, 1.0), (1.3 * half[0], -half[1] - 0.3 * away, 3.6))
    target = ((-0.4 * half[0], -0.2 * half[1], 0.1), (0.4 * half[0], 0.6 * half[1], 0.8))
    return Site(solids, eye, target, near=0.9, width=(3.0, 6.0))


def shelves(draw: Draw) -> Site:
    """Shelves full of things, from near: bookcases side by side, or boards on a wall."""
    half, height = tuple(draw.uniform((1.8, 1.6), (3.0, 2.2))), draw.uniform(2.3, 3.0)
    solids = room_shell(draw, half, height, "EW")
    if draw.random() < 0.65:
        x = -draw.uniform(0.6, 1.2)
        while x < half[0] - 0.6:
            case = bookcase(draw)
            x += case.half[0]
            if x + case.half[0] > half[0]:
                break
            solids += case.at(x, half[1] - case.half[1], 0.0, 0.0 if draw.random() < 0.8 else draw.normal(scale=3))
            x += case.half[0] + (0.0 if draw.random() < 0.5 else draw.uniform(0, 0.4))
    else:
        z = draw.uniform(0.3, 0.6)
        deep = draw.uniform(0.2, 0.35)
        while z < min(height - 0.4, 2.0):
            a, b = np.sort(draw.uniform(-1.4, 1.4, size=2)) + np.array([-0.3, 0.3])
            board = block((b - a, deep, 0.03), (a + b) / 2, half[1] - deep / 2, z - 0.03)
            ends = [block((0.03, 0.8 * deep, 0.12), x, half[1] - 0.4 * deep, z - 0.15) for x in (a + 0.1, b - 0.1)]
            floor = Floor((a, half[1] - deep), (b, half[1]))
            gap = draw.uniform(0.3, 0.5)
            load = [t for t in some(draw, IN_SHELVES, 3, 12) if t.height < gap - 0.1]
            solids += [board, *ends, *floor.scatter(draw, load, z, off_axis=0.3)]
            z += gap
    floor = Floor((-half[0], -half[1]), (half[0], half[1] - 0.5))
    solids += floor.scatter(draw, some(draw, FREE, 0, 2), off_axis=0.4)
    eye = ((-1.2, -half[1] + 0.2, 0.7), (1.2, half[1] - 1.3, 1.9))
    target = ((-0.5, half[1] - 0.3, 0.6), (0.7, half[1], 1.6))
    return Site(solids, eye, target, near=0.5, width=(1.4, 2.6), framed=True)


def tabletop(draw: Draw) -> Site:
    """A table laden with things, from near, chairs around it and walls behind."""
    half, height = tuple(draw.uniform((1.8, 1.8), (3.0, 3.0))), draw.uniform(2.3, 3.0)
    solids = room_shell(draw, half, height, "EW")
    floor = Floor((-half[0], -half[1]), half)
    base = bare_table(draw)
    loaded = laden(draw, base, ON_TABLES, int(draw.integers(5, 22)))
    at_wall = draw.random() < 0.65
    turn, y = (0.0, half[1] - loaded.half[1]) if at_wall else (draw.uniform(-60, 60), 0.0)
    floor.claim(loaded.half, 0, y, turn)
    solids += loaded.at(0, y, 0, turn)
    solids += floor.scatter(draw, [chair(draw) for _ in range(draw.integers(0, 4))], off_axis=0.7)
    solids += floor.along_walls(draw, some(draw, AT_WALLS, 0, 3), "NEW")
    away = draw.uniform(0.7, 1.5)
    low = base.height + 0.15
    drop = draw.uniform(0.0, 0.35)  # the lower it looks, the more of the legs it sees
    eye = ((-0.8, y - base.half[1] - away, low), (0.8, y - 0.9 * away, low + 1.0))
    target = ((-0.2, y - 0.1, base.height - drop), (0.2, y + 0.2, base.height + 0.1))
    return Site(solids, eye, target, near=0.4, width=(0.9, 2.0), framed=True)
