"""OpenEXR images, read and written in Python where their compression allows it.

The C library writes on the terminal what it also raises, and runs for minutes on some damaged files. So the common
compressions (none, RLE, ZIP, PXR24) are decoded here, and the others (PIZ, B44, DWA) by the library in a process of its
own, where it can disturb nothing.
"""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from .exr_header import ExrHeader, read_header
from .formats import InputError, reader, writer
from .image_files import as_float32

# Layers, by suffix of the channel name; the first group that is complete is the image.
_GROUPS = (
    ("r", "g", "b", "a"),
    ("r", "g", "b"),
    ("x", "y", "z"),
    ("nx", "ny", "nz"),
    ("y", "a"),
    ("r", "g"),
    ("x", "y"),
)
_NONE, _RLE, _ZIPS, _ZIP, _PXR24 = 0, 1, 2, 3, 5
_TIMEOUT = 300  # seconds for the library; it decodes 4096 × 4096 pixels in two
_ZIP_LINES = 16


@reader(".exr")
def read_exr(path: Path) -> np.ndarray:
    """RGB(A) or XYZ of the first layer that has them, else the only channel, in the type of the file."""
    data = path.read_bytes()
    header = read_header(path, data)
    names = _chosen(path, list(header.channels))
    if header.compression in (_NONE, _RLE, _ZIPS, _ZIP, _PXR24):
        planes = _decoded(path, data, header, names)
    else:
        _check_blocks(path, data, header)
        planes = _by_library(path, names)
    if any(plane.shape != planes[0].shape for plane in planes):
        raise InputError(f"{path}: the channels {' '.join(names)} differ in size; save them without subsampling")
    return planes[0] if len(planes) == 1 else np.stack(planes, axis=-1)


def _chosen(path: Path, names: list[str]) -> list[str]:
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


def _decoded(path: Path, data: bytes, header: ExrHeader, names: list[str]) -> list[np.ndarray]:
    """The chosen channels, block by block."""
    planes = {name: np.zeros((header.height, header.width), header.channels[name]) for name in names}
    for number, offset in enumerate(header.offsets.tolist()):
        x, y, width, height, body = _block(path, data, header, number, offset)
        lines = _lines(path, body, header, width, height)
        at = 0
        for name, kind in header.channels.items():
            size = width * kind.itemsize
            if name in planes:
                part = np.ascontiguousarray(lines[:, at : at + size]).view(kind)
                planes[name][y : y + height, x : x + width] = part
            at += size
    return [planes[name].astype(planes[name].dtype.newbyteorder("=")) for name in names]


def _block(path: Path, data: bytes, header: ExrHeader, number: int, offset: int) -> tuple[int, int, int, int, bytes]:
    """Place, size and bytes of a block; each block is where the table says, and holds what its number says."""
    leader = 20 if header.tile else 8
    size = int.from_bytes(data[offset + leader - 4 : offset + leader], "little") if offset >= 0 else 0
    if offset < 8 or offset + leader + size > len(data):
        raise InputError(f"{path}: the EXR file is cut off or damaged; copy or export it again")
    if header.tile:
        across, down = header.tile
        column, row = struct.unpack_from("<2i", data, offset)
        x, y = column * across, row * down
    else:
        across, down = header.width, header.lines
        x, y = 0, struct.unpack_from("<i", data, offset)[0] - header.top
    if not (0 <= x < header.width and 0 <= y < header.height):
        raise InputError(f"{path}: block {number} lies outside the image; the EXR file is damaged")
    body = data[offset + leader : offset + leader + size]
    return x, y, min(across, header.width - x), min(down, header.height - y), body


def _lines(path: Path, body: bytes, header: ExrHeader, width: int, height: int) -> np.ndarray:
    """(height, bytes in a line) uint8 from the bytes of a block."""
    line_bytes = width * sum(kind.itemsize for kind in header.channels.values())
    expected = height * line_bytes
    if header.compression == _NONE or len(body) >= expected:
        raw = np.frombuffer(body[:expected], np.uint8)
    elif header.compression == _PXR24:
        return _from_pxr24(path, body, header, width, height)
    else:
        packed = _run_lengths(body, expected) if header.compression == _RLE else _inflated(body, expected)
        raw = _unpredicted(np.frombuffer(packed, np.uint8))
    if len(raw) != expected:
        raise InputError(f"{path}: a block holds {len(raw)} bytes instead of {expected}; the EXR file is damaged")
    return raw.reshape(height, line_bytes)


def _inflated(body: bytes, expected: int) -> bytes:
    return zlib.decompressobj().decompress(body, expected + 1)


def _run_lengths(body: bytes, expected: int) -> bytes:
    out, at = bytearray(), 0
    while at < len(body) and len(out) <= expected:
        count = body[at] - 256 if body[at] > 127 else body[at]
        if count < 0:
            out += body[at + 1 : at + 1 - count]
            at += 1 - count
        else:
            out += body[at + 1 : at + 2] * (count + 1)
            at += 2
    return bytes(out)


def _unpredicted(packed: np.ndarray) -> np.ndarray:
    """Undo the differences of neighbouring bytes and the separation of even and odd ones."""
    steps = packed.copy()
    steps[1:] -= 128
    whole = np.cumsum(steps, dtype=np.uint8)
    out = np.empty_like(whole)
    half = (len(whole) + 1) // 2
    out[0::2], out[1::2] = whole[:half], whole[half:]
    return out


