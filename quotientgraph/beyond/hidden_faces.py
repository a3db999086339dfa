"""Faces that hide in a larger component because they are parallel to it.

The top of a table has the normal of the floor. Where the table hides nothing but floor behind its far edge, top and floor
are one component, and no step of the normals tells them apart. What shows are the ridges of the top, where the front of the
table falls away, and that the same front stands on the same component farther down. From the ridges the outline of the whole
top is guessed (`face_outlines`), and its pixels become a component of their own, which is known to be in front of the rest.
A window pane is the same the other way around: the ridges belong to the wall, and the face lies behind it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laplacians.core.arrays import blocks
from laplacians.core.jit import kernel

from ..geometry.normals import NormalMap
from ..graph.quotient import Quotient
from .absorbing import flat_components
from .border_facts import PieceFacts
from .border_pieces import BorderPieces
from .face_fragments import divided_components, settle_fragments
from .face_outlines import signed_area, whole_outline
from .ridges import LEAST_SIDES, RidgeChain, ridge_chains

_FEWEST, _SHARE = 30, 1 / 4000  # pixels of a face: at least so many, and this share of the picture
_SCATTER = 1e-3  # of the normals of a flat component: crumbs that it absorbed count too
_MOST = 0.85  # share of a component beyond which a face is the component itself
_APART = 3.0  # tolerances between two offsets that contradict each other
_INSIDE, _OUTSIDE = 0.3, 0.5  # share of the pixels at the ridges inside the outline: least in front, most behind
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
        tail, head = graph.pixels.tail[out.cut], graph.pixels.head[out.cut]
        whole = (self.face[tail] == self.face[head]) & (graph.labels[tail] == graph.labels[head])
        return out.contract(out.cut[whole])

    def tell(self, borders: BorderPieces, contact: np.ndarray, front: np.ndarray) -> None:
        """Write what is known of the edges of hidden faces into log-odds of contact and of the left in front."""
        first = borders.start[:-1]
        left, right = borders.left[first], borders.right[first]
        unseen = (left >= 0) & (right >= 0) & (self.component[left] == self.component[right])
        contact[unseen] = -_SURE
        rank = self.rank[self.face].astype(np.float64)
        front[unseen] = _SURE * np.sign(rank[left] - rank[right])[unseen]


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
    pixels = graph.pixels
    least = max(_FEWEST, round(_SHARE * pixels.n_pixels))
    found: list[tuple[np.ndarray, bool]] = []
    plane: _Plane | None = None
    for chain in ridge_chains(borders, facts, contact, flat_components(graph, 3 * least, _SCATTER)):
        if not _contradicted(chain, facts, contact, front, tolerance):
            continue
        if plane is None or plane.component != chain.component:
            plane = _Plane(chain.component, pixels.map, np.flatnonzero(graph.labels == chain.component))
        face = plane.face_of(chain, borders, facts, least)
        if face is not None:
            found.append(face)
    if not found:
        return None
    number = np.zeros(pixels.n_pixels, dtype=np.int32)
    rank = [0]
    for inside, ahead in sorted(found, key=lambda one: len(one[0])):  # a small face may lie within a large one
        free = inside[number[inside] == 0]
        if len(free) >= least:
            number[free] = len(rank)
            rank.append(1 if ahead else -1)
    settle_fragments(graph, number)
    return HiddenFaces(graph.labels, number, np.array(rank, dtype=np.int8)) if number.any() else None


def _contradicted(
    chain: RidgeChain, facts: PieceFacts, contact: np.ndarray, front: np.ndarray, tolerance: np.ndarray
) -> bool:
    """Whether most of the ridges cannot belong to the same face as the rest of the component.

    What falls away behind a ridge lies below the plane of the component. If it also touches the component at quite another
    offset, or stands in front of it, then the component goes on at another level. Where the component plainly hides it,
    nothing follows.
    """
    pair, offset, shown = facts.pair, facts.pair_offset, 0.0
    behind = np.where(facts.left == chain.component, front, -front)
    others = (facts.n >= LEAST_SIDES) & ((contact > -_PLAIN) | (behind < _PLAIN))
    others[chain.pieces] = False
    for p in chain.pieces:
        q = np.flatnonzero(others & (pair == pair[p]))
        if (np.abs(offset[q] - offset[p]) > _APART * (tolerance[q] + tolerance[p])).any():
            shown += facts.n[p]
    return bool(shown >= 0.5 * facts.n[chain.pieces].sum())


class _Plane:
    """A flat component, with coordinates in its plane."""

    def __init__(self, component: int, normal_map: NormalMap, own: np.ndarray) -> None:
        self.component, self.own, self.shape = component, own, normal_map.shape
        normal = np.zeros(3)
        for part in blocks(len(own)):  # in the order of the pixels, so that it is the sum of all of them at once
            normal = np.vstack([normal, normal_map.normals[own[part]]]).sum(axis=0)
        normal = normal / len(own)
        self.normal = normal / np.linalg.norm(normal)
        along = np.cross(self.normal, np.eye(3)[np.argmin(np.abs(self.normal))])
        self.axes = np.stack([along, np.cross(self.normal, along)], axis=1) / np.linalg.norm(along)
        self.central = normal_map.camera.central
        self.rays = normal_map.camera.coordinates(normal_map.shape) if self.central else None
        self.points = np.empty((len(own), 2))
        for part in blocks(len(own)):
            row, column = np.divmod(normal_map.position[own[part]], self.shape[1])
            if self.rays is None:
                self.points[part] = self.locate(row.astype(np.float64), column.astype(np.float64))
            else:
                self.points[part] = self.along(np.stack([axis[row, column] for axis in self.rays], axis=1))

    def locate(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """(n, 2) coordinates in the plane of places in the picture."""
        if self.rays is None:
            steep = self.normal[2] if abs(self.normal[2]) > 1e-6 else -1e-6
            point = np.stack([column, row, -(self.normal[0] * column + self.normal[1] * row) / steep], axis=1)
            return point @ self.axes
        height, width = self.shape
        top = np.clip(np.floor(row), 0, max(height - 2, 0)).astype(np.intp)
        side = np.clip(np.floor(column), 0, max(width - 2, 0)).astype(np.intp)
        below, beside = np.minimum(top + 1, height - 1), np.minimum(side + 1, width - 1)
        down, along = row - top, column - side
        ray = np.stack(
            [
                (1 - down) * ((1 - along) * axis[top, side] + along * axis[top, beside])
                + down * ((1 - along) * axis[below, side] + along * axis[below, beside])
                for axis in (np.reshape(a, self.shape) for a in self.rays)
            ],
            axis=1,
        )
        return self.along(ray)

    def along(self, ray: np.ndarray) -> np.ndarray:
        """(n, 2) coordinates in the plane of where rays (n, 3) meet it."""
        against = ray @ self.normal
        against = np.where(np.abs(against) > 1e-6, against, -1e-6)
        return (ray / against[:, None]) @ self.axes

    def face_of(
        self, chain: RidgeChain, borders: BorderPieces, facts: PieceFacts, least: int
    ) -> tuple[np.ndarray, bool] | None:
        """The pixels of the face that a chain of ridges bounds, and whether it lies in front of the rest."""
        sides = [
            np.arange(borders.start[p], borders.start[p + 1])[:: 1 if facts.left[p] == self.component else -1]
            for p in chain.pieces
        ]
        walked = np.concatenate(sides)
        own_left = facts.left[np.repeat(chain.pieces, [len(s) for s in sides])] == self.component
        beside = np.where(own_left, borders.left[walked], borders.right[walked])
        row, column = chain.vertices.T
        height, width = self.shape
        leaving = (row < 1.5) | (column < 1.5) | (row > height - 2.5) | (column > width - 2.5)
        middle = np.clip(chain.vertices[len(row) // 2], 1, [max(height - 2, 1), max(width - 2, 1)])
        corner = self.locate(middle[0] + np.array([0, 0.5, 0]), middle[1] + np.array([0, 0, 0.5]))
        down, along = corner[1] - corner[0], corner[2] - corner[0]
        left = 1.0 if down[0] * along[1] > down[1] * along[0] else -1.0
        vertices = self.locate(row, column)
        points = self.locate(borders.row[walked], borders.column[walked])
        leaves = bool(leaving[0]), bool(leaving[-1])
        outline = whole_outline(vertices, points, chain.closed, leaves, left)
        if outline is None:
            return None
        chosen = np.zeros(len(self.own), dtype=np.bool_)
        mark_inside(self.points, outline, chosen)
        ahead = left * signed_area(outline) > 0
        place = np.searchsorted(self.own, beside)
        share = chosen[place].mean()
        if share < _INSIDE if ahead else share > _OUTSIDE:
            return None
        n = np.count_nonzero(chosen)
        if n < least or n > _MOST * len(chosen) or len(chosen) - n < 2 * least:
            return None
        chosen[place] = ahead
        return self.own[chosen], ahead


@kernel
def mark_inside(points, polygon, out):
    """Write which points lie inside a polygon: a ray from there crosses its sides an odd number of times.

    Points on a side lie outside, whichever way the picture is turned.
    """
    n = len(polygon)
    low, high = np.inf, -np.inf
    for k in range(n):
        low, high = min(low, polygon[k, 1]), max(high, polygon[k, 1])
    for i in range(len(points)):
        x, y = points[i, 0], points[i, 1]
        odd, on_side = False, False
        if low <= y <= high:
            for k in range(n):
                ax, ay = polygon[k - 1, 0], polygon[k - 1, 1]
                dx, dy = polygon[k, 0] - ax, polygon[k, 1] - ay
                if (ay > y) != (ay + dy > y) and x < ax + (y - ay) / dy * dx:
                    odd = not odd
                square, along = dx * dx + dy * dy, dx * (x - ax) + dy * (y - ay)
                if abs(dx * (y - ay) - dy * (x - ax)) <= 1e-9 * square and 0 <= along <= square:
                    on_side = True
        out[i] = odd and not on_side
