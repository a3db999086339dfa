"""File formats as plug-ins: one reader and one writer per suffix, and the errors they may raise.

A reader takes a path and returns an array as it stands in the file, or a dictionary of named arrays; what the
numbers mean is decided elsewhere. A writer takes a path and an array. Any exception of a decoder becomes an
`InputError` that names the file. Other packages add formats with the decorators below, in a module which they list
under the entry point group ``quotientgraph.io``.

>>> @reader(".sum")
... def read_sum(path):
...     return np.array([[float(path.read_text().count("+"))]])
>>> ".sum" in readable()
True
>>> _ = _READERS.pop(".sum")
"""

from __future__ import annotations

import importlib
import stat
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import TypeVar

import numpy as np

from .atomic import OutputError, atomic
from .memory import shortage

Reader = Callable[[Path], "np.ndarray | Mapping[str, np.ndarray]"]
Writer = Callable[[Path, np.ndarray], None]
Function = TypeVar("Function", bound=Callable[..., object])

MAX_PIXELS = 2**29
# Deflate cannot expand more than 1032 times: a header that promises more than that is damaged or malicious.
MAX_EXPANSION = 1100
ALWAYS_ALLOWED = 2**26  # bytes
NORMAL_BYTES = 20  # for each pixel: three floats, and what is computed on the way to them

_READERS: dict[str, Reader] = {}
_WRITERS: dict[str, Writer] = {}
_loaded = False


class InputError(ValueError):
    """A file cannot be understood. The message names the file, what it holds and the remedy."""


def reader(*suffixes: str) -> Callable[[Function], Function]:
    """Register the decorated function as the reader of these suffixes."""
    return _register(_READERS, suffixes)


def writer(*suffixes: str) -> Callable[[Function], Function]:
    """Register the decorated function as the writer of these suffixes."""
    return _register(_WRITERS, suffixes)


def _register(table: dict, suffixes: tuple[str, ...]) -> Callable[[Function], Function]:
    for suffix in suffixes:
        if not suffix.startswith("."):
            raise ValueError(f"suffix={suffix!r} must start with a dot, for instance '.png'")

    def add(function: Function) -> Function:
        table.update({suffix.lower(): function for suffix in suffixes})
        return function

    return add


def readable() -> list[str]:
    """The suffixes that can be read."""
    _load_plugins()
    return sorted(_READERS)


def writable() -> list[str]:
    """The suffixes of images that can be written."""
    _load_plugins()
    return sorted(_WRITERS)


def _load_plugins() -> None:
    global _loaded
    if not _loaded:
        _loaded = True
        for name in ("numpy_files", "mat_files", "image_files", "photo_files", "exr_files"):
            importlib.import_module(f"{__package__}.{name}")
        for entry in entry_points(group="quotientgraph.io"):
            entry.load()


def read_arrays(path: Path | str) -> dict[str, np.ndarray]:
    """All arrays of a file by name; an image has the single name ``""``."""
    path = Path(path)
    check_file(path)
    read = _READERS.get(path.suffix.lower()) if path.suffix.lower() in readable() else None
    if read is None:
        raise InputError(f"{path}: the suffix {path.suffix!r} is not known; use one of {' '.join(readable())}")
    try:
        found = read(path)
        arrays = dict(found) if isinstance(found, Mapping) else {"": np.asarray(found)}
    except InputError:
        raise
    except MemoryError:
        raise InputError(f"{path}: there is not enough memory to read it; use a smaller map or tiles") from None
    except Exception as error:  # decoders raise what they like, from struct.error to RecursionError
        raise InputError(f"{path}: not a readable {path.suffix[1:].upper()} file ({_one_line(error)})") from error
    for name, array in arrays.items():
        if array.size == 0:
            raise InputError(f"{path}: {f'array {name!r}' if name else 'the image'} is empty, shape {array.shape}")
    return arrays


def check_file(path: Path) -> None:
    """Raise `InputError` unless `path` is a file with something in it that may be read."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError(f"{path}: is a folder, a file was expected")
        if not stat.S_ISREG(mode):
            raise InputError(f"{path}: is neither a file nor a folder; save it as a file first")  # a pipe would block
        with path.open("rb") as file:
            if not file.read(1):
                raise InputError(f"{path}: the file is empty; write or download it again")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file{'' if path.suffix else ' or folder'}") from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        if isinstance(error, InputError):
            raise
        error = error if isinstance(error, OSError) else OSError(str(error))
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None


def check_size(path: Path, shape: tuple[int, ...], item_bytes: int, file_bytes: int) -> None:
    """Raise `InputError` before gigabytes are allocated for a shape that only a damaged header states."""
    values = 1
    for n in shape:
        values *= int(n)
    pixels = values // min(int(n) for n in shape) if len(shape) > 2 and values else values
    if pixels > MAX_PIXELS or any(n < 0 for n in shape):
        raise InputError(f"{path}: its header says {tuple(shape)}, beyond the limit of 2**29 pixels; damaged?")
    if values * item_bytes > max(ALWAYS_ALLOWED, MAX_EXPANSION * file_bytes):
        raise InputError(
            f"{path}: its header says {tuple(shape)} in a file of {file_bytes} bytes; it is damaged or cut"
        )
    lacking = shortage(values * item_bytes + NORMAL_BYTES * pixels)
    if lacking:
        raise InputError(f"{path}: {tuple(shape)} {lacking}")


def write_image(path: Path | str, array: np.ndarray) -> None:
    """Write an array in the format of the suffix, atomically."""
    path = Path(path)
    if path.suffix.lower() not in writable():
        raise OutputError(f"{path}: the suffix {path.suffix!r} is not known; use one of {' '.join(writable())}")
    with atomic(path) as part:
        try:
            _WRITERS[path.suffix.lower()](part, array)
        except (ValueError, TypeError) as error:
            raise OutputError(f"{path}: {_one_line(error)}") from error


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else text[:157] + "..."
