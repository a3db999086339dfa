"""What textures are shaded with beside their height: ambient occlusion and curvature, computed from the surface."""

from __future__ import annotations

import numpy as np

from laplacians.core.jit import WHOLE, kernel, portion

_N_DIRECTIONS = 16
_GROWTH = 1.35  # factor from one distance to the next
_TYPICAL = 98  # percentile of the curvature that becomes black or white


def ambient_occlusion(
    height: np.ndarray,
    pixel: tuple[float, float] = (1.0, 1.0),
    wrap: tuple[bool, bool] = (False, False),
    radius: float | None = None,
) -> np.ndarray:
    """How much of the sky each point of a relief sees, 0 … 1.

    The horizon is found in 16 directions, at distances that grow geometrically up to the radius. A sky that is equally
    bright everywhere lights a level surface by the mean of 1 − sin² of the angle of the horizon.

    Parameters
    ----------
    height : (H, W) float array
    pixel : (float, float)
        Width and height of a pixel, in the unit of the height.
    wrap : (bool, bool)
        Whether the relief goes on at its opposite border, in x and y. Otherwise nothing stands beyond the border.
    radius : float, optional
        Pixels; by default a sixteenth of the longer side.

    Returns
    -------
    (H, W) float32

    Examples
    --------
    >>> float(ambient_occlusion(np.zeros((8, 8))).min())
    1.0
    """
    reach = max(4.0, max(height.shape) / 16) if radius is None else float(radius)
    distances = [1.0]
    while distances[-1] * _GROWTH < reach:
        distances.append(max(distances[-1] * _GROWTH, distances[-1] + 1))
    turn = 2 * np.pi * (np.arange(_N_DIRECTIONS) + 0.5) / _N_DIRECTIONS
    du = np.rint(np.outer(np.cos(turn), distances)).astype(np.int64)
    dv = np.rint(np.outer(np.sin(turn), distances)).astype(np.int64)
    out = np.empty(height.shape, dtype=np.float32)
    away = np.hypot(du * pixel[0], dv * pixel[1])
    _occlude(np.asarray(height, dtype=np.float64), du, dv, away, np.array(wrap, dtype=bool), out)
    return out


def curvature(
    height: np.ndarray, pixel: tuple[float, float] = (1.0, 1.0), wrap: tuple[bool, bool] = (False, False)
) -> np.ndarray:
    """Mean curvature of a relief as a picture: ½ where it is flat, brighter on ridges, darker in grooves, 0 … 1.

    Parameters are those of `ambient_occlusion`. The scale is chosen so that 2 % of the image are black or white.

    Returns
    -------
    (H, W) float32

    Examples
    --------
    >>> float(curvature(np.ones((8, 8)))[4, 4])
    0.5
    """
    slopes = [_derivative(height, axis, pixel[1 - axis], wrap[1 - axis]) for axis in (0, 1)]
    length = np.sqrt(1 + slopes[0] ** 2 + slopes[1] ** 2)
    bend = -0.5 * sum(_derivative(slopes[axis] / length, axis, pixel[1 - axis], wrap[1 - axis]) for axis in (0, 1))
    typical = float(np.nanpercentile(np.abs(bend), _TYPICAL)) if np.isfinite(bend).any() else 0.0
    scaled = np.clip(bend / typical, -1, 1) if typical > 1e-12 * float(np.nanmax(length)) else np.zeros(height.shape)
    return (0.5 + 0.5 * scaled).astype(np.float32)


def _derivative(values: np.ndarray, axis: int, step: float, wraps: bool) -> np.ndarray:
    if values.shape[axis] < 2:
        return np.zeros_like(values)
    if wraps:
        return (np.roll(values, -1, axis) - np.roll(values, 1, axis)) / (2 * step)
    return np.gradient(values, step, axis=axis)


@kernel(parallel_from=2**19)
def _occlude(height, du, dv, away, wrap, out, share=WHOLE):
    """Write the share of light to `out`; rows of du, dv and away are directions, their columns distances."""
    n_rows, n_columns = height.shape
    n_directions, n_steps = du.shape
    for v in portion(n_rows, share):
        for u in range(n_columns):
            here = height[v, u]
            light = 0.0
            for k in range(n_directions):
                steepest = 0.0
                for i in range(n_steps):
                    y, x = v + dv[k, i], u + du[k, i]
                    if wrap[0]:
                        x %= n_columns
                    if wrap[1]:
                        y %= n_rows
                    if 0 <= x < n_columns and 0 <= y < n_rows:
                        steepest = max(steepest, (height[y, x] - here) / away[k, i])
                light += 1 / (1 + steepest * steepest)
            out[v, u] = light / n_directions
