"""The net slope of a map in tiles that wraps: the same as `quotientgraph.beyond.net_slope` finds in memory.

Where every pixel is valid it is the mean of the slopes that the normals state. Elsewhere it depends on the part of steps
around the map that no potential explains. That is what is left of a tilted plane after it was filled as closely as a closed
surface can follow it. So it is found by the tasks that fill the map, on the normals of such a plane.
"""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np

from ..beyond.net_slope import best_slope
from ..geometry.jumps import planar
from ..method.filling import along_trees
from . import components
from .groups import starts
from .journal import Journal
from .rounds import potential
from .run import Run
from .tiling import MARGIN
from .window import Job, Window, normal_map
from .work import Work, Written

_PRECISE = 1e-8  # error of the filled plane, relative to its height or to the side of a tile
_ANY_ANGLE = 90.0  # all normals of a plane are the same


def measure_rise(job: Job, k: int) -> Written:
    """Write the table ``rises``: the valid pixels of a tile, and the sums of their slopes to the right and downwards."""
    normals = normal_map(job, job.tiling.core(k)).normals
    total = [float(np.sum(-normals[:, axis] / normals[:, 2])) for axis in (0, 1)]
    return job.work.write_table("rises", k, count=np.array(len(normals)), total=np.array(total))


def measure_rest(job: Job, k: int, rounds: dict[int, int]) -> Written:
    """Write the table ``slope``: products, over the edges of a tile, of what planes leave unexplained, and with the jumps.

    `rounds` has for each direction the round of filling that holds the potential of its plane.
    """
    window = Window.read(job, k, MARGIN)
    pixels = window.pixels
    chosen = window.mine[pixels.tail]
    tail, head = pixels.tail[chosen], pixels.head[chosen]
    place = np.divmod(pixels.map.position, window.box.shape[1])[::-1]
    rest = []
    for axis, number in rounds.items():
        x = window.values(potential(_planes(job, axis), window.box, number)[0])
        rest.append(place[axis][tail] - place[axis][head] - (x[tail] - x[head]))
    jump = planar(pixels.map, tail, head)
    gram = np.array([[float(a @ b) for b in rest] for a in rest])
    return job.work.write_table("slope", k, gram=gram, products=np.array([float(a @ jump) for a in rest]))


def has_all_normals(run: Run) -> bool:
    """Whether every pixel of the map is valid."""
    work, tiling = run.job.work, run.job.tiling
    if not work.path("rises.whole").exists():
        run.stage("rises", measure_rise)
        count = sum(int(one) for one in work.column("rises", "count"))
        work.write("rises.whole", None, np.array([count == np.prod(tiling.shape)]))
    return bool(work.read("rises.whole")[0])


def find_slope(run: Run) -> tuple[float, float]:
    """The net slope to the right and downwards of a map that wraps and is seen along parallel rays."""
    work, tiling = run.job.work, run.job.tiling
    directions = [axis for axis, wraps in ((0, tiling.wrap.x), (1, tiling.wrap.y)) if wraps]
    if has_all_normals(run):
        mean = np.sum(work.column("rises", "total"), axis=0) / np.prod(tiling.shape)
        right, down = (float(mean[axis]) if axis in directions else 0.0 for axis in (0, 1))
        return right, down
    if not work.path("slope.found").exists():
        filled = {axis: _fill_plane(run, axis) for axis in directions}
        found = {axis: number for axis, number in filled.items() if number is not None}
        right, down = 0.0, 0.0
        if found:
            run.stage("slope", measure_rest, found)
            sums = (np.sum(work.column("slope", name), axis=0) for name in ("gram", "products"))
            right, down = best_slope(list(found), *sums)
        work.write("slope.found", None, np.array([right, down]))
        for axis in directions:
            shutil.rmtree(_planes(run.job, axis).folder)
    right, down = work.read("slope.found").tolist()
    return right, down


def _planes(job: Job, axis: int) -> Work:
    """The files of the filled plane of one direction."""
    return Work(job.work.folder / f"plane.{axis}", job.tiling)


def _fill_plane(run: Run, axis: int) -> int | None:
    """Fill a plane that rises in one direction; returns the round that holds it, or None if no path goes around."""
    work = _planes(run.job, axis)
    settings = replace(run.job.settings, filling="induced")
    job = replace(run.job, work=work, tilt=axis, angle=_ANY_ANGLE, settings=settings)
    inner = replace(
        run,
        job=job,
        journal=Journal(work, {"plane": axis}, resume=True),
        tolerance=_PRECISE,
        changes=[],
        longest=0.0,
        beside=0.0,
    )
    inner.stage("labels", components.label)
    found = inner.find_components()
    inner.stage("turns", count_turns)
    number = inner.fill(found) if _winds(work, ("right", "down")[axis]) else None
    inner.journal.close()
    run.longest, run.beside = run.longest + inner.longest, run.beside + inner.beside
    return number


def count_turns(job: Job, k: int) -> Written:
    """Write the table ``turns``: pairs of labels, of this tile and of others, that edges with similar normals join.

    With them goes how often these edges cross the right and the lower border of a map that wraps.
    """
    work, edges = job.work, job.work.table("labels", k, "tail", "head", "similar")
    tail, head = (edges[end][edges["similar"]] for end in ("tail", "head"))
    (row, column), (below, beside) = (np.divmod(end, job.tiling.shape[1]) for end in (tail, head))
    right = (beside < column - 1).astype(np.int64) - (beside > column + 1)
    label, other = (work.at("labels", end).astype(np.int64) for end in (tail, head))
    pairs = np.stack([label, job.tiling.tile_of(head), other, right, below < row])
    mine, tile, other, right, down = np.unique(pairs, axis=1)
    return work.write_table("turns", k, mine=mine, tile=tile, other=other, right=right, down=down)


def _winds(work: Work, direction: str) -> bool:
    """Whether a path goes around the map: along the labels of tiles that meet, crossings of the border do not cancel."""
    start, met = starts([work.read("components", k) for k in range(work.tiling.n_tiles)]), work.tables("turns")
    mine = np.concatenate([table["mine"] + base for table, base in zip(met, start)]).astype(np.int32)
    other = np.concatenate([table["other"] + start[table["tile"]] for table in met]).astype(np.int32)
    turns = np.concatenate([table[direction] for table in met]).astype(np.float64)
    x, _ = along_trees(int(start[-1]), mine, other, np.ones(len(mine), dtype=np.float32), turns)
    return bool(np.any(turns != x[mine] - x[other]))
