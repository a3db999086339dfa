"""Solids with round sides: cans and cones, polyhedra for what is not a box, and rounded boxes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .solids import Array, Convex, along


def _local(solid: object, p: Array, turn_only: bool = False) -> Array:
    """Points, or directions with `turn_only`, in the axes of the solid."""
    rotation, centre = solid.rotation, np.asarray(solid.centre, dtype=np.float64)  # type: ignore[attr-defined]
    return np.tensordot(rotation.T, p if turn_only else p - centre.reshape(3, *[1] * (p.ndim - 1)), 1)


@dataclass(frozen=True, eq=False)
class Frustum(Convex):
    """A can or a cut-off cone about the z-axis of `rotation`; `centre` is halfway up its axis.

    `low` and `high` are the radii of its two ends, `tall` the distance between them. Equal radii make a can;
    a radius of 0 makes a cone.
    """

    centre: tuple[float, float, float]
    low: float
    high: float
    tall: float
    rotation: Array = field(default_factory=lambda: np.eye(3))

    @property
    def radius(self) -> float:  # type: ignore[override]
        return float(np.hypot(max(self.low, self.high), self.tall / 2))

    @property
    def _side(self) -> tuple[float, float]:
        """Radius halfway up, and how much it grows for each unit of height."""
        return (self.low + self.high) / 2, (self.high - self.low) / self.tall

    def span(self, o: Array, d: Array) -> tuple[Array, Array]:
        p, q = _local(self, o), _local(self, d, turn_only=True)
        nearest = -along(p, q) / along(q, q)
        p = p + nearest * q  # from the point nearest to the centre, nothing is lost by cancellation
        bottom, top = (-self.tall / 2 - p[2]) / q[2], (self.tall / 2 - p[2]) / q[2]
        middle, grow = self._side
        width = middle + grow * p[2]
        a = q[0] * q[0] + q[1] * q[1] - (grow * q[2]) ** 2
        a = np.where(a == 0, 1e-300, a)
        b = p[0] * q[0] + p[1] * q[1] - grow * q[2] * width
        c = p[0] * p[0] + p[1] * p[1] - width * width
        room = np.sqrt(b * b - a * c)  # NaN: the ray misses the side, and every comparison below is False
        one, two = (-b - room) / a, (-b + room) / a
        # A steep ray stays inside the cone from one crossing on, or up to it.
        widening = grow * q[2] > 0
        first = np.where(a > 0, one, np.where(widening, one, -np.inf))
        last = np.where(a > 0, two, np.where(widening, np.inf, two))
        enter, leave = np.maximum(first, np.minimum(bottom, top)), np.minimum(last, np.maximum(bottom, top))
        return enter + nearest, np.where(np.isnan(room), -np.inf, leave + nearest)

    def _gaps(self, local: Array) -> Array:
        """Distance to the lower end, the upper end and the side (2 + 1, ...), positive inside."""
        middle, grow = self._side
        side = (middle + grow * local[2] - np.hypot(local[0], local[1])) / np.hypot(1, grow)
        return np.stack([self.tall / 2 + local[2], self.tall / 2 - local[2], side])

    def within(self, p: Array) -> Array:
        return self._gaps(_local(self, p)).min(axis=0)

    def outward(self, p: Array) -> Array:
        local = _local(self, p)
        face = np.argmin(np.abs(self._gaps(local)), axis=0)
        grow = self._side[1]
        across = np.hypot(local[0], local[1])
        side = np.stack([local[0] / across, local[1] / across, np.full_like(across, -grow)]) / np.hypot(1, grow)
        up = self.rotation[:, 2].reshape(3, *[1] * (p.ndim - 1))
        return np.where(face == 2, np.tensordot(self.rotation, side, 1), np.where(face == 1, up, -up))


@dataclass(frozen=True, eq=False)
class Polyhedron(Convex):
    """The points x for which faces·x ≤ offsets, in the axes of `rotation` around `centre`.

    `faces` (n, 3) holds unit normals; the solid must fit into the ball of `radius` around its centre.
    """

    centre: tuple[float, float, float]
    faces: Array
    offsets: Array
    radius: float
    rotation: Array = field(default_factory=lambda: np.eye(3))

    def span(self, o: Array, d: Array) -> tuple[Array, Array]:
        p, q = _local(self, o), _local(self, d, turn_only=True)
        shape = np.broadcast_shapes(p.shape, q.shape)[1:]
        enter, leave = np.full(shape, -np.inf), np.full(shape, np.inf)
        for face, offset in zip(self.faces, self.offsets):
            falling = face[0] * q[0] + face[1] * q[1] + face[2] * q[2]
            s = (offset - (face[0] * p[0] + face[1] * p[1] + face[2] * p[2])) / falling
            enter = np.where(falling < 0, np.maximum(enter, s), enter)
            leave = np.where(falling > 0, np.minimum(leave, s), leave)
        return enter, leave

    def _gaps(self, p: Array) -> Array:
        local = _local(self, p)
        return self.offsets.reshape(-1, *[1] * (p.ndim - 1)) - np.tensordot(self.faces, local, 1)

    def within(self, p: Array) -> Array:
        return self._gaps(p).min(axis=0)

    def outward(self, p: Array) -> Array:
        nearest = np.argmin(np.abs(self._gaps(p)), axis=0)
        return (self.rotation @ self.faces.T)[:, nearest]


@dataclass(frozen=True, eq=False)
class Rounded(Convex):
    """A box with rounded edges, |x/a|ᵏ + |y/b|ᵏ + |z/c|ᵏ ≤ 1: an ellipsoid for `power` 2, a cushion for 4.

    `half` holds the half lengths a, b, c.
    """

    centre: tuple[float, float, float]
    half: tuple[float, float, float]
    power: float = 4.0
    rotation: Array = field(default_factory=lambda: np.eye(3))

    @property
    def radius(self) -> float:  # type: ignore[override]
        return float(np.linalg.norm(self.half))

    def _norm(self, p: Array, q: Array | None = None) -> tuple[Array, Array]:
        """The norm whose unit ball is this solid, and its gradient, or its derivative along q."""
        k = self.power
        size = np.abs(p)
        largest = size.max(axis=0)
        share = size / largest
        norm = (share**k).sum(axis=0) ** (1 / k)
        gradient = np.copysign(share ** (k - 1), p) * norm ** (1 - k)
        return norm * largest, gradient if q is None else along(gradient, q)

    def span(self, o: Array, d: Array) -> tuple[Array, Array]:
        return self._crossing(o, d, -1), self._crossing(o, d, 1)

    def distance(self, o: Array, d: Array) -> Array:
        enter = self._crossing(o, d, -1)
        return np.where(enter > 0, enter, np.inf)

    def _crossing(self, o: Array, d: Array, side: int) -> Array:
        """Where each ray enters (side −1) or leaves (+1); NaN where it misses.

        The norm is convex along a ray, so Newton's method comes monotonically to the crossing from outside.
        """
        half = np.reshape(self.half, (3, *[1] * (d.ndim - 1)))
        p, q = _local(self, o) / half, _local(self, d, turn_only=True) / half
        nearest = -along(p, q) / along(q, q)
        p = p + nearest * q
        shape = np.broadcast_shapes(p.shape, q.shape)
        # Begin on the ball through the corners of the cube into which the unit ball fits.
        begin = np.broadcast_to(np.sqrt(np.maximum(3.0 - along(p, p), 0) / along(q, q)), shape[1:])
        met = begin > 0
        p, q, t = np.broadcast_to(p, shape)[:, met], np.broadcast_to(q, shape)[:, met], side * begin[met]
        for _ in range(30):
            norm, slope = self._norm(p + t * q, q)
            step = np.where(slope * side > 0, (norm - 1) / slope, np.nan)
            t = t - step
            if not (np.abs(step) > 1e-14 * np.abs(t)).any():
                break
        found = np.full(shape[1:], np.nan)
        found[met] = np.where(np.abs(self._norm(p + t * q, q)[0] - 1) < 1e-13, t, np.nan)
        return found + nearest

    def within(self, p: Array) -> Array:
        half = np.reshape(self.half, (3, *[1] * (p.ndim - 1)))
        return (1 - self._norm(_local(self, p) / half)[0]) * min(self.half)

    def outward(self, p: Array) -> Array:
        half = np.reshape(self.half, (3, *[1] * (p.ndim - 1)))
        gradient = self._norm(_local(self, p) / half)[1] / half
        return np.tensordot(self.rotation, gradient / np.sqrt(along(gradient, gradient)), 1)
