"""JPEG, WebP and BMP: for photographs as textures, and for normal maps that exist in no better format.

As for PNG, the size in the header is checked before the decoder sees the file. Pixels come in the order in which they are
stored; see `quotientgraph.io.orientation` for files that say how to turn them.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np

from .formats import InputError, check_size, reader

# A marker of a JPEG, but for those that stand amid the pixels to restart them; a zero says that a 255 is a value.
_MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")
_END, _BARE = 0xD9, (0x01, 0xD8)  # at the end of the picture; and those without a length


@reader(".jpg", ".jpeg")
def read_jpeg(path: Path) -> np.ndarray:
    """(H, W) or (H, W, 3) uint8."""
    import imagecodecs

    data = path.read_bytes()
    if data[:2] != b"\xff\xd8":
        raise InputError(f"{path}: not a JPEG file; check the name or export it as JPEG")
    check_size(path, _jpeg_size(path, data), 1, len(data))
    if not _has_end(data):  # the decoder fills what is missing with grey
        raise InputError(f"{path}: the JPEG file is cut off after {len(data)} bytes; copy or export it again")
    return imagecodecs.jpeg8_decode(data)


def _jpeg_size(path: Path, data: bytes) -> tuple[int, int]:
    """(height, width) from the frame header; each marker states how long it is."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF or 0xD0 <= marker <= 0xD8:  # padding, and markers without a length
            at += 1 if marker == 0xFF else 2
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            if height and width:
                return height, width
            break
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    raise InputError(f"{path}: the JPEG file is cut off or damaged, it states no size; copy or export it again")


def _has_end(data: bytes) -> bool:
    """Whether the marker at the end of the picture is there, whatever follows it; that of a small preview is another."""
    at = 2
    while (found := _MARKER.search(data, at)) is not None:
        at, marker = found.end(), data[found.end() - 1]
        if marker == _END:
            return True
        at += 0 if marker in _BARE else int.from_bytes(data[at : at + 2], "big")
    return False


@reader(".webp")
def read_webp(path: Path) -> np.ndarray:
    """(H, W, 3) or (H, W, 4) uint8."""
    import imagecodecs

    data = path.read_bytes()
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP" or len(data) < 30:
        raise InputError(f"{path}: not a WebP file; check the name or export it as WebP")
    if int.from_bytes(data[4:8], "little") + 8 > len(data):
        raise InputError(f"{path}: the WebP file is cut off after {len(data)} bytes; copy or export it again")
    # The format has 14 bits for each side, so the size needs no check.
    return imagecodecs.webp_decode(data)


@reader(".bmp")
def read_bmp(path: Path) -> np.ndarray:
    """(H, W) or (H, W, 3 or 4) uint8, without compression."""
    import imagecodecs

    data = path.read_bytes()
    if data[:2] != b"BM" or len(data) < 54:
        raise InputError(f"{path}: not a BMP file; check the name or export it as BMP")
    start, _, width, height, _, bits, compression = struct.unpack_from("<IIiiHHI", data, 10)
    if width < 1 or height == 0 or bits not in (1, 4, 8, 16, 24, 32) or compression not in (0, 3):
        raise InputError(f"{path}: a BMP of {width}×{abs(height)} with {bits} bits is not supported; export it as PNG")
    line = -(-width * bits // 32) * 4
    if start + line * abs(height) > len(data):
        raise InputError(f"{path}: the BMP file is cut off after {len(data)} bytes; copy or export it again")
    return imagecodecs.bmp_decode(data)
