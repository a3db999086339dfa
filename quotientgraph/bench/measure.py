"""One cell of a benchmark: integrate a case by one method and one choice of settings, and measure.

Seconds are those of `integrate` alone, from arrays to depth. The method runs on a small scene before, so that compiling is
not counted. Peak memory is how far the resident memory of the process rose above what it was before the call.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import metrics
from ..integration import METHODS
from ..quotient_graph import QuotientGraph
from ..result import Reconstruction
from .cases import Maps
from .jobs import Job, Record, run_method
from .memory import resident
from .warm_up import warm_up

# What a record holds: a name, and a function of the result and the maps, which returns None if it does not apply. A
# plugin may add its own.
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
    """Run a job and return its record.

    A method that fails does not raise: its record has the status "failed", the error and the traceback.
    """
    record: Record = {"key": job.key, **job.to_json()}
    logger = logging.getLogger("quotientgraph")
    level = logger.level
    logger.setLevel(logging.ERROR)  # warnings go into the record
    try:
        if job.method not in METHODS:
            raise ValueError(f"method={job.method!r} is not known; use one of {', '.join(METHODS)}")
        maps = job.case.maps
        warm_up(job)
        seconds, processor, stages, peak, result = [], [], [], 0, None
        # Memory is measured in the first run only, because it must then be requested from the system again.
        before = resident(reset=True)
        for _ in range(max(1, job.repeat)):
            result = None  # releases the memory of the former result
            began, worked = time.perf_counter(), time.process_time()
            result = run_method(job, maps)
            seconds.append(time.perf_counter() - began)
            processor.append(time.process_time() - worked)
            peak = peak or resident()[0] - before[0]
            stages.append(result.seconds)
        assert result is not None
        record |= {
            "status": "ok",
            "seconds": float(np.median(seconds)),
            "seconds_low": min(seconds),
            "seconds_high": max(seconds),
            "processor_seconds": min(processor),
            "stages": {name: float(np.median([each.get(name, 0.0) for each in stages])) for name in stages[-1]},
            "stages_low": stages[int(np.argmin(seconds))],
            "step_seconds": [step.seconds for step in result.history],
            "peak_bytes": int(peak),
            "memory": before[1],
            "warnings": result.warnings,
            **{name: _plain(compute(result, maps)) for name, compute in METRICS.items()},
        }
        if job.trace:
            record["levels"] = levels(job, maps, result)
    except Exception as error:  # a cell that fails is reported in its place, and the other cells go on
        record |= {
            "status": "failed",
            "error": f"{type(error).__name__}: {error}",
            "traceback": traceback.format_exc(limit=-6),
        }
    finally:
        logger.setLevel(level)
    return record


def levels(job: Job, maps: Maps, result: Reconstruction) -> list[Record]:
    """Return a record for each level of merging.

    It holds the number of components, the least error that they allow, and the error reached when the level ended.
    """
    out = []
    for level in result.levels:
        last = max((step.iteration for step in result.history if step.level == level.level), default=None)
        reached = result
        if last is not None and last < len(result.history):
            shorter = Job(job.case, job.method, {**job.settings, "max_iterations": last})
            reached = run_method(shorter, maps)
        out.append(
            {
                "level": level.level,
                "components": level.n_components,
                "iteration": last,
                # Inside a component of this level nothing moves any more, so the final result has its shape.
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


def measure_standard_input() -> None:
    """Measure the job that standard input describes as JSON, and write its record to standard output."""
    content = json.load(sys.stdin)
    for plugin in content.get("plugins", []):
        importlib.import_module(plugin)
    record = measure(Job.from_json(content["job"]))
    sys.stdout.write("\n" + json.dumps(record) + "\n")


if __name__ == "__main__":
    measure_standard_input()
