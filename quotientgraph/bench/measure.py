"""One cell of a benchmark: integrate a case by one method and one choice of settings, and measure.

Seconds are those of `integrate` alone, arrays to depth, after the method ran once on a small scene so that compiling is
not counted. Peak memory is how far the resident set of the process rose above what it was before the call: on Linux the
kernel's high-water mark, reset before the first; elsewhere the process's mark cannot be reset, so only a new maximum
shows, and ``memory`` says so.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import metrics
from ..integration import METHODS, keywords_of
from ..integration import integrate as library_integrate
from ..quotient_graph import QuotientGraph
from ..result import Reconstruction
from . import papercg as _papercg  # noqa: F401  (registers the solver of the paper's experiments)
from .cases import Case, Maps

Record = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """What to measure.

    Attributes
    ----------
    case : Case
    method : str
        A name of `quotientgraph.integration.METHODS`.
    settings : dict
        `angle`, `connectivity` and the settings of the method.
    trace : bool
        Also what was reached at each level of merging, by running again up to the end of each.
    repeat : int
        How often to run, for the timing.
    """

    case: Case
    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    trace: bool = False
    repeat: int = 1

    @property
    def key(self) -> str:
        """The same for the same measurement."""
        content = [self.case.source, self.case.frame, self.method, self.settings, self.trace, self.repeat]
        return json.dumps(content, sort_keys=True)

    def to_json(self) -> Record:
        return {**asdict(self), "case": {name: getattr(self.case, name) for name in ("name", "source", "frame")}}

    @classmethod
    def from_json(cls, content: Record) -> Job:
        return cls(**{**content, "case": Case(**content["case"])})


# name -> function(result, maps) of what a record holds; None where it does not apply. Add your own.
METRICS: dict[str, Callable[[Reconstruction, Maps], Any]] = {
    "pixels": lambda result, maps: result.graph.pixels.n_pixels,
    "components": lambda result, maps: result.levels[0].n_components,
    "iterations": lambda result, maps: len(result.history),
    "solver_iterations": lambda result, maps: sum(step.solver_iterations for step in result.history),
    "converged": lambda result, maps: result.converged,
    "made": lambda result, maps: _against_truth(metrics.made, result, maps),
    "relative_error": lambda result, maps: _against_truth(metrics.relative_error, result, maps),
    "normal_error": lambda result, maps: metrics.normal_error(result.points, result.normals),
    "least_made": lambda result, maps: _least_made(result, maps, result.levels[0]),
}


def measure(job: Job) -> Record:
    """The record of a job; a method that fails is a record that says so."""
    record: Record = {"key": job.key, **job.to_json()}
    logger = logging.getLogger("quotientgraph")
    level = logger.level
    logger.setLevel(logging.ERROR)  # warnings go into the record
    try:
        if job.method not in METHODS:
            raise ValueError(f"method={job.method!r} is not known; use one of {', '.join(METHODS)}")
        maps = job.case.maps
        _warm_up(job)
        seconds, stages, peak, result = [], [], 0, None
        # Memory is measured in the first run only: it has to ask the system for all of it again, which takes time.
        before = _resident(reset=True)
        for _ in range(max(1, job.repeat)):
            result = None  # the former result's memory is not this run's
            began = time.perf_counter()
            result = integrate(job, maps)
            seconds.append(time.perf_counter() - began)
            peak = peak or _resident()[0] - before[0]
            stages.append(result.seconds)
        assert result is not None
        record |= {
            "status": "ok",
            "seconds": float(np.median(seconds)),
            "seconds_low": min(seconds),
            "seconds_high": max(seconds),
            "stages": {name: float(np.median([each.get(name, 0.0) for each in stages])) for name in stages[-1]},
            "step_seconds": [step.seconds for step in result.history],
            "peak_bytes": int(peak),
            "memory": before[1],
            "warnings": result.warnings,
            **{name: _plain(compute(result, maps)) for name, compute in METRICS.items()},
        }
        if job.trace:
            record["levels"] = levels(job, maps, result)
    except Exception as error:  # a cell that fails is reported in its place, the rest goes on
        record |= {
            "status": "failed",
            "error": f"{type(error).__name__}: {error}",
            "traceback": traceback.format_exc(limit=-6),
        }
    finally:
        logger.setLevel(level)
    return record


def integrate(job: Job, maps: Maps) -> Reconstruction:
    """The reconstruction of a job."""
    return library_integrate(maps.normals, maps.mask, maps.camera, frame=maps.frame, method=job.method, **job.settings)


def levels(job: Job, maps: Maps, result: Reconstruction) -> list[Record]:
    """Per level of merging: components, the least error they allow, and the error reached when the level ended."""
    out = []
    for level in result.levels:
        last = max((step.iteration for step in result.history if step.level == level.level), default=None)
        reached = result
        if last is not None and last < len(result.history):
            shorter = Job(job.case, job.method, {**job.settings, "max_iterations": last})
            reached = integrate(shorter, maps)
        out.append(
            {
                "level": level.level,
                "components": level.n_components,
                "iteration": last,
                # Inside a component of this level nothing moves any more, so the end result tells.
                "least_made": _least_made(result, maps, level),
                "made": _against_truth(metrics.made, reached, maps),
            }
        )
    return out


def _against_truth(metric: Callable[..., float], result: Reconstruction, maps: Maps) -> float | None:
    return None if maps.truth is None else metric(result.depth, maps.truth, offset=not maps.camera.central)


def _least_made(result: Reconstruction, maps: Maps, level: QuotientGraph) -> float | None:
    if maps.truth is None or level.n_components == level.pixels.n_pixels:
        return None
    return metrics.least_made(result.depth, maps.truth, level.label_image(), offset=not maps.camera.central)


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


_warm: set[str] = set()
_LARGE = 100_000  # pixels


def _warm_up(job: Job) -> None:
    """Compile what the method needs, on scenes large enough to reach all of it."""
    # From here on kernels use their parallel forms; see `solvers.jit`.
    large = job.case.maps.normals[..., 0].size > _LARGE
    kind = json.dumps(
        [job.method, large, {k: v for k, v in job.settings.items() if isinstance(v, str)}], sort_keys=True
    )
    if kind in _warm:
        return
    _warm.add(kind)
    settings = dict(job.settings)
    if "max_iterations" in settings or "max_iterations" in keywords_of(job.method):
        settings["max_iterations"] = min(settings.get("max_iterations", 7), 7)
    for scene in ("boxes?shape=24x32", "boxes?shape=72x96", *(["occlusions?shape=416x512"] if large else [])):
        small = Case("warm-up", f"scene:{scene}", "opencv")
        with contextlib.suppress(Exception):  # what is wrong with the method shows in the run that counts
            integrate(Job(small, job.method, settings), small.maps)


def _resident(reset: bool = False) -> tuple[int, str]:
    """Bytes resident, and how they were found: now and with the mark reset, or else at the highest since the reset."""
    status = Path("/proc/self/status")
    try:
        if reset:
            _give_back()
            Path("/proc/self/clear_refs").write_text("5")
        wanted = "VmRSS" if reset else "VmHWM"
        line = next(line for line in status.read_text().splitlines() if line.startswith(wanted))
        return int(line.split()[1]) * 1024, "rise of the resident set, mark reset before the run"
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:
        return 0, "not known on this system"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024), "rise of the process's highest resident set"


def _give_back() -> None:
    """Return freed memory to the system, where that can be asked for, so that it does not hide what a run takes."""
    import ctypes
    import gc

    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def main() -> None:
    """Measure the job on standard input in this process of its own; the record goes to standard output."""
    content = json.load(sys.stdin)
    import importlib

    for plugin in content.get("plugins", []):
        importlib.import_module(plugin)
    record = measure(Job.from_json(content["job"]))
    sys.stdout.write("\n" + json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
