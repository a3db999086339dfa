"""Work on one kernel by several threads of Python.

A kernel does not hold the interpreter lock, so two threads that call it at the same time, each for its share of a loop, use
two cores. Compared with the parallel loops of Numba the compiled code is the serial one: one form instead of two, and in a
third of the time to compile. Several callers at once share the helpers, and a caller that finds no helper idle does all the
work itself; so the processor is never given more threads than it has cores by one caller.

What cannot be divided into shares can still be done beside something else: a `Later` is begun by a helper while its maker
goes on, and asked for its result when that is needed.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, Protocol

from .compiling import compile_seconds, compiled_elsewhere

# Share k of 2^b of a loop is written (k, b): a shift compiles sooner than a division that must not be by zero.
WHOLE = (0, 0)
EMPTY = (0, 62)  # no loop is so long that a part of it would be left
# Shares for each thread, at least: several, so that a thread which the system has set aside does not hold up the others.
_SHARES = 4


class _Work(Protocol):
    """What a helper can be asked for."""

    def work(self) -> None:
        """Do what is left of it."""


class _Helpers:
    """Threads that wait for work, started when they are first needed and anew in a forked child."""

    def __init__(self) -> None:
        self.waiting: SimpleQueue[_Work] = SimpleQueue()
        self.count = 0
        self.starting = threading.Lock()

    def ask(self, task: _Work, n: int) -> None:
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
    task.args = ()  # a busy helper may find the task much later, and memory may be wanted before that
    if task.error is not None:
        raise task.error


def in_blocks(function: Callable[[slice], Any], n: int, size: int = 2**15) -> None:
    """Call a function for all parts of a vector of n entries, on as many threads as there are.

    It is meant for array expressions: the arrays of a part stay in the caches, and NumPy does not hold the interpreter lock
    while it works on them. Kernels that the function calls use one thread, unless there is one part only.

    Parameters
    ----------
    function : callable
        Given a slice of at most `size` entries; different slices may not write to the same place.
    n, size : int
    """

    def work(share: tuple[int, int]) -> None:
        n_blocks = -(-n // size)
        with at_most(1):
            for b in range(n_blocks * share[0] >> share[1], n_blocks * (share[0] + 1) >> share[1]):
                function(slice(b * size, min(n, (b + 1) * size)))

    if n > size:
        run_shared(work, ())
    elif n:
        function(slice(0, n))


class Later:
    """A call that a helper makes while the caller goes on; the caller makes it itself if no helper has begun it by then.

    Where kernels may use one thread only, no helper is asked. A helper gives kernels one thread, since the caller needs the
    others, and makes at once what it is itself told to make later.

    Parameters
    ----------
    function : callable
    *args
        Nobody may change what they refer to before the result is asked for.

    Examples
    --------
    >>> Later(max, 3, 4).result()
    4
    """

    def __init__(self, function: Callable[..., Any], *args: Any) -> None:
        self.call: tuple[Any, ...] = (function, *args)
        self.taken, self.done = itertools.count(), threading.Lock()
        self.value: Any = None
        self.error: BaseException | None = None
        self.compiling = 0.0
        self.done.acquire()
        if getattr(_most, "helping", False):
            self._make()
        elif n_threads() > 1:
            _helpers.ask(self, 1)

    def work(self) -> None:
        """Make the call, unless somebody has begun it. For helpers."""
        _most.helping = True
        try:
            with at_most(1):
                self._make()
        finally:
            _most.helping = False

    def result(self) -> Any:
        """What the call returns, or the exception that it raises."""
        if not self._make():
            with compiled_elsewhere(self):
                self.done.acquire()
            self.done.release()  # for others who wait
        if self.error is not None:
            raise self.error
        return self.value

    def _make(self) -> bool:
        """Make the call if nobody has begun it; False if somebody has."""
        if next(self.taken):
            return False
        (function, *args), self.call, before = self.call, (), compile_seconds()
        try:
            self.value = function(*args)
        except BaseException as error:  # it belongs to who asks for the result
            self.error = error
        self.compiling = compile_seconds() - before
        self.done.release()
        return True


def _after_fork_in_child() -> None:
    """A child has none of its parent's threads."""
    global _helpers
    _helpers = _Helpers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
