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
    x, y : (H, W) float64
        Slopes of the rays.
    lengths : float or (H, W) float64
        Focal length of each pixel.
    """

    x: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    lengths: float | np.ndarray = field(repr=False)

    def slopes(self, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
        return self.x, self.y

    def focal(self, shape: Shape) -> float | np.ndarray:
        return self.lengths


def window_camera(camera: Camera, shape: Shape, box: Box) -> Camera:
    """The camera that sees the pixels of `box` as `camera` sees them in a map of the given shape."""
    if isinstance(camera, Pinhole):
        return replace(camera, cx=camera.cx - box.left, cy=camera.cy - box.top)
    if not camera.central:
        return camera
    if isinstance(camera, RayMap):
        x, y = camera.slopes(shape)
        focal, part = camera.focal(shape), box.within(Box(0, 0, *shape))
        return WindowRays(
            np.ascontiguousarray(x[part]),
            np.ascontiguousarray(y[part]),
            focal if np.ndim(focal) == 0 else np.asarray(focal)[part],
        )
    raise ValueError(f"camera: a map in tiles takes Pinhole, Orthographic or RayMap, got {type(camera).__name__}")
