"""Flatness over tiles: which part of the pixels lies in large flat components, as in memory.

Tiles add up their normals when they label them. If these sums leave in doubt whether components are flat but for stray
pixels (see `quotientgraph.beyond.flatness`), tiles add up the cores of these components in another pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..beyond.flatness import Faces, NormalSums, core_sums, sampling_step
from .tiling import ALIGNED
from .window import Job, Window
from .work import Work, Written


@dataclass(frozen=True, eq=False)
class Large:
    """Components that may be large enough to be a face.

    Attributes
    ----------
    name : (n,) int64
        Their numbers, increasing.
    sums : NormalSums
    n_pixels : int
        Pixels of the map.
    """

    name: np.ndarray
    sums: NormalSums
    n_pixels: int

    @classmethod
    def from_tables(cls, found: list[tuple[np.ndarray, ...]], n_pixels: int) -> Large:
        """From numbers, sizes, sums of normals, and noise as `normal_sums` returns it, of the components of each tile."""
        name, size, total, noise = (np.concatenate(column, axis=-1) for column in zip(*found))
        order = np.argsort(name)
        return cls(name[order], NormalSums.of_sums(size, total, noise).of(order), n_pixels)

    @property
    def faces(self) -> Faces:
        return Faces.of_components(self.sums, self.n_pixels)

    def axes(self) -> np.ndarray | None:
        """(3, n) axes of the components whose cores are in doubt, 0 for all others; None if nobody need ask."""
        return None if self.faces.notable else self.sums.axes(self.n_pixels)

    def forgiving(self, work: Work) -> Large:
        """The same with the sums of cores, of which tiles wrote the tables ``cores``, where few pixels are stray."""
        columns = zip(*((table["size"], table["normal"], table["noise"]) for table in work.tables("cores")))
        cores = NormalSums.of_sums(*(np.sum(column, axis=0) for column in columns))
        return Large(self.name, self.sums.forgiving(cores), self.n_pixels)


def add_cores(job: Job, k: int, name: np.ndarray, axis: np.ndarray) -> Written:
    """Write the table ``cores``: what the pixels of a tile add to the cores of the components of these numbers and axes."""
    window = Window.read(job, k, ALIGNED)
    pixels, label = window.pixels, window.values(job.components(window.box))
    place = np.minimum(np.searchsorted(name, label), len(name) - 1)
    of = np.where(window.mine & (name[place] == label), place, len(name)).astype(np.int32)
    axis = np.pad(axis, ((0, 0), (0, 1)))  # what belongs to none of them has no core
    step = sampling_step(pixels.n_edges)
    size, total, noise = core_sums(pixels.map.normals, of, axis, pixels.tail, pixels.head, step)
    return job.work.write_table("cores", k, size=size[:-1], normal=total[:, :-1], noise=noise[:, :-1])
