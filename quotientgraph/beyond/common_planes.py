"""Common planes: flat components with one normal that may be parts of one plane.

The legs of a chair divide the floor behind them into components that do not touch each other. If two of them are parts of
one plane, the plane tells the offset between them, whatever their borders say. But the top of a table has the normal of the
floor as well. Which of the two it is shows around them: parts of one plane lie close together, what lies between them hides
both, and where both touch a third surface, they meet it in one line.

A small network with fixed weights turns this into log-odds, as for the pieces of borders (`border_context`): that two
components are parts of one plane, and if not, that the left one is nearer than that. In joining they count as witnesses
beside the pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from laplacians.core.arrays import product, sums

from ..geometry.normals import NormalMap, rows_and_columns
from ..geometry.rays import rays_at
from .border_facts import group_medians
from .border_junctions import log_probabilities
from .flatness import FEWEST, LARGE
from .networks import Cues, Network, stored_networks

if TYPE_CHECKING:
    from .joining import Judgement, Witnesses


@dataclass(frozen=True)
class _Constants:
    """Chosen on furnished rooms and random scenes of the split "tune"; `likely` and `weight` with real views as well."""

    most: int = 40  # faces that are compared, the largest ones
    scatter: float = 1e-4  # of a flat face: half of the mean square of the angles by which it is bent, beside noise
    alike: float = 0.3  # degrees between normals that are one
    same: float = 0.004  # of the potential: by how much two lines that are one may differ, beside their own tolerances
    strong: float = 0.3  # weight of a contact that tells something
    likely: float = 0.8  # log-odds from which on two faces are taken for parts of one plane
    most_odds: float = 4.0  # log-odds beyond which they are not believed more
    miss: float = 0.003  # of the potential: by how much parts of one plane may miss it
    weight: float = 2.0  # of two such faces, where a piece of a border counts by its length


_CHOSEN = _Constants()
_SIDES, _STRETCH = 2**16, 16  # sides of pixels that tell the planes of faces, and how many of them follow each other
_NEAR = 0.003  # of the picture's diagonal: what is nearer is as good as adjacent


@dataclass(frozen=True, eq=False)
class FlatFaces:
    """Large flat components.

    Attributes
    ----------
    component : (n,) int64
    kind : (n,) int64
        Faces of one kind have one normal.
    height : (n,) float64
        Where the plane of a face lies, in the unit of the potential: two faces of a kind are parts of one plane if their
        shifts make up for the difference of their heights.
    """

    component: np.ndarray
    kind: np.ndarray
    height: np.ndarray

    @classmethod
    def of(cls, judged: Judgement) -> FlatFaces:
        """The faces of a graph, by the pixels along its borders, which are all that maps in tiles have at hand."""
        graph, borders = judged.graph, judged.borders
        seen, size = graph.pixels.map, graph.sizes
        large = np.flatnonzero(size >= max(FEWEST, LARGE * size.sum()))
        large = large[np.argsort(-size[large], kind="stable")][: _CHOSEN.most]
        number = np.full(graph.n_components, -1)
        number[large] = np.arange(len(large))
        pixel = np.concatenate([side[side >= 0] for side in (borders.left, borders.right)])
        of = number[graph.labels[pixel]]
        kept = np.flatnonzero(of >= 0)
        pixel, of = pixel[kept], of[kept]
        # Of very long borders some stretches, within which pixels are neighbours.
        if len(pixel) >= _SIDES:
            some = np.flatnonzero((np.arange(len(pixel)) // _STRETCH) % (1 + len(pixel) // _SIDES) == 0)
            pixel, of = pixel[some], of[some]
        # Sums over rows of three take ten times as long.
        normals = np.ascontiguousarray(seen.normals.take(pixel, axis=0).T)
        # Medians, because crumbs along the outlines have been absorbed.
        normal = np.stack([group_medians(of, axis, len(large)) for axis in normals], axis=1)
        normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-12)[:, None]
        bend = group_medians(of, 1 - (normals * normal.T.take(of, axis=1)).sum(axis=0), len(large))
        # Pixels that follow one another are mostly neighbours: they tell the noise.
        follows = np.flatnonzero((of[1:] == of[:-1]) & (pixel[1:] != pixel[:-1]))
        noise = 0.25 * np.square(normals[:, 1:] - normals[:, :-1]).sum(axis=0)[follows]
        noise = group_medians(of[1:][follows], noise, len(large))
        flat = (bend < _CHOSEN.scatter + 1.2 * noise) & (np.bincount(of, minlength=len(large)) > 0)
        kind = _kinds(normal, flat)
        common = np.stack([sums(kind + 1, size[large] * normal[:, axis], len(large) + 1) for axis in range(3)], axis=1)
        common /= np.maximum(np.linalg.norm(common, axis=1), 1e-12)[:, None]
        below = _below(seen, judged.potential[pixel], pixel, common.T.take(kind[of] + 1, axis=1))
        height = group_medians(of, below, len(large))
        return cls(large[flat], kind[flat], height[flat])


def _kinds(normal: np.ndarray, flat: np.ndarray) -> np.ndarray:
    """(n,) numbers of the kinds of normals (n, 3) of flat faces, each alike to the first one of its kind; −1 for others."""
    alike = product(normal, normal.T) > np.cos(np.radians(_CHOSEN.alike))
    kind, free = np.full(len(normal), -1), flat.copy()
    for k in range(len(normal)):
        if free[k]:
            members = free & alike[k]
            kind[members], free = kind.max() + 1, free & ~members
    return kind


def _below(seen: NormalMap, potential: np.ndarray, pixel: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """(n,) where planes through pixels with the given normals (3, n) lie, in the unit of the potential.

    It is the logarithm of their distance to the camera, or where a parallel ray through the origin meets them.
    """
    row, column = rows_and_columns(seen.position[pixel], seen.shape[1])
    if not seen.camera.central:
        return potential + (normal[0] * column + normal[1] * row) / np.minimum(normal[2], -1e-9)
    x, y, z = rays_at(seen.camera.coordinates(seen.shape), row, column)
    # A surface that is seen faces the camera, but not always by the common normal of its kind.
    return potential + np.log(np.maximum(-(x * normal[0] + y * normal[1] + z * normal[2]), 1e-9))


@dataclass(frozen=True, eq=False)
class PlanePairs:
    """Pairs of faces that may be parts of one plane.

    Attributes
    ----------
    left, right : (n,) int64
        Components.
    offset : (n,) float64
        Shift of left minus shift of right with which they are parts of one plane.
    cues, turned : (n, n_cues) float64
        What tells whether they are, as it is and with left and right exchanged.
    names : list of str
        Of the cues.
    """

    left: np.ndarray
    right: np.ndarray
    offset: np.ndarray
    cues: np.ndarray
    turned: np.ndarray
    names: list[str]

    @classmethod
    def of(cls, judged: Judgement, told: Witnesses) -> PlanePairs:
        """The pairs of faces of a graph, and what the pieces of its borders tell about them."""
        faces = FlatFaces.of(judged)
        one, other = np.nonzero(np.triu(faces.kind[:, None] == faces.kind, 1))
        left, right = faces.component[one], faces.component[other]
        offset = faces.height[other] - faces.height[one]
        found = Cues()
        if len(left):
            _cues_of_faces(judged, told, left, right, found)
            _cues_of_outlines(judged, told, left, right, found)
            for name, matrix in _lines_in_common(judged, told, faces).items():
                found.even(name, np.log1p(matrix[one, other]))
        return cls(left, right, offset, *found.columns(len(left)), found.names)

    def odds(self, network: Network | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Log-odds (n,) that two faces are parts of one plane, and that the left one is nearer if they are not."""
        return (network or _fitted()).odds(self.cues, self.turned)

    def witnesses(self, span: float) -> tuple[np.ndarray, ...]:
        """What faces that are likely parts of one plane say, as the fields of `joining.Witnesses` but for the last."""
        if not len(self.left):
            return (self.left, self.right, *np.zeros((6, 0)))
        contact, front = (np.clip(odds, -_CHOSEN.most_odds, _CHOSEN.most_odds) for odds in self.odds())
        kept = contact > _CHOSEN.likely
        states = log_probabilities(contact[kept], front[kept])
        tolerance, weight = (np.full(states.shape[1], value) for value in (_CHOSEN.miss * span, _CHOSEN.weight))
        return (self.left[kept], self.right[kept], self.offset[kept], tolerance, weight, *states)


