"""The orientation that a picture file states: how its pixels are to be turned before they are shown.

Cameras store pixels as the sensor gives them and note how the camera was held (EXIF tag 274, in JPEG, PNG, WebP and TIFF).
Some programs turn such a picture when they open it, others do not, so nobody can know which of the two a user has looked at.

- A normal map is never turned, because its vectors would have to be turned as well. A stated orientation is a warning.
- A mask or a texture belongs to a normal map. It is turned if it has the shape of the map only then. If it has that shape
  either way, it is used as it is stored, and that is a warning.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

_TAG = 274
_UPRIGHT = 1
_HEAD = 2**18  # bytes of a file that are searched; EXIF data come first, and are at most 64 KB long in a JPEG
_WORDS = {
    2: "mirrored from left to right",
    3: "turned by 180°",
    4: "mirrored from top to bottom",
    5: "mirrored along the diagonal",
    6: "turned by 90° clockwise",
    7: "mirrored along the other diagonal",
    8: "turned by 90° counter-clockwise",
}
_ASPECT = 0.02  # by this part the proportions of a texture and of a normal map may differ


def stated_orientation(thing: Any) -> int:
    """The orientation that a picture file or a PIL image states, 1 (upright) to 8; 1 if there is none.

    Examples
    --------
    >>> stated_orientation("there is no such file.jpg")
    1
    """
    if hasattr(thing, "getexif"):
        found = thing.getexif().get(_TAG, _UPRIGHT)
        return found if found in _WORDS else _UPRIGHT
    try:
        return _in_file(Path(thing))
    except (OSError, ValueError, TypeError, struct.error):  # the reader of the file says what is wrong with it
        return _UPRIGHT


def oriented(image: np.ndarray, orientation: int) -> np.ndarray:
    """The image as it is meant to be shown.

    Parameters
    ----------
    image : (H, W, ...) array
    orientation : int
        1 to 8, as `stated_orientation` returns it.

    Examples
    --------
    >>> oriented(np.array([[1, 2], [3, 4]]), 6).tolist()
    [[3, 1], [4, 2]]
    """
    if orientation >= 5:
        image = image.swapaxes(0, 1)
    rows, columns = {2: (1, -1), 3: (-1, -1), 4: (-1, 1), 6: (1, -1), 7: (-1, -1), 8: (-1, 1)}.get(orientation, (1, 1))
    return image[::rows, ::columns]


def like_the_map(
    image: np.ndarray, orientation: int, shape: tuple[int, int], source: Path | str
) -> tuple[np.ndarray, str, str]:
    """A mask or a texture, turned if only then it has the proportions of the normal map that it belongs to.

    Parameters
    ----------
    image : (H, W, ...) array
    orientation : int
        What the picture states.
    shape : (int, int)
        Height and width of the normal map.
    source : path or str
        What the picture is called in messages.

    Returns
    -------
    image : array
    note, warning : str
        That it was turned, and that it was not though it states an orientation; each is empty if there is nothing to say.

    Examples
    --------
    >>> like_the_map(np.zeros((4, 6)), 6, (6, 4), "mask.png")[1]
    'mask.png: turned by 90° clockwise, as it states'
    """
    if orientation == _UPRIGHT or image.ndim < 2:
        return image, "", ""
    how = _WORDS[orientation]
    turned = oriented(image, orientation)
    if _same_proportions(turned.shape, shape) and not _same_proportions(image.shape, shape):
        return turned, f"{source}: {how}, as it states", ""
    return image, "", f"{source}: {_not_applied(how)}; if the result does not fit, save the picture turned"


def about_normals(orientation: int, source: Path | str) -> list[str]:
    """A warning if a normal map states an orientation, which is not applied."""
    if orientation == _UPRIGHT:
        return []
    return [
        f"{source}: {_not_applied(_WORDS[orientation])}, because the directions of its normals would change as well; "
        "if it was turned by a camera or a viewer, save it again without EXIF data"
    ]


def _not_applied(how: str) -> str:
    return f"states that it is to be shown {how}, which was not applied"


def _same_proportions(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return abs(a[0] * b[1] - a[1] * b[0]) <= _ASPECT * a[0] * b[1]


def _in_file(path: Path) -> int:
    if path.suffix.lower() not in (".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff") or not path.is_file():
        return _UPRIGHT
    with path.open("rb") as file:
        head = file.read(_HEAD)
        if head[:2] == b"\xff\xd8":
            return _in_tiff(_exif_of_jpeg(head))
        if head[:8] == b"\x89PNG\r\n\x1a\n":
            return _in_tiff(_chunk(file, 8, b"eXIf", length_first=True))
        if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
            return _in_tiff(_chunk(file, 12, b"EXIF", length_first=False))
        if head[:4] in (b"II*\0", b"MM\0*"):
            return _in_tiff(_tiff_directory(file, head))
    return _UPRIGHT


def _exif_of_jpeg(data: bytes) -> bytes:
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] != 0xDA:
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        if data[at + 1] == 0xE1 and data[at + 4 : at + 10] == b"Exif\0\0":
            return data[at + 10 : at + 2 + length]
        at += 2 + length
    return b""


def _chunk(file: BinaryIO, at: int, wanted: bytes, *, length_first: bool) -> bytes:
    """The content of a chunk: of a PNG (length, name, content, checksum) or a WebP (name, length, content of even size)."""
    while True:
        file.seek(at)
        head = file.read(8)
        if len(head) < 8:
            return b""
        name, length = (head[4:], head[:4]) if length_first else (head[:4], head[4:])
        n = int.from_bytes(length, "big" if length_first else "little")
        if name == wanted:
            return file.read(min(n, _HEAD)).removeprefix(b"Exif\0\0")
        at += 12 + n if length_first else 8 + n + n % 2


def _tiff_directory(file: BinaryIO, head: bytes) -> bytes:
    """The first directory of a TIFF file, put where `_in_tiff` looks for it."""
    order = "<" if head[:2] == b"II" else ">"
    file.seek(struct.unpack(order + "I", head[4:8])[0])
    return head[:4] + struct.pack(order + "I", 8) + file.read(2 + 12 * 2**12)


def _in_tiff(data: bytes) -> int:
    """The orientation in the first directory of a TIFF structure, in which EXIF data are stored as well."""
    if data[:4] not in (b"II*\0", b"MM\0*"):
        return _UPRIGHT
    order = "<" if data[:2] == b"II" else ">"
    (at,) = struct.unpack_from(order + "I", data, 4)
    (n,) = struct.unpack_from(order + "H", data, at)
    for k in range(n):
        tag, kind, count = struct.unpack_from(order + "HHI", data, at + 2 + 12 * k)
        if tag == _TAG:
            (value,) = struct.unpack_from(order + ("H" if kind == 3 else "I"), data, at + 10 + 12 * k)
            return value if count == 1 and value in _WORDS else _UPRIGHT
    return _UPRIGHT
