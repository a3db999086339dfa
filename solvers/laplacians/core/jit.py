"""Numba kernels that cost nothing until they are called.

``import numba`` takes longer than importing all of this project, so a kernel is declared with `kernel` and becomes a
Numba function at its first call. Kernels may call each other. Compiled code is kept on disk (`laplacians.core.cache`), and
kernels do not hold the global interpreter lock, so that threads can work side by side.

A kernel whose last parameter is ``share=WHOLE`` does the part of a loop that `portion` gives it, and several threads call it
at once, each for its own share (`laplacians.core.sharing`). Threads gain nothing where there is little to do, so it may say
from which size on they pay (``parallel_from``). Numba's own parallel loops (``parallel=True`` and `prange`) remain for
kernels that alternate between parallel and serial work; they take three to five times as long to compile, and both forms
of them may be needed.
"""

from __future__ import annotations

import gc
import os
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from numpy import ndarray

from . import threads
from .compiling import announce, measured
from .sharing import WHOLE, run_shared

prange = range  # inside a compiled kernel this name means numba.prange


class Kernel:
    """A function that Numba compiles when it is first called; see `kernel`.

    Attributes
    ----------
    function : callable
        The function as it was written. Calling it runs Python.
    parallel_from : int
        Number of entries of the largest argument from which on threads are used.
    options : dict
        Options of ``numba.njit``.
    """

    def __init__(self, function: Callable[..., Any], parallel_from: int = 0, **options: Any) -> None:
        self.function = function
        self.parallel_from = parallel_from
        self.options = options
        self.shared = function.__code__.co_varnames[: function.__code__.co_argcount][-1:] == ("share",)
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self._compiled: Callable[..., Any] | None = None
        self._serial: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        if self.shared:
            function = self._compiled or self.compiled()
            if args[-1] is WHOLE:  # the caller wants no threads
                return function(*args)
            for argument in args:
                if type(argument) is ndarray and argument.size >= self.parallel_from:
                    return run_shared(function, args)
            return function(*args, WHOLE)
        if "parallel" not in self.options:
            return (self._compiled or self.compiled())(*args)
        little = self.parallel_from and max(getattr(a, "size", 0) for a in args) < self.parallel_from
        if little or threads.serial_only():
            return (self._serial or self.serial())(*args)
        return threads.run_parallel(self._compiled or self.compiled(), args)

    @property
    def is_loaded(self) -> bool:
        """Whether the Numba function has been made, which the first call does."""
        return self._compiled is not None

    def compiled(self) -> Callable[..., Any]:
        """The Numba function, with threads if the kernel was declared so."""
        if self._compiled is None:
            with threads.making, measured():
                self._compiled = self._compiled or self._made(self.options)
        return self._compiled

    def serial(self) -> Callable[..., Any]:
        """The Numba function without threads, which gives the same results."""
        if "parallel" not in self.options:
            return self.compiled()
        if self._serial is None:
            with threads.making, measured():
                self._serial = self._serial or self._made({**self.options, "parallel": False})
        return self._serial

    def _made(self, options: dict[str, Any]) -> Callable[..., Any]:
        """The Numba function with the given options; kernels named in its body are replaced by theirs."""
        # The idle threads of GNU OpenMP spin for long, which on a busy machine costs more than all the work.
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")
        threads.watch_forks()
        import numba

        from .cache import KernelCache

        # The wrapper with which C would call a kernel is never used.
        source, options = self.function, {"nogil": True, "no_cfunc_wrapper": True, **options}
        scope = dict(source.__globals__, prange=numba.prange)
        for name, called in self._calls().items():
            scope[name] = called.compiled() if options.get("parallel") else called.serial()
        # Numba tells functions apart by name in what it loads from disk, so the two forms of a kernel have different names.
        suffix = "_serial" if options.get("parallel") is False else ""
        bound = types.FunctionType(source.__code__, scope, source.__name__ + suffix, source.__defaults__)
        bound.__module__, bound.__qualname__ = source.__module__, source.__qualname__ + suffix
        hastening = _hastening()
        lean = {"pipeline_class": hastening.LeanCompiler} if hastening and not options.get("parallel") else {}
        dispatcher = numba.njit(bound, **options, **lean)
        if numba.config.DISABLE_JIT:  # then it is the Python function
            return dispatcher
        file = source.__code__.co_filename
        short = f"{os.path.splitext(os.path.basename(file))[0]}.{bound.__qualname__.replace('<locals>.', '')}"
        dispatcher._cache = KernelCache(short, file, self.stamp(), repr(sorted(options.items())))
        dispatcher.compile = _timed(dispatcher, short)
        return dispatcher

    def stamp(self) -> str:
        """A text that changes whenever the compiled code may: instructions, constants, and kernels that are called."""
        code, scope = self.function.__code__, self.function.__globals__
        constants = [c for c in code.co_consts if c != self.__doc__]
        values = {name: scope[name] for name in code.co_names if isinstance(scope.get(name), int | float | str | tuple)}
        called = [(kernel.stamp(), sorted(kernel.options.items())) for kernel in self._calls().values()]
        names = code.co_names, code.co_varnames, self.function.__defaults__
        return repr((code.co_code, constants, values, names, called))

    def _calls(self) -> dict[str, Kernel]:
        """The kernels that are named in the body, by name."""
        found = {name: self.function.__globals__.get(name) for name in self.function.__code__.co_names}
        return {name: value for name, value in found.items() if isinstance(value, Kernel)}


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Declare a Numba kernel.

    Parameters
    ----------
    function : callable
        It may use numpy, `prange`, constants of its module, and other kernels.
    **options
        Options of ``numba.njit``; and ``parallel_from``: the number of entries that its largest argument must have for
        threads to be used. With ``inline="always"`` it is compiled as a part of the kernels that call it and never on
        its own, which saves the time of doing so.

    Returns
    -------
    Kernel
        To be called like the function, with positional arguments.

    Examples
    --------
    >>> @kernel
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    """
    if function is None:
        return lambda f: Kernel(f, **options)
    return Kernel(function, **options)


@kernel(inline="always")
def portion(n, share):
    """The part of ``range(n)`` that belongs to share (k, b): the k-th of 2^b parts. For loops of kernels."""
    return range(n * share[0] >> share[1], n * (share[0] + 1) >> share[1])


def _timed(dispatcher: Any, name: str) -> Callable[[Any], Any]:
    """The method `compile` of a dispatcher with its time measured and announced."""
    compile_signature, hastening = dispatcher.compile, _hastening()

    def compile_and_measure(signature: Any) -> Any:
        missed, began = dispatcher.stats.cache_misses.copy(), time.perf_counter()
        try:
            with measured(), _without_collection(), hastening.types_remembered() if hastening else nullcontext():
                entry = compile_signature(signature)
        finally:
            dispatcher._cache.release()
        if dispatcher.stats.cache_misses != missed:
            announce(name, time.perf_counter() - began)
        return entry

    return compile_and_measure


def _hastening() -> Any:
    """The module `hastening`, or None if this version of Numba is built otherwise than it expects."""
    try:
        from . import hastening
    except (ImportError, AttributeError):
        return None
    return hastening


@contextmanager
def _without_collection() -> Iterator[None]:
    """Pause Python's search for reference cycles: a compiler makes many objects, and looking through them takes a tenth."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
