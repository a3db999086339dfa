"""`Scene`: images of exact normals and depths; how scenes are named and made.

A scene is a function that describes a model by its own parameters. The `scene` decorator adds ``shape``,
``camera`` and ``fov`` in front, renders the model and returns a `Scene`.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from ..geometry.camera import Camera
from .render import FOV, Model, render

_ROWS = 256  # rows worked on at a time, which bounds the memory of the temporary arrays


@dataclass(frozen=True, eq=False)
class Scene:
    """Exact normals and depth of one view.

    Attributes
    ----------
    name : str
    normals : (H, W, 3) float64
        Unit normals in the OpenCV frame (``frame="opencv"``); NaN outside the mask.
    mask : (H, W) bool
        Pixels whose ray meets a surface that faces the camera.
    depth : (H, W) float64
        z of the surface point at the pixel's centre, or its distance where the camera sees all around; NaN outside the mask.
    camera : Pinhole | Orthographic | RayMap
    description : str
    """

    name: str
    normals: np.ndarray = field(repr=False)
    mask: np.ndarray = field(repr=False)
    depth: np.ndarray = field(repr=False)
    camera: Camera
    description: str

    @property
    def shape(self) -> tuple[int, int]:
        return self.mask.shape

    def with_noise(self, degrees: float, seed: int = 0) -> Scene:
        """Each normal turned about a random tangent axis by an angle drawn from N(0, degrees²).

        Mask and depth stay those of the exact surface; normals that end up facing away are left as they are.
        """
        if not (np.isfinite(degrees) and degrees >= 0):
            raise ValueError(f"degrees={degrees} must be a standard deviation of at least 0 degrees")
        random = np.random.default_rng(seed)
        noisy = np.empty_like(self.normals)
        for rows in self._bands():
            n = self.normals[rows]
            angle = random.normal(scale=np.radians(degrees), size=n.shape[:2])[..., None]
            turn = random.uniform(0, 2 * np.pi, size=n.shape[:2])[..., None]
            # Tangents from the axis along which n is shortest: never parallel to n.
            axis = np.eye(3)[np.argmin(np.abs(n), axis=-1)]
            first = np.cross(n, axis)
            # Outside the mask a normal may be 0; it stays 0.
            first /= np.maximum(np.linalg.norm(first, axis=-1, keepdims=True), np.finfo(np.float64).tiny)
            tangent = np.cos(turn) * first + np.sin(turn) * np.cross(n, first)
            noisy[rows] = np.cos(angle) * n + np.sin(angle) * tangent
        text = f"{self.description}; noise of {degrees:g}°, seed {seed}"
        return replace(self, normals=noisy, description=text)

    def quantised(self, bits: int = 8) -> Scene:
        """Normals as an image file of `bits` bits per channel keeps them: (n + 1)/2 rounded, read back."""
        if not 2 <= bits <= 16:
            raise ValueError(f"bits={bits} must lie between 2 and 16, as in image files")
        top = 2**bits - 1
        coarse = np.empty_like(self.normals)
        for rows in self._bands():
            stored = np.rint((self.normals[rows] + 1) * (top / 2))
            read = stored * (2 / top) - 1
            coarse[rows] = read / np.linalg.norm(read, axis=-1, keepdims=True)
        return replace(self, normals=coarse, description=f"{self.description}; normals kept in {bits} bits")

    def with_bias(self, degrees: float = 3.0, seed: int = 0, kind: str = "pull") -> Scene:
        """Normals moved by a smooth field that changes slowly over the image, as networks move them.

        Parameters
        ----------
        degrees : float
            Root mean square, over the mask, of the angle by which normals are moved.
        seed : int
        kind : "pull" or "turn"
            Whether the field is a vector that the normals at a place are drawn to, or one about which they are turned.

        Returns
        -------
        Scene
            Mask and depth stay those of the exact surface.

        Examples
        --------
        >>> scene = make("plane", shape=(40, 50))
        >>> turned = np.arccos((scene.normals * scene.with_bias(3).normals).sum(axis=-1))
        >>> round(float(np.degrees(np.sqrt(np.mean(turned**2)))), 6)
        3.0
        """
        if not (np.isfinite(degrees) and degrees >= 0):
            raise ValueError(f"degrees={degrees} must be an angle of at least 0 degrees")
        if kind not in ("pull", "turn"):
            raise ValueError(f"kind={kind!r} is not known; use 'pull' or 'turn'")
        random = np.random.default_rng(seed)
        field = np.stack([_waves(self.shape, random) for _ in range(3)], axis=-1)
        n = self.normals
        tangent = np.cross(field, n) if kind == "turn" else field - (field * n).sum(axis=-1, keepdims=True) * n
        size = np.linalg.norm(tangent, axis=-1, keepdims=True)
        angle = size * (np.radians(degrees) / np.sqrt(np.mean(size[self.mask] ** 2)))
        with np.errstate(invalid="ignore"):
            biased = np.cos(angle) * n + np.sin(angle) * np.where(size > 0, tangent / size, 0)
        return replace(
            self, normals=biased, description=f"{self.description}; bias of {degrees:g}° ({kind}), seed {seed}"
        )

    def blurred(self, pixels: float = 1.0) -> Scene:
        """Normals averaged with those around them, within the mask, as networks and resampling blur edges.

        Parameters
        ----------
        pixels : float
            Standard deviation of the Gaussian window.

        Returns
        -------
        Scene
            Mask and depth stay those of the exact surface.

        Examples
        --------
        >>> scene = make("plane", shape=(40, 50))
        >>> bool(np.allclose(scene.blurred(2).normals, scene.normals))
        True
        """
        if not (np.isfinite(pixels) and pixels >= 0):
            raise ValueError(f"pixels={pixels} must be a standard deviation of at least 0 pixels")
        seen = np.where(self.mask[..., None], self.normals, 0.0)
        mean = np.stack([gaussian_filter(seen[..., axis], pixels) for axis in range(3)], axis=-1)
        size = np.linalg.norm(mean, axis=-1, keepdims=True)
        soft = np.where(self.mask[..., None] & (size > 1e-9), mean / np.maximum(size, 1e-9), self.normals)
        return replace(self, normals=soft, description=f"{self.description}; blurred by {pixels:g} px")

    def coarse_depth(self, seed: int = 0, blur: float = 4.0, bend: float = 0.05, noise: float = 0.02) -> np.ndarray:
        """A depth map such as a network or stereo gives: blurred, bent, noisy and of unknown scale.

        Parameters
        ----------
        seed : int
        blur : float
            Standard deviation, in pixels, of the Gaussian with which the depth is averaged over the mask.
        bend : float
            Largest size of a relative error that changes slowly over the image.
        noise : float
            Standard deviation of the relative error of each pixel.

        Returns
        -------
        (H, W) float64
            NaN outside the mask. All depths are multiplied by one unknown factor between 1/2 and 2.

        Examples
        --------
        >>> scene = make("spheres", shape=(60, 80))
        >>> ratio = (scene.coarse_depth() / scene.depth)[scene.mask]
        >>> bool(0.02 < np.std(np.log(ratio)) < 0.1)
        True
        """
        for name, value in (("blur", blur), ("bend", bend), ("noise", noise)):
            if not (np.isfinite(value) and value >= 0):
                raise ValueError(f"{name}={value} must be a number of at least 0")
        random = np.random.default_rng(seed)
        scale = 2.0 ** random.uniform(-1, 1)
        slow, fast = _waves(self.shape, random), random.normal(size=self.shape)
        slow /= np.abs(slow).max()
        valid = self.mask.astype(np.float64)
        total = gaussian_filter(np.where(self.mask, self.depth, 0.0), blur, mode="constant")
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / gaussian_filter(valid, blur, mode="constant")
        return np.where(self.mask, scale * mean * (1 + bend * slow) * (1 + noise * fast), np.nan)

    def _bands(self) -> list[slice]:
        return [slice(v, v + _ROWS) for v in range(0, self.shape[0], _ROWS)]


def _waves(shape: tuple[int, int], random: np.random.Generator) -> np.ndarray:
    """A sum of six random waves, each at least 2/3 as long as the longer side of the image."""
    v, u = (np.arange(n) / max(shape) for n in shape)
    total = np.zeros(shape)
    for _ in range(6):
        turn, cycles, phase = random.uniform((0, 0.3, 0), (2 * np.pi, 1.5, 2 * np.pi))
        total += np.cos(2 * np.pi * cycles * (np.cos(turn) * u + np.sin(turn) * v[:, None]) + phase)
    return total


SCENES: dict[str, Callable[..., Scene]] = {}


def scene(describe: Callable[..., Model]) -> Callable[..., Scene]:
    """Make a function that describes a model return its `Scene`, and enter it in `SCENES`."""

    @functools.wraps(describe)
    def build(
        shape: tuple[int, int] = (256, 320),
        camera: str | Camera = "perspective",
        *,
        fov: float = FOV,
        **params: Any,
    ) -> Scene:
        normals, mask, depth, seen_by = render(describe(**params), shape, camera, fov)
        if not mask.any():
            raise ValueError(f"shape={shape}: none of these pixels sees anything of {name!r}; use more of them")
        return Scene(name, normals, mask, depth, seen_by, summary(name, **params).rstrip("."))

    name = describe.__name__
    own = list(inspect.signature(describe).parameters.values())
    common = inspect.signature(build, follow_wrapped=False).parameters
    shared = [common[key] for key in ("shape", "camera", "fov")]
    build.__signature__ = inspect.Signature([*shared, *own], return_annotation=Scene)  # type: ignore[attr-defined]
    SCENES[name] = build
    return build


def names() -> list[str]:
    """Names of all scenes."""
    return sorted(SCENES)


def summary(name: str, **params: Any) -> str:
    """What a scene shows, in one line; empty where Python was told to drop docstrings.

    >>> summary("torus", elevation=20)
    'A ring seen at 20 degrees above its plane: the near side hides a part of the far side.'
    """
    known = inspect.signature(SCENES[name]).parameters
    values = {key: params.get(key, parameter.default) for key, parameter in known.items()}
    line = (SCENES[name].__doc__ or "").strip().split("\n")[0]
    return re.sub(r"`(\w+)`", lambda found: _in_words(values.get(found[1], found[1])), line)


def _in_words(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def make(name: str, shape: tuple[int, int] = (256, 320), camera: str | Camera = "perspective", **params: Any) -> Scene:
    """The scene of that name.

    Parameters
    ----------
    name : str
        One of `names()`.
    shape : (height, width)
    camera : "perspective", "orthographic" or a camera
        A camera is used as it is, from the place where a view of `fov` degrees across the longer side frames
        the scene. An orthographic one always frames it: depth is then measured in its pixel size. A panorama
        (``RayMap.equirectangular(shape)``) shows the scenes made of solids all around that place.
    **params
        ``fov`` in degrees (smaller: the camera stands farther away), and what the scene itself understands.

    >>> make("plane", shape=(4, 5), camera="orthographic", tilt=0).normals[0, 0].tolist()
    [0.0, 0.0, -1.0]
    """
    if name not in SCENES:
        raise ValueError(f"name={name!r} is not a scene; use one of {', '.join(names())}")
    known = inspect.signature(SCENES[name]).parameters
    for key in params:
        if key not in known:
            raise ValueError(f"{key!r} is not a parameter of {name!r}; it understands {', '.join(known)}")
    return SCENES[name](shape, camera, **params)
