"""Numba kernels that cost nothing until they are called.

``import numba`` takes longer than importing all of this project, so a kernel is declared with `kernel` and becomes a
Numba function at its first call. Kernels may call each other. Compiled code is cached on disk; where no folder can be
written, it is compiled anew in each process instead of failing.
"""

from __future__ import annotations

import os
import types
from collections.abc import Callable
from typing import Any

prange = range  # inside a compiled kernel this name means numba.prange


class Kernel:
    """A function that Numba compiles when it is first called."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.function = function
        self.options = options
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        return (self._compiled or self.compiled())(*args)

    def compiled(self) -> Callable[..., Any]:
        """The Numba function; kernels named in its body are resolved to theirs first."""
        if self._compiled is None:
            # GNU OpenMP's idle threads spin for long, which on a busy machine costs more than all the work.
            os.environ.setdefault("GOMP_SPINCOUNT", "10000")
            import numba

            source = self.function
            scope = dict(source.__globals__, prange=numba.prange)
            for name in source.__code__.co_names:
                if isinstance(scope.get(name), Kernel):
                    scope[name] = scope[name].compiled()
            bound = types.FunctionType(source.__code__, scope, source.__name__, source.__defaults__)
            bound.__module__, bound.__qualname__ = source.__module__, source.__qualname__
            try:
                self._compiled = numba.njit(bound, cache=True, **self.options)
            except RuntimeError:  # no writable place for the cache
                self._compiled = numba.njit(bound, **self.options)
        return self._compiled


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Declare a Numba kernel; `options` go to ``numba.njit`` (for instance ``parallel=True``)."""
    if function is None:
        return lambda f: Kernel(f, **options)
    return Kernel(function, **options)
