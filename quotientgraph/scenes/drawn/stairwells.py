"""Random stairwells: flights with a landing, and steps that wind around a column."""

from __future__ import annotations

import numpy as np

from ..round_solids import Frustum, Polyhedron
from ..solids import Box, Solid, turned
from .furniture import FREE
from .indoors import some
from .site import Site, room_shell
from .things import Draw, Floor, block


def stairwell(draw: Draw) -> Site:
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
