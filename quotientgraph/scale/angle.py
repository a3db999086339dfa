"""The automatic angle over tiles: the same sample of places as in memory, gathered from all tiles."""

from __future__ import annotations

import numpy as np

from ..beyond.automatic_angle import angle_for, sample_step
from .tiling import ALIGNED
from .window import Job, normal_map
from .work import Work, Written


def count_places(job: Job, k: int) -> Written:
    """Write how many pixels of each row of a tile have both neighbours in the row."""
    middle, _, _ = _places(job, k)
    return job.work.write("places", k, np.count_nonzero(middle, axis=1))


def sample_bends(job: Job, k: int) -> Written:
    """Write how far the normals at the sampled places of a tile are from the mean of their neighbours, doubled."""
    middle, index, normals = _places(job, k)
    core, step = job.tiling.core(k), int(job.work.read("places.step")[0])
    before = job.work.read("places.before", k)
    row, column = np.nonzero(middle)
    rank = before[row] + np.arange(len(row)) - np.append(0, np.cumsum(np.count_nonzero(middle, axis=1)))[row]
    taken = rank % step == 0
    row, column = row[taken], column[taken]
    left, centre, right = (normals[index[row, column + shift]] for shift in range(3))
    bend = np.linalg.norm(left - 2 * centre + right, axis=1) if len(row) else np.zeros(0)
    assert core.shape[0] == len(before)
    return job.work.write("bends", k, bend)


def sum_places(work: Work) -> None:
    """Number the places of all tiles row by row, as in memory, and choose every which of them is looked at."""
    tiling = work.tiling
    total = 0
    for r in range(tiling.rows):
        counts = np.stack([work.read("places", r * tiling.columns + c) for c in range(tiling.columns)], axis=1)
        ends = np.cumsum(counts.ravel())  # row by row, and in a row tile by tile
        before = total + (ends - counts.ravel()).reshape(counts.shape)
        for c in range(tiling.columns):
            work.write("places.before", r * tiling.columns + c, before[:, c])
        total += int(ends[-1])
    work.write("places.step", None, np.array([sample_step(total)]))


def found_angle(work: Work) -> float:
    """The angle in degrees from the sample of all tiles."""
    return angle_for(np.concatenate([work.read("bends", k) for k in range(work.tiling.n_tiles)]))


def _places(job: Job, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pixels of a tile that have both neighbours in the row (as an image), the index around them, and the normals."""
    core = job.tiling.core(k)
    box = job.tiling.window(k, ALIGNED)
    found = normal_map(job, box)
    index = np.full((core.shape[0], core.shape[1] + 2), -1, dtype=np.int32)
    rows = slice(core.top - box.top, core.bottom - box.top)
    first, last = max(core.left - 1, box.left), min(core.right + 1, box.right)
    index[:, first - core.left + 1 : last - core.left + 1] = found.index[rows, first - box.left : last - box.left]
    valid = index >= 0
    return valid[:, :-2] & valid[:, 1:-1] & valid[:, 2:], index, found.normals
