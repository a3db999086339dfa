"""What callers can learn about compilation: that it is under way, how long it took, and what was wrong with its cache.

A kernel is compiled at its first call, once per machine, since compiled code is kept on disk. That takes seconds, which a
program will want to explain to its user and to leave out of its timings.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_LOG = logging.getLogger(__name__)

# Functions f(name, seconds) to be called in the thread that compiles: with seconds = None when the compilation of a kernel
# begins, and with the time it took when it is done. Loading a kernel from disk does not count as compilation.
on_compile: list[Callable[[str, float | None], None]] = []
_notes: dict[str, str] = {}


class _Clock(threading.local):
    """The time that a thread has spent so far, and how deeply its measurements are nested."""

    seconds = 0.0
    depth = 0


_clock = _Clock()


def compile_seconds() -> float:
    """Seconds that this thread has spent so far on compiling kernels and loading them from disk.

    Subtract the difference of two calls from a measured time to learn what the work itself took.

    Returns
    -------
    float

    Examples
    --------
    >>> compile_seconds() >= 0
    True
    """
    return _clock.seconds


def working_clock() -> float:
    """A clock, in seconds, that stands still while this thread compiles kernels or loads them from disk.

    Returns
    -------
    float
        Only differences of two readings mean something.

    Examples
    --------
    >>> began = working_clock()
    >>> working_clock() >= began
    True
    """
    return time.perf_counter() - _clock.seconds


def kernel_notes() -> tuple[str, ...]:
    """What a user should know about the cache of compiled kernels, each said once; empty if all is well.

    Returns
    -------
    tuple of str
        Whole sentences: a damaged cache that was renewed, a folder that cannot be written, a disk that is full.

    Examples
    --------
    >>> isinstance(kernel_notes(), tuple)
    True
    """
    return tuple(_notes.values())


def note(kind: str, text: str) -> None:
    """Log a warning about the cache and keep it for `kernel_notes`, once for each kind."""
    if kind not in _notes:
        _notes[kind] = text
        _LOG.warning("%s", text)


@contextmanager
def measured() -> Iterator[None]:
    """Count the time of a block as time spent on compilation; a block inside another is counted once."""
    began, _clock.depth = time.perf_counter(), _clock.depth + 1
    try:
        yield
    finally:
        _clock.depth -= 1
        if _clock.depth == 0:
            _clock.seconds += time.perf_counter() - began


@contextmanager
def compiled_elsewhere(other: Any) -> Iterator[None]:
    """While this thread waits for another one: count of the time what that thread spends on compiling.

    Parameters
    ----------
    other : object
        Has that time as `compiling`, in seconds, when the block ends.
    """
    began = time.perf_counter()
    yield
    _clock.seconds += min(time.perf_counter() - began, other.compiling)


def announce(name: str, seconds: float | None) -> None:
    """Call every function of `on_compile`."""
    for callback in tuple(on_compile):
        callback(name, seconds)
