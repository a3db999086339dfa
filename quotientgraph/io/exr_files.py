"""OpenEXR images.

Header and table of blocks are checked in Python first: on some damaged tiled files the C library runs for
minutes.
"""

from __future__ import annotations

import contextlib
import io
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .formats import InputError, check_size, reader, writer
from .image_files import as_float32

# Layers, by suffix of the channel name; the first group that is complete is the image.
_GROUPS = (("r", "g", "b", "a"), ("r", "g", "b"), ("x", "y", "z"), ("nx", "ny", "nz"), ("y", "a"))
# Lines in a block, by number of the compression: none, RLE, ZIPS, ZIP, PIZ, PXR24, B44, B44A, DWAA, DWAB.
_LINES = dict(enumerate((1, 1, 1, 16, 32, 16, 32, 32, 32, 256)))


@reader(".exr")
def read_exr(path: Path) -> np.ndarray:
    """RGB(A) or XYZ of the first layer that has them, else the only channel; half floats become float32."""
    import OpenEXR

    _check_exr(path)
    with _silence(), OpenEXR.File(str(path), separate_channels=True) as file:
        channels = {name: np.array(channel.pixels) for name, channel in file.channels().items()}
    names = _exr_channels(path, list(channels))
    planes = [channels[name] for name in names]
    if len({plane.shape for plane in planes}) > 1:
        raise InputError(f"{path}: the channels {' '.join(names)} differ in size; save them without subsampling")
    planes = [plane.astype(np.float32) if plane.dtype == np.float16 else plane for plane in planes]
    return planes[0] if len(planes) == 1 else np.stack(planes, axis=-1)


def _exr_channels(path: Path, names: list[str]) -> list[str]:
    layers: dict[str, dict[str, str]] = {}
    for name in names:
        layer, _, suffix = name.rpartition(".")
        layers.setdefault(layer, {})[suffix.lower()] = name
    for layer in sorted(layers, key=lambda layer: ("normal" not in layer.lower(), layer)):
        for group in _GROUPS:
            if all(suffix in layers[layer] for suffix in group):
                return [layers[layer][suffix] for suffix in group]
    if len(names) != 1:
        raise InputError(f"{path}: no RGB or XYZ among the channels {' '.join(sorted(names))}; save one layer alone")
    return names


def _check_exr(path: Path) -> None:
    with path.open("rb") as file:
        data = file.read(2**22)
    if data[:4] != b"v/1\x01":
        raise InputError(f"{path}: not an OpenEXR file; check the name or export it as EXR")
    version = int.from_bytes(data[4:8], "little")
    if version & 0xFF != 2 or version & 0x1800:
        raise InputError(f"{path}: deep and multi-part EXR files are not supported; save one flat image")
    at, window, n_channels, compression, tiles = 8, None, 0, -1, (0, 0, 0)
    while data[at : at + 1] != b"\0":
        name_end = data.index(b"\0", at)
        type_end = data.index(b"\0", name_end + 1)
        name, size = data[at:name_end], int.from_bytes(data[type_end + 1 : type_end + 5], "little")
        value, at = data[type_end + 5 : type_end + 5 + size], type_end + 5 + size
        if at > len(data):
            raise InputError(f"{path}: the EXR header is cut off; copy or export it again")
        if name == b"dataWindow":
            window = struct.unpack("<4i", value)
        elif name == b"channels":
            n_channels = max(value.count(b"\0\0\0\0") // 2, 1)
        elif name == b"compression" and value:
            compression = value[0]
        elif name == b"tiles":
            tiles = struct.unpack("<IIB", value)
    if window is None or n_channels == 0:
        raise InputError(f"{path}: the EXR header names no data window or no channels; export it again")
    height, width = window[3] - window[1] + 1, window[2] - window[0] + 1
    check_size(path, (height, width), 2 * n_channels, path.stat().st_size)
    if height < 1 or width < 1 or compression not in _LINES:
        raise InputError(f"{path}: an EXR of {width}×{height} with compression {compression} is not supported")
    if version & 0x200:
        if tiles[2] & 0x0F or not (0 < tiles[0] <= 2**16 and 0 < tiles[1] <= 2**16):
            raise InputError(f"{path}: tiles of {tiles[0]}×{tiles[1]} or mipmaps are not supported; save scan lines")
        _check_blocks(path, at + 1, -(-width // tiles[0]) * -(-height // tiles[1]), 20)
    else:
        _check_blocks(path, at + 1, -(-height // _LINES[compression]), 8)


def _check_blocks(path: Path, start: int, n_blocks: int, leader_bytes: int) -> None:
    """Each block of lines or tile must lie inside the file; its leader ends with its size."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(start)
        table = file.read(min(8 * n_blocks, size))
        whole = len(table) == 8 * n_blocks
        for offset in np.frombuffer(table[: len(table) // 8 * 8], dtype="<u8").tolist():
            file.seek(min(offset, size))
            leader = file.read(leader_bytes)
            end = offset + leader_bytes + int.from_bytes(leader[-4:], "little")
            whole &= len(leader) == leader_bytes and end <= size
            if not whole:
                break
    if not whole:
        raise InputError(f"{path}: the EXR file is cut off or damaged; copy or export it again")


@writer(".exr")
def write_exr(path: Path, array: np.ndarray) -> None:
    """One channel Z, or R G B (A)."""
    import OpenEXR

    array = np.ascontiguousarray(as_float32(array))
    if array.dtype != np.float32:
        raise ValueError(f"an EXR holds floating-point values here, got {array.dtype}; use .tiff or .npy")
    names = "Z" if array.ndim == 2 else "RGBA"[: array.shape[2]]
    planes = {"Z": array} if array.ndim == 2 else {c: array[..., i].copy() for i, c in enumerate(names)}
    header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
    try:
        with _silence():
            OpenEXR.File(header, planes).write(str(path))
        # The library does not report a disk that fills up in the last block: look whether the file is whole.
        with _silence(), OpenEXR.File(str(path), separate_channels=True) as file:
            file.channels()
    except RuntimeError as error:
        raise OSError(f"OpenEXR: {error}") from error


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Keep the C library from writing on the terminal what it also raises; a few milliseconds at a time."""
    try:
        kept = os.dup(2)
    except OSError:  # a process without stderr has nothing to keep clean
        yield
        return
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)
