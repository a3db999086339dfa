"""The files of one result: which ones, and that they appear together or not at all."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from ..result import Reconstruction

DEPTH = ("npy", "exr", "tiff", "png", "npz", "mat")
MESH = ("ply", "obj", "glb", "stl")
_EXTRA = {"points": "points.ply", "labels": "labels.png", "graphml": "components.graphml", "picture": "picture.png",
          "report": "report.html"}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from .arguments import listed

    group = parser.add_argument_group("output")
    group.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        help="folder of the results; of several inputs, each has a folder in it (default: quotientgraph-output/NAME)",
    )
    group.add_argument(
        "--format",
        type=listed(*DEPTH),
        default=("npy",),
        metavar="LIST",
        help=f"of the depth: {', '.join(DEPTH)} (npy)",
    )
    group.add_argument(
        "--mesh", type=listed(*MESH), default=("ply",), metavar="LIST", help=f"{', '.join(MESH)} or none (ply)"
    )
    group.add_argument("--texture", metavar="IMAGE", help="photograph to lay over mesh, points and report")
    for name, text in {
        "points": "point cloud, points.ply",
        "labels": "component of each pixel, labels.png",
        "graphml": "the graph of the components, components.graphml",
        "picture": "normals, components and depth side by side, picture.png",
        "report": "report.html: everything to look at in one file, with a 3-D view",
    }.items():
        group.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, help=text)
    group.add_argument(
        "--dump-systems", metavar="DIR", help="also save every linear system there, for `quotientgraph solvers --bench`"
    )


def planned(args: argparse.Namespace) -> list[str]:
    """Names of the files that the options ask for."""
    files = [f"depth.{kind}" for kind in args.format] + [f"mesh.{kind}" for kind in args.mesh]
    return files + [file for name, file in _EXTRA.items() if getattr(args, name)]


def all_there(target: Path, args: argparse.Namespace) -> bool:
    """Whether an earlier run left all of these files."""
    files = planned(args)
    return bool(files) and all(
        (target / file).is_file() or (file == "labels.png" and (target / "labels.tiff").is_file()) for file in files
    )


def write_all(
    folder: Path,
    result: Reconstruction,
    name: str,
    args: argparse.Namespace,
    image: np.ndarray | None = None,
    about: Mapping[str, str] | None = None,
) -> None:
    """Write the files that the options ask for into a folder; `image` is the texture, `about` is for the report."""
    from .. import io, report

    for kind in args.format:
        io.write_depth(folder / f"depth.{kind}", result.depth)
    if args.mesh:
        mesh = result.mesh()
        for kind in args.mesh:
            io.write_mesh(folder / f"mesh.{kind}", mesh, texture=image)
    photo = image if image is not None and image.shape[:2] == result.depth.shape else None
    if args.points:
        colours = photo if photo is not None and photo.dtype == "uint8" and photo.ndim == 3 else None
        io.write_points(folder / "points.ply", result.points, normals=result.normals, colours=colours)
    if args.labels:
        suffix = "png" if result.graph.n_components < 65535 else "tiff"
        io.write_labels(folder / f"labels.{suffix}", result.graph.label_image())
    if args.graphml:
        io.write_graphml(folder / "components.graphml", result.graph.to_networkx(result.potential))
    if args.picture:
        io.write_image(folder / "picture.png", report.overview_picture(result))
    if args.report:
        report.write_report(result, folder / "report.html", title=name, image=photo, about=about)


def staging_for(target: Path, run: str) -> Path:
    """Where the files of `target` are written first: on the same disk, under a name that nobody looks for."""
    return target / f".{run}.part" if target.is_dir() else target.with_name(f".{target.name}.{run}.part")


@contextlib.contextmanager
def staged(target: Path, staging: Path) -> Iterator[Path]:
    """A folder whose files move to `target` when the block ends well, and vanish when it does not, Ctrl-C included."""
    from ..io import OutputError

    try:
        staging.mkdir()
        yield staging
        _publish(staging, target)
    except OSError as problem:
        text = str(problem) if isinstance(problem, OutputError) else f"{target}: cannot be written ({problem.strerror})"
        raise OutputError(text.replace(str(staging), str(target))) from problem
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _publish(staging: Path, target: Path) -> None:
    with contextlib.suppress(OSError):  # a new folder appears with all that is in it
        if not target.exists():
            os.rename(staging, target)
            return
    for file in sorted(staging.iterdir()):
        os.replace(file, target / file.name)


def place_for(target: Path) -> contextlib.AbstractContextManager[Path]:
    """The folder in which something is made for `target`: itself if it is there, else where it will be."""
    return folder(target if target.exists() else target.parent)


@contextlib.contextmanager
def folder(path: Path) -> Iterator[Path]:
    """A folder, made with its parents; those made here that end up empty are removed again."""
    from ..io import OutputError

    missing = [place for place in (path, *path.parents) if not place.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(13, "Permission denied")
    except FileExistsError:
        raise OutputError(f"{path}: exists and is not a folder; choose another place with -o") from None
    except OSError as problem:
        raise OutputError(f"{path}: cannot be written to ({problem.strerror}); choose another place with -o") from None
    try:
        yield path
    finally:
        for place in missing:
            with contextlib.suppress(OSError):
                place.rmdir()
