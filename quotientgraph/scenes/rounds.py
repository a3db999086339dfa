"""Random places of round things: figures before walls, rooms with curved walls."""

from __future__ import annotations

import numpy as np

from .blob import Blob
from .furniture import FREE
from .hollow_solids import Carved, Interior
from .indoors import some
from .place import Place, room_shell
from .round_solids import Frustum
from .solids import Ball, Box, Convex, Solid, turned
from .things import Draw, Floor, Thing, block


def bust(draw: Draw) -> Thing:
    """A head on a neck and shoulders; what it stands on is cut flat."""
    k = draw.uniform(0.8, 1.2, size=8)
    lumps = np.array(
        [
            [0, 0, 0.46], [0, -0.02, 0.38], [0, -0.125, 0.41], [0, 0.02, 0.26], [-0.16, 0.01, 0.1], [0.16, 0.01, 0.1],
            [0, -0.02, 0.08], [-0.09, 0, 0.43], [0.09, 0, 0.43], [0, 0.04, 0.54], [0, -0.09, 0.33],
        ]
    )  # fmt: skip
    halves = np.array(
        [
            [0.09 * k[0], 0.11 * k[0], 0.12 * k[1]], [0.06, 0.07, 0.06], [0.016, 0.03, 0.03 * k[2]], [0.05, 0.05, 0.1],
            [0.1 * k[3], 0.08, 0.09], [0.1 * k[3], 0.08, 0.09], [0.15, 0.1 * k[4], 0.12], [0.018, 0.025, 0.04 * k[5]],
            [0.018, 0.025, 0.04 * k[5]], [0.09 * k[6], 0.08, 0.05 * k[6]], [0.03, 0.03, 0.02],
        ]
    )  # fmt: skip
    nod = turned(draw.normal(scale=4), "x") @ turned(draw.normal(scale=12))
    head = lumps[:, 2] > 0.3
    lumps[head] = (lumps[head] - (0, 0, 0.3)) @ nod.T + (0, 0, 0.3)
    size = draw.uniform(0.7, 1.3)
    return Thing((Blob((0, 0, 0), size * lumps, size * halves, 1.6),), (0.28 * size, 0.2 * size), 0.62 * size)


def animal(draw: Draw) -> Thing:
    """A body on four legs, with a head and a tail."""
    long, tall, r = draw.uniform(0.25, 0.4), draw.uniform(0.25, 0.4), draw.uniform(0.09, 0.14)
    lumps = [[-0.5 * long, 0, tall], [0, 0, tall + 0.01], [0.5 * long, 0, tall], [0.8 * long, 0, tall + 0.6 * r]]
    halves = [[0.4 * long, r, r], [0.45 * long, 1.1 * r, 1.1 * r], [0.4 * long, r, r], [0.2 * long, 0.5 * r, 0.9 * r]]
    lumps += [[1.05 * long, 0, tall + 1.4 * r], [1.25 * long, 0, tall + 1.2 * r], [-0.95 * long, 0, tall + 0.4 * r]]
    halves += [[0.7 * r, 0.55 * r, 0.6 * r], [0.6 * r, 0.35 * r, 0.3 * r], [0.25 * long, 0.2 * r, 0.2 * r]]
    for x in (-0.6, 0.6):
        for y in (-0.6, 0.6):
            lumps.append([x * long, y * r, 0.45 * tall])
            halves.append([0.35 * r, 0.3 * r, 0.55 * tall])
    return Thing((Blob((0, 0, 0), np.array(lumps), np.array(halves), 2.2),), (1.5 * long, 1.3 * r), tall + 2 * r)


def pebble(draw: Draw) -> Thing:
    """A stone or a sculpture without a name: lumps melted together, sunk a little into the floor."""
    size, n = draw.uniform(0.15, 0.5), int(draw.integers(4, 14))
    lumps = draw.normal(scale=0.45 * size, size=(n, 3)) * (1, 1, draw.uniform(0.6, 1.8))
    halves = size * draw.uniform(0.2, 0.6, size=(n, 3))
    low = (lumps - halves)[:, 2].min()
    high = (lumps + halves)[:, 2].max() - low
    return Thing((Blob((0, 0, -low), lumps, halves, draw.uniform(1.2, 3.0)),), (size, size), high)


