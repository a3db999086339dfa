"""Random figures: busts, animals and stones before walls."""

from __future__ import annotations

import numpy as np

from ..blob import Blob, melted
from ..round_solids import Frustum
from ..solids import Ball, Box, Convex, turned
from .furniture import bin_, chair, lamp, plant, stool
from .indoors import some
from .site import Site, room_shell
from .things import Draw, Floor, Thing, block


def bust(draw: Draw) -> Thing:
    """A head on a neck and shoulders; what it stands on is cut flat."""
    k = draw.uniform(0.8, 1.2, size=8)
    lumps = np.array(
        [
            [0, 0, 0.46], [0, -0.02, 0.38], [0, -0.125, 0.41], [0, 0.02, 0.26], [-0.16, 0.01, 0.13], [0.16, 0.01, 0.13],
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
    lumps[head] -= (0, 0, 0.035)
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


def stone(draw: Draw) -> Thing:
    """A stone or a sculpture without a name: lumps melted together, sunk a little into the floor."""
    lumps, halves = melted(draw, int(draw.integers(3, 14)), draw.uniform(0.12, 0.32), (1, 1, draw.uniform(0.5, 2)))
    low, high = (lumps - halves).min(axis=0), (lumps + halves).max(axis=0)
    middle = (low + high) / 2
    body = Blob((-middle[0], -middle[1], -low[2] - 0.02), lumps, halves, draw.uniform(1.2, 3.0))
    return Thing((body,), tuple((high - low)[:2] / 2), high[2] - low[2])


def pedestal(draw: Draw) -> Thing:
    a, h = draw.uniform(0.22, 0.4), draw.uniform(0.15, 1.1)
    if draw.random() < 0.5:
        return Thing((block((2 * a, 2 * a, h)),), (a, a), h, (a, a))
    parts = (Frustum((0, 0, h / 2), a, a, h), Frustum((0, 0, 0.03), 1.2 * a, 1.2 * a, 0.06))
    return Thing(parts, (1.2 * a, 1.2 * a), h, (a, a))


_BESIDE = (bin_, chair, lamp, plant, stool)
_FIGURES = (bust, bust, animal, stone)


def figures(draw: Draw) -> Site:
    """Busts, animals and stones on a floor or on pedestals, before walls that are flat, bent or have niches."""
    half, height = tuple(draw.uniform((1.4, 1.2), (2.6, 2.0))), draw.uniform(2.2, 3.0)
    more: list[Convex] = []
    style = draw.random()
    if style < 0.3:  # a round niche in the wall behind
        r, tall = draw.uniform(0.5, 1.0), draw.uniform(1.4, 2.0)
        x = draw.uniform(-0.4, 0.4)
        more = [Frustum((x, half[1] - 0.1, tall / 2), r, r, tall)]
        if tall + r < height - 0.05:
            more.append(Ball((x, half[1] - 0.1, tall), r))
    solids = room_shell(draw, half, height, "EW" if more else "NEW", more)
    floor = Floor((-0.9, -0.4), (0.9, half[1]))
    if 0.3 < style < 0.5:  # a folded screen
        for side in (-1, 1):
            lean = turned(side * draw.uniform(10, 35))
            screen = Box((side * 0.5, half[1] - 0.35, 0.9), (1.0, 0.04, 1.8), np.eye(3))
            solids.append(screen.moved(lean, np.zeros(3)))
        floor = Floor((-0.9, -0.4), (0.9, half[1] - 0.7))
    seen = []
    for _ in range(draw.integers(1, 5)):
        thing = _FIGURES[draw.integers(len(_FIGURES))](draw)
        base = pedestal(draw) if draw.random() < 0.55 else None
        degrees = draw.normal(scale=40) + 180.0 * (draw.random() < 0.1)
        for _ in range(12):
            x, y = draw.uniform(floor.low, floor.high)
            if floor.claim(base.half if base else thing.half, x, y, degrees):
                solids += thing.at(x, y, base.height if base else 0.0, degrees)
                solids += base.at(x, y, 0.0, degrees) if base else []
                seen.append((x, y, (base.height if base else 0.0) + 0.5 * thing.height))
                break
    solids += floor.scatter(draw, some(draw, _BESIDE, 0, 2), off_axis=0.5)
    eye = ((-1.0, -half[1] + 0.1, 0.5), (1.0, -0.9, 1.7))
    x, y, z = np.mean(seen[:2], axis=0) if seen else (0.0, 0.3, 0.5)
    target = ((x - 0.3, y - 0.1, 0.8 * z), (x + 0.3, y + 0.1, 1.1 * z))
    return Site(solids, eye, target, near=0.6, width=(1.2, 2.6), framed=True)
