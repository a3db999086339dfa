"""`Field`: a window as images on a grid, with the weights of the edges inside components that lie in several tiles.

Rounds of filling meet every pixel many times. They need neither normals nor lists of edges: a tile writes once what its
normals say, as one confidence and one right-hand side a pixel, and each round puts the weights together from these.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from laplacians.core.jit import kernel

from .tiling import Box, Tiling
from .window import Job
from .work import Lookup, Work


@dataclass(frozen=True, eq=False)
class Field:
    """The pixels of a window on a grid with a frame of empty cells, as `laplacians.GridGraph` has them.

    Attributes
    ----------
    box, core : Box
        The window, and the tile inside it.
    names : (m,) int32
        Components that lie in several tiles and have pixels here, sorted.
    number : (height, width) int32
        Which of `names` each cell belongs to; −1 elsewhere.
    weight : (4, height, width) float32
        Weights of the edges to the right, lower left, lower and lower right neighbour; 0 where there is no edge.
    tiling : Tiling
    """

    box: Box
    core: Box
    names: np.ndarray
    number: np.ndarray
    weight: np.ndarray
    tiling: Tiling

    @classmethod
    def read(cls, job: Job, k: int, reach: int) -> Field:
        """The field of tile `k` and up to `reach` pixels around it, from the images ``labels`` and ``gamma``."""
        box = job.tiling.window(k, reach)
        return cls.from_gamma(job, k, box, job.work.window("gamma", box))

    @classmethod
    def from_gamma(cls, job: Job, k: int, box: Box, gamma: np.ndarray) -> Field:
        """From the image ½γ² (float32) of a window; the weight of an edge is the sum of its two ends."""
        names, number = crossing_numbers(job.work, box)
        placed, room = _framed(number, -1), _framed(gamma, 0)
        weight = np.zeros((4, *placed.shape), dtype=np.float32)
        _weigh(room, placed, job.connectivity == 8, weight)
        field = cls(box, job.tiling.core(k), names, placed, weight, job.tiling)
        if job.contracted and len(names):
            field._leave_out(job)
        return field

    def _leave_out(self, job: Job) -> None:
        """Set the weights of the edges with a depth jump to zero; they are kept by tile as pairs of positions."""
        tables = [job.work.table("hidden", k) for k in {k for k, _ in job.tiling.parts(self.box)}]
        tail, head = (np.concatenate([t[end] for t in tables]) for end in ("tail", "head"))
        row, column, step = self.tiling.edges(self.box, tail, head)
        self.weight[step, row + 1, column + 1] = 0

    @property
    def inner(self) -> tuple[slice, slice]:
        """Where the window is on the grid."""
        return slice(1, 1 + self.box.shape[0]), slice(1, 1 + self.box.shape[1])

    @property
    def own(self) -> tuple[slice, slice]:
        """Where the tile is on the grid."""
        rows, columns = self.core.within(self.box)
        return slice(rows.start + 1, rows.stop + 1), slice(columns.start + 1, columns.stop + 1)

    def placed(self, image: np.ndarray) -> np.ndarray:
        """An image of the window on the grid, zero elsewhere."""
        return _framed(image, 0)

    @cached_property
    def rim(self) -> np.ndarray:
        """(n,) cells of the outermost pixels of the window, except where the whole map ends."""
        chosen = np.zeros(self.number.shape, dtype=bool)
        window, (height, width) = chosen[self.inner], self.tiling.shape
        wrap = self.tiling.wrap
        window[:1] |= wrap.y or wrap.top or self.box.top > 0
        window[-1:] |= wrap.y or wrap.bottom or self.box.bottom < height
        window[:, :1] |= wrap.x or self.box.left > 0
        window[:, -1:] |= wrap.x or self.box.right < width
        return np.flatnonzero(chosen)

    def hold_rim(self) -> np.ndarray:
        """Take the edges at the rim out of `weight`; returns (height, width) float32 what each other cell loses by it."""
        held = np.zeros(self.number.shape, dtype=np.float32)
        on_rim = np.zeros(self.number.size, dtype=bool)
        on_rim[self.rim] = True
        _hold(self.rim, on_rim, self.number.shape[1], self.weight.reshape(4, -1), held.ravel())
        return held


def crossing_numbers(work: Work, box: Box) -> tuple[np.ndarray, np.ndarray]:
    """The components of a box that lie in several tiles, sorted, and the image of their numbers in this list (or −1)."""
    lookup, crossing = work.lookup("components"), work.read("crossing")
    tiles = sorted({k for k, _ in work.tiling.parts(box)})
    tables = [np.asarray(lookup.of(k)) for k in tiles]
    names = np.unique(np.concatenate([table[crossing[table]] for table in tables]))
    numbers = [np.where(crossing[table], np.searchsorted(names, table), -1).astype(np.int32) for table in tables]
    start = np.zeros(work.tiling.n_tiles + 1, dtype=np.int64)
    for k, one in zip(tiles, numbers):
        start[k + 1] = len(one)
    return names, work.window("labels", box, Lookup(np.cumsum(start), np.concatenate(numbers)))


def _framed(image: np.ndarray, fill: int) -> np.ndarray:
    """An image with a frame of empty cells; height and width are even."""
    height, width = (n + 2 + n % 2 for n in image.shape)
    out = np.full((height, width), fill, dtype=image.dtype)
    out[1 : 1 + image.shape[0], 1 : 1 + image.shape[1]] = image
    return out


@kernel
def _weigh(gamma, number, diagonals, weight):
    """Write the sum of γ of both ends for every edge between neighbours of one component; `weight` is zero on entry."""
    height, width = number.shape
    for v in range(1, height - 1):
        for u in range(1, width - 1):
            n = number[v, u]
            if n >= 0:
                g = gamma[v, u]
                if number[v, u + 1] == n:
                    weight[0, v, u] = g + gamma[v, u + 1]
                if number[v + 1, u] == n:
                    weight[2, v, u] = g + gamma[v + 1, u]
                if diagonals:
                    if number[v + 1, u - 1] == n:
                        weight[1, v, u] = g + gamma[v + 1, u - 1]
                    if number[v + 1, u + 1] == n:
                        weight[3, v, u] = g + gamma[v + 1, u + 1]


@kernel
def _hold(rim, on_rim, width, weight, held):
    """Add the weights of edges from cells to the rim to `held` at those cells, and set all edges of the rim to zero."""
    for i in range(len(rim)):
        at = rim[i]
        for k in range(4):
            step = 1 if k == 0 else width + k - 2
            for turned in range(2):
                keeper = at - step if turned else at
                other = at - step if turned else at + step
                if not on_rim[other]:
                    held[other] += weight[k, keeper]
                weight[k, keeper] = 0


@kernel
def subtract_product(weight, x, r):
    """r −= L x, where L is the Laplacian of weights on a grid; nothing is written to the frame."""
    height, width = x.shape
    for v in range(1, height - 1):
        right, left_down, down, right_down = weight[0, v], weight[1, v], weight[2, v], weight[3, v]
        left_up, up, right_up = weight[3, v - 1], weight[2, v - 1], weight[1, v - 1]
        above, here, below, out = x[v - 1], x[v], x[v + 1], r[v]
        for u in range(1, width - 1):
            at = here[u]
            out[u] -= (
                right[u] * (at - here[u + 1])
                + right[u - 1] * (at - here[u - 1])
                + left_up[u - 1] * (at - above[u - 1])
                + up[u] * (at - above[u])
                + right_up[u + 1] * (at - above[u + 1])
                + left_down[u] * (at - below[u - 1])
                + down[u] * (at - below[u])
                + right_down[u] * (at - below[u + 1])
            )
