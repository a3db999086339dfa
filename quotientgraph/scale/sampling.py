"""Every so many of the edges of a map: the same ones as in memory, where all edges are numbered row by row."""

from __future__ import annotations

import numpy as np

from ..beyond.flatness import sampling_step
from .window import Job, Window
from .work import Work


def row_edges(window: Window) -> np.ndarray:
    """(height of the tile, 2) first edge that begins in each row of the tile, and the first one after them."""
    pixels, (rows, columns), width = window.pixels, window.core.within(window.box), window.box.shape[1]
    begin = np.arange(rows.start, rows.stop)[:, None] * width + [columns.start, columns.stop]
    # Of the type of what is searched, or that would be copied.
    pixel = np.searchsorted(pixels.map.position, begin.astype(np.int32))
    return np.searchsorted(pixels.tail, pixel.astype(np.int32))


def number_edges(work: Work) -> None:
    """Number the edges of the map from what the tables ``crumbs`` say about rows; write the tables ``numbering``."""
    counts, tiling = work.column("crumbs", "row_edges"), work.tiling
    n, first = 0, [np.zeros(len(rows), dtype=np.int64) for rows in counts]
    for begin in range(0, tiling.n_tiles, tiling.columns):  # tiles beside each other
        beside = np.stack(counts[begin : begin + tiling.columns], axis=1)
        before = n + np.cumsum(beside).reshape(beside.shape) - beside
        first[begin : begin + tiling.columns] = list(before.T)
        n += int(beside.sum())
    for k in range(tiling.n_tiles):
        work.write_table("numbering", k, first=first[k], n=np.array(n))


def sampled_edges(job: Job, k: int, window: Window) -> np.ndarray:
    """Numbers of the edges in a window that begin in the tile and belong to the sample from which noise is estimated."""
    table, edges = job.work.table("numbering", k), row_edges(window)
    step, first = sampling_step(int(table["n"])), table["first"]
    skipped = -first % step
    count = np.maximum(-(-(np.diff(edges).ravel() - skipped) // step), 0)
    row = np.repeat(np.arange(len(first)), count)
    place = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    return edges[row, 0] + skipped[row] + step * place
