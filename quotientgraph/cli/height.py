"""``quotientgraph height``: turn tangent-space normal maps into height maps."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

from . import staging
from .arguments import not_empty, number
from .file_lists import names
from .messages import (
    TRACEBACK,
    UsageError,
    about,
    calm,
    error,
    expected,
    one_line,
    print_json,
    say,
    tell,
    unexpected,
    warning,
)

FORMATS = ("png", "exr", "tiff", "npy")
_NAMED = 10  # that many skipped files of a folder are named, the others are counted

EPILOG = """\
An INPUT is a tangent-space normal map (.png .tiff .exr .jpg .webp .bmp .npy) or a folder, whose normal maps are found by
what is in the files. With one file, OUT is the height map to write. With several, or a folder, OUT is a folder, and the
files get the name of their input with _height, _ao or _curvature; a longer one where two would be the same. An input is
never overwritten.

examples:
  quotientgraph height bricks_normal.png -o bricks_height.png
  quotientgraph height bricks_normal.png -o bricks.exr --size 2m --ao --curvature
  quotientgraph height textures/ -o heights --format exr --smooth
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "quotientgraph height INPUT... [-o OUT] [options]"
    parser.epilog = EPILOG
    parser.allow_abbrev = False
    parser.add_argument(
        "inputs", nargs="+", type=not_empty, metavar="INPUT", help="normal map, or a folder of textures"
    )
    parser.add_argument(
        "-o", "--output", type=not_empty, metavar="OUT", help="file for one input, folder for several (beside it)"
    )
    group = parser.add_argument_group("input")
    group.add_argument(
        "--green",
        choices=("auto", "opengl", "directx"),
        default="auto",
        help="whether green points up (opengl) or down (directx); auto: by which of them is a surface (auto)",
    )
    group.add_argument(
        "--tile",
        choices=("auto", "x", "y", "both", "no"),
        default="auto",
        help="in which directions the texture tiles; auto: by comparing the seams with the inside (auto)",
    )
    group = parser.add_argument_group("surface")
    group.add_argument(
        "--size", metavar="LENGTH", help='physical width such as 2m, or "2m x 1m"; heights are then in that unit'
    )
    group.add_argument("--strength", type=_factor, default=1.0, metavar="X", help="factor of the heights (1)")
    group.add_argument(
        "--smooth", action="store_true", help="no steps: plain least squares by Fourier transform, the fastest"
    )
    group.add_argument(
        "--slope",
        choices=("remove", "keep", "steps"),
        default="remove",
        help="what becomes of a net slope of a texture that tiles: removed, kept, or undone by steps (remove)",
    )
    group = parser.add_argument_group("output")
    group.add_argument("--format", choices=FORMATS, help="of the height map (by the name of OUT, or png: 16 bits)")
    group.add_argument(
        "--values",
        choices=("levels", "height"),
        default="levels",
        help="0 to 1, or heights in their unit, which a PNG cannot hold (levels)",
    )
    group.add_argument("--ao", action="store_true", help="write an ambient-occlusion map as well")
    group.add_argument(
        "--ao-radius", type=number(0), metavar="PX", help="how far away things shade (a 16th of the width)"
    )
    group.add_argument("--curvature", action="store_true", help="write a curvature map as well")
    group.add_argument("--json", action="store_true", help="print what was done as JSON")
    group.add_argument("-q", "--quiet", action="store_true", help="print errors only")


def run(args: argparse.Namespace) -> int:
    _check(args)
    calm()
    tasks = _without_results(_tasks(args), args)
    _spare_inputs(tasks, args)
    records = []
    for source, target in tasks:
        record: dict[str, Any] = {"input": str(source), "status": "ok"}
        began = time.perf_counter()
        try:
            with staging.folder(target.parent):
                record |= _do(source, target, args)
        except expected() as problem:
            record |= {"status": "failed", "error": about(source, one_line(problem))}
        except Exception as problem:
            if os.environ.get(TRACEBACK):
                raise
            record |= {"status": "failed", "error": f"{source}: {unexpected(problem)}"}
        record["seconds"] = round(time.perf_counter() - began, 3)
        _tell(record, args)
        records.append(record)
    if args.json:
        print_json(records)
    if not records:
        error(f"{', '.join(args.inputs)}: no normal map was found")
    return 0 if records and all(record["status"] == "ok" for record in records) else 1


def _check(args: argparse.Namespace) -> None:
    """Refuse, before any work, what is wrong for every input."""
    from ..height import Size

    try:
        Size.from_text(args.size, (1, 1))
    except ValueError as problem:
        raise UsageError(f"argument --size: {problem}") from None
    suffix = Path(args.output or "").suffix.lower().lstrip(".")
    if args.values == "height" and (args.format or suffix or "png") == "png":
        raise UsageError("argument --values: a PNG holds values from 0 to 1 only; use --format exr or tiff")
    if args.ao_radius is not None and not args.ao:
        raise UsageError("argument --ao-radius: there is no --ao that it is about")


