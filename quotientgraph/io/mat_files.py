"""MATLAB files of version 5 to 7, read in Python: numeric arrays only.

The usual reader crashes the process on some damaged files. This one checks every length before it uses it, and reads
nothing but full real arrays of numbers; text, cells, structures and sparse matrices are passed over.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from .formats import ALWAYS_ALLOWED, MAX_EXPANSION, InputError, check_size, reader, writer

# Numbers of the data types in a tag, and of the array classes, with the NumPy type of each.
_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
_MATRIX, _COMPRESSED = 14, 15
_LOGICAL, _COMPLEX = 0x02, 0x08


@reader(".mat")
def read_mat(path: Path) -> Mapping[str, np.ndarray]:
    """All real numeric variables of a MATLAB file up to version 7."""
    data = path.read_bytes()
    if b"MATLAB 7.3" in data[:128]:
        raise InputError(f"{path}: MATLAB 7.3 (HDF5) files are not supported; save with save(..., '-v7')")
    if len(data) < 128 or data[126:128] not in (b"IM", b"MI"):
        raise InputError(f"{path}: not a readable MAT file of version 5 to 7; save with save(..., '-v7')")
    order = "<" if data[126:128] == b"IM" else ">"
    arrays = {}
    allowed = max(ALWAYS_ALLOWED, MAX_EXPANSION * len(data))
    for kind, body in _elements(path, data[128:], order):
        if kind == _COMPRESSED:
            body = _inflated(path, body, allowed)
            allowed -= len(body)
            kind, body = next(_elements(path, body, order), (0, b""))
        if kind == _MATRIX:
            name, array = _matrix(path, body, order, len(data))
            if array is not None:
                arrays[name] = array
    if not arrays:
        raise InputError(f"{path}: no numeric variable; save the normals as an H×W×3 array")
    return arrays


def _elements(path: Path, data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """The elements of a block: the number of the type, and the bytes."""
    at = 0
    while at + 8 <= len(data):
        kind, size = struct.unpack_from(order + "II", data, at)
        if kind >> 16:  # a small element: type and size share four bytes, and four bytes of data follow
            kind, size, start, end = kind & 0xFFFF, kind >> 16, at + 4, at + 8
            if size > 4:
                raise InputError(f"{path}: damaged MAT file, an element of {size} bytes where 4 fit; save it again")
        else:
            start, end = at + 8, at + 8 + size + (0 if kind == _COMPRESSED else -size % 8)
        if start + size > len(data):
            raise InputError(f"{path}: the MAT file is cut off or damaged; copy or save it again")
        yield kind, data[start : start + size]
        at = end


def _inflated(path: Path, body: bytes, allowed: int) -> bytes:
    decompressor = zlib.decompressobj()
    out = decompressor.decompress(body, max(allowed, 1))
    if decompressor.unconsumed_tail:
        raise InputError(f"{path}: it expands to more than a file of its size can hold; it is damaged")
    return out


def _matrix(path: Path, body: bytes, order: str, file_bytes: int) -> tuple[str, np.ndarray | None]:
    """Name and array of a matrix element; None for what is not a real array of numbers."""
    parts = _elements(path, body, order)
    try:
        flags, dimensions, name = (next(parts)[1] for _ in range(3))
        kind, is_complex, is_logical = flags[0], flags[1] & _COMPLEX, flags[1] & _LOGICAL
        if order == ">":
            kind, is_complex, is_logical = flags[3], flags[2] & _COMPLEX, flags[2] & _LOGICAL
        if kind not in _CLASSES or is_complex:
            return "", None
        stored, values = next(parts)
    except (StopIteration, RuntimeError, IndexError):
        raise InputError(f"{path}: the MAT file is cut off or damaged; copy or save it again") from None
    shape = tuple(np.frombuffer(dimensions[: len(dimensions) // 4 * 4], order + "i4").tolist())
    if len(shape) < 2 or len(shape) > 8 or stored not in _TYPES:
        raise InputError(f"{path}: damaged MAT file, an array of shape {shape[:8]} and type {stored}; save it again")
    check_size(path, shape, 1, file_bytes)
    dtype = np.dtype(order + _TYPES[stored])
    count = int(np.prod(shape, dtype=np.int64))
    if count * dtype.itemsize != len(values):
        raise InputError(f"{path}: damaged MAT file, {len(values)} bytes for an array of shape {shape}; save it again")
    array = np.frombuffer(values, dtype).reshape(shape, order="F")
    with np.errstate(invalid="ignore", over="ignore"):
        array = array.astype(bool if is_logical else _CLASSES[kind])
    return name.decode("latin-1"), np.ascontiguousarray(array)


@writer(".mat")
def write_mat(path: Path, array: np.ndarray) -> None:
    """One variable of the name arr_0, compressed."""
    from scipy.io import savemat

    with path.open("wb") as file:
        savemat(file, {"arr_0": array}, do_compression=True)
