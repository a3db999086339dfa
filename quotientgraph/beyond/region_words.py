"""Words for parts of an image: where they are, how large they are, what they hang on and where else they could be."""

from __future__ import annotations

import numpy as np

from ..geometry.normals import NormalMap

_ROWS, _COLUMNS = ("upper", "", "lower"), ("left", "", "right")
_ALONE = {"upper": "at the top", "lower": "at the bottom", "left": "on the left", "right": "on the right"}


def part_of(normal_map: NormalMap, inside: np.ndarray) -> str:
    """A part of the valid pixels, (n_pixels,) bool, such as "the part at the upper left, 6 % of the pixels,"."""
    shown = normal_map.image(inside, False)
    row, column = _ROWS[_third(np.count_nonzero(shown, axis=1))], _COLUMNS[_third(np.count_nonzero(shown, axis=0))]
    where = f"at the {row} {column}" if row and column else _ALONE[row or column] if row or column else "in the middle"
    return f"the part {where}, {percentage(float(inside.mean()))} of the pixels,"


def resting_on(n_borders: int, length: int) -> str:
    """What a part hangs on: so many borders that touch, of so many pixels together."""
    if n_borders == 0:
        return "hangs on no border that touches"
    return f"hangs on one border of {length} px" if n_borders == 1 else f"hangs on {n_borders} borders of {length} px"


def elsewhere(offset: float, factor: float | None) -> str:
    """Where else it could be, by the offset of its depth or, for a central camera, the factor."""
    if factor is None:
        return f"it could also be {abs(offset):.3g} {'farther' if offset > 0 else 'nearer'}"
    if factor >= 2:
        return f"it could also be {factor:.1f} times as far"
    if factor > 1:
        return f"it could also be {percentage(factor - 1)} farther"
    return f"it could also be {percentage(1 - factor)} nearer"


def percentage(share: float) -> str:
    """A share in per cent, with a digit behind the point if it is small."""
    return f"{100 * share:.{0 if share >= 0.0095 else 1}f} %"


def _third(count: np.ndarray) -> int:
    """In which third of a side of the image the median of a part lies, of which `count` tells the pixels in each line."""
    up_to = np.cumsum(count)
    low, high = np.searchsorted(up_to, [(up_to[-1] - 1) // 2, up_to[-1] // 2], side="right")
    return int(np.clip(3 * (0.5 * (low + high) + 0.5) / len(count), 0, 2.999))
