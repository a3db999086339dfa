"""The angle θ_c that suits a normal map, chosen from how its normals vary."""

from __future__ import annotations

import numpy as np

from ..graph.pixels import PixelGraph

# Degrees. A larger angle joins surfaces that do not belong together, a smaller one breaks noisy or detailed surfaces into
# crumbs.
_ANGLE, _NOISY_ANGLE, _STRUCTURED_ANGLE = 2.0, 3.5, 4.0


def suitable_angle(graph: PixelGraph) -> float:
    """Choose θ_c: 2° for clean maps, up to 3.5° under noise, 4° for finely structured surfaces.

    The measure is how far each normal is from the mean of its two neighbours in the row, which curvature hardly changes.
    Noise is the same everywhere: it makes the lower quartile of the measure 1.31 standard deviations, and the median half
    as much again. Detail differs from place to place and makes the median larger than that.

    Returns
    -------
    float
        Degrees.
    """
    index = graph.map.index
    left, centre, right = (index[:, k : max(index.shape[1] - 2, 0) + k].ravel() for k in range(3))
    whole = np.flatnonzero((left >= 0) & (centre >= 0) & (right >= 0))
    if not len(whole):
        return _ANGLE
    whole = whole[:: sample_step(len(whole))]
    n = graph.map.normals
    return angle_for(np.linalg.norm(n[left[whole]] - 2 * n[centre[whole]] + n[right[whole]], axis=1))


def sample_step(n: int) -> int:
    """Every which of `n` places in a map is looked at."""
    return max(1, n // 100_000)


def angle_for(bend: np.ndarray) -> float:
    """The angle in degrees for a map in which normals are this far (n,) from the mean of their neighbours, doubled."""
    if not len(bend):
        return _ANGLE
    quartile, median = np.degrees(np.percentile(bend, (25, 50)))
    if median > max(2.0, 1.9 * quartile):
        return _STRUCTURED_ANGLE
    return float(np.clip(_ANGLE + 2.5 * (quartile / 1.31 - 0.7), _ANGLE, _NOISY_ANGLE))
