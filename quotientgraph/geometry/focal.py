"""How many pixels a unit of the potential is, measured on the rays of a ray map."""

from __future__ import annotations

import numpy as np

Shape = tuple[int, int]

REACH = 4  # pixels to both sides over which the angle between rays is taken


def pixels_per_slope(x: np.ndarray, y: np.ndarray) -> float | np.ndarray:
    """Pixels per unit of ray slope from the area that a pixel covers: a number, or (H, W) where it varies.

    A constant map is a pinhole: then the whole width is used, so that the same rays give the same weights to rounding.
    """
    height, width = x.shape
    if min(height, width) < 2:
        return _by_steps(np.diff(x if width > 1 else y, axis=1 if width > 1 else 0))
    focal, along_u = focal_lengths(x, y), np.gradient(x, axis=1)
    found = focal[np.isfinite(focal)]
    if not len(found):  # no pixel has rays on all sides
        return _by_steps(np.append(np.diff(x, axis=1), np.diff(y, axis=0)))
    steps = along_u[np.isfinite(along_u)]
    if np.ptp(steps) < 1e-6 * abs(steps[0]):
        whole = float(np.mean(x[:, -1] - x[:, 0])) / (width - 1)
        return 1 / abs(whole if np.isfinite(whole) else float(np.mean(steps)))
    return np.where(np.isfinite(focal), focal, np.median(found))


def focal_lengths(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(H, W) pixels per slope, from the area that each pixel covers; not finite beside rays that do not exist."""
    with np.errstate(divide="ignore", invalid="ignore"):
        area = np.gradient(x, axis=1) * np.gradient(y, axis=0) - np.gradient(x, axis=0) * np.gradient(y, axis=1)
        return 1 / np.sqrt(np.abs(area))


def _by_steps(steps: np.ndarray) -> float:
    """1 / median |step| between neighbouring rays; 1 where there are no neighbours."""
    sizes = np.abs(steps[np.isfinite(steps)])
    middle = float(np.median(sizes)) if len(sizes) else 0.0
    return 1 / middle if middle > 0 else 1.0


def pixels_per_radian(rays: np.ndarray) -> float | np.ndarray:
    """How many pixels a radian is at each of the unit rays (H, W, 3), by the larger of the steps in both directions.

    At the poles of a panorama the columns run together. The rows do not, and the measure stays that of the rows there. The
    angle is taken over a few pixels, since neighbours may share a ray where faces of a cube are laid out as a panorama.
    """
    step = radians_per_pixel(rays)
    found = step[np.isfinite(step) & (step > 0)]
    if not len(found):
        return 1.0
    middle = float(np.median(found))
    if np.ptp(found) < 1e-3 * middle:
        return 1 / middle
    return 1 / np.where(np.isfinite(step) & (step > 0), step, middle)


def radians_per_pixel(rays: np.ndarray) -> np.ndarray:
    """(H, W) angle between neighbouring unit rays (H, W, 3), as seen over `REACH` pixels to both sides; NaN or 0 without."""
    step = np.zeros(rays.shape[:2])
    for axis, n in enumerate(rays.shape[:2]):
        at = np.arange(n)
        low, high = np.maximum(at - REACH, 0), np.minimum(at + REACH, n - 1)
        chord = np.linalg.norm(np.take(rays, high, axis) - np.take(rays, low, axis), axis=-1)
        angle = 2 * np.arcsin(np.minimum(chord / 2, 1.0))
        step = np.fmax(step, angle / np.maximum(high - low, 1).reshape((-1, 1) if axis == 0 else (1, -1)))
    return step


def footprints(rays: np.ndarray) -> np.ndarray:
    """(H, W) solid angle |ray · (∂ray/∂u × ∂ray/∂v)| that each pixel covers, from rays (H, W, 3) of length 1.

    NaN where no neighbour in a row or a column has a ray. Where neighbours share a ray, as where faces of a cube are laid
    out as a panorama, derivatives are taken over `REACH` pixels to both sides.
    """
    shared = any((np.diff(rays, axis=axis) == 0).all(axis=-1).any() for axis in (0, 1))
    down, right = (_derivative(rays, axis, REACH if shared else 1) for axis in (0, 1))
    return np.abs((rays * np.cross(right, down)).sum(axis=-1))


def _derivative(rays: np.ndarray, axis: int, reach: int) -> np.ndarray:
    """(H, W, 3) change of the rays per pixel along an axis, one-sided beside rays that do not exist."""
    n = rays.shape[axis]
    at = np.arange(n)
    low, high = (np.take(rays, np.clip(at + step, 0, n - 1), axis) for step in (-reach, reach))
    before, after = (np.isfinite(end).all(axis=-1, keepdims=True) for end in (low, high))
    along = (-1, 1, 1) if axis == 0 else (1, -1, 1)
    back, forth = (x.reshape(along) for x in (np.minimum(at, reach), np.minimum(n - 1 - at, reach)))
    with np.errstate(divide="ignore", invalid="ignore"):
        return (np.where(after, high, rays) - np.where(before, low, rays)) / (back * before + forth * after)
