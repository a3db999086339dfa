"""Cameras of maps in tiles: the camera of a window, and rays that are given by a formula instead of an array."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from ..geometry.camera import Camera, Pinhole, RayMap, Shape
from ..geometry.focal import REACH, focal_lengths, radians_per_pixel
from ..geometry.sphere import equirectangular_rays, unit_coordinates
from ..geometry.wrapping import Wrap, closes
from .tiling import Box, Turn

# Rows and columns, (h, 1) and (1, w), that a formula turns into rays (h, w, 3).
Formula = Callable[[np.ndarray, np.ndarray], np.ndarray]

_PLACES = 25  # rows and columns of the places in which the angle between rays is compared
_SAMPLES = 2000  # rows and columns from which the usual focal length of a formula is found


def identity(view: Camera) -> list[Any]:
    """What tells a camera from others in the record of a run: all its rays, or those of a formula at some places."""
    if isinstance(view, RayMap):
        return ["RayMap", zlib.crc32(np.ascontiguousarray(view.directions).data)]
    if isinstance(view, RayFormula):
        rows, columns = (np.linspace(0, n - 1, _PLACES).astype(int) for n in view.shape)
        rays = np.asarray(view.formula(rows[:, None], columns[None, :]), dtype=np.float64)
        return ["RayFormula", *view.shape, view.spherical, zlib.crc32(np.ascontiguousarray(rays).data)]
    return [repr(view)]


@dataclass(frozen=True, eq=False)
class RayFormula(Camera):
    """Any central camera whose rays are a formula of the row and the column, so that no array of them is needed.

    Parameters
    ----------
    formula : callable
        Takes rows (h, 1) and columns (1, w) as floats, returns rays (h, w, 3) of any length. A pixel whose ray is not finite
        is invalid. It is sent to other processes, so it has to be a function of a module or a `partial` of one.
    shape : (H, W)
        Of the whole map.
    spherical : bool
        Whether rays may point sideways and backwards; depth is the distance from the camera then. Otherwise it is z, and a
        pixel whose ray has z ≤ 0 is invalid.

    Examples
    --------
    >>> camera, same = RayFormula.fisheye(120, (48, 64)), RayMap.fisheye(120, (48, 64))
    >>> bool(np.allclose(camera.slopes((48, 64)), same.slopes((48, 64)), equal_nan=True))
    True
    """

    formula: Formula
    shape: Shape
    spherical: bool = False

    @classmethod
    def equirectangular(
        cls,
        shape: Shape,
        longitude: tuple[float, float] = (-180.0, 180.0),
        latitude: tuple[float, float] = (-90.0, 90.0),
    ) -> Self:
        """Panorama whose columns are longitudes and whose rows are latitudes; see `RayMap.equirectangular`.

        The two ends of a panorama of 360 degrees meet.
        """
        equirectangular_rays((1, 1), longitude, latitude)  # raises what is wrong with them
        return cls(partial(_equirectangular, shape, longitude, latitude), shape, True)

    @classmethod
    def fisheye(cls, degrees: float, shape: Shape) -> Self:
        """Equidistant fisheye of at most 180 degrees; see `RayMap.fisheye`."""
        if not 0 < degrees <= 180:
            raise ValueError(
                f"camera: a fisheye by formula sees between 0 and 180 degrees, got {degrees}; use RayMap.fisheye for more"
            )
        return cls(partial(_fisheye, degrees, shape), shape)

    def slopes(self, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
        return self.window(Box(0, 0, *shape)).slopes(shape)

    def focal(self, shape: Shape) -> float | np.ndarray:
        return self.window(Box(0, 0, *shape)).focal(shape)

    def window(self, box: Box) -> WindowRays:
        """The rays of a box, with the focal lengths that they have in the whole map."""
        reach = REACH if self.spherical else 1
        wide = Box(box.top - reach, box.left - reach, box.bottom + reach, box.right + reach)
        wide = wide.common(Box(0, 0, *self.shape))
        part = box.within(wide)
        rays = self.formula(np.arange(wide.top, wide.bottom)[:, None], np.arange(wide.left, wide.right)[None, :])
        if self.spherical:
            return self._around(rays, part)
        x, y = _slopes(rays)
        focal = focal_lengths(x, y)
        focal = np.where(np.isfinite(focal), focal, self.usual_focal)
        x, y, focal = (np.ascontiguousarray(values[part]) for values in (x, y, focal))
        return WindowRays(x, y, np.ones_like(x), focal)

    def _around(self, rays: np.ndarray, part: tuple[slice, slice]) -> WindowRays:
        """The rays of some rows and columns of a box with its surroundings, of length 1."""
        unit = unit_coordinates(rays)
        usual, same = self._angles
        x, y, z = (np.ascontiguousarray(values[part]) for values in unit)
        if same:
            return WindowRays(x, y, z, 1 / usual, True)
        step = radians_per_pixel(np.stack(unit, axis=-1))[part]
        return WindowRays(x, y, z, 1 / np.where(np.isfinite(step) & (step > 0), step, usual), True)

    @cached_property
    def _angles(self) -> tuple[float, bool]:
        """The median angle between neighbouring rays, from a sample of the map, and whether it is the same everywhere."""
        found = []
        for v in np.unique(np.linspace(0, self.shape[0] - 1, _PLACES).astype(int)):
            for u in np.unique(np.linspace(0, self.shape[1] - 1, _PLACES).astype(int)):
                box = Box(v - REACH, u - REACH, v + REACH + 1, u + REACH + 1).common(Box(0, 0, *self.shape))
                rays = self.formula(np.arange(box.top, box.bottom)[:, None], np.arange(box.left, box.right)[None, :])
                found.append(radians_per_pixel(np.stack(unit_coordinates(rays), axis=-1))[v - box.top, u - box.left])
        angles = np.array([one for one in found if np.isfinite(one) and one > 0])
        if not len(angles):
            return 1.0, True
        middle = float(np.median(angles))
        return middle, bool(np.ptp(angles) < 1e-3 * middle)

    @property
    def wrap(self) -> Wrap:
        """Whether the last column goes on in the first one, as in a panorama of 360 degrees, and rows meet at poles."""
        height, width = self.shape
        rows, columns = (np.unique(np.linspace(0, n - 1, _PLACES).astype(int)) for n in self.shape)
        every = np.arange(width)[None, :]
        if not closes(self.formula(rows[:, None], every)):
            return Wrap()
        first, last = (self.formula(np.array([[row]]), every)[0] for row in (0, height - 1))
        lines = self.formula(np.arange(height)[:, None], columns[None, :])
        return Wrap(x=True).with_poles(first, last, lines, self.shape)

    @cached_property
    def usual_focal(self) -> float:
        """The median focal length, for pixels that do not have rays on all sides; from a sample of the map."""
        rows, columns = (np.unique(np.linspace(1, n - 2, min(n, _SAMPLES)).astype(int)) for n in self.shape)
        steps = []
        for down, right in ((0, -1), (0, 1), (-1, 0), (1, 0)):
            steps.append(_slopes(self.formula((rows + down)[:, None], (columns + right)[None, :])))
        (left_x, left_y), (right_x, right_y), (up_x, up_y), (down_x, down_y) = steps
        with np.errstate(divide="ignore", invalid="ignore"):
            area = ((right_x - left_x) * (down_y - up_y) - (down_x - up_x) * (right_y - left_y)) / 4
            found = 1 / np.sqrt(np.abs(area))
        found = found[np.isfinite(found)]
        return float(np.median(found)) if len(found) else 1.0

    def __repr__(self) -> str:
        return f"RayFormula({self.formula}, {self.shape}{', spherical=True' if self.spherical else ''})"


@dataclass(frozen=True, eq=False)
class WindowRays(Camera):
    """Rays of a window of a map, with the focal lengths that they have in the whole map.

    Attributes
    ----------
    x, y, z : (H, W) float64
        Coordinates of the rays; z is 1 unless the camera is spherical.
    lengths : float or (H, W) float64
        Focal length of each pixel.
    spherical : bool
        As that of the whole camera.
    """

    x: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    z: np.ndarray = field(repr=False)
    lengths: float | np.ndarray = field(repr=False)
    spherical: bool = False

    def slopes(self, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.x / self.z, self.y / self.z

    def coordinates(self, shape: Shape) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.x, self.y, self.z

    def focal(self, shape: Shape) -> float | np.ndarray:
        return self.lengths


def window_camera(camera: Camera, shape: Shape, box: Box) -> Camera:
    """The camera that sees the pixels of `box` as `camera` sees them in a map of the given shape."""
    if isinstance(camera, Pinhole):
        return replace(camera, cx=camera.cx - box.left, cy=camera.cy - box.top)
    if not camera.central:
        return camera
    if isinstance(camera, RayFormula):
        return camera.window(box)
    if isinstance(camera, RayMap):
        focal, part = camera.focal(shape), box.within(Box(0, 0, *shape))
        x, y, z = (np.ascontiguousarray(values[part]) for values in camera.coordinates(shape))
        return WindowRays(x, y, z, focal if np.ndim(focal) == 0 else np.asarray(focal)[part], camera.spherical)
    raise ValueError(
        f"camera: a map in tiles takes Pinhole, Orthographic, RayMap or RayFormula, got {type(camera).__name__}"
    )


def joined_rays(box: Box, parts: list[tuple[Turn, Camera]]) -> WindowRays:
    """The rays of a box from those of parts that cover it, each with the focal lengths that it has in the whole map."""
    x, y, z, focal = (np.empty(box.shape) for _ in range(4))
    lengths: float | np.ndarray = focal
    spherical = False
    for turn, camera in parts:
        assert isinstance(camera, WindowRays)
        for out, values in ((x, camera.x), (y, camera.y), (z, camera.z), (focal, camera.lengths)):
            out[turn.part.within(box)] = turn.seen(np.broadcast_to(values, turn.part.shape))
        lengths, spherical = camera.lengths if np.ndim(camera.lengths) == 0 else focal, camera.spherical
    return WindowRays(x, y, z, lengths, spherical)


def _slopes(rays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x/z and y/z of rays, NaN where a ray is not finite or does not point forward."""
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y = rays[..., 0] / rays[..., 2], rays[..., 1] / rays[..., 2]
        bad = ~((rays[..., 2] > 0) & np.isfinite(x) & np.isfinite(y))
    x[bad] = y[bad] = np.nan
    return x, y


def _equirectangular(
    shape: Shape, longitude: tuple[float, float], latitude: tuple[float, float], v: np.ndarray, u: np.ndarray
) -> np.ndarray:
    (left, right), (bottom, top) = longitude, latitude
    lon, lat = (
        np.radians(begin + (at + 0.5) * (end - begin) / n)
        for at, begin, end, n in ((u, left, right, shape[1]), (v, top, bottom, shape[0]))
    )
    flat = np.cos(lat)
    return np.stack(np.broadcast_arrays(flat * np.sin(lon), -np.sin(lat), flat * np.cos(lon)), axis=-1)


def _fisheye(degrees: float, shape: Shape, v: np.ndarray, u: np.ndarray) -> np.ndarray:
    height, width = shape
    u, v = u - (width - 1) / 2, v - (height - 1) / 2
    radius = np.hypot(u, v)
    theta = radius * (np.radians(degrees) / min(height, width))
    stretch = np.sin(theta) / np.where(radius > 0, radius, 1)
    z = np.where(theta < np.pi / 2, np.cos(theta), np.nan)
    return np.stack([u * stretch, v * stretch, z], axis=-1)
