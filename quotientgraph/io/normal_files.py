"""What a user names, understood: a normal map file or a folder becomes normals, mask and camera.

Folders may be in the layout of BiNI (``normal_map.png``, ``mask.png``, ``K.txt``), of DiLiGenT
(``Normal_gt.mat`` or ``Normal_gt.png``, ``mask.png``) or of our scenes (``normals.npz``, ``mask.png``,
``K.txt``). A file may bring its own mask: an alpha channel, or arrays named ``mask`` and ``K`` beside the
normals. Everything that was inferred is noted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ..geometry.camera import Camera, as_camera
from .camera_files import intrinsics, read_camera
from .decode import decode_mask, decode_normals, pick
from .formats import InputError, read_arrays, readable

_STEMS = ("normal_map", "normals", "normal_gt", "normal", "normalmap", "n")
_NORMALS = ("normals", "normal", "normal_map", "normalmap", "normal_gt", "n", "arr_0", "")
_DEPTHS = ("depth_gt", "depth", "z", "arr_0", "")
_MASKS, _CAMERAS, _TRUTH = ("mask",), ("K", "k", "intrinsics", "camera"), ("depth_gt",)


@dataclass(frozen=True, eq=False)
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
        depth = pick(self.truth, read_arrays(self.truth), _DEPTHS, "depth")
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
    found: dict[str, Path] = {}
    file = path
    if path.is_dir():
        file, found = _look_into(path)
        notes.append(f"folder: {', '.join(sorted([file.name, *(p.name for p in found.values())]))}")
    arrays = read_arrays(file)
    normals, alpha, bits, more = decode_normals(file, pick(file, arrays, _NORMALS, "normals"))
    notes += more
    shape = normals.shape[:2]

    beside = {name.lower(): array for name, array in arrays.items()} if len(arrays) > 1 else {}
    chosen = _mask_of(mask, shape, file, found.get("mask"), beside.get("mask"), alpha, notes)
    view = _camera_of(camera, shape, file, found.get("camera"), beside.get("k"), notes)
    return NormalInput(path, normals, chosen, view, bits, tuple(notes), found.get("truth"))


def read_depth(path: Path | str, *, relative: bool = False) -> np.ndarray:
    """(H, W) float64 depth from a file, NaN where there is none.

    Integers become depth by the offset and scale in the sidecar that `write_depth` makes. With `relative` they may do
    without: they are depths in a unit of their own, 0 where there is none, which is how depth cameras write PNG.
    """
    from .depth_files import apply_sidecar, sidecar

    path = Path(path)
    depth = pick(path, read_arrays(path), _DEPTHS, "depth")
    if depth.ndim != 2:
        raise InputError(f"{path}: a depth map has one value a pixel, got shape {depth.shape}")
    if depth.dtype.kind not in "ui":
        return depth.astype(np.float64)
    if relative and not sidecar(path).exists():
        return np.where(depth == 0, np.nan, depth.astype(np.float64))
    return apply_sidecar(path, depth)


def _look_into(folder: Path) -> tuple[Path, dict[str, Path]]:
    try:
        files = {p.name.lower(): p for p in sorted(folder.iterdir()) if p.is_file()}
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror})") from None
    # Floating-point files before rounded ones where a folder has both.
    suffixes = sorted(readable(), key=lambda suffix: (suffix == ".png", suffix))

    def first(stems: tuple[str, ...], endings: list[str]) -> Path | None:
        return next((files[s + e] for s in map(str.lower, stems) for e in endings if s + e in files), None)

    normals = first(_STEMS, suffixes)
    if normals is None:
        raise InputError(
            f"{folder}: no normal map in this folder; expected normal_map.png, normals.npz or Normal_gt.mat"
        )
    others = {
        "mask": first(_MASKS, suffixes),
        "camera": first(_CAMERAS, [".txt", ".json", ".npy"]),
        "truth": first(_TRUTH, suffixes),
    }
    return normals, {kind: p for kind, p in others.items() if p is not None}


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
