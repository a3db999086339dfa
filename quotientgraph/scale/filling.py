"""Filling over tiles, the start: each tile fills its own pixels, as in memory.

Components that lie in one tile alone are finished then. `quotientgraph.scale.rounds` corrects the others.
"""

from __future__ import annotations

import numpy as np

from laplacians import GridGraph, Multigrid, NeighbourLists
from laplacians.core.arrays import gathered
from laplacians.core.lookups import placed

from ..graph.pixels import PixelGraph
from ..method.filling import along_trees, equations, half_gamma, mismatch
from .field import Field
from .leftout import left_out_edges
from .nearest import bend_jumps
from .rounds import coarse_patch
from .tiling import MARGIN
from .window import Job, Window
from .work import Written

_FIRST = Multigrid(rtol=1e-9, energy_tol=1e-5, maxiter=100)
_PRECISE = 1e-11  # residual, relative to that of the spanning tree, of components that one tile fills alone


def start(job: Job, k: int) -> Written:
    """Fill the pixels of a tile without its neighbours, those of components that lie in this tile alone to the end.

    Writes the images ``x.0`` and ``part`` (the connected parts of the tile's own edges); ``gamma`` (½γ²) and ``b`` (the
    right-hand side of the equations), which rounds need instead of normals; and the table ``start``: the values and parts of
    the ring, the edges to other tiles inside components, and what the tile adds to the coarse system.
    """
    window = Window.read(job, k, MARGIN)
    pixels, n = window.pixels, window.pixels.n_pixels
    label = window.values(job.work.window("labels", window.box, job.work.lookup("components")))
    weight, jump = window_weights(job, window, label)
    crossing = np.append(job.work.read("crossing"), False)[label]
    own = np.where(window.inside, weight, np.float32(0))
    (x, part), rhs = along_trees(n, pixels.tail, pixels.head, own, jump), np.zeros(n)
    energy, worst = mismatch(pixels.tail, pixels.head, own, jump, x, rhs)
    reached = True
    if worst > 1e-13:
        size = float(np.linalg.norm(rhs))
        x, rhs = improved(_FIRST, pixels, own, x, rhs, energy)
        reached = _finish(pixels, own, jump, x, ~crossing & window.mine, size)
    # Pixels around the tile are in no tree, and must not be counted: the driver solves for one offset a part.
    first = np.cumsum((part == np.arange(n)) & window.mine, dtype=np.int32) - 1
    part = np.where(window.mine, first[part], -1).astype(np.int32)
    gamma = window.image(half_gamma(pixels), 0.0)
    field = Field.from_gamma(job, k, window.box, gamma)
    patch = coarse_patch(job, field)
    row, column, value = patch.matrix(field.weight, *field.own)
    key, residual = patch.sums(field.placed(window.image(rhs, 0.0)))
    used = weight[window.seam] > 0
    seam, (tail, head) = window.seam[used], (end[used] for end in window.seam_ends)
    b = np.zeros(n)
    mismatch(pixels.tail, pixels.head, weight, jump, np.zeros(n), b)
    b[~crossing] = 0.0
    return {
        **job.work.write("x.0", k, window.tile_image(x, 0.0)),
        **job.work.write_numbers("part", k, window.tile_image(part, -1)),
        **job.work.write("b", k, window.tile_image(b, 0.0)),
        **job.work.write("gamma", k, gamma[window.core.within(window.box)]),
        **job.work.write_table(
            "start",
            k,
            n_parts=np.array(int(part.max(initial=-1)) + 1),
            tail=window.positions(tail),
            head=window.positions(head),
            weight=weight[seam].astype(np.float64),
            jump=np.where(tail == pixels.tail[seam], jump[seam], -jump[seam]),
            row=row,
            column=column,
            value=value,
            reached=np.array(reached),
            residual_key=key,
            residual=residual,
        ),
    }


def _finish(
    pixels: PixelGraph, weight: np.ndarray, jump: np.ndarray, x: np.ndarray, chosen: np.ndarray, size: float
) -> bool:
    """Solve for the chosen pixels, which are whole components, until hardly more than rounding is left; changes x.

    Returns whether that was reached; `size` is what the residual is compared with.
    """
    node = np.flatnonzero(chosen)
    place = np.cumsum(chosen, dtype=np.int32) - 1
    used = np.flatnonzero((weight > 0) & chosen[pixels.tail])
    tail, head, weight, jump = place[pixels.tail[used]], place[pixels.head[used]], weight[used], jump[used]
    part, rhs = x[node], np.zeros(len(node))
    mismatch(tail, head, weight, jump, part, rhs)
    left = float(np.linalg.norm(rhs))
    if left <= _PRECISE * size:
        return True
    solver = Multigrid(rtol=min(max(_PRECISE * size / left, 1e-10), 0.5), maxiter=100)
    solution = solver.improve(NeighbourLists.from_edges(len(node), tail, head, weight), part, rhs)
    x[node] = solution.x
    return solution.converged or solution.residual * left <= 1e-8 * size


def window_weights(job: Job, window: Window, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights (float32) and jumps of the window's edges, as in memory."""
    weight, jump = equations(window.undivided(label), left_out_edges(job, window))
    if job.continuous:
        bend_jumps(job, window, jump)
    return weight, jump


def improved(
    solver: Multigrid, pixels: PixelGraph, weight: np.ndarray, x: np.ndarray, rhs: np.ndarray, energy: float
) -> tuple[np.ndarray, np.ndarray]:
    """A better x, where b − L x = rhs, and what is left of rhs then; the given ones may be overwritten."""
    framed = pixels.cells() if pixels.n_pixels > solver.coarsest else None
    if framed is None:
        lists = NeighbourLists.from_edges(pixels.n_pixels, pixels.tail, pixels.head, weight)
        return solver.improve(lists, x, rhs, energy).x, rhs
    shape, cell = framed
    grid = GridGraph.from_edges(shape, cell, pixels.tail, pixels.head, weight)
    start, left = (placed(values, cell, grid.n) for values in (x, rhs))
    solver.improve(grid, start, left, energy)
    return gathered(start, cell), gathered(left, cell)
