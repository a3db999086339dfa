"""``quotientgraph integrate big.zarr -o out.zarr``: a map in tiles, on this machine or on a Dask cluster."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import Any

from .arguments import whole
from .messages import UsageError, print_json, say, tell, warning
from .progress import StageBar
from .reconstruct import given_settings

_ONLY_TILES = ("tile", "scheduler", "workers", "memory", "resume", "overwrite")
_NOT_WITH_TILES = (
    "method", "depth_prior", "prior_confidence", "anchor", "texture", "dump_systems", "rays",
    "segments", "split_image", "lines", "faces", "error", "contact", "take", "alternatives",
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
    group.add_argument("--overwrite", action="store_true", default=None, help="replace results that are there")


def wanted(args: argparse.Namespace) -> bool:
    """Whether the map is to be integrated in tiles."""
    given = any(getattr(args, name) is not None for name in _ONLY_TILES)
    return given or any(str(one).rstrip("/").endswith(".zarr") for one in args.inputs)


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
    from ..scale import integrate
    from ..scale.memory import bytes_of
    from ..scale.sources import Source

    out = Path(args.output or "depth.zarr")
    try:
        memory = None if args.memory is None else bytes_of(args.memory)
    except ValueError as problem:
        raise UsageError(f"argument --memory: {problem}") from None
    place = args.inputs[0]
    mask = None if args.mask in (None, "none") else args.mask
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
            _camera(args, Source.from_arrays(place).shape),
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
    if args.json:
        from dataclasses import asdict

        print_json(asdict(report))
        return 0
    if not args.quiet:
        for text in report.warnings:
            warning(text)
        height, width = report.shape
        tell(
            f"{place}: {width} × {height}, {report.n_components:,} components, {len(report.rounds)} rounds of filling, "
            f"{len(report.history)} iterations, joining={report.joining}, {report.seconds['total']:.1f} s\n  → {out}"
        )
    return 0


def _camera(args: argparse.Namespace, shape: tuple[int, int]) -> Any:
    from ..geometry.camera import Orthographic, Pinhole
    from ..io import read_camera
    from ..scale import RayFormula

    if args.fov is not None:
        return Pinhole.from_fov(args.fov, shape)
    if args.fisheye is not None:
        return RayFormula.fisheye(args.fisheye, shape)
    if args.panorama:
        return RayFormula.equirectangular(shape)
    if args.orthographic is not None:
        return Orthographic(args.orthographic)
    return None if args.camera is None else read_camera(args.camera, shape)[0]
