"""Work on one kernel by several threads of Python.

A kernel does not hold the interpreter lock, so two threads that call it at the same time, each for its share of a loop, use
two cores. Compared with the parallel loops of Numba the compiled code is the serial one: one form instead of two, and in a
third of the time to compile. Several callers at once share the helpers, and a caller that finds no helper idle does all the
work itself; so the processor is never given more threads than it has cores by one caller.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

# Share k of 2^b of a loop is written (k, b): a shift compiles sooner than a division that must not be by zero.
WHOLE = (0, 0)
EMPTY = (0, 62)  # no loop is so long that a part of it would be left
# Shares for each thread, at least: several, so that a thread which the system has set aside does not hold up the others.
_SHARES = 4


class _Helpers:
    """Threads that wait for work, started when they are first needed and anew in a forked child."""

    def __init__(self) -> None:
        self.waiting: SimpleQueue[_Task] = SimpleQueue()
        self.count = 0
        self.starting = threading.Lock()

    def ask(self, task: _Task, n: int) -> None:
        """Let up to n helpers take part in a task."""
        if self.count < n:
            with self.starting:
                while self.count < n:
                    threading.Thread(target=self._serve, name="kernel helper", daemon=True).start()
                    self.count += 1
        for _ in range(n):
            self.waiting.put(task)

    def _serve(self) -> None:
        while True:
            self.waiting.get().work()


class _Task:
    """A call whose shares are taken by whoever comes first; `all_done` is released with the last of them."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], bits: int) -> None:
        self.function, self.args, self.bits, self.n_shares = function, args, bits, 1 << bits
        self.taken, self.finished = itertools.count(), itertools.count(1)
        self.all_done = threading.Lock()
        self.all_done.acquire()
        self.error: BaseException | None = None

    def work(self) -> None:
        """Do shares until none is left."""
        for k in self.taken:
            if k >= self.n_shares:
                return
            try:
                self.function(*self.args, (k, self.bits))
            except BaseException as error:  # it belongs to the caller, not to the helper
                self.error = error
            if next(self.finished) == self.n_shares:
                self.all_done.release()


_helpers = _Helpers()


_most = threading.local()


def n_threads() -> int:
    """Number of threads that a kernel may use: what NUMBA_NUM_THREADS says, or the number of cores; see `at_most`."""
    import numba

    return min(int(numba.config.NUMBA_NUM_THREADS), getattr(_most, "n", 2**31))


@contextmanager
def at_most(n: int) -> Iterator[None]:
    """Let kernels that this thread calls use at most so many threads."""
    before, _most.n = getattr(_most, "n", 2**31), n
    try:
        yield
    finally:
        _most.n = before


def run_shared(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Call a compiled kernel for all shares of its loop, on as many threads as there are.

    Parameters
    ----------
    function : callable
        Called as ``function(*args, share)``; different shares may not write to the same place.
    args : tuple
    """
    helpers = n_threads() - 1
    if helpers < 1:
        function(*args, WHOLE)
        return
    function(*args, EMPTY)  # it is compiled in this thread, which counts that time
    task = _Task(function, args, (_SHARES * (helpers + 1) - 1).bit_length())
    _helpers.ask(task, helpers)
    task.work()
    task.all_done.acquire()
    if task.error is not None:
        raise task.error


def _after_fork_in_child() -> None:
    """A child has none of its parent's threads."""
    global _helpers
    _helpers = _Helpers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
