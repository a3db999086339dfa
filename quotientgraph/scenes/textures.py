"""Reliefs that tile: periodic in both directions, seen straight on, with exact normals and depth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..geometry.camera import Orthographic
from .render import checked_shape
from .scene import Scene

# Depth in pixels and its derivatives by column and by row.
Relief = tuple[np.ndarray, np.ndarray, np.ndarray]


def texture(kind: str = "waves", shape: tuple[int, int] = (256, 256), *, relief: float = 0.05, seed: int = 0) -> Scene:
    """A relief that tiles.

    Parameters
    ----------
    kind : "waves", "fractal" or "bricks"
        Sums of a few long waves; a random surface with detail of every size; bricks with vertical sides, each tilted,
        twisted and bulging a little, in a wavy bed of mortar.
    shape : (height, width)
    relief : float
        Range of the heights, as a fraction of the shorter side.
    seed : int

    Returns
    -------
    Scene
        Seen by an orthographic camera with pixels of size 1; to be integrated with ``wrap="both"``.

    Examples
    --------
    >>> tile = texture("waves", shape=(64, 96))
    >>> tile.normals.shape, round(float(np.ptp(tile.depth)), 6)
    ((64, 96, 3), 3.2)
    """
    if kind not in TEXTURES:
        raise ValueError(f"kind={kind!r} is not known; use one of {', '.join(TEXTURES)}")
    shape = checked_shape(shape)
    depth, by_column, by_row = TEXTURES[kind](shape, np.random.default_rng(seed))
    height = np.ptp(depth)
    if not height > 0:
        raise ValueError(f"shape={shape}: these are too few pixels for the relief {kind!r}; use at least (8, 8)")
    size = relief * min(shape) / height
    normals = np.stack([size * by_column, size * by_row, np.full(shape, -1.0)], axis=-1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    description = f"A relief of {kind} that tiles, seed {seed}"
    return Scene(kind, normals, np.ones(shape, dtype=bool), size * (depth - depth.mean()), Orthographic(), description)


def _waves(shape: tuple[int, int], random: np.random.Generator) -> Relief:
    v, u = (np.arange(n) / n for n in shape)
    parts = [np.zeros(shape) for _ in range(3)]
    for _ in range(10):
        i, j = random.integers(-5, 6, size=2)
        i = i or 1
        at = 2 * np.pi * (i * u + j * v[:, None]) + random.uniform(0, 2 * np.pi)
        size = random.uniform(0.5, 1) / np.hypot(i, j)
        parts[0] += size * np.cos(at)
        parts[1] -= size * 2 * np.pi * i / shape[1] * np.sin(at)
        parts[2] -= size * 2 * np.pi * j / shape[0] * np.sin(at)
    return parts[0], parts[1], parts[2]


def _fractal(shape: tuple[int, int], random: np.random.Generator) -> Relief:
    """Amplitudes fall with the power 2.2 of the frequency, up to a third of the highest one."""
    j, i = np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1])[None, :]
    frequency = np.hypot(i, j)
    frequency[0, 0] = np.inf
    size = np.where(frequency < 1 / 6, frequency**-2.2, 0)
    spectrum = size * np.exp(2j * np.pi * random.uniform(size=size.shape))
    depth = np.fft.irfft2(spectrum, shape)
    spectrum = np.fft.rfft2(depth)
    return depth, np.fft.irfft2(2j * np.pi * i * spectrum, shape), np.fft.irfft2(2j * np.pi * j * spectrum, shape)


def _bricks(shape: tuple[int, int], random: np.random.Generator) -> Relief:
    rows, columns, joint = 6, 3, 0.08
    (height, width), (v, u) = shape, np.indices(shape)
    row = v * rows // height
    along = u * columns / width + 0.5 * (row % 2)  # every second row is displaced by half a brick
    x, y = along % 1 - 0.5, v * rows / height % 1 - 0.5  # position in the brick's cell
    brick = row * columns + along.astype(int) % columns
    low, high = (2, -1.5, -1.5, 1, -2), (3, 1.5, 1.5, 2.5, 2)
    level, tilt_x, tilt_y, bulge, twist = (one[brick] for one in random.uniform(low, high, size=(rows * columns, 5)).T)
    top = (np.abs(x) < 0.5 - joint / 2) & (np.abs(y) < 0.5 - joint)
    face = -(level + tilt_x * x + tilt_y * y - bulge * (x * x + y * y) + twist * x * y)
    face_x = -(tilt_x - 2 * bulge * x + twist * y) * columns / width
    face_y = -(tilt_y - 2 * bulge * y + twist * x) * rows / height
    at_u, at_v = 2 * np.pi * 4 * u / width, 2 * np.pi * 5 * v / height
    bed = 0.15 * (np.cos(at_u) + np.cos(at_v))
    bed_x, bed_y = -0.15 * 8 * np.pi / width * np.sin(at_u), -0.15 * 10 * np.pi / height * np.sin(at_v)
    return np.where(top, face, bed), np.where(top, face_x, bed_x), np.where(top, face_y, bed_y)


TEXTURES: dict[str, Callable[[tuple[int, int], np.random.Generator], Relief]] = {
    "waves": _waves,
    "fractal": _fractal,
    "bricks": _bricks,
}
