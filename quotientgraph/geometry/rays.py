"""Coordinates of rays that depend on the row or the column of a pixel alone, as those of a pinhole camera do."""

from __future__ import annotations

from functools import lru_cache

import numpy as np


@lru_cache(maxsize=16)
def pinhole_slopes(
    fx: float, fy: float, cx: float, cy: float, height: int, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """x/z and y/z of each pixel's ray, (H, W) views of a row and of a column, which dozens of places ask for."""
    shape = height, width
    x, y = (np.arange(width) - cx) / fx, (np.arange(height) - cy) / fy
    return np.broadcast_to(x[None, :], shape), np.broadcast_to(y[:, None], shape)


def rays_at(axes: tuple[np.ndarray, ...], row: np.ndarray, column: np.ndarray) -> tuple[np.ndarray, ...]:
    """Coordinates of the rays of some pixels, by the rows and columns (...) in which they lie, from those of all (H, W).

    One index takes a tenth of the time of two.

    >>> x, y = rays_at(pinhole_slopes(1.0, 1.0, 0.0, 0.0, 4, 5), np.array([3, 1]), np.array([4, 0]))
    >>> x.tolist(), y.tolist()
    ([4.0, 0.0], [3.0, 1.0])
    """
    return tuple(
        axis[0][column] if not axis.strides[0] else axis[:, 0][row] if not axis.strides[1] else axis[row, column]
        for axis in axes
    )
