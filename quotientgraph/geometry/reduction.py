"""Fewer triangles where the surface is plain: a mesh of the size or of the accuracy that one wants.

The image is covered by right isosceles triangles that are halved again and again, down to half a pixel square. Each
triangle knows by how much the surface deviates from it at the pixels that it covers, and is halved where that is too
much or where a tear passes. Two triangles that share their longest side are halved together, so the mesh has no cracks.

The vertices that halving adds form a hierarchy: a vertex is the middle of the longest side of two triangles, and needs
two older vertices. The error of a vertex is the largest deviation of its two triangles and of everything below them, so
"all vertices with an error above a threshold" is a mesh without cracks for every threshold. Squares of four pixels that
a tear passes through have an infinite error. They are taken over from the full mesh, and so is every other square that
is resolved fully.
"""

from __future__ import annotations

import numpy as np

from .camera import Camera
from .halving import count_leaves, find_errors
from .mesh import Mesh

TILE = 256  # side of the largest squares in pixels
_TORN = 1e30  # a threshold above the error of every triangle that is not torn


def reduce_mesh(
    mesh: Mesh,
    camera: Camera,
    *,
    max_faces: int | None = None,
    max_error: float | None = None,
    torn: np.ndarray | None = None,
) -> Mesh:
    """Return a mesh with fewer triangles over the same surface, without cracks and without triangles across tears.

    Parameters
    ----------
    mesh : Mesh
        A full mesh, as `triangulate` returns it.
    camera : Camera
        The camera of that mesh.
    max_faces : int, optional
        The mesh has at most this many faces. Where even its tears need more at full resolution, they are followed in
        steps of 2, 4, … pixels, and the surface ends that much before them.
    max_error : float, optional
        Largest distance, along the ray of each pixel and in pixels at the surface, between mesh and surface. With both
        limits the mesh has no more faces than either asks for.
    torn : (H − 1, W − 1) bool, optional
        Squares of four pixels that no larger triangle may cover, beside those that are not whole in the full mesh.

    Returns
    -------
    Mesh
        Its vertices are vertices of the full mesh; `deviation` is the largest distance at any pixel that it covers.

    Examples
    --------
    >>> from quotientgraph.geometry.camera import Orthographic
    >>> from quotientgraph.geometry.mesh import triangulate
    >>> full = triangulate(np.ones((65, 65)))
    >>> len(full.faces), len(reduce_mesh(full, Orthographic(), max_error=0.1).faces)
    (8192, 2)
    """
    check_limits(max_faces, max_error)
    if len(mesh.faces) == 0 or (max_error is None and (max_faces is None or len(mesh.faces) <= max_faces)):
        return mesh
    return _Surface(mesh, camera, torn, max_faces).reduced(max_faces, max_error)


def check_limits(max_faces: int | None, max_error: float | None) -> None:
    """Refuse limits that no mesh can have."""
    if max_faces is not None and not max_faces >= 1:
        raise ValueError(f"max_faces={max_faces}: a mesh has at least one face; give a positive whole number or None")
    if max_error is not None and not 0 <= max_error < np.inf:
        raise ValueError(f"max_error={max_error}: expected a number of pixels, 0 or more, or None")


