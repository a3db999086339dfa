"""What is measured along each piece of a border: its line, the offset that it asks for, and the normals beside it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from laplacians.core.edges import sorted_by_key
from laplacians.core.sorting import order_within, sort_runs

from ..geometry.jumps import crease_jumps
from ..geometry.normals import rows_and_columns
from ..geometry.rays import rays_at
from ..graph.quotient import Quotient
from .border_pieces import BorderPieces


@dataclass(frozen=True, eq=False)
class PieceFacts:
    """What is measured along each piece of the borders; all arrays have one entry a piece.

    Attributes
    ----------
    left, right : int32
        Components on the two sides; −1 outside.
    n : float64
        Number of sides.
    length : float64
        Pixels.
    row, column, down, along : float64
        Centre of the piece and the unit vector (down, along) in which it is walked.
    first, last : float64
        Where the piece begins and ends, as positions along that vector from its centre.
    bend : (3,) float64
        Coefficients of the parabola that it follows, to the right of that vector.
    drift : float64
        How much the offset between the two components changes from one end to the other, in pixels.
    scatter : float64
        Root mean square of what is left of the offsets beside drift, in pixels.
    offset : float64
        Shift of the left component against the right one with which they touch along the piece; unit of the potential.
    width : float64
        Mean width of the intervals of jumps, in pixels.
    lean_left, lean_right : float64
        Angle by which the normal of each side leans out over the border, in degrees.
    facing_left, facing_right : float64
        Cosine between normal and viewing ray; 0 where the surface turns away.
    angle : float64
        Angle between the two normals, in degrees.
    focal : float64
        Pixels per unit of the potential; 1 where a piece has no component on one of its sides.
    """

    left: np.ndarray
    right: np.ndarray
    n: np.ndarray
    length: np.ndarray
    row: np.ndarray
    column: np.ndarray
    down: np.ndarray
    along: np.ndarray
    first: np.ndarray
    last: np.ndarray
    bend: np.ndarray
    drift: np.ndarray
    scatter: np.ndarray
    offset: np.ndarray
    width: np.ndarray
    lean_left: np.ndarray
    lean_right: np.ndarray
    facing_left: np.ndarray
    facing_right: np.ndarray
    angle: np.ndarray
    focal: np.ndarray

    @property
    def valid(self) -> np.ndarray:
        """(n_pieces,) bool: both sides are components."""
        return (self.left >= 0) & (self.right >= 0)

    @cached_property
    def pair(self) -> np.ndarray:
        """(n_pieces,) int64 number of the pair of components, in the order of the smaller and then of the larger one."""
        low, high = np.minimum(self.left, self.right).astype(np.int64), np.maximum(self.left, self.right)
        return low * (high.max(initial=0) + 2) + high

    @cached_property
    def pair_number(self) -> np.ndarray:
        """(n_pieces,) int64 `pair`, numbered without gaps."""
        return np.unique(self.pair, return_inverse=True)[1]

    @cached_property
    def _by_pair(self) -> tuple[np.ndarray, np.ndarray]:
        """The pieces in the order of their pairs, and where the pieces of each pair end."""
        return np.argsort(self.pair_number, kind="stable"), np.cumsum(np.bincount(self.pair_number))

    def of_same_pair(self, piece: int) -> np.ndarray:
        """(n,) int64 the pieces of the same pair of components as a piece, which is one of them, in increasing order."""
        (order, end), k = self._by_pair, self.pair_number[piece]
        return order[end[k - 1] if k else 0 : end[k]]

    @cached_property
    def by_offset(self) -> np.ndarray:
        """(n_pieces,) the pieces in the order of their pairs and, in each pair, of `pair_offset`."""
        return order_within(self.pair_number, self.pair_offset)

    @cached_property
    def pair_offset(self) -> np.ndarray:
        """(n_pieces,) `offset`, of the component with the smaller number against the other one."""
        return np.where(self.left < self.right, self.offset, -self.offset)

    def of_components(self, n: int, of_left: np.ndarray, of_right: np.ndarray) -> np.ndarray:
        """(n + 1,) sums over the pieces of each component of what they say of their left and right ones; the last is 0."""
        total = np.bincount(self.left + 1, of_left, n + 1) + np.bincount(self.right + 1, of_right, n + 1)
        return np.append(total[1:], 0.0)

    def of_pairs(self, values: np.ndarray) -> np.ndarray:
        """(n_pieces,) sum over all pieces of the same pair of components."""
        return np.bincount(self.pair_number, values)[self.pair_number]

    @classmethod
    def measure(cls, graph: Quotient, potential: np.ndarray, borders: BorderPieces) -> PieceFacts:
        """Measure the pieces of the borders of a graph at a potential (n_pixels,).

        Only the potential within each component matters, not how the components are placed, except for `offset`.
        """
        pixels, start = graph.pixels, borders.start
        labels = np.append(graph.labels, np.int32(-1))
        left, right = labels[borders.left[start[:-1]]], labels[borders.right[start[:-1]]]
        line, crossing = _fitted_lines(borders)
        inside = np.flatnonzero((borders.left >= 0) & (borders.right >= 0))
        a, b = borders.left[inside], borders.right[inside]
        jumps = crease_jumps(pixels.map, a, b, 0.0, 0.5, 1.0)
        a, b = a.astype(np.int64), b.astype(np.int64)  # NumPy would convert them at each of many uses
        least, largest = jumps.min(axis=0), jumps.max(axis=0)
        # The crease crosses each side where the smoothed piece does, between the two extremes that the pixels allow.
        jump = np.clip(jumps[0] + crossing[inside] * (jumps[2] - jumps[0]), least, largest)
        piece = borders.piece[inside]
        count = np.maximum(np.bincount(piece, minlength=borders.n_pieces), 1)

        def mean(values: np.ndarray) -> np.ndarray:
            return np.bincount(piece, values, borders.n_pieces) / count

        # One focal length for a whole piece: the sides of a contact agree in the potential, not in pixels.
        lengths = np.broadcast_to(pixels.map.focal, pixels.n_pixels)
        focal = mean(0.5 * (lengths[a] + lengths[b]))
        offset = (jump - potential[a] + potential[b]) * focal[piece]

        position = (borders.row[inside] - line[piece, 0]) * line[piece, 2]
        position += (borders.column[inside] - line[piece, 1]) * line[piece, 3]
        position -= mean(position)[piece]
        middle = mean(offset)
        slope = mean(position * (offset - middle[piece])) / np.maximum(mean(position**2), 1e-9)
        scatter = np.sqrt(mean((offset - middle[piece] - slope[piece] * position) ** 2))
        median = group_medians(piece, offset, borders.n_pieces)
        lean, facing, angle = _attitudes(graph, borders, inside, line, mean)
        n = np.diff(start).astype(np.float64)
        return cls(
            left, right, n, line[:, 5] - line[:, 4] + 1, line[:, 0], line[:, 1], line[:, 2], line[:, 3], line[:, 4],
            line[:, 5], line[:, 6:9], slope * (line[:, 5] - line[:, 4]), scatter, median / np.maximum(focal, 1e-9),
            mean(largest - least) * focal, lean[0], lean[1], facing[0], facing[1], angle,
            np.where(focal > 0, focal, 1.0),
        )  # fmt: skip


def group_medians(group: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    """(n,) median of the values of each group, 0 for an empty one."""
    order, end = sorted_by_key(group, n)
    ranked, start = values[order], np.append(0, end)
    sort_runs(ranked, start)
    count = np.diff(start)
    out, used = np.zeros(n), np.flatnonzero(count)
    first, count = start[used], count[used]
    out[used] = 0.5 * (ranked[first + (count - 1) // 2] + ranked[first + count // 2])
    return out


def _attitudes(
    graph: Quotient,
    borders: BorderPieces,
    inside: np.ndarray,
    line: np.ndarray,
    mean: Callable[[np.ndarray], np.ndarray],
) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """How the mean normals beside each piece stand: lean over the border and facing of both sides, and their angle."""
    camera, normal_map = graph.pixels.map.camera, graph.pixels.map
    a, b = borders.left[inside], borders.right[inside]
    sides = [np.stack([mean(axis) for axis in normal_map.normals.take(k, axis=0).T]) for k in (a, b)]
    sides = [s / np.maximum(np.linalg.norm(s, axis=0), 1e-12) for s in sides]
    # The viewing ray, and the way from left to right across the border at right angles to it.
    if camera.central:
        places = (rows_and_columns(normal_map.position[k], normal_map.shape[1]) for k in (a, b))
        at_left, at_right = (rays_at(camera.coordinates(normal_map.shape), *at) for at in places)
        ray = np.stack([mean(one + other) for one, other in zip(at_left, at_right, strict=True)])
        across = np.stack([mean(other - one) for one, other in zip(at_left, at_right, strict=True)])
    else:
        ray = np.stack([np.zeros(len(line)), np.zeros(len(line)), np.ones(len(line))])
        across = np.stack([-line[:, 2], line[:, 3], np.zeros(len(line))])
    across = across - ray * (across * ray).sum(axis=0) / np.maximum((ray * ray).sum(axis=0), 1e-12)
    across = across / np.maximum(np.linalg.norm(across, axis=0), 1e-12)
    ray = ray / np.maximum(np.linalg.norm(ray, axis=0), 1e-12)
    facing = [-(s * ray).sum(axis=0) for s in sides]
    out = [(s * across).sum(axis=0) * sign for s, sign in zip(sides, (1, -1), strict=True)]
    lean = [np.degrees(np.arctan2(o, f)) for o, f in zip(out, facing, strict=True)]
    angle = np.degrees(np.arccos(np.clip((sides[0] * sides[1]).sum(axis=0), -1, 1)))
    return lean, facing, angle


def _fitted_lines(borders: BorderPieces) -> tuple[np.ndarray, np.ndarray]:
    """The line of each piece (n_pieces, 9), and where it crosses each side (n_sides,).

    A line is its centre, the direction of the walk (zero where it goes evenly around a point), first and last position
    along it, and the three coefficients of a parabola that smooths the steps of the pixels. A crossing is where between the
    two pixels of a side the parabola passes, from 0 at the left one to 1 at the right one.
    """
    start, piece, n_pieces = borders.start[:-1], borders.piece, borders.n_pieces
    n = np.diff(borders.start)

    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(piece, values, n_pieces)

    each = n[piece]
    row, column = total(borders.row / each), total(borders.column / each)
    v, u = borders.row - row[piece], borders.column - column[piece]
    mixed, wide, high = 2 * total(v * u), total(u * u), total(v * v)
    wider, spread = wide - high, wide + high
    # Functions of the standard library: those of NumPy differ in the last digit from processor to processor.
    turn = [0.5 * math.atan2(y, x) for y, x in zip(mixed.tolist(), wider.tolist())]
    along, down = np.array(list(map(math.cos, turn))), np.array(list(map(math.sin, turn)))
    single, round_about = n == 1, np.maximum(np.abs(mixed), np.abs(wider)) <= 1e-9 * spread
    along[round_about], down[round_about] = 0.0, 0.0  # around a single pixel: no direction, whatever rounding says
    along[single], down[single] = borders.along[start[single]], borders.down[start[single]]
    backwards = total(down[piece] * borders.down + along[piece] * borders.along) < 0
    along, down = np.where(backwards, -along, along), np.where(backwards, -down, down)
    dx, dy = along[piece], down[piece]
    t, h = v * dy + u * dx, v * dx - u * dy  # positions along the piece and to its right
    square = t * t
    sums = n.astype(np.float64), total(t), total(square), total(t * square), total(square * square) + 1e-9
    right = np.stack([total(h), total(h * t), total(h * square)], axis=-1)
    bend = np.zeros((n_pieces, 3))
    bend[:, 0] = right[:, 0] / n
    curved = np.flatnonzero((n >= 8) & ~round_about)
    system = np.stack([np.stack([s[curved] for s in sums[i : i + 3]], axis=-1) for i in range(3)], axis=1)
    bend[curved] = np.linalg.solve(system, right[curved][..., None])[..., 0]
    level, tilt, curve = bend.T.take(piece, axis=1)
    away = level + tilt * t + curve * t * t - h
    step = np.abs(np.where(borders.down == 0, dx, dy))  # across a side that goes along a row, between two rows
    crossing = np.where(step > 0.2, np.clip(0.5 + away / np.maximum(step, 0.2), 0.0, 1.0), 0.5)
    ends = (np.minimum.reduceat(t, start), np.maximum.reduceat(t, start)) if n_pieces else (row, row)
    return np.column_stack([row, column, down, along, *ends, bend]), crossing
