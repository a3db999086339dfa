"""How much more work two cores do than one: the same integrations alone, in two processes, and in two threads at once.

Each process is new, has its kernels compiled or loaded before it is measured, and begins when it is told to, so that two of
them work at the same time from the first to the last integration.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time

from ..integration import integrate
from ..scenes import make
from .tables import Entry

GOAL = 1.7
_HEADING = "two at once, times the work of one"
_SHAPE, _RUNS = (480, 640), 8


def throughput(shape: tuple[int, int] = _SHAPE, n_runs: int = _RUNS, repeat: int = 3) -> list[Entry]:
    """Measure how much two processes, or two threads of a program, do in the time in which one of them does its work.

    Parameters
    ----------
    shape : height, width
        Of the map that is integrated.
    n_runs : int
        Integrations of each process or thread.
    repeat : int
        How often each time is measured, in turn; the best counts.

    Returns
    -------
    list of Entry
    """
    arrangements = {"one": (1, 1), "processes": (2, 1), "threads of one program": (1, 2)}
    best = dict.fromkeys(arrangements, float("inf"))
    for _ in range(max(1, repeat)):
        for name, (n_processes, n_threads) in arrangements.items():
            best[name] = min(best[name], _seconds(shape, n_runs, n_processes, n_threads))
    return [
        entry
        for name in list(arrangements)[1:]
        for entry in (
            Entry(_HEADING, name, "measured", 2 * best["one"] / best[name]),
            Entry(_HEADING, name, "goal", GOAL),
        )
    ]


def _seconds(shape: tuple[int, int], n_runs: int, n_processes: int, n_threads: int) -> float:
    """The longest time that one of several processes takes, all of which begin at once."""
    code = f"from quotientgraph.bench.throughput import work; work({shape!r}, {n_runs}, {n_threads})"
    environment = {**os.environ, "NUMBA_NUM_THREADS": "1"}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        for _ in range(n_processes)
    ]
    try:
        for worker in workers:
            assert worker.stdout is not None
            if worker.stdout.readline() != "ready\n":
                raise RuntimeError("a process that measures throughput ended before it began; its error is above")
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        return max(float(worker.communicate()[0]) for worker in workers)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def work(shape: tuple[int, int], n_runs: int, n_threads: int) -> None:
    """Say that everything is loaded, wait for a line, integrate, and print the seconds that it took."""
    logging.getLogger("quotientgraph").setLevel(logging.ERROR)  # warnings about the scene are of no interest
    scene = make("occlusions", shape=shape)

    def run(n: int) -> None:
        for _ in range(n):
            integrate(scene.normals, scene.mask, scene.camera, "opencv", check=False)

    run(1)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    threads = [threading.Thread(target=run, args=(n_runs,)) for _ in range(n_threads)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.stdout.write(f"{time.perf_counter() - began}\n")
