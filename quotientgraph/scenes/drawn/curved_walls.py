"""Random places with curved walls: round rooms, vaults, apses, bent walls that stand free."""

from __future__ import annotations

import numpy as np

from ..hollow_solids import Carved, Common, Interior
from ..round_solids import Frustum, Polyhedron
from ..solids import Ball, Box, Convex, Solid, turned
from .furniture import FREE
from .indoors import some
from .site import Site, room_shell
from .things import Draw, Floor, block, corners_of


def curved(draw: Draw) -> Site:
    """Curved walls: a round room, a vaulted hall, an apse, or bent walls that stand free."""
    styles = (_round_room, _vaulted_hall, _apse, _bent_walls)
    return styles[draw.integers(len(styles))](draw)


def _around(count: int, r: float, first: float) -> list[tuple[float, float, float]]:
    """x, y and direction in degrees of `count` places on a circle."""
    by = first + np.arange(count) * 360 / count
    return [(r * np.cos(np.radians(t)), r * np.sin(np.radians(t)), t) for t in by]


def _round_room(draw: Draw) -> Site:
    r, height = draw.uniform(2.0, 4.5), draw.uniform(2.5, 5.0)
    main = Frustum((0, 0, height / 2), r, r * draw.choice([1.0, 0.85]), height)
    cells: list[Convex] = [main]
    if draw.random() < 0.5:
        sunk = main.high * draw.uniform(0.0, 0.8)  # below the ceiling, the middle of a dome that rises from its edge
        cells.append(_above(Ball((0, 0, height - sunk), float(np.hypot(main.high, sunk))), height - 0.05))
    count = int(draw.integers(3, 9))
    wide, tall = draw.uniform(0.5, 1.0), draw.uniform(1.6, 2.1)
    for x, y, by in _around(count, r, draw.uniform(0, 360)):
        if draw.random() < 0.7:
            cells.append(Box((x, y, tall / 2), (draw.uniform(0.5, 1.2), wide, tall), turned(by)))
    solids: list[Solid] = [Interior(tuple(cells))]
    floor = Floor((-0.7 * r, -0.7 * r), (0.7 * r, 0.7 * r))
    if draw.random() < 0.6:  # a ring of columns
        size = draw.uniform(0.1, 0.22)
        for x, y, by in _around(int(draw.integers(5, 12)), 0.72 * r, draw.uniform(0, 360)):
            floor.taken.append(corners_of((1.3 * size, 1.3 * size), x, y, by))
            solids.append(Frustum((x, y, height / 2), size, size, height))
            solids.append(Frustum((x, y, 0.06), 1.3 * size, 1.3 * size, 0.12))
    solids += floor.scatter(draw, some(draw, FREE, 3, 14), off_axis=0.7)
    eye = ((-0.6 * r, -0.85 * r, 0.9), (0.6 * r, -0.4 * r, min(2.2, height - 0.5)))
    target = ((-0.5 * r, 0.2 * r, 0.2), (0.5 * r, 0.9 * r, 1.6))
    return Site(solids, eye, target, near=0.9, width=(2.5, 5.0))


def _vaulted_hall(draw: Draw) -> Site:
    """A hall under a barrel vault, with columns along both sides."""
    half, wall = tuple(draw.uniform((1.4, 3.0), (2.6, 6.0))), draw.uniform(1.8, 3.0)
    vault = _above(Frustum((0, 0, wall), half[0], half[0], 2 * half[1], turned(90, "x")), wall - 0.05)
    solids = room_shell(draw, half, wall, "NEW", [vault])
    floor = Floor((-half[0], -half[1]), half)
    if draw.random() < 0.7:
        size = draw.uniform(0.1, 0.25)
        for y in np.linspace(-half[1], half[1], int(draw.integers(4, 9)))[1:-1]:
            for x in (-half[0] + 1.5 * size, half[0] - 1.5 * size):
                floor.claim((1.4 * size, 1.4 * size), x, y, 0.0)
                solids.append(Frustum((x, y, wall / 2), size, size, wall))
                solids.append(block((2.8 * size, 2.8 * size, 0.12), x, y))
                solids.append(block((2.8 * size, 2.8 * size, 0.12), x, y, wall - 0.12))
    solids += floor.scatter(draw, some(draw, FREE, 3, 14), off_axis=0.5)
    eye = ((-0.5 * half[0], -0.95 * half[1], 0.9), (0.5 * half[0], -0.5 * half[1], 2.0))
    target = ((-0.5 * half[0], 0.3 * half[1], 0.3), (0.5 * half[0], half[1], 1.8))
    return Site(solids, eye, target, near=0.9, width=(2.5, 4.0))


