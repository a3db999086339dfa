"""Smoothing sweeps over a graph on a grid, fused with what a multigrid cycle does before and after them.

A sweep goes from row to row and uses the new values of the row before it, as Gauss and Seidel do. Within a row and along
loose edges it uses the old values, as Jacobi does, so that all cells of a row can be computed at the same time. Rows are
processed in fixed blocks, and a sweep sees the other blocks as they were before it, so the number of threads does not change
the result.
"""

from __future__ import annotations

import numpy as np

from ..core.jit import WHOLE, kernel, portion
from .grid import DAMPING, PARALLEL_FROM, GridGraph
from .grid_contraction import Squares


def smooth_and_restrict(graph: GridGraph, r: np.ndarray, group: Squares, z: np.ndarray, coarse: np.ndarray) -> None:
    """One sweep from top to bottom for L z = r from zero, and the sums of its residual over groups.

    Parameters
    ----------
    graph : GridGraph
    r : (n,) float32
    group : Squares
    z : (n,) float32
        Is written but for cells outside the runs of the graph, where it is zero on entry.
    coarse : (n_groups,) float32
        Is written: r − L z added up over the groups.
    """
    rows, m = graph.blocks, graph.n_cells
    coarse.fill(0)
    into = group.first, group.part, group.on_grid(coarse), coarse
    fields = graph.weight, graph.runs, graph.on_grid(graph.inverse), graph.on_grid(r), *into, graph.on_grid(z), rows
    _smooth_and_restrict(*fields, False)
    _smooth_and_restrict(*fields, True)
    z[m:] = r[m:] * graph.inverse[m:]
    if len(group.tail):
        _restrict_loose(*graph.loose, group.tail, group.head, z, coarse)


def correct_and_smooth(graph: GridGraph, r: np.ndarray, group: Squares, correction: np.ndarray, z: np.ndarray) -> None:
    """Add to z, in place, the correction of each group, and then make one sweep from bottom to top for L z = r."""
    rows, image, m = graph.blocks, graph.on_grid(z), graph.n_cells
    before = r[graph.loose_ends]
    if len(group.tail):
        _add_loose(*graph.loose, group.tail, group.head, z, correction, r)
    z[m:] = r[m:] * graph.inverse[m:]
    border = np.zeros((2, len(rows) + 1, image.shape[1]), dtype=np.float32)
    out_of = group.first, group.part, group.on_grid(correction), correction
    fields = graph.weight, graph.runs, graph.on_grid(graph.inverse), graph.on_grid(r), *out_of, image, rows, border
    _correct_and_smooth(*fields, True)
    _correct_and_smooth(*fields, False)
    r[graph.loose_ends] = before


@kernel(parallel_from=PARALLEL_FROM)
def _smooth_and_restrict(weight, runs, inverse, r, first, part, cells, coarse, z, rows, borders, share=WHOLE):
    """Write z within the runs by one sweep from zero, and add its residual r − L z to `coarse`, which is zero on entry.

    The residual of the first and last row of a block depends on other blocks. A second call, with `borders`, adds it. After
    a sweep the equation of a cell holds except for the neighbours whose z was not known when it was computed, and for the
    damping. `cells` is the view of `coarse` as an image. Loose edges are not part of this.
    """
    (first_run, begin, end), one = runs, np.uint32(1)
    for b in portion(len(rows) - 1, share):
        left = np.zeros(z.shape[1], dtype=np.float32)
        top, bottom = rows[b], rows[b + 1] - 1
        for at in range(top, bottom + 1):
            v = at
            if not borders:
                here, wanted, factor = z[v], r[v], inverse[v]
                left_up, up, right_up, above = weight[3, v - 1], weight[2, v - 1], weight[1, v - 1], z[v - 1]
                for q in range(first_run[v], first_run[v + 1]):
                    lo, hi = max(1, int(begin[q])), int(end[q])  # see `laplacians.multigrid.grid`
                    if v > top:
                        for u in range(lo, hi):
                            left[u] = left_up[u - 1] * above[u - 1] + up[u] * above[u] + right_up[u + 1] * above[u + 1]
                    for u in range(lo, hi):
                        here[u] = (wanted[u] + left[u]) * factor[u]
                v = at - 1  # what is below this row is known now
            if v < top or (top < v < bottom) == borders:
                continue
            right, left_down, down, right_down = weight[0, v], weight[1, v], weight[2, v], weight[3, v]
            left_up, up, right_up, above = weight[3, v - 1], weight[2, v - 1], weight[1, v - 1], z[v - 1]
            here, below, row = z[v], z[v + 1], (v - 1) // 2
            number, place, sums = first[row], part[v], cells[row + 1]
            for q in range(first_run[v], first_run[v + 1]):
                lo, hi = max(1, int(begin[q])), int(end[q])
                for u in range(lo, hi):
                    left[u] = right[u] * (here[u + 1] + DAMPING * here[u]) + right[u - 1] * (
                        here[u - 1] + DAMPING * here[u]
                    )
                for u in range(lo, hi):
                    left[u] += left_down[u] * below[u - 1] + down[u] * below[u] + right_down[u] * below[u + 1]
                if v == top and b > 0:  # the row above came after it
                    for u in range(lo, hi):
                        left[u] += left_up[u - 1] * above[u - 1] + up[u] * above[u] + right_up[u + 1] * above[u + 1]
                for k in range(np.uint32(begin[q]) >> one, np.uint32(end[q]) >> one):  # unsigned, too
                    u = 2 * k + 1
                    if number[k] < 0:
                        sums[k + 1] += left[u] + left[u + 1]
                    else:
                        for i in range(u, u + 2):
                            if place[i] == 0:
                                sums[k + 1] += left[i]
                            else:
                                coarse[number[k] + place[i] - 1] += left[i]


