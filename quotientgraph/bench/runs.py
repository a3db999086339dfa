"""Running jobs: those the journal does not have yet, one after the other, in this process or each in its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterable

from .journal import Journal
from .measure import Job, Record, measure


def run(
    jobs: Iterable[Job],
    journal: Journal,
    *,
    isolate: bool = False,
    timeout: float | None = None,
    plugins: tuple[str, ...] = (),
    progress: bool = True,
) -> list[Record]:
    """Records of all jobs, in order; those that the journal has are not run again.

    Parameters
    ----------
    isolate : bool
        A process for each job: a crash or lack of memory then costs one cell, and peak memory starts from scratch.
    timeout : float, optional
        Seconds after which an isolated job counts as failed.
    plugins : names of modules
        Imported first in each process; they register methods and metrics.
    """
    from tqdm.auto import tqdm

    unique = {job.key: job for job in jobs}
    todo = [job for job in unique.values() if journal.find(job) is None]
    done = len(unique) - len(todo)
    with tqdm(total=len(unique), initial=done, unit="cell", disable=not progress, leave=False) as bar:
        last = None
        for job in todo:
            bar.set_postfix_str(f"{job.case.name} {job.method}")
            if last is not None and last != job.case:
                last.forget()
            last = job.case
            journal.add(_isolated(job, timeout, plugins) if isolate else measure(job))
            bar.update()
    return [journal.records[key] for key in unique]


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