def _apse(draw: Draw) -> Site:
    """A room that ends in a half-round apse, sometimes under a half dome."""
    half, height = tuple(draw.uniform((1.8, 1.8), (3.2, 3.2))), draw.uniform(2.6, 4.0)
    r = draw.uniform(0.9, min(half[0] - 0.2, 1.9))
    tall = draw.uniform(1.6, height - 0.2)
    cells: list[Convex] = [Frustum((0, half[1] - 0.01, tall / 2), r, r, tall)]
    if tall + r < height - 0.1:
        cells.append(_above(Ball((0, half[1] - 0.01, tall), r), tall - 0.05))
    solids = room_shell(draw, half, height, "EW", cells)
    if draw.random() < 0.5:  # round steps up to it
        for i in range(int(draw.integers(1, 4))):
            solids.append(
                Frustum((0, half[1], 0.075 * (i + 1)), r * (1.3 - 0.12 * i), r * (1.3 - 0.12 * i), 0.15 * (i + 1))
            )
    floor = Floor((-half[0], -half[1]), (half[0], half[1] - 1.35 * r))
    solids += floor.scatter(draw, some(draw, FREE, 3, 14), off_axis=0.5)
    eye = ((-0.7 * half[0], -0.92 * half[1], 0.9), (0.7 * half[0], -0.4 * half[1], 2.1))
    target = ((-0.5 * r, 0.5 * half[1], 0.3), (0.5 * r, half[1] + 0.5 * r, 1.5))
    return Site(solids, eye, target, near=0.9, width=(2.5, 4.5))


def _bent_walls(draw: Draw) -> Site:
    """Arcs of walls around one point, standing free on a floor, with things before and behind them."""
    solids: list[Solid] = [block((24, 24, 0.5), z=-0.5)]
    centre = np.array([draw.uniform(-0.8, 0.8), draw.uniform(-0.5, 0.8)])
    r = draw.uniform(1.2, 1.8)
    arcs = []
    for _ in range(int(draw.integers(1, 4))):
        thick, tall = draw.uniform(0.08, 0.3), draw.uniform(0.6, 2.5)
        body = Frustum((0, 0, tall / 2), r, r, tall)
        inner = Frustum((0, 0, tall / 2), r - thick, r - thick, 2 * tall)
        open_side = Box((0, -1.2 * r + r * draw.uniform(-0.3, 0.6), tall / 2), (4 * r, 2.4 * r, 2 * tall))
        arc = Carved(body, (inner, open_side))
        solids.append(arc.moved(turned(draw.normal(scale=45)), np.array([*centre, 0])))
        arcs.append((r - thick, r))
        r += draw.uniform(0.5, 1.0)
    floor = Floor((-2.0, -1.6), (2.0, 2.0))
    for thing in some(draw, FREE, 3, 12):
        for _ in range(12):
            x, y = draw.uniform(floor.low, floor.high)
            away, reach = float(np.hypot(*(centre - (x, y)))), float(np.hypot(*thing.half))
            clear = all(away + reach < low or away - reach > high for low, high in arcs)
            degrees = draw.uniform(0, 360)
            if clear and floor.claim(thing.half, x, y, degrees):
                solids += thing.at(x, y, 0.0, degrees)
                break
    if draw.random() < 0.6:
        solids.append(Box((0, 5.5, 2), (24, 0.3, 6), turned(draw.normal(scale=8))))
    eye = ((-1.8, -4.0, 1.0), (1.8, -2.6, 2.6))
    target = ((-0.4, -0.3, 0.2), (0.4, 1.2, 0.9))
    return Site(solids, eye, target, near=0.9, width=(3.0, 5.5), framed=True)


def _above(cell: Convex, z: float) -> Common:
    """The part of the cell above a height."""
    return Common((cell, Polyhedron((0, 0, z), np.array([[0.0, 0.0, -1.0]]), np.zeros(1), np.inf)))
