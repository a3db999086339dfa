"""L D Lᵀ factorisation of graph Laplacians whose pattern is known: order and analyse once, refactor many times.

The unknowns are eliminated in minimum-degree order; the numeric factorisation is an up-looking Numba kernel that only
does arithmetic, because the pattern of every row of L is stored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .jit import kernel, prange
from .ordering import minimum_degree
from .system import Pattern

_PARTS = 4  # into which independent rows are sorted; fixed, so that results do not depend on the number of threads


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
    schedule, part : (n,) int32, (n_parts + 2,) int64
        Rows of L sorted into parts that do not depend on each other, schedule[part[i]:part[i+1]], and last those that
        depend on several parts.
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
    schedule: np.ndarray
    part: np.ndarray

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
        a.schedule, a.part, weight, diagonal[a.order], values, pivots,
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
    schedule, part = np.empty(n, dtype=np.int32), np.zeros(_PARTS + 2, dtype=np.int64)
    _schedule(parent, pattern_start, columns, start, slot, schedule, part)
    return Analysis(order, row_start, row_column, row_pair, start, rows, pattern_start, columns, slot, schedule, part)


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


@kernel
def _schedule(parent, pattern_start, columns, start, slot, schedule, part):
    """Cut the elimination tree into subtrees of little work each, and deal them out to the parts."""
    n, n_parts = len(parent), len(part) - 2
    work = np.empty(n)
    for k in range(n):
        work[k] = 1.0
        for e in range(pattern_start[k], pattern_start[k + 1]):
            work[k] += 1.0 + slot[e] - start[columns[e]]
    below = work.copy()
    total = 0.0
    for k in range(n):
        total += work[k]
        if parent[k] >= 0:
            below[parent[k]] += below[k]
    # Parents come after their children: going down, a node belongs to the part of its parent unless that is too large.
    limit = total / (4 * n_parts)
    load = np.zeros(n_parts)
    owner = np.full(n, n_parts, dtype=np.int32)
    for k in range(n - 1, -1, -1):
        if parent[k] >= 0 and owner[parent[k]] < n_parts:
            owner[k] = owner[parent[k]]
        elif below[k] <= limit:
            least = 0
            for i in range(1, n_parts):
                if load[i] < load[least]:
                    least = i
            owner[k] = least
            load[least] += below[k]
    for k in range(n):
        part[owner[k] + 1] += 1
    for i in range(n_parts + 1):
        part[i + 1] += part[i]
    cursor = part[:-1].copy()
    for k in range(n):
        schedule[cursor[owner[k]]] = k
        cursor[owner[k]] += 1


@kernel(fastmath=True)
def _factor_rows(
    row_start, row_column, row_pair, start, rows, pattern_start, pattern, slot, todo, weight, diagonal, values, pivots
):
    """Up-looking: each row of L from the rows above it."""
    y = np.zeros(len(pivots))
    for k in todo:
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


@kernel(parallel=True, parallel_from=2**17)
def _factorise(
    row_start, row_column, row_pair, start, rows, pattern_start, pattern, slot, schedule, part, weight, diagonal,
    values, pivots,
):  # fmt: skip
    for i in prange(len(part) - 2):
        _factor_rows(
            row_start, row_column, row_pair, start, rows, pattern_start, pattern, slot,
            schedule[part[i] : part[i + 1]], weight, diagonal, values, pivots,
        )  # fmt: skip
    _factor_rows(
        row_start, row_column, row_pair, start, rows, pattern_start, pattern, slot,
        schedule[part[-2] :], weight, diagonal, values, pivots,
    )  # fmt: skip


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
