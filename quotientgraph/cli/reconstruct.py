"""One input from reading to files: what `integrate` does, in this process or in a worker."""

from __future__ import annotations

import argparse
import contextlib
import glob
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .messages import TRACEBACK, about, expected, one_line, unexpected
from .publishing import staged, write_all
from .reading import Understood, describe_camera, file_for, understand

if TYPE_CHECKING:
    from ..result import Reconstruction, Step

_SETTINGS = (
    "preset", "merge_every", "reweighting", "max_iterations", "energy_tol", "solver", "fill_solver", "device",
    "prior_weight",
)  # fmt: skip


@dataclass(frozen=True)
class Job:
    """An input and where its results go; `staging` and `dump_staging` are gone when it is done."""

    path: Path
    name: str
    target: Path
    staging: Path
    dump: Path | None
    dump_staging: Path | None
    args: argparse.Namespace


class Watcher:
    """Is told what goes on; this one does not care."""

    def stage(self, text: str) -> None: ...

    def step(self, step: Step) -> None: ...


def attempt(job: Job, watcher: Watcher | None = None) -> dict[str, Any]:
    """Do a job; a failure is a record as well, so that one bad file does not stop the others."""
    record: dict[str, Any] = {"input": str(job.path), "name": job.name, "status": "ok"}
    began = time.perf_counter()
    try:
        record |= _do(job, watcher or Watcher())
    except expected() as problem:
        record |= {"status": "failed", "error": about(job.path, one_line(problem))}
    except Exception as problem:
        if os.environ.get(TRACEBACK):
            raise
        record |= {"status": "failed", "error": f"{job.path}: {unexpected(problem)}"}
    record["total_seconds"] = round(time.perf_counter() - began, 4)
    return record


def _do(job: Job, watcher: Watcher) -> dict[str, Any]:
    from ..io import InputError, read_arrays

    args = job.args
    watcher.stage("reading")
    if glob.has_magic(str(job.path)) and not job.path.exists():
        raise InputError(f"{job.path}: no file matches this pattern")
    source = understand(job.path, job.name, args)
    if source.frame is None:
        assert source.evidence is not None
        source.evidence.require()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(staged(job.target, job.staging))
        settings = settings_of(args, source, job.name)
        texture = file_for(args.texture, job.name)
        image = None if texture is None else next(iter(read_arrays(texture).values()))
        if job.dump is not None and job.dump_staging is not None:
            import laplacians
            from laplacians.comparison import Dumping

            systems = stack.enter_context(staged(job.dump, job.dump_staging))
            settings["solver"] = Dumping(laplacians.get(settings.get("solver", "auto")), systems)
        result = integrated(source, settings, args, watcher)
        known = facts(source, result, args)
        watcher.stage("writing")
        write_all(folder, result, job.name, args, image, known_of(job.path, known))
        files = sorted(file.name for file in folder.iterdir())
    return {"output": str(job.target), "files": files, **known}


def settings_of(args: argparse.Namespace, source: Understood, name: str) -> dict[str, Any]:
    """Keywords for `integrate`: only what the user asked for, so that the library's defaults stay its own."""
    from ..io import InputError, read_depth

    settings = {key: getattr(args, key) for key in _SETTINGS if getattr(args, key, None) is not None}
    file = file_for(args.depth_prior, name)
    if file is not None:
        prior = read_depth(file, relative=True)
        if prior.shape != source.found.normals.shape[:2]:
            raise InputError(f"{file}: its size {prior.shape} is not the normals' {source.found.normals.shape[:2]}")
        settings["prior"] = prior
    if args.anchor:
        settings["anchors"] = args.anchor
    return settings


def integrated(
    source: Understood, settings: dict[str, Any], args: argparse.Namespace, watcher: Watcher
) -> Reconstruction:
    """The reconstruction of what was read."""
    from ..integration import integrate

    options: dict[str, Any] = {key: getattr(args, key) for key in ("connectivity", "method") if getattr(args, key)}
    if args.angle is not None:
        options["angle"] = None if args.angle == "none" else args.angle
    watcher.stage("components, filling")
    try:
        return integrate(
            source.normals,
            source.found.mask,
            source.found.camera,
            "opencv",
            **options,
            **settings,
            progress=watcher.step,
        )
    except TypeError as problem:
        unknown = re.search(r"unexpected keyword argument '(\w+)'", str(problem))
        if unknown is None or unknown[1] not in settings:
            raise
        raise ValueError(f"--method {args.method or 'components'} does not know {_option(unknown[1])}") from None


def _option(keyword: str) -> str:
    return {"prior": "--depth-prior", "anchors": "--anchor"}.get(keyword, f"--{keyword.replace('_', '-')}")


def facts(source: Understood, result: Reconstruction, args: argparse.Namespace) -> dict[str, Any]:
    """What can be said about a result, in plain types."""
    import numpy as np

    finite = result.depth[np.isfinite(result.depth)]
    height, width = result.depth.shape
    out: dict[str, Any] = {
        "width": width,
        "height": height,
        "bits": source.found.bits,
        "valid_pixels": int(finite.size),
        "frame": source.frame,
        "frame_reason": source.evidence.reason if source.evidence else "given",
        "camera": describe_camera(source.found.camera),
        "method": args.method or "components",
        "angle": result.levels[0].angle,
        "components": int(result.levels[0].n_components),
        "components_last": int(result.graph.n_components),
        "levels": len(result.levels),
        "pieces": int(result.n_pieces),
        "iterations": len(result.history),
        "energy": float(result.history[-1].energy) if result.history else None,
        "converged": bool(result.converged),
        "device": result.device,
        "depth_min": float(finite.min()),
        "depth_max": float(finite.max()),
        "notes": list(source.found.notes),
        "warnings": list(result.warnings),
        "seconds": {stage: round(seconds, 4) for stage, seconds in result.seconds.items()},
    }
    truth = source.found.read_truth()
    if truth is not None:
        out |= errors(result, truth)
    return out


def known_of(path: Path, record: dict[str, Any]) -> dict[str, str]:
    """What the report says of an input beyond the result itself."""
    out = {"Input": str(path), "Frame of the normals": f"{record['frame']} ({record['frame_reason']})"}
    out["Precision"] = f"{record['bits']} bits a value"
    if record["notes"]:
        out["Understood"] = "; ".join(record["notes"])
    if "made" in record:
        out["Error against the true depth"] = error_text(record)
    return out


def error_text(record: dict[str, Any]) -> str:
    return f"MADE {record['made']:.3g} ({100 * record['relative_error']:.2g} %)"


def errors(result: Reconstruction, truth: Any) -> dict[str, float]:
    """How far the depth is from the true one, once its free factor or offset is set."""
    from ..metrics import made, relative_error

    offset = not result.graph.pixels.map.camera.central
    return {
        "made": made(result.depth, truth, offset),
        "relative_error": relative_error(result.depth, truth, offset),
    }


def sentence(record: dict[str, Any]) -> str:
    """A record as a line for people."""
    if record["status"] == "skipped":
        return f"{record['name']}: skipped, {record['output']} is complete"
    first, last = record["components"], record["components_last"]
    parts = [
        f"{record['width']} × {record['height']}",
        f"{record['valid_pixels']:,} pixels",
        f"{first:,} components" if first == last else f"{first:,} → {last:,} components",
        f"{record['iterations']} iteration{'s' * (record['iterations'] != 1)}",
    ]
    if "made" in record:
        parts.append(error_text(record))
    parts.append(f"{record['total_seconds']:.2f} s")
    return f"{record['name']}: {', '.join(parts)}\n  → {record['output']}: {', '.join(record['files'])}"