@kernel
def _restrict_loose(tail, head, weight, to_tail, to_head, z, coarse):
    """Add the residual that loose edges leave after a sweep from zero to the groups of their ends."""
    for e in range(len(tail)):
        # Unsigned: see `laplacians.multigrid.smoothing`.
        at_tail, at_head = z[np.uint32(tail[e])], z[np.uint32(head[e])]
        coarse[np.uint32(to_tail[e])] += weight[e] * (at_head + DAMPING * at_tail)
        coarse[np.uint32(to_head[e])] += weight[e] * (at_tail + DAMPING * at_head)


@kernel
def _add_loose(tail, head, weight, to_tail, to_head, z, correction, r):
    """Add to r what the loose edges bring into a sweep from z with its correction."""
    for e in range(len(tail)):
        i, j = np.uint32(tail[e]), np.uint32(head[e])
        at_tail, at_head = z[i] + correction[np.uint32(to_tail[e])], z[j] + correction[np.uint32(to_head[e])]
        r[i] += weight[e] * (at_head + DAMPING * at_tail)
        r[j] += weight[e] * (at_tail + DAMPING * at_head)


@kernel(parallel_from=PARALLEL_FROM)
def _correct_and_smooth(
    weight, runs, inverse, r, first, part, cells, correction, z, rows, border, borders, share=WHOLE
):
    """Write z within the runs: add the coarse correction, then make one sweep from bottom to top.

    Other blocks are seen as they are in `border`. A first call, with `borders`, only writes the corrected first and last
    row of each block b to border[:, b + 1].
    """
    (first_run, begin, end), one = runs, np.uint32(1)
    for b in portion(len(rows) - 1, share):
        total = np.zeros(z.shape[1], dtype=np.float32)
        top, bottom = rows[b], rows[b + 1] - 1
        for at in range(bottom, top - 2, -1):
            if at >= top and not (borders and top < at < bottom):
                row = (at - 1) // 2
                out = border[0 if at == top else 1, b + 1] if borders else z[at]
                old, number, place, change = z[at], first[row], part[at], cells[row + 1]
                for q in range(first_run[at], first_run[at + 1]):
                    for k in range(np.uint32(begin[q]) >> one, np.uint32(end[q]) >> one):
                        u = 2 * k + 1
                        if number[k] < 0:
                            out[u] = old[u] + change[k + 1]
                            out[u + 1] = old[u + 1] + change[k + 1]
                        else:
                            for i in range(u, u + 2):
                                own = change[k + 1] if place[i] == 0 else correction[number[k] + place[i] - 1]
                                out[i] = old[i] + own
            v = at + 1  # the row above it is corrected now
            if borders or v > bottom:
                continue
            right, left_down, down, right_down = weight[0, v], weight[1, v], weight[2, v], weight[3, v]
            left_up, up, right_up = weight[3, v - 1], weight[2, v - 1], weight[1, v - 1]
            above = z[v - 1] if v > top else border[1, b]
            below = z[v + 1] if v < bottom else border[0, b + 2]
            here, wanted, factor = z[v], r[v], inverse[v]
            for q in range(first_run[v], first_run[v + 1]):
                lo, hi = max(1, int(begin[q])), int(end[q])
                for u in range(lo, hi):
                    total[u] = right[u] * (here[u + 1] + DAMPING * here[u]) + right[u - 1] * (
                        here[u - 1] + DAMPING * here[u]
                    )
                for u in range(lo, hi):
                    total[u] += left_up[u - 1] * above[u - 1] + up[u] * above[u] + right_up[u + 1] * above[u + 1]
                for u in range(lo, hi):
                    total[u] += left_down[u] * below[u - 1] + down[u] * below[u] + right_down[u] * below[u + 1]
                for u in range(lo, hi):
                    here[u] = (wanted[u] + total[u]) * factor[u]
