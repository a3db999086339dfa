"""Furniture in true sizes (metres): it stands on the floor with its back towards +y."""

from __future__ import annotations

import numpy as np

from ..blob import Blob, melted
from ..hollow_solids import Carved
from ..round_solids import Frustum, Rounded
from ..solids import Box, Solid, turned
from .small_things import IN_SHELVES, ON_TABLES
from .things import Draw, Floor, Thing, block, laden


def _legs(half: tuple[float, float], tall: float, thick: float, round_ones: bool) -> list[Solid]:
    spots = [(i * (half[0] - thick), j * (half[1] - thick)) for i in (-1, 1) for j in (-1, 1)]
    if round_ones:
        return [Frustum((x, y, tall / 2), 0.7 * thick, thick, tall) for x, y in spots]
    return [block((1.6 * thick, 1.6 * thick, tall), x, y) for x, y in spots]


def bare_table(draw: Draw) -> Thing:
    """A table with four legs, or a round one on a column."""
    tall, plate = draw.uniform(0.4, 0.8), draw.uniform(0.02, 0.06)
    if draw.random() < 0.3:
        r = draw.uniform(0.35, 0.65)
        top = Frustum((0, 0, tall - plate / 2), r, r, plate)
        column = Frustum((0, 0, (tall - plate) / 2), 0.06, 0.04, tall - plate)
        foot = Frustum((0, 0, 0.02), 0.55 * r, 0.5 * r, 0.04)
        return Thing((top, column, foot), (r, r), tall, (0.7 * r, 0.7 * r))
    half = tuple(draw.uniform((0.35, 0.25), (0.95, 0.5)))
    legs = _legs(half, tall - plate, draw.uniform(0.02, 0.05), draw.random() < 0.3)
    return Thing((block((2 * half[0], 2 * half[1], plate), z=tall - plate), *legs), half, tall, half)


def table(draw: Draw) -> Thing:
    """A table with some things on it."""
    return laden(draw, bare_table(draw), ON_TABLES, int(draw.integers(0, 9)))


def chair(draw: Draw) -> Thing:
    w, seat, back = draw.uniform(0.18, 0.25), draw.uniform(0.4, 0.5), draw.uniform(0.35, 0.6)
    legs = _legs((w, w), seat - 0.04, 0.02, draw.random() < 0.4)
    rest = block((2 * w, 0.03, back), 0, w - 0.015, seat)
    if draw.random() < 0.4:  # open below: two posts and a rail
        posts = [block((0.03, 0.03, back), x, w - 0.015, seat) for x in (-w + 0.015, w - 0.015)]
        rest_parts: list[Solid] = [*posts, block((2 * w - 0.06, 0.03, 0.12), 0, w - 0.015, seat + back - 0.12)]
    else:
        rest_parts = [rest]
    return Thing((block((2 * w, 2 * w, 0.04), z=seat - 0.04), *legs, *rest_parts), (w, w), seat + back)


def stool(draw: Draw) -> Thing:
    r, tall = draw.uniform(0.15, 0.22), draw.uniform(0.4, 0.7)
    base = Frustum((0, 0, (tall - 0.04) / 2), 0.8 * r, 0.25 * r, tall - 0.04)
    return Thing((Frustum((0, 0, tall - 0.02), r, r, 0.04), base), (r, r), tall, (0.7 * r, 0.7 * r))


def sofa(draw: Draw) -> Thing:
    w, deep, seat = draw.uniform(0.5, 1.1), draw.uniform(0.4, 0.5), draw.uniform(0.35, 0.45)
    arm, back = draw.uniform(0.08, 0.2), draw.uniform(0.35, 0.5)
    solids: list[Solid] = [
        block((2 * w, 2 * deep, seat)),
        block((2 * w, 0.2, back), 0, deep - 0.1, seat),
        *(block((arm, 2 * deep - 0.2, 0.22), side * (w - arm / 2), -0.1, seat) for side in (-1, 1)),
    ]
    for _ in range(draw.integers(0, 3)):
        size = draw.uniform(0.15, 0.22)
        x = draw.uniform(-w + arm + size, w - arm - size)
        solids.append(Rounded((x, -0.1, seat + 0.09), (size, size, 0.09), 4.0))
    return Thing(tuple(solids), (w, deep), seat + back)


def bed(draw: Draw) -> Thing:
    w, long, tall = draw.uniform(0.45, 0.9), draw.uniform(0.95, 1.05), draw.uniform(0.35, 0.55)
    head = block((2 * w + 0.06, 0.06, tall + draw.uniform(0.2, 0.6)), 0, long + 0.03)
    solids: list[Solid] = [block((2 * w, 2 * long, tall)), head]
    for x in [0.0] if w < 0.7 else [-w / 2, w / 2]:
        solids.append(Rounded((x, long - 0.28, tall + 0.07), (0.8 * min(w, w / 2 + 0.15), 0.22, 0.07), 3.5))
    moved = tuple(s.moved(np.eye(3), np.array([0, -0.03, 0])) for s in solids)
    return Thing(moved, (w + 0.03, long + 0.03), head.size[2])


def wardrobe(draw: Draw) -> Thing:
    a, b, c = draw.uniform((0.6, 0.4, 1.5), (1.6, 0.65, 2.2))
    return Thing((block((a, b, c)),), (a / 2, b / 2), c)


