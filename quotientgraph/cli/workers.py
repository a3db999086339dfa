"""A few processes that work through jobs; one that dies takes only its job along."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Generator, Iterator
from multiprocessing import connection, get_context
from types import ModuleType
from typing import Any

from .reconstruct import Job, attempt

_THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run(jobs: list[Job], n_workers: int) -> Generator[tuple[Job, dict[str, Any]]]:
    """Each job with its record, in the order in which they are done.

    Workers are spawned, so that nothing of this process is shared with them, and each may use its part of the cores.
    On an interrupt they are told to stop, and what they left is removed.
    """
    waiting = list(reversed(jobs))
    busy: dict[Any, tuple[Any, Job]] = {}  # connection -> process, job
    idle: list[tuple[Any, Any]] = []
    try:
        with _thread_share(n_workers):
            while waiting or busy:
                while waiting and len(busy) < n_workers:
                    process, line = idle.pop() if idle else _start()
                    job = waiting.pop()
                    busy[line] = process, job
                    with contextlib.suppress(OSError):  # it has died: its line is at its end, seen below
                        line.send(job)
                ready: list[Any] = connection.wait(list(busy))
                for line in ready:
                    process, job = busy[line]
                    try:
                        record = line.recv()
                        idle.append((process, line))
                    except (EOFError, OSError):
                        process.join()
                        record = _lost(job, process.exitcode)
                    del busy[line]
                    yield job, record
    finally:
        _stop([*(entry[0] for entry in busy.values()), *(process for process, _ in idle)])
        for _, job in busy.values():
            _tidy(job)


def _start() -> tuple[Any, Any]:
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there,), daemon=True)
    with _without_main():
        process.start()
    there.close()
    return process, here


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """A spawned process imports the parent's main script first; a worker has no use for it, and it may not be guarded."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _serve(line: Any) -> None:
    """A worker's life. Ctrl-C reaches the whole group of processes; only the parent listens to it."""
    from .integrate import calm

    signal.signal(signal.SIGINT, signal.SIG_IGN)
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


def _lost(job: Job, code: int | None) -> dict[str, Any]:
    _tidy(job)
    cause = f"signal {signal.Signals(-code).name}" if code and code < 0 else f"exit code {code}"
    text = f"{job.path}: the worker process ended ({cause}); probably out of memory, use fewer --jobs"
    return {"input": str(job.path), "name": job.name, "status": "failed", "error": text, "total_seconds": 0.0}


def _tidy(job: Job) -> None:
    for folder in (job.staging, job.dump_staging):
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _thread_share(n_workers: int) -> Iterator[None]:
    """Environment for processes started inside: each may use its part of the cores."""
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
