"""Cameras: the ray of each pixel, and what the potential φ means for it.

Frame of everything in this project: OpenCV, x right, y down, z forward; pixel centres at integer (u, v); depth is the z
of the surface point. A central camera sees the point z·(x, y, 1) at the pixel whose ray is (x, y, 1), and its potential
is φ = log z. An orthographic camera sees (u, v, z) in units of its pixel size, and its potential is φ = z in pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

Shape = tuple[int, int]

# The paper's thresholds are log-depths at the focal length of its benchmark, in pixels. Times that focal length they are
# lengths in pixels at the surface, which mean the same for every camera.
REFERENCE_FOCAL = 3770.0


class Camera:
    """What the rest of the program asks of a camera."""

    central: ClassVar[bool] = True
    # The focal length that absolute thresholds are made for: log-depths count as they are, lengths count in pixels.
    threshold_focal: ClassVar[float] = REFERENCE_FOCAL

    def slopes(self, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
        """x/z and y/z of each pixel's ray, two (H, W) float64 arrays (possibly read-only broadcast views)."""
        raise NotImplementedError

    def focal(self, shape: Shape) -> float | np.ndarray:
        """Pixels per unit of ray slope: a number, or (H, W) where it varies over the image."""
        raise NotImplementedError

    def rays(self, shape: Shape) -> np.ndarray:
        """(H, W, 3) float64 rays with z = 1."""
        x, y = self.slopes(shape)
        return np.stack([x, y, np.ones(shape)], axis=-1)

    def depth(self, potential: np.ndarray) -> np.ndarray:
        """Depth from potential; NaN stays NaN."""
        return np.exp(potential)

    def potential(self, depth: np.ndarray) -> np.ndarray:
        """Potential from depth; depths that a central camera cannot see become NaN."""
        return np.log(np.where(depth > 0, depth, np.nan))

    def points(self, depth: np.ndarray) -> np.ndarray:
        """(H, W, 3) points in the OpenCV camera frame; NaN where depth is."""
        x, y = self.slopes(depth.shape)
        return np.stack([x * depth, y * depth, depth], axis=-1)


