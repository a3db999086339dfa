"""Random places indoors: closed and open rooms, shelves, tables, stairwells."""

from __future__ import annotations

import numpy as np

from .furniture import AT_WALLS, FREE, bare_table, bookcase, chair, column
from .hollow_solids import Carved
from .place import Place, room_shell, walls_of
from .round_solids import Frustum
from .small_things import IN_SHELVES, ON_TABLES
from .solids import Box, Convex, Solid, turned
from .things import Draw, Floor, Thing, block, laden


def some(draw: Draw, makers: tuple, low: int, high: int) -> list[Thing]:
    """Between `low` and `high` things, each by one of the makers."""
    return [makers[draw.integers(len(makers))](draw) for _ in range(draw.integers(low, high + 1))]


def _furnish(draw: Draw, half: tuple[float, float], walls: str, crowd: float) -> list[Solid]:
    floor = Floor((-half[0], -half[1]), half)
    area = 4 * half[0] * half[1]
    solids = floor.along_walls(draw, some(draw, AT_WALLS, 1, 2 + int(crowd * area / 6)), walls)
    return solids + floor.scatter(draw, some(draw, FREE, 1, 2 + int(crowd * area / 4)), off_axis=0.35)


def closed_room(draw: Draw) -> Place:
    """A furnished room with four walls and a ceiling, sometimes with pillars or a second room joined to it."""
    half, height = tuple(draw.uniform((1.6, 1.8), (3.4, 4.0))), draw.uniform(2.3, 3.3)
    more: list[Convex] = []
    if draw.random() < 0.3:  # an alcove, or the other arm of an L
        wide, deep = draw.uniform(0.8, 1.8), draw.uniform(0.8, 3.0)
        x = draw.uniform(-half[0] + wide / 2, half[0] - wide / 2)
        tall = height if draw.random() < 0.5 else draw.uniform(2.0, height)
        more.append(Box((x, half[1] + deep / 2 - 0.1, tall / 2), (wide, deep + 0.2, tall)))
    shell = room_shell(draw, half, height, "EW" if more else "NEW", more)
    solids = shell + _furnish(draw, half, "NNEEWWS", draw.uniform(0.3, 1.2))
    if draw.random() < 0.3:  # a lamp below the ceiling
        x, y, r = *draw.uniform(-0.5, 0.5, size=2), draw.uniform(0.12, 0.3)
        drop = draw.uniform(0.3, 0.7)
        solids.append(Frustum((x, y, height - drop / 2), 0.01, 0.01, drop))
        solids.append(Frustum((x, y, height - drop), r, 0.3 * r, 0.2))
    if draw.random() < 0.25:  # beams
        for y in np.linspace(-half[1], half[1], int(draw.integers(3, 7)))[1:-1]:
            solids.append(Box((0, y, height - 0.1), (2 * half[0], 0.16, 0.2)))
    eye = ((-0.85 * half[0], -0.92 * half[1], 0.9), (0.85 * half[0], -0.3 * half[1], min(2.1, height - 0.3)))
    target = ((-0.7 * half[0], 0.2 * half[1], 0.2), (0.7 * half[0], half[1], 1.3))
    return Place(solids, eye, target, width=(2.5, 5.0))


def open_room(draw: Draw) -> Place:
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
                cavities.append(Box(tuple(np.add(cell.centre, shift)), (cell.size[0], cell.size[1] + 2 * thick * through, cell.size[2]), cell.rotation))
        solids += [Carved(body, tuple(cavities)) if cavities else body, *hung]
    solids += _furnish(draw, half, sides, draw.uniform(0.3, 1.0))
    away = draw.uniform(1.0, 2.2)
    eye = ((-1.3 * half[0], -half[1] - 1.3 * away, 1.0), (1.3 * half[0], -half[1] - 0.3 * away, 3.6))
    target = ((-0.4 * half[0], -0.2 * half[1], 0.1), (0.4 * half[0], 0.6 * half[1], 0.8))
    return Place(solids, eye, target, width=(3.0, 6.0))


def shelves(draw: Draw) -> Place:
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
            a, b = np.sort(draw.uniform(-1.4, 1.4, size=2)) + (-0.3, 0.3)
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
    return Place(solids, eye, target, near=0.4, width=(1.4, 2.6))


def tabletop(draw: Draw) -> Place:
    """A table laden with things, from near, chairs around it and walls behind."""
    half, height = tuple(draw.uniform((1.8, 1.8), (3.0, 3.0))), draw.uniform(2.3, 3.0)
    solids = room_shell(draw, half, height, "NEW")
    floor = Floor((-half[0], -half[1]), half)
    base = bare_table(draw)
    loaded = laden(draw, base, ON_TABLES, int(draw.integers(5, 22)))
    turn = draw.uniform(-60, 60)
    floor.claim(loaded.half, 0, 0, turn)
    solids += loaded.at(0, 0, 0, turn)
    solids += floor.scatter(draw, [chair(draw) for _ in range(draw.integers(0, 4))], off_axis=0.7)
    solids += floor.along_walls(draw, some(draw, AT_WALLS, 0, 3), "NEW")
    away = draw.uniform(0.7, 1.5)
    low = base.height + 0.15
    eye = ((-0.8, -base.half[1] - away, low), (0.8, -0.9 * away, low + 1.0))
    target = ((-0.2, -0.1, base.height - 0.1), (0.2, 0.2, base.height + 0.2))
    return Place(solids, eye, target, near=0.3, width=(0.9, 2.0))