@cache
def _fitted() -> Network:
    """The network with the weights that the library brings along, fitted by `quotientgraph.bench.plane_fit`."""
    (network,) = stored_networks("plane_network.json")
    return network


def _cues_of_faces(judged: Judgement, told: Witnesses, left: np.ndarray, right: np.ndarray, found: Cues) -> None:
    """How large the faces are, and how much of their outlines hides others, is hidden by them, or touches them."""
    n, size = judged.graph.n_components, judged.graph.sizes
    touch, left_front, right_front = (told.weight * np.exp(one) for one in told.states)
    ahead = np.bincount(told.left, left_front, n) + np.bincount(told.right, right_front, n)
    behind = np.bincount(told.left, right_front, n) + np.bincount(told.right, left_front, n)
    touching = np.bincount(told.left, touch, n) + np.bincount(told.right, touch, n)
    total = np.maximum(ahead + behind + touching, 1e-9)
    for name, cue in (
        ("size", np.log(size / size.sum())),
        ("ahead", ahead / total),
        ("behind", behind / total),
        ("touching", np.log1p(touching)),
    ):
        found.both(name, cue[left], cue[right])


def _cues_of_outlines(judged: Judgement, told: Witnesses, left: np.ndarray, right: np.ndarray, found: Cues) -> None:
    """How near the outlines of two faces come to each other, and how likely both are hidden at these places."""
    facts, n = judged.facts, judged.graph.n_components
    own = np.concatenate([told.left, told.right])
    hidden = np.exp(np.concatenate([told.right_front, told.left_front]))
    row, column = (np.tile(of[told.piece], 2) for of in (facts.row, facts.column))
    order = np.argsort(own, kind="stable")
    start = np.searchsorted(own[order], np.arange(n + 1))
    row, column, hidden = row[order], column[order], hidden[order]
    near, at = np.full(len(left), np.inf), np.zeros((2, len(left)))
    for k, (a, b) in enumerate(zip(left.tolist(), right.tolist())):
        i, j = slice(start[a], start[a + 1]), slice(start[b], start[b + 1])
        if start[a] == start[a + 1] or start[b] == start[b + 1]:
            continue
        apart = np.hypot(row[i, None] - row[j], column[i, None] - column[j])
        first, second = divmod(int(apart.argmin()), apart.shape[1])
        near[k], at[:, k] = apart[first, second], (hidden[i][first], hidden[j][second])
    diagonal = float(np.hypot(*judged.graph.pixels.map.shape))
    found.even("near", np.log(np.minimum(near / diagonal, 1.0) + _NEAR))
    found.both("hidden", *at)


