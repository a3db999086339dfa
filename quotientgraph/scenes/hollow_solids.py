"""Solids made of convex ones: what several have in common, what is left when some are taken out, rooms.

In a carved solid and inside a room each ray is followed from one convex piece into the next that overlaps
it, until it arrives at a face.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from .solids import Array, Convex, Solid

_MARGIN = 1e-7  # a point this far inside a cell is inside; overlapping cells overlap by far more


def _onward(cells: Sequence[Convex], o: Array, d: Array, s: Array, owner: Array) -> None:
    """Move each ray on, in place, while its point lies inside one of the cells; rays (3, n)."""
    moving = np.flatnonzero(np.isfinite(s))
    for _ in range(2 * len(cells)):
        if not len(moving):
            return
        points = o[:, moving] + s[moving] * d[:, moving]
        moved = np.zeros(len(moving), dtype=bool)
        for i in _reached(cells, points):
            inside = np.flatnonzero(cells[i].within(points) > _MARGIN)
            if len(inside):
                rays = moving[inside]
                s[rays], owner[rays] = cells[i].span(o[:, rays], d[:, rays])[1], i
                points[:, inside] = o[:, rays] + s[rays] * d[:, rays]
                moved[inside] = True
        moving = moving[moved]


def _reached(cells: Sequence[Convex], points: Array) -> list[int]:
    """The cells whose balls touch the box around the points."""
    low, high = points.min(axis=1), points.max(axis=1)
    centre = np.array([cell.centre for cell in cells]).reshape(-1, 3)
    beyond = centre - np.clip(centre, low, high)
    return np.flatnonzero((beyond**2).sum(axis=1) < np.array([cell.radius**2 for cell in cells])).tolist()


def _flat(o: Array, d: Array) -> tuple[Array, Array, tuple[int, ...]]:
    shape = np.broadcast_shapes(o.shape, d.shape)
    return np.broadcast_to(o, shape).reshape(3, -1), np.broadcast_to(d, shape).reshape(3, -1), shape[1:]


@dataclass(frozen=True, eq=False)
class Common(Convex):
    """What several convex solids have in common, such as one half of a ball or a room under a sloping roof."""

    parts: tuple[Convex, ...]

    @property
    def centre(self) -> tuple[float, float, float]:  # type: ignore[override]
        return min(self.parts, key=lambda part: part.radius).centre

    @property
    def radius(self) -> float:  # type: ignore[override]
        return min(part.radius for part in self.parts)

    def moved(self, turn: Array, shift: Array) -> Self:
        return replace(self, parts=tuple(part.moved(turn, shift) for part in self.parts))

    def span(self, o: Array, d: Array) -> tuple[Array, Array]:
        enter, leave = self.parts[0].span(o, d)
        for part in self.parts[1:]:
            first, last = part.span(o, d)
            enter, leave = np.maximum(enter, first), np.minimum(leave, last)
        return enter, leave

    def within(self, p: Array) -> Array:
        return np.min([part.within(p) for part in self.parts], axis=0)

    def outward(self, p: Array) -> Array:
        nearest = np.argmin(np.abs([part.within(p) for part in self.parts]), axis=0)
        normal = np.empty_like(p)
        for i, part in enumerate(self.parts):
            own = nearest == i
            normal[:, own] = part.outward(p[:, own])
        return normal


@dataclass(frozen=True, eq=False)
class Carved(Solid):
    """A convex `body` without the points that lie in one of the `cavities`: windows, arches, cups, shelves.

    A cavity must reach beyond the face through which it opens.
    """

    body: Convex
    cavities: tuple[Convex, ...]

    @property
    def centre(self) -> tuple[float, float, float]:  # type: ignore[override]
        return self.body.centre

    @property
    def radius(self) -> float:  # type: ignore[override]
        return self.body.radius

    def moved(self, turn: Array, shift: Array) -> Self:
        cavities = tuple(cavity.moved(turn, shift) for cavity in self.cavities)
        return replace(self, body=self.body.moved(turn, shift), cavities=cavities)

    def _arrival(self, o: Array, d: Array) -> tuple[Array, Array]:
        """Where each ray (3, n) meets a face, and of which cavity it is (-1: of the body)."""
        enter, leave = self.body.span(o, d)
        s = np.where((enter < leave) & (enter > 0), enter, np.inf)
        owner = np.full(s.shape, -1)
        _onward(self.cavities, o, d, s, owner)
        return np.where(s < leave - _MARGIN, s, np.inf), owner

    def distance(self, o: Array, d: Array) -> Array:
        o, d, shape = _flat(o, d)
        return self._arrival(o, d)[0].reshape(shape)

    def normal(self, o: Array, d: Array, s: Array) -> Array:
        points, owner = o + s * d, self._arrival(o, d)[1]
        normal = self.body.outward(points)
        for i in np.unique(owner[owner >= 0]):
            own = owner == i
            normal[:, own] = -self.cavities[i].outward(points[:, own])
        return normal


@dataclass(frozen=True, eq=False)
class Interior(Solid):
    """A room seen from within: all that is inside one of the `cells`, which overlap where they are joined.

    A ray from outside sees through the walls that it meets from behind. The first cell is the main one.
    """

    cells: tuple[Convex, ...]
    radius: float = np.inf

    @property
    def centre(self) -> tuple[float, float, float]:  # type: ignore[override]
        return self.cells[0].centre

    def moved(self, turn: Array, shift: Array) -> Self:
        return replace(self, cells=tuple(c.moved(turn, shift) for c in self.cells))

    def _arrival(self, o: Array, d: Array) -> tuple[Array, Array]:
        """Where each ray (3, n) meets a wall, and of which cell it is."""
        s, owner = np.full(o.shape[1], np.inf), np.zeros(o.shape[1], dtype=int)
        holding = [c.within(o[:, :1])[0] > 0 for c in self.cells]  # begin in the cell where the eye is
        for i in sorted(range(len(self.cells)), key=lambda i: not holding[i]):
            open_ones = np.flatnonzero(np.isinf(s))
            if not len(open_ones):
                break
            enter, leave = self.cells[i].span(o[:, open_ones], d[:, open_ones])
            met = (enter < leave) & (leave > 0)
            s[open_ones[met]], owner[open_ones[met]] = leave[met], i
        _onward(self.cells, o, d, s, owner)
        return s, owner

    def distance(self, o: Array, d: Array) -> Array:
        o, d, shape = _flat(o, d)
        return self._arrival(o, d)[0].reshape(shape)

    def normal(self, o: Array, d: Array, s: Array) -> Array:
        points, owner = o + s * d, self._arrival(o, d)[1]
        normal = np.empty_like(points)
        for i in np.unique(owner):
            own = owner == i
            normal[:, own] = -self.cells[i].outward(points[:, own])
        return normal
