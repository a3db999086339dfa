"""Cameras: the ray of each pixel, and what the potential φ means for it.

Frame of everything in this project: OpenCV, x right, y down, z forward; pixel centres at integer (u, v); depth is the z
of the surface point. A central camera sees the point z·(x, y, 1) at the pixel whose ray is (x, y, 1), and its potential
is φ = log z. An orthographic camera sees (u, v, z) in units of its pixel size, and its potential is φ = z in pixels.

A central camera that also sees what is beside or behind it, as a panorama does, is *spherical*: z is zero or negative there
and says nothing. Its rays have length 1, its depth is the distance from the camera, and its potential the logarithm of that.
The formulas are the same for both: depth is what a ray is multiplied by.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from .focal import Shape, pixels_per_radian, pixels_per_slope
from .rays import pinhole_slopes
from .sphere import cube_to_panorama, equirectangular_rays, face_rays, unit_coordinates

# The paper's thresholds are log-depths at the focal length of its benchmark, in pixels. Times that focal length they are
# lengths in pixels at the surface, which mean the same for every camera.
REFERENCE_FOCAL = 3770.0


class Camera:
    """What the rest of the program asks of a camera."""

    central: ClassVar[bool] = True
    # Whether depth is the distance from the camera instead of z.
    spherical: bool = False
    # The focal length that absolute thresholds are made for: log-depths count as they are, lengths count in pixels.
    threshold_focal: ClassVar[float] = REFERENCE_FOCAL

    def slopes(self, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
        """x/z and y/z of each pixel's ray, two (H, W) float64 arrays (possibly read-only broadcast views)."""
        raise NotImplementedError

    def coordinates(self, shape: Shape) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x, y, z of the rays that depth is measured along, three (H, W) float64 arrays, NaN where there is no ray.

        z is 1, or for a spherical camera the length of the ray is.
        """
        return *self.slopes(shape), np.broadcast_to(np.ones((1, 1)), shape)

    def focal(self, shape: Shape) -> float | np.ndarray:
        """Pixels per unit of ray slope, or per radian: a number, or (H, W) where it varies over the image."""
        raise NotImplementedError

    def rays(self, shape: Shape) -> np.ndarray:
        """(H, W, 3) float64 rays with z = 1; of length 1 for a spherical camera."""
        return np.stack(self.coordinates(shape), axis=-1)

    def depth(self, potential: np.ndarray) -> np.ndarray:
        """Depth from potential; NaN stays NaN."""
        return np.exp(potential)

    def potential(self, depth: np.ndarray) -> np.ndarray:
        """Potential from depth; depths that a central camera cannot see become NaN."""
        return np.log(np.where(depth > 0, depth, np.nan))

    def points(self, depth: np.ndarray) -> np.ndarray:
        """(H, W, 3) points in the OpenCV camera frame; NaN where depth is."""
        x, y, z = self.coordinates((depth.shape[0], depth.shape[1]))
        return np.stack([x * depth, y * depth, z * depth if self.spherical else depth], axis=-1)

    def distance(self, depth: np.ndarray) -> np.ndarray:
        """(H, W) distance from the camera along the ray; for parallel rays the depth itself."""
        if self.spherical or not self.central:
            return depth
        x, y = self.slopes((depth.shape[0], depth.shape[1]))
        return depth * np.sqrt(x * x + y * y + 1)


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
        if np.shape(shape) != (2,):
            raise ValueError(f"camera: shape={shape!r} must be (height, width), for instance normals.shape[:2]")
        if not 0 < degrees < 180:
            raise ValueError(f"camera: a field of view lies between 0 and 180 degrees, got {degrees}")
        f = float(0.5 * shape[1] / np.tan(np.radians(degrees) / 2))
        return cls(f, f, (shape[1] - 1) / 2, (shape[0] - 1) / 2)

    @property
    def matrix(self) -> np.ndarray:
        """The 3×3 intrinsic matrix K."""
        return np.array([[self.fx, 0, self.cx], [0, self.fy, self.cy], [0, 0, 1]])

    def slopes(self, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
        return pinhole_slopes(self.fx, self.fy, self.cx, self.cy, *shape)

    def focal(self, shape: Shape) -> float:
        return self.fx


@dataclass(frozen=True, eq=False)
class RayMap(Camera):
    """Any central camera, given by one ray per pixel.

    Parameters
    ----------
    directions : (H, W, 3) array
        Rays of any length. A pixel whose ray is not finite, or zero, is invalid. If z > 0 for all others, depth is z. If
        some rays point sideways or backwards, the camera is `spherical`: depth is the distance from the camera.
    """

    directions: np.ndarray = field(repr=False)
    spherical: bool = field(init=False, repr=False, default=False)

    def __post_init__(self) -> None:
        given = self.directions
        if hasattr(given, "detach"):  # a tensor of PyTorch, which may require gradients or lie on a GPU
            given = given.detach().cpu().numpy()
        rays = np.asarray(given, dtype=np.float64)
        if rays.ndim != 3 or rays.shape[2] != 3:
            raise ValueError(f"camera: a ray map has shape (H, W, 3), got {rays.shape}")
        usable = np.isfinite(rays).all(axis=-1) & (rays != 0).any(axis=-1)
        if not usable.any():
            raise ValueError(
                "camera: no ray of the ray map is finite and other than zero; give a direction to each pixel"
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            xy = rays[..., :2] / rays[..., 2:]
            xy[~((rays[..., 2] > 0) & np.isfinite(xy).all(axis=-1))] = np.nan
        object.__setattr__(self, "directions", rays)
        object.__setattr__(self, "spherical", bool((rays[..., 2][usable] <= 0).any()))
        object.__setattr__(self, "_slopes", (np.ascontiguousarray(xy[..., 0]), np.ascontiguousarray(xy[..., 1])))

    @classmethod
    def fisheye(cls, degrees: float, shape: Shape) -> Self:
        """Equidistant fisheye: the angle to the axis grows linearly with the distance from the image centre.

        `degrees` is the field of view across the shorter side. Pixels 90° or more off the axis are invalid, unless the
        field of view exceeds 180°; then depth is the distance from the camera.
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
        z = np.where(theta < (np.pi / 2 if degrees <= 180 else np.pi), np.cos(theta), np.nan)
        return cls(np.stack([u * stretch, v * stretch, z], axis=-1))

    @classmethod
    def equirectangular(
        cls,
        shape: Shape,
        longitude: tuple[float, float] = (-180.0, 180.0),
        latitude: tuple[float, float] = (-90.0, 90.0),
    ) -> Self:
        """Panorama whose columns are longitudes and whose rows are latitudes, the full sphere or a part of it.

        Longitude 0 looks along +z and 90° along +x; latitude 90° looks up, along −y. A map that covers 360° of longitude
        wraps in x, and its rows at the poles are joined across them.

        Parameters
        ----------
        shape : (height, width)
        longitude : (left, right)
            Degrees at the outer edges of the first and the last column.
        latitude : (bottom, top)
            Degrees at the outer edges of the last and the first row.

        Examples
        --------
        >>> RayMap.equirectangular((2, 4)).rays((2, 4))[0, 2].round(3).tolist()
        [0.5, -0.707, 0.5]
        """
        return cls(equirectangular_rays(shape, longitude, latitude))

    @classmethod
    def cubemap(cls, size: int, shape: Shape | None = None) -> Self:
        """Six square faces of `size` pixels a side, laid out as the panorama that `cube_to_panorama` makes of them.

        Each pixel of the panorama has the ray of the pixel of a face that it is taken from, so nothing is interpolated.

        Examples
        --------
        >>> RayMap.cubemap(16).directions.shape
        (32, 64, 3)
        """
        return cls(cube_to_panorama(face_rays(size), shape))

    def slopes(self, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
        self._check(shape)
        return self._slopes  # type: ignore[attr-defined]

    def coordinates(self, shape: Shape) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if not self.spherical:
            return super().coordinates(shape)
        self._check(shape)
        return self._unit

    @cached_property
    def _unit(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return unit_coordinates(self.directions)

    def _check(self, shape: Shape) -> None:
        if self.directions.shape[:2] != tuple(shape):
            raise ValueError(
                f"camera: the ray map is {self.directions.shape[:2]}, the normals are {tuple(shape)}; sizes must agree"
            )

    def focal(self, shape: Shape) -> float | np.ndarray:
        if self.spherical:
            return pixels_per_radian(np.stack(self.coordinates(shape), axis=-1))
        return pixels_per_slope(*self.slopes(shape))


@dataclass(frozen=True)
class Orthographic(Camera):
    """Parallel rays along +z; `pixel_size` is the width of a pixel in the unit in which depth is wanted."""

    pixel_size: float = 1.0
    central: ClassVar[bool] = False
    threshold_focal: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.pixel_size, str) or not 0 < self.pixel_size < np.inf:
            raise ValueError(f"camera: pixel_size={self.pixel_size!r} must be a positive length")

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
