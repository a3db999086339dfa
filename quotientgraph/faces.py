"""Parallel faces: components that hold several surfaces whose normals agree.

The top of a box has the normals of the floor around it, treads seen from above those of one another. Where such faces
share a border in the image they fall into one component, and no choice of scales can set them apart. What else touches
them can: the front and the side of the box meet the floor at their feet and the top at their heads, and no single offset
between them and the component explains both.

For each component, its *supports* are the smaller components that touch it in a run of edges (`quotientgraph.consensus`).
Supports that touch each other keep their places among themselves, so all their runs state offsets of the component in one
frame; so do supports that tell the same series of offsets, like the walls on both sides of a flight of stairs. A *layer* is
an offset that at least two supports state. Where there are several layers, each is the convex hull of the pixels at which
it was stated, or, if that is open on one side, the hull and its mirror image at the middle of that side: a face of which
half the outline was seen. A layer that its own outline does not enclose is the ground on which the others stand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .consensus import Runs
from .contact import focal_of
from .discontinuity import CutEdges
from .quotient import QuotientGraph

_LEAST_VOTES = 16  # edges of a run
_LEAST_LAYER = 40  # edges of a layer
_TOLERANCE = 0.1  # pixels by which intervals are widened
_SAME = 0.7  # pixels within which two offsets are one
_WHOLE = 0.6  # part of a border that a run must hold for two supports to hang together
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


def separated(graph: QuotientGraph, cut: CutEdges, potential: np.ndarray) -> QuotientGraph:
    """The graph with parallel faces that share a component set apart, where other components tell them apart.

    The edges between such faces are not cut edges of the new graph: nothing is known of the jump across them.

    Parameters
    ----------
    cut : CutEdges
        Those of the graph, at the potential.
    potential : (n_pixels,) float64
        Each component filled on its own.
    """
    for _ in range(_PASSES):
        labels = _split(graph, cut, potential)
        if labels is None:
            break
        split = QuotientGraph.from_labels(graph.pixels, graph.jump, labels)
        counts = np.zeros(graph.pixels.n_edges, dtype=bool)
        counts[graph.cut] = True
        graph = replace(graph, labels=split.labels, cut=split.cut[counts[split.cut]])
        cut = CutEdges.from_graph(graph, potential)
    return graph


def _split(graph: QuotientGraph, cut: CutEdges, potential: np.ndarray) -> np.ndarray | None:
    """(n_pixels,) new labels, or None if nothing is to be separated."""
    told = _Told(graph, cut, Runs.find(graph, cut, _LEAST_VOTES, most=20, tolerance=_TOLERANCE))
    labels = graph.labels.copy()
    parted: set[int] = set()
    for component in told.candidates():
        if parted & told.neighbours(component):
            continue  # what they tell is different once the other is separated; see the next pass
        frames = [frame for frame in _joined(told.frames(component), told.same) if _telling(frame)]
        if frames:
            members = np.flatnonzero(graph.labels == component)
            part = _parts(graph, potential, members, frames)
            if part.max() > 0:
                labels[members[part > 0]] = labels.max() + part[part > 0]
                parted.add(component)
    return labels if parted else None


def _telling(frame: list[_Layer]) -> bool:
    """Whether two layers of a frame are stated by the same supports."""
    return any(a.shared(b) for k, a in enumerate(frame) for b in frame[:k])


class _Told:
    """The runs of a graph, by the components they join."""

    def __init__(self, graph: QuotientGraph, cut: CutEdges, runs: Runs) -> None:
        sure = np.flatnonzero(2 * runs.aside <= runs.votes)
        self.graph, self.cut, self.runs = graph, cut, runs
        self.size = np.bincount(graph.labels)
        self.tail, self.head = cut.pattern.tail[runs.pair], cut.pattern.head[runs.pair]
        self.whole = runs.votes >= _WHOLE * np.diff(cut.start)[runs.pair]
        self.same = _SAME / float(np.median(focal_of(graph, cut))) if len(sure) else 0.0
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
    for frame in sorted((f for f in frames if len(f) > 1 and not _telling(f)), key=lambda frame: -len(frame)):
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
    """The series with which a frame has most offsets in common, and by how much to move it; −1 if too few."""
    every = sum(layer.total() for layer in frame)
    best, found, by = (least - 1, every), -1, 0.0
    for k, others in enumerate(series):
        for shift in {other.offset - layer.offset for layer in frame for other in others}:
            met = [layer for layer in frame if any(layer.moved(shift).meets(other, room) for other in others)]
            score = len(met), sum(layer.total() for layer in met)
            if score > best and 2 * score[1] >= every:
                best, found, by = score, k, shift
    return found, by


def _parts(graph: QuotientGraph, potential: np.ndarray, members: np.ndarray, frames: list[list[_Layer]]) -> np.ndarray:
    """(n_members,) which part each pixel of a component falls into; 0 is the ground."""
    plane, step = _in_plane(graph, potential, members)
    row, column = np.divmod(graph.pixels.map.position[members], graph.pixels.map.shape[1])
    row, column = row - row.min(), column - column.min()
    part, n_parts, grounded = np.zeros(len(members), dtype=np.int32), 0, False
    for frame in sorted(frames, key=lambda frame: -sum(layer.total() for layer in frame)):
        partners = [[other for other in frame if other is not layer and layer.shared(other)] for layer in frame]
        faces: dict[int, np.ndarray | None] = {}
        for layer, others in zip(frame, partners):
            if others:
                by = set().union(*(layer.shared(other) for other in others))
                own = np.searchsorted(members, layer.pixels(by))
                foreign = np.searchsorted(members, np.concatenate([other.pixels(by) for other in others]))
                face = _face(plane, own, foreign, step)
                faces[id(layer)] = None if face is None else _attached(row, column, face, own)
        for layer, others in zip(frame, partners):
            grounds = [other for other in others if faces[id(other)] is None]
            grounded |= bool(grounds)
            face = faces.get(id(layer))
            if face is None:
                continue
            if grounds:  # a face stands out of its ground, and the ground is as sure as the face
                ground = max(grounds, key=lambda other: other.total(layer.shared(other)))
                by = layer.shared(ground)
                if layer.offset >= ground.offset or 2 * ground.total(by) < layer.total(by):
                    continue
            n_parts += 1
            part[face & (part == 0)] = n_parts
    return part if grounded or not n_parts else _nearest(row, column, part)


def _in_plane(graph: QuotientGraph, potential: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, float]:
    """(n_members, 2) coordinates of a component's points in the plane that fits them best, and the size of a pixel."""
    at = graph.pixels.map
    points = at.camera.locate(at.position[members], at.camera.depth(potential[members]), at.shape)
    points = points - points.mean(axis=0)
    few = slice(None, None, max(1, len(points) // 2000))
    plane = points @ np.linalg.svd(points[few], full_matrices=False)[2][:2].T
    v, u = np.divmod(at.position[members[few]], at.shape[1])
    columns = np.column_stack([u, v, np.ones(len(u))])
    return plane, float(np.linalg.norm(np.linalg.lstsq(columns, plane[few], rcond=None)[0][:2], 2))


def _face(plane: np.ndarray, seeds: np.ndarray, foreign: np.ndarray, step: float) -> np.ndarray | None:
    """(n_members,) bool: the face that seeds enclose, without seeds of other layers in it; None if there is none."""
    from scipy.spatial import ConvexHull

    own, others = plane[seeds], plane[foreign]
    spread = np.linalg.svd(own - own.mean(axis=0), compute_uv=False)
    if len(spread) < 2 or spread[1] < 0.05 * spread[0]:
        return None
    hull = own[ConvexHull(own).vertices]
    within = _within(hull, plane, 0.5 * step)
    if within.sum() < 3 * len(own):
        return None
    whole = _mirrored(hull, own, step)
    for outline in (whole, hull):
        # Seeds of other layers may lie on the outline, not in the face.
        if outline is not None and _within(outline, others, -1.2 * step).sum() <= 0.2 * len(own):
            return within if outline is hull else _within(outline, plane, 0.5 * step)
    return None


def _within(polygon: np.ndarray, points: np.ndarray, margin: float) -> np.ndarray:
    """(n,) bool: points of a convex polygon (its vertices anticlockwise), or up to `margin` outside."""
    out = np.ones(len(points), dtype=bool)
    for a, b in zip(polygon, np.roll(polygon, -1, axis=0)):
        along = (b - a) / np.linalg.norm(b - a)
        out &= along[0] * (points[:, 1] - a[1]) - along[1] * (points[:, 0] - a[0]) >= -margin
    return out


def _mirrored(hull: np.ndarray, seeds: np.ndarray, step: float) -> np.ndarray | None:
    """A hull with one side open and narrowing away from it, with its mirror image at the middle of that side."""
    from scipy.spatial import ConvexHull

    after = np.roll(hull, -1, axis=0)
    sides = [k for k in range(len(hull)) if _is_open(hull[k], after[k], seeds, step)]
    if len(sides) != 1:
        return None
    a, b = hull[sides[0]], after[sides[0]]
    length = np.linalg.norm(b - a)
    along = (b - a) / length
    high = (hull - a) @ np.array([-along[1], along[0]])
    level = 0.75 * high.max()
    crossed = [
        (p + (level - h) / (g - h) * (q - p) - a) @ along
        for p, q, h, g in zip(hull, after, high, np.roll(high, -1))
        if (h - level) * (g - level) < 0
    ]
    if max(crossed) - min(crossed) > 0.75 * length:
        return None
    both = np.concatenate([hull, a + b - hull])
    return both[ConvexHull(both).vertices]


def _is_open(a: np.ndarray, b: np.ndarray, seeds: np.ndarray, step: float) -> bool:
    """Whether more than half of the side from a to b has no seed near it, all in one stretch."""
    length = np.linalg.norm(b - a)
    if length < 6 * step:
        return False
    along = (b - a) / length
    away = np.abs(along[0] * (seeds[:, 1] - a[1]) - along[1] * (seeds[:, 0] - a[0]))
    at = np.sort((seeds[away < 2.5 * step] - a) @ along)
    return bool(np.diff(np.concatenate([[0.0], at, [length]])).max() > 0.5 * length)


def _attached(row: np.ndarray, column: np.ndarray, face: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """What of a face hangs together with its seeds in the image."""
    from scipy.ndimage import label

    image = np.zeros((row.max() + 1, column.max() + 1), dtype=bool)
    image[row, column] = face
    pieces = label(image, np.ones((3, 3)))[0][row, column]
    return face & np.isin(pieces, pieces[seeds])


def _nearest(row: np.ndarray, column: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Parts without ground: each pixel that is in none goes to the nearest in the image; the first is numbered 0."""
    from scipy.ndimage import distance_transform_edt

    image = np.zeros((row.max() + 1, column.max() + 1), dtype=np.int32)
    image[row, column] = part
    nearest = distance_transform_edt(image == 0, return_distances=False, return_indices=True)
    return image[tuple(nearest)][row, column] - 1
