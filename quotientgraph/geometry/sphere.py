"""Directions all around: the rays of panoramas, and the six faces of a cube."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from .focal import Shape

# Right, down and forward of each face of a cube in the frame of the panorama (x right, y down, z forward), each face as
# seen from the inside: "top" and "bottom" continue the upper and the lower border of "front".
FACES: dict[str, np.ndarray] = {
    "front": np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    "right": np.array([[0, 0, -1], [0, 1, 0], [1, 0, 0]]),
    "back": np.array([[-1, 0, 0], [0, 1, 0], [0, 0, -1]]),
    "left": np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]]),
    "top": np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]]),
    "bottom": np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
}


def equirectangular_rays(shape: Shape, longitude: tuple[float, float], latitude: tuple[float, float]) -> np.ndarray:
    """(H, W, 3) unit rays of a panorama; see `RayMap.equirectangular`."""
    try:
        height, width = (int(n) for n in shape)
        (left, right), (bottom, top) = longitude, latitude
    except (TypeError, ValueError):
        raise ValueError(
            f"shape={shape!r}, longitude={longitude!r}, latitude={latitude!r}: each must be two numbers, as in "
            "RayMap.equirectangular((512, 1024))"
        ) from None
    if min(height, width) < 1:
        raise ValueError(f"shape={shape!r} must be (height, width), both positive")
    if not 0 < right - left <= 360.0 + 1e-9:
        raise ValueError(f"longitude={longitude} must be (left, right) in degrees, at most 360 apart")
    if not -90 <= bottom < top <= 90:
        raise ValueError(f"latitude={latitude} must be (bottom, top) in degrees, between -90 and 90")
    lon = np.radians(left + (np.arange(width) + 0.5) * (right - left) / width)[None, :]
    lat = np.radians(top + (np.arange(height) + 0.5) * (bottom - top) / height)[:, None]
    flat = np.cos(lat)
    return np.stack(np.broadcast_arrays(flat * np.sin(lon), -np.sin(lat), flat * np.cos(lon)), axis=-1)


def unit_coordinates(rays: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, y, z of rays (H, W, 3) at length 1, three (H, W) arrays; NaN where there is no ray."""
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = rays / np.linalg.norm(rays, axis=-1, keepdims=True)
    unit[~np.isfinite(unit).all(axis=-1)] = np.nan
    x, y, z = (np.ascontiguousarray(unit[..., k]) for k in range(3))
    return x, y, z


def face_rays(size: int) -> dict[str, np.ndarray]:
    """(size, size, 3) rays of the pixels of each face of a cube, in the frame of the panorama."""
    if size < 1:
        raise ValueError(f"size={size} must be the number of pixels along the side of a face")
    slope = (2 * np.arange(size) + 1) / size - 1
    right, down = np.meshgrid(slope, slope)
    own = np.stack([right, down, np.ones_like(right)], axis=-1)
    return {name: own @ axes for name, axes in FACES.items()}


def cube_to_panorama(
    faces: Mapping[str, ArrayLike], shape: Shape | None = None, turn_vectors: bool = False
) -> np.ndarray:
    """Six square images of a cube as one equirectangular panorama: each pixel takes the nearest pixel of its face.

    Values are not mixed, so that normals, labels and depths on two sides of an edge stay what they are. With
    ``RayMap.cubemap(N)`` as the camera each value also keeps the ray of the pixel that it comes from, and nothing is
    displaced.

    Parameters
    ----------
    faces : mapping from "front", "right", "back", "left", "top" and "bottom" to (N, N) or (N, N, channels) arrays
        Seen from the inside; "top" and "bottom" continue the upper and the lower border of "front".
    shape : (height, width), optional
        Of the panorama; by default (2N, 4N), the mean resolution of the faces. Near the corners of the cube some pixels of
        the faces are then left out; (3N, 6N) takes nearly all.
    turn_vectors : bool
        Whether the values are vectors in the OpenCV frame of each face's own camera. They are turned to the frame of the
        panorama, which is that of "front".

    Returns
    -------
    (H, W) or (H, W, channels) array
        To be used with ``camera=RayMap.cubemap(N, shape)``.

    Examples
    --------
    >>> flat = {name: np.tile([0.0, 0.0, -1.0], (8, 8, 1)) for name in FACES}
    >>> normals = cube_to_panorama(flat, turn_vectors=True)
    >>> normals.shape, normals[8, 16].tolist()
    ((16, 32, 3), [0.0, 0.0, -1.0])
    """
    if not isinstance(faces, Mapping):
        raise ValueError(
            f"faces: expected a dictionary with the images {', '.join(FACES)}, got {type(faces).__name__}"
            "; pass dict(front=..., right=..., ...)"
        )
    missing = [name for name in FACES if name not in faces]
    if missing or len(faces) != len(FACES):
        raise ValueError(f"faces: expected {', '.join(FACES)}, got {', '.join(map(str, faces))}")
    images = {name: np.asarray(faces[name]) for name in FACES}
    sides = {image.shape for image in images.values()}
    size = images["front"].shape[0]
    if len(sides) != 1 or images["front"].ndim not in (2, 3) or images["front"].shape[1] != size:
        raise ValueError(f"faces: expected six square images of one size, got {sorted(sides)}")
    if turn_vectors and images["front"].shape[2:] != (3,):
        raise ValueError(f"turn_vectors: vectors have three channels, got shape {images['front'].shape}")
    for name, image in images.items():
        if turn_vectors and image.dtype.kind == "u":
            raise ValueError(
                f"turn_vectors: the face {name!r} holds {image.dtype}, colours that stand for vectors and cannot be "
                "turned; decode it first, for instance by io.as_normals(...).normals, and turn it to the OpenCV frame"
            )
    rays = equirectangular_rays(shape or (2 * size, 4 * size), (-180.0, 180.0), (-90.0, 90.0))
    kind = np.result_type(*images.values(), *([np.float32] if turn_vectors else []))
    out = np.empty((*rays.shape[:2], *images["front"].shape[2:]), dtype=kind)
    nearest = np.argmax(np.stack([rays @ axes[2] for axes in FACES.values()]), axis=0)
    for number, (name, axes) in enumerate(FACES.items()):
        here = nearest == number
        right, down, forward = (rays[here] @ axis for axis in axes)
        u, v = (np.clip((size * (s / forward + 1) / 2).astype(int), 0, size - 1) for s in (right, down))
        values = images[name][v, u]
        out[here] = values @ axes if turn_vectors else values
    return out


def panorama_to_cube(panorama: ArrayLike, size: int) -> dict[str, np.ndarray]:
    """The six faces, of `size` pixels a side, of a full panorama (H, W) or (H, W, channels), by the nearest pixel.

    Examples
    --------
    >>> sorted(panorama_to_cube(np.ones((16, 32)), 8))
    ['back', 'bottom', 'front', 'left', 'right', 'top']
    """
    image = np.asarray(panorama)
    if image.ndim not in (2, 3) or image.shape[1] != 2 * image.shape[0]:
        raise ValueError(f"panorama: expected a full one, twice as wide as high, got shape {image.shape}")
    height, width = image.shape[:2]
    out = {}
    for name, rays in face_rays(size).items():
        unit = rays / np.linalg.norm(rays, axis=-1, keepdims=True)
        u = (np.arctan2(unit[..., 0], unit[..., 2]) / (2 * np.pi) + 0.5) * width
        v = (np.arcsin(unit[..., 1]) / np.pi + 0.5) * height
        out[name] = image[np.minimum(v.astype(int), height - 1), u.astype(int) % width]
    return out
