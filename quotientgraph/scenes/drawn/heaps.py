"""Random heaps: boxes, cans, balls and cones side by side, on each other and leaning against each other."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..blob import Blob, melted
from ..hollow_solids import Carved
from ..round_solids import Frustum, Polyhedron, Rounded
from ..solids import Array, Ball, Box, Solid, Torus, turned
from .site import Site
from .things import Draw, Thing, block, corners_of, overlap


@dataclass(frozen=True, eq=False)
class _Lying:
    """A thing where it lies: corners of its rectangle, heights, and what a thing upon it needs to know."""

    corners: Array
    low: float
    thing: Thing
    x: float
    y: float
    degrees: float

    @property
    def high(self) -> float:
        return self.low + self.thing.height


@dataclass
class _Pile:
    """Things that lie on a floor and on each other, none inside another."""

    lying: list[_Lying] = field(default_factory=list)

    def put(self, thing: Thing, x: float, y: float, z: float, degrees: float) -> bool:
        corners = corners_of(thing.half, x, y, degrees)
        for other in self.lying:
            apart = z >= other.high - 1e-9 or z + thing.height <= other.low + 1e-9
            if not apart and overlap(corners, other.corners):
                return False
        self.lying.append(_Lying(corners, z, thing, x, y, degrees))
        return True

    def put_on(self, draw: Draw, thing: Thing) -> bool:
        """On top of something flat, its middle above it and not much larger than it."""
        flat = [lying for lying in self.lying if lying.thing.top is not None]
        if not flat:
            return False
        below = flat[draw.integers(len(flat))]
        top = np.array(below.thing.top)
        if min(thing.half) > 1.4 * top.min():
            return False
        shift = turned(below.degrees)[:2, :2] @ (draw.uniform(-0.8, 0.8, size=2) * top)
        degrees = below.degrees + (90.0 * draw.integers(4) if draw.random() < 0.3 else draw.uniform(0, 360))
        return self.put(thing, below.x + shift[0], below.y + shift[1], below.high, degrees)

    def lean(self, draw: Draw, size: float) -> bool:
        """A plank against the side of a box that stands on the floor."""
        upright = [one for one in self.lying if one.low == 0 and one.thing.top and one.thing.height > 0.3 * size]
        if not upright:
            return False
        box = upright[draw.integers(len(upright))]
        lean, thick = draw.uniform(20, 50), size * draw.uniform(0.05, 0.12)
        a, b = np.sin(np.radians(lean)), np.cos(np.radians(lean))
        long, wide = box.thing.height / b * draw.uniform(1.05, 1.4), size * draw.uniform(0.2, 0.8)
        # Its lower edge is on the floor; its underside touches the upper edge of the box's side at +x.
        foot = box.thing.half[0] + box.thing.height * a / b
        left, right = foot - long * a, foot + thick * b
        turn = turned(-lean, "y")
        centre = np.array([foot - (left + right) / 2, 0, 0]) + turn @ (thick / 2, 0, long / 2)
        solid = Box(tuple(centre), (thick, wide, long), turn)
        plank = Thing((solid,), ((right - left) / 2, wide / 2), long * b + thick * a)
        x, y, _ = turned(box.degrees) @ ((left + right) / 2, 0, 0) + (box.x, box.y, 0)
        others = _Pile([one for one in self.lying if one is not box])
        if not others.put(plank, x, y, 0.0, box.degrees):
            return False
        self.lying.append(others.lying[-1])
        return True

    def solids(self) -> list[Solid]:
        return [solid for one in self.lying for solid in one.thing.at(one.x, one.y, one.low, one.degrees)]


def _piece(draw: Draw, size: float) -> Thing:
    """One thing of about this size."""
    a, b, c = size * draw.uniform(0.25, 1.0, size=3)
    r = min(a, b) / 2
    kind = draw.random()
    if kind < 0.42:
        return Thing((block((a, b, c)),), (a / 2, b / 2), c, (a / 2, b / 2))
    if kind < 0.57:
        return Thing((Frustum((0, 0, c / 2), r, r, c),), (r, r), c, (0.7 * r, 0.7 * r))
    if kind < 0.66:
        return Thing((Frustum((0, 0, r), r, r, c, turned(90, "x")),), (r, c / 2), 2 * r)
    if kind < 0.75:
        return Thing((Ball((0, 0, r), r),), (r, r), 2 * r)
    if kind < 0.82:
        return Thing((Frustum((0, 0, c / 2), r, r * draw.choice([0.0, 0.5]), c),), (r, r), c)
    if kind < 0.87:
        return Thing((Rounded((0, 0, c / 2), (a / 2, b / 2, c / 2), draw.uniform(2, 6)),), (a / 2, b / 2), c)
    if kind < 0.91:  # a wedge
        slope = np.array([c, 0, a]) / np.hypot(a, c)
        faces = np.array([[-1.0, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, -1], slope])
        offsets = np.array([a / 2, b / 2, b / 2, c / 2, 0.0])
        return Thing((Polyhedron((0, 0, c / 2), faces, offsets, float(np.linalg.norm((a, b, c)))),), (a / 2, b / 2), c)
    if kind < 0.94:  # an open box
        inner = Box((0, 0, c / 2 + 0.05 * size), (a - 0.06 * size, b - 0.06 * size, c))
        return Thing((Carved(block((a, b, c)), (inner,)),), (a / 2, b / 2), c)
    if kind < 0.97:
        thick = 0.3 * r
        return Thing((Torus((0, 0, thick), r - thick, thick),), (r, r), 2 * thick)
    lumps, halves = melted(draw, 6, 0.3 * size, (1, 1, 0.6))
    low, high = (lumps - halves).min(axis=0), (lumps + halves).max(axis=0)
    middle = (low + high) / 2
    stone = Blob((-middle[0], -middle[1], -low[2]), lumps, halves)
    return Thing((stone,), tuple((high - low)[:2] / 2), high[2] - low[2])


def heap(draw: Draw) -> Site:
    """Boxes, cans, balls and cones piled up on a floor, often before one or two walls."""
    spread = draw.uniform(0.5, 1.2)
    size = spread * draw.uniform(0.3, 0.7)
    upwards = draw.uniform(0.2, 0.7)
    pile = _Pile()
    for _ in range(int(draw.integers(8, 45))):
        thing = _piece(draw, size * draw.choice([0.5, 1.0]))
        for _ in range(6):
            if draw.random() < upwards:
                done = pile.put_on(draw, thing)
            else:
                x, y = draw.normal(scale=0.45 * spread, size=2)
                done = pile.put(thing, x, y, 0.0, draw.uniform(0, 360))
            if done:
                break
    for _ in range(int(draw.integers(0, 3))):
        pile.lean(draw, size)
    solids: list[Solid] = [block((8 * spread + 4, 8 * spread + 4, 0.5), z=-0.5), *pile.solids()]
    style = draw.random()
    back = 0.1 + max(float(one.corners.max(initial=0.0)) for one in pile.lying) * draw.uniform(1.0, 1.3)
    if style < 0.75:  # a wall behind, and perhaps one beside
        turn = turned(draw.uniform(-25, 25))
        back *= 1.25
        solids.append(Box((0, back + 0.1, 2), (20, 0.2, 5)).moved(turn, np.zeros(3)))
        if style < 0.4:
            solids.append(Box((-back - 0.1, 0, 2), (0.2, 20, 5)).moved(turn, np.zeros(3)))
    eye = ((-1.4 * spread, -2.8 * spread, 0.7 * spread), (1.4 * spread, -1.8 * spread, 2.6 * spread))
    target = ((-0.2 * spread, -0.3 * spread, 0.0), (0.2 * spread, 0.2 * spread, 0.35 * spread))
    return Site(solids, eye, target, near=0.5 * spread, width=(1.6 * spread, 3.0 * spread), framed=True)
