"""Shared axes: parts of a turned body that hide one another are placed by the axis that they have in common.

The bowl of a goblet hides the top of its stem. Along the outline of the bowl the normals are perpendicular to the rays, so
any offset between bowl and stem fits, and the descent leaves the stem at the bowl's outline. But bowl, stem and foot are
turned about one axis, and each of them shows where it is (`turned_parts`). If the axes of two parts can be made one line by
moving one part along its rays, and that is no accident (`coaxial`), they are placed there.

Parts are groups of components that surely touch: where the interval of jumps is narrow and the result lies in it. A group
most of which is turned about an axis, and the rest of which is not, is divided, since a rim may seem to touch what it hides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laplacians.core.arrays import gathered, to_device, to_host
from laplacians.core.edges import sorted_by_key

from ..geometry.jumps import crease_jumps
from ..geometry.normals import rows_and_columns
from ..geometry.rays import rays_at
from ..geometry.wrapping import Wrap
from ..graph.quotient import Quotient
from ..graph.selection import connected_components
from ..method.cutedges import Borders, CutEdges
from ..method.optimize import Shared
from ..method.scales import Scales
from .coaxial import SharedAxis
from .region_words import part_of
from .turned_parts import TurnedParts, n_sample


@dataclass(frozen=True)
class _Constants:
    """Chosen on random turned objects, seeds for tuning, and five DiLiGenT objects, of which the goblet is turned."""

    narrow: float = 0.3  # pixels of jump that an edge may leave open to be firm
    gap: float = 0.1  # pixels by which the result may miss the interval of an edge
    firm: float = 0.3  # share of such edges that makes a border firm
    fewest: int = 100  # pixels of a part, and their share of all
    least: float = 0.01
    most: int = 12  # parts that are looked at, the largest ones
    turned: float = 0.6  # share of the pixels of a part whose normals meet its axis
    whole: float = 0.95  # share from which on a part is not divided
    move: float = 0.05  # spans: parts that have to move by less are in their place already


CHOSEN = _Constants()
FARTHEST = 1e100  # beyond, products of coordinates would overflow


@dataclass(frozen=True, eq=False)
class _Edges:
    """The cut edges of a graph at a potential.

    Attributes
    ----------
    open : (n_cut,) float64
        Width of the interval of jumps, in pixels.
    touches : (n_cut,) bool
        Whether the jump lies in the interval, but for the tolerance.
    firm : (n_pairs,) bool
        The borders where two components surely touch.
    """

    open: np.ndarray
    touches: np.ndarray
    firm: np.ndarray

    @classmethod
    def of(cls, graph: Quotient, cut: CutEdges | Borders, potential: np.ndarray) -> _Edges:
        pixels, start = graph.pixels, cut.start
        tail, head = pixels.tail[cut.number], pixels.head[cut.number]
        focal = pixels.focal_at(cut.number)
        one, other = crease_jumps(pixels.map, tail, head, 0.0, 1.0)  # a crease elsewhere lies between them
        middle = 0.5 * (one + other)
        wide = np.abs(one - other) * focal
        touches = np.abs(potential[tail] - potential[head] - middle) * focal <= 0.5 * wide + CHOSEN.gap
        return cls(wide, touches, firm_borders(touches & (wide <= CHOSEN.narrow), start))


def firm_borders(certain: np.ndarray, start: np.ndarray) -> np.ndarray:
    """(n_pairs,) bool: where two components surely touch; `certain` are the edges that say so, by pair from `start` on."""
    n_firm = np.add.reduceat(certain, start[:-1], dtype=np.int64)
    return n_firm >= np.maximum(CHOSEN.firm * np.diff(start), 1)


def large_groups(size: np.ndarray) -> np.ndarray:
    """The numbers of the largest groups, the largest first; `size` (n_groups,) is in pixels."""
    names = np.flatnonzero(size >= max(CHOSEN.fewest, CHOSEN.least * size.sum()))
    return names[np.argsort(-size[names], kind="stable")][: CHOSEN.most]


def turned_of(
    names: np.ndarray, points: np.ndarray, normals: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, TurnedParts]:
    """Those of the named groups that are turned, and their axes, from a sample of each as `TurnedParts.fit` takes it."""
    parts = TurnedParts.fit(points, normals, labels)
    turned = parts.share >= CHOSEN.turned
    return names[turned], parts.taken(turned)


def share_axes(scales: Scales) -> Shared | None:
    """Place the turned parts of a reconstruction on the axes that they have in common; None if there are none to move."""
    graph = scales.graph
    if not len(scales.cut.number) or graph.pixels.map.wrap != Wrap():
        return None
    # From a device only the potential is fetched; the borders are those of the graph.
    cut: CutEdges | Borders = scales.cut if scales.xp is np else Borders.from_graph(graph)
    potential = to_host(scales.potential)
    edges = _Edges.of(graph, cut, potential)
    group = _united(graph, cut, edges.firm)
    names, parts = _turned_groups(graph, potential, group)
    if (parts.share < CHOSEN.whole).any():
        whole, group = group, _divided(graph, cut, edges, potential, group, names, parts)
        if not np.array_equal(group, whole):
            names, parts = _turned_groups(graph, potential, group)
    if len(names) < 2:
        return None
    size = np.bincount(group, graph.sizes)
    piece = np.empty(len(size), dtype=np.int64)
    piece[group] = graph.pixels.pieces[graph.first_pixels]
    clusters = coaxial_clusters(names, parts, size, piece, graph.pixels.map.camera.central)
    if not any_moves(clusters):
        return None
    shift = _followed(cut, edges, group, len(size), clusters)
    shift -= _most_common(shift, size)
    scales.shift = scales.shift + to_device(shift[group], scales.xp)
    text = (
        f"{part_of(graph.pixels.map, shift[group][graph.labels] != 0)} was placed by an axis of revolution that it shares "
        'with what hides it, because borders do not tell its depth; axes="none" does without the axis'
    )
    return Shared(_pairs(graph, group, clusters), text, *_bodies(group, clusters))


def _pairs(graph: Quotient, group: np.ndarray, clusters: list[dict[int, float]]) -> tuple[tuple[int, int], ...]:
    """A pixel of the first group of each cluster with one of each other group, both in the largest components of these."""
    order = np.lexsort((np.arange(len(group)), -graph.sizes, group))
    largest = order[np.searchsorted(group[order], np.arange(group.max() + 1))]
    pixel = graph.first_pixels[largest]
    out = []
    for moves in clusters:
        first, *others = moves
        out += [(int(pixel[first]), int(pixel[other])) for other in others]
    return tuple(out)


def _bodies(group: np.ndarray, clusters: list[dict[int, float]]) -> tuple[np.ndarray, np.ndarray]:
    """(n_components,) the part and the body of each component, as in `Shared`: a group, and a cluster of groups."""
    n = len(group)
    part, body = np.arange(n), np.arange(n)
    for k, moves in enumerate(clusters):
        own = np.isin(group, list(moves))
        part[own], body[own] = n + group[own], 2 * n + k
    return part, body


def _most_common(value: np.ndarray, weight: np.ndarray) -> float:
    """The value (n,) that has the most weight (n,)."""
    values, number = np.unique(value, return_inverse=True)
    return float(values[np.bincount(number, weight).argmax()])


def _united(graph: Quotient, cut: CutEdges | Borders, firm: np.ndarray) -> np.ndarray:
    """(n_components,) groups of components that are joined by the chosen pairs."""
    return connected_components(graph.n_components, cut.pattern.tail[firm], cut.pattern.head[firm])


def _turned_groups(graph: Quotient, potential: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, TurnedParts]:
    """The numbers of the large groups that are turned, the largest first, and their axes; none if there is but one."""
    size = np.bincount(group, graph.sizes)
    names = large_groups(size)
    if len(names) < 2:
        return names[:0], TurnedParts.none()
    place = np.full(len(size), len(names), dtype=np.int32)
    place[names] = np.arange(len(names))
    order, end = sorted_by_key(gathered(place[group], graph.labels), len(names) + 1)
    begin, end = np.append(0, end[:-2]), end[:-1]
    chosen = order[np.linspace(begin, end - 1, n_sample(), axis=1).astype(np.int64)]
    points = _points(graph, potential, chosen)
    if not np.abs(points).max() < FARTHEST:
        return names[:0], TurnedParts.none()
    return turned_of(names, points, graph.pixels.map.normals[chosen], graph.labels[chosen])


def _points(graph: Quotient, potential: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    """(..., 3) points of the surface at pixels (...), in any unit."""
    seen = graph.pixels.map
    row, column = rows_and_columns(seen.position[pixels], seen.shape[1])
    if not seen.camera.central:
        return np.stack([column, row, potential[pixels]], axis=-1).astype(np.float64)
    rays = np.stack(rays_at(seen.camera.coordinates(seen.shape), row, column), axis=-1)
    with np.errstate(over="ignore"):
        return np.exp(potential[pixels] - potential.mean())[..., None] * rays


def _divided(
    graph: Quotient,
    cut: CutEdges | Borders,
    edges: _Edges,
    potential: np.ndarray,
    group: np.ndarray,
    names: np.ndarray,
    parts: TurnedParts,
) -> np.ndarray:
    """(n_components,) groups, of which the turned ones are divided into what meets their axis and what does not."""
    apart = np.zeros(graph.n_components, dtype=np.bool_)
    for k in np.flatnonzero(parts.share < CHOSEN.whole):
        pixels = np.flatnonzero(group[graph.labels] == names[k])
        met = parts.meets(int(k), _points(graph, potential, pixels), graph.pixels.map.normals.take(pixels, axis=0))
        share = np.bincount(graph.labels[pixels], met, minlength=graph.n_components) / graph.sizes
        apart |= (group == names[k]) & (share < 0.5)
    tail, head = cut.pattern.tail, cut.pattern.head
    return _united(graph, cut, edges.firm & (apart[tail] == apart[head]))


def coaxial_clusters(
    names: np.ndarray, parts: TurnedParts, size: np.ndarray, piece: np.ndarray, central: bool
) -> list[dict[int, float]]:
    """Groups that have an axis in common and the shift of each, in clusters, the largest group of each first; it stays.

    Parameters
    ----------
    names : (n,) integers
        The groups that are turned.
    parts : TurnedParts
        Their axes.
    size, piece : (n_groups,)
        Pixels of each group, and the connected piece of the map in which it lies.
    central : bool
        Whether rays come from one point.
    """
    shared: dict[int, dict[int, SharedAxis]] = {i: {} for i in range(len(names))}
    for i, j in SharedAxis.candidates(parts):
        if piece[names[i]] == piece[names[j]]:
            found = SharedAxis.of(parts, i, j, central)
            if found.certain:
                shared[i][j], shared[j][i] = found, found
    out = []
    while any(shared.values()):
        # The part that shares its axis with the most pixels leads; of equal ones that whose axis is determined best.
        rank = {
            i: (size[names[[i, *others]]].sum(), -sum(axis.loose for axis in others.values()), -i)
            for i, others in shared.items()
            if others
        }
        i = max(rank, key=rank.__getitem__)
        place = {i: 0.0} | {j: axis.shift if i < j else -axis.shift for j, axis in shared[i].items()}
        doubt = {i: 0.0} | {j: axis.span * max(axis.loose, CHOSEN.move) for j, axis in shared[i].items()}
        rest = min(place)
        moves = {j: place[j] - place[rest] for j in sorted(place)}
        out.append(
            {int(names[j]): move if abs(move) > max(doubt[j], doubt[rest]) else 0.0 for j, move in moves.items()}
        )
        shared = {
            j: {k: axis for k, axis in others.items() if k not in place}
            for j, others in shared.items()
            if j not in place
        }
    return out


def any_moves(clusters: list[dict[int, float]]) -> bool:
    """Whether a group of `coaxial_clusters` has to be moved."""
    return any(move for moves in clusters for move in moves.values())


def _followed(
    cut: CutEdges | Borders, edges: _Edges, group: np.ndarray, n: int, clusters: list[dict[int, float]]
) -> np.ndarray:
    """(n,) shifts of all groups: the others follow what they touch most closely."""
    length = np.diff(cut.start)
    tail, head = (np.repeat(group[side], length) for side in (cut.pattern.tail, cut.pattern.head))
    kept = (tail != head) & edges.touches
    low, high = np.minimum(tail, head)[kept].astype(np.int64), np.maximum(tail, head)[kept]
    pair, number = np.unique(low * n + high, return_inverse=True)
    hold = np.bincount(number, 1 / (0.1 + edges.open[kept]))
    root, shift = np.arange(n), np.zeros(n)
    placed = np.zeros(n, dtype=np.bool_)
    for moves in clusters:
        for name, move in moves.items():
            placed[name], shift[name] = True, move

    def top(k: int) -> int:
        while root[k] != k:
            root[k] = root[root[k]]
            k = int(root[k])
        return k

    for k in np.argsort(-hold, kind="stable").tolist():
        a, b = top(int(pair[k] // n)), top(int(pair[k] % n))
        if a != b and not (placed[a] and placed[b]):
            root[b if placed[a] else a] = a if placed[a] else b
    return shift[[top(k) for k in range(n)]]