def stairwell(draw: Draw) -> Place:
    """Stairs in a closed well: two flights with a landing between them, or steps around a column."""
    if draw.random() < 0.35:
        return _winding_stairs(draw)
    steps = int(draw.integers(6, 12))
    rise, going, wide = draw.uniform(0.15, 0.19), draw.uniform(0.24, 0.32), draw.uniform(0.8, 1.4)
    gap, landing = draw.uniform(0.05, 0.6), draw.uniform(0.8, 1.3)
    run, level = steps * going, steps * rise
    half = (wide + gap / 2, (run + landing) / 2 + draw.uniform(0.6, 1.2))
    height = 2 * level + draw.uniform(2.0, 2.6)
    solids = room_shell(draw, half, height, "NEW")
    north = half[1] - landing  # where the landing begins
    solid_ones = draw.random() < 0.5
    left, right = -half[0] + wide / 2, half[0] - wide / 2
    for i in range(steps):
        top, y = (i + 1) * rise, north - run + (i + 0.5) * going
        thick = top if solid_ones else min(top, rise + 0.12)
        solids.append(block((wide, going, thick), left, y, top - thick))
        top, y = level + (i + 1) * rise, north - (i + 0.5) * going
        thick = rise + 0.12
        solids.append(block((wide, going, thick), right, y, top - thick))
    thick = level if solid_ones else 0.2
    solids.append(block((2 * half[0], landing, thick), 0, half[1] - landing / 2, level - thick))
    end = north - run + half[1]  # the upper floor, in front of the second flight
    solids.append(block((wide, end, 0.25), right, -half[1] + end / 2, 2 * level - 0.25))
    if draw.random() < 0.7:  # posts and a rail on the open side of each flight
        solids += _rail(draw, -half[0] + wide - 0.03, north - run, north, 0.0, level, steps)
        solids += _rail(draw, half[0] - wide + 0.03, north, north - run, level, 2 * level, steps)
    floor = Floor((-half[0], -half[1]), (half[0], north - run - 0.1))
    solids += floor.scatter(draw, some(draw, FREE, 0, 3), off_axis=0.5)
    if draw.random() < 0.5:  # from below
        eye = ((-0.5 * half[0], -0.93 * half[1], 0.8), (0.8 * half[0], north - run, 1.9))
        target = ((-0.7 * half[0], 0.0, 0.3 * level), (0.5 * half[0], half[1], 1.2 * level))
    else:  # from the upper flight, downwards
        eye = ((-0.7 * half[0], -0.9 * half[1], level + 0.8), (0.4 * half[0], north - 0.5 * run, 2 * level + 1.2))
        target = ((-0.7 * half[0], 0.0, 0.2 * level), (0.3 * half[0], half[1], level))
    return Place(solids, eye, target, near=0.4, width=(2.0, 4.0))


def _rail(draw: Draw, x: float, y0: float, y1: float, z0: float, z1: float, posts: int) -> list[Solid]:
    """A rail that rises from (y0, z0) to (y1, z1), 0.9 above the steps, and its posts."""
    tall = 0.9
    run, rise = y1 - y0, z1 - z0
    slope = np.degrees(np.arctan2(rise, run))
    middle = (x, (y0 + y1) / 2, (z0 + z1) / 2 + tall)
    rail = Box(middle, (0.05, float(np.hypot(run, rise)), 0.05), turned(slope, "x"))
    step = int(draw.integers(1, 3))
    at = (np.arange(0, posts, step) + 0.5) / posts
    return [rail, *(Frustum((x, y0 + t * run, z0 + t * rise + tall / 2), 0.012, 0.012, tall) for t in at)]


def _winding_stairs(draw: Draw) -> Place:
    """Steps that wind up around a column in a square well."""
    from .round_solids import Polyhedron

    r, core = draw.uniform(0.9, 1.5), draw.uniform(0.08, 0.2)
    steps = int(draw.integers(14, 26))
    turn = draw.uniform(16, 26) * draw.choice([-1, 1])
    rise, thick = draw.uniform(0.16, 0.2), draw.uniform(0.05, 0.2)
    height = steps * rise + 2.0
    half = (r + draw.uniform(0.1, 0.8), r + draw.uniform(0.6, 1.6))
    solids = room_shell(draw, half, height, "NEW")
    solids.append(Frustum((0, 0, height / 2), core, core, height))
    wedge = abs(turn) / 2
    a, b = np.sin(np.radians(wedge)), np.cos(np.radians(wedge))
    faces = np.array([[0, 0, 1.0], [0, 0, -1.0], [1.0, 0, 0], [-a, b, 0], [-a, -b, 0]])
    first = draw.uniform(0, 360)
    for i in range(steps):
        top = (i + 1) * rise
        tall = min(thick, top)
        offsets = np.array([tall / 2, tall / 2, r * b, 0.0, 0.0])
        solids.append(Polyhedron((0, 0, top - tall / 2), faces, offsets, r + tall, turned(first + i * turn)))
        if draw.random() < 0.8:
            by = np.radians(first + i * turn)
            x, y = 0.93 * r * b * np.cos(by), 0.93 * r * b * np.sin(by)
            solids.append(Frustum((x, y, top + 0.45), 0.012, 0.012, 0.9))
    up = draw.random() < 0.6
    z = (0.6, 1.8) if up else (0.5 * height, height - 0.4)
    eye = ((-0.9 * half[0], -0.95 * half[1], z[0]), (0.9 * half[0], -r - 0.1, z[1]))
    target = ((-0.3, 0.0, 0.2 * height), (0.3, 0.5, 0.6 * height))
    return Place(solids, eye, target, near=0.4, width=(2.0, 3.5))
