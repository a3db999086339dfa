"""`Window`: a tile with some pixels around it, as a graph; `Job`: what every task is told."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from laplacians.core.jit import kernel

from ..geometry.camera import Camera, Shape
from ..geometry.jumps import planar
from ..geometry.normals import NormalMap
from ..graph.pixels import PixelGraph
from ..graph.quotient import Quotient, jumps_of
from ..graph.selection import cut_edges
from ..settings import BEST, Settings
from .cameras import window_camera
from .coarse import Grid
from .sources import Source
from .tiling import Box, Tiling, compact
from .work import Work


@dataclass(frozen=True)
class Job:
    """What every task is told.

    Attributes
    ----------
    source : Source
        Where normals and mask are read from.
    work : Work
    camera : Camera
        Of the whole map.
    frame : str
    connectivity : 4 or 8
    spacing : int
        Pixels between the nodes of the coarse grid that corrects the filling.
    angle : float or None
        Degrees; see `Settings.angle`.
    settings : Settings
    divided : bool
        Whether faces that hide in components have become components of their own.
    """

    source: Source
    work: Work
    camera: Camera
    frame: str
    connectivity: int
    spacing: int
    angle: float | None = None
    settings: Settings = BEST
    divided: bool = False

    @property
    def tiling(self) -> Tiling:
        return self.work.tiling

    @property
    def grid(self) -> Grid:
        """The coarse grid over the map."""
        return Grid(self.tiling.shape, self.spacing, self.tiling.around)

    @property
    def labels(self) -> tuple[str, str]:
        """The image of labels that count from 0 in each tile, and the lookup of their components."""
        return ("parts", "faces") if self.divided else ("labels", "components")

    def components(self, box: Box) -> np.ndarray:
        """The component of each pixel of a box, −1 where none is valid."""
        image, lookup = self.labels
        return self.work.window(image, box, self.work.lookup(lookup))

    @property
    def contracted(self) -> bool:
        """Whether filling leaves out the depth jumps hidden in components."""
        return self.settings.filling == "contracted"


@dataclass(frozen=True, eq=False)
class Window:
    """The valid pixels of a tile and around it.

    Attributes
    ----------
    box, core : Box
        The window, and the tile inside it.
    pixels : PixelGraph
        G0 of the window.
    shape : (H, W)
        Of the whole map.
    """

    box: Box
    core: Box
    pixels: PixelGraph
    shape: Shape

    @classmethod
    def read(cls, job: Job, k: int, reach: int) -> Window:
        """Read tile `k` and up to `reach` pixels around it."""
        box = job.tiling.window(k, reach)
        pixels = PixelGraph.from_map(normal_map(job, box), job.connectivity)
        return cls(box, job.tiling.core(k), pixels, job.tiling.shape)

    def positions(self, pixels: np.ndarray) -> np.ndarray:
        """(n,) int64 flat positions of the given pixels in the whole map."""
        row, column = np.divmod(self.pixels.map.position[pixels].astype(np.int64), self.box.shape[1])
        return (row + self.box.top) * self.shape[1] + (column + self.box.left) % self.shape[1]

    @cached_property
    def mine(self) -> np.ndarray:
        """(n_pixels,) bool: the pixels of the tile itself."""
        image = np.zeros(self.box.shape, dtype=bool)
        image[self.core.within(self.box)] = True
        return self.values(image)

    @cached_property
    def inside(self) -> np.ndarray:
        """(n_edges,) bool: the edges between two pixels of the tile."""
        out = np.empty(self.pixels.n_edges, dtype=bool)
        _find_inside(self.mine, self.pixels.tail, self.pixels.head, out)
        return out

    @cached_property
    def seam(self) -> np.ndarray:
        """Numbers of the edges from a pixel of the tile to a pixel of another tile; each edge is listed by one tile."""
        # Only pixels of the ring have such edges, and edges are sorted by tail.
        tail, head = self.pixels.tail, self.pixels.head
        first = np.searchsorted(tail, self.ring.astype(np.int32))  # of the same type, or the edges would be copied
        edge = (first[:, None] + np.arange(self.pixels.connectivity // 2)).ravel()
        edge = edge[edge < len(tail)]
        from_ring = np.zeros(self.pixels.n_pixels, dtype=bool)
        from_ring[self.ring] = True
        return np.unique(edge[from_ring[tail[edge]] & ~self.mine[head[edge]]])

    @cached_property
    def ring(self) -> np.ndarray:
        """Numbers of the outermost pixels of the tile: all ends of edges to other tiles are among them."""
        image = np.zeros(self.box.shape, dtype=bool)
        own = image[self.core.within(self.box)]
        own[[0, -1]] = True
        own[:, [0, -1]] = True
        return np.flatnonzero(self.values(image))

    def keys(self, edges: np.ndarray) -> np.ndarray:
        """(n,) int64 numbers of the given edges that sort them as the edges of the whole map are sorted."""
        tail, head = (self.pixels.map.position[ends[edges]] for ends in (self.pixels.tail, self.pixels.head))
        step = np.searchsorted(self.box.shape[1] * np.array([0, 1, 1, 1]) + [1, -1, 0, 1], head - tail)
        return 4 * self.positions(self.pixels.tail[edges]) + step

    def values(self, image: np.ndarray) -> np.ndarray:
        """(n_pixels,) values of the valid pixels in an image of the window."""
        return image.ravel()[self.pixels.map.position]

    def image(self, values: np.ndarray, fill: float) -> np.ndarray:
        """The image of the window from one value per valid pixel."""
        image = np.full(self.box.shape, fill, dtype=values.dtype)
        image.ravel()[self.pixels.map.position] = values
        return image

    def tile_image(self, values: np.ndarray, fill: float) -> np.ndarray:
        """The image of the tile from one value per valid pixel of the window."""
        return self.image(values, fill)[self.core.within(self.box)]

    def quotient(self, labels: np.ndarray, angle: float | None) -> Quotient:
        """Q0 of the window from the component (n_pixels,) of each pixel, with smaller numbers in the same order."""
        pixels, number = self.pixels, compact(labels)[1]
        return Quotient(pixels, jumps_of(pixels, planar), number, cut_edges(pixels, number), angle=angle)

    def undivided(self, labels: np.ndarray) -> Quotient:
        """The same for the filling, which asks whether two pixels have the same component and nothing else."""
        return Quotient(self.pixels, jumps_of(self.pixels, planar), labels, np.zeros(0, dtype=np.int32))


def normal_map(job: Job, box: Box, values: tuple[np.ndarray, np.ndarray | None] | None = None) -> NormalMap:
    """The normals of a box of the map; unlike `NormalMap.from_array`, it may have no valid pixel at all.

    `values` are the normals and the mask of the box if they have been read already.
    """
    normals, mask = job.source.read(box) if values is None else values
    camera = window_camera(job.camera, job.tiling.shape, box)
    try:
        return NormalMap.from_array(normals, mask, camera, job.frame)
    except ValueError as error:
        if "no valid pixel" not in str(error) and "selects no pixel" not in str(error):
            raise
    index = np.full(box.shape, -1, dtype=np.int32)
    return NormalMap(np.zeros((0, 3)), index, np.zeros(0, dtype=np.int32), camera, {})


@kernel
def _find_inside(mine, tail, head, out):
    """Write whether both ends of each edge are pixels of the tile."""
    for e in range(len(tail)):
        out[e] = mine[tail[e]] and mine[head[e]]
