"""The journal of a benchmark: one line of JSON for each finished cell, so that a run that was killed can continue.

A cell counts as finished if the same job was measured by the same code, with every metric that is known now. A line that
was cut off in the middle is ignored, and failed cells are tried again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import laplacians

from .. import __version__
from .jobs import Job, Record
from .measure import METRICS

_PACKAGES = ("quotientgraph", "numpy", "scipy", "numba", "igraph", "pyamg", "cupy")


class Journal:
    """The records of a journal file, found by job; new ones are appended as they come.

    Parameters
    ----------
    path : Path
        The file; it need not exist yet.
    any_code : bool
        Whether a record counts even if another state of the code made it.

    Attributes
    ----------
    records : dict of str to dict
        By the key of their job.
    machines : dict of str to dict
        What `machine` said in each session that wrote to the file.
    """

    def __init__(self, path: Path, any_code: bool = False) -> None:
        self.path, self.any_code = path, any_code
        self.records: dict[str, Record] = {}
        self.machines: dict[str, Record] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                try:
                    self._take(json.loads(line))
                except (json.JSONDecodeError, KeyError, TypeError):
                    continue

    def _take(self, record: Record) -> None:
        if "machine" in record:
            self.machines[record["session"]] = record["machine"]
        else:
            self.records[record["key"]] = record

    def find(self, job: Job) -> Record | None:
        """Return the record of a job if it was finished by this code (or by any code, with `any_code`); else None.

        A record that lacks a metric is not finished: a plugin has added the metric since.
        """
        record = self.records.get(job.key)
        if record is None or record["status"] != "ok" or not METRICS.keys() <= record.keys():
            return None
        return record if self.any_code or record.get("code") == code_digest() else None

    def add(self, record: Record) -> Record:
        """Append a record to the file and return it with the session and the digest of the code."""
        session = f"{platform.node()}-{os.getpid()}"
        if session not in self.machines:
            self._write({"session": session, "machine": machine()})
        record = {**record, "session": session, "code": code_digest()}
        self._write(record)
        return record

    def _write(self, record: Record) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        broken = self.path.exists() and self.path.stat().st_size and self.path.read_bytes()[-1:] != b"\n"
        with self.path.open("a") as file:
            file.write(("\n" if broken else "") + json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._take(record)


# Packages whose code no figure of a record depends on, and the modules of the laboratory on which some figures do.
_NOT_MEASURED = ("bench", "cli", "report")
_MEASURED_BENCH = ("cases.py", "degrade.py", "papercg.py")
_SOURCES = (".py", ".json")  # code, and the numbers of the networks


@cache
def code_digest() -> str:
    """Return a digest of the source code that results depend on.

    That is the library and its solvers, without the command line, the reports and most of the laboratory. The scenes and
    the readers of files belong to it: a scene that has changed gives other figures under the same name.
    """
    package = Path(__file__).parents[1]
    skip = {package / name for name in _NOT_MEASURED}
    sources = [file for file in sorted(package.rglob("*")) if file.suffix in _SOURCES and not skip & set(file.parents)]
    sources += [package / "bench" / name for name in _MEASURED_BENCH]
    sources += sorted(Path(laplacians.__file__).parent.rglob("*.py"))
    digest = hashlib.sha256()
    for file in sources:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@cache
def machine() -> dict[str, Any]:
    """Return processor, memory, versions and thread counts, without which times mean little."""
    import numba

    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    versions.setdefault("quotientgraph", __version__)
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": _memory(),
        "threads": {
            "numba": numba.get_num_threads(),
            **{name: os.environ[name] for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS") if name in os.environ},
        },
        "versions": versions,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
