"""What an attack is, what it returns, and how its cases are run in another process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_HANGS = 60.0  # seconds after which a single case hangs


@dataclass
class Outcome:
    """How many cases were tried and survived, and what happened in the others."""

    tried: int = 0
    survived: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, failure: str | None) -> None:
        """Count a case; None is a case that was survived."""
        self.tried += 1
        if failure is None:
            self.survived += 1
        else:
            self.failures.append(failure)

    def merge(self, other: Outcome) -> None:
        """Add the cases of another outcome."""
        self.tried += other.tried
        self.survived += other.survived
        self.failures += other.failures


@dataclass(frozen=True)
class Attack:
    """A kind of attack.

    Attributes
    ----------
    name : str
    promise : str
        What is promised to survive it, as a sentence.
    n_cases : int
        How many cases a full campaign tries.
    run : callable
        ``run(n_cases, seed, deadline) -> Outcome``; it stops at the deadline, a time of `time.monotonic`.
    """

    name: str
    promise: str
    n_cases: int
    run: Callable[[int, int, float], Outcome]


def in_child(
    function: str, arguments: dict[str, Any], deadline: float, environment: dict[str, str] | None = None
) -> Outcome:
    """Run ``module:function(report, **arguments)`` in a new process, and count the cases it reports.

    The child names each case before it begins and gives its result afterwards. If it dies or is silent until the deadline,
    the case it was at has failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal"
        command = [
            sys.executable,
            "-P",
            "-m",
            "quotientgraph.campaign.child",
            function,
            json.dumps(arguments),
            str(journal),
        ]
        paths = os.pathsep.join(dict.fromkeys([*_source_roots(), *filter(None, sys.path)]))
        env = {**os.environ, "PYTHONPATH": paths, "NUMBA_NUM_THREADS": "1", **(environment or {})}
        process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=folder)
        try:
            _, err = process.communicate(timeout=max(deadline - time.monotonic(), 1))
            end = f"exit code {process.returncode}" if process.returncode >= 0 else f"signal {-process.returncode}"
        except subprocess.TimeoutExpired:
            process.kill()
            _, err = process.communicate()
            end = "the deadline"
        return _counted(journal, process.returncode == 0, end, err.decode("utf-8", "replace"), function)


def _source_roots() -> list[str]:
    """Where this package and its solvers are, so that a child finds them wherever it stands."""
    import laplacians

    return [str(Path(__file__).parents[2]), str(Path(laplacians.__file__).parents[1])]


def _counted(journal: Path, ended_well: bool, end: str, err: str, function: str) -> Outcome:
    outcome, open_case, began = Outcome(), None, 0.0
    for line in journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []:
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # the child was ended while it wrote
        if "begin" in entry:
            open_case, began = entry["begin"], entry["at"]
        else:
            outcome.add(None if entry["failure"] is None else f"{open_case}: {entry['failure']}")
            open_case = None
    if open_case is not None and end != "the deadline":
        # What it wrote may say where it was.
        outcome.add(f"{open_case}: the process ended by {end}: {' '.join(err.split())[:400]}")
    elif open_case is not None and time.time() - began > _HANGS:  # else it was only the next one at the deadline
        outcome.add(f"{open_case}: it was not done at {end}")
    elif not ended_well and end != "the deadline":
        outcome.add(f"{function}: the process ended by {end}: {' '.join(err.split())[-200:]}")
    return outcome
