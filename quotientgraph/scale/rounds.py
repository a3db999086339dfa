"""Filling over tiles, the rounds: the least-squares potential of components that no tile sees whole.

A round first corrects the error over long distances on a coarse grid (`quotientgraph.scale.coarse`). Then every tile
corrects what is left in its window, which reaches into its neighbours: it solves for the correction that is zero where the
window ends, and keeps it for its own pixels. Both together are the step s of the round. Steps are combined as in conjugate
gradients: the next direction is p = s + β p, the next potential y + α p, with α and β such that the energy of all edges
becomes least. The sums for that come from the tiles and, for edges between tiles, from the driver. So a tile writes its
step, and y and p are put together from the images of the last round wherever they are read.
"""

from __future__ import annotations

import numpy as np

from laplacians import Multigrid
from laplacians.core.arrays import sums
from laplacians.core.jit import kernel

from ..method.filling import mismatch
from .filling import coarse_patch, improved, window_weights
from .tiling import Box, compact
from .window import Job, Window
from .work import Work, Written

_CORRECTION = Multigrid(rtol=1e-2, maxiter=20)


def potential(work: Work, box: Box, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Potential y and direction p after so many rounds, as images of a box."""
    if number <= 1:
        y = work.window("x.0", box)
        label = work.window("labels", box, work.lookup("components"))
        offset = work.window("part", box, work.lookup("offsets"))
        y = np.where(np.append(work.read("crossing"), False)[label], y + offset, y)
        p = np.zeros(box.shape)
    else:
        y, p = work.window(f"y.{number - 1}", box), work.window(f"p.{number - 1}", box).astype(np.float64)
    if number >= 1:
        alpha, beta = work.read(f"steps.{number}")
        p = work.window(f"s.{number}", box) + beta * p
        y = y + alpha * p
    return y, p


def correct(job: Job, k: int, number: int) -> Written:
    """Find the step of a tile in a round, which begins with the coarse correction in ``coarse.<number>``.

    Writes the image ``s.<number>``, the images ``y`` and ``p`` of the round before, and the table ``correct.<number>``.
    """
    window = Window.read(job, k, job.tiling.overlap)
    pixels, n, work = window.pixels, window.pixels.n_pixels, job.work
    label = window.values(work.window("labels", window.box, work.lookup("components")))
    crossing = np.append(work.read("crossing"), False)[label]
    y, p = (window.values(image) for image in potential(work, window.box, number - 1))
    p = p.astype(np.float32)
    step = np.zeros(n, dtype=np.float32)
    totals, table = np.zeros(5), {"residual_key": np.zeros(0, dtype=np.int64), "residual": np.zeros(0)}
    if crossing.any():
        weight, jump = window_weights(job, window, label)
        weight[~crossing[pixels.tail]] = 0
        patch, coarse, x = coarse_patch(job, window, label), work.table(f"coarse.{number}"), y.copy()
        patch.add_to(x, coarse["keys"], coarse["values"])
        x += _window_correction(window, weight, jump, x, label)
        step[:] = np.where(crossing & window.mine, x - y, 0.0)
        weight[~window.inside] = 0
        pull = np.zeros(n)
        _products(pixels.tail, pixels.head, weight, jump, y, step, p, pull, totals)
        table["residual_key"], table["residual"] = patch.sums(pull)
    written = work.write(f"s.{number}", k, window.tile_image(step, 0.0))
    if number > 1:
        written |= work.write(f"y.{number - 1}", k, window.tile_image(y, 0.0))
        written |= work.write(f"p.{number - 1}", k, window.tile_image(p, 0.0))
    mine = window.mine
    return {
        **written,
        **work.write_table(
            f"correct.{number}",
            k,
            ring=step[window.ring],
            totals=totals,
            change=np.array(np.abs(step).max(initial=0.0)),
            low=np.array(y[mine].min(initial=np.inf)),
            high=np.array(y[mine].max(initial=-np.inf)),
            **table,
        ),
    }


def _window_correction(
    window: Window, weight: np.ndarray, jump: np.ndarray, x: np.ndarray, label: np.ndarray
) -> np.ndarray:
    """(n_pixels,) correction that nearly solves the equations of a window and is zero at its rim."""
    pixels, n = window.pixels, window.pixels.n_pixels
    tail, head, fixed = pixels.tail, pixels.head, window.rim
    rhs = np.zeros(n)
    mismatch(tail, head, weight, jump, x, rhs)
    rhs[fixed] = 0.0
    out, _ = improved(_CORRECTION, pixels, weight, np.zeros(n), rhs, fixed=fixed)
    # A component that ends inside the window hangs on nothing. All tiles that have a part of it see it whole, and agree on
    # the constant if its mean stays as it is.
    number = compact(label)[1]
    held = np.zeros(int(number.max(initial=-1)) + 1, dtype=bool)
    held[number[fixed]] = True
    mean = sums(number, out, len(held)) / np.bincount(number, minlength=len(held))
    out -= np.where(held, 0.0, mean)[number]
    out[fixed] = 0.0
    return out


@kernel
def _products(tail, head, weight, jump, y, s, p, pull, totals):
    """Add up over edges, with weights: ds², ds·dp, dp², ds·e and dp·e, where d is the difference of the two ends and e is
    what is left of the jump at y. Also pull += Bᵀ W B s.
    """
    for e in range(len(tail)):
        if weight[e] > 0:
            a, b = tail[e], head[e]
            w = np.float64(weight[e])
            ds, dp = np.float64(s[a]) - np.float64(s[b]), np.float64(p[a]) - np.float64(p[b])
            left = jump[e] - (y[a] - y[b])
            totals[0] += w * ds * ds
            totals[1] += w * ds * dp
            totals[2] += w * dp * dp
            totals[3] += w * ds * left
            totals[4] += w * dp * left
            pull[a] += w * ds
            pull[b] -= w * ds
