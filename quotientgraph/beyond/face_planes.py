"""Planes of flat components, and the outlines of faces in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laplacians.core.arrays import blocks, cross, product
from laplacians.core.jit import kernel

from ..geometry.camera import Camera
from ..geometry.normals import rows_and_columns
from .border_facts import PieceFacts
from .border_pieces import BorderPieces
from .face_outlines import signed_area, whole_outline
from .ridges import RidgeChain

_MOST = 0.85  # share of a component beyond which a face is the component itself
_INSIDE, _OUTSIDE = 0.3, 0.5  # share of the pixels at the ridges inside the outline: least in front, most behind


@dataclass(frozen=True, eq=False)
class Outline:
    """The outline of what may be a face hidden in a component.

    Attributes
    ----------
    component : int
    polygon : (n, 2) float64
        In coordinates of the component's plane.
    ahead : bool
        Whether the face lies in front of the rest of the component.
    beside : (m,) int32
        Pixels of the component at the ridges that it was guessed from. They lie in the face if it is ahead, and else not.
    """

    component: int
    polygon: np.ndarray
    ahead: bool
    beside: np.ndarray

    def is_face(self, share: float, n: int, n_own: int, least: int) -> bool:
        """Whether the outline is that of a face.

        Parameters
        ----------
        share : float
            Share of the pixels `beside` inside it.
        n, n_own : int
            Pixels of the component inside it, and in all.
        least : int
            Pixels that a face has at least.
        """
        if share < _INSIDE if self.ahead else share > _OUTSIDE:
            return False
        return n >= least and n <= _MOST * n_own and n_own - n >= 2 * least


class Plane:
    """The plane of a flat component, with coordinates in it.

    Parameters
    ----------
    component : int
    normal : (3,) float64
        Mean normal of its pixels.
    camera : Camera
    shape : (H, W)
        Of the image.
    """

    def __init__(self, component: int, normal: np.ndarray, camera: Camera, shape: tuple[int, int]) -> None:
        self.component, self.shape = component, shape
        self.normal = normal / np.linalg.norm(normal)
        along = cross(self.normal, np.eye(3)[np.argmin(np.abs(self.normal))])
        self.axes = np.stack([along, cross(self.normal, along)], axis=1) / np.linalg.norm(along)
        self.rays = camera.coordinates(shape) if camera.central else None

    def points(self, position: np.ndarray) -> np.ndarray:
        """(n, 2) coordinates in the plane of pixels at flat positions in the picture."""
        out = np.empty((len(position), 2))
        for part in blocks(len(position)):
            row, column = (place.astype(np.float64) for place in rows_and_columns(position[part], self.shape[1]))
            ray = None if self.rays is None else _rays(self.rays, row, column, True)
            out[part] = self.locate(row, column) if ray is None else self.along(ray)
        return out

    def locate(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """(n, 2) coordinates in the plane of places in the picture."""
        if self.rays is None:
            steep = self.normal[2] if abs(self.normal[2]) > 1e-6 else -1e-6
            point = np.stack([column, row, -(self.normal[0] * column + self.normal[1] * row) / steep], axis=1)
            return product(point, self.axes)
        return self.along(rays_between(self.rays, row, column))

    def along(self, ray: np.ndarray) -> np.ndarray:
        """(n, 2) coordinates in the plane of where rays (n, 3) meet it."""
        against = product(ray, self.normal)
        against = np.where(np.abs(against) > 1e-6, against, -1e-6)
        point = np.empty_like(ray)
        for k in range(3):  # row by row it would take several times as long
            np.divide(ray[:, k], against, out=point[:, k])
        return product(point, self.axes)

    def outline_of(self, chain: RidgeChain, borders: BorderPieces, facts: PieceFacts) -> Outline | None:
        """The outline of the face that a chain of ridges bounds."""
        first, last = borders.start[chain.pieces].tolist(), borders.start[chain.pieces + 1].tolist()
        ways = np.where(facts.left[chain.pieces] == self.component, 1, -1).tolist()

        def walked(left: np.ndarray, right: np.ndarray) -> np.ndarray:
            """Values of the sides along the chain, by whether the component is to the left or to the right of a piece."""
            parts = zip(first, last, ways)
            return np.concatenate([(left if way > 0 else right)[begin:end][::way] for begin, end, way in parts])

        row, column = chain.vertices.T
        height, width = self.shape
        ends = zip(row[[0, -1]].tolist(), column[[0, -1]].tolist())
        leaves = tuple(v < 1.5 or u < 1.5 or v > height - 2.5 or u > width - 2.5 for v, u in ends)
        y, x = chain.vertices[len(row) // 2].tolist()
        y, x = min(max(y, 1), max(height - 2, 1)), min(max(x, 1), max(width - 2, 1))
        # Three places around the middle tell how the plane is turned; they are located with the others, in one call.
        row = np.concatenate([[y, y + 0.5, y], row, walked(borders.row, borders.row)])
        column = np.concatenate([[x, x, x + 0.5], column, walked(borders.column, borders.column)])
        located = self.locate(row, column)
        down, along = located[1] - located[0], located[2] - located[0]
        left = 1.0 if down[0] * along[1] > down[1] * along[0] else -1.0
        n = 3 + len(chain.vertices)
        polygon = whole_outline(located[3:n], located[n:], chain.closed, (leaves[0], leaves[1]), left)
        if polygon is None:
            return None
        beside = walked(borders.left, borders.right)
        return Outline(self.component, polygon, bool(left * signed_area(polygon) > 0), beside)


def rays_between(rays: tuple[np.ndarray, ...], row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """(n, 3) rays through places between pixels, from the (H, W) coordinates of the rays of pixels."""
    return _rays(rays, row, column, False)


def _rays(rays: tuple[np.ndarray, ...], row: np.ndarray, column: np.ndarray, whole: bool) -> np.ndarray:
    """(n, 3) rays through places; with `whole` all of them are pixels, whose neighbours need not have a ray."""
    out = np.empty((len(row), 3))
    _write_rays(*rays, row, column, whole, out)
    return out


@kernel(no_cpython_wrapper=True)
def _between(values, v, u, below, beside, down, along):
    """What lies between four pixels, of which `down` and `along` are the shares of the lower and of the right ones."""
    upper = (1 - along) * values[v, u] + along * values[v, beside]
    lower = (1 - along) * values[below, u] + along * values[below, beside]
    return (1 - down) * upper + down * lower


@kernel
def _write_rays(x, y, z, row, column, whole, out):
    """Write the ray through each place: that of a pixel, or what lies between those of the four pixels around it.

    Assumes places with `whole` numbers inside the picture. Others may lie outside, where the nearest four pixels are used.
    """
    height, width = x.shape
    for i in range(len(row)):
        v, u = int(np.floor(row[i])), int(np.floor(column[i]))
        if whole:
            out[i, 0], out[i, 1], out[i, 2] = x[v, u], y[v, u], z[v, u]
            continue
        v, u = min(max(v, 0), max(height - 2, 0)), min(max(u, 0), max(width - 2, 0))
        below, beside = min(v + 1, height - 1), min(u + 1, width - 1)
        down, along = row[i] - v, column[i] - u
        out[i, 0] = _between(x, v, u, below, beside, down, along)
        out[i, 1] = _between(y, v, u, below, beside, down, along)
        out[i, 2] = _between(z, v, u, below, beside, down, along)


@kernel
def mark_inside(points, polygon, out):
    """Write which points lie inside a polygon: a ray from there crosses its sides an odd number of times.

    Points on a side lie outside, whichever way the picture is turned.
    """
    n = len(polygon)
    left, right, low, high = np.inf, -np.inf, np.inf, -np.inf
    for k in range(n):
        left, right = min(left, polygon[k, 0]), max(right, polygon[k, 0])
        low, high = min(low, polygon[k, 1]), max(high, polygon[k, 1])
    for i in range(len(points)):
        x, y = points[i, 0], points[i, 1]
        odd, on_side = False, False
        if low <= y <= high and left <= x <= right:
            for k in range(n):
                ax, ay = polygon[k - 1, 0], polygon[k - 1, 1]
                dx, dy = polygon[k, 0] - ax, polygon[k, 1] - ay
                if (ay > y) != (ay + dy > y) and x < ax + (y - ay) / dy * dx:
                    odd = not odd
                square, along = dx * dx + dy * dy, dx * (x - ax) + dy * (y - ay)
                if abs(dx * (y - ay) - dy * (x - ax)) <= 1e-9 * square and 0 <= along <= square:
                    on_side = True
        out[i] = odd and not on_side
