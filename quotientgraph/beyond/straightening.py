"""Straightening: a smooth error of the normals is found by the faces that it bends, and taken out.

Networks estimate normals with errors of some degrees that change slowly over the image. Flat faces look bent then, their
borders seem to drift apart, and nothing fits. But such an error is one field for the whole image, while faces of all
directions show what it does. It is taken to *pull* every normal towards some vector p and to *turn* it about some vector t,

    δn = P(p + t × n),    P = 1 − n nᵀ,

where p and t are cubic splines over the image. They are the least ones, and the smoothest, with which every large component
has one normal, as far as it is flat at all, and with which the creases of faces run along the borders that are seen.

The normals are changed only if their bend comes from such a field. Hardly any face is flat before, and a notable part of the
image is flat after. The field that is found from some of the faces flattens others that it was not told of; what is found
from surfaces that are truly curved says little about others. And ridges, which touch for sure, contradict the normals before
and agree better with them after; on an exact map, however curved, they agree with the normals as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from laplacians.core.arrays import product

from ..geometry.jumps import planar
from ..geometry.normals import NormalMap
from ..graph.quotient import Quotient, jumps_of
from .absorbing import absorbed
from .crease_lines import CreaseLines
from .flatness import Faces, large_components

_Q = TypeVar("_Q", bound=Quotient)


@dataclass(frozen=True)
class _Constants:
    """Chosen on the random scenes of the split "tune", with errors of both kinds."""

    intervals: int = 4  # of the splines, across the longer side of the image
    cells: int = 32  # across the longer side: the pixels of a face in one of them count as one
    smooth: float = 1e-3  # weight of second differences, and of the size of p and t, in their mean squares
    small: float = 1e-2
    creases: float = 0.1  # weight of all creases against that of all faces
    valleys: float = 0.3  # weight of other creases against that of ridges, because some of them are none
    most_sides: float = 80.0  # of a piece that count
    widest: float = 4.0  # degrees by which a face may be bent, or a crease be off, in the first round and in the last
    narrowest: float = 0.5
    rounds: int = 8
    parts: int = 4  # of the faces, each of which is left out once
    told: float = 0.8  # part of the bend of such faces that may be left: 0.93 and more is on exact maps, else 0.3
    bent: tuple[float, float] = (0.25, 8.0)  # degrees by which faces are bent that are asked
    contradicted: float = 1.0  # errors by which ridges miss their lines before, at least,
    better: float = 0.75  # and the part of it that may be left afterwards


_CHOSEN = _Constants()


def straightened(graph: _Q) -> _Q | None:
    """The graph of the same pixels and components with a smooth error taken out of its normals.

    Parameters
    ----------
    graph : Quotient
        Q0, whose jumps are planar.

    Returns
    -------
    Quotient or None
        With a warning of what was done; None if that does not explain why faces are bent.
    """
    whole = absorbed(graph)
    lines = CreaseLines.from_graph(whole)
    before = lines.misdirection(lines.misses)
    if before < _CHOSEN.contradicted:
        return None
    field = _Spline(graph.pixels.map.shape)
    faces, creases = _faces(whole, field), _Creases.of(lines, field)
    values = _fitted(field, faces, creases, faces.share)
    after = lines.misdirection(lines.misses + product(creases.matrix, values))
    if after > _CHOSEN.better * before or _left_of_others(field, faces, creases) > _CHOSEN.told:
        return None
    straight = _applied(graph.pixels.map, field, values)
    pixels = replace(graph.pixels, map=straight)
    found = replace(graph, pixels=pixels, jump=jumps_of(pixels, planar))
    if not Faces.of_graph(found).notable:
        return None
    text = (
        f"the normals have a smooth error of about {straight.straightened:.1f}°, as networks make it, which bends flat "
        'faces and turns their edges; it was taken out (straightening="none" leaves it in)'
    )
    return replace(found, warnings=(*graph.warnings, text))


class _Spline:
    """Cubic splines over an image, in equal intervals; a field of q numbers has n·q coefficients.

    Parameters
    ----------
    shape : (H, W)
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        self.intervals = [max(1, round(_CHOSEN.intervals * n / max(shape))) for n in shape]
        self.n = int(np.prod([k + 3 for k in self.intervals]))

    def along(self, axis: int, place: np.ndarray) -> np.ndarray:
        """(m, k) values of the splines of one axis at places along it, in pixels."""
        n, of = self.intervals[axis], np.clip((place + 0.5) / self.shape[axis], 0, 1)
        first = np.minimum((n * of).astype(np.intp), n - 1)
        u = n * of - first
        values = (1 - u) ** 3, 4 - 6 * u**2 + 3 * u**3, 1 + 3 * u + 3 * u**2 - 3 * u**3, u**3
        out = np.zeros((len(place), n + 3))
        for k, value in enumerate(values):
            out[np.arange(len(place)), first + k] = value / 6
        return out

    def at(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """(m, n) values of all splines at places in the image."""
        return np.einsum("mi,mj->mij", self.along(0, row), self.along(1, column)).reshape(len(row), self.n)

    def roughness(self) -> np.ndarray:
        """(n, n) matrix whose form is the mean square of the second differences of coefficients."""
        total, count = np.zeros((self.n, self.n)), 0
        sides = [np.eye(k + 3) for k in self.intervals]
        for down, along, factor in ((2, 0, 1.0), (0, 2, 1.0), (1, 1, 2.0)):
            rows = np.kron(np.diff(sides[0], down, axis=0), np.diff(sides[1], along, axis=0))
            total += factor * rows.T @ rows
            count += len(rows)
        return total / count

    @cached_property
    def cost(self) -> np.ndarray:
        """(6n, 6n) matrix whose form is what rough and large fields of p and t cost."""
        plain = _CHOSEN.small / (6 * self.n) * np.eye(6 * self.n)
        return np.kron(_CHOSEN.smooth * self.roughness(), np.eye(6)) + plain


def _response(normals: np.ndarray) -> np.ndarray:
    """(m, 3, 6) how normals (m, 3) change with p and t."""
    x, y, z = normals.T
    nought = np.zeros(len(x))
    turn = np.stack([nought, z, -y, -z, nought, x, y, -x, nought], axis=1).reshape(-1, 3, 3)  # t × n
    return np.concatenate([np.eye(3) - normals[:, :, None] * normals[:, None, :], turn], axis=2)


@dataclass(frozen=True, eq=False)
class _FaceEquations:
    """For each face, the mean square over its pixels of how far its normals are from one: c − 2 b·x + x·A·x.

    Attributes
    ----------
    share : (m,) float64
        Of the face, of all pixels in faces.
    matrix, right, constant : (m, n, n), (m, n) and (m,) float64
    """

    share: np.ndarray
    matrix: np.ndarray
    right: np.ndarray
    constant: np.ndarray

    def bend(self, values: np.ndarray) -> np.ndarray:
        """(m,) what is left of the mean squares with coefficients (n,)."""
        return self.constant - 2 * self.right @ values + np.einsum("i,kij,j->k", values, self.matrix, values)


def _faces(whole: Quotient, field: _Spline) -> _FaceEquations:
    """The equations of all large components."""
    seen = whole.pixels.map
    height, width = seen.shape
    large = large_components(whole)
    own = np.flatnonzero(large[whole.labels])
    row, column = np.divmod(seen.position[own], width)
    size = max(height, width) / _CHOSEN.cells
    rows, columns = (max(1, round(n / size)) for n in (height, width))
    down, along = ((row + 0.5) * rows / height).astype(np.int64), ((column + 0.5) * columns / width).astype(np.int64)
    # Faces in the order of their components, and cells within them.
    group = np.unique((whole.labels[own] * np.int64(rows) + down) * columns + along, return_inverse=True)[1]
    count = np.bincount(group).astype(np.float64)

    def mean(values: np.ndarray) -> np.ndarray:
        return np.bincount(group, values) / count

    normals = np.stack([mean(seen.normals[own, axis]) for axis in range(3)], axis=1)
    face = np.zeros(len(count), dtype=np.int64)
    face[group] = (np.cumsum(large) - 1)[whole.labels[own]]
    splines = field.at(mean(row), mean(column))
    design = np.einsum("gk,gij->gikj", splines, _response(normals)).reshape(len(count), 3, -1)
    n = design.shape[2]
    start = np.append(np.flatnonzero(np.diff(face, prepend=-1)), len(face))
    m = len(start) - 1
    found = _FaceEquations(np.empty(m), np.empty((m, n, n)), np.empty((m, n)), np.empty(m))
    for k in range(m):
        part = slice(start[k], start[k + 1])
        weight = count[part] / count[part].sum()
        root = np.sqrt(weight)[:, None]
        rows_of = ((design[part] - np.tensordot(weight, design[part], 1)) * root[..., None]).reshape(-1, n)
        off = ((weight @ normals[part] - normals[part]) * root).ravel()
        found.share[k] = count[part].sum() / count.sum()
        found.matrix[k], found.right[k], found.constant[k] = product(rows_of.T, rows_of), off @ rows_of, off @ off
    return found


@dataclass(frozen=True, eq=False)
class _Creases:
    """The misses of creases with coefficients x, ``matrix @ x − right``; see `CreaseLines.misses`.

    Attributes
    ----------
    matrix, right : (m, n) and (m,) float64
    weight, error : (m,) float64
        How much each counts, and how well its direction is known, in radians.
    """

    matrix: np.ndarray
    right: np.ndarray
    weight: np.ndarray
    error: np.ndarray

    @classmethod
    def of(cls, lines: CreaseLines, field: _Spline) -> _Creases:
        size = np.linalg.norm(np.cross(lines.left, lines.right), axis=1)[:, None]
        change = np.einsum("ij,ijk->ik", np.cross(lines.right, lines.across), _response(lines.left))
        change += np.einsum("ij,ijk->ik", np.cross(lines.across, lines.left), _response(lines.right))
        matrix = np.einsum("ik,ij->ikj", field.at(lines.row, lines.column), change / size)
        weight = np.minimum(lines.sides, _CHOSEN.most_sides) * np.where(lines.ridge, 1.0, _CHOSEN.valleys)
        return cls(
            matrix.reshape(len(size), 6 * field.n), -lines.misses, weight / max(weight.sum(), 1e-12), lines.error
        )


def _left_of_others(field: _Spline, faces: _FaceEquations, creases: _Creases) -> float:
    """Which part of the bend of faces is left by fields that were found without them, in the median."""
    part, left = np.arange(len(faces.share)) % _CHOSEN.parts, np.empty(len(faces.share))
    for k in range(_CHOSEN.parts):
        found = faces.bend(_fitted(field, faces, creases, np.where(part == k, 0.0, faces.share)))
        left[part == k] = (found / np.maximum(faces.constant, 1e-12))[part == k]
    low, high = np.radians(_CHOSEN.bent) ** 2
    asked = (faces.constant > low) & (faces.constant < high)
    return float(np.median(left[asked])) if asked.any() else 1.0


def _fitted(field: _Spline, faces: _FaceEquations, creases: _Creases, share: np.ndarray) -> np.ndarray:
    """(n,) coefficients of p and t; faces and creases that do not fit lose their weight from round to round.

    `share` (m,) is how much each face counts.
    """
    values = np.zeros(faces.right.shape[1])
    for scale in np.radians(np.geomspace(_CHOSEN.widest, _CHOSEN.narrowest, _CHOSEN.rounds)):
        weight = share / (1 + np.maximum(faces.bend(values), 0) / scale**2) ** 2
        matrix, right = field.cost + np.tensordot(weight, faces.matrix, 1), weight @ faces.right
        off = (creases.right - creases.matrix @ values) ** 2 / (scale**2 + creases.error**2)
        trust = _CHOSEN.creases * creases.weight / (1 + off) ** 2
        weighted = creases.matrix * trust[:, None]
        values = np.linalg.solve(matrix + product(weighted.T, creases.matrix), right + creases.right @ weighted)
    # The last digits depend on the threads of BLAS.
    return np.round(values, 10)


def _applied(seen: NormalMap, field: _Spline, values: np.ndarray) -> NormalMap:
    """The map with the field added to its normals; where a surface would face away, its normal stays as it is."""
    rows, columns = (field.along(axis, np.arange(n)) for axis, n in enumerate(seen.shape))
    of_rows = product(rows, values.reshape(rows.shape[1], -1)).reshape(len(rows), columns.shape[1], 6)
    normals = np.empty_like(seen.normals)
    start = np.searchsorted(seen.position, np.arange(seen.shape[0] + 1) * seen.shape[1])
    for v in range(seen.shape[0]):
        own = slice(start[v], start[v + 1])
        here = product(columns, of_rows[v])[seen.position[own] - v * seen.shape[1]]
        turned = seen.normals[own] + np.einsum("mij,mj->mi", _response(seen.normals[own]), here)
        normals[own] = turned / np.linalg.norm(turned, axis=1)[:, None]
    straight = seen.with_normals(normals)
    degrees = np.degrees(np.sqrt(np.mean(np.square(straight.normals - seen.normals).sum(axis=1))))
    return replace(straight, straightened=float(degrees))
