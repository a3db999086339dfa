"""NumPy's ``.npy`` and ``.npz``. Pickled objects are refused, because loading them can run code."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np

from .formats import ALWAYS_ALLOWED, MAX_EXPANSION, InputError, check_size, reader, writer

MAX_MEMBERS = 1000


@reader(".npy")
def read_npy(path: Path) -> np.ndarray:
    size = path.stat().st_size
    with path.open("rb") as file:
        _check_npy(path, file, size, size)
        file.seek(0)
        return np.load(file, allow_pickle=False)


def _check_npy(path: Path, file: IO[bytes], n_bytes: int, file_bytes: int, name: str = "") -> None:
    """Compare the header's shape with the bytes that are there, before anything is allocated."""
    where = f"{path}: array {name!r}" if name else f"{path}:"
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise InputError(f"{where} has NPY version {version}, which is not known; save it again with numpy.save")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise InputError(f"{where} holds pickled Python objects, which are never loaded; save a numeric array")
    if dtype.kind not in "buif":
        raise InputError(f"{where} has type {dtype}; save real numbers")
    check_size(path, shape, dtype.itemsize, file_bytes)
    expected = dtype.itemsize * int(np.prod(shape, dtype=np.float64))
    if file.tell() + expected > n_bytes:
        raise InputError(f"{where} is cut off, {expected} bytes were expected; copy or save it again")


@reader(".npz")
def read_npz(path: Path) -> Mapping[str, np.ndarray]:
    """All numeric arrays of the archive; others are left out."""
    arrays, refused = {}, ""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        # Many entries may name the same bytes, so it is their sum that must fit.
        total, size = sum(member.file_size for member in members), path.stat().st_size
        if len(members) > MAX_MEMBERS or total > max(ALWAYS_ALLOWED, MAX_EXPANSION * size):
            raise InputError(
                f"{path}: {len(members)} arrays of together {total} bytes in an archive of {size} bytes; it is damaged"
            )
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name == member.filename:
                continue
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
                raise InputError(f"{path}: array {name!r} is encrypted or unusually compressed; use numpy.savez")
            with archive.open(member) as file:
                try:
                    _check_npy(path, file, member.file_size, path.stat().st_size, name)
                except InputError as error:
                    if "objects" not in str(error) and "real numbers" not in str(error):
                        raise
                    refused = str(error)
                    continue
            with archive.open(member) as file:
                arrays[name] = np.lib.format.read_array(file, allow_pickle=False)
                file.read(1)  # at the end of the member the archive's checksum is compared
    if not arrays:
        raise InputError(refused or f"{path}: the archive holds no array; save it with numpy.savez")
    return arrays


@writer(".npy")
def write_npy(path: Path, array: np.ndarray) -> None:
    with path.open("wb") as file:
        np.save(file, array, allow_pickle=False)


@writer(".npz")
def write_npz(path: Path, array: np.ndarray) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, arr_0=array)
