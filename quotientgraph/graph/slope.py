"""The net slope of a surface that should close around the borders of its image, and how it is taken out.

The normals of a tile may lead up or down once around it: because the scanned surface was tilted, because 8-bit files have no
exact zero, or because the rise is undone by vertical steps that normals do not show. The closed surface that is nearest in
the sense of least squares is then found after subtracting a constant slope from all normals.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from laplacians import Multigrid, NeighbourLists

from ..geometry.jumps import planar
from .pixels import PixelGraph

SLOPES = ("remove", "keep", "steps")
_STEEP = 0.02  # slope from which on a user is told
_MULTIGRID = Multigrid(rtol=1e-6)
_AROUND = 1e-9  # share of the squared steps that must remain for the surface to go around


def levelled(pixels: PixelGraph, choice: str = "remove") -> PixelGraph:
    """The same graph, its normals less their net slope around the image.

    Parameters
    ----------
    pixels : PixelGraph
        Of any camera; only a wrapped image of an orthographic one is changed.
    choice : "remove", "keep" or "steps"
        "keep" takes the slope out of the normals too, and adds it to the depth in the end. "steps" leaves the normals as
        they are: the surface closes by steps where it may break, as rows of roof tiles do.
    """
    if choice not in SLOPES:
        raise ValueError(f"slope={choice!r} is not known; use one of {', '.join(map(repr, SLOPES))}")
    if not pixels.map.wrap or pixels.map.camera.central or choice == "steps":
        return pixels
    return replace(pixels, map=replace(pixels.map, slope=net_slope(pixels), keeps_slope=choice == "keep"))


def net_slope(pixels: PixelGraph) -> tuple[float, float]:
    """The slopes by column and by row for which Σ (φ_a − φ_b + slope·step − jump)² over all edges and φ is least.

    Where every pixel is valid it is the mean of the slopes that the normals state. Elsewhere the part of a step that no
    potential explains is found first, by solving for the potential that explains most of it.
    """
    m = pixels.map
    if m.n_pixels == m.index.size:
        slopes = [-m.normals[:, k] / m.normals[:, 2] for k in (0, 1)]
        return (float(slopes[0].mean()) if m.wrap.x else 0.0, float(slopes[1].mean()) if m.wrap.y else 0.0)
    jump = planar(m, pixels.tail, pixels.head)
    left, around = [], []
    for step, wraps in zip(pixels.steps()[::-1], (m.wrap.x, m.wrap.y), strict=True):
        rest = _unexplained(pixels, -step.astype(np.float64)) if wraps else np.zeros(pixels.n_edges)
        goes_around = float(rest @ rest) > _AROUND * pixels.n_edges
        left.append(rest if goes_around else np.zeros(pixels.n_edges))
        around.append(goes_around)
    gram = np.array([[float(a @ b) for b in left] for a in left]) + np.diag([0.0 if ok else 1.0 for ok in around])
    x, y = np.linalg.solve(gram, [float(a @ jump) for a in left])
    return float(x), float(y)


def _unexplained(pixels: PixelGraph, step: np.ndarray) -> np.ndarray:
    """What is left of steps (n_edges,) after subtracting the differences of the potential that fits them best."""
    rhs = np.bincount(pixels.tail, step, pixels.n_pixels) - np.bincount(pixels.head, step, pixels.n_pixels)
    x = np.zeros(pixels.n_pixels)
    if np.abs(rhs).max() > 0:
        weight = np.ones(pixels.n_edges, dtype=np.float32)
        neighbours = NeighbourLists.from_edges(pixels.n_pixels, pixels.tail, pixels.head, weight)
        _MULTIGRID.improve(neighbours, x, rhs, float(step @ step))
    return step - (x[pixels.tail] - x[pixels.head])


def slope_warnings(pixels: PixelGraph) -> list[str]:
    """What a user should know about the slope that was taken out, if it is worth a word."""
    slope = pixels.map.slope
    if max(map(abs, slope)) < _STEEP or pixels.map.keeps_slope:
        return []
    return [
        f"the normals rise by {slope[0]:.3g} a pixel to the right and {slope[1]:.3g} downwards on average, and a surface "
        'that wraps cannot; that slope was removed (see `result.slope`; slope="keep" keeps it)'
    ]
