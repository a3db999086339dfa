"""Gauss-Seidel sweeps over a weighted graph, fused with what a multigrid cycle does before and after them.

Rows are processed in fixed blocks, and a sweep sees the other blocks as they were before it. So blocks can be processed at
the same time, and the number of threads does not change the result.

Indices are made unsigned in the loops over neighbours. A negative index counts from the end, and Numba tests for that every
time unless the type of the index rules it out. That test took a third of a sweep.
"""

from __future__ import annotations

import numpy as np

from ..core.jit import WHOLE, kernel, portion
from .contraction import block_size
from .lists import NeighbourLists
from .vectors import PARALLEL_FROM


def smooth_and_restrict(
    graph: NeighbourLists, r: np.ndarray, group: np.ndarray, z: np.ndarray, coarse: np.ndarray
) -> None:
    """One forward Gauss-Seidel sweep for L z = r from zero, and the sums of its residual over groups.

    Parameters
    ----------
    graph : NeighbourLists
    r : (n,) float32
    group : (n,) int32
        The group of each unknown; −1 if it has none.
    z : (n,) float32
        Is written.
    coarse : (n_groups,) float32
        Is written: r − L z added up over the groups.
    """
    coarse.fill(0)
    _smooth(*graph.fields, r, z, block_size(graph.n))
    _restrict(graph.start, graph.neighbour, graph.weight, group, z, coarse, block_size(graph.n))


def correct_and_smooth(
    graph: NeighbourLists, r: np.ndarray, group: np.ndarray, correction: np.ndarray, z: np.ndarray
) -> None:
    """Add to z, in place, the correction of each group, and then make one backward Gauss-Seidel sweep for L z = r."""
    old = np.empty_like(z)
    _correct(group, correction, z, old)
    _smooth_back(*graph.fields, r, old, z, block_size(graph.n))


@kernel(parallel_from=PARALLEL_FROM)
def _smooth(start, neighbour, weight, inverse, r, z, block, share=WHOLE):
    """Write z by one Gauss-Seidel sweep from zero in each block of `block` rows. Assumes sorted lists.

    A row waits for the value of the row before, which is its neighbour as a rule. That value is handed on as a number: to
    write it and read it again would take longer than the rest of the row.
    """
    n, one = len(z), np.uint64(1)
    for b in portion((n + block - 1) // block, share):
        lo, hi = np.uint64(b * block), np.uint64(min(n, (b + 1) * block))
        last = np.float32(0)
        for i in range(lo, hi):
            total = r[i]
            for k in range(np.uint64(start[i]), np.uint64(start[i + one])):
                j = np.uint64(neighbour[k])
                if j + one >= i:
                    if lo <= j < i:
                        total += weight[k] * last
                    break
                if j >= lo:
                    total += weight[k] * z[j]
            last = total * inverse[i]
            z[i] = last


@kernel(parallel_from=PARALLEL_FROM)
def _restrict(start, neighbour, weight, group, z, coarse, block, share=WHOLE):
    """Add the residual r − L z of the sweep of `_smooth` to `coarse`, which is zero on entry.

    After the sweep the equation of a row holds except for the neighbours whose z was not known yet when the row was
    processed: those that come after it, and those in earlier blocks. Assumes groups that do not straddle blocks.
    """
    n, one = len(z), np.uint64(1)
    for b in portion((n + block - 1) // block, share):
        lo, hi = np.uint64(b * block), np.uint64(min(n, (b + 1) * block))
        for i in range(lo, hi):
            if group[i] >= 0:
                left = np.float32(0)
                first, end = np.uint64(start[i]), np.uint64(start[i + one])
                k = end
                while k > first:
                    k -= one
                    j = np.uint64(neighbour[k])
                    if j < i:
                        break
                    left += weight[k] * z[j]
                for before in range(first, end):
                    j = np.uint64(neighbour[before])
                    if j >= lo:
                        break
                    left += weight[before] * z[j]
                coarse[np.uint32(group[i])] += left


@kernel(parallel_from=PARALLEL_FROM)
def _correct(group, correction, z, old, share=WHOLE):
    """Write z with the coarse correction added to `old`. Assumes groups within `correction`, or −1."""
    for i in portion(len(z), share):
        old[i] = z[i] + correction[np.uint32(group[i])] if group[i] >= 0 else z[i]


@kernel(parallel_from=PARALLEL_FROM)
def _smooth_back(start, neighbour, weight, inverse, r, old, z, block, share=WHOLE):
    """Write z by one backward Gauss-Seidel sweep from `old`; blocks see `old` of each other. Assumes sorted lists.

    As in `_smooth`, the value of the row that was processed last is handed on as a number.
    """
    n, one = len(z), np.uint64(1)
    for b in portion((n + block - 1) // block, share):
        lo, hi = np.uint64(b * block), np.uint64(min(n, (b + 1) * block))
        last = old[min(hi, np.uint64(n) - one)]
        for back in range(hi - lo):
            i = hi - one - back
            total = r[i]
            for k in range(np.uint64(start[i]), np.uint64(start[i + one])):
                j = np.uint64(neighbour[k])
                if j < i:
                    total += weight[k] * old[j]
                elif j == i + one:
                    total += weight[k] * last
                else:
                    total += weight[k] * (z[j] if j < hi else old[j])
            last = total * inverse[i]
            z[i] = last
