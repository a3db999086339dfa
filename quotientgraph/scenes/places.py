"""Scenes of several solids, with contact and occlusion: stairs, rooms, things on a floor."""

from __future__ import annotations

from typing import Any

import numpy as np

from .render import Model, Solids
from .scene import scene
from .solids import Array, Ball, Box, Plane, Torus, turned

# Planar scenes with contact and occlusion ---------------------------------------------------------------

_STAIR_VIEWS: dict[str, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    "front": ((0.45, -2.2, 2.3), (-0.05, 1.4, 0.75)),
    "above": ((0.4, 4.0, 4.2), (-0.1, 1.3, 0.7)),
    "side": ((3.4, -1.6, 2.5), (0.0, 1.4, 0.7)),
}


@scene
def stairs(*, view: str = "front", steps: int = 7) -> Model:
    """Stairs: treads and risers from the "front", treads only from "above", before a wall from the "side".

    From above the risers are hidden: treads with equal normals border on each other, and only the walls
    beside them tell how far they are apart.
    """
    if view not in _STAIR_VIEWS:
        raise ValueError(f"view={view!r} is not known; use one of {', '.join(_STAIR_VIEWS)}")
    if not isinstance(steps, int | np.integer) or steps < 1:
        raise ValueError(f"steps={steps!r} must be a whole number of at least 1")
    going, rise, wide = 2.8 / steps, 1.5 / steps, 2.0
    flight = [Box((0, (i + 0.5) * going, (i + 1) * rise / 2), (wide, going, (i + 1) * rise)) for i in range(steps)]
    landing = Box((0, 2.8 + 0.75, 1.5 / 2), (wide, 1.5, 1.5))
    between = 2 * wide if view == "side" else wide
    hall = Box(((between - wide) / 2, 0.3, 2.5), (between, 9.5, 5.0), inside=True)
    eye, target = _STAIR_VIEWS[view]
    return Solids([hall, *flight, landing], eye, target)


def _furnished_room() -> tuple[list[Any], tuple[float, float, float], tuple[float, float, float]]:
    """Solids, eye and target of the room: 4 m × 6 m, 2.6 m high."""
    room = Box((2, 2, 1.3), (4, 6, 2.6), inside=True)
    bed = [
        Box((3.0, 4.0, 0.25), (1.6, 2.0, 0.5)),
        Box((3.0, 4.93, 0.55), (1.7, 0.14, 1.1)),
        Box((2.65, 4.6, 0.56), (0.6, 0.4, 0.14), turned(18, "x")),
        Box((3.4, 4.6, 0.56), (0.6, 0.4, 0.14), turned(18, "x")),
    ]
    table_turn = turned(24)
    legs = [table_turn @ (0.55 * i, 0.3 * j, 0) + (1.55, 2.75, 0.34) for i in (-1, 1) for j in (-1, 1)]
    table = [Box((1.55, 2.75, 0.71), (1.3, 0.8, 0.06), table_turn)]
    table += [Box(tuple(leg), (0.07, 0.07, 0.68), table_turn) for leg in legs]
    things = [
        Box((0.4, 4.3, 1.0), (0.8, 1.2, 2.0)),  # wardrobe
        Box((1.35, 2.75, 0.84), (0.3, 0.22, 0.2), turned(50)),  # on the table
        Box((1.85, 2.85, 0.765), (0.28, 0.2, 0.05), turned(5)),
        Box((2.75, 2.3, 0.2), (0.4, 0.4, 0.4), turned(35)),  # crate, and another on it
        Box((2.75, 2.3, 0.5), (0.25, 0.25, 0.2), turned(70)),
        Box((1.65, 5.0, 1.6), (0.7, 0.05, 0.5), turned(-6, "x")),  # pictures lean out from the wall
        Box((4.0, 3.0, 1.6), (0.05, 0.8, 0.6), turned(6, "y")),
        Box((3.85, 4.2, 1.5), (0.3, 0.9, 0.05)),  # shelf
    ]
    return [room, *bed, *table, *things], (0.6, -0.6, 1.9), (2.2, 3.5, 0.85)


@scene
def room() -> Model:
    """A furnished room: bed, wardrobe, crates, leaning pictures, a table that hides what is behind it."""
    return Solids(*_furnished_room())


