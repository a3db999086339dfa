"""Numbers of the components of the whole map: by their first pixel, as in memory, without a list of all of them.

A component belongs to the tile that has its first pixel. Each tile counts its components by the row of that pixel. Tiles
beside each other form a band of the map, and a task for each band adds up the counts along its rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .cores import Large
from .groups import edges_around
from .tiling import Tiling
from .uniting import Links, both_ways, settled, write_classes
from .window import Job
from .work import Lookup, PerTile, Work, Written

_MOST = 2**31 - 1  # components: their numbers are int32
_OF_OWN = "size", "low", "high", "pieces", "normal", "noise"


def meet(job: Job, k: int) -> Written:
    """Write the table ``unite.0``: the labels of a tile with their totals, and which of other tiles they are joined to."""
    work, edges = job.work, edges_around(job.work, k, "labels", "similar")
    of, tail, head, other = both_ways(job.tiling, k, edges["tail"], edges["head"], edges["similar"])
    mine, theirs = (work.at("labels", end).astype(np.int64) for end in (tail, head))
    table = work.table("labels", k, "size", "first", "box", "normal", "noise")
    pieces = np.ones(len(table["size"]), dtype=np.int64)
    pieces[mine[(other == k) & (mine == theirs)]] = 2  # it goes around a map that wraps, which is like a second piece
    label, other, name = np.unique(np.stack([mine, other, theirs])[:, of], axis=1)
    links = Links(label, (k << 32) + label, (other << 32) + name, other)
    totals = {name: table[name] for name in ("size", "first", "normal", "noise")}
    boxes = [table["box"], *_turned(job.tiling, table["box"])]
    low, high = np.concatenate([box[:2] for box in boxes]), np.concatenate([box[2:] for box in boxes])
    return write_classes(work, "unite", 0, k, {**totals, "low": low, "high": high, "pieces": pieces}, links)


def _turned(tiling: Tiling, box: np.ndarray) -> list[np.ndarray]:
    """[(4, n)] the boxes of labels if the map began in its middle, where it wraps; nothing if it does not wrap."""
    if not tiling.wrap:
        return []
    turned = box.copy()
    for axis, (size, wraps) in enumerate(zip(tiling.shape, (tiling.wrap.y, tiling.wrap.x))):
        if wraps:
            half, low, high = size // 2, box[axis], box[axis + 2]
            across = (low < half) & (high >= half)
            turned[axis] = np.where(across, 0, (low - half) % size)
            turned[axis + 2] = np.where(across, size - 1, (high - half) % size)
    return [turned]


def own(job: Job, k: int) -> Written:
    """Write the table ``own``: first pixel of the component of each label, and the components that begin in this tile."""
    totals = settled(job.work, job.tree, "unite", 0, k)
    first, core = totals["first"], job.tiling.core(k)
    begins, label = np.unique(first, return_index=True)
    here = job.tiling.tile_of(begins) == k
    begins, label = begins[here], label[here]
    row = begins // job.tiling.shape[1] - core.top
    return job.work.write_table(
        "own",
        k,
        first=first,
        begins=begins,
        label=label,
        count=np.bincount(row, minlength=core.shape[0]),
        **{name: totals[name][..., label] for name in _OF_OWN},
    )


def add_up(job: Job, band: int) -> Written:
    """Write ``bands``: how many components begin in a row of tiles before each row of each of its tiles."""
    work, columns = job.work, job.tiling.columns
    tiles = range(band * columns, (band + 1) * columns)
    count = np.stack([work.table("own", k, "count")["count"] for k in tiles], axis=1)
    before = np.cumsum(count) - count.ravel()
    return {
        **work.write("bands", band, np.ascontiguousarray(before.reshape(count.shape).T)),
        **work.write_table("bands", band, n=np.array(count.sum())),
    }


def number(job: Job, k: int) -> Written:
    """Write ``components``: the number in the whole map of the component of each label of a tile."""
    work, tiling = job.work, job.tiling
    first, base = work.table("own", k, "first")["first"], work.read("bands.base")
    out, owner = np.empty(len(first), dtype=np.int32), tiling.tile_of(first)
    for j in np.unique(owner):
        chosen, (band, column) = owner == j, divmod(int(j), tiling.columns)
        begins = work.table("own", j, "begins")["begins"]
        row = first[chosen] // tiling.shape[1]
        before = work.read("bands", band)[column][row - tiling.core(j).top]
        in_row = np.searchsorted(begins, first[chosen]) - np.searchsorted(begins, row * tiling.shape[1])
        out[chosen] = base[band] + before + in_row
    return work.write("components", k, out)


def write_bases(work: Work) -> None:
    """Write ``bands.base``: how many components begin before each band."""
    n = [int(work.table("bands", band, "n")["n"]) for band in range(work.tiling.rows)]
    if not sum(n):
        raise ValueError("normals: no valid pixel is left in any tile; check the mask, the frame and the camera")
    if sum(n) > _MOST:
        raise ValueError(f"angle: it makes {sum(n):,} components, and there may be {_MOST:,}; choose a larger angle")
    work.write("bands.base", None, np.append(0, np.cumsum(n, dtype=np.int64)))


@dataclass(frozen=True, eq=False)
class Components:
    """The components of the whole map.

    Attributes
    ----------
    of : PerTile or Lookup
        Component of each label of each tile, int32. Components are numbered by their first pixel, as in memory.
    size : (n,) int64
        Pixels of each component. This and the next three are mapped into memory from files.
    box : (4, n) int64
        Its first row, first column, last row and last column.
    reach : (n,) int64
        Pixels along the longer side of that box, or of the one across a border around which the map goes on.
    crossing : (n,) bool
        Whether it lies in more than one tile, or goes around a map that wraps in one.
    left_out : int
        Pixels of the mask without a usable normal.
    large : Large
        Those that may be large enough to be a face.
    """

    of: PerTile | Lookup
    size: np.ndarray
    box: np.ndarray
    reach: np.ndarray
    crossing: np.ndarray
    left_out: int
    large: Large

    @property
    def n(self) -> int:
        return len(self.size)

    @classmethod
    def from_tables(cls, work: Work) -> Components:
        """Put together the tables of all tiles; one of them is in memory at a time."""
        n, of = int(work.read("bands.base")[-1]), PerTile(work, "components")
        # A run that goes on may have absorbed crumbs before, and does so again.
        work.path("components.start").unlink(missing_ok=True)
        large: list[tuple[np.ndarray, ...]] = []
        n_pixels = left_out = 0
        with (
            work.mapped("size", (n,), np.int64) as size,
            work.mapped("box", (4, n), np.int64) as box,
            work.mapped("reach", (n,), np.int64) as reach,
            work.mapped("crossing", (n,), np.bool_) as crossing,
        ):
            for k in range(work.tiling.n_tiles):
                table = work.table("own", k, "label", *_OF_OWN)
                name = of.of(k)[table["label"]]
                size[name], crossing[name] = table["size"], table["pieces"] > 1
                box[:2, name], box[2:, name] = table["low"][:2], table["high"][:2]
                sides = table["high"] - table["low"] + 1  # of the box, and of the turned one if there is one
                reach[name] = np.minimum(sides[:2], sides[-2:]).max(axis=0)
                n_pixels += int(table["size"].sum())
                few = np.flatnonzero(table["size"] > 1e-3 * n_pixels)  # of the pixels so far
                large.append((name[few], table["size"][few], table["normal"][:, few], table["noise"][:, few]))
                left_out += int(work.table("labels", k, "left_out")["left_out"])
        size, box, reach, crossing = (work.read(column) for column in ("size", "box", "reach", "crossing"))
        return cls(of, size, box, reach, crossing, left_out, Large.from_tables(large, n_pixels))
