"""Regions: neighbouring cells or components put together while their values agree within their errors."""

from __future__ import annotations

import numpy as np

from ...graph.selection import connected_components

_PATIENCE = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7)  # parts of the threshold for which similar cells are merged first


def merged(
    one: np.ndarray, other: np.ndarray, middle: np.ndarray, variance: np.ndarray, least: float, sure: float
) -> np.ndarray:
    """Merge cells into regions whose values differ by no more than errors explain.

    In each round every region joins the neighbour that is most similar to it, at first only if it is very similar, and
    only a neighbour that is known better. So a vague cell that fits two regions joins one of them, and does not make one
    of two that differ from each other.

    Parameters
    ----------
    one, other : (n_pairs,) integers
        Neighbouring cells, each pair once.
    middle, variance : (n_cells,) float64
        Value of each cell, and its variance; infinite for a cell without a value.
    least : float
        Standard deviation of a difference that is always allowed for.
    sure : float
        Deviations beyond which two regions stay apart.

    Returns
    -------
    (n_cells,) integers
        Region of each cell.
    """
    n = len(middle)
    region = np.arange(n)
    precision: np.ndarray = 1 / variance
    limits = [part * sure for part in _PATIENCE]
    while len(one):
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = 1 / precision[one] + 1 / precision[other] + least**2
            unlike = np.where(np.isfinite(spread), (middle[one] - middle[other]) ** 2 / spread, 0.0)
        rank = np.empty(len(one), dtype=np.int64)  # of two pairs that are equally alike the first comes first
        rank[np.argsort(unlike, kind="stable")] = np.arange(len(one))
        best = np.full(n, len(one))
        np.minimum.at(best, one, rank)
        np.minimum.at(best, other, rank)
        vaguer = np.where(precision[one] < precision[other], one, other)
        limit = limits[0] if limits else sure
        join = (unlike <= limit**2) & (rank == best[vaguer])
        if not join.any():
            if not limits:
                break
            limits.pop(0)
            continue
        into = connected_components(n, one[join], other[join])
        total = np.bincount(into, precision)
        middle = np.bincount(into, precision * middle) / np.maximum(total, 1e-300)
        precision, region, n = total, into[region], len(total)
        one, other = unique_pairs(into[one], into[other], n)
    return region


def unique_pairs(one: np.ndarray, other: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of different numbers below n, each once, the smaller number first."""
    apart = one != other
    one, other = one[apart].astype(np.int64), other[apart].astype(np.int64)
    key = np.unique(np.minimum(one, other) * n + np.maximum(one, other))
    return key // n, key % n
