"""Borders between components, traced as chains of pixel sides and divided into nearly straight pieces.

Two neighbouring pixels of different components share a side, which lies on the border of the two components. A *chain* is a
sequence of such sides between two junctions, where three or more components meet, or a closed loop. A *piece* is a part of a
chain that follows a straight line to within a pixel. Pieces are what can be judged: whether two surfaces touch there or one
hides the other shows in the direction of the border, not at a single pixel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from laplacians.core.jit import kernel

from ..geometry.normals import rows_and_columns
from ..graph.quotient import Quotient

# How far, in pixels, the sides of a piece may lie from the line between its ends.
_STRAIGHT = 1.0


@dataclass(frozen=True, eq=False)
class BorderPieces:
    """The sides of all borders in the order of their chains, and the pieces that they form.

    Left and right are those of someone who walks along the chain.

    Attributes
    ----------
    row, column : (n_sides,) float64
        Middle of each side; pixel centres are at integers.
    down, along : (n_sides,) int64
        Direction in which each side is walked.
    left, right : (n_sides,) int32
        The pixels on its two sides, −1 outside the valid pixels.
    start : (n_pieces + 1,) int32
        The sides of piece p are start[p] to start[p + 1].
    chain : (n_chains + 1,) int32
        The pieces of chain c are chain[c] to chain[c + 1].
    ends : (n_chains, 2) int64
        Corners at which each chain begins and ends, as row·(width + 1) + column; −1 for a closed loop.
    width : int
        Of the image.
    """

    row: np.ndarray
    column: np.ndarray
    down: np.ndarray
    along: np.ndarray
    left: np.ndarray
    right: np.ndarray
    start: np.ndarray
    chain: np.ndarray
    ends: np.ndarray
    width: int

    @classmethod
    def from_graph(cls, graph: Quotient) -> BorderPieces:
        """Trace the borders of the components of a graph."""
        width = graph.pixels.map.shape[1]
        row, column, turn, chains, ends = _traced(*graph.sides(), width)
        n = len(turn)
        begins, order = np.zeros(n, dtype=np.bool_), np.arange(n)
        _open_loops(row, column, chains, ends, begins, order)
        row, column, turn, begins = row[order], column[order], turn[order], begins[order]
        down, along = np.array([0, 1, 0, -1])[turn], np.array([1, 0, -1, 0])[turn]
        # The pixel to the left of a walk from corner (row, column) in direction (down, along), and the one to its right.
        left_row, left_column = row - (turn == 0) - (turn == 3), column - (turn == 2) - (turn == 3)
        right_row, right_column = row - (turn == 2) - (turn == 3), column - (turn == 1) - (turn == 2)
        middle_row, middle_column = row + 0.5 * down - 0.5, column + 0.5 * along - 0.5
        _divide(middle_row, middle_column, down, along, chains, _STRAIGHT, begins)
        start = np.append(np.flatnonzero(begins), n).astype(np.int32)
        return cls(
            middle_row,
            middle_column,
            down,
            along,
            graph.pixels_at(left_row * width + left_column),
            graph.pixels_at(right_row * width + right_column),
            start,
            np.searchsorted(start, chains).astype(np.int32),
            ends,
            width,
        )

    @property
    def n_pieces(self) -> int:
        return len(self.start) - 1

    @cached_property
    def piece(self) -> np.ndarray:
        """(n_sides,) int64 piece of each side; NumPy would convert shorter numbers at each of many uses."""
        return np.repeat(np.arange(self.n_pieces), np.diff(self.start))


def _traced(
    below: np.ndarray, beside: np.ndarray, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The sides of the borders of an image, chain by chain: first the chains between junctions, then the closed loops.

    Parameters
    ----------
    below, beside : (n,) integers
        Flat positions of the pixels with a border at their upper side, and at their left side.
    width : int
        Of the image.

    Returns
    -------
    row, column : (n_sides,) int64
        The corner at which each side begins.
    turn : (n_sides,) int8
        Where it goes from there: right, down, left, up.
    chains : (n_chains + 1,) int32
        The sides of chain c are chains[c] to chains[c + 1].
    ends : (n_chains, 2) int64
        As in `BorderPieces`.
    """
    # Corner (i, j) is upper left of pixel (i, j) and has the number i·(width + 1) + j. A side goes to the right along the
    # upper side of a pixel, or down along its left side.
    stride = width + 1
    right, down = (np.asarray(position, dtype=np.int64) + position // width for position in (below, beside))
    ends = np.concatenate([right, right + 1, down, down + stride])
    order = np.argsort(ends, kind="stable")  # four sorted lists, which are merged
    new = np.diff(ends[order], prepend=-1) > 0
    number, at = ends[order[new]], np.empty(len(ends), dtype=np.int32)
    at[order] = np.cumsum(new) - 1
    follows = np.full((len(number), 4), -1, dtype=np.int32)  # the corner at the other end of each side
    left_end, right_end, upper, lower = np.split(at, np.cumsum([len(right), len(right), len(down)]))
    follows[left_end, 0], follows[right_end, 2], follows[upper, 1], follows[lower, 3] = (
        right_end,
        left_end,
        lower,
        upper,
    )
    n = len(right) + len(down)
    degree = np.add.reduce((follows >= 0).T, dtype=np.int8)
    begin = np.concatenate([np.flatnonzero(degree & 5), np.flatnonzero(degree == 2)])  # 1, 3 or 4; then 2
    corner, turn, chains = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int8), np.zeros(n + 1, dtype=np.int32)
    n_chains = _trace(follows, degree, begin, np.zeros(follows.shape, dtype=np.bool_), corner, turn, chains)
    chains = chains[: n_chains + 1]
    last = chains[1:] - 1
    ends = np.column_stack([corner[chains[:-1]], follows[corner[last], turn[last]]])
    ends = np.where(degree[ends] == 2, -1, number[ends])
    return *rows_and_columns(number[corner], stride), turn, chains, ends


