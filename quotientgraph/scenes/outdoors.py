"""Random places outdoors and in halls: streets and heaps."""

from __future__ import annotations

import numpy as np

from .blob import Blob
from .hollow_solids import Carved
from .place import Place
from .round_solids import Frustum, Polyhedron, Rounded
from .solids import Ball, Box, Solid, turned
from .things import Draw, Floor, Thing, block


def _house(draw: Draw, wide: float, deep: float, storeys: int) -> Thing:
    """A house whose front, with windows and a door, looks along −y; a flat or a gabled roof."""
    storey = draw.uniform(2.6, 3.4)
    height = storeys * storey
    cavities = []
    columns = max(1, int(wide / draw.uniform(1.8, 3.2)))
    half, tall, recess = draw.uniform(0.35, 0.6), draw.uniform(1.0, 1.7), draw.uniform(0.1, 0.4)
    door = draw.integers(columns)
    front = -deep / 2
    for i in range(columns):
        x = (i + 0.5) * wide / columns - wide / 2
        for j in range(storeys):
            low, high = j * storey + 0.8, j * storey + 0.8 + tall
            if j == 0 and i == door:
                low, high = -1.0, 2.1
            middle = (x, front + (recess - 0.5) / 2, (low + high) / 2)
            cavities.append(Box(middle, (2 * half, recess + 0.5, high - low)))
    solids: list[Solid] = [Carved(block((wide, deep, height)), tuple(cavities))]
    style = draw.random()
    if style < 0.45:  # a gable along the street
        rise = draw.uniform(0.8, 0.4 * deep + 0.8)
        solids.append(_gable(wide, deep + 0.6, rise, height))
    elif style < 0.7:  # an edge around a flat roof
        solids.append(block((wide + 0.3, deep + 0.3, 0.3), z=height))
    if draw.random() < 0.35:  # balconies
        for j in range(1, storeys):
            x = (draw.integers(columns) + 0.5) * wide / columns - wide / 2
            solids.append(block((2.2 * half, 0.9, 0.15), x, front - 0.45, j * storey))
            solids.append(block((2.2 * half, 0.06, 0.9), x, front - 0.87, j * storey + 0.15))
    return Thing(tuple(solids), (wide / 2, deep / 2), height)


def _gable(wide: float, deep: float, rise: float, z: float) -> Polyhedron:
    """A roof whose ridge runs along x."""
    slope = np.array([0, rise, deep / 2]) / np.hypot(rise, deep / 2)
    faces = np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 0, -1.0], slope, slope * (1, -1, 1)])
    offsets = np.array([wide / 2, wide / 2, 0.0, slope[2] * rise, slope[2] * rise])
    return Polyhedron((0, 0, z), faces, offsets, float(np.hypot(np.hypot(wide / 2, deep / 2), rise)))


def _car(draw: Draw) -> Thing:
    long, wide = draw.uniform(3.4, 4.8), draw.uniform(1.6, 1.9)
    wheels = [
        Frustum((i * 0.3 * long, j * (wide / 2 - 0.1), 0.32), 0.32, 0.32, 0.2, turned(90, "x"))
        for i in (-1, 1)
        for j in (-1, 1)
    ]
    if draw.random() < 0.4:  # a van
        body: list[Solid] = [block((long, wide, draw.uniform(1.4, 2.0)), z=0.25)]
    else:
        power = draw.uniform(5, 9)
        body = [
            Rounded((0, 0, 0.6), (long / 2, wide / 2, 0.38), power),
            Rounded((-0.05 * long, 0, 1.0), (0.28 * long, 0.44 * wide, 0.42), draw.uniform(3, 6)),
        ]
    return Thing((*body, *wheels), (long / 2, wide / 2), 2.3)


def _lamp_post(draw: Draw) -> Thing:
    tall = draw.uniform(3.5, 6)
    return Thing((Frustum((0, 0, tall / 2), 0.09, 0.05, tall), Ball((0, 0, tall + 0.15), 0.2)), (0.2, 0.2), tall)


def _tree(draw: Draw) -> Thing:
    trunk, crown, n = draw.uniform(1.5, 3.0), draw.uniform(0.9, 1.8), 10
    lumps = draw.normal(scale=0.45 * crown, size=(n, 3))
    halves = crown * draw.uniform(0.3, 0.55, size=(n, 1)) * np.ones(3)
    stem = Frustum((0, 0, (trunk + crown) / 2), 0.2, 0.12, trunk + crown)
    return Thing((stem, Blob((0, 0, trunk + crown), lumps, halves)), (0.3, 0.3), trunk + 2 * crown)


def _bollard(draw: Draw) -> Thing:
    r, tall = draw.uniform(0.08, 0.3), draw.uniform(0.5, 1.2)
    return Thing((Frustum((0, 0, tall / 2), r, r * draw.uniform(0.6, 1), tall),), (r, r), tall)


def _container(draw: Draw) -> Thing:
    a, b, c = draw.uniform((0.6, 0.5, 0.8), (2.4, 1.4, 1.8))
    return Thing((block((a, b, c)),), (a / 2, b / 2), c)


_ON_PAVEMENT = (_lamp_post, _tree, _bollard, _bollard, _container, _container)


