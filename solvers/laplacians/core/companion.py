"""A second process that compiles kernels on another core while this one compiles those that it needs first.

Numba compiles one kernel at a time in a process. On a first run the program therefore names a module of which a function
uses the kernels of the later stages on small inputs. When the first kernel has to be compiled, a process starts that runs
it; what it compiles is found in the cache, and a kernel that it is just compiling is waited for. It ends with this process.
Where no kernel has been kept it starts sooner, while this process is still importing Numba.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import logging
import os
import subprocess
import sys
import threading

from . import claims
from .folders import any_kernel
from .sharing import n_threads

_LOG = logging.getLogger(__name__)
_MARK = "LAPLACIANS_COMPANION"  # set in the environment of the second process; the value "off" switches this off

_task: tuple[str, str] | None = None  # a module and the name of a function in it
_process: subprocess.Popen[bytes] | None = None
_CODE = "import sys; sys.path[:] = {path!r}; from laplacians.core import companion; companion.serve(*{task!r})"
_PATIENCE = 1.0  # seconds in which the second process can end by itself


def use(module: str, source: str | None = None, function: str = "main") -> None:
    """Name the function that a second process shall run once a kernel has to be compiled.

    Parameters
    ----------
    module : str
        The full name of its module. The first one counts.
    source : str, optional
        A source file of kernels that are needed in any case. If none of them has been kept, the process starts at once.
    function : str
        Its name.
    """
    global _task
    _task = _task or (module, function)
    if source is not None and not any_kernel(source, _cache_folder()):
        start()


def start() -> None:
    """Start the second process, once; does nothing if no module was named or only one thread may be used."""
    global _process
    # Where Python is part of another program, the executable is that program.
    python = os.path.basename(sys.executable or "").lower().startswith(("python", "pypy"))
    if _task is None or _process is not None or _MARK in os.environ or not python or _n_threads() < 2:
        return
    threads = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, _MARK: "1", "NUMBA_CACHE_DIR": _cache_folder()}
    code = _CODE.format(path=sys.path, task=_task)
    try:
        _process = subprocess.Popen(
            [sys.executable, "-c", code],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # Windows would open a console
        )
    except OSError as error:  # a system that allows no further process; this one compiles everything then
        _LOG.debug("no second process to compile kernels: %s", error)
        os.environ[_MARK] = "off"
        return
    threading.Thread(target=_process.wait, name="compile companion", daemon=True).start()
    atexit.register(_stop, _process)


def _cache_folder() -> str:
    """The folder for compiled kernels that the program or its environment chose; empty if none did."""
    if "numba" in sys.modules:
        return str(sys.modules["numba"].config.CACHE_DIR)
    return os.environ.get("NUMBA_CACHE_DIR", "")


def _n_threads() -> int:
    """`n_threads`, found without an import of Numba, which takes as long as to start a process."""
    told = os.environ.get("NUMBA_NUM_THREADS", "")
    if "numba" in sys.modules or (told and not told.isdecimal()):
        return n_threads()
    return (
        int(told) if told else len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )


def serve(module: str, function: str) -> None:
    """In the second process: run a function of a module, unless the first process ends before."""

    def watch() -> None:
        sys.stdin.buffer.read()  # ends when the other end of the pipe is closed
        claims.release_all()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    getattr(importlib.import_module(module), function)()


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the second process."""
    with contextlib.suppress(OSError):
        process.stdin.close()  # type: ignore[union-attr]
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
