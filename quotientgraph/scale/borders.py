"""The cut edges of all tiles, put together border by border.

A tile knows the cut edges whose tails it has. The borders between components run through many tiles. So the edges are
sorted by border into groups of bounded size, each of which is an ordinary `CutEdges` that holds whole borders. If there is
one group it stays in memory; otherwise the groups are files that are read one after the other in each iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from laplacians import Pattern

from ..beyond.creases import edge_angles, residual_range
from ..graph.quotient import Quotient
from ..method.cutedges import CutEdges
from ..method.weights import Outliers
from .numbering import Components
from .rounds import potential
from .tiling import MARGIN
from .window import Job, Window
from .work import Work, Written

# One cut edge as a tile writes it: the fields of `CutEdges`, and what creases and confidence need. `key` is in the order in
# which edges are numbered in memory.
EDGE = np.dtype(
    [
        ("tail", "i4"), ("head", "i4"), ("key", "i8"), ("difference", "f8"), ("residual", "f8"), ("beyond", "f8", 2),
        ("beyond_component", "i4", 2), ("gamma_squared", "f8", 2), ("unit", "f8"), ("room", "f8", 2), ("angle", "f8"),
        ("focal", "f8"),
    ]
)  # fmt: skip
_COLUMNS = [name for name in EDGE.names or () if name != "key"]  # edges are sorted by `key`, then it is not needed
GROUP = 2_000_000  # edges that are in memory at a time


def gather(job: Job, k: int, number: int) -> Written:
    """Write the cut edges of a tile, sorted by border, and the sums of the potential over its components."""
    window = Window.read(job, k, MARGIN)
    pixels, work = window.pixels, job.work
    image, lookup = job.labels
    local, label = window.values(work.window(image, window.box)), window.values(job.components(window.box))
    filled = window.values(potential(work, window.box, number)[0])
    graph = window.quotient(label, job.angle)
    graph = replace(graph, cut=graph.cut[window.owns(graph.cut)])
    edges = np.empty(len(graph.cut), dtype=EDGE)
    if len(edges):
        cut = CutEdges.from_graph(graph, filled, Outliers.from_settings(job.settings).scale(pixels.map))
        name = np.zeros(graph.n_components, dtype=np.int32)
        name[graph.labels] = label
        for field in ("difference", "residual", "unit"):
            edges[field] = getattr(cut, field)
        edges["tail"], edges["head"] = name[cut.pattern.tail[cut.pair]], name[cut.pattern.head[cut.pair]]
        edges["key"] = window.keys(cut.number)
        _look_straight_over_poles(window, graph, filled, cut)
        edges["beyond"], edges["gamma_squared"] = cut.beyond.T, cut.gamma_squared.T
        edges["beyond_component"] = np.where(cut.beyond_component < 0, -1, name[cut.beyond_component]).T
        edges["room"] = residual_range(graph, cut).T
        edges["angle"] = edge_angles(graph, cut.number)
        edges["focal"] = pixels.focal_at(cut.number)
    mine = window.mine
    n = len(work.lookup(lookup).of(k))
    begin = _beginnings(edges)
    return {
        **work.write("edges", k, edges),
        **work.write_table(
            "edges",
            k,
            tail=edges["tail"][begin],
            head=edges["head"][begin],
            start=np.append(begin, len(edges)),
            total=np.bincount(local[mine], filled[mine], n).astype(np.float64) if n else np.zeros(0),
        ),
    }


def _look_straight_over_poles(window: Window, graph: Quotient, filled: np.ndarray, cut: CutEdges) -> None:
    """Set the pixels beyond cut edges across a pole to those in memory, which are in the column of their neighbour."""
    wrap, pixels, width = window.tiling.wrap, graph.pixels, window.box.shape[1]
    if not (wrap.top or wrap.bottom):
        return
    row, column = np.divmod(pixels.map.position, width)
    row = row + window.box.top
    tail, head = pixels.tail[cut.number], pixels.head[cut.number]
    turned = graph.labels[tail] > graph.labels[head]
    for wraps, above in ((wrap.top, -1), (wrap.bottom, window.shape[0] - 1)):
        over = np.flatnonzero((row[tail] == above) & (row[head] == above + 1)) if wraps else np.zeros(0, dtype=np.int64)
        for side in (0, 1):
            upper = turned[over] == bool(side)  # whether this end is the tail
            end = np.where(upper, tail[over], head[over])
            v = row[end] + np.where(upper, -1, 1) - window.box.top
            seen = (v >= 0) & (v < window.box.shape[0])
            other = np.where(seen, pixels.map.index[np.where(seen, v, 0), column[end]], -1)
            cut.beyond[side, over] = np.where(other >= 0, filled[other] - filled[end], 0.0)
            cut.beyond_component[side, over] = np.where(other >= 0, graph.labels[other], -1)


@dataclass(frozen=True, eq=False)
class Group:
    """Some borders with all their edges.

    Attributes
    ----------
    cut : CutEdges
        Its pattern has the borders of this group, between components of the whole map.
    room : (2, n_cut) float64
        See `quotientgraph.beyond.creases.residual_range`.
    angle, focal : (n_cut,) float64
        Degrees between the two normals, and the focal length.
    """

    cut: CutEdges
    room: np.ndarray
    angle: np.ndarray
    focal: np.ndarray

    @classmethod
    def from_columns(cls, n: int, columns: dict[str, np.ndarray]) -> Group:
        """From the fields of edges that are sorted by border; where there are two values an edge, they are (2, n_cut)."""
        begin = _beginnings(columns)
        pattern = Pattern(n, columns["tail"][begin], columns["head"][begin])
        cut = CutEdges(
            pattern,
            np.append(begin, len(columns["tail"])).astype(np.int64),
            np.arange(len(columns["tail"]), dtype=np.int32),
            columns["difference"],
            columns["residual"],
            columns["residual"],
            columns["beyond"],
            columns["beyond_component"],
            columns["gamma_squared"],
            columns["unit"],
        )
        return cls(cut, columns["room"], columns["angle"], columns["focal"])

    def gaps(self, shift: np.ndarray) -> np.ndarray:
        """(n_cut,) how far, in pixels, the jump at each edge is outside its interval.

        `shift` (n_components,) is what is added to the filled potential of each component.
        """
        pattern = self.cut.pattern
        chi = self.cut.residual + (shift[pattern.tail] - shift[pattern.head])[self.cut.pair]
        return np.maximum(np.maximum(self.room[0] - chi, chi - self.room[1]), 0.0) * self.focal


@dataclass(frozen=True, eq=False)
class Borders:
    """The borders of the whole map, in groups.

    Attributes
    ----------
    pattern : Pattern
        Pairs of adjacent components.
    n_edges : (n_pairs,) int64
        Cut edges of each pair.
    work : Work
    first : (n_groups + 1,) int64
        The first pair of each group.
    """

    pattern: Pattern
    n_edges: np.ndarray
    work: Work
    first: np.ndarray

    @classmethod
    def from_tables(cls, work: Work, components: Components) -> Borders:
        """Sort the edges of all tiles into groups of about `GROUP` edges, and write them."""
        n, tiles = components.n, range(work.tiling.n_tiles)
        pair = np.concatenate([_pairs(work, k, n)[0] for k in tiles])
        count = np.concatenate([np.diff(_pairs(work, k, n)[1]).astype(np.int32) for k in tiles])
        order = np.argsort(pair, kind="stable")
        pair, count = pair[order], count[order]
        del order
        begin = np.flatnonzero(np.append(True, pair[1:] != pair[:-1])) if len(pair) else np.zeros(0, dtype=np.int64)
        keys, count = pair[begin], np.add.reduceat(count, begin, dtype=np.int64) if len(begin) else begin
        end = np.append(0, np.cumsum(count))
        first = np.unique(np.append(np.searchsorted(end[1:], np.arange(0, end[-1], GROUP), "right"), len(keys)))
        pattern = Pattern(n, (keys // n).astype(np.int32), (keys % n).astype(np.int32))
        out = cls(pattern, count, work, first)
        out._divide(keys[first[:-1]])
        for g in range(out.n_groups):
            path = out._unsorted(g)
            edges = np.fromfile(path, dtype=EDGE)
            order = np.lexsort((edges["key"], edges["head"], edges["tail"]))
            # A column is read and written at a time: all of them together would be in memory twice.
            for name in _COLUMNS:
                work.write(f"groups.{name}", g, np.ascontiguousarray(np.moveaxis(edges[name][order], -1, 0)))
            path.unlink()
        return out

    def _unsorted(self, g: int) -> Path:
        return self.work.path("groups.unsorted", g, ".bin")

    def _divide(self, lowest: np.ndarray) -> None:
        """Copy the edges of all tiles into one file a group, of which the lowest pairs are given; a tile is read once."""
        for g in range(self.n_groups):
            self._unsorted(g).parent.mkdir(parents=True, exist_ok=True)
            self._unsorted(g).write_bytes(b"")
        for k in range(self.work.tiling.n_tiles):
            mine, start = _pairs(self.work, k, self.pattern.n)
            bounds = start[np.append(np.searchsorted(mine, lowest), len(mine))]
            edges = self.work.read("edges", k)
            for g in np.flatnonzero(np.diff(bounds)).tolist():
                with self._unsorted(g).open("ab") as file:
                    file.write(edges[bounds[g] : bounds[g + 1]].tobytes())

    @property
    def n_groups(self) -> int:
        return len(self.first) - 1

    @property
    def number(self) -> range:
        """As long as there are cut edges."""
        return range(int(self.n_edges.sum()))

    def groups(self) -> Iterator[Group]:
        """The groups one after the other."""
        if self.n_groups == 1:
            yield self._only
            return
        for g in range(self.n_groups):
            yield self._group(g)

    @cached_property
    def _only(self) -> Group:
        return self._group(0)

    def _group(self, g: int) -> Group:
        columns = {name: np.load(self.work.path(f"groups.{name}", g)) for name in _COLUMNS}
        return Group.from_columns(self.pattern.n, columns)


def _pairs(work: Work, k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The borders of a tile as sorted numbers tail · n + head, and where their edges begin in its list."""
    table = work.table("edges", k, "tail", "head", "start")
    return table["tail"].astype(np.int64) * n + table["head"], table["start"]


def _beginnings(edges: Mapping[str, np.ndarray] | np.ndarray) -> np.ndarray:
    """Where borders begin in a list of edges that is sorted by border."""
    tail, head = edges["tail"], edges["head"]
    changes = (tail[1:] != tail[:-1]) | (head[1:] != head[:-1])
    return np.flatnonzero(np.append(True, changes)) if len(tail) else np.zeros(0, dtype=np.int64)
