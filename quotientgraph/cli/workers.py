"""A few processes that work through tasks. If one of them dies, only its own task fails."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Generator, Iterator
from multiprocessing import connection, get_context
from types import ModuleType
from typing import Any

from .messages import calm
from .reconstruct import InputTask, attempt
from .staging import discard

_THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run(tasks: list[InputTask], n_workers: int) -> Generator[tuple[InputTask, dict[str, Any]]]:
    """Yield each task with its record, in the order in which the tasks are finished.

    Workers are spawned, so that they share nothing with this process, and each may use its part of the cores.
    On an interrupt they are stopped, and their unfinished files are removed.
    """
    waiting = list(reversed(tasks))
    busy: dict[Any, tuple[Any, InputTask]] = {}  # connection -> process, task
    idle: list[tuple[Any, Any]] = []
    try:
        with _thread_share(n_workers):
            while waiting or busy:
                while waiting and len(busy) < n_workers:
                    process, line = idle.pop() if idle else _start()
                    task = waiting.pop()
                    busy[line] = process, task
                    with contextlib.suppress(OSError):  # the worker has died, which is noticed below
                        line.send(task)
                ready: list[Any] = connection.wait(list(busy))
                for line in ready:
                    process, task = busy[line]
                    try:
                        record = line.recv()
                        idle.append((process, line))
                    except (EOFError, OSError):
                        process.join()
                        record = _lost(task, process.exitcode)
                    del busy[line]
                    yield task, record
    finally:
        _stop([*(entry[0] for entry in busy.values()), *(process for process, _ in idle)])
        for _, task in busy.values():
            _tidy(task)


def _start() -> tuple[Any, Any]:
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there,), daemon=True)
    with _without_main(), _interrupts_held():
        process.start()
    there.close()
    return process, here


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Keep a spawned process from importing the parent's main script, which may lack a guard and is of no use to it."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back, here and in a process that starts meanwhile, which would answer it by a traceback until `_serve`."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(line: Any) -> None:
    """What a worker process does.

    Ctrl-C and the end of a terminal reach the whole group of processes, and only the parent acts on them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    calm()
    with contextlib.suppress(EOFError, OSError):
        while True:
            line.send(attempt(line.recv()))


def _stop(processes: list[Any]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        process.join(5)
        if process.is_alive():
            process.kill()
            process.join()


def _lost(task: InputTask, code: int | None) -> dict[str, Any]:
    _tidy(task)
    cause = f"signal {signal.Signals(-code).name}" if code and code < 0 else f"exit code {code}"
    text = f"{task.path}: the worker process ended ({cause}); probably out of memory, use fewer --jobs"
    return {"input": str(task.path), "name": task.name, "status": "failed", "error": text, "total_seconds": 0.0}


def _tidy(task: InputTask) -> None:
    for folder in (task.staging, task.dump_staging):
        if folder is not None:
            discard(folder)


@contextlib.contextmanager
def _thread_share(n_workers: int) -> Iterator[None]:
    """Set the environment so that each process started inside the block uses its part of the cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    before = {name: os.environ.get(name) for name in _THREADS}
    for name, value in before.items():
        share = max(1, cores // n_workers)
        os.environ[name] = str(min(share, int(value)) if value and value.isdigit() and int(value) > 0 else share)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
