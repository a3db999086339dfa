"""Read cameras from files: intrinsics as text, JSON or an array, and ray maps.

Intrinsics are 3×3, or the four numbers fx fy cx cy. Two layouts besides OpenCV's are recognised and reported:
the row-first order of old BiNI files, [[fy, 0, cy], [0, fx, cx], [0, 0, 1]], by its principal point when the
image is not square; and a transposed matrix. DSINE puts the principal point at (W − 1)/2, others at W/2; the
half pixel is kept as it stands in the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..geometry.camera import Camera, Pinhole, RayMap, Shape
from .formats import InputError, check_file, read_arrays

_REMEDY = "write the 3×3 matrix K, or fx fy cx cy"
_NAMES = ("k", "camera_matrix", "intrinsics", "intrinsic_matrix", "cam_k", "matrix")


def read_camera(path: Path | str, shape: Shape) -> tuple[Camera, list[str]]:
    """The camera stored in a file, for an image of `shape`, and notes on what was understood.

    An (H, W, 3) array in ``.npy``, ``.npz``, ``.exr`` … is a `RayMap`; everything else is intrinsics.
    """
    path = Path(path)
    if path.suffix.lower() in (".txt", ".json", ".csv", ".dat", ""):
        values = _from_text(path)
    else:
        arrays = read_arrays(path)
        found = _named(arrays) if len(arrays) > 1 else next(iter(arrays.values()))
        if found is None:
            raise InputError(f"{path}: no array named K among {', '.join(arrays)}; {_REMEDY}")
        values = found
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == 3:
        if values.shape != (*shape, 3):
            raise InputError(f"{path}: a ray map of {values.shape} does not fit an image of {tuple(shape)}")
        return _named_errors(path, lambda: RayMap(values)), [f"camera: ray map from {path.name}"]
    matrix, notes = intrinsics(values, shape, path)
    return _named_errors(path, lambda: Pinhole.from_matrix(matrix)), notes


def intrinsics(values: np.ndarray, shape: Shape, path: Path) -> tuple[np.ndarray, list[str]]:
    """The 3×3 matrix in OpenCV order from 9 or 4 numbers, and notes on what had to be changed."""
    if values.size not in (4, 9) or values.shape == (2, 2):
        raise InputError(f"{path}: it holds {values.size} numbers where a camera has 9 or 4; {_REMEDY}")
    if not np.isfinite(values).all():
        raise InputError(f"{path}: it holds a number that is not finite; {_REMEDY}")
    notes = []
    if values.size == 4:
        fx, fy, cx, cy = values.ravel()
        k = np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1.0]])
    else:
        k = values.reshape(3, 3)
    if not k[:2, 2].any() and k[2, :2].any():
        k = k.T
        notes.append(f"camera: {path.name} was transposed, the principal point stood in its last row")
    order = k_order(k, shape)
    if order == "row-first":
        k = k[[1, 0, 2]][:, [1, 0, 2]]
        notes.append(
            f"camera: {path.name} is in row-first order (fy, fx, cy, cx), read as cx={k[0, 2]:g}, cy={k[1, 2]:g}"
        )
    elif order == "unclear":
        notes.append(f"camera: the principal point ({k[0, 2]:g}, {k[1, 2]:g}) is far from the middle of the image")
    return k, notes


def k_order(matrix: np.ndarray, shape: Shape) -> str:
    """``"opencv"``, ``"row-first"`` or ``"unclear"``, by where the principal point falls.

    >>> k_order(np.array([[500, 0, 239.5], [0, 500, 319.5], [0, 0, 1]]), (480, 640))
    'row-first'
    """
    height, width = shape
    c = matrix[:2, 2] / matrix[2, 2] if matrix[2, 2] else matrix[:2, 2]
    as_opencv = np.abs(c / (width, height) - 0.5).max()
    as_rows = np.abs(c / (height, width) - 0.5).max()
    if as_rows < 0.1 and as_rows < 0.5 * as_opencv and abs(height - width) > 0.02 * max(shape):
        return "row-first"
    return "opencv" if as_opencv < 0.25 else "unclear"


def _from_text(path: Path) -> np.ndarray:
    check_file(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".json":
            return _from_json(path, json.loads(text))
        lines = [line.split("#")[0] for line in text.splitlines()]
        words = " ".join(lines).translate(str.maketrans("[](){},;", " " * 8)).split()
        return np.array([float(word) for word in words])
    except InputError:
        raise
    except (ValueError, RecursionError, OSError) as error:
        reason = str(error).splitlines()[0][:80] if str(error) else type(error).__name__
        raise InputError(f"{path}: not a camera file ({reason}); {_REMEDY}") from None


def _from_json(path: Path, data: Any) -> np.ndarray:
    if isinstance(data, dict):
        lower = {str(key).lower(): value for key, value in data.items()}
        if all(name in lower for name in ("fx", "fy", "cx", "cy")):
            data = [lower[name] for name in ("fx", "fy", "cx", "cy")]
        else:
            data = next((lower[name] for name in _NAMES if name in lower), None)
            if isinstance(data, dict):
                return _from_json(path, data)
    if not isinstance(data, list):
        raise InputError(f"{path}: neither 'K' nor 'fx', 'fy', 'cx', 'cy' is in it; {_REMEDY}")
    try:
        return np.array(data, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{path}: its matrix is not made of numbers in equal rows; {_REMEDY}") from None


def _named(arrays: dict[str, np.ndarray]) -> np.ndarray | None:
    lower = {name.lower(): array for name, array in arrays.items()}
    return next((lower[name] for name in (*_NAMES, "rays") if name in lower), None)


def _named_errors(path: Path, make: Any) -> Camera:
    try:
        return make()
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
