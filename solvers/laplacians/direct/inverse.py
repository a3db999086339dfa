"""Entries of the inverse of a factorised Laplacian, without computing the whole inverse.

The inverse of a sparse matrix is full, but its entries at the places where the factor has entries follow from each other
(Takahashi, Fagan and Chen 1973): with the factorisation P A Pᵀ = (I + N) D (I + N)ᵀ and Z = (P A Pᵀ)⁻¹,

    Z = D⁻¹ (I + N)⁻¹ − Nᵀ Z,

and read from the last column to the first, every entry of the pattern of N asks only for entries of that pattern. The work
is that of the factorisation. The pattern holds the diagonal and every pair of the system.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.jit import kernel
from .cholesky import Factor
from .dense import DenseFactor


@dataclass(frozen=True, eq=False)
class InverseEntries:
    """The inverse of L + ground at the diagonal and at given pairs.

    Attributes
    ----------
    diagonal : (n,) float64
    pairs : (n_pairs,) float64
        At the pairs of the system's pattern.
    """

    diagonal: np.ndarray
    pairs: np.ndarray


def inverse_entries(factor: Factor | DenseFactor, tail: np.ndarray, head: np.ndarray) -> InverseEntries:
    """Entries of the inverse of what was factorised, at its diagonal and at pairs of its pattern.

    Parameters
    ----------
    factor : Factor or DenseFactor
        What `Direct.factor` returns.
    tail, head : (n_pairs,) integers
        Pairs that the pattern of the system holds.

    Returns
    -------
    InverseEntries
    """
    if isinstance(factor, DenseFactor):
        whole = factor.solve(np.eye(len(factor.lower)))
        whole = 0.5 * (whole + whole.T)
        return InverseEntries(whole.diagonal().copy(), whole[tail, head])
    a = factor.analysis
    n = len(a.order)
    values, diagonal = np.empty(len(a.rows)), np.empty(n)
    widest = int(np.diff(a.start).max(initial=0))
    _selected(
        a.start,
        a.rows,
        factor.values,
        factor.pivots,
        np.full(n, -1, dtype=np.int32),
        np.empty(widest),
        values,
        diagonal,
    )
    place = np.empty(n, dtype=np.int32)
    place[a.order] = np.arange(n, dtype=np.int32)
    first, second = np.minimum(place[tail], place[head]), np.maximum(place[tail], place[head])
    pairs = np.empty(len(tail))
    _look_up(a.start, a.rows, values, first, second, pairs)
    return InverseEntries(diagonal[place], pairs)


@kernel
def _selected(start, rows, lower, pivots, where, total, values, diagonal):
    """Write Z at the pattern of the factor to `values` and its diagonal to `diagonal`, last column first.

    Assumes rows that increase within a column and a pattern that is closed under elimination, as that of a factor is.
    `where` is −1 everywhere and is left so; `total` is working memory as long as the longest column.
    """
    n = len(pivots)
    for j in range(n - 1, -1, -1):
        begin, end = start[j], start[j + 1]
        for q in range(begin, end):
            where[rows[q]] = q - begin
            total[q - begin] = lower[q] * diagonal[rows[q]]
        # Σ_k Z_ik N_kj over the rows i, k of column j: each pair i < k lies in column i, and counts for i and for k.
        for p in range(begin, end):
            i = rows[p]
            for q in range(start[i], start[i + 1]):
                k = where[rows[q]]
                if k >= 0:
                    total[p - begin] += values[q] * lower[begin + k]
                    total[k] += values[q] * lower[p]
        last = 1.0 / pivots[j]
        for q in range(begin, end):
            values[q] = -total[q - begin]
            last -= lower[q] * values[q]
            where[rows[q]] = -1
        diagonal[j] = last


@kernel
def _look_up(start, rows, values, column, row, out):
    """Write the value at each (row, column) of a pattern, by bisection. Assumes that the pattern holds all of them."""
    for e in range(len(out)):
        low, high = start[column[e]], start[column[e] + 1] - 1
        while low < high:
            middle = (low + high) // 2
            if rows[middle] < row[e]:
                low = middle + 1
            else:
                high = middle
        out[e] = values[low]
