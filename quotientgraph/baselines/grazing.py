"""Jumps that no surface has, from normals at a right angle to the ray.

A pixel whose normal is almost perpendicular to its ray predicts a jump that grows without bound; rounding alone can make it
infinite. Such a prediction says nothing, so 0 takes its place, as in the planar model. What is left can still add up to a
depth that no floating-point number holds; then the potential is limited, and a warning says so.
"""

from __future__ import annotations

import numpy as np

from ..geometry.camera import Camera

_CENTRAL = float(np.log(10.0))  # between neighbouring pixels depth grows at most tenfold
_ORTHOGRAPHIC = 359.0  # pixels of depth for one pixel of the image
_LARGEST = 300.0  # e^±300 and its products with the coordinates of rays are still numbers


def believable(jump: np.ndarray, camera: Camera) -> np.ndarray:
    """Return jumps, or derivatives of the potential by pixels, with 0 instead of those that no surface has.

    >>> from quotientgraph import Orthographic
    >>> believable(np.array([0.5, np.inf, np.nan, -1e9]), Orthographic()).tolist()
    [0.5, 0.0, 0.0, 0.0]
    """
    limit = _CENTRAL if camera.central else _ORTHOGRAPHIC
    return np.where(np.abs(jump) < limit, jump, 0.0)


def limited(potential: np.ndarray, camera: Camera) -> tuple[np.ndarray, str]:
    """Return a centred potential with depths that are numbers, and a warning if it had to be limited, else ""."""
    if not camera.central or np.all(np.abs(potential) < _LARGEST):
        return potential, ""
    beyond = int(np.sum(~(np.abs(potential) < _LARGEST)))
    kept = np.clip(np.nan_to_num(potential, nan=0.0), -_LARGEST, _LARGEST)
    return kept, f"the depth of {beyond} pixels exceeds what numbers can hold and was limited; check the focal length"
