"""The automatic angle over tiles: the same rows and columns as in memory, gathered from all tiles."""

from __future__ import annotations

import numpy as np

from ..beyond.automatic_angle import angle_for, bends, sample_step
from .tiling import Box
from .window import Job, normal_map
from .work import Work, Written


def count_pixels(job: Job, k: int) -> Written:
    """Write how many valid pixels a tile has."""
    return job.work.write("count", k, np.array([normal_map(job, job.tiling.core(k)).n_pixels]))


def sample_bends(job: Job, k: int) -> Written:
    """Write the bends at the pixels of a tile that are in the rows and columns to look at."""
    core, step = job.tiling.core(k), sample_step(_n_pixels(job.work))
    found, box = [], job.tiling.window(k, 1).common(Box(0, 0, *job.tiling.shape))
    lines = [(down, at) for down in (False, True) for at in _lines(core, down, step)]
    if lines:
        normals, mask = job.source.read(box)
    for down, at in lines:
        # A pixel more at each end, so that neighbours in other tiles count; a bend belongs to the tile of its middle.
        line = Box(box.top, at, box.bottom, at + 1) if down else Box(at, box.left, at + 1, box.right)
        seen = line.within(box)
        part = normal_map(job, line, (normals[seen], None if mask is None else mask[seen]))
        found.append(bends(part.normals, part.index, down))
    return job.work.write("bends", k, np.concatenate([np.zeros(0), *found]))


def _lines(core: Box, down: bool, step: int) -> range:
    """The columns or rows of a tile to look at."""
    first, last = (core.left, core.right) if down else (core.top, core.bottom)
    return range(-(-first // step) * step, last, step)


def found_angle(work: Work) -> float:
    """The angle in degrees from the bends of all tiles."""
    return angle_for(np.concatenate([work.read("bends", k) for k in range(work.tiling.n_tiles)]))


def _n_pixels(work: Work) -> int:
    return sum(int(work.read("count", k)[0]) for k in range(work.tiling.n_tiles))
