"""Coarse depths of several makes, made from a true depth, as priors for the benchmark.

=========== ==========================================================================================================
realistic   blurred by 4 pixels, a smooth error of up to 5 %, noise of 2 %, a scale of its own, as networks give it
disparity   the same as inverse depth with an unknown offset; for parallel rays depth with a factor
poor        blurred by 16 pixels, a smooth error of up to 15 %, noise of 2 %
half        the realistic one over the left half of the picture
lidar       500 points, noise of 2 %, one in twenty wrong
points      200 points, noise of 1 %, one in ten wrong, as structure from motion gives them
=========== ==========================================================================================================

Errors are relative to depth, for parallel rays to its range.
"""

from __future__ import annotations

import numpy as np
import scipy

from .. import Orthographic
from ..scenes import Scene

MAKES = ("realistic", "disparity", "poor", "half", "lidar", "points")
_POINTS = {"lidar": (500, 0.02, 0.05), "points": (200, 0.01, 0.1)}  # how many, noise, share that is wrong


def coarse_depth(scene: Scene, make: str, seed: int = 0) -> np.ndarray:
    """(H, W) a coarse depth of one of the makes; NaN where it is unknown."""
    if make not in MAKES:
        raise ValueError(f"make={make!r} is not known; use one of {', '.join(MAKES)}")
    random, parallel = np.random.default_rng(seed), isinstance(scene.camera, Orthographic)
    depth = np.where(scene.mask, scene.depth, np.nan)
    span = float(np.ptp(np.nanquantile(depth, [0.02, 0.98])))

    def off(value: np.ndarray, error: np.ndarray) -> np.ndarray:
        return value + error * span if parallel else value * (1 + error)

    if make in _POINTS:
        count, noise, wrong = _POINTS[make]
        known = np.flatnonzero(np.isfinite(depth))
        at = random.choice(known, min(count, len(known)), replace=False)
        error = noise * random.standard_normal(len(at))
        outlier = np.where(random.random(len(at)) < wrong, random.uniform(-0.5, 1.0, len(at)), 0.0)
        points = np.full(depth.size, np.nan)
        points[at] = off(off(depth.ravel()[at], error), outlier)
        return points.reshape(depth.shape)
    blur, bend = (16.0, 0.15) if make == "poor" else (4.0, 0.05)
    soft = off(_blurred(depth, blur), _smooth_error(depth.shape, bend, random))
    noisy = off(soft, 0.02 * random.standard_normal(depth.shape))
    if make == "disparity":
        return 1.4 * noisy + 0.3 * span if parallel else 0.3 + np.nanmedian(noisy) / noisy
    scaled = noisy + 3.0 * span if parallel else 2.7 * noisy
    if make == "half":
        scaled[:, depth.shape[1] // 2 :] = np.nan
    return scaled


def _blurred(depth: np.ndarray, sigma: float) -> np.ndarray:
    known = np.isfinite(depth)
    share = scipy.ndimage.gaussian_filter(known.astype(np.float64), sigma)
    soft = scipy.ndimage.gaussian_filter(np.where(known, depth, 0.0), sigma) / np.maximum(share, 1e-9)
    return np.where(known, soft, np.nan)


def _smooth_error(shape: tuple[int, ...], size: float, random: np.random.Generator) -> np.ndarray:
    """(H, W) a random field that changes over a fifth of the width, its largest value `size`."""
    height, width = shape
    field = scipy.ndimage.gaussian_filter(random.standard_normal((2 * height, 2 * width)), 0.2 * width)
    field = field[height // 2 : height // 2 + height, width // 2 : width // 2 + width]
    field = field - field.mean()
    return size * field / np.abs(field).max()
