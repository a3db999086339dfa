"""``quotientgraph integrate``: turn one or many normal maps into depth and meshes."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from . import publishing, staging, tiles
from .arguments import add_input_arguments, add_method_arguments, not_empty, whole
from .config import prepare
from .file_lists import expand, names
from .manifest import facts_of, is_complete
from .messages import UsageError, calm, error, print_json, say, tell, warning
from .progress import InputBar, IterationBar
from .reconstruct import InputTask, attempt, given_settings, sentence
from .understand import check_options, files_read

EPILOG = """\
An INPUT is a file (.png .tiff .exr .npy .npz .mat .jpg .webp .bmp), a folder with a normal map (normal_map.png,
normals.npz or Normal_gt.mat, and mask.png, K.txt beside it), a folder of such folders or files, or a quoted pattern.
In the names of --mask, --camera, --rays, --texture, --depth-prior, --prior-confidence, --segments, --split-image
and --lines, {name} stands for the name of the input.

The files of an input appear together or not at all, and replace those of an earlier run; manifest.json lists them.
A failing input does not stop the others.
Exit codes: 0 all went well, 1 some failed, 2 the command line is wrong, 130 interrupted.
"""

# Further suffixes of files that -o may seem to name.
_FILES = (".zip", ".json", ".html", ".csv", ".graphml", ".parquet", ".gif", ".pdf", ".h5", ".txt")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "quotientgraph integrate INPUT... [-o DIR] [options]"
    parser.epilog = EPILOG
    parser.allow_abbrev = False
    parser.add_argument(
        "inputs", nargs="+", type=not_empty, metavar="INPUT", help="normal map: file, folder or pattern"
    )
    publishing.add_arguments(parser)
    add_input_arguments(parser)
    add_method_arguments(parser)
    tiles.add_arguments(parser)
    group = parser.add_argument_group("running")
    group.add_argument(
        "-j", "--jobs", type=whole(1), default=1, metavar="N", help="inputs that are worked on at a time (1)"
    )
    group.add_argument(
        "--skip-existing", action=argparse.BooleanOptionalAction, help="skip inputs whose results are complete"
    )
    group.add_argument(
        "--config", metavar="FILE", help="options from a TOML file, by the names above; the command line wins"
    )
    group.add_argument("--json", action="store_true", help="print what was done as JSON")
    group.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    parser.set_defaults(prepare=prepare)


def run(args: argparse.Namespace) -> int:
    if tiles.wanted(args):
        calm()
        return tiles.run(args)
    check(args)
    calm()
    began = time.perf_counter()
    paths, single = expand(args.inputs)
    root = Path(args.output or "quotientgraph-output")
    direct = single and args.output is not None
    with contextlib.ExitStack() as stack:
        stack.enter_context(staging.place_for(root) if direct else staging.folder(root))
        if args.dump_systems:
            dump = Path(args.dump_systems)
            stack.enter_context(staging.place_for(dump) if single else staging.folder(dump))
        tasks = _tasks(paths, args, root, direct, single)
        records = list(_records(tasks, args))
        _tell_kernel_notes(args)
    return _finish(records, args, time.perf_counter() - began)


def check(args: argparse.Namespace) -> None:
    """Refuse options that are wrong for every input, before any input is read."""
    check_options(args)
    _check_output(args.output)
    if args.method is not None:
        from ..integration import METHODS

        if args.method not in METHODS:
            raise UsageError(f"argument --method: {args.method!r} is not known; use one of {', '.join(METHODS)}")
    if args.preset is not None:
        from ..settings import PRESETS

        if args.preset not in PRESETS:
            raise UsageError(f"argument --preset: {args.preset!r} is not known; use one of {', '.join(PRESETS)}")
    if args.solver is not None or args.fill_solver is not None:
        import laplacians

        for name in ("solver", "fill_solver"):
            try:
                laplacians.get(getattr(args, name) or "auto")
            except ValueError as problem:
                raise UsageError(f"argument --{name.replace('_', '-')}: {problem}") from None
    if args.device == "cuda":
        from laplacians.core.arrays import namespace

        try:
            namespace("cuda")
        except (ValueError, ImportError, RuntimeError) as problem:
            raise UsageError(f"argument --device: {problem}") from None
    _check_settings(args)
    for option in ("prior_weight", "prior_kind", "prior_confidence"):
        if getattr(args, option) is not None and args.depth_prior is None:
            raise UsageError(f"argument --{option.replace('_', '-')}: there is no --depth-prior that it is about")
    if args.texture is not None and "stl" in publishing.mesh_kinds(args):
        raise UsageError("argument --texture: an STL file holds no texture; use ply, obj or glb")
    for option in ("faces", "error"):
        if getattr(args, option) is not None and args.mesh == ():
            raise UsageError(f"argument --{option}: there is no --mesh that it is about")
    if args.faces is not None and len(args.faces) > 1 and "glb" not in publishing.mesh_kinds(args):
        raise UsageError("argument --faces: levels of detail need --mesh glb; give one number for other formats")
    if not publishing.planned(args):
        raise UsageError("nothing to write: --format and --mesh are both none, and no other output is asked for")


def _check_output(output: str | None) -> None:
    """Refuse a new folder that has the name of a file, which is a file that the user wants."""
    if output is None or Path(output).exists():
        return
    from ..io import mesh_suffixes, readable

    suffix = Path(output).suffix.lower()
    if suffix == ".zarr":
        raise UsageError(
            f"argument -o: {output} is a store for a map in tiles; add --workers or --memory, give a .zarr input, or name "
            "a folder"
        )
    if suffix in {*readable(), *mesh_suffixes(), *_FILES}:
        kind = f"--mesh {suffix[1:]}" if suffix in mesh_suffixes() else "--format and --mesh"
        raise UsageError(
            f"argument -o: {output} would be a folder; name one without {suffix}, and choose the files by {kind}"
        )


def _check_settings(args: argparse.Namespace) -> None:
    """Refuse settings that are wrong together, or that the chosen method does not take."""
    from ..integration import keywords_of
    from ..settings import Settings

    method = args.method or "components"
    given = given_settings(args)
    for option in ("segments", "split_image"):
        if getattr(args, option) is not None and method != "components":
            raise UsageError(f"argument --{option.replace('_', '-')}: --method {method} forms no components")
    named = {**given, "prior": args.depth_prior, "anchors": args.anchor, "contacts": args.contact}
    for name, value in named.items():
        if value is not None and name not in keywords_of(method):
            other = {"prior": "--depth-prior", "anchors": "--anchor", "contacts": "--contact"}
            option = other.get(name, f"--{name.replace('_', '-')}")
            raise UsageError(f"argument {option}: --method {method} does not take it")
    try:
        Settings.from_preset(given.pop("preset", "best"), **given)
    except ValueError as problem:
        raise UsageError(f"{problem}") from None


def _tasks(paths: list[Path], args: argparse.Namespace, root: Path, direct: bool, single: bool) -> list[InputTask]:
    tasks = []
    for path, name in zip(paths, names(paths)):
        target = root if direct else root / name
        dump = None if not args.dump_systems else Path(args.dump_systems) / ("" if single else name)
        dump_staging = None if dump is None else staging.staging_for(dump)
        tasks.append(InputTask(path, name, target, staging.staging_for(target), dump, dump_staging, args))
    return tasks


def _records(tasks: list[InputTask], args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Do the tasks and tell of each as it is done."""
    left = []
    for task in tasks:
        if args.skip_existing and _is_done(task):
            record = {"input": str(task.path), "name": task.name, "status": "skipped", "output": str(task.target)}
            _tell(record, args)
            yield record
        else:
            left.append(task)
    n_workers = min(args.jobs, len(left))
    quiet = args.quiet or args.json
    if len(left) == 1:
        with contextlib.closing(IterationBar(left[0].name, args.max_iterations or 150, quiet)) as bar:
            record = attempt(left[0], bar)
        _tell(record, args)
        yield record
        return
    with contextlib.closing(InputBar(len(left), quiet)) as bars:
        if n_workers > 1:
            from . import workers

            done: Generator[tuple[InputTask, dict[str, Any]]] = workers.run(left, n_workers)
        else:
            done = ((task, attempt(task, bars)) for task in left)
        with contextlib.closing(done):
            for _, record in done:
                bars.done(record)
                _tell(record, args)
                yield record


