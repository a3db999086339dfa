"""Pictures of decompositions as graphs: borders by residual, the quotient graph over the image, uncertainty of scales."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..method.weights import DOUBT, TEAR
from .color import Scale, colorize
from .pictures import WHITE, normal_picture

if TYPE_CHECKING:
    from ..graph.quotient import Quotient

BORDER_SCALE = Scale(DOUBT / 10, TEAR, True)  # pixels: from fits to torn


def border_picture(
    graph: Quotient, potential: np.ndarray, *, image: np.ndarray | None = None, background: int = WHITE
) -> np.ndarray:
    """Draw the borders of the components, coloured by the residual of their edges, over a pale picture.

    Parameters
    ----------
    graph : Quotient
    potential : (n_pixels,) float64
        A reconstruction. Light borders fit, dark ones are torn.
    image : (H, W, 3) uint8, optional
        What to draw on; by default the normals.
    background : int
        Grey value outside the valid pixels.

    Returns
    -------
    (H, W, 3) uint8
        A pixel beside a border has the colour of its largest residual there.
    """
    out = _pale(graph, image, background)
    size = np.abs(graph.residual(potential)) * graph.pixels.focal_at(graph.cut)
    worst = np.full(graph.pixels.n_pixels, -1.0)
    np.maximum.at(worst, graph.pixels.tail[graph.cut], size)
    np.maximum.at(worst, graph.pixels.head[graph.cut], size)
    beside = np.flatnonzero(worst >= 0)
    colors = colorize(worst[beside], BORDER_SCALE, "residual")
    out.reshape(-1, 3)[graph.pixels.map.position[beside]] = colors
    return out


def graph_picture(
    graph: Quotient,
    potential: np.ndarray,
    *,
    image: np.ndarray | None = None,
    zoom: int = 2,
    most: int = 400,
    background: int = WHITE,
) -> np.ndarray:
    """Draw the quotient graph over the image: a disc per component, a line per pair of adjacent ones.

    Parameters
    ----------
    graph : Quotient
    potential : (n_pixels,) float64
        A reconstruction. Lines have the colour of the median residual of their border: light fits, dark is torn.
    image : (H, W, 3) uint8, optional
        What to draw on; by default the normals.
    zoom : int
        Pixels of the picture per pixel of the image.
    most : int
        The largest components, so many of them, are drawn.
    background : int
        Grey value outside the valid pixels.

    Returns
    -------
    (zoom·H, zoom·W, 3) uint8
    """
    if zoom < 1 or most < 1:
        raise ValueError(f"zoom={zoom} and most={most} must be at least 1")
    out = _pale(graph, image, background).repeat(zoom, axis=0).repeat(zoom, axis=1)
    n, labels, source = graph.n_components, graph.labels, graph.pixels.map
    size = np.bincount(labels, minlength=n)
    v, u = np.divmod(source.position, source.shape[1])
    middle = np.stack([np.bincount(labels, x, n) / size for x in (v, u)], axis=1)
    at = zoom * (middle + 0.5) - 0.5
    drawn = np.zeros(n, dtype=bool)
    drawn[np.argsort(-size, kind="stable")[:most]] = True

    tail, head = np.minimum(graph.tail, graph.head), np.maximum(graph.tail, graph.head)
    shown = drawn[tail] & drawn[head]
    residual = (np.abs(graph.residual(potential)) * graph.pixels.focal_at(graph.cut))[shown]
    key, pair = np.unique(tail[shown].astype(np.int64) * n + head[shown], return_inverse=True)
    order = np.lexsort((residual, pair))
    count = np.bincount(pair, minlength=len(key))
    median = residual[order[np.cumsum(count) - count + count // 2]] if len(key) else np.zeros(0)
    colors = colorize(median, BORDER_SCALE, "residual")
    for k in np.argsort(-median, kind="stable"):  # what fits is drawn last, on top
        _line(out, at[key[k] // n], at[key[k] % n], colors[k])
    radius = zoom * np.clip(0.25 * np.sqrt(size / np.pi), 0.8, 6)
    for c in np.flatnonzero(drawn):
        _disc(out, at[c], float(radius[c]) + 1, np.array([255, 255, 255]))
        _disc(out, at[c], float(radius[c]), np.array([40, 44, 60]))
    return out


def uncertainty_picture(uncertainty: np.ndarray, *, background: int = WHITE) -> np.ndarray:
    """Show how well scales are known, by colour on a logarithmic scale: dark is uncertain.

    Parameters
    ----------
    uncertainty : (H, W) array
        Standard deviations in pixels, NaN outside, as `Reconstruction.uncertainty`.
    background : int
        Grey value outside the valid pixels.

    Returns
    -------
    (H, W, 3) uint8
    """
    values = np.asarray(uncertainty, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"uncertainty: expected an image of shape (H, W), got {values.shape}")
    out = np.full((*values.shape, 3), background, dtype=np.uint8)
    valid = np.isfinite(values)
    out[valid] = colorize(values[valid], uncertainty_scale(values), "residual")
    return out


def uncertainty_scale(uncertainty: np.ndarray) -> Scale:
    """The scale of `uncertainty_picture`, without the few smallest and largest values."""
    values = uncertainty[np.isfinite(uncertainty)]
    return Scale.of(values[values > 0], log=True, trim=1.0)


def _pale(graph: Quotient, image: np.ndarray | None, background: int) -> np.ndarray:
    source = graph.pixels.map
    if image is None:
        rgb = normal_picture(source.image(source.normals), background=background)
    else:
        rgb = np.asarray(image)
        if rgb.shape != (*source.shape, 3) or rgb.dtype != np.uint8:
            raise ValueError(f"image: expected uint8 of shape {(*source.shape, 3)}, got {rgb.dtype} {rgb.shape}")
    inside = (source.index >= 0)[..., None]
    return np.where(inside, (0.35 * rgb + 0.65 * 255).astype(np.uint8), np.uint8(background))


def _line(out: np.ndarray, a: np.ndarray, b: np.ndarray, color: np.ndarray) -> None:
    steps = int(np.ceil(np.abs(b - a).max())) + 1
    points = np.rint(np.linspace(a, b, steps)).astype(int)
    points = points[((points >= 0) & (points < out.shape[:2])).all(axis=1)]
    out[points[:, 0], points[:, 1]] = color


def _disc(out: np.ndarray, centre: np.ndarray, radius: float, color: np.ndarray) -> None:
    low = np.maximum(np.floor(centre - radius).astype(int), 0)
    high = np.minimum(np.ceil(centre + radius).astype(int) + 1, out.shape[:2])
    rows, columns = np.ogrid[low[0] : high[0], low[1] : high[1]]
    inside = (rows - centre[0]) ** 2 + (columns - centre[1]) ** 2 <= radius**2
    out[low[0] : high[0], low[1] : high[1]][inside] = color
