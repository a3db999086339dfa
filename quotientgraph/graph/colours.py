"""Colours of a photograph as a criterion for components: where they change, a surface may end.

Surfaces of different material have different colours where their normals are the same, as a picture on a wall or a sheet of
paper on a table. Distances are taken in OKLab, where equal distances look equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .pixels import PixelGraph

# A change of colour from pixel to pixel that divides, where black and white are 1 apart. The shading of a smooth surface
# and the noise of a camera stay well below it.
COLOUR_STEP = 0.06

# Linear sRGB → cone responses → L, a, b (OKLab, Björn Ottosson 2020).
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def similar_colours(pixels: PixelGraph, image: ArrayLike, step: float = COLOUR_STEP) -> np.ndarray:
    """Find the edges whose two pixels have similar colours.

    Parameters
    ----------
    pixels : PixelGraph
    image : (H, W) or (H, W, 3) array
        8 or 16 bit, or floats 0 … 1. An alpha channel is not used.
    step : float
        The least distance in OKLab that counts as different.

    Returns
    -------
    (n_edges,) bool
    """
    if not step > 0:
        raise ValueError(f"step={step} must be positive; it is the least change of colour that divides")
    colour = oklab(image, pixels.map.shape).reshape(-1, 3)[pixels.map.position]
    return np.linalg.norm(colour[pixels.tail] - colour[pixels.head], axis=1) < step


def oklab(image: ArrayLike, shape: tuple[int, int]) -> np.ndarray:
    """(H, W, 3) float64 lightness and two colour axes of an sRGB or grey image of the given height and width.

    >>> oklab(np.full((1, 1, 3), 255, dtype=np.uint8), (1, 1)).round(3).tolist()
    [[[1.0, 0.0, 0.0]]]
    """
    given = np.asarray(image)
    if given.shape[:2] != shape or given.ndim not in (2, 3) or (given.ndim == 3 and given.shape[2] not in (1, 3, 4)):
        raise ValueError(
            f"image: expected (H, W) or (H, W, 3) with the size of the normals, {shape}, got {given.shape}"
        )
    if given.dtype.kind == "u":
        value = given / float(np.iinfo(given.dtype).max)
    elif given.dtype.kind in "bf":
        value = np.nan_to_num(given.astype(np.float64))
        if value.min(initial=0.0) < 0 or value.max(initial=0.0) > 1:
            raise ValueError(
                f"image: floats must lie in 0 … 1, got {value.min():g} … {value.max():g}; divide by the largest"
            )
    else:
        raise ValueError(f"image: expected 8 or 16 bit or floats 0 … 1, got {given.dtype}")
    value = value[..., None] if value.ndim == 2 else value[..., :3]
    value = np.broadcast_to(value, (*shape, 3))
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    return np.cbrt(linear @ _CONES.T) @ _LAB.T