@kernel
def _trace(follows, degree, begin, walked, corner, turn, chains):
    """Walk along the borders from the corners in `begin`; returns the number of chains.

    The side that leaves corner c in direction d ends at ``follows[c, d]``, −1 if there is none. `walked` is False on entry.
    """
    m, n = 0, 0
    for c0 in begin:
        for d0 in range(4):
            c, d = c0, d0
            if follows[c, d] < 0 or walked[c, d]:
                continue
            while True:
                corner[m], turn[m] = c, d
                m += 1
                walked[c, d] = True
                c = np.int64(follows[c, d])
                walked[c, d ^ 2] = True
                if degree[c] != 2 or c == c0:
                    break
                opposite = d ^ 2
                d = 0
                while d == opposite or follows[c, d] < 0:
                    d += 1
            n += 1
            chains[n] = m
    return n


@kernel
def _open_loops(row, column, chains, ends, begins, order):
    """Mark the corners at which closed loops are divided first, and write an order in which each loop begins at one of them.

    They are the corners farthest from the middle of the loop, or if there is one alone, that and those farthest from it: a
    flipped loop is divided at the flipped corners. `row` and `column` are those of the corners at which sides begin. `order`
    counts the sides on entry.
    """
    for c in range(len(chains) - 1):
        s, n = chains[c], chains[c + 1] - chains[c]
        if ends[c, 0] >= 0 or n == 0:
            continue
        y, x = 0.0, 0.0
        for k in range(s, s + n):
            y += row[k]
            x += column[k]
        # Times n, so that all numbers are whole and corners at one distance are told from others.
        most, first, count = -1.0, s, 0
        for again in range(2):
            for k in range(s, s + n):
                away = (n * row[k] - y) ** 2 + (n * column[k] - x) ** 2
                if again == 0 and away > most:
                    most, first, count = away, k, 0
                if away == most:
                    count += 1 - again
                    begins[k] = begins[k] or again == 1
        if count == 1:
            most = -1.0
            nearest, farthest = first, first
            for step in range(n):
                k = s + (first - s + step) % n
                away = float(row[k] - row[first]) ** 2 + float(column[k] - column[first]) ** 2
                if away > most:
                    most, nearest = away, k
                if away == most:
                    farthest = k
            begins[nearest] = begins[farthest] = True
        for k in range(n):  # slices and `np.roll` would take seconds to compile
            order[s + k] = s + (first - s + k) % n


@kernel(no_cpython_wrapper=True)
def _distance(row, column, a, b, y, x):
    """Of a point from the line through the middles of the sides a and b."""
    dy, dx = row[b] - row[a], column[b] - column[a]
    length = np.sqrt(dy * dy + dx * dx)
    y, x = y - row[a], x - column[a]
    return abs(y * dx - x * dy) / length if length > 1e-9 else np.sqrt(y * y + x * x)


@kernel(no_cpython_wrapper=True)
def _begin_at(row, column, down, along, a, b, k, role, begins):
    """Divide the sides a … b at the end of side k that is farther from the line between them.

    If both ends are equally far, side k goes to what lies between the first (`role` −1) and the last (1) of several sides
    equally far, and if it is the only one (0), to the shorter part; in the very middle it becomes a piece of its own.
    """
    y, x = 0.5 * down[k], 0.5 * along[k]
    before = _distance(row, column, a, b, row[k] - y, column[k] - x)
    after = _distance(row, column, a, b, row[k] + y, column[k] + x)
    if before == after:
        before, after = (1.0, 0.0) if role < 0 else (0.0, 1.0) if role > 0 else (float(k - a), float(b - k))
    if before >= after:
        begins[k] = True
    if after >= before:
        begins[k + 1] = True


@kernel
def _divide(row, column, down, along, chains, tolerance, begins):
    """Mark where pieces begin: a chain is divided at its point farthest from the line between its ends, and so on.

    Of several points that are equally far it is divided at the first and at the last one, so that a chain that is walked the
    other way is divided in the same places. Closed loops are divided at the marks that are there already.
    """
    # Numbers of one type throughout, so that the kernels called here are compiled once.
    first, last = np.empty(len(row) + 3, np.int64), np.empty(len(row) + 3, np.int64)
    for c in range(len(chains) - 1):
        if chains[c] == chains[c + 1]:
            continue
        begins[chains[c]] = True
        n = 0
        for k in range(chains[c], chains[c + 1]):
            if begins[k]:
                first[n] = k
                n += 1
            last[n - 1] = k
        while n > 0:
            n -= 1
            a, b = first[n], last[n]
            worst, one, other = tolerance, np.int64(-1), np.int64(-1)
            for k in range(a + 1, b):
                away = _distance(row, column, a, b, row[k], column[k])
                if away > worst:
                    worst, one = away, k  # type: ignore[assignment]
                if away == worst and one >= 0:
                    other = k  # type: ignore[assignment]
            if one < 0:
                continue
            _begin_at(row, column, down, along, a, b, one, np.int64(-1 if other > one else 0), begins)
            first[n], last[n] = a, one
            first[n + 1], last[n + 1] = other, b
            n += 2
            if other > one:
                _begin_at(row, column, down, along, a, b, other, np.int64(1), begins)
                first[n], last[n] = one, other
                n += 1
