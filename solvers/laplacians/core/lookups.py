"""Gathers, counts and sums by the numbers in a long list: kernels where NumPy would hold Python's lock.

NumPy converts numbers of four bytes to eight before it looks anything up by them. And where labels of pixels come in runs,
it writes each sum to memory and reads it again for the next pixel, which takes longer than to add. Here the sum of a run is
a number until the run ends. Everything is added in the order in which it comes, so the results are NumPy's, to the bit.
"""

from __future__ import annotations

import numpy as np

from .jit import WHOLE, Kernel, kernel, portion

# Entries from which on a kernel is used: below, NumPy takes some tenths of a millisecond and compiles nothing.
LONG = 100_000
_LOADED = 2**13  # the same for a kernel that has been used already


def suits(kernel: Kernel, index: np.ndarray, *values: np.ndarray) -> bool:
    """Whether a kernel is meant for such a list of numbers, and for such values: few types, each of which is compiled."""
    return (
        (len(index) > LONG or (kernel.is_loaded and len(index) > _LOADED))
        and index.dtype == np.int32
        and all(one.ndim == 1 and one.dtype in (np.float64, np.int32) for one in values)
    )


def taken(values: np.ndarray, index: np.ndarray) -> np.ndarray:
    """``values[index]`` as a new array. The numbers must lie in [0, len(values))."""
    if not suits(_take, index, values):
        return values[index]
    out = np.empty(len(index), dtype=values.dtype)
    _take(values, index, out)
    return out


def placed(values: np.ndarray, index: np.ndarray, n: int) -> np.ndarray:
    """(n,) float64 with the values at the numbers of a list, each of which occurs once, and zeros elsewhere.

    >>> placed(np.array([5.0, 7.0]), np.array([2, 0], dtype=np.int32), 4).tolist()
    [7.0, 0.0, 5.0, 0.0]
    """
    out = np.zeros(n)
    if suits(_put, index, values):
        _put(values, index, out)
    else:
        out[index] = values
    return out


def counted(index: np.ndarray, n: int) -> np.ndarray:
    """(n,) int64 how often each number occurs in a list of numbers in [0, n)."""
    if not suits(_count, index):
        return np.bincount(index, minlength=n)
    out = np.zeros(n, dtype=np.int64)
    _count(index, out)
    return out


def first_places(index: np.ndarray, n: int) -> np.ndarray:
    """(n,) int64 where each number occurs first in a list in which 0, 1, 2, … n − 1 first occur in this order."""
    out = np.empty(n, dtype=np.int64)
    if suits(_find_first, index):
        _find_first(index, out)
    else:
        out[index[::-1]] = np.arange(len(index) - 1, -1, -1)  # of equal indices the last one counts
    return out


def added_up(index: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    """(n,) float64 sums of values by a list of numbers in [0, n)."""
    if not suits(_add, index):
        return np.bincount(index, values, n).astype(np.float64, copy=False)  # without any values they are integers
    out = np.zeros(n)
    _add(index, np.asarray(values, dtype=np.float64), out)
    return out


@kernel(parallel_from=2**19)
def _take(values, index, out, share=WHOLE):
    """Write values[index] to `out`. Assumes numbers within `values`."""
    for i in portion(len(out), share):
        out[i] = values[np.uint32(index[i])]  # unsigned: Numba need not look for negative ones


@kernel(parallel_from=2**19)
def _put(values, index, out, share=WHOLE):
    """Write the values to `out` at their numbers. Assumes numbers within `out`, and none twice."""
    for i in portion(len(index), share):
        out[np.uint32(index[i])] = values[i]


@kernel
def _count(index, out):
    """Add to `out` how often each number occurs, run by run. Assumes at least one number, and all within `out`."""
    now, begin = np.uint32(index[0]), 0
    for i in range(len(index)):
        k = np.uint32(index[i])
        if k != now:
            out[now] += i - begin
            now, begin = k, i
    out[now] += len(index) - begin


@kernel
def _find_first(index, out):
    """Write where each number occurs first. Assumes that they first occur in their order, and all within `out`."""
    found = 0
    for i in range(len(index)):
        if index[i] == found:
            out[found] = i
            found += 1


@kernel
def _add(index, values, out):
    """Add the values to `out` by their numbers, in order. Assumes at least one number, and all within `out`."""
    now = np.uint32(index[0])
    total = out[now]
    for i in range(len(index)):
        k = np.uint32(index[i])
        if k != now:
            out[now] = total
            now, total = k, out[k]
        total += values[i]
    out[now] = total