def _is_done(task: InputTask) -> bool:
    """Whether the results of an input are complete and nothing that they were made of has changed."""
    from ..io import InputError

    try:
        inputs = files_read(task.path, task.name, task.args)
    except InputError:  # it is told when the input is worked on
        return False
    return is_complete(task.target, publishing.planned(task.args), task.args, facts_of(inputs))


def _tell(record: dict[str, Any], args: argparse.Namespace) -> None:
    if record["status"] == "failed":
        error(record["error"])
        return
    if args.quiet:
        return
    for text in record.get("warnings", ()):
        warning(f"{record['name']}: {text}")
    if not args.json:
        tell(sentence(record))


def _tell_kernel_notes(args: argparse.Namespace) -> None:
    """Say what is wrong with the cache of compiled kernels, if anything is."""
    laplacians = sys.modules.get("laplacians")
    if laplacians is not None and hasattr(laplacians, "kernel_notes") and not args.quiet:
        for text in laplacians.kernel_notes():
            warning(text)


def _finish(records: list[dict[str, Any]], args: argparse.Namespace, seconds: float) -> int:
    count = {status: sum(r["status"] == status for r in records) for status in ("ok", "skipped", "failed")}
    if args.json:
        from .. import __version__

        document = {
            "version": __version__,
            **count,
            "seconds": round(seconds, 4),
            "results": sorted(records, key=lambda r: r["input"]),
        }
        print_json(document)
    elif len(records) > 1 and (count["failed"] or not args.quiet):
        parts = [f"{count['ok']} done"] + [f"{n} {status}" for status, n in count.items() if n and status != "ok"]
        speed = count["ok"] / max(seconds, 1e-3)
        rate = f", {speed:.{0 if speed >= 10 else 1 if speed >= 1 else 2}f} a second" if count["ok"] > 1 else ""
        text = f"{len(records)} inputs: {', '.join(parts)}; {seconds:.1f} s{rate}"
        (say if count["failed"] else tell)(text)
        if count["failed"] > 1:
            failed = ", ".join(r["name"] for r in records if r["status"] == "failed")
            say(f"failed: {failed}")
    return 1 if count["failed"] else 0
