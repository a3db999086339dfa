"""A first run on small scenes, so that the time of compiling kernels is not measured."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace

from ..integration import METHODS, keywords_of
from .cases import Case
from .jobs import Job, run_method

_LARGE = 100_000  # pixels: from about here on, multigrid has several levels
_ITERATIONS = 7  # enough to reach a merge of components
_PIXEL_ITERATIONS = 3  # a pixel-level method has used all of its kernels after three iterations, and they are slow
_warm: set[str] = set()


def warm_up(job: Job) -> None:
    """Run the method of a job on scenes that are just large enough to compile all that the job needs.

    Once for each method and kind of settings in a process. The number of iterations is limited, so that the warm-up of a
    slow method does not take longer than what is measured.
    """
    large = job.case.maps.normals[..., 0].size > _LARGE
    texts = {name: value for name, value in job.settings.items() if isinstance(value, str)}
    kind = json.dumps([job.method, large, texts], sort_keys=True)
    if kind in _warm:
        return
    _warm.add(kind)
    limited = replace(job, settings={**job.settings, **iteration_limit(job)})
    for scene in ("boxes?shape=24x32", "boxes?shape=72x96", *(["occlusions?shape=416x512"] if large else [])):
        small = Case("warm-up", f"scene:{scene}", "opencv")
        with contextlib.suppress(Exception):  # an error shows again in the run that is measured
            run_method(replace(limited, case=small), small.maps)


def iteration_limit(job: Job) -> dict[str, int]:
    """Return the setting that limits the iterations of a warm-up; empty for a method without iterations."""
    if "max_iterations" not in keywords_of(job.method):
        return {}
    limit = _ITERATIONS if METHODS[job.method].joins_pixels else _PIXEL_ITERATIONS
    return {"max_iterations": min(job.settings.get("max_iterations", limit), limit)}
