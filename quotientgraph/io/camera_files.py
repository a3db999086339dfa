"""Read cameras from files: intrinsics as text, JSON, YAML or an array, and ray maps.

Intrinsics are 3×3, or the four numbers fx fy cx cy. YAML files of OpenCV, ROS and Kalibr are understood. If the file
states the size of its image, and the normal map is the same image at another size, the intrinsics are scaled.

Two layouts besides OpenCV's are recognised and reported:
the row-first order of old BiNI files, [[fy, 0, cy], [0, fx, cx], [0, 0, 1]], by its principal point when the
image is not square; and a transposed matrix. DSINE puts the principal point at (W − 1)/2, others at W/2; the
half pixel is kept as it stands in the file.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from ..geometry.camera import Camera, Pinhole, RayMap, Shape
from .formats import InputError, check_file, read_arrays, readable

TEXT_SUFFIXES = (".txt", ".json", ".yaml", ".yml", ".csv", ".dat", "")
_PICTURES = {".bmp", ".jpeg", ".jpg", ".png", ".webp"}  # they hold neither a matrix nor rays
_REMEDY = "write the 3×3 matrix K, or fx fy cx cy"
_NAMES = ("k", "camera_matrix", "intrinsics", "intrinsic_matrix", "cam_k", "matrix")


def read_camera(path: Path | str, shape: Shape) -> tuple[Camera, list[str]]:
    """The camera stored in a file, for an image of `shape`, and notes on what was understood.

    An (H, W, 3) array in ``.npy``, ``.npz``, ``.exr`` … is a `RayMap`; everything else is intrinsics.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    size: tuple[float, float] | None = None
    notes: list[str] = []
    if suffix in TEXT_SUFFIXES:
        values, size, notes = _from_text(path)
    elif suffix not in (arrays_in := set(readable()) - _PICTURES):
        known = " ".join(sorted({*TEXT_SUFFIXES, *arrays_in} - {""}))
        raise InputError(f"{path}: the suffix {path.suffix!r} is not known for a camera; use one of {known}")
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
    values, scaled = _scaled(path, values, size, shape)
    matrix, more = intrinsics(values, shape, path)
    notes += [*scaled, *more]
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
    return k, [*notes, *far_from_the_middle(k, shape)]


def far_from_the_middle(k: np.ndarray, shape: Shape) -> list[str]:
    """A sentence if the principal point is far from the middle of the image, with what that suggests and the remedy."""
    if k_order(k, shape) != "unclear":
        return []
    height, width = shape
    return [
        f"camera: the principal point ({k[0, 2]:g}, {k[1, 2]:g}) is far from the middle of the image of "
        f"{width}×{height}{_why_far(k, shape)}"
    ]


def _why_far(k: np.ndarray, shape: Shape) -> str:
    height, width = shape
    if np.abs(k[:2, 2] - 0.5).max() < 0.25 and k[0, 0] < 20:
        return "; K is in parts of the image, so multiply its first row by the width and its second row by the height"
    factor = (k[:2, 2] / k[2, 2] if k[2, 2] else k[:2, 2]) / (width / 2, height / 2)
    if factor.min() > 0 and abs(factor[0] / factor[1] - 1) < 0.1:
        return (
            f"; K is probably for an image {factor.mean():.3g} times as large, so divide its first two rows by that; "
            "if the image was cropped, it may be right"
        )
    return "; unless the image was cropped, K belongs to another one"


def k_order(matrix: np.ndarray, shape: Shape) -> str:
    """``"opencv"``, ``"row-first"`` or ``"unclear"``, by where the principal point falls.

    >>> k_order(np.array([[500, 0, 239.5], [0, 500, 319.5], [0, 0, 1]]), (480, 640))
    'row-first'
    """
    height, width = shape
    c = matrix[:2, 2] / matrix[2, 2] if matrix[2, 2] else matrix[:2, 2]
    as_opencv = np.abs((c + 0.5) / (width, height) - 0.5).max()  # the middle of n pixels is (n − 1)/2
    as_rows = np.abs((c + 0.5) / (height, width) - 0.5).max()
    if as_rows < 0.1 and as_rows < 0.5 * as_opencv and abs(height - width) > 0.02 * max(shape):
        return "row-first"
    return "opencv" if as_opencv < 0.25 else "unclear"


