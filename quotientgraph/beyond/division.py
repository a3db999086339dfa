"""How the valid pixels of a normal map are divided into the components of Q0."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..graph.colours import similar_colours
from ..graph.pixels import PixelGraph
from ..graph.quotient import Quotient
from ..graph.segments import components_by_labels
from ..graph.selection import components_by_angle
from ..method.torus import is_continuous
from .automatic_angle import suitable_angle

_Q = TypeVar("_Q", bound=Quotient)


def resolved_angle(angle: float | str | None, pixels: PixelGraph) -> float | None:
    """The angle in degrees, or None; "auto" is chosen from the normals."""
    return suitable_angle(pixels) if isinstance(angle, str) else angle


def formed_anew(graph: _Q, pixels: PixelGraph, angle: float | str | None = "auto") -> _Q:
    """A graph of the same valid pixels, whose normals may have changed, with components formed by the angle alone."""
    found = resolved_angle(angle, pixels)
    divided = graph.divided(components_by_angle(pixels, found))
    return replace(divided, pixels=pixels, angle=found, formed_by_preset=True)


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
