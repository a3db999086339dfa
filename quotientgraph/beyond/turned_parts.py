"""Turned parts: groups of pixels that belong to a body of revolution, and the axis of each.

Where a surface is turned about an axis, the rotation about that axis moves no point out of the surface. The velocity of a
point X is v = a×X + m, with the direction a of the axis and its moment m, and v·n = 0 is linear in (a, m). The mean of the
squares over the points of a part is a quadratic form of six coordinates, its *moment*. It is least at the axis.

A plane has many axes and a sphere has all lines through its centre: then the moment has more than one small eigenvalue.
Noise of the normals hides that, because it adds to the moment in all directions. What it adds is known, so it is taken out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np


@dataclass(frozen=True)
class _Constants:
    """Chosen on random turned objects, seeds for tuning, and five DiLiGenT objects, of which the goblet is turned."""

    sample: int = 240  # pixels of a part that stand for all of it
    starts: int = 3  # components of a part that the search for its axis begins with, beside the whole
    rounds: int = 3  # of reweighting, for each start
    promising: float = 0.5  # share of pixels that have to meet the axis then; other parts are given up
    refits: int = 2  # rounds of the final fit
    miss: float = 0.03  # distance between normal and axis, in sizes of the part, up to which a pixel belongs to it
    flat: float = 1e-5  # mean square of the normals along a direction, below which they say nothing about it
    bent: float = 0.03  # the second largest mean square of the normals: by so much a part is bent to have an axis


_CHOSEN = _Constants()


@dataclass(frozen=True, eq=False)
class TurnedParts:
    """The axes of several parts; lines are in coordinates of their part, with its centre at 0 and its size 1.

    Attributes
    ----------
    centre : (n, 3) float64
        Mean of the points.
    size : (n,) float64
        Root mean square of their distances from it.
    line : (n, 6) float64
        Direction and moment of the axis.
    share : (n,) float64
        Part of the pixels whose normals meet the axis; 0 for a part that is too flat to have one.
    moment : (n, 6, 6) float64
        Mean of the squares of v·n over these pixels, without what noise adds.
    noise : (n,) float64
        Root mean square of v·n at the axis.
    """

    centre: np.ndarray
    size: np.ndarray
    line: np.ndarray
    share: np.ndarray
    moment: np.ndarray
    noise: np.ndarray

    @classmethod
    def fit(cls, points: np.ndarray, normals: np.ndarray, labels: np.ndarray) -> Self:
        """Fit an axis to every part.

        Parameters
        ----------
        points, normals : (n, n_sample, 3) float64
        labels : (n, n_sample) integers
            Components; the largest ones are tried alone as well, since a part may have handles.
        """
        centre = points.mean(axis=1)
        local = points - centre[:, None]
        size = np.sqrt(np.maximum((local**2).sum(axis=2).mean(axis=1), 1e-300))
        local /= size[:, None, None]
        rows = np.concatenate([_cross(local, normals), normals], axis=2)
        part, weight = _starts(labels)
        tried = rows[part]
        for _ in range(_CHOSEN.rounds):
            line = axis_of(_moments(tried, weight))
            weight = _reweighted(np.abs(tried @ line[..., None])[..., 0], weight > 0)
        met = np.abs(tried @ line[..., None])[..., 0] < _CHOSEN.miss
        n_met = met.sum(axis=1)
        best = [k[n_met[k].argmax()] for k in np.split(np.arange(len(part)), np.flatnonzero(np.diff(part)) + 1)]
        met, line = met[best], line[best]
        n, k = len(met), np.flatnonzero(met.mean(axis=1) >= _CHOSEN.promising)
        out = cls(centre, size, line, met.mean(axis=1), np.zeros((n, 6, 6)), np.zeros(n))
        for _ in range(_CHOSEN.refits if len(k) else 0):
            out.moment[k], out.noise[k], line[k] = _without_noise(rows[k], local[k], met[k])
            met[k] = np.abs(rows[k] @ line[k, :, None])[..., 0] < _CHOSEN.miss
            out.share[k] = met[k].mean(axis=1)
        bent = np.linalg.eigvalsh(out.moment[:, 3:, 3:])[:, 1] >= _CHOSEN.bent
        return replace(out, share=np.where(bent, out.share, 0.0))

    @classmethod
    def none(cls) -> Self:
        """No parts."""
        return cls(*(np.zeros((0, *shape)) for shape in ((3,), (), (6,), (), (6, 6), ())))

    def __len__(self) -> int:
        return len(self.size)

    def taken(self, which: np.ndarray) -> Self:
        """Some of the parts."""
        fields = self.centre, self.size, self.line, self.share, self.moment, self.noise
        return type(self)(*(field[which] for field in fields))

    @property
    def own(self) -> np.ndarray:
        """(n,) the moment of each axis: what its own line misses."""
        return np.einsum("ni,nij,nj->n", self.line, self.moment, self.line)

    @property
    def of_direction(self) -> np.ndarray:
        """(n, 3, 3) what is left of the moment if each direction has the moment of its axis that fits it best."""
        mixed, rest = self.moment[:, :3, 3:], self.moment[:, 3:, 3:] + 1e-12 * np.eye(3)
        return self.moment[:, :3, :3] - mixed @ np.linalg.solve(rest, np.swapaxes(mixed, 1, 2))

    def determined(self, misfit: float) -> np.ndarray:
        """(n,) bool: whether at most one direction can be chosen at will, by a change of the misses below `misfit`.

        A sphere or a plane leaves open two of them.
        """
        return np.linalg.eigvalsh(self.moment)[:, 2] > misfit**2

    def meets(self, which: int, points: np.ndarray, normals: np.ndarray) -> np.ndarray:
        """(n,) bool: whether the normals at points (n, 3) meet the axis of a part."""
        direction, moment = self.line[which, :3], self.line[which, 3:]
        velocity = _cross(direction, (points - self.centre[which]) / self.size[which]) + moment
        x, y, z = (velocity * normals).T
        return np.abs(x + y + z) < _CHOSEN.miss


def n_sample() -> int:
    """How many pixels stand for a part."""
    return _CHOSEN.sample


def axis_of(moment: np.ndarray) -> np.ndarray:
    """(..., 6) lines of least moment (..., 6, 6): a direction of length 1 and a moment perpendicular to it."""
    a, b, c = moment[..., :3, :3], moment[..., :3, 3:], moment[..., 3:, 3:]
    values, vectors = np.linalg.eigh(c)
    kept = np.where(values > _CHOSEN.flat, 1 / np.maximum(values, _CHOSEN.flat), 0.0)
    inverse = (vectors * kept[..., None, :]) @ _turned(vectors)
    across = inverse @ _turned(b)
    direction = np.linalg.eigh(a - b @ across)[1][..., 0]
    found = -(across @ direction[..., None])[..., 0]
    found -= direction * (found * direction).sum(axis=-1, keepdims=True)
    return np.concatenate([direction, found], axis=-1)


def _without_noise(
    rows: np.ndarray, local: np.ndarray, inlier: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The moments of the inliers without what noise adds, the rest that is taken for noise, and the axes.

    Errors of the normals, perpendicular to them and of variance σ², add σ²(N − S) to the moment S, where N is the mean of
    the squares of v. All that is left of the moment at the axis is taken for noise.
    """
    share = inlier / np.maximum(inlier.sum(axis=1, keepdims=True), 1)
    moment = _moments(rows, share)
    speed = _speeds(local, share)
    line, clean = axis_of(moment), moment
    for _ in range(2):
        rest, whole = (np.einsum("gi,gij,gj->g", line, form, line) for form in (moment, speed))
        rest = np.maximum(rest, 0.0)
        variance = rest / np.maximum(whole - rest, 1e-300)
        clean = moment - variance[:, None, None] * (speed - moment)
        line = axis_of(clean)
    values, vectors = np.linalg.eigh(clean)
    clean = (vectors * np.maximum(values, 0.0)[:, None]) @ _turned(vectors)
    return clean, np.sqrt(rest), line


