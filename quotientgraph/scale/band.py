"""The band along the borders of components: the few pixels of a map that borders are judged by, in the driver.

A border is traced along the sides of its pixels and judged by the normals and the filled potential beside it. Tiles list
these pixels and sides, and add up what is asked about whole components. Together they answer all that
`quotientgraph.beyond.joining` asks of a graph, so the code that judges borders is that of maps in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..beyond.flatness import normal_sums
from ..geometry.camera import Shape
from ..geometry.normals import NormalMap
from ..graph.pixels import PixelGraph
from ..graph.quotient import Quotient
from .crumbs import bordering
from .numbering import Components
from .rounds import potential
from .sampling import sampled_edges
from .tiling import ALIGNED, Box, compact
from .window import Job, Window
from .work import Written


def list_band(job: Job, k: int, number: int, name: str) -> Written:
    """Write a table: the pixels of a tile along borders, and the sides of pixels that lie on them."""
    window, work = Window.read(job, k, ALIGNED), job.work
    image, core = job.components(window.box), window.core.within(window.box)
    upper, left = bordering(image)
    beside = upper | left
    beside[:-1] |= upper[1:]
    beside[:, :-1] |= left[:, 1:]
    chosen = np.flatnonzero(window.values(beside) & window.mine)
    return work.write_table(
        name,
        k,
        below=_positions(upper[core], window.core, window.shape),
        beside=_positions(left[core], window.core, window.shape),
        position=window.positions(chosen),
        normals=window.pixels.map.normals[chosen],
        potential=window.values(potential(work, window.box, number)[0])[chosen],
        label=window.values(image)[chosen],
    )


def _positions(chosen: np.ndarray, core: Box, shape: Shape) -> np.ndarray:
    """(n,) int64 flat positions in the map of the chosen pixels of a tile."""
    row, column = np.nonzero(chosen)
    return (row + core.top) * shape[1] + column + core.left


def add_normals(job: Job, k: int) -> Written:
    """Write the table ``normals``: of the components of a tile, the sums of their normals and of what tells their noise."""
    window = Window.read(job, k, ALIGNED)
    pixels, label = window.pixels, window.values(job.components(window.box))
    names, local = compact(label[window.mine])
    normals, edge = pixels.map.normals[window.mine], sampled_edges(job, k, window)
    edge = edge[label[pixels.tail[edge]] == label[pixels.head[edge]]]
    tail, head = pixels.tail[edge], pixels.head[edge]
    # Pixels of other tiles may get any number, since none of these edges is inside their components.
    of, wanted = np.searchsorted(names, label).astype(np.int32), np.ones(len(names) + 1, dtype=np.bool_)
    return job.work.write_table(
        "normals",
        k,
        names=names,
        normal=np.stack([np.bincount(local, normals[:, axis], len(names)) for axis in range(3)]),
        noise=normal_sums(pixels.map.normals, of, wanted, tail, head)[1][:, :-1],
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Band(Quotient):
    """The pixels along the borders of a map, with as much of its quotient graph as judging its borders takes.

    Edges and cut edges are not in it, and `pixels.map.index` has no numbers: `pixels_at` finds pixels by their positions.

    Attributes
    ----------
    potential : (n_pixels,) float64
        Each component filled on its own.
    whole : Components
        The components of the map.
    on_borders : (n,) int64, (m,) int64
        See `Quotient.sides`.
    """

    potential: np.ndarray
    whole: Components
    on_borders: tuple[np.ndarray, np.ndarray]

    @classmethod
    def from_tables(cls, job: Job, name: str, whole: Components) -> Band:
        """From the tables that `list_band` wrote for all tiles."""
        tables = job.work.tables(name)
        of = {column: np.concatenate([table[column] for table in tables]) for column in tables[0]}
        order = np.argsort(of["position"])
        nothing = np.broadcast_to(np.int32(-1), job.tiling.shape)
        seen = NormalMap(of["normals"][order], nothing, of["position"][order].astype(np.int32), job.camera, {})
        none, label = np.zeros(0, dtype=np.int32), of["label"][order].astype(np.int32)
        return cls(
            PixelGraph(seen, job.connectivity, none, none), np.zeros(0), label, none, angle=job.angle,
            potential=of["potential"][order], whole=whole, on_borders=(np.sort(of["below"]), np.sort(of["beside"])),
        )  # fmt: skip

    @property
    def n_components(self) -> int:
        return self.whole.n

    @property
    def sizes(self) -> np.ndarray:
        return self.whole.size

    @property
    def at_rim(self) -> np.ndarray:
        (height, width), (top, left, bottom, right) = self.pixels.map.shape, self.whole.box
        return (top == 0) | (left == 0) | (bottom == height - 1) | (right == width - 1)

    def sides(self) -> tuple[np.ndarray, np.ndarray]:
        return self.on_borders

    def pixels_at(self, position: np.ndarray) -> np.ndarray:
        known = self.pixels.map.position
        at = np.minimum(np.searchsorted(known, position), len(known) - 1)
        return np.where(known[at] == position, at, -1).astype(np.int32)
