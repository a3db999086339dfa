"""Small things: what stands on tables and in shelves, in their true sizes (metres)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from ..hollow_solids import Carved
from ..round_solids import Frustum, Rounded
from ..solids import Ball, Box, Solid, Torus, turned
from .things import Draw, Thing, block


def carton(draw: Draw) -> Thing:
    a, b, c = draw.uniform((0.06, 0.06, 0.04), (0.32, 0.25, 0.3))
    return Thing((block((a, b, c)),), (a / 2, b / 2), c, (a / 2, b / 2))


def tin(draw: Draw) -> Thing:
    r, h = draw.uniform(0.03, 0.09), draw.uniform(0.05, 0.24)
    return Thing((Frustum((0, 0, h / 2), r, r, h),), (r, r), h, (0.7 * r, 0.7 * r))


def lying_tin(draw: Draw) -> Thing:
    r, h = draw.uniform(0.03, 0.08), draw.uniform(0.08, 0.24)
    return Thing((Frustum((0, 0, r), r, r, h, turned(90, "x")),), (r, h / 2), 2 * r)


def ball(draw: Draw) -> Thing:
    r = draw.uniform(0.03, 0.12)
    return Thing((Ball((0, 0, r), r),), (r, r), 2 * r)


def cone(draw: Draw) -> Thing:
    r, h = draw.uniform(0.04, 0.1), draw.uniform(0.08, 0.28)
    return Thing((Frustum((0, 0, h / 2), r, draw.choice([0.0, 0.4]) * r, h),), (r, r), h)


def cup(draw: Draw) -> Thing:
    """An open cup, one half of them with a handle."""
    r, h = draw.uniform(0.035, 0.06), draw.uniform(0.07, 0.13)
    low, wall = r * draw.uniform(0.7, 1.0), 0.006
    inner = Frustum((0, 0, h / 2 + wall), low - wall, r - wall, h)
    solids: list[Solid] = [Carved(Frustum((0, 0, h / 2), low, r, h), (inner,))]
    half = (r, r)
    if draw.random() < 0.5:
        solids.append(Torus(((low + r) / 2, 0, h / 2), 0.3 * h, 0.007, turned(90, "x")))
        half = (r + 0.3 * h + 0.01, r)
    return Thing(tuple(solids), half, h)


def bowl(draw: Draw) -> Thing:
    """A bowl: the lower part of a hollow ball."""
    r = draw.uniform(0.08, 0.16)
    h = r * draw.uniform(0.5, 0.85)
    upper = Box((0, 0, h + 2 * r), (4 * r, 4 * r, 4 * r))
    foot = Frustum((0, 0, 0.006), 0.45 * r, 0.45 * r, 0.024)
    return Thing((Carved(Ball((0, 0, r), r), (upper, Ball((0, 0, r), 0.94 * r))), foot), (r, r), h)


def plate(draw: Draw) -> Thing:
    r = draw.uniform(0.08, 0.14)
    body = Frustum((0, 0, 0.012), 0.6 * r, r, 0.024)
    return Thing((Carved(body, (Frustum((0, 0, 0.022), 0.55 * r, 0.95 * r, 0.024),)),), (r, r), 0.024)


def _turned_on_a_lathe(heights: ArrayLike, radii: ArrayLike) -> tuple[Solid, ...]:
    """Cut-off cones on each other, with these radii at these heights."""
    rings = np.stack([heights, radii], axis=1)
    return tuple(Frustum((0, 0, (a + b) / 2), low, high, b - a) for (a, low), (b, high) in pairwise(rings))


def bottle(draw: Draw) -> Thing:
    r, h = draw.uniform(0.03, 0.05), draw.uniform(0.2, 0.33)
    neck = 0.35 * r
    return Thing(_turned_on_a_lathe((0, 0.62 * h, 0.76 * h, h), (r, r, neck, neck)), (r, r), h)


def vase(draw: Draw) -> Thing:
    """A vase turned from three cut-off cones."""
    h = draw.uniform(0.15, 0.4)
    radii = h * draw.uniform((0.12, 0.2, 0.07, 0.1), (0.22, 0.35, 0.16, 0.25))
    cuts = np.array([0, draw.uniform(0.3, 0.5), draw.uniform(0.65, 0.85), 1.0]) * h
    return Thing(_turned_on_a_lathe(cuts, radii), (radii.max(), radii.max()), h)


def cushion(draw: Draw) -> Thing:
    a, b, c = draw.uniform((0.15, 0.12, 0.05), (0.28, 0.25, 0.09))
    return Thing((Rounded((0, 0, c), (a, b, c), draw.uniform(2.5, 6)),), (a, b), 2 * c)


def egg(draw: Draw) -> Thing:
    """A pebble, a loaf or a melon: an ellipsoid that lies on its side."""
    a, b, c = draw.uniform((0.04, 0.03, 0.03), (0.16, 0.1, 0.08))
    return Thing((Rounded((0, 0, c), (a, b, c), 2.0),), (a, b), 2 * c)


def ring(draw: Draw) -> Thing:
    r = draw.uniform(0.04, 0.1)
    t = r * draw.uniform(0.2, 0.4)
    return Thing((Torus((0, 0, t), r, t),), (r + t, r + t), 2 * t)


def book_pile(draw: Draw) -> Thing:
    """A few books, one on another, each turned a little."""
    solids: list[Solid] = []
    z = 0.0
    half = np.zeros(2)
    for _ in range(draw.integers(1, 6)):
        a, b, c = draw.uniform((0.2, 0.14, 0.012), (0.3, 0.22, 0.05))
        turn = turned(draw.normal(scale=8))
        solids.append(Box((0, 0, z + c / 2), (a, b, c), turn))
        half = np.maximum(half, np.abs(turn[:2, :2]) @ (a / 2, b / 2))
        z += c
    return Thing(tuple(solids), (half[0], half[1]), z, (0.08, 0.06))


def book_row(draw: Draw) -> Thing:
    """Books that stand in a row, the last of them sometimes leaning against the others."""
    solids: list[Solid] = []
    x = 0.0
    deep = draw.uniform(0.13, 0.2)
    tallest = 0.0
    for _ in range(draw.integers(3, 10)):
        thick, tall = draw.uniform(0.012, 0.06), draw.uniform(0.17, 0.28)
        back = draw.uniform(0, 0.03)
        solids.append(block((thick, deep, tall), x + thick / 2, back))
        x += thick
        tallest, last = max(tallest, tall), tall
    if draw.random() < 0.35:
        # It stands on its lower left edge and touches the last book's upper right edge.
        thick, tall, lean = 0.02, last * draw.uniform(1.02, 1.15), np.degrees(np.arcsin(draw.uniform(0.15, 0.4)))
        turn = turned(-lean, "y")
        foot = x + last * np.tan(np.radians(lean))
        middle = np.array([foot, 0, 0]) + turn @ (thick / 2, 0, tall / 2)
        solids.append(Box(tuple(middle), (thick, deep, tall), turn))
        x = foot + thick
        tallest = max(tallest, tall)
    half = x / 2
    moved = tuple(s.moved(np.eye(3), np.array([-half, 0, 0])) for s in solids)
    return Thing(moved, (half, deep / 2 + 0.03), tallest)


SMALL = (carton, tin, lying_tin, ball, cone, cup, bowl, plate, bottle, vase, cushion, egg, ring, book_pile, book_row)
ON_TABLES = (carton, tin, ball, cone, cup, cup, bowl, plate, bottle, bottle, vase, egg, book_pile, carton, tin)
IN_SHELVES = (carton, carton, tin, ball, cup, bowl, bottle, vase, egg, book_pile, book_row, book_row, book_row)
