"""Which files of a folder belong to one normal map, by their names.

Three layouts are known: BiNI (``normal_map.png``, ``mask.png``, ``K.txt``), DiLiGenT (``Normal_gt.mat`` or
``Normal_gt.png``, ``mask.png``) and the project's own scenes (``normals.npz``, ``mask.png``, ``K.txt``,
``depth_gt.npz``). Upper and lower case are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .formats import InputError, readable

# File names without suffix. The first that exists is taken.
NORMAL_STEMS = ("normal_map", "normals", "normal_gt", "normal", "normalmap", "n")
_MASK_STEMS = ("mask",)
_CAMERA_STEMS = ("k", "intrinsics", "camera")
_TRUTH_STEMS = ("depth_gt",)
_ROUNDED = ".png .webp .bmp .jpg .jpeg"  # the more precise ones first
_CAMERA_SUFFIXES = [".txt", ".json", ".yaml", ".yml", ".npy"]


@dataclass(frozen=True)
class InputFiles:
    """The files that make up one input; None where the folder has no such file."""

    normals: Path
    mask: Path | None = None
    camera: Path | None = None
    truth: Path | None = None
    unused_mask: Path | None = None  # a mask that may belong to another map of the folder

    @property
    def is_dataset(self) -> bool:
        """Whether the names are those of BiNI or DiLiGenT, whose normals are in the OpenGL frame."""
        return self.normals.stem.lower() in ("normal_map", "normal_gt") and self.mask is not None

    @property
    def names(self) -> list[str]:
        """The names of the files that exist, sorted."""
        return sorted(path.name for path in (self.normals, self.mask, self.camera, self.truth) if path is not None)


def find_input_files(folder: Path | str) -> InputFiles:
    """The normal map in a folder and what stands beside it.

    Raises
    ------
    InputError
        If the folder cannot be listed or holds no normal map of a known name.
    """
    folder = Path(folder)
    files = _listed(folder)
    # Where a folder has both, floating-point files are preferred to rounded ones.
    suffixes = sorted(readable(), key=lambda suffix: (suffix in _ROUNDED, _ROUNDED.find(suffix), suffix))
    normals = _first(files, NORMAL_STEMS, suffixes)
    if normals is None:
        raise InputError(
            f"{folder}: no normal map in this folder; expected normal_map.png, normals.npz or Normal_gt.mat"
        )
    return InputFiles(
        normals,
        mask=_first(files, _MASK_STEMS, suffixes),
        camera=_first(files, _CAMERA_STEMS, _CAMERA_SUFFIXES),
        truth=_first(files, _TRUTH_STEMS, suffixes),
    )


def find_files_beside(file: Path | str) -> InputFiles:
    """A normal map that is named as a file, and what stands beside it and belongs to it.

    A camera (``K.txt``) holds for every map of the folder. A ``mask.png`` belongs to a map that has one of the usual names,
    such as ``normal_map.png``; any other map ``NAME.png`` or ``NAME_normal.png`` has its mask in ``NAME_mask.png``.
    """
    file = Path(file)
    try:
        files = _listed(file.parent)
    except InputError:
        return InputFiles(file)
    suffixes = readable()
    camera = _first(files, _CAMERA_STEMS, _CAMERA_SUFFIXES)
    common = _first(files, _MASK_STEMS, suffixes)
    stem = file.stem.lower()
    if stem in NORMAL_STEMS:
        return InputFiles(file, common, camera, _first(files, _TRUTH_STEMS, suffixes))
    short = stem.removesuffix("_normals").removesuffix("_normal")
    own = _first(files, (f"{stem}_mask", f"{short}_mask"), suffixes)
    camera = camera if camera != file else None
    return InputFiles(file, own if own != file else None, camera, unused_mask=common if common != file else None)


def without_companions(files: list[Path]) -> list[Path]:
    """The files of a folder without the masks and cameras that belong to others of them; all if there are no others.

    >>> names = ("b.png", "b_mask.png", "c_mask.png", "K.npy", "mask.png")
    >>> [file.name for file in without_companions([Path(name) for name in names])]
    ['b.png', 'c_mask.png']
    """
    stems = {file.stem.lower() for file in files}

    def belongs(file: Path) -> bool:
        stem = file.stem.lower()
        if stem in _MASK_STEMS or (stem in _CAMERA_STEMS and file.suffix.lower() in _CAMERA_SUFFIXES):
            return True
        owner = stem.removesuffix("_mask")
        return owner != stem and not stems.isdisjoint((owner, f"{owner}_normal", f"{owner}_normals"))

    return [file for file in files if not belongs(file)] or files


def is_input_folder(folder: Path | str) -> bool:
    """Whether `find_input_files` finds a normal map in the folder."""
    try:
        find_input_files(folder)
    except InputError:
        return False
    return True


def _listed(folder: Path) -> dict[str, Path]:
    try:
        return {path.name.lower(): path for path in sorted(folder.iterdir()) if path.is_file()}
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror})") from None


def _first(files: dict[str, Path], stems: tuple[str, ...], suffixes: list[str]) -> Path | None:
    return next((files[stem + suffix] for stem in stems for suffix in suffixes if stem + suffix in files), None)
