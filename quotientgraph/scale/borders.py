"""The cut edges of all tiles, put together border by border.

A tile knows the cut edges whose tails it has. The borders between components run through many tiles. So the edges are
sorted by border into groups of bounded size, each of which is an ordinary `CutEdges` that holds whole borders. If there is
one group it stays in memory; otherwise the groups are files that are read one after the other in each iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from laplacians import Pattern

from ..beyond.creases import edge_angles, residual_range
from ..method.cutedges import CutEdges
from ..method.weights import Outliers
from .components import Components
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
    graph = replace(graph, cut=graph.cut[window.mine[pixels.tail[graph.cut]]])
    edges = np.empty(len(graph.cut), dtype=EDGE)
    if len(edges):
        cut = CutEdges.from_graph(graph, filled, Outliers.from_settings(job.settings).scale(pixels.map))
        name = np.zeros(graph.n_components, dtype=np.int32)
        name[graph.labels] = label
        for field in ("difference", "residual", "unit"):
            edges[field] = getattr(cut, field)
        edges["tail"], edges["head"] = name[cut.pattern.tail[cut.pair]], name[cut.pattern.head[cut.pair]]
        edges["key"] = window.keys(cut.number)
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
        tables = work.tables("edges")
        n = components.n
        pair = [t["tail"].astype(np.int64) * n + t["head"] for t in tables]
        every = np.concatenate(pair)
        keys, inverse = np.unique(every, return_inverse=True)
        count = np.bincount(inverse, np.concatenate([np.diff(t["start"]) for t in tables]), len(keys)).astype(np.int64)
        end = np.append(0, np.cumsum(count))
        first = np.unique(np.append(np.searchsorted(end[1:], np.arange(0, end[-1], GROUP), "right"), len(keys)))
        pattern = Pattern(n, (keys // n).astype(np.int32), (keys % n).astype(np.int32))
        out = cls(pattern, count, work, first)
        for g in range(out.n_groups):
            low, high = keys[first[g]], keys[first[g + 1] - 1]
            edges, filled = np.empty(int(count[first[g] : first[g + 1]].sum()), dtype=EDGE), 0
            for k, (table, mine) in enumerate(zip(tables, pair)):
                a, b = np.searchsorted(mine, low), np.searchsorted(mine, high, "right")
                if a < b:
                    found = work.read("edges", k)[table["start"][a] : table["start"][b]]
                    edges[filled : filled + len(found)] = found
                    filled += len(found)
            order = np.lexsort((edges["key"], edges["head"], edges["tail"]))
            # A column is read and written at a time: all of them together would be in memory twice.
            for name in _COLUMNS:
                work.write(f"groups.{name}", g, np.ascontiguousarray(np.moveaxis(edges[name][order], -1, 0)))
        return out

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


def _beginnings(edges: Mapping[str, np.ndarray] | np.ndarray) -> np.ndarray:
    """Where borders begin in a list of edges that is sorted by border."""
    tail, head = edges["tail"], edges["head"]
    changes = (tail[1:] != tail[:-1]) | (head[1:] != head[:-1])
    return np.flatnonzero(np.append(True, changes)) if len(tail) else np.zeros(0, dtype=np.int64)
