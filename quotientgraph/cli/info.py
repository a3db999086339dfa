"""``quotientgraph info``: show what is understood of a normal map, without integrating it."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from .arguments import add_input_arguments, not_empty
from .config import prepare
from .file_lists import expand, names
from .messages import about, error, expected, one_line, print_json, tell
from .understand import Understood, check_options, describe_camera, understand

ANGLES = (2.0, 3.5, 5.0)
MAX_PIXELS = 2**25  # above, components are not counted: each pixel takes about 200 bytes
_LEFT_OUT = {"no_normal": "without a normal", "no_ray": "without a ray", "faces_away": "facing away"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "quotientgraph info INPUT... [options]"
    parser.add_argument(
        "inputs", nargs="+", type=not_empty, metavar="INPUT", help="normal map: file, folder or pattern"
    )
    add_input_arguments(parser)
    parser.add_argument("--connectivity", type=int, choices=(4, 8), default=8, help="neighbours of a pixel (8)")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.allow_abbrev = False
    parser.set_defaults(prepare=prepare)


def run(args: argparse.Namespace) -> int:
    check_options(args)
    paths, _ = expand(args.inputs)
    records: list[dict[str, Any]] = []
    failed = False
    for path, name in zip(paths, names(paths)):
        try:
            record = describe(path, name, args)
        except expected() as problem:
            record = {"input": str(path), "error": about(path, one_line(problem))}
            error(record["error"])
            failed = True
        else:
            if not args.json:
                tell(("\n" if records else "") + "\n".join(_lines(record)))
        records.append(record)
    if args.json:
        print_json(records[0] if len(records) == 1 else records)
    return int(failed)


def describe(path: Path, name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Everything that is known of an input, in types that JSON has."""
    if path.is_dir() and path.suffix.lower() == ".zarr":
        _refuse_store(path)
    source = understand(path, name, args)
    found = source.found
    height, width = found.normals.shape[:2]
    record: dict[str, Any] = {
        "input": str(path),
        "name": name,
        "width": width,
        "height": height,
        "bits": found.bits,
        "dtype": found.dtype,
        "precision": found.precision,
        "mask_pixels": None if found.mask is None else int(found.mask.sum()),
        "mask_from": found.mask_from,
        "camera": describe_camera(found.camera),
        "camera_from": found.camera_from,
        "frame": source.frame,
        "frame_reason": source.reason,
        "frame_scores": {} if source.evidence is None else {k: vars(v) for k, v in source.evidence.scores.items()},
        "truth": None if found.truth is None else str(found.truth),
        "notes": list(found.notes),
        "warnings": list(source.warnings),
    }
    return record | (_components(source, source.frame, args.connectivity) if source.frame is not None else {})


def _refuse_store(path: Path) -> None:
    """Say what a Zarr store holds: it is made for maps that do not fit into memory, and nothing here works in tiles."""
    from ..io import InputError
    from ..scale.sources import Source

    height, width = Source.from_arrays(path).shape
    raise InputError(
        f"{path}: a Zarr store with normals of {width}×{height}, for `quotientgraph integrate {path} -o depth.zarr "
        "--frame ...`, which compares frame and camera with a part of them; "
        "info looks at maps in memory, so save a part as .npy for it"
    )


def _components(source: Understood, frame: str, connectivity: int) -> dict[str, Any]:
    """Valid pixels, pieces and components, unless the map is so large that this would take gigabytes."""
    if source.found.normals[..., 0].size > MAX_PIXELS:
        return {}
    from ..beyond.automatic_angle import suitable_angle
    from ..geometry.normals import NormalMap
    from ..graph.pixels import PixelGraph
    from ..graph.selection import connected_components, similar_edges

    pixels = PixelGraph.from_map(
        NormalMap.from_array(source.found.normals, source.found.mask, source.found.camera, frame), connectivity
    )
    counts = {}
    for angle in ANGLES:
        edges = similar_edges(pixels, angle)
        labels = connected_components(pixels.n_pixels, pixels.tail[edges], pixels.head[edges])
        counts[str(angle)] = int(labels.max()) + 1
    return {
        "valid_pixels": pixels.n_pixels,
        "left_out": dict(pixels.map.dropped),
        "pieces": int(pixels.n_pieces),
        "components": counts,
        "suitable_angle": suitable_angle(pixels),
    }


def _lines(record: dict[str, Any]) -> list[str]:
    size = record["width"] * record["height"]
    share = "" if record["mask_pixels"] is None else f", mask {record['mask_pixels'] / size:.1%}"
    rows = [
        ("size", f"{record['width']} × {record['height']}, {record['precision']}{share}"),
        ("camera", record["camera"] + (f" from {record['camera_from']}" if record["camera_from"] else "")),
        ("frame", f"{record['frame'] or 'undecided; pass --frame'} ({record['frame_reason']})"),
    ]
    rows += [("", line) for line in _score_lines(record["frame_scores"])]
    if record["frame"] and "pieces" not in record:
        rows.append(("components", f"not counted, the map has more than {MAX_PIXELS:,} pixels"))
    if "pieces" in record:
        left = [f"{n:,} {_LEFT_OUT.get(why, why)}" for why, n in record["left_out"].items() if n]
        rows += [
            ("valid", f"{record['valid_pixels']:,} pixels" + (f"; left out {', '.join(left)}" if left else "")),
            ("pieces", f"{record['pieces']:,}" + (", of undetermined relative depth" if record["pieces"] > 1 else "")),
            ("components", ", ".join(f"{count:,} at {angle}°" for angle, count in record["components"].items())),
            ("angle", f"{record['suitable_angle']:.3g}° suits the noise of these normals"),
        ]
    if record["truth"]:
        rows.append(("truth", record["truth"]))
    rows += [("note", note) for note in record["notes"]]
    rows += [("warning", text) for text in record["warnings"]]
    return [record["input"], *(f"  {key:10}  {value}" for key, value in rows)]


def _score_lines(scores: dict[str, dict[str, float]], limit: int = 4) -> list[str]:
    """The best candidates, one on each line."""

    def rank(item: tuple[str, dict[str, float]]) -> tuple[float, float]:
        residual = item[1]["residual"]
        return round(item[1]["away"], 2), math.inf if math.isnan(residual) else residual

    words = {
        "away": "facing away",
        "residual": "loop residual",
        "outward": "outward at the border",
        "limbs": "at limbs",
    }
    out = []
    for name, score in sorted(scores.items(), key=rank)[:limit]:
        known = [f"{words[key]} {value:.3g}" for key, value in score.items() if not math.isnan(value)]
        out.append(f"  {name:20} {', '.join(known)}")
    return out
