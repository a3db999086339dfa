"""The camera of a window of a map: the same rays, counted from the corner of the window."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..geometry.camera import Camera, Pinhole, RayMap, Shape
from .tiling import Box


@dataclass(frozen=True, eq=False)
class WindowRays(Camera):
    """Rays of a window of a ray map, with the focal lengths that they have in the whole map.

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
    if isinstance(camera, RayMap):
        focal, part = camera.focal(shape), box.within(Box(0, 0, *shape))
        x, y, z = (np.ascontiguousarray(values[part]) for values in camera.coordinates(shape))
        return WindowRays(x, y, z, focal if np.ndim(focal) == 0 else np.asarray(focal)[part], camera.spherical)
    raise ValueError(f"camera: a map in tiles takes Pinhole, Orthographic or RayMap, got {type(camera).__name__}")
