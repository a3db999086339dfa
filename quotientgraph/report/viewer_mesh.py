"""The surface for the 3-D view: a thinned grid, cut at discontinuities, packed into a few bytes for each vertex.

The grid is implicit, so no triangle is stored: the viewer gets 16-bit positions and 8-bit normals of the valid
grid points, and per grid cell one byte whose low four bits say which corners the cell may join.
"""

from __future__ import annotations

import base64
import gzip
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .pictures import depth_scale, normal_image

if TYPE_CHECKING:
    from ..result import Reconstruction

FAR_LIMIT = 20.0  # points further from the middle than this many scene radii would only shrink the rest


@dataclass(frozen=True)
class GridMesh:
    """A thinned grid of points.

    Attributes
    ----------
    points : (rows, columns, 3) float64, OpenCV frame, centred, scene radius 1; NaN where there is none
    normals : (rows, columns, 3) float64
    cells : (rows − 1, columns − 1) uint8
        Bit 0 … 3: corner (0, 0), (0, 1), (1, 0), (1, 1) may be joined. Four make two triangles, three one.
    shape : (H, W)
        Size in pixels of the image that the grid covers.
    step : int
        Every how many pixels a point was taken.
    n_far : int
        Points left out because they lie far outside the scene.
    depth_range : (near, far) in the units of `points`
        Where the ends of the depth colours lie.
    """

    points: np.ndarray
    normals: np.ndarray
    cells: np.ndarray
    shape: tuple[int, int]
    step: int
    n_far: int
    depth_range: tuple[float, float]

    @property
    def n_triangles(self) -> int:
        corners = np.array([int(i).bit_count() for i in range(16)])[self.cells]
        return int(np.sum(corners == 3) + 2 * np.sum(corners == 4))


def grid_mesh(result: Reconstruction, crop: tuple[slice, slice], max_points: int = 110_000) -> GridMesh:
    """Return a thinned grid of the points of a result inside `crop`, of about `max_points` points at most."""
    points, normals = result.points[crop], normal_image(result)[crop]
    valid = np.isfinite(points).all(axis=-1) & np.isfinite(normals).all(axis=-1)
    step = max(1, math.ceil(math.sqrt(valid.sum() / max_points)))
    rows, columns = crop
    broken = _broken_cells(result)[rows.start : rows.stop - 1, columns.start : columns.stop - 1]
    if step > 1:  # a gap of the mask inside a wider cell may part two surfaces, and no edge tells of it
        broken = broken | ~(valid[:-1, :-1] & valid[:-1, 1:] & valid[1:, :-1] & valid[1:, 1:])
    middle, radius = _framing(points[valid])
    with np.errstate(over="ignore", invalid="ignore"):
        thin = (points[::step, ::step] - middle) / radius
        near = np.linalg.norm(thin, axis=-1) < FAR_LIMIT
    far = valid[::step, ::step] & ~near
    thin[~near] = np.nan
    scale = depth_scale(result.depth)
    return GridMesh(
        thin,
        normals[::step, ::step],
        _cells(np.isfinite(thin).all(axis=-1), _any_in_blocks(broken, step)),
        valid.shape,
        step,
        int(far.sum()),
        (float((scale.low - middle[2]) / radius), float((scale.high - middle[2]) / radius)),
    )


def _framing(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the middle and the radius of nearly all points; a few outliers do not move them."""
    if len(points) == 0:
        return np.zeros(3), 1.0
    low, high = np.percentile(points, [2, 98], axis=0)
    middle = 0.5 * low + 0.5 * high
    radius = float(np.percentile(np.linalg.norm(points - middle, axis=-1), 98))
    return middle, radius if radius > 1e-12 * max(1e-12, float(np.abs(middle).max())) else 1.0


def _broken_cells(result: Reconstruction) -> np.ndarray:
    """Tell for each cell of four pixels, (H − 1, W − 1) bool, whether a discontinuity passes between them."""
    cuts = result.graph.pixels.cuts(result.broken)
    sides = cuts.right[:-1] | cuts.right[1:] | cuts.down[:, :-1] | cuts.down[:, 1:]
    return sides | cuts.diagonal | cuts.antidiagonal


def _any_in_blocks(cells: np.ndarray, step: int) -> np.ndarray:
    """Tell for each cell of the thinned grid whether any pixel cell inside it is set."""
    rows, columns = (len(range(0, n + 1, step)) - 1 for n in cells.shape)
    blocks = cells[: rows * step, : columns * step].reshape(rows, step, columns, step)
    return np.asarray(blocks.any(axis=(1, 3)))


def _cells(valid: np.ndarray, broken: np.ndarray) -> np.ndarray:
    corners = [valid[:-1, :-1], valid[:-1, 1:], valid[1:, :-1], valid[1:, 1:]]
    bits = sum(c.astype(np.uint8) << i for i, c in enumerate(corners))
    return np.where(broken, 0, bits).astype(np.uint8)


def pack(mesh: GridMesh) -> tuple[dict[str, str], str]:
    """Return attributes for the canvas element, and the bytes of a mesh: gzip in base64.

    Bytes in this order: bits of the valid points (packed, row-major), cells, positions (3, n) uint16 in the box `low` …
    `low + span`, normals (3, n) int8 / 127. x right, y up, z to the viewer. Positions and normals are differences to the
    point before, and the high bytes of all differences stand before the low ones.
    """
    valid = np.isfinite(mesh.points).all(axis=-1)
    flip = np.array([1.0, -1.0, -1.0])
    p, n = mesh.points[valid] * flip, mesh.normals[valid] * flip
    low = p.min(axis=0) if len(p) else np.zeros(3)
    span = np.maximum(p.max(axis=0) - low, 1e-9) if len(p) else np.ones(3)
    data = b"".join(
        [
            np.packbits(valid.ravel(), bitorder="little").tobytes(),
            mesh.cells.tobytes(),
            *(byte_planes(column) for column in np.round((p - low) / span * 65535).astype(np.uint16).T),
            *(byte_planes(column) for column in np.round(n * 127).astype(np.int8).view(np.uint8).T),
        ]
    )
    rows, columns = valid.shape
    numbers: dict[str, list[float]] = {
        "grid": [rows, columns, mesh.step, *mesh.shape],
        "low": [*low],
        "span": [*span],
        "depth": [-mesh.depth_range[0], -mesh.depth_range[1]],
    }
    packed = base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()
    return {k: " ".join(f"{x:.7g}" for x in v) for k, v in numbers.items()}, packed


def byte_planes(array: np.ndarray) -> bytes:
    """Return unsigned numbers as differences to the one before, the highest bytes of all first.

    What is smooth becomes rows of zeros, which gzip packs well.
    """
    flat = np.ascontiguousarray(array).ravel()
    change = np.diff(flat, prepend=flat.dtype.type(0))
    return change.astype(change.dtype.newbyteorder(">")).view(np.uint8).reshape(len(flat), -1).T.tobytes()
