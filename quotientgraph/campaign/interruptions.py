"""Runs of the command line that are killed, interrupted, short of disk or without rights.

Each run writes onto the results of an earlier one. Afterwards the folder must hold the files of exactly one run, as the
sizes and hashes in its manifest say. The runs are forked from a process in which everything is loaded and compiled, so that
they take a fraction of a second and are hit at every moment of their work.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .trial import Attack, Outcome, in_child

_EVERYTHING = [
    "--format",
    "npy,exr,tiff,png",
    "--mesh",
    "ply,obj,glb,stl",
    "--points",
    "--labels",
    "--graphml",
    "--picture",
]
_RUNS = (["--angle", "3", *_EVERYTHING, "--report"], ["--angle", "1", "--format", "npy", "--mesh", "ply"])


def _prepared(folder: Path) -> list[str]:
    """An input in a folder, and the command that integrates it."""
    from .. import scenes
    from ..geometry.camera import Pinhole
    from ..io import write_image

    scene = scenes.make("sphere", shape=(40, 50))
    source = folder / "ball"
    source.mkdir()
    colours = np.rint((np.nan_to_num(scene.normals) * [1, -1, -1] + 1) * 32767.5).astype(np.uint16)
    write_image(source / "normal_map.png", colours)
    write_image(source / "mask.png", (scene.mask * 255).astype(np.uint8))
    np.savetxt(source / "K.txt", Pinhole.from_fov(50, scene.shape).matrix)
    return ["integrate", str(source), "--frame", "opengl", "-o", str(folder / "results" / "ball")]


def _forked(words: list[str], folder: Path, before: Callable[[], None] = lambda: None) -> int:
    """Start a run in a forked process; returns its number."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 99
    try:
        for descriptor, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), descriptor)
        from ..cli import main

        before()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # until here an interrupt ends the process
        code = main(words)
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def whole(target: Path) -> str | None:
    """None if the folder holds the files of exactly one run, else what is wrong."""
    from ..cli.manifest import MANIFEST, _facts, read_manifest

    if not target.exists():
        return "the folder is gone"
    listed = read_manifest(target).get("files")
    if not listed:
        return "there is no manifest"
    there = set(os.listdir(target)) - {MANIFEST}
    if there != set(listed):
        return f"{sorted(there ^ set(listed))} are there or listed, but not both"
    wrong = [name for name in there if _facts(target / name) != listed[name]]
    return f"{wrong} are not those of the run that the manifest describes" if wrong else None


def _hidden(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob(".*") if path.suffix != ".new"]


