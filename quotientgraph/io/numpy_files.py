"""NumPy's ``.npy`` and ``.npz`` and MATLAB's ``.mat``. Pickled objects are refused: they can run code."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np

from .formats import InputError, check_size, reader, writer


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
        for member in archive.infolist():
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


@reader(".mat")
def read_mat(path: Path) -> Mapping[str, np.ndarray]:
    """All numeric variables of a MATLAB file up to version 7."""
    from scipy.io import loadmat, whosmat

    with path.open("rb") as file:
        if b"MATLAB 7.3" in file.read(128):
            raise InputError(f"{path}: MATLAB 7.3 (HDF5) files are not supported; save with save(..., '-v7')")
    numeric = {"double", "single", "uint8", "uint16", "int8", "int16", "int32", "uint32", "logical"}
    names = []
    for name, shape, kind in whosmat(path):
        if kind in numeric:
            # Refuse a shape the file cannot hold: whosmat has only read the variable's header.
            check_size(path, shape, 1, path.stat().st_size)
            names.append(name)
    if not names:
        raise InputError(f"{path}: no numeric variable; save the normals as an H×W×3 array")
    found = loadmat(path, variable_names=names)
    return {name: found[name] for name in names if found[name].dtype.kind in "buif"}


@writer(".npy")
def write_npy(path: Path, array: np.ndarray) -> None:
    with path.open("wb") as file:
        np.save(file, array, allow_pickle=False)


@writer(".npz")
def write_npz(path: Path, array: np.ndarray) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, arr_0=array)


@writer(".mat")
def write_mat(path: Path, array: np.ndarray) -> None:
    from scipy.io import savemat

    with path.open("wb") as file:
        savemat(file, {"arr_0": array}, do_compression=True)
