"""Organic shapes: smooth unions of ellipsoids, with exact normals."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .solids import Array, Ball, Solid, along

_STEPS = 28


@dataclass(frozen=True, eq=False)
class Blob(Solid):
    """The points where Σ exp(k·(1 − ρᵢ²)) ≥ 1; ρᵢ is the distance from lump i in units of its half axes.

    A lump alone is the ellipsoid with these half axes; lumps near each other melt together, the more the
    smaller the sharpness k is. `lumps` (n, 3) and `halves` (n, 3) are given in the axes of `rotation`.
    """

    centre: tuple[float, float, float]
    lumps: Array
    halves: Array
    sharpness: float = 2.0
    rotation: Array = field(default_factory=lambda: np.eye(3))

    @property
    def _swelling(self) -> float:
        """Beyond this many half axes from every lump, the sum is below 1."""
        return float(np.sqrt(1 + np.log(len(self.lumps)) / self.sharpness))

    @property
    def radius(self) -> float:  # type: ignore[override]
        return float((np.linalg.norm(self.lumps, axis=1) + self._swelling * self.halves.max(axis=1)).max())

    def distance(self, o: Array, d: Array) -> Array:
        shape = np.broadcast_shapes(o.shape, d.shape)
        found = np.full(shape[1:], np.inf)
        near = np.isfinite(Ball(self.centre, self.radius).distance(o, d))
        if near.any():
            found[near] = self._distance(*(np.broadcast_to(v, shape)[:, near] for v in (o, d)))
        return found

    def _distance(self, o: Array, d: Array) -> Array:
        """The same for rays (3, n), all of them near."""
        p = self.rotation.T @ (o - np.reshape(self.centre, (3, 1)))
        q = self.rotation.T @ d
        # Along a ray ρᵢ² is a parabola: steep·(s − at)² + least.
        u = (p[:, None] - self.lumps.T[:, :, None]) / self.halves.T[:, :, None]
        w = q[:, None] / self.halves.T[:, :, None]
        steep = along(w, w)
        at = -along(u, w) / steep
        missed = u + at * w
        least = along(missed, missed)
        half = np.sqrt(np.maximum(self._swelling**2 - least, 0) / steep)
        touched = half > 0
        first = np.where(touched, at - half, np.inf).min(axis=0)
        last = np.where(touched, at + half, -np.inf).max(axis=0)
        found = np.full(first.shape, np.inf)
        near = np.flatnonzero((first < last) & (first > 0))
        if len(near):
            ray = _Ray(steep[:, near], at[:, near], least[:, near], self.sharpness)
            found[near] = _first_root(ray, first[near], last[near])
        return found

    def normal(self, o: Array, d: Array, s: Array) -> Array:
        p = self.rotation.T @ (o + s * d - np.reshape(self.centre, (3, 1)))
        away = p[:, None] - self.lumps.T[:, :, None]
        scaled = away / self.halves.T[:, :, None]
        weight = np.exp(self.sharpness * (1 - along(scaled, scaled)))
        gradient = (weight * scaled / self.halves.T[:, :, None]).sum(axis=1)
        return self.rotation @ (gradient / np.sqrt(along(gradient, gradient)))


@dataclass(frozen=True, eq=False)
class _Ray:
    """The field of a blob along rays: per lump and ray, the parabola of ρᵢ²."""

    steep: Array
    at: Array
    least: Array
    sharpness: float

    def __call__(self, s: Array, which: Array | slice = slice(None)) -> tuple[Array, Array]:
        """Sum − 1 and its derivative at s."""
        from_least = s - self.at[:, which]
        bend = self.steep[:, which] * from_least
        term = np.exp(self.sharpness * (1 - self.least[:, which] - bend * from_least))
        return term.sum(axis=0) - 1, (-2 * self.sharpness) * (term * bend).sum(axis=0)


def melted(
    draw: np.random.Generator, count: int, size: float, stretch: tuple[float, float, float]
) -> tuple[Array, Array]:
    """Lumps and half axes of one connected piece: each lump but the first grows out of an earlier one."""
    halves = size * draw.uniform(0.35, 0.7, size=(count, 1)) * draw.uniform(0.8, 1.25, size=(count, 3))
    lumps = np.zeros((count, 3))
    for i in range(1, count):
        parent = draw.integers(i)
        direction = draw.normal(size=3) * stretch
        direction /= np.linalg.norm(direction)
        lumps[i] = lumps[parent] + 0.6 * direction * (halves[parent] + halves[i])
    return lumps, halves


def _first_root(ray: _Ray, first: Array, last: Array) -> Array:
    """Where the field first rises to 0 between `first` and `last`; inf where it does not.

    Steps of equal length find the first interval in which it happens. A maximum between two steps is looked
    at more closely, so that what a ray only grazes is not missed.
    """
    low, high = np.full(first.shape, np.nan), np.full(first.shape, np.nan)
    active = np.arange(len(first))
    step = (last - first) / _STEPS
    before, rising = ray(first)
    for i in range(1, _STEPS + 1):
        s = first[active] + i * step[active]
        value, slope = ray(s, active)
        # Between a rise and a fall there is a summit, below the crossing of the two tangents or little above.
        crossing = (before * slope - value * rising + rising * slope * step[active]) / (slope - rising)
        summit = (rising > 0) & (slope < 0) & (value < 0) & (crossing > -0.1)
        if summit.any():
            at, top = _summit(ray, active[summit], s[summit] - step[active[summit]], s[summit])
            grazed = top > 0
            value[np.flatnonzero(summit)[grazed]] = top[grazed]
            s[np.flatnonzero(summit)[grazed]] = at[grazed]
        crossed = value > 0
        low[active[crossed]] = first[active[crossed]] + (i - 1) * step[active[crossed]]
        high[active[crossed]] = s[crossed]
        active, before, rising = active[~crossed], value[~crossed], slope[~crossed]
        if not len(active):
            break
    found = np.full(first.shape, np.inf)
    hit = np.flatnonzero(np.isfinite(low))
    found[hit] = _refined(ray, hit, low[hit], high[hit])
    return found


def _summit(ray: _Ray, which: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """The place and the value of the maximum between `low`, where the field rises, and `high`, where it falls."""
    for _ in range(14):
        middle = (low + high) / 2
        rises = ray(middle, which)[1] > 0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return low, ray(low, which)[0]


def _refined(ray: _Ray, which: Array, low: Array, high: Array) -> Array:
    """The root between `low` (field below 0) and `high` (above), by Newton's method kept inside the bracket.

    The logarithm of the sum, which is nearly a parabola, is followed instead of the sum.
    """
    s = (low + high) / 2
    for _ in range(60):
        value, slope = ray(s, which)
        low, high = np.where(value > 0, low, s), np.where(value > 0, s, high)
        new = s - np.log1p(value) * (1 + value) / slope
        new = np.where((new > low) & (new < high), new, (low + high) / 2)
        if (np.abs(new - s) <= 1e-15 * np.abs(s)).all():
            break
        s = new
    return s
