"""Solids that rays meet in closed form.

A bundle of rays is o + s·d, with `o` and `d` of shape (3, ...), one of them possibly (3, 1, ...), the same
for all rays. A solid answers two questions: at which s > 0 each ray enters it (inf: never), and with which
unit normal.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

Array = np.ndarray


def along(a: Array, b: Array) -> Array:
    """Dot product over the first axis."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _column(vector: object, like: Array) -> Array:
    return np.asarray(vector, dtype=np.float64).reshape(3, *[1] * (like.ndim - 1))


def _forward(s: Array, hit: Array) -> Array:
    return np.where(hit & (s > 0), s, np.inf)


class Solid:
    """What the renderer asks of a solid; `centre` and `radius` are a ball around it."""

    centre: tuple[float, float, float]
    radius: float

    def distance(self, o: Array, d: Array) -> Array:
        raise NotImplementedError

    def normal(self, o: Array, d: Array, s: Array) -> Array:
        raise NotImplementedError

    def moved(self, turn: Array, shift: Array) -> Self:
        """The same solid after the rotation `turn` about the origin and then the translation `shift`."""
        changes: dict[str, Any] = {"centre": tuple(turn @ self.centre + shift)}
        if hasattr(self, "rotation"):
            changes["rotation"] = turn @ self.rotation
        return replace(self, **changes)  # type: ignore[type-var]


class Convex(Solid):
    """A convex solid: each ray is inside it between two crossings, so it can be hollowed out and carved."""

    def span(self, o: Array, d: Array) -> tuple[Array, Array]:
        """Where each ray enters and leaves the solid; a ray that misses it has enter ≥ leave or NaN."""
        raise NotImplementedError

    def within(self, p: Array) -> Array:
        """How far inside the solid points (3, ...) are, measured to its nearest face; negative outside."""
        raise NotImplementedError

    def outward(self, p: Array) -> Array:
        """Unit normals at points (3, ...) of the surface."""
        raise NotImplementedError

    def distance(self, o: Array, d: Array) -> Array:
        enter, leave = self.span(o, d)
        return _forward(enter, enter < leave)

    def normal(self, o: Array, d: Array, s: Array) -> Array:
        return self.outward(o + s * d)


@dataclass(frozen=True)
class Plane(Solid):
    """The endless plane through `centre`, seen from the side to which `up` points."""

    centre: tuple[float, float, float] = (0, 0, 0)
    up: tuple[float, float, float] = (0, 0, 1)
    radius: float = np.inf

    def distance(self, o: Array, d: Array) -> Array:
        up = _column(self.up, d) / np.linalg.norm(self.up)
        falling = along(up, d)
        return _forward(along(up, _column(self.centre, d) - o) / falling, falling < 0)

    def normal(self, o: Array, d: Array, s: Array) -> Array:
        return np.broadcast_to(_column(self.up, d) / np.linalg.norm(self.up), (3, *s.shape))

    def moved(self, turn: Array, shift: Array) -> Self:
        return replace(self, centre=tuple(turn @ self.centre + shift), up=tuple(turn @ self.up))


@dataclass(frozen=True)
class Ball(Convex):
    centre: tuple[float, float, float]
    radius: float

    def span(self, o: Array, d: Array) -> tuple[Array, Array]:
        # By the point of the ray nearest to the centre: no cancellation when the ball is far away.
        to = _column(self.centre, d) - o
        squared = along(d, d)
        middle = along(to, d) / squared
        missed = middle * d - to
        half = np.sqrt(np.maximum(self.radius**2 - along(missed, missed), 0) / squared)
        return middle - half, middle + half

    def within(self, p: Array) -> Array:
        p = p - _column(self.centre, p)
        return self.radius - np.sqrt(along(p, p))

    def outward(self, p: Array) -> Array:
        return (p - _column(self.centre, p)) / self.radius


@dataclass(frozen=True, eq=False)
class Box(Convex):
    """A box with edges of length `size`, turned by `rotation`; `inside` makes it a room, seen from within."""

    centre: tuple[float, float, float]
    size: tuple[float, float, float]
    rotation: Array = field(default_factory=lambda: np.eye(3))
    inside: bool = False

    @property
    def radius(self) -> float:  # type: ignore[override]
        return np.inf if self.inside else float(np.linalg.norm(self.size)) / 2

    def _crossings(self, o: Array, d: Array) -> tuple[Array, Array, Array]:
        """Where each ray enters and leaves the three slabs of the box, and its direction in the box."""
        p = np.tensordot(self.rotation.T, _column(self.centre, d) - o, 1)
        q = np.tensordot(self.rotation.T, d, 1)
        reach = np.copysign(_column(self.size, d) / 2, q)
        return (p - reach) / q, (p + reach) / q, q

    def span(self, o: Array, d: Array) -> tuple[Array, Array]:
        enter, leave, _ = self._crossings(o, d)
        return enter.max(axis=0), leave.min(axis=0)

    def within(self, p: Array) -> Array:
        local = np.tensordot(self.rotation.T, p - _column(self.centre, p), 1)
        return (_column(self.size, p) / 2 - np.abs(local)).min(axis=0)

    def outward(self, p: Array) -> Array:
        local = np.tensordot(self.rotation.T, p - _column(self.centre, p), 1)
        axis = np.argmin(_column(self.size, p) / 2 - np.abs(local), axis=0)
        return self.rotation[:, axis] * np.sign(np.take_along_axis(local, axis[None], axis=0)[0])

    def distance(self, o: Array, d: Array) -> Array:
        first, last = self.span(o, d)
        return _forward(last if self.inside else first, first < last)

    def normal(self, o: Array, d: Array, s: Array) -> Array:
        enter, leave, q = self._crossings(o, d)
        axis = np.argmin(leave, axis=0) if self.inside else np.argmax(enter, axis=0)
        side = -np.sign(np.take_along_axis(np.broadcast_to(q, (3, *s.shape)), axis[None], axis=0)[0])
        return self.rotation[:, axis] * side


