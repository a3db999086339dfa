"""Parallel faces: components that hold several surfaces whose normals agree.

The top of a box has the normals of the floor around it, treads seen from above those of one another. Where such faces
share a border in the image they fall into one component, and no choice of scales can set them apart. What else touches
them can: the front and the side of the box meet the floor at their feet and the top at their heads, and no single offset
between them and the component explains both.

For each component, its *supports* are the smaller components that touch it in a run of edges (`quotientgraph.beyond.runs`).
Supports that touch each other keep their places among themselves, so all their runs state offsets of the component in one
frame; so do supports that tell the same series of offsets, like the walls on both sides of a flight of stairs. A *layer* is
an offset that at least two supports state. Where there are several layers, each is the convex hull of the pixels at which
it was stated, or, if that is open on one side, the hull and its mirror image at the middle of that side: a face of which
half the outline was seen. A layer that its own outline does not enclose is the ground on which the others stand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..graph.quotient import Quotient
from ..method.cutedges import CutEdges
from .face_outlines import Sheet
from .runs import Runs

_LEAST_VOTES = 16  # edges of a run
_LEAST_LAYER = 40  # edges of a layer
_TOLERANCE = 0.1  # pixels by which intervals are widened
_SAME = 0.7  # pixels within which two offsets are one
_WHOLE = 0.6  # part of a border that a run must hold for two supports to hang together
_MOST_LAYERS = 24  # offsets of one support beyond which they are no series
_PASSES = 4


@dataclass(frozen=True)
class _Layer:
    """An offset of a component in the frame of its supports: who states it, with how many edges, at which pixels."""

    offset: float
    half: float
    votes: dict[int, int]
    seeds: dict[int, np.ndarray]

    def meets(self, other: _Layer, same: float) -> bool:
        return abs(self.offset - other.offset) < same + self.half + other.half

    def moved(self, by: float) -> _Layer:
        return replace(self, offset=self.offset + by)

    def total(self, supports: set[int] | None = None) -> int:
        return sum(votes for support, votes in self.votes.items() if supports is None or support in supports)

    def pixels(self, supports: set[int]) -> np.ndarray:
        return np.unique(np.concatenate([self.seeds[support] for support in supports & set(self.seeds)]))

    def shared(self, other: _Layer) -> set[int]:
        """Supports that state both layers; none unless they are two or more, and have votes enough for both."""
        both = set(self.votes) & set(other.votes)
        enough = len(both) > 1 and min(self.total(both), other.total(both)) >= _LEAST_LAYER
        return both if enough else set()


def separated(graph: Quotient, potential: np.ndarray, scale: float | np.ndarray) -> tuple[Quotient, CutEdges]:
    """The graph with parallel faces that share a component set apart, where other components tell them apart.

    The edges between such faces are silent cut edges of the new graph: nothing is known of the jump across them.

    Parameters
    ----------
    potential : (n_pixels,) float64
        Each component filled on its own.
    scale : float or (n_pixels,) float64
        As in `CutEdges.from_graph`.

    Returns
    -------
    Quotient, CutEdges
        The graph, itself if there was nothing to separate, and its cut edges at the potential.
    """
    cut = CutEdges.from_graph(graph, potential, scale)
    telling, touched = graph.telling, None
    for _ in range(_PASSES):
        labels, touched = _split(graph, cut, potential, touched)
        if not touched:
            break
        rank = _by_first_pixel(labels)
        graph, touched = graph.divided(rank[labels]), set(rank[list(touched)].tolist())
        graph = replace(graph, silent=np.setdiff1d(graph.cut, telling, assume_unique=True))
        cut = CutEdges.from_graph(graph, potential, scale)
    return graph, cut


def _split(
    graph: Quotient, cut: CutEdges, potential: np.ndarray, candidates: set[int] | None
) -> tuple[np.ndarray, set[int]]:
    """(n_pixels,) new labels, in any order, and those to look at again: what was separated, and its neighbours.

    `candidates` are the components to look at; None: all.
    """
    told = _Told(graph, cut, Runs.find(graph, cut, _LEAST_VOTES, most=20, tolerance=_TOLERANCE))
    labels, n = graph.labels.copy(), graph.n_components
    parted: set[int] = set()
    touched: set[int] = set()
    for component in told.candidates():
        if candidates is not None and component not in candidates:
            continue
        if parted & told.neighbours(component):
            continue  # what they tell is different once the other is separated; see the next pass
        frames = [frame for frame in _joined(told.frames(component), told.same) if _telling(frame)]
        if frames:
            sheet = Sheet(graph, potential, np.flatnonzero(graph.labels == component))
            part = _parts(sheet, frames)
            if part.any():
                pieces = sheet.connected(part)
                labels[sheet.members] = np.where(pieces == 0, component, n - 1 + pieces)
                touched |= {component, *range(n, n + int(pieces.max())), *told.neighbours(component)}
                n += int(pieces.max())
                parted.add(component)
    return labels, touched


def _by_first_pixel(labels: np.ndarray) -> np.ndarray:
    """(n_labels,) int32 numbers by first pixel."""
    first = np.empty(int(labels.max()) + 1, dtype=np.int32)
    first[labels[::-1]] = np.arange(len(labels) - 1, -1, -1, dtype=np.int32)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank


def _telling(frame: list[_Layer]) -> bool:
    """Whether two layers of a frame are stated by the same supports."""
    return any(a.shared(b) for k, a in enumerate(frame) for b in frame[:k])


class _Told:
    """The runs of a graph, by the components they join."""

    def __init__(self, graph: Quotient, cut: CutEdges, runs: Runs) -> None:
        sure = np.flatnonzero(2 * runs.aside <= runs.votes)
        self.graph, self.cut, self.runs = graph, cut, runs
        self.size = np.bincount(graph.labels)
        self.tail, self.head = cut.pattern.tail[runs.pair], cut.pattern.head[runs.pair]
        self.whole = runs.votes >= _WHOLE * np.diff(cut.start)[runs.pair]
        self.same = _SAME / float(np.median(graph.pixels.focal_at(cut.number))) if len(sure) else 0.0
        self.edges = np.argsort(runs.of, kind="stable")
        self.first = np.searchsorted(runs.of[self.edges], np.arange(len(runs.pair) + 1))
        self.at: dict[int, list[int]] = {}
        for run in sure.tolist():
            for component in (int(self.tail[run]), int(self.head[run])):
                self.at.setdefault(component, []).append(run)

    def candidates(self) -> list[int]:
        """Components with enough runs to be told apart, the largest first."""
        return sorted((c for c, runs in self.at.items() if len(runs) >= 4), key=lambda c: -self.size[c])

    def other(self, run: int, component: int) -> int:
        return int(self.head[run] if self.tail[run] == component else self.tail[run])

    def neighbours(self, component: int) -> set[int]:
        return {self.other(run, component) for run in self.at[component]}

    def seeds(self, run: int, component: int) -> np.ndarray:
        """Pixels of the component at the edges of a run."""
        pixels = self.graph.pixels
        number = self.cut.number[self.edges[self.first[run] : self.first[run + 1]]]
        tail, head = pixels.tail[number], pixels.head[number]
        return np.unique(np.where(self.graph.labels[tail] == component, tail, head))

    def frames(self, component: int) -> list[list[_Layer]]:
        """What supports that hang together state of a component, a list of layers each."""
        supports = {c for c in self.neighbours(component) if self.size[c] < self.size[component]}
        inner = {run for c in supports for run in self.at[c] if self.whole[run] and self.other(run, c) in supports}
        place = _places(supports, sorted(inner, key=lambda run: -self.runs.votes[run]), self)
        frames: dict[int, list[_Layer]] = {}
        for run in self.at[component]:
            support = self.other(run, component)
            if support in supports:
                root, at, room = place[support]
                sign = 1.0 if self.tail[run] == component else -1.0
                layer = _Layer(
                    sign * float(self.runs.middle[run]) + at,
                    float(self.runs.half[run]) + room,
                    {support: int(self.runs.votes[run])},
                    {support: self.seeds(run, component)},
                )
                frames.setdefault(root, []).append(layer)
        return [_merged(layers, self.same) for layers in frames.values()]


def _places(nodes: set[int], runs: list[int], told: _Told) -> dict[int, tuple[int, float, float]]:
    """Of each node the root of its tree, its place against that, and the room it has; trees follow the runs in order."""
    parent = {node: (node, 0.0, 0.0) for node in nodes}

    def root(node: int) -> tuple[int, float, float]:
        at, room = 0.0, 0.0
        while parent[node][0] != node:
            node, step, loose = parent[node]
            at, room = at + step, room + loose
        return node, at, room

    for run in runs:
        (a, at_a, _), (b, at_b, _) = root(int(told.tail[run])), root(int(told.head[run]))
        if a != b:
            parent[a] = (b, float(told.runs.middle[run]) - at_a + at_b, float(told.runs.half[run]))
    return {node: root(node) for node in nodes}


def _merged(layers: list[_Layer], same: float) -> list[_Layer]:
    """Layers of one frame, those of equal offset made one."""
    out: list[_Layer] = []
    for layer in sorted(layers, key=lambda layer: -layer.total()):
        for k, found in enumerate(out):
            if found.meets(layer, same):
                ours, theirs = found.total(), layer.total()
                votes, seeds = dict(found.votes), dict(found.seeds)
                for support in layer.votes:
                    votes[support] = votes.get(support, 0) + layer.votes[support]
                    seeds[support] = np.union1d(seeds.get(support, layer.seeds[support]), layer.seeds[support])
                middle = (found.offset * ours + layer.offset * theirs) / (ours + theirs)
                out[k] = _Layer(middle, min(found.half, layer.half), votes, seeds)
                break
        else:
            out.append(layer)
    return out


def _joined(frames: list[list[_Layer]], same: float) -> list[list[_Layer]]:
    """Frames with two layers of their own as they are; others joined where they state the same series of offsets."""
    out = [frame for frame in frames if _telling(frame)]
    series: list[list[_Layer]] = []
    for frame in sorted((f for f in frames if 1 < len(f) <= _MOST_LAYERS and not _telling(f)), key=lambda f: -len(f)):
        offsets = np.sort([layer.offset for layer in frame])
        # Four offsets in common are not chance, even if they are not quite the same; two must be the same.
        for least, room in ((4, max(same, 0.25 * float(np.diff(offsets).min()))), (2, same)):
            found, by = _common(frame, series, least, room)
            if found >= 0:
                series[found] = _merged(series[found] + [layer.moved(by) for layer in frame], room)
                break
        else:
            series.append(frame)
    return out + series


def _common(frame: list[_Layer], series: list[list[_Layer]], least: int, room: float) -> tuple[int, float]:
    """The series with which a frame has most offsets in common, and by how much to move it; −1 if too few.

    Steps of equal height have as many in common one step further; there the lengths of the borders tell.
    """
    offset, half, votes = np.array([(layer.offset, layer.half, layer.total()) for layer in frame]).T
    best, found, by = (least - 1, np.inf), -1, 0.0
    for k, others in enumerate(series):
        other, loose, theirs = np.array([(layer.offset, layer.half, layer.total()) for layer in others]).T
        apart = other - offset[:, None]
        shift = apart.ravel()
        met = np.abs(apart - shift[:, None, None]) < room + half[:, None] + loose
        hits = met.any(axis=2)
        count = np.where(2 * (hits @ votes) < votes.sum(), 0, hits.sum(axis=1))
        alike = (met * np.minimum(votes[:, None], theirs)).max(axis=2).sum(axis=1)
        top = np.lexsort((alike, count))[-1]
        if (count[top], alike[top]) > best:
            best, found, by = (count[top], alike[top]), k, float(shift[top])
    return found, by


def _parts(sheet: Sheet, frames: list[list[_Layer]]) -> np.ndarray:
    """(n_members,) which part each pixel of a component falls into; 0 is the ground."""
    part, n_parts, grounded = np.zeros(len(sheet.members), dtype=np.int32), 0, False
    for frame in sorted(frames, key=lambda frame: -sum(layer.total() for layer in frame)):
        partners = [[other for other in frame if other is not layer and layer.shared(other)] for layer in frame]
        seeds: dict[int, np.ndarray] = {}
        outlines: dict[int, np.ndarray | None] = {}
        for layer, others in zip(frame, partners):
            if others:
                by = set().union(*(layer.shared(other) for other in others))
                foreign = np.concatenate([other.pixels(by) for other in others])
                seeds[id(layer)] = np.searchsorted(sheet.members, layer.pixels(by))
                outlines[id(layer)] = sheet.outline(seeds[id(layer)], np.searchsorted(sheet.members, foreign))
        for layer, others in zip(frame, partners):
            grounds = [other for other in others if outlines[id(other)] is None]
            grounded |= bool(grounds)
            outline = outlines.get(id(layer))
            if outline is None:
                continue
            if grounds:  # a face stands out of its ground, and the ground is as sure as the face
                ground = max(grounds, key=lambda other: other.total(layer.shared(other)))
                by = layer.shared(ground)
                if layer.offset >= ground.offset or 2 * ground.total(by) < layer.total(by):
                    continue
            n_parts += 1
            face = sheet.inside(outline, seeds[id(layer)])
            part[face[part[face] == 0]] = n_parts
    return part if grounded or not n_parts else sheet.nearest(part)
