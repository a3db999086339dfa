"""Regions: neighbouring cells or components put together while their values agree within their errors."""

from __future__ import annotations

import numpy as np

from ...graph.selection import connected_components

_PATIENCE = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7)  # parts of the threshold for which similar cells are merged first
# A region this many times further from the mean of what it is merged with than cells may be is another surface. Regions that
# differ less, as noise and blur make them, were found to be better merged on random scenes with realistic priors.
_TORN = 3.0


def merged(
    one: np.ndarray, other: np.ndarray, middle: np.ndarray, variance: np.ndarray, least: float, sure: float
) -> np.ndarray:
    """Merge cells into regions whose values differ by no more than errors explain.

    In each round every region joins the neighbour that is most similar to it, at first only if it is very similar. A vague
    cell that fits two regions would join both at once; where these surely differ, it joins one of them.

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
        unlike = _unlike(middle[one] - middle[other], precision[one], precision[other], least)
        best = np.full(n, np.inf)
        np.minimum.at(best, one, unlike)
        np.minimum.at(best, other, unlike)
        limit = limits[0] if limits else sure
        join = (unlike <= limit**2) & ((unlike == best[one]) | (unlike == best[other]))
        if not join.any():
            if not limits:
                break
            limits.pop(0)
            continue
        into, total, mean = _together(one[join], other[join], middle, precision)
        torn = _unlike(middle - mean[into], precision, total[into], least) > (_TORN * sure) ** 2
        if torn.any():
            apart = np.bincount(into, torn)[into[one]] > 0
            join &= ~apart | _one_each(one, other, unlike, precision)
            into, total, mean = _together(one[join], other[join], middle, precision)
        middle, precision, region, n = mean, total, into[region], len(total)
        one, other = unique_pairs(into[one], into[other], n)
    return region


def _together(
    one: np.ndarray, other: np.ndarray, middle: np.ndarray, precision: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What becomes of each region if these pairs are joined, and the precision and value of what they become."""
    into = connected_components(len(middle), one, other)
    total = np.bincount(into, precision)
    return into, total, np.bincount(into, precision * middle) / np.maximum(total, 1e-300)


def _unlike(difference: np.ndarray, precision: np.ndarray, other: np.ndarray, least: float) -> np.ndarray:
    """Squares of differences in units of their variance; 0 where one of the values is not known."""
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = 1 / precision + 1 / other + least**2
        return np.where(np.isfinite(spread), difference**2 / spread, 0.0)


def _one_each(one: np.ndarray, other: np.ndarray, unlike: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """(n_pairs,) whether the region of a pair that is known less well is most similar to the other; each joins one only.

    Of two neighbours that are equally similar the first is taken. Regions without a value still join all that are around.
    """
    rank = np.empty(len(one), dtype=np.int64)
    rank[np.argsort(unlike, kind="stable")] = np.arange(len(one))
    best = np.full(len(precision), len(one))
    np.minimum.at(best, one, rank)
    np.minimum.at(best, other, rank)
    vaguer = np.where(precision[one] < precision[other], one, other)
    return (rank == best[vaguer]) | (np.minimum(precision[one], precision[other]) == 0)


def unique_pairs(one: np.ndarray, other: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of different numbers below n, each once, the smaller number first."""
    apart = one != other
    one, other = one[apart].astype(np.int64), other[apart].astype(np.int64)
    key = np.unique(np.minimum(one, other) * n + np.maximum(one, other))
    return key // n, key % n