def pedestal(draw: Draw) -> Thing:
    a, h = draw.uniform(0.22, 0.4), draw.uniform(0.15, 1.1)
    if draw.random() < 0.5:
        return Thing((block((2 * a, 2 * a, h)),), (a, a), h, (a, a))
    parts = (Frustum((0, 0, h / 2), a, a, h), Frustum((0, 0, 0.03), 1.2 * a, 1.2 * a, 0.06))
    return Thing(parts, (1.2 * a, 1.2 * a), h, (a, a))


_FIGURES = (bust, bust, animal, pebble)


def figures(draw: Draw) -> Place:
    """Busts, animals and stones on a floor or on pedestals, before walls that are flat, bent or have niches."""
    half, height = tuple(draw.uniform((1.4, 1.2), (2.6, 2.0))), draw.uniform(2.2, 3.0)
    more: list[Convex] = []
    style = draw.random()
    if style < 0.3:  # a round niche in the wall behind
        r, tall = draw.uniform(0.5, 1.0), draw.uniform(1.4, 2.0)
        x = draw.uniform(-0.4, 0.4)
        more = [Frustum((x, half[1] - 0.1, tall / 2), r, r, tall), Ball((x, half[1] - 0.1, tall), r)]
        more = more if tall + r < height - 0.05 else more[:1]
    solids = room_shell(draw, half, height, "EW" if more else "NEW", more)
    floor = Floor((-0.9, -0.4), (0.9, half[1]))
    if 0.3 < style < 0.5:  # a folded screen
        for side in (-1, 1):
            lean = turned(side * draw.uniform(10, 35))
            screen = Box((side * 0.5, half[1] - 0.35, 0.9), (1.0, 0.04, 1.8), np.eye(3))
            solids.append(screen.moved(lean, np.array([0.0, 0.1, 0.0])))
        floor = Floor((-0.9, -0.4), (0.9, half[1] - 0.7))
    for _ in range(draw.integers(1, 5)):
        thing = _FIGURES[draw.integers(len(_FIGURES))](draw)
        base = pedestal(draw) if draw.random() < 0.55 else None
        degrees = draw.normal(scale=40) + 180.0 * (draw.random() < 0.1)
        for _ in range(12):
            x, y = draw.uniform(floor.low, floor.high)
            if floor.claim(base.half if base else thing.half, x, y, degrees):
                solids += thing.at(x, y, base.height if base else 0.0, degrees)
                solids += base.at(x, y, 0.0, degrees) if base else []
                break
    solids += floor.scatter(draw, some(draw, FREE, 0, 2), off_axis=0.5)
    eye = ((-1.0, -half[1] + 0.1, 0.5), (1.0, -0.9, 1.7))
    target = ((-0.4, 0.0, 0.2), (0.4, 0.6, 0.9))
    return Place(solids, eye, target, near=0.4, width=(1.2, 2.6))


def curved(draw: Draw) -> Place:
    """Curved walls: a round room, a vaulted hall, an apse, or bent walls that stand free."""
    styles = (_round_room, _vaulted_hall, _apse, _bent_walls)
    return styles[draw.integers(len(styles))](draw)


def _around(count: int, r: float, first: float) -> list[tuple[float, float, float]]:
    """x, y and direction in degrees of `count` places on a circle."""
    by = first + np.arange(count) * 360 / count
    return [(r * np.cos(np.radians(t)), r * np.sin(np.radians(t)), t) for t in by]


def _round_room(draw: Draw) -> Place:
    r, height = draw.uniform(2.0, 4.5), draw.uniform(2.5, 5.0)
    main = Frustum((0, 0, height / 2), r, r * draw.choice([1.0, 0.85]), height)
    cells: list[Convex] = [main]
    if draw.random() < 0.5:
        top = main.high
        cells.append(Ball((0, 0, height - 0.3 * top), float(np.hypot(top, 0.3 * top)) * 0.98))
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
            if floor.claim((size, size), x, y, by) or True:
                solids.append(Frustum((x, y, height / 2), size, size, height))
                solids.append(Frustum((x, y, 0.06), 1.3 * size, 1.3 * size, 0.12))
    solids += floor.scatter(draw, some(draw, FREE, 2, 9), off_axis=0.7)
    eye = ((-0.6 * r, -0.85 * r, 0.9), (0.6 * r, -0.4 * r, min(2.2, height - 0.5)))
    target = ((-0.5 * r, 0.2 * r, 0.2), (0.5 * r, 0.9 * r, 1.6))
    return Place(solids, eye, target, width=(2.5, 5.0))


