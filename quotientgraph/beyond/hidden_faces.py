"""Faces that hide in a larger component because they are parallel to it.

The top of a table has the normal of the floor. Where the table hides nothing but floor behind its far edge, top and floor
are one component, and no step of the normals tells them apart. What shows are the ridges of the top, where the front of the
table falls away, and that the same front stands on the same component farther down. From the ridges the outline of the whole
top is guessed (`face_outlines`), and its pixels become a component of their own, which is known to be in front of the rest.
A window pane is the same the other way around: the ridges belong to the wall, and the face lies behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from laplacians.core.arrays import gathered
from laplacians.core.edges import sorted_by_key

from ..graph.quotient import Quotient
from .border_facts import PieceFacts
from .border_pieces import BorderPieces
from .face_fragments import divided_components, settle_fragments
from .face_planes import Outline, Plane, mark_inside
from .flatness import flat_components
from .ridges import LEAST_SIDES, RidgeChain, ridge_chains

_FEWEST, _SHARE = 30, 1 / 4000  # pixels of a face: at least so many, and this share of the picture
SCATTER = 1e-3  # of the normals of a flat component: crumbs that it absorbed count too
_APART = 3.0  # tolerances between two offsets that contradict each other
_PLAIN = 2.0  # log-odds from which on a component is taken to be in front of another one
_SURE = 6.0  # log-odds of what is known about the unseen edges of faces


@dataclass(frozen=True, eq=False)
class HiddenFaces:
    """Which pixels lie in hidden faces.

    Attributes
    ----------
    component : (n_pixels,) int32
        The component in which each pixel was found.
    face : (n_pixels,) int32
        Number of its face, 0 for the rest of a component.
    rank : (n_faces + 1,) int8
        1 for a face in front of the rest, −1 for one behind it; 0 for the rest.
    """

    component: np.ndarray
    face: np.ndarray
    rank: np.ndarray

    def divide(self, graph: Quotient) -> Quotient:
        """The graph, and the one that it was contracted from, with hidden faces as components of their own."""
        finest = graph if graph.below is None else graph.below
        out = finest.divided(divided_components(finest, self.face))
        if finest is graph:
            return out
        tail, head = (gathered(end, out.cut) for end in (graph.pixels.tail, graph.pixels.head))
        whole = gathered(self.face, tail) == gathered(self.face, head)
        whole &= gathered(graph.labels, tail) == gathered(graph.labels, head)
        return out.contract(out.cut[np.flatnonzero(whole)])

    def tell(self, borders: BorderPieces, contact: np.ndarray, front: np.ndarray) -> None:
        """Write what is known of the edges of hidden faces into log-odds of contact and of the left in front."""
        first = borders.start[:-1]
        left, right = borders.left[first], borders.right[first]
        unseen = (left >= 0) & (right >= 0) & (self.component[left] == self.component[right])
        contact[unseen] = -_SURE
        left, right = (self.rank[self.face[side[unseen]]].astype(np.float64) for side in (left, right))
        front[unseen] = _SURE * np.sign(left - right)


def hidden_faces(
    graph: Quotient,
    borders: BorderPieces,
    facts: PieceFacts,
    contact: np.ndarray,
    front: np.ndarray,
    tolerance: np.ndarray,
) -> HiddenFaces | None:
    """Find the faces that hide in flat components.

    Parameters
    ----------
    graph : Quotient
    borders, facts : BorderPieces, PieceFacts
    contact, front : (n_pieces,) float64
        Log-odds that the two sides touch, and that the left one is in front if they do not.
    tolerance : (n_pieces,) float64
        By how much a contact may miss the offset of its piece.

    Returns
    -------
    HiddenFaces or None
        None if there are none.
    """
    normal_map, least = graph.pixels.map, fewest_pixels(graph.sizes)
    found: list[tuple[np.ndarray, bool]] = []
    own, points = np.zeros(0, dtype=np.int64), np.zeros((0, 2))
    sorted_pixels = cache(partial(sorted_by_key, graph.labels, graph.n_components))

    def plane_of(component: int) -> Plane:
        nonlocal own, points
        order, end = sorted_pixels()
        own = order[end[component - 1] if component else 0 : end[component]]
        plane = Plane(component, normals[:, component] / len(own), normal_map.camera, normal_map.shape)
        points = plane.points(normal_map.position[own])
        return plane

    flat, normals = flat_components(graph, 3 * least, SCATTER)
    for outline in hidden_outlines(borders, facts, contact, front, tolerance, flat, plane_of):
        inside = np.zeros(len(own), dtype=np.bool_)
        mark_inside(points, outline.polygon, inside)
        place = np.searchsorted(own, outline.beside)
        if outline.is_face(inside[place].mean(), int(np.count_nonzero(inside)), len(own), least):
            inside[place] = outline.ahead
            found.append((own[np.flatnonzero(inside)], outline.ahead))
    if not found:
        return None
    number, rank = numbered_faces(found, np.ones(normal_map.n_pixels, dtype=np.int8), least)
    settle_fragments(graph, number)
    return HiddenFaces(graph.labels, number, rank) if number.any() else None


def fewest_pixels(size: np.ndarray) -> int:
    """Pixels that a hidden face has at least, in an image whose components have these sizes."""
    return max(_FEWEST, round(_SHARE * int(size.sum())))


def hidden_outlines(
    borders: BorderPieces,
    facts: PieceFacts,
    contact: np.ndarray,
    front: np.ndarray,
    tolerance: np.ndarray,
    flat: np.ndarray,
    plane_of: Callable[[int], Plane],
) -> Iterator[Outline]:
    """Outlines of what may be hidden faces, one component after the other.

    Parameters
    ----------
    borders, facts, contact, front, tolerance
        As for `hidden_faces`.
    flat : (n_components,) bool
        Components to look at.
    plane_of : callable
        Gives the plane of a component; it is called before the first outline of that component is returned.
    """
    plane: Plane | None = None
    contradicted = _contradicted(facts, contact, front, tolerance)
    for chain in ridge_chains(borders, facts, contact, flat):
        if not contradicted(chain):
            continue
        if plane is None or plane.component != chain.component:
            plane = plane_of(chain.component)
        outline = plane.outline_of(chain, borders, facts)
        if outline is not None:
            yield outline


def numbered_faces(found: list[tuple[np.ndarray, bool]], size: np.ndarray, least: int) -> tuple[np.ndarray, np.ndarray]:
    """Settle which face each pixel, or each group of pixels that lie in the same faces, belongs to.

    Parameters
    ----------
    found : list of ((n,) integers, bool)
        The groups in each face, and whether it lies in front of the rest.
    size : (n_groups,) integers
        Pixels of each group.
    least : int
        Pixels that a face has at least.

    Returns
    -------
    number : (n_groups,) int32
    rank : (n_faces + 1,) int8
        As in `HiddenFaces`.
    """
    number, rank = np.zeros(len(size), dtype=np.int32), [0]
    for inside, ahead in sorted(found, key=lambda one: size[one[0]].sum()):  # a small face may lie within a large one
        free = inside[number[inside] == 0]
        if size[free].sum() >= least:
            number[free] = len(rank)
            rank.append(1 if ahead else -1)
    return number, np.array(rank, dtype=np.int8)


def _contradicted(
    facts: PieceFacts, contact: np.ndarray, front: np.ndarray, tolerance: np.ndarray
) -> Callable[[RidgeChain], bool]:
    """A function that tells whether most ridges of a chain cannot belong to the same face as the rest of the component.

    What falls away behind a ridge lies below the plane of the component. If it also touches the component at quite another
    offset, or stands in front of it, then the component goes on at another level. Where the component plainly hides it,
    nothing follows.
    """
    # Few pieces belong to one pair, so that numbers are quicker than arrays.
    columns = facts.n, facts.left, contact, front, tolerance, facts.pair_offset
    n, left, touching, ahead, slack, offset = (column.tolist() for column in columns)

    def contradicted(chain: RidgeChain) -> bool:
        own, shown = chain.pieces.tolist(), 0.0
        for p in own:
            for q in facts.of_same_pair(p).tolist():
                if n[q] < LEAST_SIDES or q in own:
                    continue
                behind = ahead[q] if left[q] == chain.component else -ahead[q]
                told = touching[q] > -_PLAIN or behind < _PLAIN
                if told and abs(offset[q] - offset[p]) > _APART * (slack[q] + slack[p]):
                    shown += n[p]
                    break
        return shown >= 0.5 * sum(n[p] for p in own)

    return contradicted
