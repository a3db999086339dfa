"""L D Lᵀ factorisation of graph Laplacians whose pattern is known: order and analyse once, refactor many times.

The unknowns are eliminated front by front (`solvers.fronts`). Nearly all arithmetic is that of dense matrices of some
hundred rows, in which processors are several times quicker than in lists of indices.

Indices are made unsigned in the innermost loops: Numba takes a negative index for one from the end, and asks each time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .fronts import Analysis
from .jit import kernel, prange
from .system import Pattern


@dataclass(frozen=True)
class Factor:
    """A numeric factorisation P(L + ground)Pᵀ = (I + N) D (I + N)ᵀ.

    Attributes
    ----------
    analysis : Analysis
    values : (nnz,) float64
        N, column by column.
    pivots : (n,) float64
        D.
    """

    analysis: Analysis
    values: np.ndarray
    pivots: np.ndarray

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        x, a = np.empty(len(rhs)), self.analysis
        _solve(a.order, a.start, a.rows, self.values, self.pivots, rhs, np.empty(len(rhs)), x)
        return x


def analyse(pattern: Pattern) -> Analysis:
    """Order a pattern and find where its factor is non-zero; kept in the pattern's memo."""
    if "cholesky" not in pattern.memo:
        pattern.memo["cholesky"] = Analysis.from_pattern(pattern)
    return pattern.memo["cholesky"]


def factorise(pattern: Pattern, weight: np.ndarray, ground: np.ndarray) -> Factor:
    """Factor of the Laplacian with `ground` (n,) ≥ 0 added to its diagonal; it must be positive definite."""
    a = analyse(pattern)
    values, pivots = np.empty(a.n_nonzeros), np.empty(pattern.n)
    diagonal = np.bincount(pattern.tail, weight, pattern.n) + np.bincount(pattern.head, weight, pattern.n) + ground
    room, n_parts = np.append(0, np.cumsum(a.room**2)), len(a.room)
    _factorise(
        a.schedule, a.part, a.order, a.place, *pattern.adjacency, weight, diagonal, a.front, a.start, a.rows, a.first,
        a.after, a.offset, room, np.empty(room[-1]), np.empty((n_parts, pattern.n), dtype=np.int32),
        np.empty((n_parts, a.room.max(initial=0)), dtype=np.int32), np.empty(a.n_updates), values, pivots,
    )  # fmt: skip
    return Factor(a, values, pivots)


@kernel(fastmath=True)
def _subtract(target, a, b, c, d, la, lb, lc, ld):
    for j in range(len(target)):
        target[j] -= la * a[j] + lb * b[j] + lc * c[j] + ld * d[j]


@kernel(fastmath=True)
def _eliminate(matrix, m, n_columns):
    """Partial factorisation in place of the upper triangle of an (m, m) matrix, row after row: four pivots at a time."""
    k = 0
    while k < n_columns:
        n_pivots = min(4, n_columns - k)
        for p in range(k, k + n_pivots):
            inverse = 1.0 / matrix[p * m + p]
            # The rest of this block, or, if it is not a full one, all rows that follow.
            for i in range(p + 1, k + 4 if n_pivots == 4 else m):
                factor = matrix[p * m + i] * inverse
                for j in range(i, m):
                    matrix[np.uint64(i * m + j)] -= factor * matrix[np.uint64(p * m + j)]
        if n_pivots == 4:
            ia, ib = 1.0 / matrix[k * m + k], 1.0 / matrix[(k + 1) * m + k + 1]
            ic, id = 1.0 / matrix[(k + 2) * m + k + 2], 1.0 / matrix[(k + 3) * m + k + 3]
            for i in range(k + 4, m):
                a, b = matrix[k * m + i : k * m + m], matrix[(k + 1) * m + i : (k + 1) * m + m]
                c, d = matrix[(k + 2) * m + i : (k + 2) * m + m], matrix[(k + 3) * m + i : (k + 3) * m + m]
                _subtract(matrix[i * m + i : i * m + m], a, b, c, d, a[0] * ia, b[0] * ib, c[0] * ic, d[0] * id)
        k += n_pivots


@kernel
def _factor_fronts(
    todo, order, place, near_start, neighbour, pair, weight, diagonal, front, start, rows, first, after, offset,
    matrix, local, spot, updates, values, pivots,
):  # fmt: skip
    """Fill, eliminate and store the fronts `todo`; `matrix`, `local`, `spot` are working memory."""
    for s in todo:
        begin, n_columns = front[s], front[s + 1] - front[s]
        m = start[begin + 1] - start[begin] + 1
        listed = start[begin] - 1  # rows[listed + i] is the i-th row, for i > 0
        for i in range(m):
            for j in range(i, m):
                matrix[np.uint64(i * m + j)] = 0.0
        local[begin] = 0
        for i in range(1, m):
            local[rows[listed + i]] = i
        for i in range(n_columns):
            unknown = order[begin + i]
            matrix[i * m + i] = diagonal[unknown]
            for e in range(near_start[unknown], near_start[unknown + 1]):
                j = place[neighbour[e]]
                if j > begin + i:
                    matrix[i * m + local[j]] -= weight[pair[e]]
        c = first[s]
        while c >= 0:
            n_left = start[front[c + 1]] - start[front[c + 1] - 1]
            left = start[front[c + 1] - 1]
            at = offset[c]
            for i in range(n_left):
                spot[i] = local[rows[left + i]]
            for i in range(n_left):
                row = spot[i] * m
                for j in range(i, n_left):
                    matrix[np.uint64(row + spot[j])] += updates[np.uint64(at)]
                    at += 1
            c = after[c]
        _eliminate(matrix, m, n_columns)
        for i in range(n_columns):
            pivots[begin + i] = matrix[i * m + i]
            inverse = 1.0 / matrix[i * m + i]
            at = start[begin + i] - i - 1
            for j in range(i + 1, m):
                values[np.uint64(at + j)] = matrix[np.uint64(i * m + j)] * inverse
        at = offset[s]
        for i in range(n_columns, m):
            for j in range(i, m):
                updates[np.uint64(at)] = matrix[np.uint64(i * m + j)]
                at += 1


@kernel(parallel=True, parallel_from=2**17)
def _factorise(
    schedule, part, order, place, near_start, neighbour, pair, weight, diagonal, front, start, rows, first, after, offset,
    room, matrix, local, spot, updates, values, pivots,
):  # fmt: skip
    n_parts = len(part) - 2
    for i in prange(n_parts):
        _factor_fronts(
            schedule[part[i] : part[i + 1]], order, place, near_start, neighbour, pair, weight, diagonal, front, start,
            rows, first, after, offset, matrix[room[i] : room[i + 1]], local[i], spot[i], updates, values, pivots,
        )  # fmt: skip
    _factor_fronts(
        schedule[part[n_parts] :], order, place, near_start, neighbour, pair, weight, diagonal, front, start,
        rows, first, after, offset, matrix[room[n_parts] :], local[n_parts], spot[n_parts], updates, values, pivots,
    )  # fmt: skip


@kernel
def _solve(order, start, rows, values, pivots, rhs, y, x):
    n = len(order)
    for k in range(n):
        y[k] = rhs[order[k]]
    for j in range(n):
        value = y[j]
        for q in range(start[j], start[j + 1]):
            y[np.uint32(rows[q])] -= values[q] * value
    for j in range(n - 1, -1, -1):
        value = y[j] / pivots[j]
        for q in range(start[j], start[j + 1]):
            value -= values[q] * y[np.uint32(rows[q])]
        y[j] = value
    for k in range(n):
        x[order[k]] = y[k]