def street(draw: Draw) -> Place:
    """Two rows of houses along a street that ends before a house, with cars, trees, posts and bins."""
    half, long = draw.uniform(3.0, 6.5), draw.uniform(18, 40)
    pavement, kerb = draw.uniform(1.2, 2.5), draw.uniform(0.08, 0.18)
    total = half + pavement
    solids: list[Solid] = [block((4 * total + 40, long + 40, 1.0), 0, long / 2, -1.0)]
    for side in (-1, 1):
        solids.append(block((pavement, long + 8, kerb), side * (half + pavement / 2), long / 2 - 4))
        y = -draw.uniform(2, 8)
        while y < long:
            wide, deep = draw.uniform(4, 10), draw.uniform(5, 9)
            house = _house(draw, wide, deep, int(draw.integers(1, 5)))
            back = 0.0 if draw.random() < 0.7 else draw.uniform(0, 1.5)
            solids += house.at(side * (total + deep / 2 + back), y + wide / 2, 0.0, -90.0 * side)
            y += wide + (0.0 if draw.random() < 0.6 else draw.uniform(0.8, 4))
        walk = Floor((half + 0.1, 2.0), (total - 0.1, long)) if side > 0 else Floor((-total + 0.1, 2.0), (-half - 0.1, long))
        things = [_ON_PAVEMENT[draw.integers(len(_ON_PAVEMENT))](draw) for _ in range(draw.integers(4, 14))]
        solids += walk.scatter(draw, things, kerb, off_axis=0.3)
        parked = Floor((half - 2.2, 3.0), (half - 0.15, long)) if side > 0 else Floor((-half + 0.15, 3.0), (-half + 2.2, long))
        for _ in range(draw.integers(0, 6)):
            car = _car(draw)
            y = draw.uniform(3, long)
            x = side * (half - 0.2 - car.half[1])
            if parked.claim(car.half, x, y, 90.0):
                solids += car.at(x, y, 0.0, 90.0 + draw.normal(scale=2))
    end = _house(draw, 2 * total + 6, 8.0, int(draw.integers(2, 6)))
    solids += end.at(draw.uniform(-1, 1), long + 6 + draw.uniform(0, 4), 0.0, draw.normal(scale=6))
    eye = ((-0.8 * half, -1.0, 1.2), (0.8 * half, 3.0, draw.choice([2.2, 6.0])))
    target = ((-total, 9.0, 0.6), (total, long, 2.5))
    return Place(solids, eye, target, near=1.0, width=(9.0, 18.0))


def heap(draw: Draw) -> Place:
    """Boxes, cans, balls and cones piled up on a floor, often before one or two walls."""
    spread = draw.uniform(0.5, 1.2)
    count = int(draw.integers(10, 45))
    size = spread * draw.uniform(0.25, 0.5)
    tops: list[tuple[np.ndarray, float, float]] = []  # where things lie, how far they reach, how high
    solids: list[Solid] = [block((8 * spread + 4, 8 * spread + 4, 0.5), z=-0.5)]
    for _ in range(count):
        xy = draw.normal(scale=0.5 * spread, size=2)
        a, b, c = size * draw.uniform(0.25, 1.0, size=3) * draw.choice([0.5, 1.0])
        reach = float(np.hypot(a, b)) / 2
        below = [h for at, r, h in tops if np.hypot(*(at - xy)) < r + reach]
        z = max(below, default=0.0)
        kind = draw.random()
        turn = turned(draw.uniform(0, 360))
        if kind < 0.55:
            lying: Solid = Box((0, 0, c / 2), (a, b, c))
            tall = c
            if draw.random() < 0.15:  # it came to lie on an edge
                lean = turned(draw.uniform(5, 40), "x")
                tall = float(np.abs(lean[2]) @ (a, b, c))
                lying = Box((0, 0, tall / 2), (a, b, c), lean)
        elif kind < 0.7:
            r = min(a, b) / 2
            lying, tall = Frustum((0, 0, c / 2), r, r, c), c
        elif kind < 0.8:
            r = min(a, b) / 2
            lying, tall = Frustum((0, 0, r), r, r, c, turned(90, "x")), 2 * r
            reach = float(np.hypot(r, c / 2))
        elif kind < 0.9:
            r = reach = min(a, b) / 2
            lying, tall = Ball((0, 0, r), r), 2 * r
        else:
            r = min(a, b) / 2
            lying, tall = Frustum((0, 0, c / 2), r, 0.0, c), c
        solids.append(lying.moved(turn, np.array([*xy, z])))
        tops.append((xy, reach, z + tall))
    style = draw.random()
    back = draw.uniform(1.3, 2.2) * spread
    if style < 0.7:  # a wall behind, and perhaps one beside
        lean = turned(draw.uniform(-25, 25))
        walls = [Box((0, back + 0.1, 2), (20, 0.2, 5))]
        if style < 0.4:
            walls.append(Box((-back - 0.1, 0, 2), (0.2, 20, 5)))
        solids += [wall.moved(lean, np.zeros(3)) for wall in walls]
    high = draw.uniform(0.4, 1.8) * spread
    eye = ((-1.2 * spread, -3.2 * spread, high + 0.2), (1.2 * spread, -1.9 * spread, high + 0.8 * spread))
    target = ((-0.3 * spread, -0.3 * spread, 0.0), (0.3 * spread, 0.3 * spread, 0.4 * spread))
    return Place(solids, eye, target, near=0.3 * spread, width=(1.8 * spread, 3.5 * spread))
