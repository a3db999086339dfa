"""A result beside what is known otherwise: the normals that were integrated, the true depth, a depth prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..metrics import aligned
from .pictures import normal_image

if TYPE_CHECKING:
    from ..result import Reconstruction


@dataclass(frozen=True, eq=False)
class Comparison:
    """What there is beside a result; images of its size.

    Attributes
    ----------
    normals : (H, W, 3) float64
        Of the surface that was found.
    angle : (H, W) float64
        Between these and the normals that were integrated, in degrees.
    error : (H, W) float64 or None
        Of the depth, as a share of the true one.
    prior : (H, W) float64 or None
        In the units of the depth.
    """

    normals: np.ndarray
    angle: np.ndarray
    error: np.ndarray | None = None
    prior: np.ndarray | None = None


def compared(result: Reconstruction, truth: np.ndarray | None = None, prior: np.ndarray | None = None) -> Comparison:
    """Compare a result with its normals, and with the true depth and a prior where they are known."""
    found = surface_normals(result)
    return Comparison(
        found,
        angle_to_input(result, found),
        None if truth is None else depth_error(result, truth),
        None if prior is None else prior_as_depth(result, prior),
    )


def surface_normals(result: Reconstruction) -> np.ndarray:
    """Return the normals of the surface that was found, (H, W, 3) float64 in the OpenCV frame.

    They come from the differences to the neighbours that no break separates from a pixel. NaN where a pixel has none in
    one of the two directions.
    """
    points, cuts = result.points, result.graph.pixels.cuts(result.broken)
    with np.errstate(all="ignore"):
        across = _difference(points, cuts.right, axis=1)
        along = _difference(points, cuts.down, axis=0)
        found = np.cross(along, across)
        found /= np.linalg.norm(found, axis=-1, keepdims=True)
    return found


def _difference(points: np.ndarray, broken: np.ndarray, axis: int) -> np.ndarray:
    """Mean of the differences to the two neighbours along an axis, of those that are not cut off; NaN without any."""
    step = np.diff(points, axis=axis)
    step[broken] = np.nan
    blank = np.full_like(np.take(points, [0], axis=axis), np.nan)
    both = np.stack([np.concatenate([step, blank], axis=axis), np.concatenate([blank, step], axis=axis)])
    known = np.isfinite(both)
    return np.where(known, both, 0).sum(axis=0) / np.where(known.any(axis=0), known.sum(axis=0), np.nan)


def angle_to_input(result: Reconstruction, found: np.ndarray | None = None) -> np.ndarray:
    """Return the angle in degrees between the normals of the surface and those that were integrated, (H, W), or NaN."""
    found = surface_normals(result) if found is None else found
    with np.errstate(invalid="ignore"):
        return np.degrees(np.arccos(np.clip(np.sum(found * normal_image(result), axis=-1), -1, 1)))


def depth_error(result: Reconstruction, truth: np.ndarray) -> np.ndarray:
    """Return the error of the depth, (H, W), after the free factor or offset has been fitted.

    Central cameras: |error| / truth. Orthographic: |error| / range of truth.
    """
    truth = _image("truth", truth, result.depth.shape)
    offset = not result.graph.pixels.map.camera.central
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.abs(aligned(result.depth, truth, offset) - truth)
        size = np.ptp(truth[np.isfinite(error)]) if offset and np.isfinite(error).any() else truth
        return error / np.where(size > 0, size, np.nan)


def prior_as_depth(result: Reconstruction, prior: np.ndarray) -> np.ndarray:
    """Return a depth prior in the units of the result, (H, W), NaN where the result is.

    The prior may be depth or disparity, with a factor and an offset. The simplest of these readings that comes close to
    the depth of the result is taken; what remains between the two is what the result changed.
    """
    prior, depth = _image("prior", prior, result.depth.shape), result.depth
    central = result.graph.pixels.map.camera.central
    with np.errstate(all="ignore"):
        use = np.isfinite(prior) & np.isfinite(depth) & ((prior > 0) | (not central))
        if not use.any():
            return np.full(depth.shape, np.nan)
        readings = [aligned(np.where(use, prior, np.nan), depth, not central), _line(prior, depth, use)]
        if central:
            readings.append(1 / _line(prior, 1 / depth, use))
        apart = [_apart(reading, depth, use, central) for reading in readings]
        best = 0 if apart[0] <= 1.25 * min(apart) + 1e-9 else int(np.argmin(apart))
    return np.where(np.isfinite(depth) & np.isfinite(readings[best]), readings[best], np.nan)


def _line(prior: np.ndarray, wanted: np.ndarray, use: np.ndarray) -> np.ndarray:
    """The prior times a factor plus an offset, closest to what is wanted by the sum of the distances."""
    p, w = prior[use], wanted[use]
    p0, w0 = np.median(p), np.median(w)
    size = float(np.ptp(w)) or 1.0
    slope = offset = 0.0
    weight = np.ones(len(p))
    for _ in range(20):  # reweighted least squares
        share = weight / weight.sum()
        pm, wm = share @ p, share @ w
        spread = share @ (p - pm) ** 2
        slope = (share @ ((p - pm) * (w - wm))) / spread if spread > 0 else 0.0
        offset = wm - w0 - slope * (pm - p0)
        weight = 1 / np.maximum(np.abs(w - w0 - offset - slope * (p - p0)), 1e-9 * size)
    return w0 + offset + slope * (prior - p0)


def _apart(reading: np.ndarray, depth: np.ndarray, use: np.ndarray, central: bool) -> float:
    """Mean distance of a reading of the prior from the depth, without the tenth that is furthest."""
    r, d = reading[use], depth[use]
    apart = np.abs(np.log(np.where(r > 0, r, np.nan) / d)) if central else np.abs(r - d)
    apart = np.sort(np.where(np.isfinite(apart), apart, np.inf))
    return float(apart[: max(1, len(apart) * 9 // 10)].mean())


def _image(name: str, values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != tuple(shape):
        raise ValueError(f"{name}: expected the shape of the normals, {tuple(shape)}, got {array.shape}")
    return array
