"""Messages for people, one line each on stderr, and documents for programs on stdout."""

from __future__ import annotations

import json
import math
import os
import sys
from typing import Any

TRACEBACK = "QUOTIENTGRAPH_TRACEBACK"


class UsageError(Exception):
    """The command line or a configuration file is wrong: exit code 2."""


def error(text: object) -> None:
    say(f"quotientgraph: error: {text}")


def warning(text: object) -> None:
    say(f"quotientgraph: warning: {text}")


def say(text: str) -> None:
    """Write a line on stderr, above a progress bar if there is one."""
    if "tqdm" in sys.modules:
        from tqdm import tqdm

        tqdm.write(text, file=sys.stderr)
    else:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def print_json(document: Any) -> None:
    """Write a document on stdout. Numbers that JSON does not have become null."""
    sys.stdout.write(json.dumps(_plain(document), indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def expected() -> tuple[type[Exception], ...]:
    """The exceptions that are not a fault of the program: about files, values, memory and solvers."""
    if os.environ.get(TRACEBACK):
        return ()
    known: tuple[type[Exception], ...] = (ValueError, OSError, MemoryError)
    loaded = sys.modules.get("laplacians")  # if it was never loaded, no solver can have failed
    return known if loaded is None else (*known, loaded.SolverError)


def one_line(problem: BaseException) -> str:
    """The message of an exception on one line."""
    if isinstance(problem, MemoryError):
        return "out of memory; use a smaller map, fewer --jobs, or tiles"
    if isinstance(problem, OSError) and problem.filename is not None:
        return f"{problem.filename}: {problem.strerror or problem}"
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
