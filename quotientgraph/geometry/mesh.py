"""Depth → triangles, cut where the surface is broken.

Two neighbours are joined unless the edge between them is broken: by the residual of the reconstruction where
edges are given, by a steep change of depth where they are not. A quad of four valid pixels gives two
triangles along the diagonal that changes depth less, and one where only three of its pixels hold together; a
triangle has no broken side.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from laplacians.core.jit import kernel

from .camera import Camera, as_camera
from .focal import Shape
from .wrapping import Wrap, around_border

MAX_SLOPE = 10.0


@dataclass(frozen=True)
class Cuts:
    """Which edges of the pixel grid are broken.

    Attributes
    ----------
    right : (H, W − 1) bool
        Between (v, u) and (v, u + 1).
    down : (H − 1, W) bool
        Between (v, u) and (v + 1, u).
    diagonal, antidiagonal : (H − 1, W − 1) bool
        Between (v, u) and (v + 1, u + 1); between (v, u + 1) and (v + 1, u).
    """

    right: np.ndarray
    down: np.ndarray
    diagonal: np.ndarray
    antidiagonal: np.ndarray

    @classmethod
    def from_edges(
        cls, shape: Shape, tail: ArrayLike, head: ArrayLike, broken: ArrayLike, wrap: Wrap | None = None
    ) -> Cuts:
        """From a list of edges: flat image positions of their ends, and which are broken.

        Pairs that are not neighbours in the image are an error. With a 4-connected list no diagonal is
        broken, which is harmless: a triangle still needs its two other sides.

        The cuts of an image that wraps are those of the image with its first column and row repeated at the end. Edges
        across a pole are left out, and without `wrap` all edges around the border.
        """
        chosen = np.asarray(broken, dtype=bool)
        a, b = (np.asarray(end)[chosen].astype(np.int64) for end in (tail, head))
        if wrap:
            a, b = wrap.padded_edges(shape, a, b)
            shape = wrap.padded(shape)
        a, b = np.minimum(a, b), np.maximum(a, b)
        near = ~around_border(shape, a, b)
        a, b = a[near], b[near]
        width = shape[1]
        v, u = a // width, a % width
        dv, du = b // width - v, b % width - u
        cuts = cls.none(shape)
        known = np.zeros(len(a), dtype=bool)
        for array, step, left in (
            (cuts.right, (0, 1), 0),
            (cuts.down, (1, 0), 0),
            (cuts.diagonal, (1, 1), 0),
            (cuts.antidiagonal, (1, -1), 1),
        ):
            here = (dv == step[0]) & (du == step[1])
            array[v[here], u[here] - left] = True
            known |= here
        if not known.all():
            raise ValueError(f"edges: {np.sum(~known)} pairs are not neighbours in an image of {tuple(shape)}")
        return cuts

    @classmethod
    def from_slope(cls, depth: np.ndarray, camera: Camera, limit: float = MAX_SLOPE) -> Cuts:
        """Break edges along which depth changes by more than `limit` pixel widths a pixel (10: 84°)."""
        return cls._from_change(camera.potential(depth) * camera.focal((depth.shape[0], depth.shape[1])), limit)

    @classmethod
    def _from_change(cls, phi: np.ndarray, limit: float) -> Cuts:
        """Break edges along which `phi`, in pixels, changes by more than `limit`."""
        with np.errstate(invalid="ignore"):
            return cls(
                np.abs(phi[:, 1:] - phi[:, :-1]) > limit,
                np.abs(phi[1:] - phi[:-1]) > limit,
                np.abs(phi[1:, 1:] - phi[:-1, :-1]) > limit * np.sqrt(2),
                np.abs(phi[1:, :-1] - phi[:-1, 1:]) > limit * np.sqrt(2),
            )

    @classmethod
    def none(cls, shape: Shape) -> Cuts:
        height, width = shape
        sizes = ((height, width - 1), (height - 1, width), (height - 1, width - 1), (height - 1, width - 1))
        return cls(*(np.zeros(size, dtype=bool) for size in sizes))

    def __or__(self, other: Cuts) -> Cuts:
        return Cuts(*(a | b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles in the OpenCV camera frame; each vertex is a pixel.

    Attributes
    ----------
    vertices : (n_vertices, 3) float64
    faces : (n_faces, 3) int32
        Counter-clockwise as the camera sees them: the face normal points to the camera.
    normals : (n_vertices, 3) float64
        Unit length.
    pixels : (n_vertices,) int32
        Flat image position of each vertex.
    shape : (height, width)
    deviation : float
        Largest distance to the surface at any pixel that the mesh covers, along its ray and in pixels at the surface; 0
        for a mesh of all pixels.
    turns : (n_vertices, 2) int8, optional
        How many whole images to the right and downwards a vertex lies beyond its pixel: 1 on the far border of a tile, which
        repeats the near one.
    """

    vertices: np.ndarray = field(repr=False)
    faces: np.ndarray = field(repr=False)
    normals: np.ndarray = field(repr=False)
    pixels: np.ndarray = field(repr=False)
    shape: Shape
    deviation: float = 0.0
    turns: np.ndarray | None = field(repr=False, default=None)

    @property
    def uv(self) -> np.ndarray:
        """(n_vertices, 2) image coordinates in [0, 1], from the left and the top; above 1 on the far border of a tile."""
        height, width = self.shape
        own = np.stack([(self.pixels % width + 0.5) / width, (self.pixels // width + 0.5) / height], axis=-1)
        return own if self.turns is None else own + self.turns


def triangulate(
    depth: ArrayLike,
    camera: Camera | ArrayLike | None = None,
    *,
    valid: np.ndarray | None = None,
    cuts: Cuts | None = None,
    normals: np.ndarray | None = None,
    wrap: Wrap | None = None,
    rise: tuple[float, float] = (0.0, 0.0),
) -> Mesh:
    """Triangles over the pixels that have a depth.

    Parameters
    ----------
    depth : (H, W) array
        Not finite where there is no surface.
    camera : Camera, 3×3 matrix or None
    valid : (H, W) bool, optional
        Use these pixels only.
    cuts : Cuts, optional
        Broken edges; by default `Cuts.from_slope`. Pass ``Cuts.none(shape)`` for an uncut sheet.
    normals : (H, W, 3) array, optional
        Vertex normals, OpenCV frame; by default the mean of the adjacent faces by area.
    wrap : Wrap, optional
        Which borders meet. A panorama is closed there, at its poles too. A tile gets a copy of its first column and row at
        its far borders, so that copies of it side by side leave no gap; `cuts` are then those of the larger image.
    rise : (float, float)
        By how much those copies are deeper, where a tile keeps its slope.

    >>> mesh = triangulate(np.ones((3, 4)))
    >>> len(mesh.vertices), len(mesh.faces)
    (12, 12)
    """
    z = np.asarray(depth, dtype=np.float64)
    if z.ndim != 2:
        raise ValueError(f"depth: expected an (H, W) array, got shape {z.shape}")
    camera = as_camera(camera)
    good = np.isfinite(z) if valid is None else np.isfinite(z) & _checked(valid, z.shape, "valid")
    if camera.central:
        good &= z > 0
    z = np.where(good, z, np.nan)
    shape = (z.shape[0], z.shape[1])
    if wrap:
        phi = camera.potential(z) * camera.focal(shape)
        z, phi = (np.pad(a, ((0, int(wrap.y)), (0, int(wrap.x))), mode="wrap") for a in (z, phi))
        z[shape[0] :] += rise[1]
        z[:, shape[1] :] += rise[0]
        good = np.isfinite(z)
        if cuts is None and camera.central:
            cuts = Cuts._from_change(phi, MAX_SLOPE)
    cuts = Cuts.from_slope(z, camera) if cuts is None else cuts
    if cuts.right.shape != (z.shape[0], z.shape[1] - 1):
        raise ValueError(f"cuts: made for an image of {cuts.down.shape[0] + 1, cuts.down.shape[1]}, depth is {z.shape}")
    faces = _faces(z, good, cuts)
    if wrap and camera.central:
        faces, z = np.concatenate([wrap.folded(shape, faces), *_caps(good, cuts, wrap)]), z[: shape[0], : shape[1]]
    used = np.zeros(z.size, dtype=bool)
    used[faces.ravel()] = True
    pixels = np.flatnonzero(used).astype(np.int32)
    number = np.zeros(z.size, dtype=np.int32)
    number[pixels] = np.arange(len(pixels), dtype=np.int32)
    faces = number[faces]
    vertices = camera.points(z).reshape(-1, 3)[pixels]
    turns = None
    if wrap and not camera.central:
        v, u = np.divmod(pixels, z.shape[1])
        turns = np.stack([u // shape[1], v // shape[0]], axis=-1).astype(np.int8)
        pixels = wrap.folded(shape, pixels)
    directions = _mean_normals(vertices, faces) if normals is None else _given_normals(normals, shape, pixels)
    return Mesh(vertices, faces, directions, pixels, shape, turns=turns)


def _caps(good: np.ndarray, cuts: Cuts, wrap: Wrap) -> list[np.ndarray]:
    """Triangles, (n, 3) flat positions each, over the poles whose whole row holds together."""
    height, width = good.shape[0] - int(wrap.y), good.shape[1] - int(wrap.x)
    low, high = np.arange(width // 2 - 1), width - 1 - np.arange(width // 2 - 1)
    strip = np.concatenate([np.stack([low, low + 1, high], 1), np.stack([low + 1, high - 1, high], 1)]).astype(np.int32)
    out = []
    for closed, row, turn in ((wrap.top, 0, 1), (wrap.bottom, height - 1, -1)):
        if closed and good[row].all() and not cuts.right[row].any():
            out.append(strip[:, ::turn] + np.int32(row * width))
    return out


def _faces(z: np.ndarray, good: np.ndarray, cuts: Cuts) -> np.ndarray:
    """(n_faces, 3) flat positions. Corners of a quad: a b above, c d below."""
    if min(z.shape) < 2:
        return np.empty((0, 3), dtype=np.int32)
    right = good[:, :-1] & good[:, 1:] & ~cuts.right
    down = good[:-1] & good[1:] & ~cuts.down
    ab, cd, ac, bd = right[:-1], right[1:], down[:, :-1], down[:, 1:]
    ad = good[:-1, :-1] & good[1:, 1:] & ~cuts.diagonal
    bc = good[:-1, 1:] & good[1:, :-1] & ~cuts.antidiagonal
    acd, adb, acb, bcd = ac & cd & ad, ad & bd & ab, ac & bc & ab, bc & cd & bd
    n_main, n_anti = acd.view(np.int8) + adb.view(np.int8), acb.view(np.int8) + bcd.view(np.int8)
    with np.errstate(invalid="ignore"):
        flatter = np.abs(z[1:, 1:] - z[:-1, :-1]) <= np.abs(z[1:, :-1] - z[:-1, 1:])
    main = (n_main > n_anti) | ((n_main == n_anti) & flatter)
    a = np.arange(z.size, dtype=np.int32).reshape(z.shape)[:-1, :-1]
    b, c, d = 1, z.shape[1], z.shape[1] + 1
    out = []
    for chosen, corners in (
        (acd & main, (0, c, d)),
        (adb & main, (0, d, b)),
        (acb & ~main, (0, c, b)),
        (bcd & ~main, (b, c, d)),
    ):
        out.append(a[chosen][:, None] + np.array(corners, dtype=np.int32))
    return np.concatenate(out)


def _mean_normals(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    total = np.zeros_like(vertices)
    _add_areas(vertices, faces, total)
    return _unit(total)


@kernel
def _add_areas(vertices, faces, total):
    """Add each face's normal, as long as twice its area, to its three corners."""
    for f in range(len(faces)):
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            area = (vertices[b, i] - vertices[a, i]) * (vertices[c, j] - vertices[a, j])
            area -= (vertices[b, j] - vertices[a, j]) * (vertices[c, i] - vertices[a, i])
            total[a, k] += area
            total[b, k] += area
            total[c, k] += area


def _given_normals(normals: np.ndarray, shape: Shape, pixels: np.ndarray) -> np.ndarray:
    array = np.asarray(normals, dtype=np.float64)
    if array.shape != (*shape, 3):
        raise ValueError(f"normals: expected shape {(*shape, 3)}, got {array.shape}")
    return _unit(array.reshape(-1, 3)[pixels])


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Unit vectors; what has no direction faces the camera, since file formats do not take NaN."""
    length = np.linalg.norm(vectors, axis=-1)
    lost = ~(np.isfinite(length) & (length > 0))
    length[lost] = 1
    out = vectors / length[:, None]
    out[lost] = (0.0, 0.0, -1.0)
    return out


def _checked(mask: np.ndarray, shape: tuple[int, ...], name: str) -> np.ndarray:
    array = np.asarray(mask, dtype=bool)
    if array.shape != shape:
        raise ValueError(f"{name}: its shape {array.shape} differs from the depth's {shape}")
    return array
