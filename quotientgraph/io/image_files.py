"""PNG and TIFF. No colour management: the numbers in the file are the numbers in the array.

The decoders are C libraries which trust headers more than one should, so each header is checked in Python
before its decoder sees the file: chunks and checksums of a PNG, compression and size of a TIFF.
"""

from __future__ import annotations

import logging
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .formats import InputError, check_size, reader, writer

_PNG_HEAD = 33  # bytes of the signature and the first chunk, after which texts may stand
_TIFF_CODECS = (1, 5, 8, 32773, 32946, 34925, 50000)  # none, LZW, deflate, PackBits, deflate, LZMA, Zstandard


@reader(".png")
def read_png(path: Path) -> np.ndarray:
    """(H, W) or (H, W, 2..4) uint8 or uint16; palettes are expanded, transparency is the last channel."""
    import imagecodecs

    return imagecodecs.png_decode(_checked_png(path, path.read_bytes()))


def _checked_png(path: Path, data: bytes) -> bytes:
    """The parts of a PNG that carry pixels; colour profiles and such only make libpng complain on stderr."""
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        kind = "text" if data[:64].isascii() and b"\0" not in data[:64] else "another format"
        raise InputError(f"{path}: not a PNG file, it holds {kind}; check the name or export it as PNG")
    at = 8
    kept = [data[:8]]
    while at + 12 <= len(data):
        length, name = struct.unpack(">I4s", data[at : at + 8])
        chunk = data[at : at + 12 + length]
        if len(chunk) < 12 + length:
            break
        if len(kept) == 1:
            if name != b"IHDR" or length != 13:
                raise InputError(f"{path}: damaged PNG, it does not begin with a header; export it again")
            width, height, depth, colour = struct.unpack(">IIBB", chunk[8:18])
            n_channels = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}.get(colour, 4)
            check_size(path, (height, width), n_channels * max(depth // 8, 1), len(data))
        if name[0] < 97 or name == b"tRNS":  # a capital letter: needed to decode
            if zlib.crc32(chunk[4:-4]) != int.from_bytes(chunk[-4:], "big"):
                raise InputError(f"{path}: damaged PNG, wrong checksum at byte {at}; copy or export it again")
            kept.append(chunk)
        if name == b"IEND":
            return b"".join(kept)
        at += 12 + length
    raise InputError(f"{path}: the PNG file is cut off after {len(data)} bytes; copy or export it again")


@writer(".png")
def write_png(
    path: Path,
    array: np.ndarray,
    texts: Mapping[str, str] | None = None,
    pixels_per_metre: tuple[float, float] | None = None,
) -> None:
    """Write a PNG, with short texts by name and its resolution (across, down) where they are given."""
    import imagecodecs

    if array.dtype not in (np.uint8, np.uint16):
        raise ValueError(f"a PNG holds uint8 or uint16, got {array.dtype}; use .npy, .tiff or .exr")
    data = imagecodecs.png_encode(np.ascontiguousarray(array))
    more = b""
    if pixels_per_metre is not None:
        dots = [min(max(round(value), 1), 2**31 - 1) for value in pixels_per_metre]
        more += _png_chunk(b"pHYs", struct.pack(">IIB", *dots, 1))
    for name, text in (texts or {}).items():
        more += _png_chunk(b"iTXt", name.encode("latin-1") + b"\0\0\0\0\0" + text.encode())
    path.write_bytes(data[:_PNG_HEAD] + more + data[_PNG_HEAD:])


def _png_chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


@reader(".tif", ".tiff")
def read_tiff(path: Path) -> np.ndarray:
    """The first image of the file, in its own type."""
    import tifffile

    # It logs damage as well as raising. Without any handler Python would write that on stderr; one that does nothing
    # prevents it, and a program that handles logs still gets them.
    log = logging.getLogger("tifffile")
    if not any(isinstance(handler, logging.NullHandler) for handler in log.handlers):
        log.addHandler(logging.NullHandler())
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        if int(page.compression) not in _TIFF_CODECS:
            raise InputError(f"{path}: TIFF compression {page.compression!s} is not supported; save it with deflate")
        check_size(path, page.shape, page.dtype.itemsize if page.dtype else 8, path.stat().st_size)
        return page.asarray(maxworkers=1)


@writer(".tif", ".tiff")
def write_tiff(
    path: Path, array: np.ndarray, description: str | None = None, pixels_per_metre: tuple[float, float] | None = None
) -> None:
    """Write a TIFF, with a description and its resolution (across, down) where they are given."""
    import tifffile

    options: dict[str, Any] = {}
    if description is not None:
        options = {"description": description, "metadata": None}
    if pixels_per_metre is not None:
        options |= {"resolution": tuple(value / 100 for value in pixels_per_metre), "resolutionunit": "CENTIMETER"}
    photometric = "rgb" if array.ndim == 3 and array.shape[2] in (3, 4) else "minisblack"
    with path.open("wb") as file:
        tifffile.imwrite(
            file, as_float32(array), photometric=photometric, compression="zlib", planarconfig="contig", **options
        )


def as_float32(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32) if array.dtype.kind == "f" else array
