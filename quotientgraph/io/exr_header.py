"""The header of an OpenEXR file, checked before anything is allocated."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .formats import InputError, check_size

# Lines in a block, by number of the compression: none, RLE, ZIPS, ZIP, PIZ, PXR24, B44, B44A, DWAA, DWAB.
_LINES = dict(enumerate((1, 1, 1, 16, 32, 16, 32, 32, 32, 256)))
_DTYPES = {0: "<u4", 1: "<f2", 2: "<f4"}
_LIMIT = 2**22  # bytes in which a header must end


@dataclass(frozen=True)
class ExrHeader:
    """What is needed to read the blocks of a flat image of one part.

    Attributes
    ----------
    width, height, left, top : int
        The data window.
    channels : dict
        NumPy type of each channel, in the order of the file.
    compression : int
        Its number in the specification.
    tile : (int, int) or None
        Width and height of a tile; None for scan lines.
    lines : int
        Lines in a block.
    offsets : (n_blocks,) int64 array
        Where each block begins in the file.
    """

    width: int
    height: int
    left: int
    top: int
    channels: dict[str, np.dtype]
    compression: int
    tile: tuple[int, int] | None
    lines: int
    offsets: np.ndarray


def read_header(path: Path, data: bytes) -> ExrHeader:
    """Parse the header and the table of blocks of a whole file, or raise `InputError`."""
    if data[:4] != b"v/1\x01":
        raise InputError(f"{path}: not an OpenEXR file; check the name or export it as EXR")
    version = int.from_bytes(data[4:8], "little")
    if version & 0xFF != 2 or version & 0x1800:
        raise InputError(f"{path}: deep and multi-part EXR files are not supported; save one flat image")
    values, at = _attributes(path, data)
    window = values.get(b"dataWindow", b"")
    if len(window) != 16 or b"channels" not in values:
        raise InputError(f"{path}: the EXR header names no data window or no channels; export it again")
    left, top, right, bottom = struct.unpack("<4i", window)
    width, height = right - left + 1, bottom - top + 1
    channels = _channels(path, values[b"channels"])
    compression = (values.get(b"compression") or b"\xff")[0]
    check_size(path, (height, width), sum(kind.itemsize for kind in channels.values()), len(data))
    if height < 1 or width < 1 or compression not in _LINES:
        raise InputError(f"{path}: an EXR of {width}×{height} with compression {compression} is not supported")
    tile = None
    n_blocks = -(-height // _LINES[compression])
    if version & 0x200:
        across, down, mode = struct.unpack("<IIB", values.get(b"tiles", b"\0" * 9)[:9].ljust(9, b"\0"))
        if mode & 0x0F or not (0 < across <= 2**16 and 0 < down <= 2**16):
            raise InputError(f"{path}: tiles of {across}×{down} or mipmaps are not supported; save scan lines")
        tile = (across, down)
        n_blocks = -(-width // across) * -(-height // down)
    table = data[at : at + 8 * n_blocks]
    if len(table) < 8 * n_blocks:
        raise InputError(f"{path}: the EXR file is cut off; copy or export it again")
    offsets = np.frombuffer(table, "<u8").astype(np.int64)
    return ExrHeader(width, height, left, top, channels, compression, tile, _LINES[compression], offsets)


def _attributes(path: Path, data: bytes) -> tuple[dict[bytes, bytes], int]:
    """The values of the attributes by name, and where the table of blocks begins."""
    values: dict[bytes, bytes] = {}
    head, at = data[:_LIMIT], 8
    while head[at : at + 1] != b"\0":
        name_end = head.find(b"\0", at)
        type_end = head.find(b"\0", name_end + 1)
        if name_end < 0 or type_end < 0:
            break
        size = int.from_bytes(head[type_end + 1 : type_end + 5], "little")
        start, at_next = type_end + 5, type_end + 5 + size
        if at_next > len(head):
            break
        values[head[at:name_end]] = head[start:at_next]
        at = at_next
    else:
        return values, at + 1
    raise InputError(f"{path}: the EXR header is cut off; copy or export it again")


def _channels(path: Path, value: bytes) -> dict[str, np.dtype]:
    channels: dict[str, np.dtype] = {}
    at = 0
    while value[at : at + 1] not in (b"\0", b""):
        end = value.find(b"\0", at)
        fields = value[end + 1 : end + 17]
        if end < 0 or len(fields) < 16:
            break
        kind, _, across, down = struct.unpack("<I4sii", fields)
        name = value[at:end].decode("utf-8", "replace")
        if kind not in _DTYPES or len(channels) > 1024:
            break
        if (across, down) != (1, 1):
            raise InputError(f"{path}: the channel {name} is subsampled; save all channels at full size")
        channels[name] = np.dtype(_DTYPES[kind])
        at = end + 17
    else:
        if channels:
            return channels
    raise InputError(f"{path}: the EXR header names no channels that can be read; export it again")
