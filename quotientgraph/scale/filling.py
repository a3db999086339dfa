"""Filling over tiles: the least-squares potential of components that no tile sees whole.

Each tile first fills its own pixels. Then, in rounds, the error that is left is corrected over long distances on a coarse
grid (`quotientgraph.scale.coarse`), and over short ones by every tile in its window, which reaches into its neighbours: the
tile solves for the correction that is zero where the window ends, and keeps it for its own pixels. A round makes the error
ten to fifty times smaller. Only components that lie in several tiles take part.
"""

from __future__ import annotations

import numpy as np

from laplacians import GridGraph, Multigrid, NeighbourLists, Solution
from laplacians.core.arrays import sums
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
_CORRECTION = Multigrid(rtol=1e-2, maxiter=20)


def start(job: Job, k: int) -> Written:
    """Fill the pixels of a tile without its neighbours, those of components that lie in this tile alone to the end.

    Writes the images ``x.0`` and ``part`` (the connected parts of the tile's own edges), and the table ``start``: the values
    and parts of the ring, the edges to other tiles inside components, and what the tile adds to the coarse system.
    """
    window = Window.read(job, k, MARGIN)
    pixels, n = window.pixels, window.pixels.n_pixels
    label = window.values(job.work.window("labels", window.box, job.work.lookup("components")))
    weight, jump = _weights(job, k, window, label)
    crossing = np.append(job.work.read("crossing"), False)[label]
    own = np.where(window.inside, weight, np.float32(0))
    (x, part), rhs = along_trees(n, pixels.tail, pixels.head, own, jump), np.zeros(n)
    energy, worst = mismatch(pixels.tail, pixels.head, own, jump, x, rhs)
    reached = True
    if worst > 1e-13:
        size = float(np.linalg.norm(rhs))
        x, _ = _improved(_FIRST, pixels, own, x, rhs, energy)
        alone = np.where(crossing[pixels.tail], np.float32(0), own)
        rhs[:] = 0.0
        mismatch(pixels.tail, pixels.head, alone, jump, x, rhs)
        left = float(np.linalg.norm(rhs))
        if left > _PRECISE * size:
            finish = Multigrid(rtol=min(max(_PRECISE * size / left, 1e-10), 0.5), maxiter=100)
            x, solution = _improved(finish, pixels, alone, x, rhs)
            reached = solution.converged or solution.residual * left <= 1e-8 * size
    first = np.cumsum(part == np.arange(n), dtype=np.int32) - 1
    part = np.where(window.mine, first[part], -1).astype(np.int32)
    patch = _patch(job, window, label)
    owned = np.where(window.mine[pixels.tail], weight, np.float32(0))
    row, column, value = patch.matrix(pixels.tail, pixels.head, owned)
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
            **_coarse_residual(patch, window, own, jump, x),
        ),
    }


def correct(job: Job, k: int, round: int) -> Written:
    """Correct the filling of a tile: add the coarse correction, then what is left to correct in its window.

    Reads the images ``x.<round − 1>``, writes ``x.<round>`` and the table ``correct.<round>``.
    """
    window = Window.read(job, k, job.tiling.overlap)
    pixels, n, work = window.pixels, window.pixels.n_pixels, job.work
    label = window.values(work.window("labels", window.box, work.lookup("components")))
    crossing = np.append(work.read("crossing"), False)[label]
    x = window.values(work.window(f"x.{round - 1}", window.box))
    change = np.zeros(n)
    if crossing.any():
        weight, jump = _weights(job, k, window, label)
        weight[~crossing[pixels.tail]] = 0
        if round == 1:
            x += np.append(window.values(work.window("part", window.box, work.lookup("offsets"))), 0.0)[:n] * crossing
        coarse = work.table(f"coarse.{round}")
        patch = _patch(job, window, label)
        patch.add_to(x, coarse["keys"], coarse["values"])
        change = _window_correction(window, weight, jump, x, label)
        x += change
        own = np.where(window.inside, weight, np.float32(0))
        residual = _coarse_residual(patch, window, own, jump, x)
    else:
        residual = {"residual_key": np.zeros(0, dtype=np.int64), "residual": np.zeros(0)}
    mine = window.mine
    return {
        **work.write(f"x.{round}", k, window.tile_image(x, 0.0)),
        **work.write_table(
            f"correct.{round}",
            k,
            ring=x[window.ring],
            change=np.array(np.abs(change[mine]).max(initial=0.0)),
            low=np.array(x[mine].min(initial=np.inf)),
            high=np.array(x[mine].max(initial=-np.inf)),
            **residual,
        ),
    }


def _weights(job: Job, k: int, window: Window, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights (float32) and jumps of the window's edges, as in memory."""
    leave_out = left_out_edges(job, window)
    return equations(window.quotient(label, job.angle), leave_out)


def _patch(job: Job, window: Window, label: np.ndarray) -> Patch:
    rank = job.work.read("coarse.rank")[label]
    return Patch.from_ranks(window.box, job.spacing, window.pixels.map.position, rank, window.shape)


def _coarse_residual(
    patch: Patch, window: Window, own: np.ndarray, jump: np.ndarray, x: np.ndarray
) -> dict[str, np.ndarray]:
    """What the edges inside the tile leave of the coarse equations."""
    rhs = np.zeros(len(x))
    mismatch(window.pixels.tail, window.pixels.head, own, jump, x, rhs)
    keys, values = patch.sums(rhs)
    return {"residual_key": keys, "residual": values}


def _window_correction(
    window: Window, weight: np.ndarray, jump: np.ndarray, x: np.ndarray, label: np.ndarray
) -> np.ndarray:
    """(n_pixels,) correction that nearly solves the equations of a window and is zero at its rim."""
    pixels, n = window.pixels, window.pixels.n_pixels
    tail, head, fixed = pixels.tail, pixels.head, window.rim
    rhs = np.zeros(n)
    mismatch(tail, head, weight, jump, x, rhs)
    rhs[fixed] = 0.0
    out, _ = _improved(_CORRECTION, pixels, weight, np.zeros(n), rhs, fixed=fixed)
    # A component that ends inside the window hangs on nothing. All tiles that have a part of it see it whole, and agree on
    # the constant if its mean stays as it is.
    number = np.unique(label, return_inverse=True)[1]
    held = np.zeros(int(number.max(initial=-1)) + 1, dtype=bool)
    held[number[fixed]] = True
    mean = sums(number, out, len(held)) / np.bincount(number, minlength=len(held))
    out -= np.where(held, 0.0, mean)[number]
    out[fixed] = 0.0
    return out


def _improved(
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
