"""The surface nearest to the normals of a texture in tiles, in strips of whole rows, and what it says about jumps."""

from __future__ import annotations

import numpy as np

from .tiling import Box
from .window import Job, Window

NEAREST = (
    "nearest"  # arrays (3, rows, columns) by strip: the slopes of the surface to the right and downwards, and itself
)


def share(n: int, parts: int, k: int) -> tuple[int, int]:
    """Begin and end of one of so many parts of n things."""
    return n * k // parts, n * (k + 1) // parts


def strip(job: Job, k: int) -> Box:
    """The rows of a strip; there are as many strips as tiles, and some may have no row."""
    height, width = job.tiling.shape
    top, bottom = share(height, job.tiling.n_tiles, k)
    return Box(top, 0, bottom, width)


def bend_jumps(job: Job, window: Window, jump: np.ndarray) -> None:
    """Correct the jumps of a window's edges, in place, for the curvature of the nearest surface between two pixels.

    The trapezoid rule that jumps are made by is then applied only to what that surface does not explain of the normals, as
    `quotientgraph.method.torus.fill_torus` does.
    """
    pixels, image = window.pixels, np.empty((3, *window.box.shape))
    for part, source, _ in job.tiling.turns(window.box):
        rows, columns = part.within(window.box)
        for k in range(job.tiling.n_tiles):
            own = strip(job, k).common(source)
            if own.top < own.bottom:
                first = rows.start + own.top - source.top
                within = own.within(strip(job, k))
                image[:, first : first + own.shape[0], columns] = job.work.read(NEAREST, k)[:, *within]
    along, down, surface = (window.values(values) for values in image)
    tail, head = pixels.tail, pixels.head
    jump += surface[tail]
    jump -= surface[head]
    place = np.divmod(pixels.map.position, np.int32(window.box.shape[1]))
    for slope, at in ((down, place[0]), (along, place[1])):
        step = at[head] - at[tail]
        for end in (tail, head):
            jump += 0.5 * slope[end] * step