@dataclass(frozen=True, eq=False)
class Torus(Solid):
    """A ring of radius `ring` and thickness 2·`thickness` in the xy-plane of `rotation`."""

    centre: tuple[float, float, float]
    ring: float
    thickness: float
    rotation: Array = field(default_factory=lambda: np.eye(3))

    @property
    def radius(self) -> float:  # type: ignore[override]
        return self.ring + self.thickness

    def _outside(self, p: Array) -> tuple[Array, Array]:
        """Signed distance of points in the ring's axes, and its gradient."""
        across = np.hypot(p[0], p[1])
        beyond = across - self.ring
        length = np.hypot(beyond, p[2])
        gradient = np.stack([p[0] * beyond / across, p[1] * beyond / across, p[2]]) / length
        return length - self.thickness, gradient

    def distance(self, o: Array, d: Array) -> Array:
        shape = np.broadcast_shapes(o.shape, d.shape)[1:]
        found = np.full(shape, np.inf)
        near = np.isfinite(Ball(self.centre, self.radius).distance(o, d))
        o, d = (np.broadcast_to(v, (3, *shape))[:, near] for v in (o, d))
        p = np.tensordot(self.rotation.T, o - _column(self.centre, o), 1)
        q = np.tensordot(self.rotation.T, d, 1)
        length = np.sqrt(along(q, q))
        q = q / length
        middle = -along(p, q)
        p = p + middle * q  # the point nearest to the centre: from there the quartic has no cubic term
        t = self._first_crossing(p, q)
        for _ in range(4):  # the closed form has lost digits; Newton's method brings them back
            gap, gradient = self._outside(p + t * q)
            t = t - gap / along(gradient, q)
        gap, gradient = self._outside(p + t * q)
        arrived = (np.abs(gap) < 1e-12 * self.radius) & (along(gradient, q) < 0)
        found[near] = _forward((middle + t) / length, arrived)
        return found

    def _first_crossing(self, p: Array, q: Array) -> Array:
        """Least real root t of (|p + t·q|² + R² − r²)² = 4R²·(distance to the axis)², for p·q = 0, |q|=1."""
        size, four = along(p, p), 4 * self.ring**2
        inner = size + self.ring**2 - self.thickness**2
        a = 2 * inner - four * (1 - q[2] ** 2)
        b = 2 * four * p[2] * q[2]
        c = inner**2 - four * (size - p[2] ** 2)
        # t⁴ + at² + bt + c = (t² + ut + v)(t² − ut + w), where u² is the largest root of a cubic.
        # Shifted by 2a/3, that is x³ = 3·f·x + 2·g.
        f, g = a * a / 9 + 4 * c / 3, a**3 / 27 - 4 * a * c / 3 + b * b / 2
        beyond = g * g - f**3
        root = np.cbrt(g + np.copysign(np.sqrt(np.maximum(beyond, 0)), g))
        third = np.arccos(np.clip(g / np.abs(f) ** 1.5, -1, 1)) / 3
        x = np.where(beyond > 0, root + f / root, 2 * np.sqrt(np.abs(f)) * np.cos(third))
        squared = np.maximum(x - 2 * a / 3, 0)
        u = np.sqrt(squared)
        apart = np.copysign(np.sqrt(np.maximum((squared + a) ** 2 - 4 * c, 0)), b)
        v, w = (squared + a - apart) / 2, (squared + a + apart) / 2
        return np.fmin((-u - np.sqrt(squared - 4 * v)) / 2, (u - np.sqrt(squared - 4 * w)) / 2)

    def normal(self, o: Array, d: Array, s: Array) -> Array:
        local = np.tensordot(self.rotation.T, o + s * d - _column(self.centre, d), 1)
        return np.tensordot(self.rotation, self._outside(local)[1], 1)


def turned(degrees: float, about: str = "z") -> Array:
    """Rotation matrix about a world axis."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[about]
    matrix = np.eye(3)
    matrix[i, i] = matrix[j, j] = c
    matrix[j, i], matrix[i, j] = s, -s
    return matrix
