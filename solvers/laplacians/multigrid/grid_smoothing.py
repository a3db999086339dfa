"""Smoothing sweeps over a graph on a grid, fused with what a multigrid cycle does before and after them.

A sweep goes from row to row and uses the new values of the row before it, as Gauss and Seidel do. Within a row it uses the
old values, as Jacobi does, so that all cells of a row can be computed at the same time. Rows are processed in fixed blocks,
and a sweep sees the other blocks as they were before it, so the number of threads does not change the result.
"""

from __future__ import annotations

import numpy as np

from ..core.jit import kernel, prange
from .grid import DAMPING, PARALLEL_FROM, GridGraph
from .grid_contraction import Squares


def smooth_and_restrict(
    graph: GridGraph, r: np.ndarray, group: Squares, n_groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """One sweep from top to bottom for L z = r from zero, and the sums of its residual over groups.

    Parameters
    ----------
    graph : GridGraph
    r : (n,) float64
    group : Squares
    n_groups : int

    Returns
    -------
    z : (n,) float32
    coarse : (n_groups,) float32
        r − L z added up over the groups.
    """
    shape = graph.inverse.shape
    z, coarse = np.zeros(shape, dtype=np.float32), np.zeros(n_groups, dtype=np.float32)
    squares, rows = (group.first, group.part), graph.blocks
    _smooth_and_restrict(graph.weight, graph.inverse, r.reshape(shape), *squares, z, coarse, rows)
    _restrict_borders(graph.weight, *squares, z, coarse, rows)
    return z.ravel(), coarse


def correct_and_smooth(graph: GridGraph, r: np.ndarray, group: Squares, correction: np.ndarray, z: np.ndarray) -> None:
    """Add to z, in place, the correction of each group, and then make one sweep from bottom to top for L z = r."""
    shape, rows = graph.inverse.shape, graph.blocks
    border = np.zeros((2, len(rows) + 1, shape[1]), dtype=np.float32)
    squares, new = (group.first, group.part, correction), z.reshape(shape)
    _correct_borders(*squares, new, rows, border)
    _correct_and_smooth(graph.weight, graph.inverse, r.reshape(shape), *squares, new, rows, border)


@kernel
def _restrict_row(weight, z, v, first, part, before, left, coarse):
    """Add the residual of row v after a sweep from zero to `coarse`. `before` says whether row v − 1 came after it.

    The equation of a cell holds except for the neighbours whose z was not known when it was computed, and for the damping.
    """
    width = z.shape[1]
    right, left_down, down, right_down = weight[0, v], weight[1, v], weight[2, v], weight[3, v]
    above, here, below = z[v - 1], z[v], z[v + 1]
    for u in range(1, width - 1):
        left[u] = right[u] * (here[u + 1] + DAMPING * here[u]) + right[u - 1] * (here[u - 1] + DAMPING * here[u])
    for u in range(1, width - 1):
        left[u] += left_down[u] * below[u - 1] + down[u] * below[u] + right_down[u] * below[u + 1]
    if before:
        left_up, up, right_up = weight[3, v - 1], weight[2, v - 1], weight[1, v - 1]
        for u in range(1, width - 1):
            left[u] += left_up[u - 1] * above[u - 1] + up[u] * above[u] + right_up[u + 1] * above[u + 1]
    number, place = first[(v - 1) // 2], part[v]
    for k in range(len(number)):
        if number[k] >= 0:
            u = 2 * k + 1
            coarse[number[k] + place[u]] += left[u]
            coarse[number[k] + place[u + 1]] += left[u + 1]


@kernel(parallel=True, parallel_from=PARALLEL_FROM)
def _smooth_and_restrict(weight, inverse, r, first, part, z, coarse, rows):
    """Write z by one sweep from zero, and add its residual r − L z to `coarse`, which is zero on entry.

    The residual of the first and last row of a block depends on other blocks; `_restrict_borders` adds it afterwards.
    """
    width = z.shape[1]
    for b in prange(len(rows) - 1):
        left = np.zeros(width, dtype=np.float32)
        for v in range(rows[b], rows[b + 1]):
            here, wanted, factor = z[v], r[v], inverse[v]
            if v == rows[b]:
                for u in range(1, width - 1):
                    here[u] = np.float32(wanted[u]) * factor[u]
                continue
            left_up, up, right_up, above = weight[3, v - 1], weight[2, v - 1], weight[1, v - 1], z[v - 1]
            for u in range(1, width - 1):
                left[u] = left_up[u - 1] * above[u - 1] + up[u] * above[u] + right_up[u + 1] * above[u + 1]
            for u in range(1, width - 1):
                here[u] = (np.float32(wanted[u]) + left[u]) * factor[u]
            if v > rows[b] + 1:
                _restrict_row(weight, z, v - 1, first, part, False, left, coarse)


@kernel(parallel=True, parallel_from=PARALLEL_FROM)
def _restrict_borders(weight, first, part, z, coarse, rows):
    """Add the residual of the first and last row of each block to `coarse`."""
    for b in prange(len(rows) - 1):
        left = np.zeros(z.shape[1], dtype=np.float32)
        _restrict_row(weight, z, rows[b], first, part, b > 0, left, coarse)
        if rows[b + 1] > rows[b] + 1:
            _restrict_row(weight, z, rows[b + 1] - 1, first, part, False, left, coarse)


@kernel
def _correct_row(z, first, part, correction, out):
    """Write a row z plus the correction of the group of each cell to `out`."""
    for k in range(len(first)):
        if first[k] >= 0:
            u = 2 * k + 1
            out[u] = z[u] + correction[first[k] + part[u]]
            out[u + 1] = z[u + 1] + correction[first[k] + part[u + 1]]


@kernel(parallel=True, parallel_from=PARALLEL_FROM)
def _correct_borders(first, part, correction, z, rows, border):
    """Write the corrected first and last row of each block b to border[:, b + 1]."""
    for b in prange(len(rows) - 1):
        top, bottom = rows[b], rows[b + 1] - 1
        _correct_row(z[top], first[(top - 1) // 2], part[top], correction, border[0, b + 1])
        _correct_row(z[bottom], first[(bottom - 1) // 2], part[bottom], correction, border[1, b + 1])


@kernel(parallel=True, parallel_from=PARALLEL_FROM)
def _correct_and_smooth(weight, inverse, r, first, part, correction, z, rows, border):
    """Write z: add the coarse correction, then make one sweep from bottom to top, with `border` for the other blocks."""
    width = z.shape[1]
    for b in prange(len(rows) - 1):
        total = np.zeros(width, dtype=np.float32)
        top, bottom = rows[b], rows[b + 1] - 1
        _correct_row(z[bottom], first[(bottom - 1) // 2], part[bottom], correction, z[bottom])
        for v in range(bottom, top - 1, -1):
            if v > top:
                _correct_row(z[v - 1], first[(v - 2) // 2], part[v - 1], correction, z[v - 1])
            right, left_down, down, right_down = weight[0, v], weight[1, v], weight[2, v], weight[3, v]
            left_up, up, right_up = weight[3, v - 1], weight[2, v - 1], weight[1, v - 1]
            above = z[v - 1] if v > top else border[1, b]
            below = z[v + 1] if v < bottom else border[0, b + 2]
            here, wanted, factor = z[v], r[v], inverse[v]
            for u in range(1, width - 1):
                total[u] = right[u] * (here[u + 1] + DAMPING * here[u]) + right[u - 1] * (
                    here[u - 1] + DAMPING * here[u]
                )
            for u in range(1, width - 1):
                total[u] += left_up[u - 1] * above[u - 1] + up[u] * above[u] + right_up[u + 1] * above[u + 1]
            for u in range(1, width - 1):
                total[u] += left_down[u] * below[u - 1] + down[u] * below[u] + right_down[u] * below[u + 1]
            for u in range(1, width - 1):
                here[u] = (np.float32(wanted[u]) + total[u]) * factor[u]
