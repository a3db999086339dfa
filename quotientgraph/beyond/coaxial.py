"""Whether two turned parts have one axis, and how far one of them has to move along its rays for that.

A part that moves along its rays takes its axis along, but the image of the axis stays. Two lines in space differ by four
numbers, and one of them is that move. So three coincidences have to hold before two axes can be made one: two of direction,
one of place in the image. By how much the moments of the parts let each of them vary says how likely they are by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from laplacians.core.arrays import cross

from .turned_parts import TurnedParts


@dataclass(frozen=True)
class _Constants:
    """Chosen on random turned objects, seeds for tuning, and five DiLiGenT objects, of which the goblet is turned."""

    misfit: float = 0.01  # what a shared axis may add to the misses of either part, in sizes of the part
    chance: float = 1e-3  # probability that axes coincide that well by chance
    loose: float = 0.4  # spans that the shift may be uncertain by
    steps: int = 10  # of Newton's method at most


_CHOSEN = _Constants()


@dataclass(frozen=True, eq=False)
class SharedAxis:
    """The line that fits two parts best when the second one moves.

    Attributes
    ----------
    shift : float
        What is added to the potential of the second part.
    span : float
        The mean size of both parts, in the unit of the potential: what moves are measured by.
    misfit : float
        What the shared axis adds to the misses of the normals, the larger of both parts, in sizes of the part.
    chance : float
        Probability that two lines coincide that well by chance.
    loose : float
        What the shift is uncertain by, in spans.
    """

    shift: float
    span: float
    misfit: float
    chance: float
    loose: float

    @property
    def certain(self) -> bool:
        """Whether the two parts are coaxial beyond doubt, and their relative place follows from it."""
        return self.misfit <= _CHOSEN.misfit and self.chance <= _CHOSEN.chance and self.loose <= _CHOSEN.loose

    @staticmethod
    def candidates(parts: TurnedParts) -> Iterator[tuple[int, int]]:
        """Pairs of parts that may turn out to be certain: each has an axis, and one direction could do for both.

        The misses of a direction with the best moments of both parts are a lower bound of those of a line.
        """
        which = np.flatnonzero(parts.determined(_CHOSEN.misfit))
        one, other = which[np.stack(np.triu_indices(len(which), 1))]
        of_direction = parts.of_direction
        least = np.linalg.eigvalsh(of_direction[one] + of_direction[other])[:, 0]
        own = np.maximum(parts.own, 0.0)
        near = least <= own[one] + own[other] + 2.1 * _CHOSEN.misfit**2  # 2, but for rounding
        return zip(one[near].tolist(), other[near].tolist(), strict=True)

    @classmethod
    def of(cls, parts: TurnedParts, one: int, other: int, central: bool) -> SharedAxis:
        """Fit one line to two parts, of which the other moves along its rays.

        Parameters
        ----------
        parts : TurnedParts
        one, other : int
        central : bool
            Whether rays come from one point, and a shift is a factor of distance, or are parallel.
        """
        pair = _Pair(parts, one, other, central)
        fits = [pair.refined(*start) for start in pair.starts()]
        return pair.judged(*min(fits, key=lambda fit: fit[-1])[:3])


class _Pair:
    """Two parts and what is needed to fit one line to both: a direction, a point on it, and the shift of the second part."""

    def __init__(self, parts: TurnedParts, one: int, other: int, central: bool) -> None:
        self.central = central
        which = [one, other]
        self.centre, self.size, self.line = parts.centre[which], parts.size[which], parts.line[which]
        self.noise = parts.noise[which]
        values, vectors = np.linalg.eigh(parts.moment[which])
        self.root = np.sqrt(np.maximum(values, 0.0))[:, :, None] * np.swapaxes(vectors, 1, 2)
        self.own = np.linalg.norm((self.root @ self.line[:, :, None])[..., 0], axis=1)
        self.length = float(self.size.mean())
        self.span = self.length / float(np.linalg.norm(self.centre[0])) if central else self.length

    def seen(self, point: np.ndarray, shift: float) -> tuple[np.ndarray, np.ndarray]:
        """A point on the shared axis as the second part has it before it moves, and its derivative by the shift."""
        if self.central:
            back = point * np.exp(-shift)
            return back, -back
        return point - [0.0, 0.0, shift], np.array([0.0, 0.0, -1.0])

    def starts(self) -> list[tuple[np.ndarray, np.ndarray, float]]:
        """The axis of either part, with the shift that suits the other one best."""
        out = []
        for k in range(2):
            direction = self.line[k, :3]
            point = cross(direction, self.line[k, 3:]) * self.size[k] + self.centre[k]
            # In the coordinates of the part that is not k, the line is fixed + amount·moving.
            moving = point if self.central else np.array([0.0, 0.0, -1.0 if k == 0 else 1.0])
            still = np.zeros(3) if self.central else point
            j = 1 - k
            base = self.root[j] @ np.append(direction, cross((still - self.centre[j]) / self.size[j], direction))
            rate = self.root[j] @ np.append(np.zeros(3), cross(moving / self.size[j], direction))
            amount = -(base @ rate) / max(rate @ rate, 1e-300)
            if not self.central:
                out.append((direction, point if k == 0 else point + amount * moving, float(amount)))
            elif 1e-3 < amount < 1e3:
                shift = float(np.log(amount))
                out.append((direction, point, -shift) if k == 0 else (direction, point * amount, shift))
        return out or [(self.line[0, :3], self.centre[0], 0.0)]

    def misses(
        self, direction: np.ndarray, point: np.ndarray, shift: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(12,) misses of both parts, (2, 6, 5) derivatives of each, and (2, 3) vectors across the axis.

        The derivatives are by two angles, by two moves of the line in units of `length`, and by the shift in units of
        `span`.
        """
        back, falling = self.seen(point, shift)
        across = np.empty((2, 3))
        across[0] = cross(direction, np.eye(3)[np.argmin(np.abs(direction))])
        across[0] /= np.linalg.norm(across[0])
        across[1] = cross(direction, across[0])
        turning = [cross(one, direction) for one in across]
        lines, slopes = np.empty((2, 6)), np.zeros((2, 6, 5))
        lines[:, :3], slopes[:, :3, :2] = direction, across.T
        for k, (place, rate) in enumerate(((point, 1.0), (back, np.exp(-shift) if self.central else 1.0))):
            local = (place - self.centre[k]) / self.size[k]
            lines[k, 3:] = cross(local, direction)
            for i in range(2):
                slopes[k, 3:, i] = cross(local, across[i])
                slopes[k, 3:, 2 + i] = turning[i] * (rate * self.length / self.size[k])
        slopes[1, 3:, 4] = cross(falling, direction) * (self.span / self.size[1])
        return (self.root @ lines[:, :, None]).ravel(), self.root @ slopes, across

    def refined(
        self, direction: np.ndarray, point: np.ndarray, shift: float
    ) -> tuple[np.ndarray, np.ndarray, float, float]:
        """The line and the shift of least misses near the given ones, and the sum of their squares."""
        cost = np.inf
        for _ in range(_CHOSEN.steps):
            miss, slopes, across = self.misses(direction, point, shift)
            if not miss @ miss < cost * (1 - 1e-4):
                break
            cost = float(miss @ miss)
            kept = direction, point, shift, cost
            slope = slopes.reshape(12, 5)
            step = -np.linalg.solve(slope.T @ slope + 1e-9 * np.eye(5), slope.T @ miss)
            step *= min(1.0, 0.5 / max(np.abs(step[:2]).max(), 0.25 * np.abs(step[2:]).max(), 1e-300))
            direction = direction + step[:2] @ across
            direction = direction / np.linalg.norm(direction)
            point = point + self.length * (step[2:4] @ across)
            shift = shift + self.span * float(step[4])
        return kept

    def judged(self, direction: np.ndarray, point: np.ndarray, shift: float) -> SharedAxis:
        """How well the line fits, and how much that says."""
        miss, slopes, across = self.misses(direction, point, shift)
        added = np.linalg.norm(miss.reshape(2, 6), axis=1) ** 2 - self.own**2
        hold = np.swapaxes(slopes, 1, 2) @ slopes
        loose = np.linalg.inv(hold.sum(axis=0) + 1e-10 * np.eye(5))[4, 4]
        # Where the move along the rays takes the line; what is perpendicular to it has to coincide.
        away = np.append(np.zeros(2), across @ (point if self.central else np.array([0.0, 0.0, 1.0])))
        free = np.linalg.svd(away[None] / max(np.linalg.norm(away), 1e-300))[2][1:]
        spread = np.linalg.inv(hold[:, :4, :4] + 1e-8 * np.eye(4)).sum(axis=0)
        wide = np.sqrt(np.maximum(np.linalg.eigvalsh(free @ spread @ free.T), 0.0))
        return SharedAxis(
            shift=shift,
            span=self.span,
            misfit=float(np.sqrt(np.maximum(added, 0.0).max())),
            chance=float(np.minimum(_CHOSEN.misfit * wide, 1.0).prod()),
            loose=float(np.sqrt(loose)) * max(_CHOSEN.misfit, float(self.noise.max())),
        )