@contextlib.contextmanager
def _stage() -> Iterator[tuple[Path, list[str], float]]:
    """A folder, the command, and how long a run takes once everything is loaded."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        words = _prepared(folder)
        from ..cli import main

        signal.signal(signal.SIGINT, signal.SIG_DFL)  # for the runs, until they have begun
        null = os.open(os.devnull, os.O_WRONLY)
        for descriptor in (1, 2):
            os.dup2(null, descriptor)
        for options in _RUNS:
            main([*words, *options])
        began = time.perf_counter()
        os.waitpid(_forked([*words, *_RUNS[0]], folder), 0)
        yield folder, words, time.perf_counter() - began


def kills(report: Any, count: int, seed: int, number: int) -> None:
    """Send a signal at a random moment; runs in a child."""
    random = np.random.default_rng([seed, number])
    with _stage() as (folder, words, seconds):
        target = folder / "results" / "ball"
        for case in range(count):
            moment = float(random.uniform(0, 1.1 * seconds))
            report.begin(f"signal {number} after {moment:.3f} s, case {case}")
            pid = _forked([*words, *_RUNS[case % 2]], folder)
            time.sleep(moment)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
            _, status = os.waitpid(pid, 0)
            failure = whole(target)
            if number != signal.SIGKILL:
                failure = failure or _after_interrupt(status, folder)
            report.end(failure)
        os.waitpid(_forked([*words, *_RUNS[0]], folder), 0)
        report.begin("what all of them left behind, after one more run")
        left = _hidden(folder / "results")
        report.end(f"{len(left)} hidden files remain: {left[:3]}" if left else whole(target))


def _after_interrupt(status: int, folder: Path) -> str | None:
    code = os.waitstatus_to_exitcode(status)
    err = (folder / "stderr").read_text(errors="replace")
    if code not in (0, 130, -signal.SIGINT):  # the last: it came before Python listened to it
        return f"exit code {code}: {err[-200:]}"
    if "Traceback" in err and code == 130:
        return f"a traceback: {err[-200:]}"
    left = _hidden(folder / "results")
    return f"left behind: {left[:3]}" if left else None


def full_disk(report: Any, count: int, seed: int) -> None:
    """Files cannot grow beyond a random size, as on a full disk; runs in a child."""
    import resource

    random = np.random.default_rng(seed)
    with _stage() as (folder, words, _):
        target = folder / "results" / "ball"
        for case in range(count):
            limit = int(10 ** random.uniform(1.5, 5.5))
            report.begin(f"files of at most {limit} bytes, case {case}")

            def limited(limit: int = limit) -> None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                # What is said on stderr goes to a file as well, but that is short.
                resource.setrlimit(
                    resource.RLIMIT_FSIZE, (max(limit, 4096 if limit < 500 else limit), resource.RLIM_INFINITY)
                )

            _, status = os.waitpid(_forked([*words, *_RUNS[case % 2]], folder, limited), 0)
            report.end(whole(target) or _refusal(status, folder, allowed=(0, 1)))


def _refusal(status: int, folder: Path, allowed: tuple[int, ...]) -> str | None:
    """None if a run ended with one line of error, or well where that is allowed."""
    code = os.waitstatus_to_exitcode(status)
    err = (folder / "stderr").read_text(errors="replace")
    lines = [line for line in err.splitlines() if "warning:" not in line]
    if code not in allowed:
        return f"exit code {code}: {err[-200:]}"
    if code and (len(lines) != 1 or not lines[0].startswith("quotientgraph: error: ")):
        return f"not one line of error: {err[-200:]!r}"
    left = _hidden(folder / "results")
    return f"left behind: {left[:3]}" if left else None


def read_only(report: Any, count: int, seed: int) -> None:
    """Folders and files without rights; runs in a child."""
    import tomllib  # noqa: F401  everything is loaded while it may still be read

    with _stage() as (folder, words, _):
        results, source = folder / "results", folder / "ball"
        (folder / "s.toml").write_text("angle = 2\n")
        places = {
            "the folder of the results": (results / "ball", 0o555, []),
            "the folder around it": (results, 0o555, ["-o", str(results / "new")]),
            "the folder of the input": (source, 0o000, []),
            "the normal map": (source / "normal_map.png", 0o000, []),
            "the mask": (source / "mask.png", 0o000, []),
            "the camera": (source / "K.txt", 0o000, []),
            "the configuration": (folder / "s.toml", 0o000, ["--config", str(folder / "s.toml")]),
            "the folder for systems": (
                results,
                0o555,
                ["-o", str(folder / "free"), "--dump-systems", str(results / "sys")],
            ),
        }
        free = folder / "free"
        free.mkdir()
        free.chmod(0o777)
        for name in ("stdout", "stderr"):
            (folder / name).touch()
            (folder / name).chmod(0o666)

        def as_nobody() -> None:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)

        for case in range(count):
            name, (place, mode, options) = list(places.items())[(case + seed) % len(places)]
            report.begin(f"{name} without rights, case {case}")
            before = place.stat().st_mode
            shutil.rmtree(results / "new", ignore_errors=True)
            place.chmod(mode)
            try:
                # The command line is refused (2) if it names a file that cannot be read.
                _, status = os.waitpid(_forked([*words, *_RUNS[1], *options], folder, as_nobody), 0)
            finally:
                place.chmod(before)
            report.end(whole(results / "ball") or _refusal(status, folder, allowed=(1, 2)))


def _attack(function: str, **fixed: Any) -> Callable[[int, int, float], Outcome]:
    def run(n_cases: int, seed: int, deadline: float) -> Outcome:
        if not hasattr(os, "fork"):
            return Outcome()
        return in_child(f"interruptions:{function}", {"count": n_cases, "seed": seed, **fixed}, deadline)

    return run


ATTACKS = [
    Attack(
        "kills",
        "A run killed at any moment leaves the results of exactly one run, and the next run removes what it left behind.",
        210,
        _attack("kills", number=int(signal.SIGKILL)),
    ),
    Attack(
        "interrupts",
        "Ctrl-C at any moment leaves the results of exactly one run, and nothing else.",
        120,
        _attack("kills", number=int(signal.SIGINT)),
    ),
    Attack("full disk", "A disk that fills up gives one line of error and changes nothing.", 120, _attack("full_disk")),
    Attack("missing rights", "Missing rights give one line of error and change nothing.", 24, _attack("read_only")),
]
