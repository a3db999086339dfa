"""The angle θ_c that suits a normal map, chosen from how its normals vary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..graph.pixels import PixelGraph


@dataclass(frozen=True)
class _Constants:
    """Degrees. A larger angle joins surfaces that do not belong together, a smaller one makes crumbs of noisy surfaces.

    On random scenes any angle between 2° and 4° gives the same mean error, within what other scenes would change; the five
    objects of DiLiGenT that these were chosen on differ more. So the angle leaves the range of 2° to 3.5° only where the
    evidence is as strong as it is there.
    """

    clean: float = 2.0
    noisy: float = 3.5
    folded: float = 4.0
    noise: float = 0.92  # lower quartile of the bend from which on noise is a reason for a larger angle
    slope: float = 1.9  # of the angle, for each degree of that quartile
    structure: tuple[float, float] = (2.0, 1.9)  # median of the bend: at least the first, and this many lower quartiles
    deep: float = 20.0  # the bend that a tenth of a deeply folded surface exceeds


_CHOSEN = _Constants()
_MOST = 100_000  # in maps with more pixels, some rows and columns are looked at, which hold about so many


def suitable_angle(graph: PixelGraph) -> float:
    """Choose θ_c: 2° for clean maps, up to 3.5° under noise or fine structure, 4° for deeply folded surfaces.

    The measure is the bend: how far a normal is from the mean of its two neighbours in the row or column, twice, which
    curvature hardly changes. Noise is the same everywhere, so the median of the bend is 1.7 times its lower quartile.
    Structure differs from place to place and makes the median larger than that.

    Parameters
    ----------
    graph : PixelGraph

    Returns
    -------
    float
        Degrees. The same for a flipped or transposed map, if it has at most a hundred thousand pixels.
    """
    index, step = graph.map.index, max(1, graph.n_pixels // _MOST)
    bend = np.concatenate([_bends(graph.map.normals, lines) for lines in (index[::step], index[:, ::step].T)])
    if not len(bend):
        return _CHOSEN.clean
    quartile, median, high = np.degrees(np.percentile(bend, (25, 50, 90)))
    least, ratio = _CHOSEN.structure
    if median > max(least, ratio * quartile):
        return _CHOSEN.folded if high > _CHOSEN.deep else _CHOSEN.noisy
    return float(np.clip(_CHOSEN.clean + _CHOSEN.slope * (quartile - _CHOSEN.noise), _CHOSEN.clean, _CHOSEN.noisy))


def _bends(normals: np.ndarray, index: np.ndarray) -> np.ndarray:
    """(n,) |n_left − 2 n + n_right| of valid neighbours along the rows of `index`, which is −1 where there is no pixel."""
    left, centre, right = (index[:, k : max(index.shape[1] - 2, 0) + k].ravel() for k in range(3))
    whole = np.flatnonzero((left >= 0) & (centre >= 0) & (right >= 0))
    return np.linalg.norm(normals[left[whole]] - 2 * normals[centre[whole]] + normals[right[whole]], axis=1)
