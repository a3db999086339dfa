"""``quotientgraph integrate big.zarr -o out.zarr``: a map in tiles, on this machine or on a Dask cluster."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import Any

from .arguments import whole
from .file_lists import names
from .messages import UsageError, print_json, say, tell, warning
from .progress import StageBar
from .reconstruct import given_settings
from .understand import describe_camera, file_for

_ONLY_TILES = ("tile", "scheduler", "workers", "memory", "resume", "overwrite")
_ABOUT_RESULTS = ("resume", "overwrite")  # of tiles too, but they alone do not say that tiles are wanted
_NOT_WITH_TILES = (
    "method", "depth_prior", "prior_confidence", "anchor", "texture", "dump_systems", "rays",
    "segments", "split_image", "lines", "faces", "error", "contact", "take", "alternatives",
    "format", "mesh", "points", "labels", "graphml", "tables", "decomposition", "picture", "report",
    "prior_weight", "prior_kind", "skip_existing",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "tiles",
        "for maps larger than memory: INPUT is a .zarr store, a .npy file or a tiled .tiff, and -o names a .zarr store",
    )
    group.add_argument("--tile", type=whole(32), metavar="N", help="side of a tile in pixels (2048)")
    group.add_argument("--scheduler", metavar="ADDRESS", help="Dask scheduler to run on, such as tcp://host:8786")
    group.add_argument(
        "--workers", type=whole(1), metavar="N", help="processes on this machine; 1 is this process alone (all cores)"
    )
    group.add_argument("--memory", metavar="SIZE", help="memory that each process may take, such as 2GB")
    group.add_argument("--resume", action="store_true", default=None, help="go on with a run that was interrupted")
    group.add_argument("--overwrite", action="store_true", default=None, help="replace results of an earlier run")


def wanted(args: argparse.Namespace) -> bool:
    """Whether the map is to be integrated in tiles."""
    given = [name for name in _ONLY_TILES if getattr(args, name) is not None]
    if any(name not in _ABOUT_RESULTS for name in given):
        return True
    if any(str(one).rstrip("/").endswith(".zarr") for one in args.inputs):
        return True
    if given and not str(args.output or "").rstrip("/").endswith(".zarr"):
        raise UsageError(
            f"argument --{given[0]}: is for a map in tiles, and neither INPUT nor -o is a .zarr store; leave it out, "
            "for results of an earlier run in memory are replaced without it"
        )
    return bool(given)


def run(args: argparse.Namespace) -> int:
    """Integrate one map in tiles."""
    for name in _NOT_WITH_TILES:
        if getattr(args, name, None) not in (None, (), False):
            raise UsageError(
                f"argument --{name.replace('_', '-')}: does not go with tiles; leave it out, or integrate the map in memory "
                "(without --tile, --memory, --workers and --scheduler, from a file that is not .zarr)"
            )
    if len(args.inputs) != 1:
        raise UsageError("a map in tiles is one INPUT; call the program for each of several")
    if args.frame == "auto":
        raise UsageError("argument --frame: is not found out for a map in tiles; pass opengl, opencv, dsine or directx")
    from ..io import InputFiles, find_files_beside
    from ..scale import integrate
    from ..scale.memory import bytes_of
    from ..scale.sources import Source

    out = Path(args.output or "depth.zarr")
    try:
        memory = None if args.memory is None else bytes_of(args.memory)
    except ValueError as problem:
        raise UsageError(f"argument --memory: {problem}") from None
    place = args.inputs[0]
    shape = Source.from_arrays(place).shape
    name = names([Path(place)])[0].removesuffix(".zarr")
    args.mask, args.camera = file_for(args.mask, name), file_for(args.camera, name)
    beside = find_files_beside(place) if args.beside and "://" not in place else InputFiles(Path(place))
    camera, camera_text, notes = _camera(args, shape, beside.camera)
    mask, mask_text, more = _mask(args, shape, beside.mask)
    notes += more
    understood = f"frame {args.frame} (given); camera {camera_text}; mask {mask_text}"
    options: dict[str, Any] = {} if args.connectivity is None else {"connectivity": args.connectivity}
    options |= {name: getattr(args, name) for name in ("wrap", "slope") if getattr(args, name) is not None}
    if args.angle is not None:
        options["angle"] = None if args.angle == "none" else args.angle
    with contextlib.closing(StageBar(Path(place).name, args.quiet or args.json)) as bar:
        if args.scheduler and not args.quiet:
            say(f"quotientgraph: running on {args.scheduler}")
        _, report = integrate(
            place,
            mask,
            camera,
            out,
            args.scheduler,
            args.tile,
            frame=args.frame,
            workers=args.workers,
            memory=memory,
            resume=bool(args.resume),
            overwrite=bool(args.overwrite),
            progress=bar.show,
            **options,
            **given_settings(args),
        )
    warnings = list(dict.fromkeys([*notes, *report.warnings]))  # both may say the same of the camera
    if args.json:
        from dataclasses import asdict

        print_json({**asdict(report), "warnings": warnings, "understood": understood})
        return 0
    if not args.quiet:
        for text in warnings:
            warning(text)
        height, width = report.shape
        tell(
            f"{place}: {width} × {height}, {report.n_components:,} components, {len(report.rounds)} rounds of filling, "
            f"{len(report.history)} iterations, joining={report.joining}, {report.seconds['total']:.1f} s\n"
            f"  {understood}\n  → {out}"
        )
    return 0


def _camera(args: argparse.Namespace, shape: tuple[int, int], beside: Path | None) -> tuple[Any, str, list[str]]:
    """The camera, the words for it, and what was corrected in it."""
    from ..geometry.camera import Orthographic, Pinhole, RayMap
    from ..io import read_camera
    from ..scale import RayFormula

    file = beside if args.camera is None else Path(args.camera)
    if args.fisheye is not None:
        return RayFormula.fisheye(args.fisheye, shape), f"fisheye of {args.fisheye:g} degrees", []
    if args.panorama:
        return RayFormula.equirectangular(shape), "panorama; depth is the distance", []
    if args.fov is not None:
        view: Any = Pinhole.from_fov(args.fov, shape)
    elif args.orthographic is not None:
        view = Orthographic(args.orthographic)
    elif file is None:
        return None, describe_camera(None), []
    else:
        view, notes = read_camera(file, shape)
        return view, f"{describe_camera(view)} from {file.name}", [] if isinstance(view, RayMap) else notes
    return view, describe_camera(view), []


def _mask(args: argparse.Namespace, shape: tuple[int, int], beside: Path | None) -> tuple[Any, str, list[str]]:
    """The mask: a store for tiles to open, or an image that was read. With it the words for it, and warnings."""
    from ..io import understand_mask

    file = beside if args.mask is None else args.mask
    if file is None or args.mask == "none":
        return None, "none", []
    name = Path(file).name
    if "://" in str(file) or Path(file).is_dir() or Path(file).suffix.lower() == ".zarr":
        return file, f"from {name}", []
    image, warnings = understand_mask(file, shape)
    return image, f"{image.mean():.1%} of the image from {name}" if image is not None else "none", warnings