def _vaulted_hall(draw: Draw) -> Place:
    """A hall under a barrel vault, with columns along both sides."""
    half, wall = tuple(draw.uniform((1.4, 3.0), (2.6, 6.0))), draw.uniform(1.8, 3.0)
    vault = Frustum((0, 0, wall - 0.02), half[0], half[0], 2 * half[1], turned(90, "x"))
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
    solids += floor.scatter(draw, some(draw, FREE, 2, 9), off_axis=0.5)
    eye = ((-0.5 * half[0], -0.95 * half[1], 0.9), (0.5 * half[0], -0.5 * half[1], 2.0))
    target = ((-0.5 * half[0], 0.3 * half[1], 0.3), (0.5 * half[0], half[1], 1.8))
    return Place(solids, eye, target, width=(2.5, 4.0))


def _apse(draw: Draw) -> Place:
    """A room that ends in a half-round apse, sometimes under a half dome."""
    half, height = tuple(draw.uniform((1.8, 1.8), (3.2, 3.2))), draw.uniform(2.6, 4.0)
    r = draw.uniform(0.9, min(half[0] - 0.2, 1.9))
    tall = draw.uniform(1.6, height - 0.2)
    cells: list[Convex] = [Frustum((0, half[1] - 0.01, tall / 2), r, r, tall)]
    if tall + r < height - 0.1:
        cells.append(Ball((0, half[1] - 0.01, tall), r))
    solids = room_shell(draw, half, height, "EW", cells)
    if draw.random() < 0.5:  # round steps up to it
        for i in range(int(draw.integers(1, 4))):
            solids.append(Frustum((0, half[1], 0.075 * (i + 1)), r * (1.3 - 0.12 * i), r * (1.3 - 0.12 * i), 0.15 * (i + 1)))
    floor = Floor((-half[0], -half[1]), (half[0], half[1] - 0.9 * r))
    solids += floor.scatter(draw, some(draw, FREE, 2, 9), off_axis=0.5)
    eye = ((-0.7 * half[0], -0.92 * half[1], 0.9), (0.7 * half[0], -0.4 * half[1], 2.1))
    target = ((-0.5 * r, 0.5 * half[1], 0.3), (0.5 * r, half[1] + 0.5 * r, 1.5))
    return Place(solids, eye, target, width=(2.5, 4.5))


def _bent_walls(draw: Draw) -> Place:
    """Arcs of walls that stand free on a floor, with things before and behind them."""
    solids: list[Solid] = [block((24, 24, 0.5), z=-0.5)]
    thick = draw.uniform(0.1, 0.3)
    for i in range(int(draw.integers(1, 4))):
        r, tall = draw.uniform(1.0, 3.0), draw.uniform(0.8, 2.5)
        cut = Box((0, -1.2 * r + r * draw.uniform(-0.3, 0.6), tall / 2), (4 * r, 2.4 * r, 2 * tall))
        body = Frustum((0, 0, tall / 2), r, r, tall)
        inner = Frustum((0, 0, tall / 2), r - thick, r - thick, 2 * tall)
        arc = Carved(body, (inner, cut))
        turn, shift = turned(draw.normal(scale=50)), np.array([draw.uniform(-1.5, 1.5), draw.uniform(0.0, 1.0) + 0.8 * i, 0])
        solids.append(arc.moved(turn, shift))
    floor = Floor((-1.6, -1.4), (1.6, 1.0))
    solids += floor.scatter(draw, some(draw, FREE, 2, 8), off_axis=0.7)
    if draw.random() < 0.6:
        solids.append(Box((0, 5.2, 2), (24, 0.3, 6), turned(draw.normal(scale=10))))
    eye = ((-1.5, -4.0, 1.0), (1.5, -2.6, 2.4))
    target = ((-0.5, 0.0, 0.2), (0.5, 1.5, 0.9))
    return Place(solids, eye, target, width=(3.0, 5.5))