@dataclass(frozen=True)
class Pinhole(Camera):
    """Pinhole camera, intrinsics in pixels and in OpenCV order.

    >>> Pinhole.from_fov(90, shape=(480, 640)).matrix.round(3).tolist()
    [[320.0, 0.0, 319.5], [0.0, 320.0, 239.5], [0.0, 0.0, 1.0]]
    """

    fx: float
    fy: float
    cx: float
    cy: float

    def __post_init__(self) -> None:
        for name in ("fx", "fy", "cx", "cy"):
            value = float(getattr(self, name))
            if not np.isfinite(value) or (name[0] == "f" and value <= 0):
                need = "a positive number of pixels" if name[0] == "f" else "a finite number of pixels"
                raise ValueError(f"camera: {name}={value} must be {need}; check the intrinsic matrix")
            object.__setattr__(self, name, value)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Self:
        """From a 3×3 intrinsic matrix [[fx, 0, cx], [0, fy, cy], [0, 0, 1]]."""
        k = np.asarray(matrix, dtype=np.float64)
        if k.shape != (3, 3):
            raise ValueError(
                f"camera: an intrinsic matrix is 3×3, got shape {k.shape}; pass K or a Pinhole(fx, fy, cx, cy)"
            )
        if not np.isfinite(k).all() or abs(k[2, 2]) < 1e-12:
            raise ValueError(f"camera: K[2, 2] must be 1 and all entries finite, got {k.tolist()}")
        k = k / k[2, 2]
        if abs(k[0, 1]) > 1e-6 * abs(k[0, 0]):
            raise ValueError(f"camera: K has skew {k[0, 1]:g}, which Pinhole does not model; pass RayMap(rays) instead")
        if np.abs(k[1:, 0]).max() > 1e-9 or abs(k[2, 1]) > 1e-9:
            raise ValueError(f"camera: K must be upper triangular, got {k.tolist()}; is it transposed?")
        return cls(k[0, 0], k[1, 1], k[0, 2], k[1, 2])

    @classmethod
    def from_fov(cls, degrees: float, shape: Shape) -> Self:
        """From a horizontal field of view, square pixels, principal point in the middle of the image."""
        if not 0 < degrees < 180:
            raise ValueError(f"camera: a field of view lies between 0 and 180 degrees, got {degrees}")
        height, width = shape
        f = 0.5 * width / np.tan(np.radians(degrees) / 2)
        return cls(float(f), float(f), (width - 1) / 2, (height - 1) / 2)

    @property
    def matrix(self) -> np.ndarray:
        """The 3×3 intrinsic matrix K."""
        return np.array([[self.fx, 0, self.cx], [0, self.fy, self.cy], [0, 0, 1]])

    def slopes(self, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
        x = (np.arange(shape[1]) - self.cx) / self.fx
        y = (np.arange(shape[0]) - self.cy) / self.fy
        return np.broadcast_to(x[None, :], shape), np.broadcast_to(y[:, None], shape)

    def focal(self, shape: Shape) -> float:
        return self.fx


@dataclass(frozen=True, eq=False)
class RayMap(Camera):
    """Any central camera, given by one ray per pixel.

    Parameters
    ----------
    directions : (H, W, 3) array
        Rays of any length with z > 0. A pixel whose ray is not finite or has z ≤ 0 is invalid.
    """

    directions: np.ndarray = field(repr=False)

    def __post_init__(self) -> None:
        rays = np.asarray(self.directions, dtype=np.float64)
        if rays.ndim != 3 or rays.shape[2] != 3:
            raise ValueError(f"camera: a ray map has shape (H, W, 3), got {rays.shape}")
        with np.errstate(divide="ignore", invalid="ignore"):
            xy = rays[..., :2] / rays[..., 2:]
            xy[~((rays[..., 2] > 0) & np.isfinite(xy).all(axis=-1))] = np.nan
        if np.isnan(xy).all():
            raise ValueError("camera: no ray of the ray map is finite with z > 0; rays point forward along +z")
        object.__setattr__(self, "directions", rays)
        object.__setattr__(self, "_slopes", (np.ascontiguousarray(xy[..., 0]), np.ascontiguousarray(xy[..., 1])))

    @classmethod
    def fisheye(cls, degrees: float, shape: Shape) -> Self:
        """Equidistant fisheye: the angle to the axis grows linearly with the distance from the image centre.

        `degrees` is the field of view across the shorter side. Pixels 90° or more off the axis are invalid.
        """
        if not 0 < degrees <= 360:
            raise ValueError(f"camera: a fisheye's field of view lies between 0 and 360 degrees, got {degrees}")
        height, width = shape
        v, u = np.mgrid[:height, :width].astype(np.float64)
        u -= (width - 1) / 2
        v -= (height - 1) / 2
        radius = np.hypot(u, v)
        theta = radius * (np.radians(degrees) / min(height, width))
        stretch = np.sin(theta) / np.where(radius > 0, radius, 1)
        z = np.where(theta < np.pi / 2, np.cos(theta), np.nan)
        return cls(np.stack([u * stretch, v * stretch, z], axis=-1))

    def slopes(self, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
        if self.directions.shape[:2] != tuple(shape):
            raise ValueError(
                f"camera: the ray map is {self.directions.shape[:2]}, the normals are {tuple(shape)}; sizes must agree"
            )
        return self._slopes  # type: ignore[attr-defined]

    def focal(self, shape: Shape) -> float | np.ndarray:
        # Pixels per slope from the area that a pixel covers. A constant map is a pinhole: then the whole width is
        # used, so that the same rays give the same weights to rounding.
        x, y = self.slopes(shape)
        if min(shape) < 2:
            return _pixels_per_slope(np.diff(x if shape[1] > 1 else y, axis=1 if shape[1] > 1 else 0))
        focal, along_u = focal_lengths(x, y), np.gradient(x, axis=1)
        found = focal[np.isfinite(focal)]
        if not len(found):  # no pixel has rays on all sides
            return _pixels_per_slope(np.append(np.diff(x, axis=1), np.diff(y, axis=0)))
        steps = along_u[np.isfinite(along_u)]
        if np.ptp(steps) < 1e-6 * abs(steps[0]):
            whole = float(np.mean(x[:, -1] - x[:, 0])) / (shape[1] - 1)
            return 1 / abs(whole if np.isfinite(whole) else float(np.mean(steps)))
        return np.where(np.isfinite(focal), focal, np.median(found))


def focal_lengths(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(H, W) pixels per slope, from the area that each pixel covers; not finite beside rays that do not exist."""
    with np.errstate(divide="ignore", invalid="ignore"):
        area = np.gradient(x, axis=1) * np.gradient(y, axis=0) - np.gradient(x, axis=0) * np.gradient(y, axis=1)
        return 1 / np.sqrt(np.abs(area))


def _pixels_per_slope(steps: np.ndarray) -> float:
    """1 / median |step| between neighbouring rays; 1 where there are no neighbours."""
    sizes = np.abs(steps[np.isfinite(steps)])
    middle = float(np.median(sizes)) if len(sizes) else 0.0
    return 1 / middle if middle > 0 else 1.0


@dataclass(frozen=True)
class Orthographic(Camera):
    """Parallel rays along +z; `pixel_size` is the width of a pixel in the unit in which depth is wanted."""

    pixel_size: float = 1.0
    central: ClassVar[bool] = False
    threshold_focal: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        if not np.isfinite(self.pixel_size) or self.pixel_size <= 0:
            raise ValueError(f"camera: pixel_size={self.pixel_size} must be a positive length")

    def slopes(self, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
        zero = np.broadcast_to(np.zeros((1, 1)), shape)
        return zero, zero

    def focal(self, shape: Shape) -> float:
        return 1.0

    def depth(self, potential: np.ndarray) -> np.ndarray:
        return potential * self.pixel_size

    def potential(self, depth: np.ndarray) -> np.ndarray:
        return np.asarray(depth, dtype=np.float64) / self.pixel_size

    def points(self, depth: np.ndarray) -> np.ndarray:
        v, u = np.indices(depth.shape, dtype=np.float64) * self.pixel_size
        blank = np.where(np.isfinite(depth), 0.0, np.nan)
        return np.stack([u + blank, v + blank, depth], axis=-1)


def as_camera(camera: Camera | ArrayLike | None) -> Camera:
    """A camera from what users pass: a camera, a 3×3 intrinsic matrix, or None for `Orthographic()`."""
    if camera is None:
        return Orthographic()
    if isinstance(camera, Camera):
        return camera
    try:
        matrix = np.asarray(camera, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"camera: expected Pinhole, Orthographic, RayMap, a 3×3 matrix or None, got {type(camera).__name__}"
        ) from None
    return Pinhole.from_matrix(matrix)
