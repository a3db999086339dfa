"""Components over tiles: each tile labels its own pixels, and labels that meet at a seam become one component."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laplacians.core.edges import connected_labels

from ..graph.selection import similar_edges
from .tiling import MARGIN, compact
from .window import Job, Window
from .work import Lookup, Work, Written


def label(job: Job, k: int) -> Written:
    """Label the components of a tile's own pixels, and say which edges to other tiles join them to more.

    Writes the image ``labels``, in which components count from 0 in each tile, and the table ``labels`` with the size, the
    first pixel and the bounding box of each component, the ring of the tile and its edges to other tiles.
    """
    window = Window.read(job, k, MARGIN)
    pixels, mine = window.pixels, window.mine
    similar = similar_edges(pixels, job.angle)
    joined = similar & window.inside
    found = connected_labels(pixels.n_pixels, pixels.tail[joined], pixels.head[joined])
    own = np.zeros(pixels.n_pixels, dtype=np.int32)
    own[mine] = compact(found[mine])[1]
    labels = np.where(mine, own, -1)
    n = int(labels.max(initial=-1)) + 1
    position = window.position
    first = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(first, labels[mine], position[mine])
    row, column = np.divmod(position[mine], window.shape[1])
    box = np.empty((4, n), dtype=np.int64)
    for side, (coordinate, reduce, begin) in enumerate(
        ((row, np.minimum, 2**62), (column, np.minimum, 2**62), (row, np.maximum, -1), (column, np.maximum, -1))
    ):
        box[side] = begin
        reduce.at(box[side], labels[mine], coordinate)
    seam = window.seam
    return {
        **job.work.write("labels", k, window.tile_image(labels.astype(np.int32), -1)),
        **job.work.write_table(
            "labels",
            k,
            size=np.bincount(labels[mine], minlength=n),
            first=first,
            box=box,
            ring=position[window.ring],
            ring_label=labels[window.ring],
            tail=position[pixels.tail[seam]],
            head=position[pixels.head[seam]],
            similar=similar[seam],
            left_out=np.array(_left_out(job, k, int(mine.sum()))),
        ),
    }


def _left_out(job: Job, k: int, n_valid: int) -> int:
    """How many pixels of the mask of a tile have no usable normal."""
    core = job.tiling.core(k)
    mask = None if job.source.mask is None else job.source.read(core)[1]
    return (core.shape[0] * core.shape[1] if mask is None else int(mask.sum())) - n_valid


@dataclass(frozen=True, eq=False)
class Ring:
    """The outermost pixels of all tiles, in which edges between tiles end.

    Attributes
    ----------
    position : (n,) int64
        Flat positions in the map, sorted.
    start : (n_tiles + 1,) int64
        Where the rings of the tiles begin if they are listed one after the other, as tables of tiles list them.
    order : (n,) int64
        Which entry of those lists each of the sorted positions is.
    """

    position: np.ndarray
    start: np.ndarray
    order: np.ndarray

    @classmethod
    def from_lists(cls, lists: list[np.ndarray]) -> Ring:
        """From the positions of each tile."""
        every = np.concatenate(lists)
        order = np.argsort(every)
        return cls(every[order], starts(lists), order)

    def find(self, position: np.ndarray) -> np.ndarray:
        """The entries of positions that are in the ring of their tile, in the order of the lists."""
        return self.order[np.searchsorted(self.position, position)]


@dataclass(frozen=True, eq=False)
class Components:
    """The components of the whole map.

    Attributes
    ----------
    of : Lookup
        Component of each label of each tile, int32. Components are numbered by their first pixel, as in memory.
    size : (n,) int64
        Pixels of each component.
    box : (4, n) int64
        Its first row, first column, last row and last column.
    crossing : (n,) bool
        Whether it lies in more than one tile.
    ring : Ring
    ring_label : (n_ring,) int32
        Component of each pixel of the ring.
    tail, head : (n_seam,) int64
        Ends in the ring of all edges between tiles.
    left_out : int
        Pixels of the mask without a usable normal.
    """

    of: Lookup
    size: np.ndarray
    box: np.ndarray
    crossing: np.ndarray
    ring: Ring
    ring_label: np.ndarray
    tail: np.ndarray
    head: np.ndarray
    left_out: int

    @property
    def n(self) -> int:
        return len(self.size)


def unite(work: Work) -> Components:
    """Unite the labels of all tiles into components, and write the lookup ``components`` for the tasks that follow."""
    tables = work.tables("labels")
    start = starts([t["size"] for t in tables])
    ring = Ring.from_lists([t["ring"] for t in tables])
    base = np.repeat(start[:-1], [len(t["ring"]) for t in tables])
    node = np.concatenate([t["ring_label"] for t in tables]) + base
    tail, head = (ring.find(np.concatenate([t[end] for t in tables])) for end in ("tail", "head"))
    joined = np.concatenate([t["similar"] for t in tables])
    group = connected_labels(int(start[-1]), node[tail[joined]], node[head[joined]])
    n = int(group.max(initial=-1)) + 1
    first = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(first, group, np.concatenate([t["first"] for t in tables]))
    rank = np.empty(n, dtype=np.int32)
    rank[np.argsort(first)] = np.arange(n, dtype=np.int32)
    component = rank[group]
    size, pieces = np.zeros(n, dtype=np.int64), np.bincount(component, minlength=n)
    np.add.at(size, component, np.concatenate([t["size"] for t in tables]))
    every = np.concatenate([t["box"] for t in tables], axis=1)
    box = np.empty((4, n), dtype=np.int64)
    for side, (reduce, begin) in enumerate(
        ((np.minimum, 2**62), (np.minimum, 2**62), (np.maximum, -1), (np.maximum, -1))
    ):
        box[side] = begin
        reduce.at(box[side], component, every[side])
    lookup = Lookup(start, component)
    crossing = pieces > 1  # its labels meet at seams only, so they lie in several tiles
    work.write_lookup("components", lookup)
    work.write("crossing", None, crossing)
    left_out = sum(int(t["left_out"]) for t in tables)
    return Components(lookup, size, box, crossing, ring, component[node], tail, head, left_out)


def starts(lists: list[np.ndarray]) -> np.ndarray:
    """Where each of some lists begins when they are put one after the other, and the end of the last one."""
    return np.append(0, np.cumsum([len(one) for one in lists], dtype=np.int64))
