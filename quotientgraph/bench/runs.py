"""Running jobs that the journal does not have yet: in this process, in several, or each in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module

from .jobs import Job, Record
from .journal import Journal
from .measure import measure

_THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def run_jobs(
    jobs: Iterable[Job],
    journal: Journal,
    *,
    isolate: bool = False,
    timeout: float | None = None,
    processes: int = 1,
    plugins: tuple[str, ...] = (),
    progress: bool = True,
) -> list[Record]:
    """Measure all jobs that the journal does not have, and return the records of all of them, in order.

    Parameters
    ----------
    jobs : iterable of Job
    journal : Journal
    isolate : bool
        Whether each job runs in a process of its own. A crash or a lack of memory then costs one cell only, and the peak
        memory starts from scratch.
    timeout : float, optional
        Seconds after which an isolated job counts as failed.
    processes : int
        How many jobs run at once, each on one thread. Errors stay the same, but seconds are then those of a shared
        machine. Not together with `isolate`.
    plugins : names of modules
        Imported first in each process; they may add methods, metrics and tables.
    progress : bool
        Whether to show a progress bar; it shows on a terminal only.

    Returns
    -------
    list of dict
    """
    from tqdm.auto import tqdm

    unique = {job.key: job for job in jobs}
    todo = [job for job in unique.values() if journal.find(job) is None]
    done = len(unique) - len(todo)
    hidden = not (progress and sys.stderr.isatty())
    if isolate:
        finished = _one_by_one(todo, lambda job: _isolated(job, timeout, plugins))
    elif processes > 1:
        finished = _in_processes(todo, processes, plugins)
    else:
        finished = _one_by_one(todo, lambda job: measure(job))
    with tqdm(total=len(unique), initial=done, unit="cell", disable=hidden, leave=False) as bar:
        for record in finished:
            bar.set_postfix_str(f"{record['case']['name']} {record['method']}")
            journal.add(record)
            bar.update()
    return [journal.records[key] for key in unique]


def _one_by_one(jobs: list[Job], run: Callable[[Job], Record]) -> Iterator[Record]:
    """Run the jobs in order; the arrays of a case are released when the next one begins."""
    last = None
    for job in jobs:
        if last is not None and last != job.case:
            last.forget()
        last = job.case
        yield run(job)


def _in_processes(jobs: list[Job], processes: int, plugins: tuple[str, ...]) -> Iterator[Record]:
    """Run the jobs in several processes; those of one case stay together, so that it is read or rendered once."""
    from multiprocessing import get_context

    groups: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        groups.setdefault((job.case.source, job.case.frame), []).append(job)
    kept = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))  # inherited by the processes
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin, (plugins,))
    try:
        for future in as_completed([pool.submit(_group, group) for group in groups.values()]):
            yield from future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _begin(plugins: tuple[str, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends the pool
    for plugin in plugins:
        import_module(plugin)


def _group(jobs: list[Job]) -> list[Record]:
    # Pickling copies the case of each job; one that is shared renders its scene once.
    case = jobs[0].case
    return [measure(Job(case, job.method, job.settings, job.trace, job.repeat)) for job in jobs]


def _isolated(job: Job, timeout: float | None, plugins: tuple[str, ...]) -> Record:
    failed = {"key": job.key, **job.to_json(), "status": "failed"}
    command = [sys.executable, "-m", "quotientgraph.bench.measure"]
    content = json.dumps({"job": job.to_json(), "plugins": plugins})
    try:
        done = subprocess.run(command, input=content, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {**failed, "error": f"stopped after {timeout:g} s"}
    if done.returncode:
        why = f"exit status {done.returncode}"
        if done.returncode < 0:
            name = signal.Signals(-done.returncode).name
            why = f"killed by {name}" + (", perhaps for lack of memory" if name == "SIGKILL" else "")
        return {**failed, "error": why, "traceback": done.stderr[-2000:]}
    return json.loads(done.stdout.strip().splitlines()[-1])
