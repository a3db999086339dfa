"""The journal of a benchmark: one line of JSON per finished cell, so that a run that was killed continues.

A cell is finished for good when the same job was measured by the same code; a line that was cut off in the middle is as
if it were not there. Failed cells are tried again.
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

from .measure import Job, Record

_PACKAGES = ("quotientgraph", "numpy", "scipy", "numba", "igraph", "pyamg", "cupy")


class Journal:
    """Records of a file, found by job; new ones are appended as they come."""

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
        """The record of this job, if it was finished by this code (by any, if so asked)."""
        record = self.records.get(job.key)
        if record is None or record["status"] != "ok":
            return None
        return record if self.any_code or record.get("code") == code_digest() else None

    def add(self, record: Record) -> Record:
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


@cache
def code_digest() -> str:
    """A digest of the source that results depend on: the library without its laboratory, and the solvers."""
    import laplacians

    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    skip = {package / name for name in ("bench", "io", "report", "scenes")}
    for root in (package, Path(laplacians.__file__).parent):
        for file in sorted(root.rglob("*.py")):
            if not skip & set(file.parents) and file.name != "cli.py":
                digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@cache
def machine() -> dict[str, Any]:
    """Processor, memory, versions and thread counts, as results should be read with."""
    import numba

    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    from .. import __version__

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
