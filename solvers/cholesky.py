"""L D Lᵀ factorisation of graph Laplacians whose pattern is known: order and analyse once, refactor many times.

The unknowns are eliminated in minimum-degree order; the numeric factorisation is an up-looking Numba kernel that only
does arithmetic, because the pattern of every row of L is stored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .jit import kernel
from .ordering import minimum_degree
from .system import Pattern


@dataclass(frozen=True)
class Analysis:
    """What a pattern alone determines of its factorisation.

    Attributes
    ----------
    order : (n,) int32
        Unknowns in the order of elimination.
    row_start, row_column, row_pair : CSR
        For the k-th eliminated unknown: its joined earlier ones (as positions in `order`) and the pair that joins them.
    start : (n + 1,) int64
        Columns of L: rows start[j]:start[j+1] of `rows`.
    rows : (nnz,) int32
    pattern_start, pattern : CSR
        Non-zero columns of each row of L, in the order of elimination.
    slot : (nnz,) int64
        Where each entry of `pattern` lies in the columns' storage.
    """

    order: np.ndarray
    row_start: np.ndarray
    row_column: np.ndarray
    row_pair: np.ndarray
    start: np.ndarray
    rows: np.ndarray
    pattern_start: np.ndarray
    pattern: np.ndarray
    slot: np.ndarray

    @property
    def n_nonzeros(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Factor:
    """A numeric factorisation P(L + ground)Pᵀ = (I + N) D (I + N)ᵀ."""

    analysis: Analysis
    values: np.ndarray
    pivots: np.ndarray

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        x = np.empty(len(rhs))
        _solve(self.analysis.order, self.analysis.start, self.analysis.rows, self.values, self.pivots, rhs, x)
        return x


def analyse(pattern: Pattern) -> Analysis:
    """Order a pattern and find where its factor is non-zero; kept in the pattern's memo."""
    if "cholesky" not in pattern.memo:
        pattern.memo["cholesky"] = _analyse(pattern)
    return pattern.memo["cholesky"]


def factorise(pattern: Pattern, weight: np.ndarray, ground: np.ndarray) -> Factor:
    """Factor of the Laplacian with `ground` (n,) ≥ 0 added to its diagonal; it must be positive definite."""
    a = analyse(pattern)
    values, pivots = np.empty(a.n_nonzeros), np.empty(pattern.n)
    diagonal = np.bincount(pattern.tail, weight, pattern.n) + np.bincount(pattern.head, weight, pattern.n) + ground
    _factorise(
        a.row_start, a.row_column, a.row_pair, a.start, a.rows, a.pattern_start, a.pattern, a.slot,
        weight, diagonal[a.order], values, pivots,
    )  # fmt: skip
    return Factor(a, values, pivots)


def _analyse(pattern: Pattern) -> Analysis:
    n = pattern.n
    order = minimum_degree(*pattern.adjacency[:2])
    place = np.empty(n, dtype=np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    late = np.maximum(place[pattern.tail], place[pattern.head])
    early = np.minimum(place[pattern.tail], place[pattern.head])
    row_pair = np.argsort(late, kind="stable").astype(np.int32)
    row_start = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(late, minlength=n), out=row_start[1:])
    row_column = early[row_pair]
    parent, count = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int64)
    _elimination_tree(row_start, row_column, parent, count)
    pattern_start = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(count, out=pattern_start[1:])
    columns = np.empty(pattern_start[-1], dtype=np.int32)
    start = np.zeros(n + 1, dtype=np.int64)
    _row_patterns(row_start, row_column, parent, pattern_start, columns, start)
    rows, slot = np.empty(len(columns), dtype=np.int32), np.empty(len(columns), dtype=np.int64)
    _column_slots(pattern_start, columns, start, rows, slot)
    return Analysis(order, row_start, row_column, row_pair, start, rows, pattern_start, columns, slot)


@kernel
def _elimination_tree(row_start, row_column, parent, count):
    """Parent of each unknown in the elimination tree, and how many non-zeros its row of L has."""
    n = len(parent)
    seen = np.empty(n, dtype=np.int32)
    for k in range(n):
        parent[k] = -1
        seen[k] = k
        count[k] = 0
        for e in range(row_start[k], row_start[k + 1]):
            j = row_column[e]
            while seen[j] != k:
                if parent[j] == -1:
                    parent[j] = k
                seen[j] = k
                count[k] += 1
                j = parent[j]


@kernel
def _row_patterns(row_start, row_column, parent, pattern_start, columns, start):
    """Columns of each row of L in topological order; counts of each column, shifted by one, then summed."""
    n = len(parent)
    seen = np.full(n, -1, dtype=np.int32)
    path = np.empty(n, dtype=np.int32)
    for k in range(n):
        seen[k] = k
        top = pattern_start[k + 1]
        for e in range(row_start[k], row_start[k + 1]):
            j = row_column[e]
            length = 0
            while seen[j] != k:
                path[length] = j
                length += 1
                seen[j] = k
                j = parent[j]
            while length > 0:
                length -= 1
                top -= 1
                columns[top] = path[length]
                start[path[length] + 1] += 1
    for j in range(n):
        start[j + 1] += start[j]


@kernel
def _column_slots(pattern_start, columns, start, rows, slot):
    n = len(start) - 1
    cursor = start[:-1].copy()
    for k in range(n):
        for e in range(pattern_start[k], pattern_start[k + 1]):
            j = columns[e]
            rows[cursor[j]] = k
            slot[e] = cursor[j]
            cursor[j] += 1


@kernel(fastmath=True)
def _factorise(
    row_start, row_column, row_pair, start, rows, pattern_start, pattern, slot, weight, diagonal, values, pivots
):
    """Up-looking: row k of L from the rows above it."""
    n = len(pivots)
    y = np.zeros(n)
    for k in range(n):
        for e in range(row_start[k], row_start[k + 1]):
            y[row_column[e]] -= weight[row_pair[e]]
        pivot = diagonal[k]
        for e in range(pattern_start[k], pattern_start[k + 1]):
            j = pattern[e]
            value = y[j]
            y[j] = 0.0
            s = slot[e]
            for q in range(start[j], s):
                y[rows[q]] -= values[q] * value
            scaled = value / pivots[j]
            values[s] = scaled
            pivot -= scaled * value
        pivots[k] = pivot


@kernel
def _solve(order, start, rows, values, pivots, rhs, x):
    n = len(order)
    y = np.empty(n)
    for k in range(n):
        y[k] = rhs[order[k]]
    for j in range(n):
        value = y[j]
        for q in range(start[j], start[j + 1]):
            y[rows[q]] -= values[q] * value
    for j in range(n - 1, -1, -1):
        value = y[j] / pivots[j]
        for q in range(start[j], start[j + 1]):
            value -= values[q] * y[rows[q]]
        y[j] = value
    for k in range(n):
        x[order[k]] = y[k]
