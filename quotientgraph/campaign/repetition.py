"""Many runs in one process and in several threads: the same bits every time, and nothing that grows."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .trial import Attack, Outcome, in_child

_GROWTH = 64 * 2**20  # bytes that a thousand runs may add to the memory of the process
_WARM = 30


def _scenes() -> list[Any]:
    from .. import scenes

    return [scenes.make(name, shape=(24, 30)) for name in ("sphere", "stairs", "bumps", "islands")]


def _depth(scene: Any) -> bytes:
    from ..integration import integrate

    return integrate(scene.normals, scene.mask, scene.camera, "opencv", max_iterations=20).depth.tobytes()


def _resident() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def runs(report: Any, count: int, seed: int) -> None:
    """Integrate in one process again and again; runs in a child."""
    scenes = _scenes()
    known = [_depth(scene) for scene in scenes]
    memory = descriptors = 0
    for case in range(count):
        report.begin(f"run {case}")
        i = (case + seed) % len(scenes)
        failure = None if _depth(scenes[i]) == known[i] else f"{scenes[i].name} differs from the first run"
        if case == min(_WARM, count - 1):
            memory, descriptors = _resident(), len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
        if case == count - 1 and case > _WARM:
            grown = _resident() - memory
            if grown > _GROWTH:
                failure = f"the process grew by {grown / 2**20:.0f} MB"
            if os.path.isdir("/proc/self/fd") and len(os.listdir("/proc/self/fd")) > descriptors:
                failure = "files were left open"
        report.end(failure)


def threads(report: Any, count: int, seed: int, n_threads: int = 4) -> None:
    """Integrate in threads at once, and compare with one thread; runs in a child."""
    scenes = _scenes()
    known = [_depth(scene) for scene in scenes]

    def one(case: int) -> str | None:
        i = (case + seed) % len(scenes)
        try:
            return None if _depth(scenes[i]) == known[i] else f"{scenes[i].name} differs from the serial run"
        except BaseException as error:
            return f"{type(error).__name__}: {error}"

    report.begin("threads")
    with ThreadPoolExecutor(n_threads) as pool:
        found = list(pool.map(one, range(count)))
    report.end(found[0])
    for case, failure in enumerate(found[1:], 1):
        report.begin(f"run {case} in a thread")
        report.end(failure)


def _run(n_cases: int, seed: int, deadline: float) -> Outcome:
    return in_child("repetition:runs", {"count": n_cases, "seed": seed}, deadline)


def _run_threads(n_cases: int, seed: int, deadline: float) -> Outcome:
    # Once with serial kernels and once with parallel ones, which a map this small does not use by itself.
    outcome = in_child("repetition:threads", {"count": -(-n_cases // 2), "seed": seed}, deadline)
    if time.monotonic() < deadline and n_cases > 1:
        many = {"NUMBA_NUM_THREADS": "2"}
        outcome.merge(in_child("repetition:threads", {"count": n_cases // 2, "seed": seed + 1}, deadline, many))
    return outcome


ATTACKS = [
    Attack(
        "one process", "A thousand runs in one process give the same bits, and the process does not grow.", 1_000, _run
    ),
    Attack(
        "four threads", "Runs in four threads at once give the same bits as one after the other.", 200, _run_threads
    ),
]
