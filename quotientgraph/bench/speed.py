"""The table of speed: how long a reconstruction takes, as a multiple of Y, a fixed piece of work of the same size.

Machines differ and are often busy, and a ratio depends less on that than seconds do; see `quotientgraph.bench.yardstick`.
Of several runs the best counts. The goals are this project's own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from .cases import Case
from .jobs import Job, Record
from .plots import fitted_exponent, growth
from .tables import Entry, Table, in_diligent
from .throughput import throughput
from .yardstick import bandwidth, yardstick

_FIVE = ("bear", "buddha", "cat", "harvest", "goblet")
_DILIGENT = {"angle": 3.5}
_LARGE = {"angle": 2.0, "merge_every": 5, "max_iterations": 15}
_SHAPES = ("512x608", "1024x1216", "2048x2432", "4096x4096")

# Goals: times in units of Y, memory in bytes a pixel, starting in seconds, growth as an exponent.
_GOALS = {
    "five objects, sum": 30.0,
    "bedroom": 15.0,
    "textured_room": 20.0,
    "occlusions 4096x4096": 12.0,
    "all defaults, occlusions 4096x4096": 15.0,
    "smooth 4096x4096": 7.0,
}
_MEMORY_GOAL = 150.0
_COLD_GOAL, _IMPORT_GOAL, _EXPONENT_GOAL = 10.0, 0.4, 1.05
_IMPORTS = 4  # of which the first makes the bytecode


def _jobs(cases: list[Case]) -> list[Job]:
    own = [Job(case, "components", _DILIGENT if in_diligent(case) else _LARGE, repeat=5) for case in cases]
    room = Case("textured_room", "scene:textured_room?shape=1024x1216", "opencv")
    grown = [Case(f"occlusions {shape}", f"scene:occlusions?shape={shape}", "opencv") for shape in _SHAPES]
    usual = [
        Case("all defaults, occlusions 4096x4096", "scene:occlusions?shape=4096x4096", "opencv"),
        Case("smooth 4096x4096", "scene:bumps?shape=4096x4096", "opencv"),
    ]
    return [
        *own,
        Job(room, "components", _LARGE, repeat=3),
        *(Job(case, "components", _LARGE, repeat=4 if "4096" in case.name else 3) for case in grown),
        *(Job(case, "components", {}) for case in usual),
    ]


def _entries(records: list[Record]) -> list[Entry]:
    out: list[Entry] = []
    done = [record for record in records if record["status"] == "ok"]
    units = {record["case"]["name"]: yardstick(*_shape(record)) for record in done}
    five = [record for record in done if record["case"]["name"] in _FIVE]
    if len(five) == len(_FIVE):
        total = sum(record["seconds_low"] / units[record["case"]["name"]] for record in five)
        out += _row("five objects, sum", total, sum(record["seconds_low"] for record in five))
    for record in done:
        name = record["case"]["name"]
        out += _row(name, record["seconds_low"] / units[name], record["seconds_low"])
        out += _profile(record)
    grown = [(record["pixels"], record["seconds_low"], _stages(record)["filling"]) for record in _grown(done)]
    if len(grown) > 2:
        x, *times = np.array(grown, dtype=float).T
        for name, y in zip(("exponent of seconds against pixels", "exponent of filling alone"), times, strict=True):
            out.append(Entry("growth", name, "measured", fitted_exponent(x, y)))
            out.append(Entry("growth", name, "goal", _EXPONENT_GOAL))
    for name, value in bandwidth().items():
        out.append(Entry("memory of this machine, one core", name, "GB/s", value))
    out += _start_up() + throughput()
    return out + [
        Entry("time", record["case"]["name"], "units of Y", None, failed=record["error"])
        for record in records
        if record["status"] != "ok"
    ]


def _grown(records: list[Record]) -> list[Record]:
    """Those of one scene at several sizes."""
    return [
        record for record in records if record["status"] == "ok" and record["case"]["name"].startswith("occlusions")
    ]


def _stages(record: Record) -> dict[str, float]:
    """Seconds of the stages in the best run; records of older versions have their medians only."""
    return record["stages_low" if "stages_low" in record else "stages"]


def _draw(records: list[Record], out: Path) -> list[Path]:
    best = [{**record, "seconds": record["seconds_low"]} for record in _grown(records)]  # as in the table
    return [growth(best, out / "speed-growth.png")] if len(best) > 2 else []


def _row(name: str, ratio: float, seconds: float) -> list[Entry]:
    out = [Entry("time", name, "units of Y", ratio), Entry("time", name, "seconds", seconds)]
    goal = _GOALS.get(name)
    return [*out, Entry("time", name, "goal, units of Y", goal)] if goal else out


def _profile(record: Record) -> list[Entry]:
    name = record["case"]["name"]
    out = [Entry("milliseconds by stage", name, stage, 1e3 * s) for stage, s in _stages(record).items()]
    out.append(Entry("memory", name, "peak bytes a pixel", record["peak_bytes"] / record["pixels"]))
    if name.endswith("4096x4096"):
        out.append(Entry("memory", name, "goal", _MEMORY_GOAL))
    return out


def _start_up() -> list[Entry]:
    """Importing with warm caches, and the demo with no kernel compiled, each in a process of its own.

    Python keeps the bytecode of modules, as it is there after an installation, even if it is told not to.
    """
    loading = "from quotientgraph import integrate"
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = os.path.join(folder, "bytecode")
        warm, bare = (min(_seconds(code, env=environment) for _ in range(_IMPORTS)) for code in (loading, "import sys"))
        environment["NUMBA_CACHE_DIR"] = os.path.join(folder, "kernels")
        demo = f"import sys; from quotientgraph.cli import main; sys.exit(main(['demo', '-o', {folder + '/out'!r}]))"
        cold = _seconds(demo, env=environment)
    return [
        Entry("start, seconds", "import, warm", "measured", warm - bare),
        Entry("start, seconds", "import, warm", "goal", _IMPORT_GOAL),
        Entry("start, seconds", "demo, nothing compiled yet", "measured", cold),
        Entry("start, seconds", "demo, nothing compiled yet", "goal", _COLD_GOAL),
    ]


def _seconds(code: str, **options: Any) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, **options)
    return time.perf_counter() - began


def _shape(record: Record) -> tuple[int, int]:
    _, named, shape = record["case"]["source"].partition("?shape=")
    if named:
        height, width = map(int, shape.split("x"))
        return height, width
    return Case(**record["case"]).maps.normals.shape[:2]


SPEED_TABLE = Table(
    "Speed, two cores",
    _jobs,
    _entries,
    "Y: one FFT integration of that size; the best run counts.",
    _draw,
    needs_data=False,
)
