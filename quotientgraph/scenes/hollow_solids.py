"""What is left of a convex solid after others are taken out of it, and rooms: the inside of joined cells.

Both follow each ray from one convex piece into the next that overlaps it, until it arrives at a face.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .solids import Array, Convex, Solid

_MARGIN = 1e-7  # a point this far inside a cell is inside; overlapping cells overlap by far more


def _onward(cells: Sequence[Convex], o: Array, d: Array, s: Array, owner: Array) -> None:
    """Move each ray on, in place, while its point lies inside one of the cells; rays (3, n)."""
    moving = np.flatnonzero(np.isfinite(s))
    for _ in range(2 * len(cells)):
        before = s[moving]
        for i, cell in enumerate(cells):
            inside = moving[cell.within(o[:, moving] + s[moving] * d[:, moving]) > _MARGIN]
            if len(inside):
                s[inside] = cell.span(o[:, inside], d[:, inside])[1]
                owner[inside] = i
        moving = moving[s[moving] > before]
        if not len(moving):
            return


def _flat(o: Array, d: Array) -> tuple[Array, Array, tuple[int, ...]]:
    shape = np.broadcast_shapes(o.shape, d.shape)
    return np.broadcast_to(o, shape).reshape(3, -1), np.broadcast_to(d, shape).reshape(3, -1), shape[1:]


@dataclass(frozen=True)
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

    def moved(self, turn: Array, shift: Array) -> Solid:
        return replace(self, body=self.body.moved(turn, shift), cavities=tuple(c.moved(turn, shift) for c in self.cavities))

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


@dataclass(frozen=True)
class Interior(Solid):
    """A room seen from within: all that is inside one of the `cells`, which overlap where they are joined.

    A ray from outside sees through the walls that it meets from behind. The first cell is the main one.
    """

    cells: tuple[Convex, ...]
    radius: float = np.inf

    @property
    def centre(self) -> tuple[float, float, float]:  # type: ignore[override]
        return self.cells[0].centre

    def moved(self, turn: Array, shift: Array) -> Solid:
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
