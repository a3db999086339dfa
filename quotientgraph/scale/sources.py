"""`Source`: large arrays of normals and masks that are read window by window, wherever they are stored.

A source can be sent to another process. Files and stores are then opened there, and are not copied.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..geometry.camera import Shape
from ..io import InputError, atomic
from ..io.decode import no_normal
from ..io.normal_arrays import to_array
from .tiling import Box

INSTALL = 'pip install "quotientgraph[scale]"'


@dataclass(frozen=True)
class Layer:
    """One array: how to open it, and where its rows, columns and channels are.

    Attributes
    ----------
    kind : "zarr", "npy", "tiff", "memmap" or "array"
    where : tuple
        What the kind needs to open it again: a path, a name inside a group, and the like.
    array : array or None
        The array itself for the kind "array": of NumPy, Dask or Zarr.
    shape : (H, W)
    channels_first : bool
    """

    kind: str
    where: tuple[Any, ...]
    shape: Shape
    channels_first: bool = False
    array: Any = field(default=None, repr=False)

    def read(self, box: Box) -> np.ndarray:
        """(h, w) or (h, w, C) values of a box."""
        part = box.within(Box(0, 0, *self.shape))
        try:
            array = self.array if self.kind == "array" else _opened(self.kind, self.where)
            found = array[(slice(None), *part)] if self.channels_first else array[part]
            if hasattr(found, "compute"):
                found = found.compute(scheduler="synchronous")
            found = to_array(found, "the array")
        except (OSError, RuntimeError, ValueError, EOFError) as error:
            what = str(self.where[0]) if self.where else "the array"
            raise InputError(
                f"{what}: rows {box.top}:{box.bottom}, columns {box.left}:{box.right} cannot be read "
                f"({' '.join(str(error).split())[:120]}); the data is damaged or incomplete, so copy or write it again"
            ) from error
        return np.moveaxis(found, 0, -1) if self.channels_first else found

    @property
    def identity(self) -> list[Any]:
        """What tells this array from others in the record of a run: its place, and when it was changed or what it holds.

        An array of Dask has its name, which tells how it was made.
        """
        known: list[Any] = [*map(str, self.where), *self.shape]
        if isinstance(self.array, np.ndarray):
            return [*known, zlib.crc32(np.ascontiguousarray(self.array).data)]
        if self.place is None:
            return [*known, str(getattr(self.array, "name", ""))]
        files = [self.place] if self.place.is_file() else sorted(Path(*self.where[:2]).rglob("*"))
        return [*known, zlib.crc32(repr(_facts(files, "st_size", "st_mtime_ns")).encode())]

    @property
    def is_told_by_identity(self) -> bool:
        """Whether other values would have another `identity`. What stands behind Dask or a URL may change unnoticed."""
        return isinstance(self.array, np.ndarray) or self.place is not None

    @property
    def place(self) -> Path | None:
        """The file or the store on this machine that holds the array, if there is one."""
        return Path(self.where[0]).resolve() if self.where and "://" not in str(self.where[0]) else None

    def on_disk(self, path: Path) -> Layer:
        """The same array as one that another process can open, written to `path` if it is only in memory."""
        if not isinstance(self.array, np.ndarray):
            return self
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic(path) as part, part.open("wb") as file:
            np.save(file, self.array)
        return replace(self, kind="npy", where=(str(path),), array=None)


@dataclass(frozen=True)
class Source:
    """Normals, and the mask that goes with them.

    Attributes
    ----------
    normals : Layer
    mask : Layer or None
    """

    normals: Layer
    mask: Layer | None

    @classmethod
    def from_arrays(cls, normals: Any, mask: Any = None) -> Source:
        """Understand what a user passes: see `quotientgraph.scale.integrate`."""
        found = _layer(normals, "normals", 3)
        chosen = None if mask is None else _layer(mask, "mask", 1)
        if chosen is not None and chosen.shape != found.shape:
            raise ValueError(f"mask: its shape {chosen.shape} differs from the normals' {found.shape}; both are (H, W)")
        return cls(found, chosen)

    @property
    def shape(self) -> Shape:
        return self.normals.shape

    @property
    def layers(self) -> list[Layer]:
        """The normals, and the mask if there is one."""
        return [layer for layer in (self.normals, self.mask) if layer is not None]

    @property
    def places(self) -> list[Path]:
        """The files and the stores on this machine that are read."""
        return [layer.place for layer in self.layers if layer.place is not None]

    def on_disk(self, folder: Path) -> Source:
        """The same source as one that other processes can read; arrays in memory are written into `folder`."""
        mask = None if self.mask is None else self.mask.on_disk(folder / "given.mask" / "all.npy")
        return Source(self.normals.on_disk(folder / "given.normals" / "all.npy"), mask)

    def read(self, box: Box) -> tuple[np.ndarray, np.ndarray | None]:
        """Normals (h, w, 3) as floats and mask (h, w) of a box."""
        normals = self.normals.read(box)
        if normals.dtype.kind == "u":
            normals = normals.astype(np.float32) * np.float32(2 / np.iinfo(normals.dtype).max) - 1
            normals[no_normal(normals)] = np.nan
        elif normals.dtype not in (np.float32, np.float64):
            normals = normals.astype(np.float32)
        mask = None if self.mask is None else self.mask.read(box)
        if mask is not None and mask.ndim == 3:
            mask = mask[..., 0]
        if mask is not None:  # floats may be probabilities, and NaN selects nothing
            mask = np.ascontiguousarray(mask >= 0.5 if mask.dtype.kind == "f" else mask != 0)
        return np.ascontiguousarray(normals), mask


def _layer(thing: Any, name: str, channels: int) -> Layer:
    kind, where, array = _location(thing, name)
    opened = array if kind == "array" else _opened(kind, where)
    shape, dtype = tuple(opened.shape), np.dtype(opened.dtype)
    if dtype.kind not in "fub" and not (name == "mask" and dtype.kind == "i"):
        raise ValueError(f"{name}: expected floating-point vectors or an unsigned image, got {dtype}; convert it first")
    if name == "mask" and len(shape) == 2:
        return Layer(kind, where, (shape[0], shape[1]), array=array)
    if len(shape) == 3 and shape[2] in ((channels,) if channels == 3 else (1, 3, 4)):
        return Layer(kind, where, (shape[0], shape[1]), array=array)
    if len(shape) == 3 and shape[0] == channels:
        return Layer(kind, where, (shape[1], shape[2]), True, array)
    wanted = "(H, W, 3) or (3, H, W)" if channels == 3 else "(H, W)"
    raise ValueError(f"{name}: expected an array of shape {wanted}, got {shape}")


def _location(thing: Any, name: str) -> tuple[str, tuple[Any, ...], Any]:
    """How to open what a user passed: its kind, where it is, and the array itself if it cannot be opened again."""
    if isinstance(thing, str | os.PathLike):
        path = Path(thing)
        if path.suffix.lower() == ".npy":
            return "npy", (str(path.resolve()),), None
        if path.suffix.lower() in (".tif", ".tiff"):
            return "tiff", (str(path.resolve()),), None
        place = str(thing) if "://" in str(thing) else str(path.resolve())
        return "zarr", (place, _inner(place, name)), None
    if (
        isinstance(thing, np.memmap)
        and thing.filename is not None
        and thing.flags.c_contiguous
        and thing.base is not None
    ):
        return "memmap", (str(thing.filename), str(thing.dtype), thing.offset, thing.shape), None
    if type(thing).__module__.startswith("zarr"):
        root = getattr(thing.store, "root", None)
        if root is None:  # in memory or elsewhere: the object itself is used
            inner = thing if hasattr(thing, "dtype") else thing[_name_in(thing, name)]
            return "array", (), inner
        inner = thing.path if hasattr(thing, "dtype") else "/".join(filter(None, [thing.path, _name_in(thing, name)]))
        return "zarr", (str(root), inner), None
    if not hasattr(thing, "dtype") or not hasattr(thing, "shape"):
        raise ValueError(f"{name}: expected an array of Dask, Zarr or NumPy, or a path, got {type(thing).__name__}")
    return "array", (), to_array(thing, name) if isinstance(thing, np.ma.MaskedArray) else thing


def _inner(place: str, name: str) -> str:
    """The name of the array inside a Zarr store; empty if the store is an array."""
    try:
        found = zarr().open(place, mode="r")
    except (FileNotFoundError, KeyError, ValueError):
        if not ("://" in place or os.path.exists(place)):
            raise ValueError(f"{name}: {place}: no such file or Zarr store") from None
        raise ValueError(
            f"{name}: {place} is no Zarr array or group, .npy or .tiff file; write one of these, or pass an array"
        ) from None
    return "" if hasattr(found, "dtype") else _name_in(found, name)


def _name_in(group: Any, name: str) -> str:
    """The array of a group: the first of an OME-Zarr pyramid, or the one with the usual name, or the only one."""
    attributes = dict(group.attrs)
    scales = (attributes.get("ome") or attributes).get("multiscales")
    if scales:
        return str(scales[0]["datasets"][0]["path"])
    names = [key for key, _ in group.arrays()]
    usual = {"normals": ("normals", "normal"), "mask": ("mask",)}[name]
    chosen = [one for one in usual if one in names] or (names if len(names) == 1 else [])
    if not chosen:
        raise ValueError(
            f"{name}: the Zarr group has the arrays {', '.join(names) or 'none'}; name one of them {usual[0]}"
        )
    return chosen[0]


def zarr() -> Any:
    """The package Zarr, or an error that says how to install it."""
    try:
        import zarr as package
    except ImportError:
        raise ImportError(f"Zarr is not installed; install it with: {INSTALL}") from None
    return package


def _described_by(kind: str, where: tuple[Any, ...]) -> list[Path]:
    """The file of an array, or the ones that may describe it."""
    path = Path(where[0])
    return [path / where[1] / name for name in ("zarr.json", ".zarray")] if kind == "zarr" else [path]


def _opened(kind: str, where: tuple[Any, ...]) -> Any:
    """The open array at a place; a file that was written anew is opened again."""
    return _open(kind, where, _facts(_described_by(kind, where), "st_ino", "st_size", "st_mtime_ns"))


def _facts(files: Iterable[Path], *names: str) -> tuple[int, ...]:
    """What the file system says of those of the files that are there."""
    return tuple(getattr(file.stat(), name) for file in files if file.is_file() for name in names)


@lru_cache(maxsize=16)
def _open(kind: str, where: tuple[Any, ...], version: tuple[int, ...]) -> Any:
    if kind == "npy":
        return np.load(where[0], mmap_mode="r")
    if kind == "memmap":
        return np.memmap(where[0], where[1], "r", where[2], where[3])
    if kind == "tiff":
        import tifffile

        found = zarr().open(tifffile.imread(where[0], aszarr=True), mode="r")
        return found if hasattr(found, "dtype") else found["0"]
    return zarr().open_array(where[0], path=where[1] or None, mode="r")