def cabinet(draw: Draw) -> Thing:
    """A low cabinet whose drawers stand out a little, with things on it."""
    a, b, c = draw.uniform((0.5, 0.35, 0.5), (1.4, 0.5, 1.0))
    solids: list[Solid] = [block((a, b, c))]
    rows, columns = draw.integers(1, 4), draw.integers(1, 3)
    wide, tall = a / columns, (c - 0.08) / rows
    for i in range(columns):
        for j in range(rows):
            x, z = (i + 0.5) * wide - a / 2, 0.06 + j * tall
            solids.append(block((wide - 0.03, 0.02, tall - 0.03), x, -b / 2 - 0.01, z))
    bare = Thing(tuple(solids), (a / 2, b / 2 + 0.02), c, (a / 2, b / 2))
    return laden(draw, bare, ON_TABLES, int(draw.integers(0, 6)))


def bookcase(draw: Draw) -> Thing:
    """A bookcase with open compartments and things in them."""
    columns, rows = draw.integers(1, 4), draw.integers(2, 6)
    wide, deep, tall = draw.uniform(0.4, 0.8), draw.uniform(0.25, 0.4), draw.uniform(0.28, 0.42)
    board = draw.uniform(0.015, 0.04)
    a, c = columns * (wide + board) + board, rows * (tall + board) + board
    cells, load = [], []
    filled = draw.uniform(0.3, 1.0)
    for i in range(columns):
        for j in range(rows):
            x, z = board + i * (wide + board) + wide / 2 - a / 2, board + j * (tall + board)
            cells.append(block((wide, 2 * deep, tall), x, -deep - board, z))
            floor = Floor((x - wide / 2, -deep / 2), (x + wide / 2, deep / 2 - 2 * board))
            if draw.random() < filled:
                things = (IN_SHELVES[draw.integers(len(IN_SHELVES))](draw) for _ in range(draw.integers(1, 8)))
                load += floor.scatter(draw, [t for t in things if t.height < tall], z, off_axis=0.3)
    body = Carved(block((a, deep, c)), tuple(_opened(cells, deep, board)))
    return Thing((body, *load), (a / 2, deep / 2), c, None)


def _opened(cells: list[Box], deep: float, board: float) -> list[Box]:
    """The compartments from before the front to a board's thickness before the back."""
    back, front = deep / 2 - board, -deep
    return [Box((c.centre[0], (back + front) / 2, c.centre[2]), (c.size[0], back - front, c.size[2])) for c in cells]


def lamp(draw: Draw) -> Thing:
    """A standing lamp: a foot, a thin pole and a shade."""
    tall, r = draw.uniform(1.2, 1.8), draw.uniform(0.12, 0.25)
    shade = draw.uniform(0.2, 0.35)
    return Thing(
        (
            Frustum((0, 0, 0.015), 0.7 * r, 0.6 * r, 0.03),
            Frustum((0, 0, tall / 2), 0.018, 0.018, tall - 0.02),
            Frustum((0, 0, tall - shade / 2), r, r * draw.uniform(0.4, 1.0), shade),
        ),
        (r, r),
        tall,
    )


def plant(draw: Draw) -> Thing:
    """A pot with a bush in it."""
    r, tall = draw.uniform(0.12, 0.22), draw.uniform(0.2, 0.4)
    crown = draw.uniform(0.2, 0.4)
    lumps, halves = melted(draw, 9, 0.6 * crown, (1.0, 1.0, 1.0))
    trunk = draw.uniform(0.1, 0.5)
    z = tall + trunk + crown
    solids = (
        Frustum((0, 0, tall / 2), 0.75 * r, r, tall),
        Frustum((0, 0, tall + (trunk + crown) / 2), 0.03, 0.02, trunk + crown),
        Blob((0, 0, z), lumps, halves, 2.0),
    )
    return Thing(solids, (max(r, 0.8 * crown), max(r, 0.8 * crown)), z + crown)


def crate_stack(draw: Draw) -> Thing:
    """Boxes on boxes, each smaller than and turned against the one below."""
    solids: list[Solid] = []
    half, z, degrees = draw.uniform(0.18, 0.45, size=2), 0.0, 0.0
    first = half
    for _ in range(draw.integers(1, 5)):
        tall = draw.uniform(0.12, 0.45)
        shift = draw.uniform(-0.1, 0.1, size=2) * half if z else np.zeros(2)
        solids += Thing((block((2 * half[0], 2 * half[1], tall)),), (0, 0), 0).at(shift[0], shift[1], z, degrees)
        z, degrees = z + tall, degrees + draw.uniform(-25, 25)
        half = half * draw.uniform(0.6, 0.9, size=2)
    return Thing(tuple(solids), (first[0], first[1]), z)


def bin_(draw: Draw) -> Thing:
    """An open waste bin."""
    r, tall = draw.uniform(0.12, 0.22), draw.uniform(0.25, 0.5)
    low = r * draw.uniform(0.7, 1.0)
    inner = Frustum((0, 0, tall / 2 + 0.02), low - 0.01, r - 0.01, tall)
    return Thing((Carved(Frustum((0, 0, tall / 2), low, r, tall), (inner,)),), (r, r), tall)


def leaning_board(draw: Draw) -> Thing:
    """A board or a picture that stands on the floor and leans against the wall behind it."""
    wide, long, thick = draw.uniform(0.25, 0.9), draw.uniform(0.5, 1.7), draw.uniform(0.02, 0.06)
    lean = draw.uniform(6, 25)
    a, b = np.sin(np.radians(lean)), np.cos(np.radians(lean))
    # The lower edge behind rests on the floor, the upper edge behind touches the wall.
    half = (long * a + thick * b) / 2
    board = Box(
        (0, half - (long * a + thick * b) / 2, (long * b + thick * a) / 2), (wide, thick, long), turned(-lean, "x")
    )
    return Thing((board,), (wide / 2, half), long * b + thick * a)


AT_WALLS = (table, sofa, bed, wardrobe, cabinet, cabinet, bookcase, bookcase, leaning_board)
FREE = (table, table, chair, chair, stool, crate_stack, lamp, plant, bin_, sofa)