def _scaled(
    path: Path, values: np.ndarray, size: tuple[float, float] | None, shape: Shape
) -> tuple[np.ndarray, list[str]]:
    """Intrinsics for the size of the normal map, from those for the size that the file states."""
    if size is None or values.size not in (4, 9) or tuple(size) == (shape[1], shape[0]):
        return values, []
    width, height = size
    if not (width > 0 and height > 0) or abs(shape[1] / width / (shape[0] / height) - 1) > 0.01:
        raise InputError(
            f"{path}: the camera is for an image of {width:g}×{height:g}, the normals are {shape[1]}×{shape[0]}; "
            "calibrate for this image, or remove the size from the file if it was cropped"
        )
    factor = shape[1] / width
    k = (
        values.reshape(3, 3)
        if values.size == 9
        else np.array([[values.flat[0], 0, values.flat[2]], [0, values.flat[1], values.flat[3]], [0, 0, 1.0]])
    )
    k = np.array(k, dtype=np.float64)
    k[:2, :2] *= factor
    k[:2, 2] = (k[:2, 2] + 0.5) * factor - 0.5
    return k, [f"camera: {path.name} is for {width:g}×{height:g} pixels and was scaled by {factor:.4g}"]


def _from_text(path: Path) -> tuple[np.ndarray, tuple[float, float] | None, list[str]]:
    """The numbers of a camera, the size of its image if the file states one, and notes."""
    check_file(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".json":
            data = json.loads(text)
            return _from_json(path, data), _json_size(data), []
        if path.suffix.lower() in (".yaml", ".yml"):
            return _from_yaml(path, text)
        lines = [line.split("#")[0] for line in text.splitlines()]
        words = " ".join(lines).translate(str.maketrans("[](){},;", " " * 8)).split()
        return np.array([float(word) for word in words]), None, []
    except InputError:
        raise
    except (ValueError, RecursionError, OSError) as error:
        reason = str(error).splitlines()[0][:80] if str(error) else type(error).__name__
        raise InputError(f"{path}: not a camera file ({reason}); {_REMEDY}") from None


def _from_yaml(path: Path, text: str) -> tuple[np.ndarray, tuple[float, float] | None, list[str]]:
    """The camera of an OpenCV, ROS or Kalibr file, found by the names of its keys."""
    number = r"[-+.0-9eE]+"
    values = None
    for name in _NAMES:
        found = re.search(rf"^[ ]*{name}[ ]*:(?P<rest>.*(?:\n(?![^\s#-]).*)*)", text, re.M | re.I)
        listed = None if found is None else re.search(r"\[([^\[\]]*)\]", found["rest"].replace("\n", " "))
        if found is not None:
            rows = re.findall(r"\[([^\[\]]*)\]", found["rest"])
            words = re.findall(number, " ".join(rows) if len(rows) == 3 else listed[1] if listed else "")
            if len(words) in (4, 9):
                values = np.array([float(word) for word in words])
                break
    singles = {key: re.search(rf"^[ ]*{key}[ ]*:[ ]*({number})", text, re.M | re.I) for key in ("fx", "fy", "cx", "cy")}
    if values is None and all(singles.values()):
        values = np.array([float(found[1]) for found in singles.values() if found])
    if values is None:
        raise InputError(f"{path}: neither camera_matrix, K nor fx, fy, cx, cy with their numbers is in it; {_REMEDY}")
    sides = [re.search(rf"^[ ]*(?:image_)?{side}[ ]*:[ ]*(\d+)", text, re.M | re.I) for side in ("width", "height")]
    both = re.search(r"^[ ]*resolution[ ]*:[ ]*\[\s*(\d+)\s*,\s*(\d+)", text, re.M)
    size = (float(sides[0][1]), float(sides[1][1])) if sides[0] and sides[1] else None
    size = (float(both[1]), float(both[2])) if both else size
    notes = []
    distortion = re.search(
        r"^[ ]*(?:distortion_coefficients|distortion_coeffs|D)[ ]*:(?:[^\[]*)\[([^\]]*)\]", text, re.M
    )
    if distortion and any(abs(float(word)) > 1e-12 for word in re.findall(number, distortion[1])):
        notes.append(
            f"camera: {path.name} has lens distortion, which is not applied; undistort the normals, or pass rays"
        )
    return values, size, notes


def _json_size(data: Any) -> tuple[float, float] | None:
    """The size of the image in a JSON camera, under the usual names."""
    if not isinstance(data, dict):
        return None
    lower = {str(key).lower(): value for key, value in data.items()}
    sides = [
        next((lower[key] for key in keys if key in lower), None)
        for keys in (("width", "image_width", "w"), ("height", "image_height", "h"))
    ]
    if all(isinstance(side, int | float) and not isinstance(side, bool) for side in sides):
        return float(sides[0]), float(sides[1])  # type: ignore[arg-type]
    return None


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
