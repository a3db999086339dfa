"""Cameras of maps in tiles: the camera of a window, and rays that are given by a formula instead of an array."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Self

import numpy as np

from ..geometry.camera import Camera, Pinhole, RayMap, Shape
from ..geometry.focal import focal_lengths
from .tiling import Box

# Rows and columns, (h, 1) and (1, w), that a formula turns into rays (h, w, 3).
Formula = Callable[[np.ndarray, np.ndarray], np.ndarray]

_SAMPLES = 2000  # rows and columns from which the usual focal length of a formula is found


@dataclass(frozen=True, eq=False)
class RayFormula(Camera):
    """Any central camera whose rays are a formula of the row and the column, so that no array of them is needed.

    Parameters
    ----------
    formula : callable
        Takes rows (h, 1) and columns (1, w) as floats, returns rays (h, w, 3) of any length. A pixel whose ray is not finite
        or has z ≤ 0 is invalid. It is sent to other processes, so it has to be a function of a module or a `partial` of one.
    shape : (H, W)
        Of the whole map.

    Examples
    --------
    >>> camera, same = RayFormula.fisheye(120, (48, 64)), RayMap.fisheye(120, (48, 64))
    >>> bool(np.allclose(camera.slopes((48, 64)), same.slopes((48, 64)), equal_nan=True))
    True
    """

    formula: Formula
    shape: Shape

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
        wide = Box(box.top - 1, box.left - 1, box.bottom + 1, box.right + 1).common(Box(0, 0, *self.shape))
        x, y = _slopes(
            self.formula(np.arange(wide.top, wide.bottom)[:, None], np.arange(wide.left, wide.right)[None, :])
        )
        focal, part = focal_lengths(x, y), box.within(wide)
        focal = np.where(np.isfinite(focal), focal, self.usual_focal)
        x, y, focal = (np.ascontiguousarray(values[part]) for values in (x, y, focal))
        return WindowRays(x, y, np.ones_like(x), focal)

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
        return f"RayFormula({self.formula}, {self.shape})"


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


def _slopes(rays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x/z and y/z of rays, NaN where a ray is not finite or does not point forward."""
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y = rays[..., 0] / rays[..., 2], rays[..., 1] / rays[..., 2]
        bad = ~((rays[..., 2] > 0) & np.isfinite(x) & np.isfinite(y))
    x[bad] = y[bad] = np.nan
    return x, y


def _fisheye(degrees: float, shape: Shape, v: np.ndarray, u: np.ndarray) -> np.ndarray:
    height, width = shape
    u, v = u - (width - 1) / 2, v - (height - 1) / 2
    radius = np.hypot(u, v)
    theta = radius * (np.radians(degrees) / min(height, width))
    stretch = np.sin(theta) / np.where(radius > 0, radius, 1)
    z = np.where(theta < np.pi / 2, np.cos(theta), np.nan)
    return np.stack([u * stretch, v * stretch, z], axis=-1)
