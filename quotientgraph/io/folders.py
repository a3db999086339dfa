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
_CAMERA_SUFFIXES = [".txt", ".json", ".npy"]


@dataclass(frozen=True)
class InputFiles:
    """The files that make up one input; None where the folder has no such file."""

    normals: Path
    mask: Path | None = None
    camera: Path | None = None
    truth: Path | None = None

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
    suffixes = sorted(readable(), key=lambda suffix: (suffix == ".png", suffix))
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