class _Surface:
    """The full mesh as images, and the error of each vertex of the hierarchy."""

    def __init__(self, mesh: Mesh, camera: Camera, torn: np.ndarray | None, max_faces: int | None) -> None:
        height, width = mesh.shape
        self.mesh = mesh
        points = np.full((height * width, 3), np.nan)
        points[mesh.pixels] = mesh.vertices
        self.points = points.reshape(height, width, 3)
        corners = mesh.pixels[mesh.faces].astype(np.int64)
        self.square = (corners // width).min(axis=1) * (width - 1) + (corners % width).min(axis=1)
        self.n_own = np.bincount(self.square, minlength=(height - 1) * (width - 1)).astype(np.uint8)
        self.n_own = self.n_own.reshape(height - 1, width - 1)
        self.torn = self.n_own < 2 if torn is None else (self.n_own < 2) | torn
        if camera.central:
            self.pixels = np.broadcast_to(np.asarray(camera.focal(mesh.shape), dtype=np.float64), mesh.shape)
        else:
            self.pixels = np.broadcast_to(1 / float(camera.depth(np.ones(1))[0]), mesh.shape)
        self.central = camera.central
        self.tile = min(TILE, _power(max(height, width) - 1))
        while max_faces is not None and self.tile < max(height, width) - 1 and 2 * np.prod(self.n_tiles) > max_faces:
            self.tile *= 2

    @property
    def n_tiles(self) -> tuple[int, int]:
        rows, columns = (-(-(n - 1) // self.tile) for n in self.mesh.shape)
        return rows, columns

    def errors(self, finest: int, enough: float) -> np.ndarray:
        rows, columns = (n * self.tile + 1 for n in self.n_tiles)
        error = np.zeros((rows, columns), dtype=np.float32)
        find_errors(self.points, self.pixels, self.torn, self.central, self.tile, finest, np.float32(enough), error)
        return error

    def leaves(
        self, error: np.ndarray, finest: int, threshold: float, n: int = 0
    ) -> tuple[int, np.ndarray, np.ndarray, float]:
        """Number of faces, and if n > 0 the large ones, the squares to take over whole, and the largest deviation."""
        out = np.empty((n, 3), dtype=np.int32)
        whole = np.zeros(self.torn.shape if n else (0, 0), dtype=np.bool_)
        found, deviation = count_leaves(
            self.points, self.pixels, self.torn, self.central, self.tile, finest, error, np.float32(threshold),
            self.n_own, whole, out,
        )  # fmt: skip
        return found, out, whole, deviation

    def reduced(self, max_faces: int | None, max_error: float | None) -> Mesh:
        threshold, finest = max_error or 0.0, 0
        error = self.errors(0, threshold if max_faces is None else np.inf)
        count = self.leaves(error, 0, threshold)[0]
        if max_faces is not None and count > max_faces:
            while self.leaves(error, finest, _TORN)[0] > max_faces:
                finest += 1
                error = self.errors(finest, np.inf)
            threshold, count = self._threshold(error, finest, threshold, max_faces)
        count, out, whole, deviation = self.leaves(error, finest, threshold, max(count, 1))
        return self._mesh(out[: count - int(self.n_own[whole].sum())], whole, deviation)

    def _threshold(self, error: np.ndarray, finest: int, low: float, max_faces: int) -> tuple[float, int]:
        """The smallest threshold, to a hundredth of the faces, with which there are few enough; and their number."""
        finite = error[(error > low) & (error < _TORN)]
        high = float(finite.max(initial=low))
        count = self.leaves(error, finest, high)[0]
        low = max(low, 1e-6 * high)
        for _ in range(30):
            if count > 0.99 * max_faces or high <= low * (1 + 1e-6):
                break
            middle = np.sqrt(low * high)
            there = self.leaves(error, finest, middle)[0]
            low, high, count = (middle, high, count) if there > max_faces else (low, middle, there)
        return high, count

    def _mesh(self, large: np.ndarray, whole: np.ndarray, deviation: float) -> Mesh:
        mesh = self.mesh
        small = mesh.pixels[mesh.faces[whole.ravel()[self.square]]]
        faces = np.concatenate([large, small])
        if len(faces) == 0:
            raise ValueError("max_faces: no triangle of the surface is that large; allow more faces")
        used = np.zeros(mesh.shape[0] * mesh.shape[1], dtype=bool)
        used[faces.ravel()] = True
        kept = used[mesh.pixels]
        number = np.zeros(used.size, dtype=np.int32)
        number[mesh.pixels[kept]] = np.arange(kept.sum(), dtype=np.int32)
        return Mesh(
            mesh.vertices[kept], number[faces], mesh.normals[kept], mesh.pixels[kept], mesh.shape, float(deviation)
        )


def _power(n: int) -> int:
    """The smallest power of two that is at least n and at least 1."""
    return 1 << max(0, int(n) - 1).bit_length()
