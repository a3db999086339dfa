"""Numba kernels that cost nothing until they are called.

``import numba`` takes longer than importing all of this project, so a kernel is declared with `kernel` and becomes a
Numba function at its first call. Kernels may call each other. Compiled code is cached on disk; where no folder can be
written, it is compiled anew in each process instead of failing.

A parallel kernel takes three times as long to compile as a plain one, and its threads bring nothing where there is little
to do. So it may say from which size on it pays (``parallel_from``): smaller calls run, and compile, its serial form.
"""

from __future__ import annotations

import os
import types
from collections.abc import Callable
from typing import Any

prange = range  # inside a compiled kernel this name means numba.prange


class Kernel:
    """A function that Numba compiles when it is first called."""

    def __init__(self, function: Callable[..., Any], parallel_from: int = 0, **options: Any) -> None:
        self.function = function
        self.parallel_from = parallel_from
        self.options = options
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self._compiled: Callable[..., Any] | None = None
        self._serial: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        if self.parallel_from and max(getattr(a, "size", 0) for a in args) < self.parallel_from:
            return (self._serial or self.serial())(*args)
        return (self._compiled or self.compiled())(*args)

    def compiled(self) -> Callable[..., Any]:
        """The Numba function; kernels named in its body are resolved to theirs first."""
        if self._compiled is None:
            self._compiled = self._made("", **self.options)
        return self._compiled

    def serial(self) -> Callable[..., Any]:
        """The Numba function without threads; the same results."""
        if self._serial is None:
            # Numba's cache tells functions apart by name, not by options.
            self._serial = self._made("_serial", **{**self.options, "parallel": False})
        return self._serial

    def _made(self, suffix: str, **options: Any) -> Callable[..., Any]:
        # GNU OpenMP's idle threads spin for long, which on a busy machine costs more than all the work.
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")
        import numba

        source = self.function
        scope = dict(source.__globals__, prange=numba.prange)
        for name in source.__code__.co_names:
            if isinstance(scope.get(name), Kernel):
                scope[name] = scope[name].compiled()
        bound = types.FunctionType(source.__code__, scope, source.__name__ + suffix, source.__defaults__)
        bound.__module__, bound.__qualname__ = source.__module__, source.__qualname__ + suffix
        try:
            return numba.njit(bound, cache=True, **options)
        except RuntimeError:  # no writable place for the cache
            return numba.njit(bound, **options)


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Declare a Numba kernel.

    Options go to ``numba.njit``, for instance ``parallel=True``; but for ``parallel_from``: how many entries its largest
    argument must have for the parallel form to be used.
    """
    if function is None:
        return lambda f: Kernel(f, **options)
    return Kernel(function, **options)