def _tasks(args: argparse.Namespace) -> list[tuple[Path, Path]]:
    """Each input with the file that its height map goes to; no two have the same one."""
    suffix = f".{args.format or 'png'}"
    one = len(args.inputs) == 1 and not Path(args.inputs[0]).is_dir()
    out = None if args.output is None else Path(args.output)
    if one and out is not None and not out.is_dir() and out.suffix:
        return [(Path(args.inputs[0]), out.with_suffix(suffix) if args.format else out)]
    places: dict[str, tuple[Path, Path]] = {}  # an input that is named twice is one
    for word in map(Path, args.inputs):
        for path in _normal_maps(word, args.quiet) if word.is_dir() else [word]:
            below = path.parent.relative_to(word) if word.is_dir() else Path()
            places.setdefault(os.path.abspath(path), (path, path.parent if out is None else out / below))
    by_place: dict[Path, list[Path]] = {}
    for path, place in places.values():
        by_place.setdefault(place.resolve(), []).append(path)
    stems: dict[Path, str] = {}
    for paths in by_place.values():
        short = [path.stem for path in paths]
        stems |= zip(paths, short if len(set(short)) == len(short) else names(paths))
    return [(path, place / f"{stems[path]}_height{suffix}") for path, place in places.values()]


def _normal_maps(folder: Path, quiet: bool) -> list[Path]:
    """The normal maps in a folder and in those below it; colour images that are none are named to the user."""
    from ..height.tangent import is_normal_map
    from ..io import InputError, read_arrays, readable

    known = set(readable())
    found, skipped = [], []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix.lower() in known and not path.name.startswith("."):
            try:
                arrays = read_arrays(path).values()
            except InputError:
                found.append(path)  # it is reported like any other input that fails
                continue
            if any(is_normal_map(array) for array in arrays):
                found.append(path)
            elif any(array.ndim == 3 and array.shape[-1] in (3, 4) for array in arrays):
                skipped.append(str(path.relative_to(folder)))
    if skipped and not quiet:
        more = f" and {len(skipped) - _NAMED} more" if len(skipped) > _NAMED else ""
        say(
            f"{folder}: skipped, as their values are not those of a tangent-space normal map: "
            f"{', '.join(skipped[:_NAMED])}{more}; name a file itself to use it all the same"
        )
    return found


def _companions(target: Path, args: argparse.Namespace) -> dict[str, Path]:
    """The files beside a height map that are asked for, by what they show."""
    base = target.stem.removesuffix("_height")
    suffix = ".png" if target.suffix.lower() == ".npy" else target.suffix
    return {kind: target.with_name(f"{base}_{kind}{suffix}") for kind in ("ao", "curvature") if getattr(args, kind)}


def _without_results(tasks: list[tuple[Path, Path]], args: argparse.Namespace) -> list[tuple[Path, Path]]:
    """The tasks without grey pictures that another task would write, as `*.png` names them in a second run."""
    writers = {
        staging.identity(file): target
        for _, target in tasks
        for file in (target, *_companions(target, args).values())
        if file.exists()
    }
    results = [one for one, target in tasks if writers.get(staging.identity(one), target) != target and _is_grey(one)]
    if results and not args.quiet:
        say(f"{', '.join(map(str, results))}: grey, and results of other inputs; left out as inputs")
    return [(source, target) for source, target in tasks if source not in results]


def _is_grey(path: Path) -> bool:
    from ..io import InputError, read_arrays

    try:
        return all(array.ndim == 2 for array in read_arrays(path).values())
    except InputError:
        return False


def _spare_inputs(tasks: list[tuple[Path, Path]], args: argparse.Namespace) -> None:
    """Refuse to write a file that is an input, under whatever name."""
    inputs = staging.identities(source for source, _ in tasks)
    for _, target in tasks:
        for file in (target, *_companions(target, args).values()):
            if staging.identity(file) in inputs:
                raise UsageError(
                    f"argument -o: {file} is an input and would be overwritten; choose another file or folder"
                )


def _do(source: Path, target: Path, args: argparse.Namespace) -> dict[str, Any]:
    from ..height import height_map

    found = height_map(
        source,
        green=args.green,
        tile=args.tile,
        size=args.size,
        strength=args.strength,
        smooth=args.smooth,
        slope=args.slope,
    )
    found.save(target, args.values)
    others = _companions(target, args)
    if "ao" in others:
        found.save_picture(others["ao"], found.ambient_occlusion(args.ao_radius))
    if "curvature" in others:
        found.save_picture(others["curvature"], found.curvature())
    height, width = found.height.shape
    return {
        "files": [str(file) for file in (target, *others.values())],
        "pixels": [width, height],
        **found.facts,
        "green_reason": found.source.green_reason,
        "tile_reason": found.source.tile_reason,
        "lengths": {
            name: found.size.text(value) for name, value in (("range", found.range), ("width", found.size.width))
        },
        "components": None if found.result is None else found.result.levels[0].n_components,
        "notes": list(found.source.notes),
        "warnings": list(found.warnings),
    }


def _tell(record: dict[str, Any], args: argparse.Namespace) -> None:
    if record["status"] == "failed":
        error(record["error"])
        return
    if args.quiet:
        return
    for text in record["warnings"]:
        warning(f"{record['input']}: {text}")
    if args.json:
        return
    width, height = record["pixels"]
    lengths = record["lengths"]
    lines = [
        f"{record['input']}: {width} × {height}, {lengths['width']} wide, {record['seconds']:.2f} s",
        f"  green {record['green']} ({record['green_reason']})",
        f"  tiles: {record['tile']} ({record['tile_reason']})",
        f"  heights range over {lengths['range']}, mid-level {record['mid_level']:.4f}: "
        f"displacement = ({record['range']:.6g} {record['unit']}) × (value − {record['mid_level']:.4f})",
    ]
    tell("\n".join([*lines, f"  → {', '.join(record['files'])}"]))


def _factor(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if value == 0 or abs(value) == float("inf") or value != value:
        raise argparse.ArgumentTypeError(
            f"{text} must be a number other than 0; a negative one turns the relief inside out"
        )
    return value
