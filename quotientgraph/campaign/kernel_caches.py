"""Caches of compiled kernels that are damaged, shared, full or cannot be written: the same result, or compiled again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from .trial import Attack, Outcome, in_child

_ONE = """
import resource, signal, sys, hashlib
if int(sys.argv[1]):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
from quotientgraph import integrate, scenes
scene = scenes.make("step", shape=(12, 14))
result = integrate(scene.normals, scene.mask, scene.camera, "opencv", max_iterations=5)
print(hashlib.sha256(result.depth.tobytes()).hexdigest())
"""


def _start(folder: Path, cache: str, limit: int = 0, n_threads: int = 1) -> subprocess.Popen:
    """A process that integrates with a cache in a folder; with two threads it compiles in a second process as well."""
    # Where a cache cannot be used, kernels are kept among the temporary files. No other process may find them there.
    own = tempfile.mkdtemp(dir=folder)
    env = {**os.environ, "NUMBA_CACHE_DIR": str(folder / cache), "NUMBA_NUM_THREADS": str(n_threads), "TMPDIR": own}
    command = [sys.executable, "-P", "-c", _ONE, str(limit)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _verdict(process: subprocess.Popen, known: str) -> str | None:
    out, err = process.communicate()
    if process.returncode:
        return f"exit code {process.returncode}: {' '.join(err.split())[-200:]}"
    return None if out.strip() == known else "another result"


def _damage(cache: Path, random: np.random.Generator) -> str:
    """Damage one file of a cache; returns what was done."""
    files = sorted(path for path in cache.rglob("*.kernel") if path.stat().st_size)
    path = files[random.integers(len(files))]
    data = bytearray(path.read_bytes())
    kind = random.integers(0, 5)
    if kind == 0:
        data = data[: random.integers(0, len(data) + 1)]
    elif kind == 1:
        data[random.integers(len(data))] ^= 1 << int(random.integers(8))
    elif kind == 2:
        data = bytearray(len(data))
    elif kind == 3:
        data = bytearray()
    else:
        at = int(random.integers(len(data)))
        data[at : at + 64] = random.bytes(len(data[at : at + 64]))
    path.write_bytes(data)
    return f"{path.name[:60]}, damage of kind {kind}"


def cases(report: Any, count: int, seed: int) -> None:
    """Damage a cache and run, again and again; then other troubles with caches. Runs in a child."""
    random = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = _start(folder, "good")
        known, err = first.communicate()
        known = known.strip()
        if first.returncode:
            raise RuntimeError(err[-300:])
        for case in range(count):
            shutil.rmtree(folder / "bad", ignore_errors=True)
            shutil.copytree(folder / "good", folder / "bad")
            report.begin(f"case {case}: {_damage(folder / 'bad', random)}")
            tries = (_verdict(_start(folder, "bad", n_threads=1 + case % 2), known) for _ in range(2))
            report.end(next(filter(None, tries), None))
        report.begin("a cache on a full disk")
        report.end(_verdict(_start(folder, "full", 2000), known))
        report.begin("a cache that cannot be made")
        (folder / "file").touch()
        report.end(_verdict(_start(folder, "file/cache"), known))


def together(report: Any, count: int, seed: int, n_processes: int = 4) -> None:
    """Several processes that find an empty cache at the same time, or a damaged one; runs in a child.

    An empty cache is no reason to say anything. A damaged one is, but the result is the same.
    """
    random, known = np.random.default_rng(seed), ""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        good, shared = folder / "good", folder / "shared"
        for case in range(count):
            shutil.rmtree(shared, ignore_errors=True)
            empty = case % 2 == 0
            if not empty:
                shutil.copytree(good, shared)
                for _ in range(8):
                    _damage(shared, random)
            n_threads = 1 + case // 2 % 2
            processes = [_start(folder, shared.name, n_threads=n_threads) for _ in range(n_processes)]
            for i, process in enumerate(processes):
                report.begin(f"round {case}, {'an empty' if empty else 'a damaged'} cache, process {i}")
                out, err = process.communicate()
                known = known or out.strip()
                failure = None if out.strip() == known else "another result"
                if process.returncode:
                    failure = f"exit code {process.returncode}: {' '.join(err.split())[-200:]}"
                elif empty and ("cannot be kept" in err or "damaged" in err):
                    failure = f"it complains of the cache: {' '.join(err.split())[-200:]}"
                report.end(failure)
            if n_threads == 1:  # a second process is ended with the first one, wherever it is
                left = [path.name for path in shared.rglob("*") if path.is_file() and path.suffix != ".kernel"]
                report.begin(f"round {case}, what is left in the cache")
                report.end(f"unfinished files: {left[:3]}" if left else None)
            if empty:
                shutil.rmtree(good, ignore_errors=True)
                shared.rename(good)


def _run(n_cases: int, seed: int, deadline: float) -> Outcome:
    return in_child("kernel_caches:cases", {"count": n_cases, "seed": seed}, deadline)


def _run_together(n_cases: int, seed: int, deadline: float) -> Outcome:
    if time.monotonic() > deadline:
        return Outcome()
    return in_child("kernel_caches:together", {"count": n_cases, "seed": seed}, deadline)


ATTACKS = [
    Attack(
        "damaged kernel caches", "A damaged, full or missing cache of kernels costs time and nothing else.", 40, _run
    ),
    Attack(
        "shared kernel caches",
        "Processes that fill or mend one cache at the same time do not disturb each other.",
        4,
        _run_together,
    ),
]
