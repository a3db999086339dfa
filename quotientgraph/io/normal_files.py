"""Read a normal map, its mask and its camera from a file or a folder that a user names.

The layouts of folders, and the files that may stand beside a normal map, are those of `quotientgraph.io.folders`. A file
may carry its own mask (an alpha channel) or hold arrays named ``mask`` and ``K`` beside the normals. Everything that was
inferred is noted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ..geometry.camera import Camera, as_camera
from .camera_files import intrinsics, read_camera
from .conventions import frame_axes
from .decode import about_lengths, decode_mask, decode_normals, pick
from .depth_files import DEPTH_NAMES
from .folders import InputFiles, find_files_beside, find_input_files
from .formats import InputError, read_arrays
from .orientation import about_normals, like_the_map, stated_orientation

_NORMALS = ("normals", "normal", "normal_map", "normalmap", "normal_gt", "n", "arr_0", "")
_MASKS = ("mask", "arr_0", "")


@dataclass(frozen=True, eq=False)
class NormalInput:
    """A normal map as it was found.

    Attributes
    ----------
    path : Path or None
        What the user named; None for an array.
    normals : (H, W, 3) float32 or float64
        In the frame of the file; NaN where it has none.
    mask : (H, W) bool or None
    camera : Camera or None
        None when nothing states it; then an orthographic camera is meant.
    dtype : str
        Type of the values in the file, such as "uint8", "uint16" or "float16".
    notes : tuple of str
        What was inferred, for people to check.
    warnings : tuple of str
        What is probably a mistake, and was corrected.
    truth : Path or None
        A file with the true depth, if the folder has one.
    mask_from, camera_from : str
        Where they come from, in a few words; empty if there is none.
    usual_frame : str or None
        The frame that maps in this layout of files have by convention.
    """

    path: Path | None
    normals: np.ndarray = field(repr=False)
    mask: np.ndarray | None = field(repr=False)
    camera: Camera | None
    dtype: str
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    truth: Path | None = None
    mask_from: str = ""
    camera_from: str = ""
    usual_frame: str | None = None

    @property
    def bits(self) -> int:
        """Bits per value in the file."""
        return np.dtype(self.dtype).itemsize * 8

    @property
    def precision(self) -> str:
        """The type of the values in words, such as "16-bit floats"."""
        return f"{self.bits}-bit {'floats' if self.dtype.startswith('float') else 'integers'}"

    def about_lengths(self, mask: np.ndarray | None) -> list[str]:
        """A warning about an image of which few vectors have the length of a normal: it may be a photograph.

        `mask` (H, W) says which pixels are used, if it is known; a background has any colours.
        """
        return about_lengths(self.normals, self.dtype, mask)

    def read_truth(self) -> np.ndarray | None:
        """The true depth, (H, W) float64 with NaN outside, or None. It is read when this is called."""
        if self.truth is None:
            return None
        depth = pick(self.truth, read_arrays(self.truth), DEPTH_NAMES, "depth")
        if depth.shape != self.normals.shape[:2]:
            raise InputError(f"{self.truth}: its shape {depth.shape} is not the normals' {self.normals.shape[:2]}")
        return depth.astype(np.float64)


def read_normals(
    path: Path | str,
    mask: Path | str | ArrayLike | bool | None = None,
    camera: Camera | Path | str | ArrayLike | None = None,
    *,
    beside: bool = True,
    frame: str | None = None,
) -> NormalInput:
    """Read a normal map from a file or a folder.

    Parameters
    ----------
    path : path
        A file of any readable suffix, or a folder in a known layout.
    mask : path, (H, W) array or False, optional
        Instead of what comes with the input; False uses no mask at all.
    camera : Camera, path or 3×3 matrix, optional
        Instead of what comes with the input; see `read_camera` for files.
    beside : bool
        Whether ``K.txt`` and ``mask.png`` beside the normal map are used.
    frame : str, optional
        The frame that is stated; decides the sign of z in a map that has only x and y.
    """
    if str(path) == "":
        raise InputError("normals: the path is empty; pass that of a file or folder ('.' is the current folder)")
    path = Path(path)
    notes: list[str] = []
    if path.is_dir():
        found = find_input_files(path)
        notes.append(f"folder: {', '.join(found.names)}")
    else:
        found = find_files_beside(path)
    if not beside:
        found = InputFiles(found.normals, truth=found.truth)
    file = found.normals
    arrays = read_arrays(file)
    forward = frame is not None and frame != "auto" and bool(frame_axes(frame)[2, 2] > 0)
    decoded = decode_normals(file, pick(file, arrays, _NORMALS, "normals"), z_forward=forward)
    notes += decoded.notes
    shape = (decoded.normals.shape[0], decoded.normals.shape[1])

    inside = {name.lower(): array for name, array in arrays.items()} if len(arrays) > 1 else {}
    chosen, mask_from, about_mask = _mask(mask, shape, file, found.mask, inside.get("mask"), decoded.alpha)
    view, camera_from, more = _camera(camera, shape, file, found.camera, inside.get("k"))
    more += about_mask
    warnings = [*about_normals(stated_orientation(file), file.name), *decoded.warnings]
    # A lens that is not modelled, or a principal point outside the image, is probably a mistake.
    warnings += (text for text in more if "not applied" in text or "far from" in text)
    notes += (text for text in more if text not in warnings)
    if mask_from and chosen is not None:
        notes.append(f"mask: {mask_from}, {chosen.mean():.0%} of the image")
    elif found.unused_mask is not None and mask is None:
        notes.append(
            f"mask: {found.unused_mask.name} beside the map was not used; pass it as the mask if it belongs to it"
        )
    usual = "opengl" if found.is_dataset else None
    return NormalInput(
        path,
        decoded.normals,
        chosen,
        view,
        decoded.dtype,
        tuple(notes),
        tuple(warnings),
        found.truth,
        mask_from,
        camera_from,
        usual,
    )


def _mask(
    given: Path | str | ArrayLike | bool | None,
    shape: tuple[int, int],
    file: Path,
    beside: Path | None,
    inside: np.ndarray | None,
    alpha: np.ndarray | None,
) -> tuple[np.ndarray | None, str, list[str]]:
    """The mask from the most explicit source that there is, the name of that source, and what is to be said of it."""
    if given is False:
        return None, "", []
    if isinstance(given, str | Path):
        beside, given = Path(given), None
    elif given is not None:
        return decode_mask(file, np.asarray(given), shape), "given", []
    if beside is not None:
        image = pick(beside, read_arrays(beside), _MASKS, "mask")
        image, *texts = like_the_map(image, stated_orientation(beside), shape, beside.name)
        return decode_mask(beside, image, shape), beside.name, [text for text in texts if text]
    if inside is not None:
        return decode_mask(file, inside, shape), f"array 'mask' of {file.name}", []
    return alpha, "" if alpha is None else f"alpha channel of {file.name}", []


def _camera(
    given: Camera | Path | str | ArrayLike | None,
    shape: tuple[int, int],
    file: Path,
    beside: Path | None,
    inside: np.ndarray | None,
) -> tuple[Camera | None, str, list[str]]:
    """The camera, where it comes from, and notes."""
    if isinstance(given, str | Path):
        beside, given = Path(given), None
    if given is not None:
        return as_camera(given), "given", []
    if beside is not None:
        view, notes = read_camera(beside, shape)
        return view, beside.name, notes
    if inside is not None:
        k, notes = intrinsics(np.asarray(inside, dtype=np.float64), shape, file)
        return as_camera(k), f"array 'K' of {file.name}", [f"camera: array 'K' of {file.name}", *notes]
    return None, "", ["camera: none was found, orthographic is assumed"]
