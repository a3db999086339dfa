"""How good a depth map is: MADE, relative error, normal error, and the least error a decomposition allows.

Integration recovers depth up to what its camera leaves open: a factor for a central camera, an offset for an
orthographic one. An estimate is brought to the truth by the median ratio (or difference) before it is compared. Pixels
where either is not finite do not count; nor, through a central camera, those where either is not positive.
"""

from __future__ import annotations

import numpy as np


def aligned(estimate: np.ndarray, truth: np.ndarray, offset: bool = False) -> np.ndarray:
    """The estimate scaled by median(truth/estimate), or shifted by median(truth − estimate) if `offset`."""
    _check(estimate, truth)
    use = _counting(estimate, truth, offset)
    if not use.any():
        return np.full_like(estimate, np.nan, dtype=np.float64)
    if offset:
        return estimate + np.median(truth[use] - estimate[use])
    return estimate * np.median(truth[use] / estimate[use])


def made(estimate: np.ndarray, truth: np.ndarray, offset: bool = False) -> float:
    """Mean absolute depth error, in the unit of `truth`.

    >>> made(np.array([[1.0, 2.0]]), np.array([[10.0, 20.0]]))
    0.0
    """
    error, _ = _errors(estimate, truth, offset)
    return float(np.mean(error)) if error.size else float("nan")


def relative_error(estimate: np.ndarray, truth: np.ndarray, offset: bool = False) -> float:
    """Mean of |error| / truth; with `offset`, of |error| / (range of truth), since truth may be zero or negative."""
    error, true = _errors(estimate, truth, offset)
    if not error.size:
        return float("nan")
    return float(np.mean(error / ((float(np.ptp(true)) or 1.0) if offset else true)))


def least_made(filled: np.ndarray, truth: np.ndarray, labels: np.ndarray, offset: bool = False) -> float:
    """The least MADE that any choice of scales could reach: every component brought to the truth by its own median.

    Parameters
    ----------
    filled : (H, W) depth of components integrated on their own
    truth : (H, W)
    labels : (H, W) integers, −1 outside
        As `QuotientGraph.label_image()`.
    """
    _check(filled, truth)
    _check(labels, truth)
    use = _counting(filled, truth, offset) & (labels >= 0)
    z, t, c = filled[use], truth[use], labels[use]
    quotient = t - z if offset else t / z
    order = np.lexsort((quotient, c))
    first = np.flatnonzero(np.diff(c[order], prepend=-1))
    count = np.diff(np.append(first, len(order)))
    q = quotient[order]
    median = 0.5 * (q[first + (count - 1) // 2] + q[first + count // 2])
    best = np.empty(len(z))
    best[order] = np.repeat(median, count)
    return float(np.mean(np.abs((z + best if offset else z * best) - t)))


def normal_error(points: np.ndarray, normals: np.ndarray) -> float:
    """Mean angle in degrees between given normals and those of the surface through `points`, by central differences.

    Parameters
    ----------
    points, normals : (H, W, 3) in the OpenCV frame, NaN outside
    """
    across = np.full(points.shape, np.nan)
    along = np.full(points.shape, np.nan)
    across[:, 1:-1] = points[:, 2:] - points[:, :-2]
    along[1:-1] = points[2:] - points[:-2]
    found = -np.cross(across, along)
    with np.errstate(invalid="ignore", divide="ignore"):
        found /= np.linalg.norm(found, axis=-1, keepdims=True)
        cosine = np.clip(np.sum(found * normals, axis=-1), -1, 1)
    return float(np.degrees(np.nanmean(np.arccos(cosine)))) if np.isfinite(cosine).any() else float("nan")


def _errors(estimate: np.ndarray, truth: np.ndarray, offset: bool) -> tuple[np.ndarray, np.ndarray]:
    """(n,) |error| of the pixels that count, and their truth."""
    found = aligned(estimate, truth, offset)
    use = _counting(estimate, truth, offset)
    return np.abs(found[use] - truth[use]), truth[use]


def _counting(estimate: np.ndarray, truth: np.ndarray, offset: bool) -> np.ndarray:
    """The pixels at which both are depths: finite and, unless an offset is free, in front of the camera."""
    use = np.isfinite(estimate) & np.isfinite(truth)
    return use if offset else use & (np.asarray(estimate) > 0) & (np.asarray(truth) > 0)


def _check(array: np.ndarray, truth: np.ndarray) -> None:
    if np.shape(array) != np.shape(truth):
        raise ValueError(f"truth: its shape {np.shape(truth)} differs from the estimate's {np.shape(array)}")
