"""Tangent-space normal maps: how their green channel points, and whether they tile, both decided by evidence.

In "opengl" maps green is the slope upwards in the image, in "directx" maps downwards. Only one of the two makes the slopes
those of a surface: their sum around small loops of pixels is then zero. A map tiles if its normals change no more from the
last column to the first, and from the last row to the first, than between neighbours inside.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..geometry.camera import Orthographic
from ..geometry.frames import FRAMES
from ..io.decode import about_lengths, decode_normals, pick
from ..io.evidence import NormalSample, by_loops
from ..io.formats import read_arrays
from ..io.normal_arrays import to_array
from ..io.plausibility import CONTRADICTION

GREENS = ("auto", "opengl", "directx")
TILES = ("auto", "x", "y", "both", "no")
_NAMES = ("normals", "normal", "normal_map", "")
_CROP = 640  # pixels a side of the part that the green channel is judged by, at full resolution
_NAMED = {"directx": re.compile(r"(?:^|[^a-z])dx(?:[^a-z]|$)|directx|normaldx|nor_dx", re.I)}
_NAMED["opengl"] = re.compile(r"(?:^|[^a-z])(?:gl|ogl)(?:[^a-z]|$)|opengl|normalgl|nor_gl", re.I)
_SEAM = 1.3  # how many times more than the roughest interior line the normals may change across the seam
_SEAMS = {"x": "the left and right seam", "y": "the upper and lower seam"}
_SLACK = 0.004  # change of a normal that 8-bit rounding makes
_UNIT_LENGTH = 0.15  # by how much the length of a normal may be off
_UNIT_MEDIAN = 0.025  # the same for the median beside a background: 0.00 to 0.02 in maps, 0.03 to 0.13 in blue icons
_PAINT = 0.1, 1.6  # values that make a shorter or longer vector are black, white or mid-grey: a background
_MOSTLY, _HARDLY = 0.8, 0.01  # parts of an image that have a normal: without a background, and too few to judge


@dataclass(frozen=True, eq=False)
class TangentMap:
    """A tangent-space normal map, read and understood.

    Attributes
    ----------
    normals : (H, W, 3) float
        As in the file: x right, y by `green`, z to the viewer.
    green : "opengl" or "directx"
        Whether y points up or down in the image.
    green_reason : str
    tile : "x", "y", "both" or "no"
        In which directions it tiles.
    tile_reason : str
    notes : tuple of str
    warnings : tuple of str
        What the normals contradict.
    """

    normals: np.ndarray = field(repr=False)
    green: str
    green_reason: str
    tile: str
    tile_reason: str
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def from_source(cls, source: Any, green: str = "auto", tile: str = "auto") -> TangentMap:
        """Read a file, or take an array or image, and decide what "auto" leaves open.

        Parameters
        ----------
        source : path, PIL image, array or tensor
            Three channels; two are x and y; in four with a constant red one, x is in alpha, as some engines store it.
        green : "auto", "opengl" or "directx"
        tile : "auto", "x", "y", "both" or "no"

        Raises
        ------
        ValueError
            If an argument is not known, or most normals face away from the viewer.
        """
        if green not in GREENS:
            raise ValueError(f"green={green!r} is not known; use one of {', '.join(map(repr, GREENS))}")
        if tile not in TILES:
            raise ValueError(f"tile={tile!r} is not known; use one of {', '.join(map(repr, TILES))}")
        is_file = isinstance(source, str | os.PathLike)
        name = Path(source).stem if is_file else ""
        array = pick(Path(source), read_arrays(source), _NAMES, "normals") if is_file else to_array(source, "normals")
        normals, notes, doubts = decoded(str(source) if is_file else "normals", array)
        _require_facing(normals)
        green_reason = tile_reason = "given"
        warnings = tuple(doubts)
        if green == "auto":
            green, green_reason = detect_green(normals, name)
        else:
            warnings += _contradicted(normals, green)
        if tile == "auto":
            tile, tile_reason = detect_tile(normals)
        return cls(normals, green, green_reason, tile, tile_reason, tuple(notes), warnings)

    @property
    def wrap(self) -> str:
        """The same as `tile`, in the words of `integrate`."""
        return "none" if self.tile == "no" else self.tile


def decoded(name: str, array: np.ndarray) -> tuple[np.ndarray, list[str], list[str]]:
    """Normals (H, W, 3) of the values of a texture, notes on how they were understood, and warnings about them."""
    notes: list[str] = []
    if array.ndim == 3 and array.shape[-1] == 4:
        red, alpha = array[..., 0], array[..., 3]
        if (red == red.flat[0]).all() and (alpha != alpha.flat[0]).any() and (array[..., 1] != array.flat[1]).any():
            notes.append("x was read from the alpha channel and y from the green one; the red one is constant")
            array = array[..., [3, 1]]
        else:
            array = array[..., :3]
    centred = array.dtype == np.uint8 and array.ndim == 3 and array.shape[-1] in (2, 3) and _flat_is_128(array)
    found = decode_normals(name, array)
    normals = found.normals
    if centred:
        # 128 stands for zero: 8 bits have no exact middle, and the slope of 1/255 would add up over the image.
        normals = np.array(normals, dtype=np.float64)
        normals[..., :2] = (array[..., :2].astype(np.float64) - 128) / 127
        notes.append("flat parts have the value 128, which was taken for zero")
    doubts = about_lengths(found.normals, found.dtype)
    return normals, [*notes, *found.notes], [*found.warnings, *doubts]


def _flat_is_128(array: np.ndarray) -> bool:
    """Whether 128 is far more frequent than 127 in the first two channels: the value of flat surfaces."""
    counts = [np.bincount(array[..., k].ravel(), minlength=256) for k in (0, 1)]
    return all(count[128] == count.max() and count[128] > 1.5 * count[127] for count in counts)


def _require_facing(normals: np.ndarray) -> None:
    """Raise `ValueError` if most normals face away from the viewer, for which no sign of green is right."""
    away, towards = (int(np.count_nonzero(side)) for side in (normals[..., 2] < 0, normals[..., 2] > 0))
    if away > towards:
        raise ValueError(
            f"normals: {away} of {away + towards} face away from the viewer, whichever way green points, so this is no "
            "tangent-space normal map: its z, in blue, points to the viewer; turn the sign of z, or use `integrate`, "
            "which takes normals of other frames"
        )


def is_normal_map(array: np.ndarray) -> bool:
    """Whether the values of an image look like a tangent-space normal map: unit vectors that face the viewer.

    Pixels without a normal (black, white, mid-grey, 0 or NaN) are not judged. If there are many, the others must be the
    closer to unit length, since a picture of one bright colour on white or black is not far from it.
    """
    if array.ndim != 3 or array.shape[-1] not in (3, 4) or array.dtype.kind not in "uf":
        return False
    seen = array[:: max(1, len(array) // 256), :: max(1, array.shape[1] // 256), :3].reshape(-1, 3).astype(np.float64)
    shortest, longest = 0.0, np.inf  # vectors are stored as they are, and 0 where there is none
    if not (seen < 0).any():
        seen = seen * (2 / np.iinfo(array.dtype).max if array.dtype.kind == "u" else 2) - 1
        shortest, longest = _PAINT
    with np.errstate(over="ignore"):
        length = np.linalg.norm(seen, axis=-1)
    known = (length > shortest) & (length < longest)
    if np.mean(known) < _HARDLY:
        return False
    off = np.abs(length[known] - 1)
    if np.mean(known) < _MOSTLY and np.median(off) > _UNIT_MEDIAN:
        return False
    near = off < _UNIT_LENGTH
    unit = seen[known][near]
    return bool(near.mean() > 0.8 and np.mean(unit[:, 2] > 0) > 0.95 and np.ptp(unit[:, :2]) > 0)


def detect_green(normals: np.ndarray, name: str = "") -> tuple[str, str]:
    """Which way green points, "opengl" or "directx", and why, in a few words."""
    possible, sums = _green_by_loops(normals)
    if len(possible) == 1:
        chosen = possible[0]
        other = "directx" if chosen == "opengl" else "opengl"
        return chosen, f"sums around loops {sums[chosen]:.2g}, against {sums[other]:.2g} for {other}"
    for green, pattern in _NAMED.items():
        if pattern.search(name):
            return green, "by the name of the file; the sums around loops do not tell"
    return "opengl", "assumed; the sums around loops do not tell"


def _contradicted(normals: np.ndarray, green: str) -> tuple[str, ...]:
    """A warning if the normals clearly show that green points the other way than was stated."""
    possible, sums = _green_by_loops(normals)
    if green in possible:
        return ()
    (better,) = possible
    return (
        f"green: {CONTRADICTION} {green}: their sums around loops are {sums[green]:.2g}, "
        f"against {sums[better]:.2g} for {better}, which fits better",
    )


def _green_by_loops(normals: np.ndarray) -> tuple[list[str], dict[str, float]]:
    """What green may be, and the sums around loops for each; from the middle of the map, however large that is."""
    top, left = ((n - min(n, _CROP)) // 2 for n in normals.shape[:2])
    part = normals[top : top + _CROP, left : left + _CROP]
    sample = NormalSample.from_map(part, None, Orthographic(), n_samples=part.shape[0] * part.shape[1])
    return by_loops(sample, {green: FRAMES[green] for green in ("opengl", "directx")})


def _means(values: np.ndarray, axis: int) -> np.ndarray:
    """Means along an axis over what is finite; NaN where nothing is."""
    known = np.isfinite(values)
    count = known.sum(axis=axis)
    return np.where(count > 0, np.where(known, values, 0.0).sum(axis=axis) / np.maximum(count, 1), np.nan)


def detect_tile(normals: np.ndarray) -> tuple[str, str]:
    """In which directions a map tiles, "x", "y", "both" or "no", and why, in a few words."""
    ratios = {}  # of the seams that can be judged, by the direction across them
    for direction, axis in (("x", 1), ("y", 0)):
        change = _means(np.linalg.norm(np.diff(normals, axis=axis), axis=-1), 1 - axis)
        seam = _means(np.linalg.norm(np.take(normals, 0, axis) - np.take(normals, -1, axis), axis=-1), 0)
        known = change[np.isfinite(change)]
        if len(known) > 1 and np.isfinite(seam):
            ratios[direction] = float((seam - _SLACK) / (_SEAM * known.max() + 1e-9))
    tiles = [direction for direction, ratio in ratios.items() if ratio <= 1]
    word = "both" if len(tiles) == 2 else tiles[0] if tiles else "no"
    if not ratios:
        return word, "assumed; there are too few normals at the seams"
    where = "the seams" if len(ratios) == 2 else _SEAMS[next(iter(ratios))]
    times = " and ".join(f"{max(ratio, 0.0) * _SEAM:.2g}" for ratio in ratios.values())
    unknown = "".join(f"; there are too few normals at {name}" for key, name in _SEAMS.items() if key not in ratios)
    return word, f"normals change {times} times as much at {where} as at the roughest line inside{unknown}"