@scene
def textured_room(*, tilt: float = 8.0, grain: float = 0.0475, seed: int = 0) -> Model:
    """The room with a fine relief of small facets, as of crumpled paper, on everything.

    Four zigzag waves about `grain` metres long, each `tilt` degrees steep, are added to the depth. Their
    creases divide the surfaces into facets that touch: about 95,000 components of 2° at 1024×1216.
    """
    random = np.random.default_rng(seed)
    direction = random.normal(size=(4, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    per_metre = random.uniform(0.7, 1.4, size=4) / grain
    phase = random.uniform(size=4)
    slope = np.tan(np.radians(tilt))

    def texture(points: Array) -> tuple[Array, Array]:
        lift, gradient = np.zeros(points.shape[1:]), np.zeros_like(points)
        for k, frequency, start in zip(direction, per_metre, phase):
            at = (frequency * np.tensordot(k, points, 1) + start) % 1.0
            lift += np.abs(at - 0.5) * slope / frequency
            gradient += np.multiply.outer(k, np.where(at > 0.5, slope, -slope))
        return lift, gradient

    return Solids(*_furnished_room(), texture)


@scene
def boxes() -> Model:
    """Boxes standing on a floor, some in front of others, two of them stacked."""
    places = [
        ((-0.75, 0.9), (0.8, 0.6, 1.1), 25),
        ((0.35, 1.1), (0.7, 0.7, 0.8), -30),
        ((-0.15, 0.1), (0.5, 0.5, 0.6), 50),
        ((0.85, 0.05), (0.6, 0.4, 0.35), 12),
        ((-0.95, -0.25), (0.4, 0.6, 0.3), -15),
        ((0.25, -0.65), (0.35, 0.35, 0.45), 65),
    ]
    standing = [Box((x, y, size[2] / 2), size, turned(by)) for (x, y), size, by in places]
    stacked = Box((0.35, 1.1, 0.8 + 0.2), (0.35, 0.35, 0.4), turned(5))
    return Solids([Plane(), *standing, stacked], eye=(0.3, -3.0, 2.9), target=(0, 0.25, 0.35))


# Objects in front of something --------------------------------------------------------------------------


@scene
def spheres() -> Model:
    """Balls on a floor: some touch it in a point, some are sunk into it, some hide others."""
    balls = [
        ((-0.6, 0.6, 0.6), 0.6),
        ((0.65, 0.9, 0.3), 0.55),
        ((0.25, 0.0, 0.3), 0.3),
        ((-0.75, -0.45, 0.05), 0.35),
        ((0.95, -0.35, 0.22), 0.22),
    ]
    return Solids([Plane(), *(Ball(c, r) for c, r in balls)], eye=(0, -3.0, 2.4), target=(0, 0.2, 0.2))


@scene
def islands() -> Model:
    """Six separate pieces: their relative depth is not determined by any normal."""
    solids = [
        Ball((-1.05, 0.0, 0.75), 0.45),
        Ball((0.0, 0.8, -0.75), 0.4),
        Torus((1.0, 0.3, 0.7), 0.35, 0.14, turned(35, "x")),
        Box((-1.0, 0.2, -0.7), (0.6, 0.5, 0.5), turned(35) @ turned(30, "x")),
        Box((0.0, -0.2, 0.65), (0.7, 0.1, 0.6), turned(20) @ turned(15, "x")),
        Box((1.1, 0.0, -0.7), (0.35, 0.4, 0.7), turned(-30)),
    ]
    return Solids(solids, eye=(0, -4, 0), target=(0, 0, 0))


@scene
def occlusions(*, objects: int = 90, seed: int = 0) -> Model:
    """A crowd of boxes, balls and half-sunk rings on a floor: the benchmark of large maps."""
    random = np.random.default_rng(seed)
    solids: list[Any] = [Plane()]
    for i in range(objects):
        x, y = random.uniform(-2.6, 2.6), random.uniform(-2.2, 3.0)
        size = random.uniform(0.12, 0.4)
        if i % 3 == 0:
            solids.append(Ball((x, y, random.uniform(-0.3, 0.6) * size), size))
        elif i % 3 == 1:
            tall = size * random.uniform(0.8, 2.5)
            by = turned(random.uniform(0, 90))
            solids.append(Box((x, y, tall / 2), (size, size * random.uniform(0.7, 1.5), tall), by))
        else:
            lean = turned(random.uniform(0, 180)) @ turned(random.uniform(20, 70), "x")
            solids.append(Torus((x, y, 0.2 * size), 0.8 * size, 0.25 * size, lean))
    return Solids(solids, eye=(0, -3.6, 3.0), target=(0, 0.2, 0.1))
