"""The automatic angle over tiles: the same rows and columns as in memory, gathered from all tiles."""

from __future__ import annotations

import numpy as np

from ..beyond.automatic_angle import angle_for, bends, sample_step
from .tiling import ALIGNED, Box
from .window import Job, normal_map
from .work import Work, Written


def count_pixels(job: Job, k: int) -> Written:
    """Write how many valid pixels a tile has."""
    return job.work.write("count", k, np.array([normal_map(job, job.tiling.core(k)).n_pixels]))


def sample_bends(job: Job, k: int) -> Written:
    """Write the bends at the pixels of a tile that are in the rows and columns to look at."""
    core, step = job.tiling.core(k), sample_step(_n_pixels(job.work))
    found = []
    for down in (False, True):
        first, last = (core.left, core.right) if down else (core.top, core.bottom)
        lines = np.arange(-(-first // step) * step, last, step)
        if not len(lines):
            continue
        box = job.tiling.window(k, ALIGNED)
        part = normal_map(job, box)
        # A pixel more on each side, so that neighbours in other tiles count; a bend belongs to the tile of its middle.
        reach = Box(core.top - down, core.left - (not down), core.bottom + down, core.right + (not down)).common(box)
        index = part.index[reach.within(box)]
        at = lines - (reach.left if down else reach.top)
        found.append(bends(part.normals, index[:, at].T if down else index[at]))
    return job.work.write("bends", k, np.concatenate([np.zeros(0), *found]))


def found_angle(work: Work) -> float:
    """The angle in degrees from the bends of all tiles."""
    return angle_for(np.concatenate([work.read("bends", k) for k in range(work.tiling.n_tiles)]))


def _n_pixels(work: Work) -> int:
    return sum(int(work.read("count", k)[0]) for k in range(work.tiling.n_tiles))
