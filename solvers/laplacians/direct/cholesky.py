"""L D Lᵀ factorisation of graph Laplacians whose pattern is known: order and analyse once, refactor many times.

The unknowns are eliminated front by front (`laplacians.direct.fronts`). Nearly all arithmetic is done in dense matrices of
up to some hundred rows, where processors are several times quicker than with lists of indices.

Indices are made unsigned in the innermost loops: a negative index counts from the end, and Numba tests for that every time
unless the type of the index rules it out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.jit import WHOLE, kernel, portion
from ..core.sharing import in_blocks
from ..system import LaplacianSystem
from .analysis import Analysis, analyse


@dataclass(frozen=True)
class Factor:
    """A numeric factorisation P(L + ground)Pᵀ = (I + N) D (I + N)ᵀ, where P is the order of elimination.

    Attributes
    ----------
    analysis : Analysis
    values : (n_nonzeros,) float64
        The strictly lower triangular N, column by column.
    pivots : (n,) float64
        The diagonal D.
    """

    analysis: Analysis
    values: np.ndarray
    pivots: np.ndarray

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """The solution x of (L + ground) x = rhs for one right-hand side (n,) or several (n, k), as a new float64 array."""
        if rhs.ndim == 2:
            several = np.array(rhs.T, dtype=np.float64, order="C")
            self.solve_rows(several)
            return several.T
        a, x, rhs = self.analysis, np.empty(len(rhs)), rhs.astype(np.float64, copy=False)
        _solve(a.order, a.start, a.rows, self.values, self.pivots, rhs, np.empty(len(x)), x)
        return x

    def solve_rows(self, rows: np.ndarray) -> None:
        """Replace each row of a (k, n) float64 array, a right-hand side, by its solution."""
        a = self.analysis

        def solve(part: slice) -> None:
            _solve_four(a.order, a.start, a.rows, self.values, self.pivots, np.zeros((rows.shape[1], 4)), rows[part])

        in_blocks(solve, len(rows), 4)


def factorise(system: LaplacianSystem, ground: np.ndarray | None = None) -> Factor:
    """Factorise the Laplacian of a system with something added to its diagonal.

    Parameters
    ----------
    system : LaplacianSystem
    ground : (n,) float64, optional
        What is added to the diagonal; it must make the matrix positive definite. By default `LaplacianSystem.ground`.

    Returns
    -------
    Factor
    """
    ground = system.ground if ground is None else ground
    a, weight, diagonal = analyse(system.pattern), system.weight, system.diagonal + ground
    values, pivots = np.empty(a.n_nonzeros), np.empty(system.n)
    fields = (
        a.schedule, a.part, weight, diagonal[a.order], a.front, a.start, a.first, a.after, a.offset,
        a.entry_start, a.entry_at, a.entry_pair, a.taken_start, a.taken_at,
        a.memory, np.empty(a.memory[-1]), np.empty(a.n_updates), values, pivots,
    )  # fmt: skip
    # First the independent parts, at the same time; then the fronts that depend on several of them.
    n_parts = len(a.part) - 2
    _factor_fronts(0, n_parts, *fields)
    _factor_fronts(n_parts, n_parts + 1, *fields, WHOLE)
    return Factor(a, values, pivots)


# Without fastmath: the order of operations would depend on whether the code is compiled or loaded from disk.
@kernel(inline="always")
def _eliminate(matrix, m, n_columns):
    """Eliminate the first `n_columns` rows of an (m, m) matrix in place, four pivots at a time.

    Assumes at least m² values, row after row, of which the upper triangle is read and written.
    """
    k = 0
    while k < n_columns:
        n_pivots = min(4, n_columns - k)
        for p in range(k, k + n_pivots):
            inverse = 1.0 / matrix[p * m + p]
            # Update the rest of this block of four or, if the block is not full, all rows that follow.
            for i in range(p + 1, k + 4 if n_pivots == 4 else m):
                factor = matrix[p * m + i] * inverse
                for j in range(i, m):
                    matrix[np.uint64(i * m + j)] -= factor * matrix[np.uint64(p * m + j)]
        if n_pivots == 4:
            a, b, c, d = k * m, (k + 1) * m, (k + 2) * m, (k + 3) * m
            ia, ib, ic, id = (
                1.0 / matrix[a + k],
                1.0 / matrix[b + k + 1],
                1.0 / matrix[c + k + 2],
                1.0 / matrix[d + k + 3],
            )
            for i in range(k + 4, m):
                la, lb, lc, ld = matrix[a + i] * ia, matrix[b + i] * ib, matrix[c + i] * ic, matrix[d + i] * id
                for j in range(i, m):
                    matrix[np.uint64(i * m + j)] -= (
                        la * matrix[np.uint64(a + j)] + lb * matrix[np.uint64(b + j)]
                        + lc * matrix[np.uint64(c + j)] + ld * matrix[np.uint64(d + j)]
                    )  # fmt: skip
        k += n_pivots


@kernel(parallel_from=2**17)
def _factor_fronts(
    first_part, end_part, schedule, part, weight, diagonal, front, start, first, after, offset, entry_start, entry_at,
    entry_pair, taken_start, taken_at, room, memory, updates, values, pivots, share=WHOLE,
):  # fmt: skip
    """Fill, eliminate and store the fronts of some parts, in the order of the schedule.

    Writes `updates`, `values` and `pivots`. Assumes the fields of an `Analysis`, `diagonal` in the order of elimination,
    and that the updates which these fronts take from other parts have been written. The working memory of part i is
    ``memory[room[i]:room[i+1]]``, large enough for the largest of its fronts.
    """
    for number in portion(end_part - first_part, share):
        own = first_part + number
        matrix = memory[room[own] : room[own + 1]]
        for s in schedule[part[own] : part[own + 1]]:
            begin, n_columns = front[s], front[s + 1] - front[s]
            m = start[begin + 1] - start[begin] + 1
            for i in range(m):
                for j in range(i, m):
                    matrix[np.uint64(i * m + j)] = 0.0
            for i in range(n_columns):
                matrix[i * m + i] = diagonal[begin + i]
            for e in range(entry_start[s], entry_start[s + 1]):
                matrix[np.uint32(entry_at[e])] -= weight[np.uint32(entry_pair[e])]
            c = first[s]
            while c >= 0:
                at = offset[c]
                for p in range(taken_start[c], taken_start[c + 1]):
                    row = taken_at[p] * m
                    for q in range(p, taken_start[c + 1]):
                        matrix[np.uint64(row + taken_at[np.uint64(q)])] += updates[np.uint64(at)]
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


@kernel
def _solve(order, start, rows, values, pivots, rhs, z, x):
    """Write x by forward and backward substitution. Assumes a factor; `z` is working memory."""
    for k in range(len(z)):
        z[k] = rhs[np.uint32(order[k])]
    for j in range(len(z)):
        value = z[j]
        for q in range(np.uint64(start[j]), np.uint64(start[j + 1])):
            z[np.uint32(rows[q])] -= values[q] * value
    for j in range(len(z) - 1, -1, -1):
        value = z[j] / pivots[j]
        for q in range(np.uint64(start[j]), np.uint64(start[j + 1])):
            value -= values[q] * z[np.uint32(rows[q])]
        z[j] = value
    for k in range(len(z)):
        x[np.uint32(order[k])] = z[k]


@kernel
def _solve_four(order, start, rows, values, pivots, z, x):
    """Replace up to four right-hand sides, the rows of x, by their solutions, for which the factor is read once.

    `z` (n, 4) is working memory, filled with zeros.
    """
    for one in range(len(x)):
        for k in range(len(z)):
            z[k, one] = x[one, np.uint32(order[k])]
    for j in range(len(z)):
        a, b, c, d = z[j, 0], z[j, 1], z[j, 2], z[j, 3]
        for q in range(np.uint64(start[j]), np.uint64(start[j + 1])):
            i, value = np.uint32(rows[q]), values[q]
            z[i, 0] -= value * a
            z[i, 1] -= value * b
            z[i, 2] -= value * c
            z[i, 3] -= value * d
    for j in range(len(z) - 1, -1, -1):
        pivot = pivots[j]
        a, b, c, d = z[j, 0] / pivot, z[j, 1] / pivot, z[j, 2] / pivot, z[j, 3] / pivot
        for q in range(np.uint64(start[j]), np.uint64(start[j + 1])):
            i, value = np.uint32(rows[q]), values[q]
            a -= value * z[i, 0]
            b -= value * z[i, 1]
            c -= value * z[i, 2]
            d -= value * z[i, 3]
        z[j, 0] = a
        z[j, 1] = b
        z[j, 2] = c
        z[j, 3] = d
    for one in range(len(x)):
        for k in range(len(z)):
            x[one, np.uint32(order[k])] = z[k, one]
