"""`Window`: a tile with some pixels around it, as a graph; `Job`: what every task is told."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..geometry.camera import Camera, Shape
from ..geometry.jumps import planar
from ..geometry.normals import NormalMap
from ..graph.pixels import PixelGraph
from ..graph.quotient import Quotient, jumps_of
from ..settings import BEST, Settings
from .cameras import window_camera
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
    """

    source: Source
    work: Work
    camera: Camera
    frame: str
    connectivity: int
    spacing: int
    angle: float | None = None
    settings: Settings = BEST

    @property
    def tiling(self) -> Tiling:
        return self.work.tiling

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

    @cached_property
    def position(self) -> np.ndarray:
        """(n_pixels,) int64 flat position of each pixel in the whole map."""
        row, column = np.divmod(self.pixels.map.position.astype(np.int64), self.box.shape[1])
        return (row + self.box.top) * self.shape[1] + column + self.box.left

    @cached_property
    def mine(self) -> np.ndarray:
        """(n_pixels,) bool: the pixels of the tile itself."""
        image = np.zeros(self.box.shape, dtype=bool)
        image[self.core.within(self.box)] = True
        return self.values(image)

    @cached_property
    def inside(self) -> np.ndarray:
        """(n_edges,) bool: the edges between two pixels of the tile."""
        return self.mine[self.pixels.tail] & self.mine[self.pixels.head]

    @cached_property
    def seam(self) -> np.ndarray:
        """Numbers of the edges from a pixel of the tile to a pixel of another tile; each edge is listed by one tile."""
        return np.flatnonzero(self.mine[self.pixels.tail] & ~self.mine[self.pixels.head])

    @cached_property
    def ring(self) -> np.ndarray:
        """Numbers of the outermost pixels of the tile: all ends of edges to other tiles are among them."""
        image = np.zeros(self.box.shape, dtype=bool)
        own = image[self.core.within(self.box)]
        own[[0, -1]] = True
        own[:, [0, -1]] = True
        return np.flatnonzero(self.values(image))

    @property
    def rim(self) -> np.ndarray:
        """(n_pixels,) bool: the outermost pixels of the window, except where the whole map ends."""
        image = np.zeros(self.box.shape, dtype=bool)
        image[:1] |= self.box.top > 0
        image[-1:] |= self.box.bottom < self.shape[0]
        image[:, :1] |= self.box.left > 0
        image[:, -1:] |= self.box.right < self.shape[1]
        return self.values(image)

    def keys(self, edges: np.ndarray) -> np.ndarray:
        """(n,) int64 numbers of the given edges that sort them as the edges of the whole map are sorted."""
        tail, head = self.position[self.pixels.tail[edges]], self.position[self.pixels.head[edges]]
        return 4 * tail + np.searchsorted(self.shape[1] * np.array([0, 1, 1, 1]) + [1, -1, 0, 1], head - tail)

    def values(self, image: np.ndarray) -> np.ndarray:
        """(n_pixels,) values of the valid pixels in an image of the window."""
        return image.ravel()[self.pixels.map.position]

    def tile_image(self, values: np.ndarray, fill: float) -> np.ndarray:
        """The image of the tile from one value per valid pixel of the window."""
        image = np.full(self.box.shape, fill, dtype=values.dtype)
        image.ravel()[self.pixels.map.position] = values
        return image[self.core.within(self.box)]

    def quotient(self, labels: np.ndarray, angle: float | None) -> Quotient:
        """Q0 of the window from the component (n_pixels,) of each pixel, with smaller numbers in the same order."""
        pixels, number = self.pixels, compact(labels)[1]
        cut = np.flatnonzero(number[pixels.tail] != number[pixels.head]).astype(np.int32)
        return Quotient(pixels, jumps_of(pixels, planar), number, cut, angle=angle)


def normal_map(job: Job, box: Box) -> NormalMap:
    """The normals of a box of the map; unlike `NormalMap.from_array`, it may have no valid pixel at all."""
    normals, mask = job.source.read(box)
    camera = window_camera(job.camera, job.tiling.shape, box)
    usable = np.isfinite(normals).all(axis=-1) & (normals != 0).any(axis=-1)
    if mask is not None:
        usable &= mask
    if usable.any():
        try:
            return NormalMap.from_array(normals, mask, camera, job.frame)
        except ValueError as error:
            if "no valid pixel" not in str(error):
                raise
    index = np.full(box.shape, -1, dtype=np.int32)
    return NormalMap(np.zeros((0, 3)), index, np.zeros(0, dtype=np.int32), camera, {})
