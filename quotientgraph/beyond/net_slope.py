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
from ..geometry.normals import NormalMap
from ..graph.pixels import PixelGraph
from ..method.filling import along_trees

SLOPES = ("remove", "keep", "steps")
_STEEP = 0.02  # slope from which on a user is told
_MULTIGRID = Multigrid(rtol=1e-6)


def levelled(pixels: PixelGraph, choice: str = "remove") -> PixelGraph:
    """The same graph, its normals less their mean slope around the image.

    Parameters
    ----------
    pixels : PixelGraph
        Of any camera; only a wrapped image of an orthographic one is changed.
    choice : "remove", "keep" or "steps"
        "keep" takes the slope out of the normals too, and adds it to the depth in the end. "steps" leaves the normals as
        they are: the surface closes by steps where it may break, as rows of roof tiles do.
    """
    check_slope(choice)
    m = pixels.map
    if not m.wrap or m.camera.central or choice == "steps":
        return pixels
    return replace(pixels, map=replace(m, slope=net_slope(pixels), keeps_slope=choice == "keep"))


def check_slope(choice: str) -> None:
    """Raise a `ValueError` unless a choice is one of `SLOPES`."""
    if choice not in SLOPES:
        raise ValueError(f"slope={choice!r} is not known; use one of {', '.join(map(repr, SLOPES))}")


def net_slope(pixels: PixelGraph) -> tuple[float, float]:
    """The slopes by column and by row for which Σ (φ_a − φ_b + slope·step − jump)² over all edges and φ is least.

    Where every pixel is valid it is the mean of the slopes that the normals state. Elsewhere the part of the steps that no
    potential explains is found first, by solving for the potential that explains most of them. In a direction in which no
    path goes around it is 0.
    """
    m, (tail, head) = pixels.map, (pixels.tail, pixels.head)
    if m.n_pixels == m.index.size:
        means = [float(np.mean(-m.normals[:, k] / m.normals[:, 2])) if wraps else 0.0 for k, wraps in _directions(m)]
        return means[0], means[1]
    steps, around = pixels.steps()[::-1], {}
    for k, wraps in _directions(m):
        rest = _unexplained(pixels.n_pixels, tail, head, -steps[k].astype(np.float64)) if wraps else None
        if rest is not None:
            around[k] = rest
    if not around:
        return 0.0, 0.0
    jump = planar(m, tail, head)
    gram = [[float(a @ b) for b in around.values()] for a in around.values()]
    return best_slope(list(around), np.array(gram), np.array([float(a @ jump) for a in around.values()]))


def best_slope(directions: list[int], gram: np.ndarray, products: np.ndarray) -> tuple[float, float]:
    """The slopes in the given directions, 0 by column and 1 by row, that explain most of the jumps.

    `gram` has the products of what no potential explains of steps in those directions, and `products` their products with
    the jumps.
    """
    slope = [0.0, 0.0]
    for k, value in zip(directions, np.linalg.lstsq(gram, products, rcond=1e-9)[0].tolist(), strict=True):
        slope[k] = value
    return slope[0], slope[1]


def _directions(normal_map: NormalMap) -> tuple[tuple[int, bool], tuple[int, bool]]:
    return (0, normal_map.wrap.x), (1, normal_map.wrap.y)


def _unexplained(n: int, tail: np.ndarray, head: np.ndarray, step: np.ndarray) -> np.ndarray | None:
    """What is left of steps along edges after subtracting the differences of the potential that fits them best.

    None if a potential explains them all: then no path goes around.
    """
    weight = np.ones(len(tail), dtype=np.float32)
    x, _ = along_trees(n, tail, head, weight, step)
    rest = step - (x[tail] - x[head])
    if not rest.any():
        return None
    rhs = np.bincount(tail, rest, n) - np.bincount(head, rest, n)
    _MULTIGRID.improve(NeighbourLists.from_edges(n, tail, head, weight), x, rhs, float(rest @ rest))
    return step - (x[tail] - x[head])


def slope_warnings(slope: tuple[float, float], kept: bool, where: str = "result") -> list[str]:
    """What a user should know about the slope that was taken out, if it is worth a word; `where` has it as an attribute."""
    if max(map(abs, slope)) < _STEEP or kept:
        return []
    return [
        f"the normals rise by {slope[0]:.3g} a pixel to the right and {slope[1]:.3g} downwards on average, and a surface "
        f'that wraps cannot; that slope was removed (see `{where}.slope`; slope="keep" keeps it)'
    ]
