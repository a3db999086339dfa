"""From the numbers in a file or an array to normals and masks.

Never a gamma curve: normal maps are not photographs. What had to be inferred is a note; what is probably a mistake of the
user, and was corrected, is a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .formats import InputError

_LENGTHS = (0.1, 1.6)  # a decoded vector of another length is black, white or mid-grey paint and not a normal
_LOSSY = (".jpg", ".jpeg", ".webp")
_BLOCK, _SMEARED = 8, 0.15  # lossy compression smears an outline over a block of pixels; lengths there are off by more
_LARGE = 2**24  # pixels from which on decoded integers are float32: 600 MB less at this size, exact to 1e-7
_FEW_UNIT = 1 / 3  # share of lengths within a tenth of 1; at most a quarter in photographs, nearly all in normal maps


@dataclass(frozen=True)
class Decoded:
    """Normals as they were understood.

    Attributes
    ----------
    normals : (H, W, 3) float32 or float64
    alpha : (H, W) bool or None
        The mask in a fourth channel.
    dtype : str
        Type of the values before decoding, such as "uint8" or "float16".
    notes, warnings : list of str
    """

    normals: np.ndarray = field(repr=False)
    alpha: np.ndarray | None = field(repr=False)
    dtype: str
    notes: list[str]
    warnings: list[str]


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


def decode_normals(source: Path | str, array: np.ndarray, *, z_forward: bool = False) -> Decoded:
    """Understand an array as normals.

    Unsigned integers become 2·value/max − 1, with NaN where black, white or mid-grey means "no normal". Floating-point
    values stay as they are, unless they lie in [0, 1] or [0, 255] and only decoding makes unit vectors of them; that is
    a warning. Two channels are x and y; z is computed, negative if `z_forward` says that z points away from the viewer.

    Parameters
    ----------
    source : path or str
        What the array is called in messages.
    array : array
        (H, W, 2 to 4), or with the channels first, or with a leading 1.
    z_forward : bool
        Whether the z axis of the frame points forward, as in "opencv"; matters for two channels only.
    """
    notes: list[str] = []
    warnings: list[str] = []
    image = _channels_last(source, array, notes)
    dtype = str(image.dtype)
    if image.dtype.kind == "u" and image.dtype.itemsize <= 2:
        normals, alpha = _from_integers(image, notes)
        if Path(source).suffix.lower() in _LOSSY:
            _drop_smeared(normals, notes)
    elif image.dtype.kind == "f":
        if image.dtype not in (np.float32, np.float64):
            with np.errstate(over="ignore", invalid="ignore"):
                image = image.astype(np.float32 if image.dtype.itemsize < 4 else np.float64)
        normals, alpha = _from_floats(image, warnings)
    else:
        raise InputError(
            f"{source}: values of type {image.dtype} are not understood as normals; use uint8, uint16 or floats"
        )
    if normals.shape[2] == 2 or _third_is_unused(normals):
        notes.append(
            f"normals: {'two channels' if normals.shape[2] == 2 else 'the third channel is constant'}, "
            "read as x and y; z was computed from unit length"
        )
        normals = _with_z(normals[..., :2], z_forward)
    if alpha is not None and (alpha == alpha.flat[0]).all():
        if not alpha.flat[0] > 0:
            notes.append("mask: the alpha channel is empty and was ignored")
        alpha = None
    with np.errstate(over="ignore", invalid="ignore"):
        length = np.linalg.norm(normals[:: max(1, len(normals) // 256)], axis=-1)
    length = length[np.isfinite(length) & (length > 0)]
    if length.size and abs(np.median(length) - 1) > 0.1:
        notes.append(f"normals: typical length {np.median(length):.3g} instead of 1; they are rescaled")
    return Decoded(normals, None if alpha is None else alpha > 0.5, dtype, notes, warnings)


def _channels_last(source: Path | str, array: np.ndarray, notes: list[str]) -> np.ndarray:
    shape = array.shape
    if array.ndim == 4:
        if shape[0] != 1:
            raise InputError(
                f"{source}: shape {shape} is a batch of {shape[0]} normal maps; pass one of them at a time"
            )
        array = array[0]
        notes.append(f"normals: shape {shape}, the leading 1 was dropped")
    first, last = (array.shape[0], array.shape[-1]) if array.ndim == 3 else (0, 0)
    if last not in (3, 4) and (first in (3, 4) or (first == 2 and last != 2)):
        notes.append(f"normals: shape {shape}, read as channels first")
        array = np.moveaxis(array, 0, -1)
    if array.ndim == 3 and array.shape[-1] == 2 and Path(source).suffix.lower() in (".png", ".webp"):
        raise InputError(f"{source}: a grey picture with transparency has no x, y, z; is it another image?")
    if array.ndim != 3 or array.shape[-1] not in (2, 3, 4):
        kind = "one channel (grey)" if array.ndim == 2 else f"shape {shape}"
        raise InputError(f"{source}: {kind} where a normal map has x, y, z in three channels; is it another image?")
    if array.size == 0:
        raise InputError(f"{source}: the image is empty, shape {shape}")
    return np.ascontiguousarray(array)


def _from_integers(image: np.ndarray, notes: list[str]) -> tuple[np.ndarray, np.ndarray | None]:
    top = int(np.iinfo(image.dtype).max)
    n_channels = min(image.shape[2], 3)
    wide = np.float32 if image.shape[0] * image.shape[1] > _LARGE else np.float64
    normals = np.empty((*image.shape[:2], n_channels), wide)
    n_blank = 0
    step = max(1, 2**20 // image.shape[1])
    for row in range(0, len(image), step):  # in parts, so that a large map needs no second copy of itself
        part = normals[row : row + step]
        np.multiply(image[row : row + step, :, :n_channels], 2.0 / top, out=part)
        part -= 1
        blank = no_normal(part)
        part[blank] = np.nan
        n_blank += int(blank.sum())
    alpha = image[..., 3] / np.float32(top) if image.shape[2] == 4 else None
    if n_blank:
        notes.append(f"normals: {n_blank} pixels are black, white or mid-grey and have no normal")
    if top == 255:
        notes.append("normals: 8 bits per value, steps of 0.45°; 16 bits or floating point give smoother surfaces")
    return normals, alpha


def _drop_smeared(normals: np.ndarray, notes: list[str]) -> None:
    """Write NaN where lossy compression has mixed normals with the colour of a background beside them."""
    blank = np.isnan(normals[..., 0])
    if not blank.any() or normals.shape[2] < 3:
        return
    from scipy import ndimage

    near = ndimage.binary_dilation(blank, iterations=_BLOCK) & ~blank
    smeared = near & (np.abs(np.linalg.norm(normals, axis=-1) - 1) > _SMEARED)
    if smeared.any():
        normals[smeared] = np.nan
        notes.append(
            f"normals: {smeared.sum()} pixels beside the background are smeared by compression and were left out"
        )


def _from_floats(image: np.ndarray, warnings: list[str]) -> tuple[np.ndarray, np.ndarray | None]:
    normals = image[..., :3]
    alpha = image[..., 3] if image.shape[2] == 4 else None
    finite = normals[np.isfinite(normals).all(axis=-1) & (normals != 0).any(axis=-1)]
    if finite.size == 0 or finite.min() < 0 or normals.shape[2] == 2:
        return normals, alpha
    largest = float(finite.max())
    top = next((top for top in (1.0, 255.0, 65535.0) if largest <= top), 0.0)
    if top == 0:
        return normals, alpha
    as_is, decoded = (_share_of_unit(values) for values in (finite, finite * (2 / top) - 1))
    if not decoded > as_is:
        return normals, alpha
    black = ~(normals != 0).any(axis=-1)
    normals = normals * (2 / top) - 1
    normals[black | no_normal(normals)] = np.nan
    formula = "2*n - 1" if top == 1 else f"2*n/{top:g} - 1"
    warnings.append(
        f"normals: all values lie in [0, {top:g}], as in an image; they were decoded as {formula}, "
        "pass them so to be sure"
    )
    return normals, alpha


def _share_of_unit(vectors: np.ndarray) -> tuple[float, float]:
    """The share of vectors whose length is 1 to 2 %, whatever the background is painted in, and to 10 % for a tie."""
    with np.errstate(over="ignore"):
        distance = np.abs(np.linalg.norm(vectors[: 2**22], axis=-1) - 1)
    return float(np.mean(distance < 0.02)), float(np.mean(distance < 0.1))


def no_normal(vectors: np.ndarray) -> np.ndarray:
    """Whether decoded vectors (..., 2 or 3) are black, white or mid-grey paint and no normals."""
    squared = np.einsum("...i,...i", vectors, vectors)
    low = _LENGTHS[0] ** 2 if vectors.shape[-1] == 3 else -1.0  # x = y = 0 faces the viewer
    return (squared < low) | (squared > _LENGTHS[1] ** 2)


def _third_is_unused(normals: np.ndarray) -> bool:
    """Whether the third channel says nothing, as in textures that store x and y only."""
    seen = normals[:: max(1, len(normals) // 256)].reshape(-1, 3)
    seen = seen[np.isfinite(seen).all(axis=-1) & (seen != 0).any(axis=-1)]
    if (
        len(seen) < 16
        or (seen[:, 2] != seen[0, 2]).any()
        or (seen[:, :2] == seen[0, :2]).all()
        or np.abs(seen).max() > 2
    ):
        return False
    flat = np.einsum("ij,ij->i", seen[:, :2], seen[:, :2])
    length = np.sqrt(flat + seen[:, 2] ** 2)
    return bool(np.median(np.abs(length - 1)) > 0.03 and np.mean(flat <= 1.05) > 0.99)


def _with_z(xy: np.ndarray, z_forward: bool) -> np.ndarray:
    squared = np.einsum("...i,...i", xy, xy)
    z = np.sqrt(np.clip(1 - squared, 0, None)) * (-1 if z_forward else 1)
    z[squared > 1.2] = np.nan  # rounding and interpolation make vectors a little too long, but not this much
    return np.concatenate([xy, z[..., None].astype(xy.dtype)], axis=-1)


def about_lengths(normals: np.ndarray, dtype: str, mask: np.ndarray | None = None) -> list[str]:
    """A warning about decoded normals of which few have the length of a normal; see `NormalInput.about_lengths`."""
    if not dtype.startswith("uint"):
        return []
    step = max(1, len(normals) // 256)
    length = np.linalg.norm(normals[::step], axis=-1)
    # In the corner is background of one colour.
    seen = np.isfinite(length) & (length > 0) & (length != length[0, 0])
    length = length[seen if mask is None else seen & (mask[::step] != 0)]
    unit = np.mean(np.abs(length - 1) < 0.1) if length.size else 1.0
    if unit >= _FEW_UNIT:
        return []
    return [
        f"normals: only {unit:.0%} of the vectors have a length near 1, as normals have; check that this is a normal "
        "map and no photograph or other image"
    ]


def decode_mask(source: Path | str, array: np.ndarray, shape: tuple[int, int], what: str = "mask") -> np.ndarray:
    """(H, W) bool: brighter than half of the brightest value, in any colour channel."""
    image = (
        np.squeeze(array) if array.ndim > 3 or (array.ndim == 3 and 1 in (array.shape[0], array.shape[-1])) else array
    )
    if image.ndim == 3 and image.shape[2] in (2, 4):
        colour, alpha = image[..., :-1], image[..., -1]
        # A transparent background counts only where the colours say nothing.
        image = alpha if (colour == colour[0, 0]).all() and (alpha != alpha[0, 0]).any() else colour
    if image.ndim == 3:
        image = image.max(axis=-1)
    if image.size == shape[0] * shape[1] and array.ndim != 2 and 1 in shape:
        image = image.reshape(shape)
    if image.shape != tuple(shape):
        raise InputError(f"{source}: the {what} is {_size(image)} but the normals are {_size(shape)}; sizes must agree")
    if image.dtype == bool:
        mask = image
    elif image.dtype.kind not in "uif":
        raise InputError(f"{source}: a mask of type {image.dtype} is not understood; use bool or uint8")
    else:
        if image.dtype.kind == "f":
            image = np.nan_to_num(image.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
        mask = image > max(float(image.max()), 0.0) / 2
    if not mask.any():
        raise InputError(f"{source}: the mask selects no pixel; it must be bright where normals are valid")
    return mask


def _size(image: np.ndarray | tuple[int, ...]) -> str:
    shape = image if isinstance(image, tuple) else image.shape
    return "×".join(str(n) for n in shape[::-1]) + (" (width×height)" if len(shape) == 2 else "")
