"""From a model to images of exact depths and normals.

A model is either `Solids` (ray-cast; the nearest wins) or a `Sheet` (log-depth given as a function over the
image). Both are worked on tile by tile, so that memory stays bounded and all cores have something to do.

All scenes are framed for a view of 50° across the longer side of the image. With another field of view the
camera steps back or forward until it sees the same; the orthographic camera is what this tends to.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ..geometry.camera import Camera, Orthographic, Pinhole, as_camera
from .solids import Array, Solid, along, turned

FOV = 50.0
_TILE = 192
_HALF = float(np.tan(np.radians(FOV / 2)))  # half of the longer side of the image, in ray slopes


@dataclass(frozen=True)
class View:
    """How a tile is seen: by diverging or parallel rays, from `retreat` times the distance designed for.

    With `around` the rays go in all directions and have length 1; depth is then the distance from the eye.
    """

    central: bool
    retreat: float
    around: bool = False


class Model:
    """What is rendered; at depth `distance` the orthographic view is as wide as the perspective one."""

    distance: float

    def tile(self, x: Array, y: Array, z: Array, view: View) -> tuple[Array, Array]:
        """Depth (h, w) and normals (3, h, w), of any length, at rays x, y, z; not finite: nothing there.

        z is 1 unless the view goes around.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Sheet(Model):
    """A surface with one depth per ray, z = distance·exp(φ(x, y)), or distance·(1 + φ) for parallel rays.

    `surface` gives φ and its two derivatives at image slopes x, y, each NaN where there is no surface.
    """

    surface: Callable[[Array, Array], tuple[Array, Array, Array]]
    distance: float = 4.0

    def tile(self, x: Array, y: Array, z: Array, view: View) -> tuple[Array, Array]:
        if view.around:
            raise ValueError("camera: this scene is a surface over an image, which a panorama cannot show; use another")
        if not view.central:
            potential, along_x, along_y = self.surface(x, y)
            return self.distance * (1 + potential), _normal(along_x, along_y)
        k = view.retreat
        potential, along_x, along_y = self.surface(k * x, k * y)
        return k * self.distance * np.exp(potential / k), _normal(along_x, along_y, x, y)


@dataclass(frozen=True)
class Solids(Model):
    """Solids in a world whose z points up, looked at from `eye` towards `target`.

    `texture` maps world points (3, ...) to a displacement in depth and its gradient (3, ...). It belongs to
    space, not to a face, so faces that touch still touch. `roll` turns the camera about its axis, in degrees.
    """

    solids: Sequence[Solid]
    eye: tuple[float, float, float]
    target: tuple[float, float, float]
    texture: Callable[[Array], tuple[Array, Array]] | None = None
    roll: float = 0.0

    @property
    def distance(self) -> float:  # type: ignore[override]
        return float(np.linalg.norm(np.subtract(self.target, self.eye)))

    def _axes(self) -> Array:
        """Rows: the camera's x (right), y (down) and z (forward) in the world."""
        forward = np.subtract(self.target, self.eye) / self.distance
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        upright = np.stack([right, np.cross(forward, right), forward])
        return turned(self.roll) @ upright if self.roll else upright

    def tile(self, x: Array, y: Array, z: Array, view: View) -> tuple[Array, Array]:
        if view.around and self.texture is not None:
            raise ValueError(
                "camera: the relief of this scene is made for images, not for panoramas; use another scene"
            )
        axes = self._axes()
        shape = (3, *x.shape)
        eye = self.target - view.retreat * self.distance * axes[2]
        plane = np.tensordot(axes[:2].T, np.stack([x, y]), 1)
        if view.central:
            o, d = eye[:, None, None], plane + z * axes[2][:, None, None]
        else:
            o, d = eye[:, None, None] + self.distance * plane, axes[2][:, None, None]
        depth, first = np.full(x.shape, np.inf), np.full(x.shape, -1)
        for i in _within_reach(self.solids, o, d, None if view.around else axes[2]):
            s = self.solids[i].distance(o, d)
            nearer = s < depth
            np.copyto(depth, s, where=nearer)
            np.copyto(first, i, where=nearer)
        normal = np.full(shape, np.nan)
        for i in np.unique(first[first >= 0]):
            own = first == i
            rays = (np.broadcast_to(v, shape)[:, own] for v in (o, d))
            normal[:, own] = self.solids[i].normal(*rays, depth[own])
        seen = np.tensordot(axes, normal, 1)
        if self.texture is None:
            return depth, seen
        # ∂z/∂x of the bare surface, then of the displaced one by the chain rule through the point P(x, y).
        stretch = depth if view.central else 1.0
        facing = along(normal, d)
        slopes = [-seen[i] * stretch / facing for i in (0, 1)]
        lift, gradient = self.texture(o + np.where(np.isfinite(depth), depth, 0) * d)
        moves = [stretch * axes[i][:, None, None] + slopes[i] * d for i in (0, 1)]
        slopes = [slopes[i] + along(gradient, moves[i]) for i in (0, 1)]
        depth = depth + lift
        if view.central:
            return depth, _normal(slopes[0] / depth, slopes[1] / depth, x, y)
        return depth, _normal(*slopes)