def _from_pxr24(path: Path, body: bytes, header: ExrHeader, width: int, height: int) -> np.ndarray:
    """Each line of a channel is stored as differences, high bytes first; floats have three bytes."""
    stored = {"<u4": 4, "<f2": 2, "<f4": 3}
    kinds = list(header.channels.values())
    line = width * sum(stored[kind.str] for kind in kinds)
    raw = np.frombuffer(_inflated(body, height * line), np.uint8)
    if len(raw) != height * line:
        raise InputError(f"{path}: a block holds {len(raw)} bytes instead of {height * line}; the EXR file is damaged")
    at, parts, table = 0, [], raw.reshape(height, line)
    for kind in kinds:
        n = stored[kind.str]
        planes = table[:, at : at + n * width].reshape(height, n, width).astype(np.uint32)
        at += n * width
        shifts = range(8 * (4 if n >= 3 else 2) - 8, -1, -8)
        steps = sum(planes[:, i] << np.uint32(shift) for i, shift in zip(range(n), shifts))
        values = np.cumsum(steps, axis=1, dtype=np.uint32)
        parts.append(np.ascontiguousarray(values.astype("<u2" if n == 2 else "<u4")).view(np.uint8).reshape(height, -1))
    return np.concatenate(parts, axis=1)


def _check_blocks(path: Path, data: bytes, header: ExrHeader) -> None:
    for number, offset in enumerate(header.offsets.tolist()):
        _block(path, data, header, number, offset)


_CHILD = """
import sys, numpy, OpenEXR
with OpenEXR.File(sys.argv[1], separate_channels=True) as file:
    channels = file.channels()
    numpy.savez(sys.stdout.buffer, *(channels[name].pixels for name in sys.argv[2:]))
"""


def _by_library(path: Path, names: list[str]) -> list[np.ndarray]:
    """The chosen channels, decoded by the OpenEXR library in a process of its own."""
    command = [sys.executable, "-P", "-c", _CHILD, os.path.abspath(path), *names]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folder for folder in sys.path if folder)}
    try:
        done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, env=environment, check=True)
        with np.load(io.BytesIO(done.stdout), allow_pickle=False) as found:
            return [found[f"arr_{i}"] for i in range(len(names))]
    except subprocess.CalledProcessError as error:
        last = error.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no message"]
        raise InputError(f"{path}: the EXR file is damaged ({last[0][:120]}); copy or export it again") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"{path}: the EXR file took more than {_TIMEOUT} s to decode; it is damaged") from None


@writer(".exr")
def write_exr(path: Path, array: np.ndarray, texts: Mapping[str, str] | None = None, channel: str = "Z") -> None:
    """One channel, or R G B (A), as 32-bit floats with ZIP compression; `texts` become attributes of the header."""
    array = as_float32(array)
    if array.dtype != np.float32:
        raise ValueError(f"an EXR holds floating-point values here, got {array.dtype}; use .tiff or .npy")
    image = array[..., None] if array.ndim == 2 else array
    height, width, n_channels = image.shape
    names = channel if array.ndim == 2 else "RGBA"[:n_channels]
    order = sorted(range(n_channels), key=lambda i: names[i])  # channels are stored by name
    head = _header(width, height, [names[i] for i in order], texts or {})
    n_blocks = -(-height // _ZIP_LINES)
    offset = len(head) + 8 * n_blocks
    table, blocks = [], []
    for y in range(0, height, _ZIP_LINES):
        lines = image[y : y + _ZIP_LINES][:, :, order].transpose(0, 2, 1).astype("<f4", copy=True)
        raw = lines.tobytes()
        packed = zlib.compress(_predicted(np.frombuffer(raw, np.uint8)), 2)
        body = packed if len(packed) < len(raw) else raw
        table.append(offset)
        blocks.append(struct.pack("<ii", y, len(body)) + body)
        offset += len(blocks[-1])
    with path.open("wb") as file:
        file.write(head + struct.pack(f"<{n_blocks}Q", *table))
        file.writelines(blocks)


def _header(width: int, height: int, names: list[str], texts: Mapping[str, str]) -> bytes:
    channels = b"".join(name.encode() + b"\0" + struct.pack("<IIii", 2, 0, 1, 1) for name in names) + b"\0"
    window = struct.pack("<4i", 0, 0, width - 1, height - 1)
    attributes = [
        (b"channels", b"chlist", channels),
        (b"compression", b"compression", bytes([_ZIP])),
        (b"dataWindow", b"box2i", window),
        (b"displayWindow", b"box2i", window),
        (b"lineOrder", b"lineOrder", b"\0"),
        (b"pixelAspectRatio", b"float", struct.pack("<f", 1)),
        (b"screenWindowCenter", b"v2f", struct.pack("<ff", 0, 0)),
        (b"screenWindowWidth", b"float", struct.pack("<f", 1)),
        *((name.encode(), b"string", text.encode()) for name, text in texts.items()),
    ]
    out = b"v/1\x01" + struct.pack("<I", 2)
    for name, kind, value in attributes:
        out += name + b"\0" + kind + b"\0" + struct.pack("<I", len(value)) + value
    return out + b"\0"


def _predicted(raw: np.ndarray) -> bytes:
    """Separate even and odd bytes and take differences of neighbours, which deflate packs better."""
    apart = np.concatenate([raw[0::2], raw[1::2]])
    steps = apart.copy()
    steps[1:] -= apart[:-1]
    steps[1:] += 128
    return steps.tobytes()
