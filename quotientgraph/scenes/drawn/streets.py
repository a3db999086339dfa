"""Random streets: rows of houses, cars, trees and posts."""

from __future__ import annotations

import numpy as np

from ..blob import Blob, melted
from ..hollow_solids import Carved
from ..round_solids import Frustum, Polyhedron, Rounded
from ..solids import Ball, Box, Solid, turned
from .site import Site
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
    trunk, crown = draw.uniform(1.5, 3.0), draw.uniform(0.9, 1.8)
    lumps, halves = melted(draw, 10, 0.6 * crown, (1.0, 1.0, 0.8))
    stem = Frustum((0, 0, (trunk + crown) / 2), 0.2, 0.12, trunk + crown)
    return Thing((stem, Blob((0, 0, trunk + crown), lumps, halves)), (0.3, 0.3), trunk + 2 * crown)


def _bollard(draw: Draw) -> Thing:
    r, tall = draw.uniform(0.08, 0.3), draw.uniform(0.5, 1.2)
    return Thing((Frustum((0, 0, tall / 2), r, r * draw.uniform(0.6, 1), tall),), (r, r), tall)


def _container(draw: Draw) -> Thing:
    a, b, c = draw.uniform((0.6, 0.5, 0.8), (2.4, 1.4, 1.8))
    return Thing((block((a, b, c)),), (a / 2, b / 2), c)


_ON_PAVEMENT = (_lamp_post, _tree, _bollard, _bollard, _container, _container)


def _strip(side: int, inner: float, outer: float, start: float, end: float) -> Floor:
    """The strip along the street between two distances from its middle, on the side of the sign `side`."""
    return Floor((inner, start), (outer, end)) if side > 0 else Floor((-outer, start), (-inner, end))


def street(draw: Draw) -> Site:
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
        walk = _strip(side, half + 0.1, total - 0.1, 2.0, long)
        things = [_ON_PAVEMENT[draw.integers(len(_ON_PAVEMENT))](draw) for _ in range(draw.integers(4, 14))]
        solids += walk.scatter(draw, things, kerb, off_axis=0.3)
        parked = _strip(side, half - 2.2, half - 0.15, 3.0, long)
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
    return Site(solids, eye, target, near=1.5, width=(9.0, 18.0))
