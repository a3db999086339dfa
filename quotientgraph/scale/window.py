"""`Window`: a tile with some pixels around it, as a graph; `Job`: what every task is told."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
from . import groups
from .cameras import joined_rays, window_camera
from .coarse import Grid
from .groups import Tree
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
    slope : (float, float)
        Taken out of the normals of a map that wraps; see `NormalMap.slope`.
    tilt : int or None
        0 or 1 if the normals are not to be used but those of a plane that rises by one pixel a column, or a row.
    continuous : bool
        Whether the map is one surface without any jump; then it is one component, whatever the angle.
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
    slope: tuple[float, float] = (0.0, 0.0)
    tilt: int | None = None
    continuous: bool = False
    divided: bool = False

    @property
    def tiling(self) -> Tiling:
        return self.work.tiling

    @property
    def grid(self) -> Grid:
        """The coarse grid over the map."""
        return Grid(self.tiling.shape, self.spacing, self.tiling.wrap)

    @property
    def joining_angle(self) -> float | None:
        """Degrees below which neighbouring normals make their pixels one component."""
        return 180.0 if self.continuous else self.angle

    @property
    def tree(self) -> Tree:
        """The groups of tiles."""
        return Tree(self.tiling, groups.SIDE)

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
    tiling : Tiling
        Of the whole map.
    """

    box: Box
    core: Box
    pixels: PixelGraph
    tiling: Tiling

    @classmethod
    def read(cls, job: Job, k: int, reach: int) -> Window:
        """Read tile `k` and up to `reach` pixels around it."""
        box = job.tiling.window(k, reach)
        pixels = PixelGraph.from_map(normal_map(job, box), job.connectivity)
        return cls(box, job.tiling.core(k), pixels, job.tiling)

    def positions(self, pixels: np.ndarray) -> np.ndarray:
        """(n,) int64 flat positions of the given pixels in the whole map."""
        row, column = np.divmod(self.pixels.map.position[pixels].astype(np.int64), self.box.shape[1])
        return self.tiling.positions(row + self.box.top, column + self.box.left)

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

    @property
    def shape(self) -> Shape:
        """(H, W) of the whole map."""
        return self.tiling.shape

    def owns(self, edges: np.ndarray) -> np.ndarray:
        """(n,) bool: the given edges that belong to the tile, which are its own and some to others; each belongs to one.

        That is the tile of the tail. Across a pole, both ends see the other above them, or both below, so the one that comes
        first in the map decides.
        """
        tail, head = self.pixels.tail[edges], self.pixels.head[edges]
        out, (height, width) = self.mine[tail], self.box.shape
        for wraps, row in ((self.tiling.wrap.top, -1), (self.tiling.wrap.bottom, self.shape[0] - 1)):
            first = row - self.box.top
            if wraps and 0 <= first < height - 1:
                at = self.pixels.map.position
                over = np.flatnonzero((at[tail] // width == first) & (at[head] // width == first + 1))
                a, b = tail[over], head[over]
                before = self.positions(a) < self.positions(b)
                out[over] = np.where(before, self.mine[a], self.mine[b])
        return out

    @cached_property
    def seam(self) -> np.ndarray:
        """Numbers of the edges from a pixel of the tile to a pixel of another tile; each edge is listed by one tile."""
        # Only pixels of the ring have such edges, and edges are sorted by tail.
        tail, head = self.pixels.tail, self.pixels.head
        ends = self.ring
        if self.tiling.wrap.top and self.box.top < 0:  # the row beyond the pole
            bounds = np.array([-1 - self.box.top, -self.box.top]) * self.box.shape[1]
            ends = np.append(np.arange(*np.searchsorted(self.pixels.map.position, bounds)), ends)
        first = np.searchsorted(tail, ends.astype(np.int32))  # of the same type, or the edges would be copied
        edge = (first[:, None] + np.arange(self.pixels.connectivity // 2)).ravel()
        edge = edge[edge < len(tail)]
        among = np.zeros(self.pixels.n_pixels, dtype=bool)
        among[ends] = True
        edge = edge[among[tail[edge]] & (self.mine[tail[edge]] != self.mine[head[edge]])]
        return np.unique(edge[self.owns(edge)])

    @cached_property
    def seam_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The two pixels of each edge of `seam`, that of the tile first."""
        tail, head = self.pixels.tail[self.seam], self.pixels.head[self.seam]
        return np.where(self.mine[tail], tail, head), np.where(self.mine[tail], head, tail)

    @cached_property
    def ring(self) -> np.ndarray:
        """Numbers of the outermost pixels of the tile: all ends of edges to other tiles are among them."""
        image = np.zeros(self.box.shape, dtype=bool)
        own = image[self.core.within(self.box)]
        own[[0, -1]] = True
        own[:, [0, -1]] = True
        return np.flatnonzero(self.values(image))

    def keys(self, edges: np.ndarray) -> np.ndarray:
        """(n,) int64 numbers of the given edges that sort them as the edges of the whole map are sorted.

        In memory, an edge is listed with the first of its two pixels, and those to the left and upwards last.
        """
        tail, head = (self.pixels.map.position[ends[edges]] for ends in (self.pixels.tail, self.pixels.head))
        step = np.searchsorted(self.box.shape[1] * np.array([0, 1, 1, 1]) + [1, -1, 0, 1], head - tail)
        a, b = self.positions(self.pixels.tail[edges]), self.positions(self.pixels.head[edges])
        return 8 * np.minimum(a, b) + step + 4 * (b < a)

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
    normals, mask = _read(job, box) if values is None else values
    camera = _camera(job, box)
    try:
        found = NormalMap.from_array(normals, mask, camera, job.frame)
    except ValueError as error:
        if "no valid pixel" not in str(error) and "selects no pixel" not in str(error):
            raise
        index = np.full(box.shape, -1, dtype=np.int32)
        return NormalMap(np.zeros((0, 3)), index, np.zeros(0, dtype=np.int32), camera, {})
    if job.tilt is None:
        return replace(found, slope=job.slope)
    plane = np.array([1.0, 0.0, -1.0] if job.tilt == 0 else [0.0, 1.0, -1.0]) * np.sqrt(0.5)
    return replace(found, normals=np.tile(plane, (found.n_pixels, 1)))


def _read(job: Job, box: Box) -> tuple[np.ndarray, np.ndarray | None]:
    """Normals and mask of a box that may reach beyond the borders of a map that wraps."""
    turns = list(job.tiling.turns(box))
    read = [job.source.read(turn.source) for turn in turns]
    if len(read) == 1:
        return read[0]
    normals = np.empty((*box.shape, 3), dtype=read[0][0].dtype)
    mask = None if read[0][1] is None else np.empty(box.shape, dtype=bool)
    for turn, (values, chosen) in zip(turns, read):
        normals[turn.part.within(box)] = turn.seen(values)
        if mask is not None and chosen is not None:
            mask[turn.part.within(box)] = turn.seen(chosen)
    return normals, mask


def _camera(job: Job, box: Box) -> Camera:
    """The camera of such a box."""
    turns, shape = list(job.tiling.turns(box)), job.tiling.shape
    if turns == [(box, box, False)] or not job.camera.central:
        return window_camera(job.camera, shape, turns[0].source)
    return joined_rays(box, [(turn, window_camera(job.camera, shape, turn.source)) for turn in turns])


@kernel
def _find_inside(mine, tail, head, out):
    """Write whether both ends of each edge are pixels of the tile."""
    for e in range(len(tail)):
        out[e] = mine[tail[e]] and mine[head[e]]
