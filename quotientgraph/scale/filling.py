"""Filling over tiles, the start: each tile fills its own pixels, as in memory.

Components that lie in one tile alone are finished then. `quotientgraph.scale.rounds` corrects the others.
"""

from __future__ import annotations

import numpy as np

from laplacians import GridGraph, Multigrid, NeighbourLists, Solution
from laplacians.multigrid.grid import LooseEdges

from ..graph.pixels import PixelGraph
from ..method.filling import along_trees, equations, mismatch
from .coarse import Patch
from .leftout import left_out_edges
from .tiling import MARGIN
from .window import Job, Window
from .work import Written

_FIRST = Multigrid(rtol=1e-9, energy_tol=1e-5, maxiter=100)
_PRECISE = 1e-11  # residual, relative to that of the spanning tree, of components that one tile fills alone


def start(job: Job, k: int) -> Written:
    """Fill the pixels of a tile without its neighbours, those of components that lie in this tile alone to the end.

    Writes the images ``x.0`` and ``part`` (the connected parts of the tile's own edges), and the table ``start``: the values
    and parts of the ring, the edges to other tiles inside components, and what the tile adds to the coarse system.
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
        x, _ = improved(_FIRST, pixels, own, x, rhs, energy)
        reached = _finish(pixels, own, jump, x, ~crossing & window.mine, size)
    first = np.cumsum(part == np.arange(n), dtype=np.int32) - 1
    part = np.where(window.mine, first[part], -1).astype(np.int32)
    patch = coarse_patch(job, window, label)
    owned = np.where(window.mine[pixels.tail], weight, np.float32(0))
    row, column, value = patch.matrix(pixels.tail, pixels.head, owned)
    rhs[:] = 0.0
    mismatch(pixels.tail, pixels.head, own, jump, x, rhs)
    key, residual = patch.sums(rhs)
    seam = window.seam[weight[window.seam] > 0]
    return {
        **job.work.write("x.0", k, window.tile_image(x, 0.0)),
        **job.work.write("part", k, window.tile_image(part, -1)),
        **job.work.write_table(
            "start",
            k,
            ring=x[window.ring],
            part=part[window.ring],
            n_parts=np.array(int(part.max(initial=-1)) + 1),
            tail=window.position[pixels.tail[seam]],
            head=window.position[pixels.head[seam]],
            weight=weight[seam].astype(np.float64),
            jump=jump[seam],
            row=row,
            column=column,
            value=value,
            reached=np.array(reached),
            low=np.array(x[window.mine].min(initial=np.inf)),
            high=np.array(x[window.mine].max(initial=-np.inf)),
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
    leave_out = left_out_edges(job, window)
    return equations(window.quotient(label, job.angle), leave_out)


def coarse_patch(job: Job, window: Window, label: np.ndarray) -> Patch:
    """The coarse grid in a window."""
    rank = job.work.read("coarse.rank")[label]
    return Patch.from_ranks(window.box, job.spacing, window.pixels.map.position, rank, window.shape)


def improved(
    solver: Multigrid,
    pixels: PixelGraph,
    weight: np.ndarray,
    x: np.ndarray,
    rhs: np.ndarray,
    energy: float = float("nan"),
    fixed: np.ndarray | None = None,
) -> tuple[np.ndarray, Solution]:
    """Improve x, where b − L x = rhs; the fixed pixels (n_pixels,) bool, if there are any, keep the value zero.

    All fixed pixels together are one further node of the graph, the last, and solutions are taken relative to it.
    """
    n, tail, head = pixels.n_pixels, pixels.tail, pixels.head
    node, held = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
    if fixed is not None:
        at_tail, at_head = fixed[tail], fixed[head]
        to_fixed = np.flatnonzero((at_tail != at_head) & (weight > 0))
        total = np.bincount(np.where(at_tail[to_fixed], head[to_fixed], tail[to_fixed]), weight[to_fixed], n)
        node = np.flatnonzero(total).astype(np.int32)
        held = total[node].astype(np.float32)
        weight = np.where(at_tail | at_head, np.float32(0), weight)
    placed = pixels.cells() if n > solver.coarsest else None
    if placed is None:
        place = np.searchsorted(tail, node, side="right")
        edges = np.insert(tail, place, node), np.insert(head, place, np.int32(n)), np.insert(weight, place, held)
        graph: NeighbourLists | GridGraph = NeighbourLists.from_edges(n + 1, *edges)
        cell = np.arange(n, dtype=np.int32)
    else:
        shape, cell = placed
        on_grid = GridGraph.from_edges(shape, cell, tail, head, weight)
        last = np.full(len(node), on_grid.n_cells, dtype=np.int32)
        graph = GridGraph.from_weights(on_grid.weight, 1, LooseEdges(cell[node], last, held))
    start, left = np.zeros(graph.n), np.zeros(graph.n)
    start[cell], left[cell] = x, rhs
    left[-1] = -left.sum() if len(node) else 0.0
    solution = solver.improve(graph, start, left, energy)
    return solution.x[cell] - solution.x[-1], solution
