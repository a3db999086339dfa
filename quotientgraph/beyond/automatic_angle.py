"""The angle θ_c that suits a normal map, chosen from how its normals vary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laplacians.core.jit import kernel

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
    index, step = graph.map.index, sample_step(graph.n_pixels)
    across, down = bends(graph.map.normals, index[::step]), bends(graph.map.normals, index[:, ::step], down=True)
    return _CHOSEN.clean if _surely_clean(across, down) else angle_for(np.concatenate([across, down]))


def sample_step(n_pixels: int) -> int:
    """Of the rows and columns of a map with so many valid pixels, every which is looked at."""
    return max(1, n_pixels // _MOST)


def angle_for(bend: np.ndarray) -> float:
    """The angle in degrees that suits a map with the given bends (n,)."""
    if not len(bend):
        return _CHOSEN.clean
    quartile, median, high = np.degrees(np.percentile(bend, (25, 50, 90)))
    least, ratio = _CHOSEN.structure
    if median > max(least, ratio * quartile):
        return _CHOSEN.folded if high > _CHOSEN.deep else _CHOSEN.noisy
    return float(np.clip(_CHOSEN.clean + _CHOSEN.slope * (quartile - _CHOSEN.noise), _CHOSEN.clean, _CHOSEN.noisy))


def _surely_clean(*bend: np.ndarray) -> bool:
    """Whether counting alone tells that the angle for these bends together is that of clean maps, as it mostly is.

    To find percentiles takes ten times as long. It is left to `angle_for` where they are close to a bound.
    """
    n, below = sum(map(len, bend)), 1 - 1e-9
    median, quartile = (
        sum(np.count_nonzero(one < below * np.radians(bound)) for one in bend)
        for bound in (_CHOSEN.structure[0], _CHOSEN.noise)
    )
    return bool(median > n // 2 + 1 and quartile > n // 4 + 1)


def bends(normals: np.ndarray, index: np.ndarray, down: bool = False) -> np.ndarray:
    """(n,) |n_left − 2 n + n_right| of valid neighbours along the rows of `index`, which is −1 where there is no pixel.

    With `down` they are those along its columns.
    """
    out = np.empty(index.size)
    return out[: _write_bends(normals, np.ascontiguousarray(index), int(down), int(not down), out)]


@kernel
def _write_bends(normals, index, down, along, out):
    """Write the bends between a pixel and those (down, along) before and after it, and return how many there are."""
    n = 0
    for i in range(down, index.shape[0] - down):
        for j in range(along, index.shape[1] - along):
            before, here, after = index[i - down, j - along], index[i, j], index[i + down, j + along]
            if before >= 0 and here >= 0 and after >= 0:
                total = 0.0
                for axis in range(3):
                    bend = normals[before, axis] - 2 * normals[here, axis] + normals[after, axis]
                    total += bend * bend
                out[n] = np.sqrt(total)
                n += 1
    return n
