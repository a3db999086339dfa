"""Where tasks run: in this process, on the machine's cores, or on a Dask cluster, with few of them in flight at a time."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from laplacians.core.edges import connected_labels

from .work import Written

Task = Callable[..., Written]
Result = dict[str, Any]

INSTALL = 'pip install "quotientgraph[scale]"'
_IN_FLIGHT = 2  # tasks for each thread of a worker: one that runs and one that waits
_DEATHS = 100  # of workers under one task, until the task itself is blamed
_THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Pool(Protocol):
    """Runs a task for many tiles."""

    def run(self, task: Callable[..., Result], tiles: Iterable[int], *args: Any) -> Iterator[tuple[int, Result]]:
        """Call ``task(args[0], k, *args[1:])`` for each tile k; yield k and the result as they come."""

    @property
    def dashboard(self) -> str | None:
        """Where to watch the work."""

    @property
    def elsewhere(self) -> bool:
        """Whether tasks run in other processes."""

    @property
    def threads(self) -> int:
        """Threads that one task may use."""


class Here:
    """One task after the other in this process: the way to integrate a map of any size in little memory."""

    dashboard: str | None = None
    elsewhere = False

    @property
    def threads(self) -> int:
        return _cores()

    def run(self, task: Callable[..., Result], tiles: Iterable[int], *args: Any) -> Iterator[tuple[int, Result]]:
        for k in tiles:
            yield k, task(args[0], k, *args[1:])


class OnDask:
    """Tasks as futures of a Dask client.

    Parameters
    ----------
    client : distributed.Client
    threads : int
        Threads that one task may use. A worker of Dask runs as many tasks at a time as it was given threads, so one is what
        it expects.
    """

    elsewhere = True

    def __init__(self, client: Any, threads: int = 1) -> None:
        self.client, self.threads = client, threads

    @property
    def dashboard(self) -> str | None:
        link = self.client.dashboard_link
        return str(link) if link else None

    def run(self, task: Callable[..., Result], tiles: Iterable[int], *args: Any) -> Iterator[tuple[int, Result]]:
        from distributed import KilledWorker, as_completed

        waiting, deaths = iter(tiles), dict[int, int]()
        running: dict[Any, int] = {}
        done = as_completed()

        def submit(k: int) -> None:
            future = self.client.submit(task, args[0], k, *args[1:], pure=False, retries=0)
            running[future] = k
            done.add(future)

        def fill_up() -> None:
            while len(running) < self._room():
                k = next(waiting, None)
                if k is None:
                    return
                submit(k)

        try:
            fill_up()
            while running:
                future = next(done)
                k = running.pop(future)
                try:
                    result = future.result()
                except KilledWorker:
                    deaths[k] = deaths.get(k, 0) + 1
                    if deaths[k] > _DEATHS:
                        raise
                    submit(k)
                    continue
                yield k, result
                future.release()
                fill_up()
        finally:
            for future in running:
                future.cancel()

    def _room(self) -> int:
        threads = sum(self.client.nthreads().values())
        return max(_IN_FLIGHT * threads, _IN_FLIGHT)


def check_pool(client: Any, workers: int | None) -> None:
    """Raise, before anything is written, what would keep the pool of `pool_for` from working."""
    started_here = client is None and (workers or _cores()) > 1
    needed = {"pyarrow": "PyArrow", "dask": "Dask"}
    if started_here or client is not None:
        needed["distributed"] = "Dask"
    for name, title in needed.items():
        if importlib.util.find_spec(name) is None:
            raise ImportError(f"{title} is not installed; install it with: {INSTALL}")
    if started_here and getattr(multiprocessing.current_process(), "_inheriting", False):
        raise RuntimeError(
            "the program that calls quotientgraph.scale.integrate is being imported by one of its own workers; put the call "
            'under `if __name__ == "__main__":`, or pass workers=1'
        )


def prepare() -> None:
    """Import what the driver will need after the first stage, in a thread, while workers have tasks and it has none."""

    def work() -> None:
        for name in ("numba", "dask.array", "pyarrow.parquet"):
            with contextlib.suppress(ImportError):  # who needs it says so
                importlib.import_module(name)
        connected_labels(2, np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64))

    threading.Thread(target=work, name="imports").start()


@contextlib.contextmanager
def pool_for(client: Any, workers: int | None) -> Iterator[Pool]:
    """The pool that a user asks for.

    Parameters
    ----------
    client : distributed.Client, str or None
        A client, or the address of a scheduler.
    workers : int, optional
        Processes on this machine if there is no client; by default one for each core. 1 means this process itself.
    """
    if client is not None and not isinstance(client, str):
        yield OnDask(client)
        return
    n = workers or _cores()
    if client is None and n == 1:
        yield Here()
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ImportError(f"Dask is not installed; install it with: {INSTALL}") from None
    if isinstance(client, str):
        with Client(client) as found:
            yield OnDask(found)
        return
    threads = max(1, _cores() // n)
    share = {name: str(threads) for name in _THREADS}
    with (
        LocalCluster(
            n_workers=n, threads_per_worker=1, processes=True, memory_limit=0, dashboard_address=":0", env=share
        ) as cluster,
        Client(cluster) as found,
    ):
        yield OnDask(found, threads)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
