"""How the valid pixels of a normal map are divided into the components of Q0."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..graph.colours import similar_colours
from ..graph.pixels import PixelGraph
from ..graph.segments import components_by_labels
from ..graph.selection import components_by_angle
from ..method.torus import is_continuous
from .automatic_angle import suitable_angle


def resolved_angle(angle: float | str | None, pixels: PixelGraph) -> float | None:
    """The angle in degrees, or None; "auto" is chosen from the normals."""
    return suitable_angle(pixels) if isinstance(angle, str) else angle


def divided_pixels(
    pixels: PixelGraph,
    angle: float | None,
    labels: ArrayLike | None = None,
    image: ArrayLike | None = None,
    whole_tiles: bool = False,
) -> np.ndarray:
    """Divide pixels by the angle between normals, by a segmentation, or by colours as well.

    Parameters
    ----------
    pixels : PixelGraph
    angle : float or None
        Degrees; None leaves every pixel alone.
    labels, image : array, optional
        See `QuotientGraph.from_normals`.
    whole_tiles : bool
        Whether a tile that one surface without any jump explains is one component, whatever the angle.

    Returns
    -------
    (n_pixels,) int32
        Component of each pixel.
    """
    alike = None if image is None else similar_colours(pixels, image)
    if labels is not None:
        return components_by_labels(pixels, labels, angle, alike)
    if whole_tiles and alike is None and is_continuous(pixels):
        return np.zeros(pixels.n_pixels, dtype=np.int32)
    return components_by_angle(pixels, angle, alike)
