"""One input from reading to writing, in this process or in a worker."""

from __future__ import annotations

import argparse
import contextlib
import glob
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .alternatives import chosen, described, told, write_alternatives
from .manifest import MANIFEST, facts_of, is_dumped_system, is_ours, write_manifest
from .messages import TRACEBACK, about, expected, one_line, unexpected
from .progress import Watcher, compiling_shown
from .publishing import planned, write_all
from .staging import staged
from .understand import Understood, describe_camera, describe_input, file_for, files_read, understand

if TYPE_CHECKING:
    import numpy as np

    from ..result import Reconstruction


@dataclass(frozen=True)
class InputTask:
    """An input and where its results go. The folders `staging` and `dump_staging` exist only while it is worked on."""

    path: Path
    name: str
    target: Path
    staging: Path
    dump: Path | None
    dump_staging: Path | None
    args: argparse.Namespace


def attempt(task: InputTask, watcher: Watcher | None = None) -> dict[str, Any]:
    """Do a task. A failure becomes a record as well, so that one bad file does not stop the others."""
    record: dict[str, Any] = {"input": str(task.path), "name": task.name, "status": "ok"}
    began = time.perf_counter()
    try:
        record |= _do(task, watcher or Watcher())
    except expected() as problem:
        record |= {"status": "failed", "error": about(task.path, one_line(problem))}
    except Exception as problem:
        if os.environ.get(TRACEBACK):
            raise
        record |= {"status": "failed", "error": f"{task.path}: {unexpected(problem)}"}
    record["total_seconds"] = round(time.perf_counter() - began, 4)
    return record


def _do(task: InputTask, watcher: Watcher) -> dict[str, Any]:
    from ..io import InputError
    from ..io.mesh_files import NO_TRIANGLE

    args = task.args
    watcher.stage("reading")
    if glob.has_magic(str(task.path)) and not task.path.exists():
        raise InputError(f"{task.path}: no file matches this pattern")
    inputs = files_read(task.path, task.name, args)
    facts = facts_of(inputs)  # before they are read, so that a change in the meantime shows
    source = understand(task.path, task.name, args)
    if source.frame is None and source.evidence is not None:
        source.evidence.require()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(staged(task.target, task.staging, is_ours, [MANIFEST, *planned(args)], inputs))
        image, source = _picture(file_for(args.texture, task.name), source)
        split, source = _picture(file_for(args.split_image, task.name), source)
        prior, source = _prior(file_for(args.depth_prior, task.name), source)
        settings = settings_of(args, source, task.name) | prior | criteria_of(args, source, task.name, split)
        if task.dump is not None and task.dump_staging is not None:
            import laplacians
            from laplacians.comparison import Dumping

            place = staged(task.dump, task.dump_staging, is_dumped_system, ["0000.npz"], inputs)
            systems = stack.enter_context(place)
            settings["solver"] = Dumping(laplacians.get(settings.get("solver", "auto")), systems)
        with compiling_shown(watcher):
            result = integrated(source, settings, args, watcher)
        known = record_of(source, result, args)
        watcher.stage("writing")
        truth = source.found.read_truth() if args.report else None
        if args.alternatives:
            write_alternatives(folder, result, known["alternatives"])
        known |= write_all(
            folder, result, task.name, args, image, known_of(task.path, known), truth, prior.get("prior")
        )
        files = sorted(file.name for file in folder.iterdir())
        left_out = [file for file in planned(args) if known.get("faces") == 0 and file.startswith("mesh.")]
        if left_out:
            known["warnings"].append(f"there is no {', '.join(left_out)}: {NO_TRIANGLE}")
        write_manifest(folder, str(task.path), args, facts, left_out)
    return {"output": str(task.target), "files": files, **known}


def _picture(file: str | None, source: Understood) -> tuple[np.ndarray | None, Understood]:
    """A photograph, turned as the normal map is, and the input with what is to be said of that."""
    from ..io import like_the_map, read_arrays, stated_orientation

    if file is None:
        return None, source
    found, stored = source.found, next(iter(read_arrays(file).values()))
    shape = (found.normals.shape[0], found.normals.shape[1])
    image, note, warning = like_the_map(stored, stated_orientation(file), shape, file)
    notes = (*found.notes, *filter(None, [note]))
    return image, replace(
        source, found=replace(found, notes=notes), warnings=(*source.warnings, *filter(None, [warning]))
    )


def _prior(file: str | None, source: Understood) -> tuple[dict[str, np.ndarray], Understood]:
    """The keyword for a depth prior, if there is one, and the input with what is to be said of that."""
    from ..io import InputError, read_prior

    if file is None:
        return {}, source
    prior, warnings = read_prior(file)
    if prior.shape != source.found.normals.shape[:2]:
        raise InputError(f"{file}: its size {prior.shape} is not the normals' {source.found.normals.shape[:2]}")
    return {"prior": prior}, replace(source, warnings=(*source.warnings, *warnings))


def given_settings(args: argparse.Namespace) -> dict[str, Any]:
    """The settings that the user gave, by the names that the library has for them."""
    from ..settings import FIELDS

    names = ("preset", *(name for name in FIELDS if name != "angle"))
    return {name: getattr(args, name) for name in names if getattr(args, name, None) is not None}