def _lines_in_common(judged: Judgement, told: Witnesses, faces: FlatFaces) -> dict[str, np.ndarray]:
    """Two (n_faces, n_faces) matrices: how firmly two faces meet a third surface in one line, and in two.

    Where faces touch a surface, the offset of the contact tells where their planes cross it. The third surface may itself be
    several faces, if they are parts of one plane.
    """
    n = judged.graph.n_components
    number = np.full(n, -1)
    number[faces.component] = np.arange(len(faces.component))
    height = np.append(faces.height, 0.0)[number]
    # What is no face is a surface of its own.
    surface = np.where(number >= 0, np.append(faces.kind, 0)[number], len(faces.kind) + np.arange(n))
    own, third = np.concatenate([told.left, told.right]), np.concatenate([told.right, told.left])
    offset, tolerance = np.concatenate([told.offset, -told.offset]), np.tile(told.tolerance, 2)
    strength = np.tile(told.weight * np.exp(told.touch), 2)
    kept = (number[own] >= 0) & (strength > _CHOSEN.strong)
    own, third, offset, tolerance, strength = (of[kept] for of in (own, third, offset, tolerance, strength))
    place = offset + height[own] - height[third]
    key = surface[third] * (len(faces.kind) + 1) + surface[own]
    order = np.argsort(key, kind="stable")
    _, count = np.unique(key, return_counts=True)
    after = np.repeat(np.cumsum(count), count) - np.arange(len(key)) - 1  # of the same key, behind each in the order
    first = np.repeat(np.arange(len(key)), after)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(after) - after, after)
    first, second = order[first], order[second]
    slack = tolerance[first] + tolerance[second] + _CHOSEN.same * judged.span
    one = np.abs(place[first] - place[second]) <= slack
    least = np.minimum(strength[first], strength[second])
    a, b = number[own[first]], number[own[second]]
    out = {}
    for name, chosen in (("one_line", one), ("two_lines", ~one)):
        out[name] = np.zeros((len(faces.kind), len(faces.kind)))
        np.maximum.at(out[name], (a[chosen], b[chosen]), least[chosen])
        out[name] = np.maximum(out[name], out[name].T)
    return out
