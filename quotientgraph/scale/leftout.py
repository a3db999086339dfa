"""Edges inside components that the filling leaves out: kept by tile as pairs of positions, found again in any window."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..graph.quotient import Quotient
from .tiling import Tiling
from .window import Job, Window


def left_out_edges(job: Job, window: Window) -> Callable[[Quotient, np.ndarray, np.ndarray], np.ndarray] | None:
    """The hook of `quotientgraph.method.filling.equations` that leaves out the edges found over all tiles."""
    if not job.contracted:
        return None
    tables = [job.work.table("hidden", k) for k in {k for k, _ in job.tiling.parts(window.box)}]
    tail, head = (np.concatenate([t[end] for t in tables]) for end in ("tail", "head"))
    found = edge_numbers(window, job.tiling, tail, head)
    return lambda graph, weight, jump: found


def edge_numbers(window: Window, tiling: Tiling, tail: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Numbers of the window's edges between given positions of the map; pairs that the window does not have are dropped."""
    box, pixels = window.box, window.pixels
    row, column, step = tiling.edges(box, tail, head)
    below, beside = row + (step > 0), column + np.where(step > 0, step - 2, 1)
    seen = (below < box.shape[0]) & (beside >= 0) & (beside < box.shape[1])
    a, b = pixels.map.index[row[seen], column[seen]], pixels.map.index[below[seen], beside[seen]]
    first = np.searchsorted(pixels.tail, a)
    out = np.full(len(a), -1, dtype=np.int64)
    for k in range(pixels.connectivity // 2):
        at = np.minimum(first + k, pixels.n_edges - 1)
        out = np.where((pixels.tail[at] == a) & (pixels.head[at] == b), at, out)
    return out[out >= 0]