def _moments(rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(..., 6, 6) weighted means of the products of rows (..., n_sample, 6)."""
    weight = weight / np.maximum(weight.sum(axis=-1, keepdims=True), 1e-300)
    return _turned(rows) @ (rows * weight[..., None])


def _speeds(local: np.ndarray, share: np.ndarray) -> np.ndarray:
    """(n, 6, 6) forms whose values are the means of |a×X + m|²."""
    mean = np.einsum("gi,gij->gj", share, local)
    square = np.einsum("gi,gij,gik->gjk", share, local, local)
    zero = np.zeros(len(mean))
    cross = np.array(
        [[zero, -mean[:, 2], mean[:, 1]], [mean[:, 2], zero, -mean[:, 0]], [-mean[:, 1], mean[:, 0], zero]]
    )
    cross = np.moveaxis(cross, 2, 0)
    out = np.empty((len(mean), 6, 6))
    out[:, :3, :3] = np.trace(square, axis1=1, axis2=2)[:, None, None] * np.eye(3) - square
    out[:, :3, 3:], out[:, 3:, :3] = cross, -cross
    out[:, 3:, 3:] = np.eye(3) * share.sum(axis=1)[:, None, None]
    return out


def _starts(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The part (n_starts,) and the weights (n_starts, n_sample) that the search for an axis begins with.

    They are all pixels alike, and the largest components of each part alone.
    """
    part, weight = [], []
    for k, own in enumerate(labels):
        names, count = np.unique(own, return_counts=True)
        largest = names[np.argsort(-count, kind="stable")][: _CHOSEN.starts]
        alone = [own == name for name in largest] if len(names) > 1 else []  # one alone is the whole part
        weight += [np.ones(len(own)), *alone]
        part += [k] * (1 + len(alone))
    return np.array(part), np.array(weight, dtype=np.float64)


def _reweighted(miss: np.ndarray, begun: np.ndarray) -> np.ndarray:
    """Weights that fall off beyond twice the typical miss of the pixels that a start has weight on."""
    ranked = np.sort(np.where(begun, miss, np.inf), axis=-1)
    typical = np.take_along_axis(ranked, begun.sum(axis=-1, keepdims=True) // 2, axis=-1)
    return np.where(begun, 1 / (1 + np.square(miss / (3.7 * typical + 3e-4))) ** 2, 0.0)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross products along the last axis; `np.cross` takes several times as long."""
    x, y, z = (a[..., i] for i in range(3))
    u, v, w = (b[..., i] for i in range(3))
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=-1)


def _turned(matrices: np.ndarray) -> np.ndarray:
    """Transposed matrices."""
    return np.swapaxes(matrices, -1, -2)
