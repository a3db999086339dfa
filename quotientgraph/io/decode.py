"""From the numbers in a file to normals and masks. Never a gamma curve: normal maps are not photographs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from .formats import InputError

_LENGTHS = (0.1, 1.6)  # a decoded vector outside is black, white or mid-grey paint, not a normal


def pick(path: Path, arrays: Mapping[str, np.ndarray], names: tuple[str, ...], what: str) -> np.ndarray:
    """The array that is meant: by name, else the only one, else the only one of a fitting shape."""
    lower = {name.lower(): array for name, array in arrays.items()}
    for name in names:
        if name in lower:
            return lower[name]
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    fitting = [a for a in arrays.values() if (a.ndim == 3 and 3 in (a.shape[0], a.shape[-1])) == (what == "normals")]
    if len(fitting) != 1:
        raise InputError(
            f"{path}: no array named {names[0]!r} among {', '.join(sorted(arrays))}; rename the {what} to {names[0]!r}"
        )
    return fitting[0]


def decode_normals(path: Path, array: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, int, list[str]]:
    """Normals (H, W, 3), mask from alpha or None, bits per value, notes.

    Unsigned integers become 2·value/max − 1 in float64, with NaN where black, white or mid-grey says "no
    normal". Floating-point values stay as they are, unless they lie in [0, 1] and only 2·value − 1 makes unit
    vectors of them.
    """
    notes: list[str] = []
    image = _last_axis(path, array, notes)
    bits = image.dtype.itemsize * 8
    if image.dtype.kind == "u" and bits <= 16:
        normals, alpha = _from_integers(image, bits, notes)
    elif image.dtype.kind == "f":
        image = image.astype(np.float32) if bits < 32 else image
        normals, alpha = _from_floats(image, notes)
    else:
        raise InputError(f"{path}: values of type {image.dtype} are not understood; save uint8, uint16 or float")
    if alpha is not None and (alpha == alpha.flat[0]).all():
        if not alpha.flat[0] > 0:
            notes.append("mask: the alpha channel is empty and was ignored")
        alpha = None
    with np.errstate(over="ignore", invalid="ignore"):
        length = np.linalg.norm(normals[:: max(1, len(normals) // 256)], axis=-1)
    length = length[np.isfinite(length) & (length > 0)]
    if length.size and abs(np.median(length) - 1) > 0.1:
        notes.append(f"normals: typical length {np.median(length):.3g} instead of 1; they are rescaled")
    return normals, None if alpha is None else alpha > 0.5, bits, notes


def _last_axis(path: Path, array: np.ndarray, notes: list[str]) -> np.ndarray:
    """The image with its channels last."""
    shape = array.shape
    if array.ndim == 4 and shape[0] == 1:
        array = array[0]
        notes.append(f"normals: shape {shape}, the leading 1 was dropped")
    if array.ndim == 3 and array.shape[-1] not in (3, 4) and array.shape[0] in (3, 4):
        notes.append(f"normals: shape {shape}, read as channels first")
        array = np.moveaxis(array, 0, -1)
    if array.ndim != 3 or array.shape[-1] not in (3, 4):
        kind = "one channel (grey)" if array.ndim == 2 else f"shape {shape}"
        raise InputError(f"{path}: {kind} where a normal map has x, y, z in three channels; is it another image?")
    return np.ascontiguousarray(array)


def _from_integers(image: np.ndarray, bits: int, notes: list[str]) -> tuple[np.ndarray, np.ndarray | None]:
    top = 2**bits - 1
    normals = image[..., :3] * (2.0 / top)
    normals -= 1
    squared = np.einsum("...i,...i", normals, normals)
    blank = (squared < _LENGTHS[0] ** 2) | (squared > _LENGTHS[1] ** 2)
    alpha = image[..., 3] / top if image.shape[2] == 4 else None
    if blank.any():
        normals[blank] = np.nan
        notes.append(f"normals: {blank.sum()} pixels are black, white or mid-grey and have no normal")
    if bits == 8:
        notes.append("normals: 8 bits a value, steps of 0.45°; 16 bits or floating point give smoother surfaces")
    return normals, alpha


def _from_floats(image: np.ndarray, notes: list[str]) -> tuple[np.ndarray, np.ndarray | None]:
    normals = image[..., :3]
    alpha = image[..., 3] if image.shape[2] == 4 else None
    finite = normals[np.isfinite(normals).all(axis=-1) & (normals != 0).any(axis=-1)]
    if finite.size and finite.min() >= 0 and finite.max() <= 1:
        as_is, decoded = (np.abs(np.linalg.norm(v, axis=-1) - 1).mean() for v in (finite, 2 * finite - 1))
        if decoded < as_is:
            notes.append("normals: all values lie in [0, 1], read as (n + 1)/2")
            black = ~(normals != 0).any(axis=-1)
            normals = 2 * normals - 1
            normals[black] = 0
    return normals, alpha


def decode_mask(path: Path, array: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """(H, W) bool: brighter than half of the brightest value, in any colour channel."""
    image = np.squeeze(array) if array.ndim > 3 or (array.ndim == 3 and array.shape[-1] == 1) else array
    if image.ndim == 3 and image.shape[2] in (2, 4):
        colour, alpha = image[..., :-1], image[..., -1]
        # A transparent background counts only where the colours say nothing.
        image = alpha if (colour == colour[0, 0]).all() and (alpha != alpha[0, 0]).any() else colour
    if image.ndim == 3:
        image = image.max(axis=-1)
    if image.shape != tuple(shape):
        raise InputError(f"{path}: the mask is {_size(image)} but the normals are {_size(shape)}; sizes must agree")
    if image.dtype == bool:
        mask = image
    else:
        values = np.nan_to_num(image.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
        mask = values > values.max() / 2 if values.max() > 0 else np.zeros(shape, dtype=bool)
    if not mask.any():
        raise InputError(f"{path}: the mask selects no pixel; it must be bright where normals are valid")
    return mask


def _size(image: np.ndarray | tuple[int, ...]) -> str:
    shape = image if isinstance(image, tuple) else image.shape
    return "×".join(str(n) for n in shape[::-1]) + (" (width×height)" if len(shape) == 2 else "")
