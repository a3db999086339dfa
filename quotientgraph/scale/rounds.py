"""Filling over tiles, the rounds: the least-squares potential of components that no tile sees whole.

A round first corrects the error over long distances on a coarse grid (`quotientgraph.scale.coarse`). Then every tile
corrects what is left in its window, which reaches into its neighbours: it solves for the correction that is zero where the
window ends, and keeps it for its own pixels. Both together are the step s of the round. Steps are combined as in conjugate
gradients: the next direction is p = s + β p, the next potential y + α p, with α and β such that the energy of all edges
becomes least. The sums for that come from the tiles and, for edges between tiles, from `seams`. So a tile writes its
step, and y and p are put together from the images of the last round wherever they are read.
"""

from __future__ import annotations

import numpy as np

from laplacians import GridGraph, Multigrid
from laplacians.core.edges import connected_labels
from laplacians.core.jit import kernel
from laplacians.multigrid.grid import LooseEdges

from .blocks import values_at
from .coarse import Patch
from .field import Field, subtract_product
from .tiling import Box
from .window import Job
from .work import Work, Written

_CORRECTION = Multigrid(rtol=1e-2, maxiter=20)


def potential(work: Work, box: Box, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Potential y (float64) and direction p (float32) after so many rounds, as images of a box."""
    if number <= 1:
        y = work.window("x.0", box)
        label = work.window("labels", box, work.lookup("components"))
        offset = work.window("part", box, work.lookup("offsets"))
        y = np.where(np.append(work.read("crossing"), False)[label], y + offset, y)
        p = np.zeros(box.shape, dtype=np.float32)
    else:
        y, p = work.window(f"y.{number - 1}", box), work.window(f"p.{number - 1}", box)
    if number >= 1:
        _advance(y, p, work.window(f"s.{number}", box), *work.read(f"steps.{number}"))
    return y, p


def read_last(number: int) -> tuple[str, ...]:
    """Images that no task reads after the given round: `correct` has put them together."""
    if number < 2:
        return ()
    return ("x.0", "s.1") if number == 2 else (f"y.{number - 2}", f"p.{number - 2}", f"s.{number - 1}")


def correct_windows(job: Job, k: int, number: int) -> Written:
    """Begin a round of symmetric steps: correct the whole window of a tile, whatever other corrections there are.

    Writes the image ``local.<number>`` of the window, and the table ``local.<number>``: what the potential before the round
    leaves of the equations, summed up by the connected parts of the tile.
    """
    work, field = job.work, Field.read(job, k, job.tiling.overlap)
    rhs = np.zeros(field.number.size + 1)
    r = rhs[:-1].reshape(field.number.shape)
    r[field.inner] = work.window("b", field.box)
    subtract_product(field.weight, field.placed(potential(work, field.box, number - 1)[0]), r)
    part, own = work.read("part", k), r[field.own]
    chosen = (field.number[field.own] >= 0) & (part >= 0)
    total = np.bincount(part[chosen], own[chosen], int(work.table("start", k, "n_parts")["n_parts"]))
    found = _window_correction(field, rhs)[field.inner] if len(field.names) else np.zeros(field.box.shape)
    return {
        **work.write(f"local.{number}", k, found.astype(np.float32)),
        **work.write_table(f"local.{number}", k, total=total.astype(np.float64)),
    }


def _added_up(job: Job, k: int, number: int, field: Field) -> np.ndarray:
    """The corrections of all windows in the pixels of a tile, and the offsets of its parts; see `correct`."""
    work, core = job.work, field.core
    found = work.window("part", core, work.lookup(f"lift.{number}"))
    found = np.where(field.number[field.own] >= 0, found, 0.0)
    for j in sorted(job.tiling.seen_by(k)):
        box, image = job.tiling.window(j, job.tiling.overlap), work.read(f"local.{number}", j)
        for owner, turn in job.tiling.pieces(box):  # a window of a map that wraps may have pixels several times
            if owner == k:
                found[turn.source.within(core)] += turn.seen(image[turn.part.within(box)])
    return found


def correct(job: Job, k: int, number: int, stalled: bool = False) -> Written:
    """Find the step of a tile in a round, which begins with the coarse correction in ``coarse.<number>``.

    Such steps may come to nothing where a component lies on both sides of a tear, which the coarse grid takes for
    neighbours. If rounds have `stalled`, steps are symmetric instead: three corrections are added up, none of which sees the
    others. They are that of the coarse grid, that of ``lift.<number>``, which moves each connected part of a tile as a
    whole, and those of all windows (`correct_windows`). They get less done at a time, but conjugate gradients get on.

    Writes the image ``s.<number>``, the images ``y`` and ``p`` of the round before, and the table ``correct.<number>``.
    """
    work = job.work
    field = Field.read(job, k, job.tiling.overlap)
    y, p = (field.placed(image) for image in potential(work, field.box, number - 1))
    own = field.own
    step, totals, reach = np.zeros(field.core.shape, dtype=np.float32), np.zeros(5), np.array([np.inf, -np.inf])
    key, residual = np.zeros(0, dtype=np.int64), np.zeros(0)
    if len(field.names):
        rhs = np.zeros(field.number.size + 1)  # the last one is a node for all of the rim
        r = rhs[:-1].reshape(field.number.shape)
        r[field.inner] = work.window("b", field.box)
        subtract_product(field.weight, y, r)
        left = r[own].copy()
        patch, change = coarse_patch(job, field), np.zeros_like(y)
        patch.add_to(change, *values_at(job, patch.keys.ravel(), number))
        if stalled:
            change[own] += _added_up(job, k, number, field)
        else:
            subtract_product(field.weight, change, r)
            change += _window_correction(field, rhs)
        step[:] = change[own]
        change[:] = 0.0
        _products(field.weight[:, *own], field.number[own], left, y[own], step, p[own], change[own], totals, reach)
        key, residual = patch.sums(change)
    written = work.write(f"s.{number}", k, step)
    if number > 1:
        written |= work.write(f"y.{number - 1}", k, y[own])
        written |= work.write(f"p.{number - 1}", k, p[own])
    return {
        **written,
        **work.write_table(
            f"correct.{number}",
            k,
            totals=totals,
            change=np.array(np.abs(step).max(initial=0.0)),
            low=reach[0],
            high=reach[1],
            residual_key=key,
            residual=residual,
        ),
    }


def best_step(totals: np.ndarray, anew: bool = False) -> tuple[float, float]:
    """α and β for which y + α (s + β p) has the least energy, where p was a direction of least energy before.

    β is 0 if directions begin `anew`.

    The totals are those of `_products`, of all tiles, with those of the edges between them.
    """
    ss, sp, pp, sr, pr = totals
    beta = -sp / pp if pp > 0 and not anew else 0.0
    curvature = ss + 2 * beta * sp + beta * beta * pp
    if not curvature > 0:  # there is nothing left to correct
        return 0.0, 0.0
    return float((sr + beta * pr) / curvature), float(beta)


def at_rounding(gains: list[float]) -> bool:
    """Whether the energy that rounds can still gain has fallen to rounding: to nothing of the first, and no further.

    A step that would cost energy, so that its gain is below zero, is no sign of that; see `correct`.
    """
    return len(gains) > 1 and 0.5 * abs(gains[-2]) < abs(gains[-1]) < 1e-14 * gains[0]


def coarse_patch(job: Job, field: Field) -> Patch:
    """The coarse grid in a window."""
    rank = job.work.read("coarse.rank")[field.names]
    return Patch.from_ranks(field.box, job.grid, field.number, rank)


def _window_correction(field: Field, rhs: np.ndarray) -> np.ndarray:
    """(height, width) correction that nearly solves L x = rhs in a window and is zero at its rim; `rhs` is overwritten."""
    held = field.hold_rim().ravel()
    number, loose = _hanging_on_nothing(field, held)
    node = np.flatnonzero(held).astype(np.int32)
    n = len(held)
    graph = GridGraph.from_weights(field.weight, 1, LooseEdges(node, np.full(len(node), n, np.int32), held[node]))
    rhs[field.rim] = 0.0
    rhs[n] = -rhs[:n].sum() if len(node) else 0.0
    x = _CORRECTION.improve(graph, np.zeros(n + 1), rhs).x
    out = x[:n].reshape(field.number.shape)
    out -= x[n]
    _settle(number, loose, np.zeros((2, len(loose))), out)
    out.ravel()[field.rim] = 0.0
    return out


def _hanging_on_nothing(field: Field, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The number (height, width) of the component of each cell, and (n,) bool which of them hang on nothing.

    A component that ends inside the window does. All tiles that have a part of it see it whole, and agree on the constant if
    its mean stays as it is. A window that has pixels several times may see it whole in one place and in part in another, so
    there connected parts are told apart.
    """
    if not field.tiling.meets_itself(field.box):
        loose = np.ones(len(field.names), dtype=bool)
        at_rim = field.number.ravel()[field.rim]
        loose[at_rim[at_rim >= 0]] = False
        return field.number, loose
    width = field.number.shape[1]
    ends = [(np.flatnonzero(w), step) for w, step in zip(field.weight, (1, width - 1, width, width + 1))]
    tail, head = np.concatenate([tail for tail, _ in ends]), np.concatenate([tail + step for tail, step in ends])
    part = connected_labels(field.number.size, tail.astype(np.int32), head.astype(np.int32))
    loose = np.ones(int(part.max()) + 1, dtype=bool)
    loose[part[held > 0]] = False
    return np.where(field.number >= 0, part.reshape(field.number.shape), -1), loose


@kernel
def _advance(y, p, s, alpha, beta):
    """p = s + β p, then y += α p; rounded to the type of each."""
    for v in range(y.shape[0]):
        for u in range(y.shape[1]):
            p[v, u] = s[v, u] + beta * p[v, u]
            y[v, u] += alpha * p[v, u]


@kernel
def _settle(number, loose, total, x):
    """Take the mean of each loose component out of x, and set x to zero outside components; `total` is zero on entry."""
    height, width = number.shape
    for v in range(height):
        for u in range(width):
            n = number[v, u]
            if n >= 0 and loose[n]:
                total[0, n] += x[v, u]
                total[1, n] += 1
    for v in range(height):
        for u in range(width):
            n = number[v, u]
            if n < 0:
                x[v, u] = 0
            elif loose[n]:
                x[v, u] -= total[0, n] / total[1, n]


@kernel
def _products(weight, number, left, y, s, p, pull, totals, reach):
    """Add up, over the edges inside a tile with their weights, ds², ds·dp and dp², where d is the difference of the two
    ends; and over its pixels s·r and p·r, where r (`left`) is what y leaves of the equations. Also pull += L s, for those
    edges, and the least and largest y of the pixels with a number.
    """
    height, width = s.shape
    for v in range(height):
        for u in range(width):
            if number[v, u] < 0:
                continue
            reach[0], reach[1] = min(reach[0], y[v, u]), max(reach[1], y[v, u])
            totals[3] += s[v, u] * left[v, u]
            totals[4] += p[v, u] * left[v, u]
            for k in range(4):
                a, b = (v, u + 1) if k == 0 else (v + 1, u + k - 2)
                w = np.float64(weight[k, v, u])
                if w > 0 and a < height and 0 <= b < width:
                    ds = np.float64(s[v, u]) - np.float64(s[a, b])
                    dp = np.float64(p[v, u]) - np.float64(p[a, b])
                    totals[0] += w * ds * ds
                    totals[1] += w * ds * dp
                    totals[2] += w * dp * dp
                    pull[v, u] += w * ds
                    pull[a, b] -= w * ds
