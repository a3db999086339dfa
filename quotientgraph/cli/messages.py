"""Messages for people, one line each on stderr, and documents for programs on stdout.

Everything is written through `write`, which replaces what the encoding of the stream cannot express: a terminal or a pipe
may be ASCII, a file name may hold bytes that are no text, and either stream may be closed.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

TRACEBACK = "QUOTIENTGRAPH_TRACEBACK"

# What the messages of this program hold beyond ASCII, for streams that cannot express it.
_PLAIN = str.maketrans(
    {
        "→": "->",
        "×": "x",
        "°": " degrees",
        "…": "...",
        "−": "-",
        "–": "-",
        "φ": "phi",
        "≤": "<=",
        "≥": ">=",
        "ü": "ue",
        "─": "-",
        "±": "+-",
        "θ": "theta",
        "Δ": "Delta",
    }
)


class UsageError(Exception):
    """The command line or a configuration file is wrong: exit code 2."""


def error(text: object) -> None:
    """Say that something failed."""
    say(f"quotientgraph: error: {text}")


def warning(text: object) -> None:
    """Say what a user should know about a result."""
    say(f"quotientgraph: warning: {text}")


def say(text: str) -> None:
    """Write a line on stderr, above a progress bar if there is one."""
    write(text + "\n", sys.stderr)


def tell(text: str) -> None:
    """Write a line on stdout, above a progress bar if there is one."""
    write(text + "\n", sys.stdout)


def write(text: str, stream: TextIO | None) -> None:
    """Write text to a stream, which may be closed (None), or unable to express some letters."""
    if stream is None:
        return
    text = printable(text, stream)
    with named(stream):
        if "tqdm" in sys.modules and getattr(sys.modules["tqdm"].tqdm, "_instances", None):
            sys.modules["tqdm"].tqdm.write(text, file=stream, end="")
        else:
            stream.write(text)
        if stream is sys.stderr:
            stream.flush()


@contextlib.contextmanager
def named(stream: TextIO) -> Iterator[None]:
    """Name the stream in the error if it cannot be written, except that its reader has gone away."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        name = "stderr" if stream is sys.stderr else "stdout"
        text = f"{name}: cannot be written ({problem.strerror or problem}); send it to another place"
        raise OSError(text) from problem


def printable(text: str, stream: TextIO | None = None) -> str:
    """The text in letters that the stream can express; without a stream, in letters that UTF-8 can.

    >>> printable("a \\udcff.png")
    'a \\\\udcff.png'
    """
    encoding = "utf-8" if stream is None else getattr(stream, "encoding", None) or "ascii"
    try:
        text.encode(encoding)
    except (UnicodeError, LookupError):
        plain = text if encoding.lower().replace("-", "") == "utf8" else text.translate(_PLAIN)
        try:
            return plain.encode(encoding, "backslashreplace").decode(encoding)
        except LookupError:
            return plain.encode("ascii", "backslashreplace").decode("ascii")
    return text


def print_json(document: Any) -> None:
    """Write a document on stdout. Numbers that JSON does not have become null."""
    plain = _plain(document)
    text = json.dumps(plain, indent=1, allow_nan=False, ensure_ascii=False)
    if sys.stdout is not None and printable(text, sys.stdout) != text:
        text = json.dumps(plain, indent=1, allow_nan=False)  # every letter as an escape, which is the same document
    write(text + "\n", sys.stdout)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def expected() -> tuple[type[Exception], ...]:
    """The exceptions that are not a fault of the program: about files, values, memory, packages and solvers."""
    if os.environ.get(TRACEBACK):
        return ()
    known: tuple[type[Exception], ...] = (ValueError, OSError, MemoryError, ImportError)
    loaded = sys.modules.get("laplacians")  # if it was never loaded, no solver can have failed
    return known if loaded is None else (*known, loaded.SolverError)


def one_line(problem: BaseException) -> str:
    """The message of an exception on one line."""
    if isinstance(problem, MemoryError):
        return "out of memory; use a smaller map, fewer --jobs, or tiles"
    if isinstance(problem, OSError) and problem.filename is not None:
        return f"{problem.filename}: {problem.strerror or problem}"
    if isinstance(problem, FileNotFoundError):
        try:
            os.getcwd()
        except FileNotFoundError:
            return "the current folder does not exist any more; change to another one"
    return " ".join(str(problem).split()) or type(problem).__name__


def about(path: object, text: str) -> str:
    """A message that begins with the name of the input, but does not repeat it.

    >>> about("in", "frame: nothing faces the camera"), about("in", "in/mask.png: not a PNG file")
    ('in: frame: nothing faces the camera', 'in/mask.png: not a PNG file')
    """
    return text if text.startswith((f"{path}:", f"{path}/")) else f"{path}: {text}"


def unexpected(problem: BaseException) -> str:
    """The message for a fault of the program, with what to report."""
    return (
        f"internal error, {type(problem).__name__}: {one_line(problem)}; "
        f"please report it with the output of {TRACEBACK}=1 quotientgraph …"
    )


def calm() -> None:
    """Silence the library's log: its messages are shown as warnings of the result, and once is enough."""
    for name in ("quotientgraph", "laplacians"):
        logging.getLogger(name).setLevel(logging.ERROR)