def _normal(along_x: Array, along_y: Array, x: Array | float = 0.0, y: Array | float = 0.0) -> Array:
    """Normal of the surface whose potential has these derivatives; it faces the camera by construction."""
    return np.stack([along_x, along_y, -(1 + x * along_x + y * along_y)])


def _within_reach(solids: Sequence[Solid], o: Array, d: Array, forward: Array | None) -> list[int]:
    """The solids that rays of this tile may meet, judged by the balls around them.

    A hit lies no deeper than the far end of the ball, by the distance if there is no `forward`. Down to there, each ray
    stays within a known distance of the middle one; if that passes the ball farther away, none meets it.
    """
    centre, radius = (np.array([getattr(s, name) for s in solids]) for name in ("centre", "radius"))
    middle_o, middle_d = (v[:, v.shape[1] // 2, v.shape[2] // 2] for v in (o, d))
    apart = [v - m[:, None, None] for v, m in ((o, middle_o), (d, middle_d))]
    spread = [np.sqrt(along(v, v).max()) for v in apart]
    to = centre - middle_o
    reach = (np.linalg.norm(to, axis=1) if forward is None else to @ forward) + radius
    away = to - np.outer(to @ middle_d / (middle_d @ middle_d), middle_d)
    missed = (reach < 0) | (np.linalg.norm(away, axis=1) > radius + spread[0] + reach * spread[1])
    return np.flatnonzero(~missed).tolist()  # a ray that is NaN misses nothing


def render(
    model: Model, shape: tuple[int, int], camera: str | Camera, fov: float, tile: int = _TILE
) -> tuple[Array, Array, Array, Camera]:
    """Normals (H, W, 3), mask, depth and the camera of a model; see `make` for the arguments.

    Tiles of `tile` pixels a side are worked on one by one; small ones pay when there are many small solids.
    """
    shape = checked_shape(shape)
    if not 1 <= fov <= 150:
        raise ValueError(f"fov={fov} must lie between 1 and 150 degrees")
    view = View(central=True, retreat=float(_HALF / np.tan(np.radians(fov / 2))))
    frame = max(shape) / 2  # pixels from the middle to the end of the longer side
    middle = (shape[1] - 1) / 2, (shape[0] - 1) / 2
    pixel = model.distance * _HALF / frame
    if isinstance(camera, str):
        if camera not in ("perspective", "orthographic"):
            raise ValueError(f"camera={camera!r} is not known; use 'perspective', 'orthographic' or a camera")
        focal = frame * view.retreat / _HALF
        camera = Pinhole(focal, focal, *middle) if camera == "perspective" else Orthographic(pixel)
    camera = as_camera(camera)
    x, y, z = camera.coordinates(shape)
    view = View(True, view.retreat, camera.spherical)
    unit = 1.0
    if isinstance(camera, Orthographic):
        view = View(central=False, retreat=2.0)  # from twice as far: nothing lies behind the camera
        x, y = Pinhole(frame / _HALF, frame / _HALF, *middle).slopes(shape)
        unit = camera.pixel_size / pixel

    depth, normals, mask = np.empty(shape), np.empty((*shape, 3)), np.empty(shape, dtype=bool)

    def fill(corner: tuple[int, int]) -> None:
        at = tuple(slice(c, c + tile) for c in corner)
        with np.errstate(all="ignore"):  # rays that miss compute nonsense, which the mask leaves out
            found, n = model.tile(x[at], y[at], z[at], view)
            n = n / np.sqrt(along(n, n))
            facing = along(n, (x[at], y[at], z[at])) if view.central else n[2]  # type: ignore[arg-type]
            seen = np.isfinite(found) & (facing < 0) & ((found > 0) | (not view.central))
        depth[at] = np.where(seen, found * unit, np.nan)
        normals[at] = np.moveaxis(np.where(seen, n, np.nan), 0, -1)
        mask[at] = seen

    corners = [(v, u) for v in range(0, shape[0], tile) for u in range(0, shape[1], tile)]
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        list(pool.map(fill, corners))
    return normals, mask, depth, camera


def checked_shape(shape: tuple[int, int]) -> tuple[int, int]:
    """The shape as two integers; an error that names it if it is not the shape of an image."""
    try:
        height, width = (int(n) for n in shape)
    except (TypeError, ValueError):
        raise ValueError(f"shape={shape!r} must be two numbers, (height, width)") from None
    if height < 1 or width < 1:
        raise ValueError(f"shape={shape!r} must be at least 1×1")
    return height, width
