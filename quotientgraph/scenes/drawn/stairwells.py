"""Random stairwells: flights with a landing, and steps that wind around a column."""

from __future__ import annotations

import numpy as np

from ..round_solids import Frustum, Polyhedron
from ..solids import Box, Solid, turned
from .furniture import FREE
from .indoors import some
from .site import Site, room_shell
from .things import Draw, Floor, Thing, block


def stairwell(draw: Draw) -> Site:
    """Stairs between walls: a flight in a hall, two flights with a landing, or steps around a column."""
    style = draw.random()
    return (_hall_stairs if style < 0.35 else _two_flights if style < 0.7 else _winding_stairs)(draw)


def _flight(steps: int, wide: float, run: float, level: float, solid: bool) -> Thing:
    """Steps around the origin that rise along +y to the height `level` over the length `run`.

    Solid ones reach down to the floor; the others are slabs.
    """
    rise, going = level / steps, run / steps
    tops = rise * np.arange(1, steps + 1)
    thick = tops if solid else np.minimum(tops, rise + 0.12)
    places = (np.arange(steps) + 0.5) * going - run / 2
    boxes = [block((wide, going, t), 0, y, top - t) for y, t, top in zip(places, thick, tops)]
    return Thing(tuple(boxes), (wide / 2, run / 2), level)


def _length_and_height(draw: Draw, steps: int) -> tuple[float, float]:
    """Of a flight that is comfortable to climb."""
    return steps * draw.uniform(0.24, 0.32), steps * draw.uniform(0.15, 0.19)


def _hall_stairs(draw: Draw) -> Site:
    """One flight along a wall of a hall, up to a landing or to a floor above."""
    steps, wide, landing = int(draw.integers(5, 14)), draw.uniform(0.8, 1.8), draw.uniform(0.6, 1.6)
    solid = draw.random() < 0.65
    run, level = _length_and_height(draw, steps)
    half = ((wide + draw.uniform(0.3, 2.5)) / 2, (run + landing) / 2 + draw.uniform(0.7, 1.4))
    solids = room_shell(draw, half, level + draw.uniform(2.0, 2.6), "NE")
    left, start = -half[0] + wide / 2, half[1] - landing - run
    solids += _flight(steps, wide, run, level, solid).at(left, start + run / 2)
    across = 2 * half[0] if draw.random() < 0.4 else wide
    thick = level if solid else 0.2
    solids.append(block((across, landing, thick), -half[0] + across / 2, half[1] - landing / 2, level - thick))
    if draw.random() < 0.6:
        solids += _rail(draw, left + wide / 2 - 0.03, start, start + run, 0.0, level, steps)
    floor = Floor((-half[0], -half[1]), half)
    floor.claim((wide / 2, (run + landing) / 2), left, half[1] - (run + landing) / 2, 0.0)
    if across > wide:
        floor.claim((half[0] - wide / 2, landing / 2), wide / 2, half[1] - landing / 2, 0.0)
    solids += floor.scatter(draw, some(draw, FREE, 0, 5), off_axis=0.5)
    eye = ((-0.6 * half[0], -0.95 * half[1], 0.8), (0.9 * half[0], start + 0.2 * run, 0.6 * level + 1.8))
    target = ((left - 0.2, start + 0.3 * run, 0.1 * level), (left + 0.6, half[1], 0.9 * level))
    return Site(solids, eye, target, near=0.5, width=(2.0, 4.0))


def _two_flights(draw: Draw) -> Site:
    """Two flights side by side, the second one back from the landing at the end of the first."""
    steps, wide = int(draw.integers(6, 12)), draw.uniform(0.8, 1.4)
    gap, landing = draw.uniform(0.05, 0.6), draw.uniform(0.8, 1.3)
    solid = draw.random() < 0.6
    run, level = _length_and_height(draw, steps)
    half = (wide + gap / 2, (run + landing) / 2 + draw.uniform(0.6, 1.2))
    solids = room_shell(draw, half, 2 * level + draw.uniform(2.0, 2.6), "NEW")
    north = half[1] - landing  # where the landing begins
    left, right = -half[0] + wide / 2, half[0] - wide / 2
    solids += _flight(steps, wide, run, level, solid).at(left, north - run / 2)
    solids += _flight(steps, wide, run, level, solid=False).at(right, north - run / 2, level, 180.0)
    thick = level if solid else 0.2
    solids.append(block((2 * half[0], landing, thick), 0, half[1] - landing / 2, level - thick))
    end = north - run + half[1]  # the upper floor, in front of the second flight
    solids.append(block((wide, end, 0.25), right, -half[1] + end / 2, 2 * level - 0.25))
    if draw.random() < 0.7:  # posts and a rail on the open side of each flight
        solids += _rail(draw, -half[0] + wide - 0.03, north - run, north, 0.0, level, steps)
        solids += _rail(draw, half[0] - wide + 0.03, north, north - run, level, 2 * level, steps)
    floor = Floor((-half[0], -half[1]), (half[0], north - run - 0.1))
    solids += floor.scatter(draw, some(draw, FREE, 0, 3), off_axis=0.5)
    if draw.random() < 0.6:  # from below
        eye = ((-0.5 * half[0], -0.93 * half[1], 0.8), (0.8 * half[0], north - run, 1.9))
        target = ((-0.7 * half[0], 0.0, 0.3 * level), (0.5 * half[0], half[1], 1.2 * level))
    else:  # from the upper flight, downwards
        eye = ((-0.7 * half[0], -0.9 * half[1], level + 0.8), (0.4 * half[0], north - 0.5 * run, 2 * level + 1.2))
        target = ((-0.7 * half[0], 0.0, 0.2 * level), (0.3 * half[0], half[1], level))
    return Site(solids, eye, target, near=0.4, width=(2.0, 4.0))


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


def _winding_stairs(draw: Draw) -> Site:
    """Steps that wind up around a column in a square well."""
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
    return Site(solids, eye, target, near=0.4, width=(2.0, 3.5))
