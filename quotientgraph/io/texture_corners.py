"""Where the corners of triangles lie in a picture that goes on beyond its border, as a panorama does at its seam.

A vertex has one place in the picture, but a triangle across the seam needs the vertices of the first column at the far
border: from the first column itself it would show the whole picture backwards. Such corners get a place of their own,
one picture further on, where file formats repeat the picture.
"""

from __future__ import annotations

import numpy as np

from ..geometry.mesh import Mesh


def texture_corners(mesh: Mesh) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the places in the picture, and which of them the corners of the triangles have.

    Triangles across a seam are those that are reversed in the picture. Those that close a pole lie in one row, and take
    the shorter way around.

    Returns
    -------
    uv : (n_places, 2) float64
        Those of the vertices, then those one picture further on.
    vertex : (n_places,) int64
        The vertex at each place.
    faces : (n_faces, 3) int64
        Indices of places.

    Examples
    --------
    >>> from quotientgraph.geometry.mesh import triangulate
    >>> uv, vertex, faces = texture_corners(triangulate(np.ones((3, 4))))
    >>> uv.shape, vertex.shape, faces.shape
    ((12, 2), (12,), (12, 3))
    """
    height, width = mesh.shape
    place, faces = np.arange(len(mesh.vertices)), mesh.faces.astype(np.int64)
    if mesh.turns is not None:  # the far borders of a tile have vertices of their own
        return mesh.uv, place, faces
    v, u = (x.astype(np.int64)[faces] for x in np.divmod(mesh.pixels, width))
    area = (v[:, 1] - v[:, 0]) * (u[:, 2] - u[:, 0]) - (u[:, 1] - u[:, 0]) * (v[:, 2] - v[:, 0])
    beyond = np.zeros((*faces.shape, 2), dtype=np.int64)
    for axis, (x, n) in enumerate(((u, width), (v, height))):
        beyond[..., axis] = (area < 0)[:, None] & (x == 0) & (2 * x.max(axis=1, keepdims=True) >= n)
    order = np.sort(u, axis=1)
    gap = np.diff(order, axis=1)
    cap = (np.ptp(v, axis=1) == 0) & (gap.max(axis=1, initial=0) > width - gap.sum(axis=1))
    left = np.take_along_axis(order, gap.argmax(axis=1)[:, None], axis=1)
    beyond[..., 0] |= cap[:, None] & (u <= left)
    moved = beyond.any(axis=-1)
    added, number = np.unique(np.column_stack([faces[moved], beyond[moved]]), axis=0, return_inverse=True)
    faces[moved] = len(place) + number.ravel()
    return np.concatenate([mesh.uv, mesh.uv[added[:, 0]] + added[:, 1:]]), np.append(place, added[:, 0]), faces
