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

from numbers import Real

import numpy as np

from .camera import Camera
from .halving import count_leaves, find_errors
from .mesh import Mesh
from .wrapping import Wrap

TILE = 256  # side of the largest squares in pixels
_TORN = 1e30  # a threshold above the error of every triangle that is not torn


def reduce_mesh(
    mesh: Mesh,
    camera: Camera,
    *,
    max_faces: float | None = None,
    max_error: float | None = None,
    torn: np.ndarray | None = None,
    wrap: Wrap | None = None,
) -> Mesh:
    """Return a mesh with fewer triangles over the same surface, without cracks and without triangles across tears.

    Parameters
    ----------
    mesh : Mesh
        A full mesh, as `triangulate` returns it.
    camera : Camera
        The camera of that mesh.
    max_faces : float, optional
        The mesh has at most this many faces. Where even its tears need more at full resolution, they are followed in
        steps of 2, 4, … pixels, and the surface ends that much before them.
    max_error : float, optional
        Largest distance, along the ray of each pixel and in pixels at the surface, between mesh and surface. With both
        limits the mesh has no more faces than either asks for.
    torn : (H − 1, W − 1) bool, optional
        Squares of four pixels that no larger triangle may cover, beside those that are not whole in the full mesh. Of an
        image that wraps, those of the image with its first column and row repeated at the end.
    wrap : Wrap, optional
        Which borders meet, as in `triangulate`. Both sides of a seam keep the same vertices, and closed poles stay closed.

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
    return _Surface(mesh, camera, torn, max_faces, wrap or Wrap()).reduced(max_faces, max_error)


def check_limits(max_faces: float | None, max_error: float | None) -> None:
    """Refuse limits that no mesh can have."""
    if max_faces is not None and not (isinstance(max_faces, Real) and max_faces >= 1):
        raise ValueError(f"max_faces={max_faces!r}: a mesh has at least one face; give a number from 1 on, or None")
    if max_error is not None and not (isinstance(max_error, Real) and 0 <= max_error < np.inf):
        raise ValueError(f"max_error={max_error!r}: expected a number of pixels, 0 or more, or None")


class _Surface:
    """The full mesh as images, and the error of each vertex of the hierarchy.

    The images are larger by a row or a column where borders meet; a vertex of a panorama is in both places then.
    """

    def __init__(
        self, mesh: Mesh, camera: Camera, torn: np.ndarray | None, max_faces: float | None, wrap: Wrap
    ) -> None:
        height, width = mesh.shape
        self.mesh, self.wrap = mesh, wrap
        self.shape = tall, wide = height + int(wrap.y), width + int(wrap.x)
        v, u = np.divmod(mesh.pixels.astype(np.int64), width)
        if mesh.turns is not None:
            v, u = np.stack([v, u]) + mesh.turns[:, ::-1].T * np.array([[height], [width]])
        self.vertex = np.full(self.shape, -1, dtype=np.int32)
        self.vertex[v, u] = np.arange(len(v), dtype=np.int32)
        if mesh.turns is None:
            self.vertex[height:] = self.vertex[:1]
            self.vertex[:, width:] = self.vertex[:, :1]
        self.points = np.where((self.vertex >= 0)[..., None], mesh.vertices[self.vertex], np.nan)
        v, u = v[mesh.faces], u[mesh.faces]
        v[(np.ptp(v, axis=1) > 1)[:, None] & (v == 0)] = height
        u[(np.ptp(u, axis=1) > 1)[:, None] & (u == 0)] = width
        flat = np.ptp(v, axis=1) == 0  # triangles that close a pole lie in one row
        self.square = np.where(flat, -1, v.min(axis=1) * (wide - 1) + u.min(axis=1))
        n_own = np.bincount(self.square[~flat], minlength=(tall - 1) * (wide - 1))
        self.n_own = n_own.astype(np.uint8).reshape(tall - 1, wide - 1)
        self.caps = [(row, turn) for row, turn in ((0, 1), (height - 1, -1)) if (flat & (v[:, 0] == row)).any()]
        self.torn = self.n_own < 2 if torn is None else (self.n_own < 2) | torn
        scale = camera.focal(mesh.shape) if camera.central else 1 / float(camera.depth(np.ones(1))[0])
        scale = np.broadcast_to(np.asarray(scale, dtype=np.float64), mesh.shape)
        self.pixels = np.pad(scale, ((0, int(wrap.y)), (0, int(wrap.x))), mode="wrap")
        self.central = camera.central
        self.tile = min(TILE, _power(max(self.shape) - 1))
        while max_faces is not None and self.tile < max(self.shape) - 1 and 2 * np.prod(self.n_tiles) > max_faces:
            self.tile *= 2

    @property
    def n_tiles(self) -> tuple[int, int]:
        rows, columns = (-(-(n - 1) // self.tile) for n in self.shape)
        return rows, columns

    def errors(self, finest: int, enough: float) -> np.ndarray:
        rows, columns = (n * self.tile + 1 for n in self.n_tiles)
        error = np.zeros((rows, columns), dtype=np.float32)
        for meet, first, last in (
            (self.wrap.x, error[:, :1], error[:, self.shape[1] - 1 :]),
            (self.wrap.y, error[:1], error[self.shape[0] - 1 :]),
            (any(row == 0 for row, _ in self.caps), error[:1], error[:0]),
            (any(row > 0 for row, _ in self.caps), error[:0], error[self.shape[0] - 1 :]),
        ):
            if meet:  # all vertices there, whatever the threshold
                first[...] = last[...] = 2 * _TORN
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

    def reduced(self, max_faces: float | None, max_error: float | None) -> Mesh:
        threshold, finest = max_error or 0.0, 0
        error = self.errors(0, threshold if max_faces is None else np.inf)
        count = self.leaves(error, 0, threshold)[0]
        if max_faces is not None and count + self._n_caps(0) > max_faces:
            while self.leaves(error, finest, _TORN)[0] + self._n_caps(finest) > max_faces:
                finest += 1
                error = self.errors(finest, np.inf)
            threshold, count = self._threshold(error, finest, threshold, max_faces - self._n_caps(finest))
        count, out, whole, deviation = self.leaves(error, finest, threshold, max(count, 1))
        return self._mesh(out[: count - int(self.n_own[whole].sum())], whole, deviation)

    def _threshold(self, error: np.ndarray, finest: int, low: float, max_faces: float) -> tuple[float, int]:
        """The smallest threshold, to a hundredth of the faces, with which there are few enough; and their number."""
        finite = error[(error > low) & (error < _TORN)]
        high = float(finite.max(initial=low))
        count = self.leaves(error, finest, high)[0]
        low = max(low, 1e-6 * min(high, *self.shape))  # a triangle seen almost from its edge can be off by any number
        for _ in range(30):
            if count > 0.99 * max_faces or high <= low * (1 + 1e-6):
                break
            middle = np.sqrt(low * high)
            there = self.leaves(error, finest, middle)[0]
            low, high, count = (middle, high, count) if there > max_faces else (low, middle, there)
        return high, count

    def _mesh(self, large: np.ndarray, whole: np.ndarray, deviation: float) -> Mesh:
        mesh = self.mesh
        keep = (self.square >= 0) & whole.ravel()[self.square]
        faces = np.concatenate([self.vertex.ravel()[large], mesh.faces[keep]])
        if len(faces) == 0:
            raise ValueError("max_faces: no triangle of the surface is that large; allow more faces")
        faces = np.concatenate([faces, *(self._cap(faces, row, turn) for row, turn in self.caps)])
        kept = np.zeros(len(mesh.pixels), dtype=bool)
        kept[faces.ravel()] = True
        number = (np.cumsum(kept) - 1).astype(np.int32)
        turns = None if mesh.turns is None else mesh.turns[kept]
        return Mesh(
            mesh.vertices[kept], number[faces], mesh.normals[kept], mesh.pixels[kept], mesh.shape,
            deviation=float(deviation), turns=turns,
        )  # fmt: skip

    def _n_caps(self, finest: int) -> int:
        """Number of triangles that close the poles, if their rows are followed in steps of 2^finest pixels."""
        return len(self.caps) * max(0, -(-self.mesh.shape[1] // (1 << finest)) - 2)

    def _cap(self, faces: np.ndarray, row: int, turn: int) -> np.ndarray:
        """Triangles that close a pole over the vertices that are left in its row, (n, 3)."""
        used = np.zeros(len(self.mesh.pixels), dtype=bool)
        used[faces.ravel()] = True
        ring = self.vertex[row, : self.mesh.shape[1]]
        ring = ring[(ring >= 0) & used[ring]]
        n = len(ring)
        low = np.arange(n // 2 - 1)
        strip = [np.stack([low, low + 1, n - 1 - low], 1), np.stack([low + 1, n - 2 - low, n - 1 - low], 1)]
        if n % 2 and n > 2:
            strip.append(np.array([[n // 2 - 1, n // 2, n // 2 + 1]]))
        return ring[np.concatenate(strip)[:, ::turn]]


def _power(n: int) -> int:
    """The smallest power of two that is at least n and at least 1."""
    return 1 << max(0, int(n) - 1).bit_length()