def settings_of(args: argparse.Namespace, source: Understood, name: str) -> dict[str, Any]:
    """Keywords for `integrate`: only those that the user gave, so that the defaults are those of the library."""
    from ..io import as_confidence

    settings = given_settings(args)
    file = file_for(args.prior_confidence, name)
    if file is not None:
        height, width = source.found.normals.shape[:2]
        settings["prior_confidence"] = as_confidence(file, (height, width))
    if args.anchor:
        settings["anchors"] = args.anchor
    if args.contact:
        settings["contacts"] = args.contact
    return settings


def criteria_of(
    args: argparse.Namespace, source: Understood, name: str, image: np.ndarray | None = None
) -> dict[str, Any]:
    """Keywords for `integrate` that say where components end: by a photograph, and by files that the user gave."""
    from ..io import InputError, as_lines, read_labels

    shape, found = source.found.normals.shape[:2], {}
    file = file_for(args.segments, name)
    if file is not None:
        found["labels"] = read_labels(file)
    if image is not None:
        found["image"] = image
    for key, value in found.items():
        if value.shape[:2] != shape:
            option = {"labels": args.segments, "image": args.split_image}[key]
            raise InputError(f"{option}: its size {value.shape[:2]} is not the normals' {shape}")
    file = file_for(args.lines, name)
    if file is not None:
        found["forbidden"] = as_lines(file, shape)
    return found


def integrated(
    source: Understood, settings: dict[str, Any], args: argparse.Namespace, watcher: Watcher
) -> Reconstruction:
    """Integrate the normals that were read, and take the alternatives that were chosen."""
    from ..integration import integrate

    names = ("connectivity", "method", "wrap", "slope")
    options: dict[str, Any] = {key: getattr(args, key) for key in names if getattr(args, key, None)}
    if args.angle is not None:
        options["angle"] = None if args.angle == "none" else args.angle
    watcher.stage("components, filling")
    found: Any = replace(source.found, warnings=())  # those are among the warnings of `source`
    result = integrate(
        found,
        found.mask,
        found.camera,
        str(source.frame),
        **options,
        **settings,
        progress=watcher.step,
        check=False,  # the frame and the camera were compared with the normals when they were read
    )
    return chosen(result, args.take or ())


def record_of(source: Understood, result: Reconstruction, args: argparse.Namespace) -> dict[str, Any]:
    """What is known of a result, in types that JSON has."""
    import numpy as np

    from ..io.plausibility import CONTRADICTION

    finite = result.depth[np.isfinite(result.depth)]
    height, width = result.depth.shape
    out: dict[str, Any] = {
        "width": width,
        "height": height,
        "bits": source.found.bits,
        "precision": source.found.precision,
        "valid_pixels": int(finite.size),
        "frame": source.frame,
        "frame_reason": source.reason,
        "camera": describe_camera(source.found.camera),
        "camera_from": source.found.camera_from,
        "mask_from": source.found.mask_from,
        "understood": describe_input(source),
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
        "warnings": list(
            dict.fromkeys([*source.warnings, *(text for text in result.warnings if not text.startswith(CONTRADICTION))])
        ),
        "seconds": {stage: round(seconds, 4) for stage, seconds in result.seconds.items()},
    }
    if result.taken:
        out["taken"] = list(result.taken)
    if args.alternatives:
        out["alternatives"] = [described(one) for one in result.alternatives]
    wrap = result.graph.pixels.map.wrap
    if wrap:
        out |= {"wrap": "both" if wrap.x and wrap.y else "x" if wrap.x else "y", "slope": list(result.slope)}
    truth = source.found.read_truth()
    if truth is not None:
        out |= errors(result, truth)
    return out


def known_of(path: Path, record: dict[str, Any]) -> dict[str, str]:
    """What the report tells about the input, beside the result itself."""
    out = {"Input": str(path), "Frame of the normals": f"{record['frame']} ({record['frame_reason']})"}
    out["Camera and mask from"] = f"{record['camera_from'] or 'nothing'}, {record['mask_from'] or 'nothing'}"
    out["Precision"] = record["precision"]
    if record["notes"]:
        out["Understood"] = "; ".join(record["notes"])
    if "made" in record:
        out["Error against the true depth"] = error_text(record)
    return out


def error_text(record: dict[str, Any]) -> str:
    """The error against the true depth, in a few words."""
    return f"MADE {record['made']:.3g} ({100 * record['relative_error']:.2g} %)"


def errors(result: Reconstruction, truth: Any) -> dict[str, float]:
    """The error of the depth against the true one, after the free factor or offset has been fitted."""
    from ..metrics import made, relative_error

    offset = not result.graph.pixels.map.camera.central
    return {
        "made": made(result.depth, truth, offset),
        "relative_error": relative_error(result.depth, truth, offset),
    }


def sentence(record: dict[str, Any]) -> str:
    """A record as a few lines for people."""
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
    lines = [f"{record['name']}: {', '.join(parts)}", f"  {record['understood']}"]
    if record.get("mesh_error"):
        lines.append(f"  mesh of {record['faces']:,} faces, within {record['mesh_error']:.2g} pixels of the surface")
    lines += told(record)
    return "\n".join([*lines, f"  → {record['output']}: {', '.join(record['files'])}"])
