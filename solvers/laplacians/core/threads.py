"""Parallel kernels that are safe in forked children and in several threads at once.

A process that has used threads for kernels must not use them again in a child that it forks: GNU OpenMP ends the child, and
other thread pools never answer. Such a child runs the serial form of every kernel, which gives the same result. Of Numba's
threading layers, "workqueue" ends the process when two threads enter it together, so there they take turns.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

# Numba's threading layers that several threads may enter at the same time.
_CONCURRENT = ("omp", "tbb")

making = threading.RLock()  # held while a kernel is made
_turn = threading.Lock()
_serial_only = False
_concurrent = False
_registered = False
_held: list[Any] = []


def serial_only() -> bool:
    """Whether this process is a fork of one that has used threads for kernels."""
    return _serial_only


def run_parallel(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Call a parallel kernel; threads take turns unless the threading layer allows several at once."""
    global _concurrent
    if _concurrent:
        return function(*args)
    with _turn:
        result = function(*args)
        _concurrent = _layer() in _CONCURRENT
    return result


def watch_forks() -> None:
    """Have forks noticed from now on; to be called before the first kernel is made."""
    global _registered
    if not _registered and hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before_fork, after_in_parent=_release, after_in_child=_after_fork_in_child)
    _registered = True


def _layer() -> str | None:
    """The name of Numba's threading layer, or None if no parallel kernel has been loaded."""
    if "numba" not in sys.modules:
        return None
    import numba

    try:
        return numba.threading_layer()
    except ValueError:
        return None


def _before_fork() -> None:
    """Wait for other threads to finish compiling: a child could never take a lock that one of them holds."""
    making.acquire()
    compiler = sys.modules.get("numba.core.compiler_lock")
    if compiler is not None:
        compiler.global_compiler_lock.acquire()
    _held.append(compiler)


def _release() -> None:
    compiler = _held.pop()
    if compiler is not None:
        compiler.global_compiler_lock.release()
    making.release()


def _after_fork_in_child() -> None:
    global _serial_only
    _release()
    _serial_only = _serial_only or _layer() is not None
