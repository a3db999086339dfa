"""Read a normal map, its mask and its camera from a file or a folder that a user names.

The layouts of folders are those of `quotientgraph.io.folders`. A file may carry its own mask (an alpha channel) or
hold arrays named ``mask`` and ``K`` beside the normals. Everything that was inferred is noted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ..geometry.camera import Camera, as_camera
from .camera_files import intrinsics, read_camera
from .decode import decode_mask, decode_normals, pick
from .depth_files import DEPTH_NAMES
from .folders import InputFiles, find_input_files
from .formats import InputError, read_arrays

_NORMALS = ("normals", "normal", "normal_map", "normalmap", "normal_gt", "n", "arr_0", "")


@dataclass(frozen=True)
class NormalInput:
    """A normal map as it was found.

    Attributes
    ----------
    path : Path
        What the user named.
    normals : (H, W, 3) float32 or float64
        In the frame of the file; NaN where it has none.
    mask : (H, W) bool or None
    camera : Camera or None
        None when nothing states it; then an orthographic camera is meant.
    bits : int
        Per value in the file: 8 or 16 for integers, 32 or 64 for floating point.
    notes : tuple of str
        What was inferred, for people to check.
    truth : Path or None
        A file with the true depth, if the folder has one.
    """

    path: Path
    normals: np.ndarray = field(repr=False)
    mask: np.ndarray | None = field(repr=False)
    camera: Camera | None
    bits: int
    notes: tuple[str, ...]
    truth: Path | None = None

    def read_truth(self) -> np.ndarray | None:
        """The true depth, (H, W) float64 with NaN outside, or None; read when asked for."""
        if self.truth is None:
            return None
        depth = pick(self.truth, read_arrays(self.truth), DEPTH_NAMES, "depth")
        if depth.shape != self.normals.shape[:2]:
            raise InputError(f"{self.truth}: its shape {depth.shape} is not the normals' {self.normals.shape[:2]}")
        return depth.astype(np.float64)


def read_normals(
    path: Path | str,
    mask: Path | str | ArrayLike | None = None,
    camera: Camera | Path | str | ArrayLike | None = None,
) -> NormalInput:
    """Read a normal map from a file or a folder.

    Parameters
    ----------
    path : path
        A file of any readable suffix, or a folder in a known layout.
    mask : path or (H, W) array, optional
        Instead of what the input brings along.
    camera : Camera, path or 3×3 matrix, optional
        Instead of what the input brings along; see `read_camera` for files.
    """
    path = Path(path)
    notes: list[str] = []
    found = InputFiles(path)
    if path.is_dir():
        found = find_input_files(path)
        notes.append(f"folder: {', '.join(found.names)}")
    file = found.normals
    arrays = read_arrays(file)
    normals, alpha, bits, more = decode_normals(file, pick(file, arrays, _NORMALS, "normals"))
    notes += more
    shape = normals.shape[:2]

    beside = {name.lower(): array for name, array in arrays.items()} if len(arrays) > 1 else {}
    chosen = _mask_of(mask, shape, file, found.mask, beside.get("mask"), alpha, notes)
    view = _camera_of(camera, shape, file, found.camera, beside.get("k"), notes)
    return NormalInput(path, normals, chosen, view, bits, tuple(notes), found.truth)


def _mask_of(given, shape, file, beside, inner, alpha, notes) -> np.ndarray | None:
    """The mask, from the most explicit source that there is."""
    if isinstance(given, str | Path):
        beside, given = Path(given), None
    elif given is not None:
        return decode_mask(file, np.asarray(given), shape)
    if beside is not None:
        return decode_mask(beside, pick(beside, read_arrays(beside), ("mask", "arr_0", ""), "mask"), shape)
    if inner is not None:
        notes.append(f"mask: array 'mask' of {file.name}")
        return decode_mask(file, inner, shape)
    if alpha is not None:
        notes.append(f"mask: alpha channel of {file.name}, {alpha.mean():.0%} of the image")
    return alpha


def _camera_of(given, shape, file, beside, inner, notes) -> Camera | None:
    if isinstance(given, str | Path):
        beside, given = Path(given), None
    if given is not None:
        return as_camera(given)
    if beside is not None:
        view, more = read_camera(beside, shape)
    elif inner is not None:
        k, more = intrinsics(np.asarray(inner, dtype=np.float64), shape, file)
        view = as_camera(k)
        more.insert(0, f"camera: array 'K' of {file.name}")
    else:
        notes.append("camera: none was found, orthographic is assumed")
        return None
    notes += more
    return view
