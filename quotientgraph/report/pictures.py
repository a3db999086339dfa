"""Pictures: (H, W, 3) uint8 arrays that show the images of a result, in one grey outside the valid pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .color import Scale, colorize, label_colors

if TYPE_CHECKING:
    from ..quotient_graph import QuotientGraph
    from ..result import Reconstruction

WHITE = 255


def depth_picture(
    depth: np.ndarray, *, shade: bool = True, background: int = WHITE, scale: Scale | None = None
) -> np.ndarray:
    """Show depth by colour; near is light.

    Parameters
    ----------
    depth : (H, W) array
        NaN outside the valid pixels.
    shade : bool
        Whether to shade the colours as if the surface were lit.
    background : int
        Grey value outside the valid pixels.
    scale : Scale, optional
        Which depths the ends of the colours mean, by default `depth_scale`.

    Returns
    -------
    (H, W, 3) uint8

    Examples
    --------
    >>> depth_picture(np.array([[1.0, 2.0, np.nan]])).shape
    (1, 3, 3)
    """
    depth = _image("depth", depth)
    rgb = colorize(depth, scale or depth_scale(depth), "depth").astype(np.float64)
    if shade:
        rgb *= (0.80 + 0.24 * _hillshade(depth))[..., None]
    return _on_background(rgb, np.isfinite(depth), background)


def depth_scale(depth: np.ndarray) -> Scale:
    """Return the scale of `depth_picture`, which leaves out the few smallest and largest depths."""
    return Scale.of(depth, trim=0.2)


def residual_picture(residual: np.ndarray, *, background: int = WHITE) -> np.ndarray:
    """Show the size of residuals by colour, on a logarithmic scale of at most four decades.

    Parameters
    ----------
    residual : (H, W) array
        NaN outside the valid pixels, as in `Reconstruction.discontinuity`.
    background : int
        Grey value outside the valid pixels.

    Returns
    -------
    (H, W, 3) uint8

    Examples
    --------
    >>> residual_picture(np.array([[1e-3, 1.0, np.nan]])).shape
    (1, 3, 3)
    """
    size = np.abs(_image("residual", residual))
    return _on_background(colorize(size, residual_scale(size), "residual"), np.isfinite(size), background)


def residual_scale(residual: np.ndarray) -> Scale:
    """Return the scale of `residual_picture`, from the lower quartile (at most four decades) to nearly the largest."""
    size = np.abs(residual[np.isfinite(residual)])
    size = size[size > 0]
    if size.size == 0:
        return Scale(0.1, 1.0, True)
    high = float(np.percentile(size, 99.8))
    low = float(np.clip(np.percentile(size, 25), 1e-4 * high, 0.1 * high))
    return Scale(low, high, True) if low > 0 else Scale.of(size, log=True)


def label_picture(labels: np.ndarray, *, background: int = WHITE) -> np.ndarray:
    """Show each label in a colour of its own.

    Parameters
    ----------
    labels : (H, W) integers
        Negative outside the valid pixels, as in `QuotientGraph.label_image`.
    background : int
        Grey value outside the valid pixels.

    Returns
    -------
    (H, W, 3) uint8

    Examples
    --------
    >>> label_picture(np.array([[0, 1, -1]]))[0, 2].tolist()
    [255, 255, 255]
    """
    labels = np.asarray(labels)
    if labels.ndim != 2:
        raise ValueError(f"labels: expected a label image of shape (H, W), got {labels.shape}")
    names, place = np.unique(labels, return_inverse=True)
    return _on_background(label_colors(names)[place.reshape(labels.shape)], labels >= 0, background)


def stable_labels(levels: list[QuotientGraph]) -> list[np.ndarray]:
    """Return label images of all levels in which a merged component keeps the label of its largest part in Q_0.

    `label_picture` then gives a component the same colour at every level.
    """
    if not levels:
        return []
    first = levels[0].label_image()
    inside = first >= 0
    part = first[inside]
    size = np.bincount(part)
    names = np.unique(part)
    names = names[np.argsort(size[names], kind="stable")]
    out = [first]
    for level in levels[1:]:
        labels = level.label_image()
        whole_of_part = np.zeros(size.size, dtype=np.int64)
        whole_of_part[part] = labels[inside]
        keeper = np.zeros(int(labels.max(initial=0)) + 1, dtype=np.int64)
        keeper[whole_of_part[names]] = names  # ascending size: the largest part writes last
        out.append(np.where(labels >= 0, keeper[np.maximum(labels, 0)], -1))
    return out


def normal_picture(normals: np.ndarray, *, background: int = WHITE) -> np.ndarray:
    """Show normals in the usual colours: red is right, green is up, blue is to the viewer.

    Parameters
    ----------
    normals : (H, W, 3) array
        In the OpenCV frame, NaN outside the valid pixels.
    background : int
        Grey value outside the valid pixels.

    Returns
    -------
    (H, W, 3) uint8

    Examples
    --------
    >>> normal_picture(np.array([[[0.0, 0.0, -1.0]]]))[0, 0].tolist()
    [128, 128, 255]
    """
    n = np.asarray(normals, dtype=np.float64)
    if n.ndim != 3 or n.shape[2] != 3:
        raise ValueError(f"normals: expected an image of shape (H, W, 3), got {n.shape}")
    rgb = np.nan_to_num(127.5 + 127.5 * n * [1, -1, -1])
    return _on_background(rgb, np.isfinite(n.sum(axis=-1)), background)


def shaded_picture(result: Reconstruction, *, background: int = WHITE) -> np.ndarray:
    """Show the surface as matt clay: its normals under a light from the upper left and two weaker ones.

    Parameters
    ----------
    result : Reconstruction
    background : int
        Grey value outside the valid pixels.

    Returns
    -------
    (H, W, 3) uint8
    """
    n = normal_image(result)
    valid = np.isfinite(n).all(axis=-1)
    n = np.nan_to_num(n)
    key = np.maximum(n @ _unit(-0.55, -0.65, -0.62), 0)
    fill = np.maximum(n @ _unit(0.5, 0.2, -0.8), 0)
    rim = np.maximum(n @ _unit(0.75, 0.5, -0.1), 0) ** 2
    lit = 0.16 + 0.62 * key[..., None] * [1, 0.985, 0.95] + 0.24 * fill[..., None] * [0.92, 0.97, 1]
    lit += 0.10 * rim[..., None] * [0.8, 0.9, 1]
    far = np.nan_to_num(depth_scale(result.depth)(result.depth))[..., None]
    rgb = 255 * np.clip(lit * (1 - 0.18 * far) * [0.97, 0.95, 0.925], 0, 1) ** (1 / 1.5)
    return _on_background(rgb, valid, background)


def overview_picture(result: Reconstruction, *, background: int = WHITE) -> np.ndarray:
    """Show normals, components of the first level and shaded depth side by side, cropped to the valid pixels.

    Parameters
    ----------
    result : Reconstruction
    background : int
        Grey value outside the valid pixels.

    Returns
    -------
    (height, width, 3) uint8

    Examples
    --------
    >>> from quotientgraph import integrate
    >>> overview_picture(integrate(np.tile([0.0, 0.0, 1.0], (8, 9, 1)))).shape
    (8, 31, 3)
    """
    rows, columns = crop_of(result)
    labels = (list(result.levels) or [result.graph])[0].label_image()
    depth = depth_picture(result.depth, background=background)
    clay = shaded_picture(result, background=background).astype(np.float64)
    valid = np.isfinite(result.depth)[..., None]
    both = np.where(valid, np.clip(depth * (0.30 + 0.85 * clay.mean(axis=-1, keepdims=True) / 255), 0, 255), depth)
    panels = [
        normal_picture(normal_image(result), background=background),
        label_picture(labels, background=background),
        both.round().astype(np.uint8),
    ]
    panels = [p[rows, columns] for p in panels]
    gap = np.full((panels[0].shape[0], max(2, panels[0].shape[1] // 40), 3), background, dtype=np.uint8)
    return np.concatenate([panels[0], gap, panels[1], gap, panels[2]], axis=1)


def normal_image(result: Reconstruction) -> np.ndarray:
    """Return the normals that were integrated, (H, W, 3) float64 in the OpenCV frame, NaN outside the valid pixels."""
    source = result.graph.pixels.map
    return source.image(source.normals)


def crop_of(result: Reconstruction) -> tuple[slice, slice]:
    """Return the rows and columns that hold the valid pixels, with a margin of 2 %."""
    valid = result.graph.pixels.map.index >= 0
    out = []
    for axis in (1, 0):
        hit = np.flatnonzero(valid.any(axis=axis))
        low, high = (int(hit[0]), int(hit[-1]) + 1) if hit.size else (0, valid.shape[1 - axis])
        pad = round(0.02 * (high - low))
        out.append(slice(max(low - pad, 0), min(high + pad, valid.shape[1 - axis])))
    return out[0], out[1]


def _hillshade(depth: np.ndarray) -> np.ndarray:
    """Return the Lambert term of the slopes of depth, exaggerated to a typical slope of one; about 0.8 where it is flat."""
    with np.errstate(over="ignore", invalid="ignore"):
        slopes = [np.diff(depth, axis=a, append=np.take(depth, [-1], axis=a)) for a in (1, 0)]
        size = np.abs(np.stack(slopes))
        size = size[np.isfinite(size) & (size > 0)]
        # Slopes at rounding level are a flat surface, not relief.
        floor = 1e-9 * float(np.nanmax(np.abs(depth), initial=0, where=np.isfinite(depth)))
        unit = max(float(np.percentile(size, 75)) if size.size else 1.0, floor, 1e-300)
        zx, zy = (np.nan_to_num(np.clip(s / unit, -30, 30)) for s in slopes)
    return np.clip((-0.55 * zx - 0.65 * zy + 1.1) / np.sqrt(1 + zx**2 + zy**2) / 1.39, -1, 1)


def _on_background(rgb: np.ndarray, valid: np.ndarray, background: int) -> np.ndarray:
    out = np.full((*valid.shape, 3), background, dtype=np.uint8)
    out[valid] = np.clip(np.round(rgb[valid]), 0, 255)
    return out


def _image(name: str, values: np.ndarray) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"{name}: expected an image of shape (H, W), got {array.shape}")
    return array


def _unit(*vector: float) -> np.ndarray:
    return np.array(vector) / np.linalg.norm(vector)
