"""The files of one result: the options that choose them, and writing them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .messages import printable

if TYPE_CHECKING:
    import numpy as np

    from ..result import Reconstruction

DEPTH = ("npy", "exr", "tiff", "png", "npz", "mat")
MESH = ("ply", "obj", "glb", "stl")
_EXTRA = {"points": "points.ply", "labels": "labels.png", "graphml": "components.graphml", "picture": "picture.png",
          "report": "report.html", "decomposition": "decomposition.qg"}  # fmt: skip
_TABLES = ["components_nodes.csv", "components_edges.csv"]
_ALTERNATIVES = ["alternatives.csv", "alternatives.png"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from .arguments import faces, listed, not_empty, pixels, suggest

    group = parser.add_argument_group("output")
    group.add_argument(
        "-o",
        "--output",
        type=not_empty,
        metavar="DIR",
        help="folder of the results; of several inputs, each has a folder in it (default: quotientgraph-output/NAME)",
    )
    depth = group.add_argument(
        "--format",
        type=listed(*DEPTH),
        metavar="LIST",
        help=f"of the depth: {', '.join(DEPTH)} (npy)",
    )
    suggest(depth, DEPTH)
    mesh = group.add_argument("--mesh", type=listed(*MESH), metavar="LIST", help=f"{', '.join(MESH)} or none (ply)")
    suggest(mesh, (*MESH, "none"))
    group.add_argument(
        "--faces",
        type=faces,
        metavar="N",
        help="at most so many triangles, such as 200k; several numbers are levels of detail in a .glb (2 a pixel)",
    )
    group.add_argument(
        "--error",
        type=pixels,
        metavar="PX",
        help="triangles may leave the surface by so many pixels, such as 0.5px (0: every pixel is a corner)",
    )
    group.add_argument("--texture", metavar="IMAGE", help="photograph to lay over mesh, points and report")
    for name, text in {
        "points": "point cloud, points.ply",
        "labels": "component of each pixel, labels.png",
        "graphml": "the graph of the components, components.graphml",
        "tables": "the same as tables, components_nodes.csv and components_edges.csv",
        "decomposition": "components of all levels with normals and camera, decomposition.qg, for QuotientGraph.load",
        "alternatives": "parts that could sit elsewhere: alternatives.csv, and alternatives.png with the number of each",
        "picture": "normals, components and depth side by side, picture.png",
        "report": "report.html: everything to look at in one file, with a 3-D view",
    }.items():
        group.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, help=text)
    group.add_argument(
        "--dump-systems",
        type=not_empty,
        metavar="DIR",
        help="also save every linear system there, for `quotientgraph solvers --bench`",
    )


def depth_kinds(args: argparse.Namespace) -> tuple[str, ...]:
    """The formats of the depth: those that were asked for, or the usual one."""
    return ("npy",) if args.format is None else args.format


def mesh_kinds(args: argparse.Namespace) -> tuple[str, ...]:
    """The formats of the mesh: those that were asked for, or the usual one."""
    return ("ply",) if args.mesh is None else args.mesh


def planned(args: argparse.Namespace) -> list[str]:
    """Names of the files that the options ask for."""
    files = [f"depth.{kind}" for kind in depth_kinds(args)] + [f"mesh.{kind}" for kind in mesh_kinds(args)]
    files += [file for name, file in _EXTRA.items() if getattr(args, name)]
    return files + (_TABLES if args.tables else []) + (_ALTERNATIVES if args.alternatives else [])


def write_all(
    folder: Path,
    result: Reconstruction,
    name: str,
    args: argparse.Namespace,
    image: np.ndarray | None = None,
    about: Mapping[str, str] | None = None,
    truth: np.ndarray | None = None,
    prior: np.ndarray | None = None,
) -> dict[str, int | float]:
    """Write the files that the options ask for into a folder; `image` is the texture, what follows is for the report.

    Returns the number of faces of the mesh, and how far it leaves the surface in pixels, if there is a mesh. A surface
    without triangles has none, which is an error only if it was asked for.
    """
    from .. import io, report
    from ..io.mesh_files import NO_TRIANGLE

    facts: dict[str, int | float] = {}
    for kind in depth_kinds(args):
        io.write_depth(folder / f"depth.{kind}", result.depth)
    if kinds := mesh_kinds(args):
        mesh, *coarser = (result.mesh(n, args.error) for n in args.faces or (None,))
        facts = {"faces": len(mesh.faces), "mesh_error": round(mesh.deviation, 4)}
        if not len(mesh.faces):
            if args.mesh is not None or len(planned(args)) == 1:
                raise io.OutputError(f"argument --mesh: {NO_TRIANGLE}; use --mesh none, and --points for its points")
            kinds = ()
        for kind in kinds:
            levels = coarser if kind == "glb" else ()
            io.write_mesh(folder / f"mesh.{kind}", mesh, texture=image, coarser=levels)
    photo = image if image is not None and image.shape[:2] == result.depth.shape else None
    if args.points:
        colours = photo if photo is not None and photo.dtype == "uint8" and photo.ndim == 3 else None
        io.write_points(folder / "points.ply", result.points, normals=result.normals, colours=colours)
    if args.labels:
        suffix = "png" if result.graph.n_components < 65535 else "tiff"
        io.write_labels(folder / f"labels.{suffix}", result.graph.label_image())
    if args.graphml:
        io.write_graphml(folder / "components.graphml", result.graph.to_networkx(result.potential))
    if args.tables:
        io.write_tables(folder / "components.csv", result.graph.tables(result.potential))
    if args.decomposition:
        result.graph.save(folder / "decomposition.qg")
    if args.picture:
        io.write_image(folder / "picture.png", report.overview_picture(result))
    if args.report:
        about = {
            key: printable(text) for key, text in (about or {}).items()
        }  # a file name may hold bytes that are no text
        known = {"image": photo, "about": about, "truth": truth, "prior": prior}
        report.write_report(result, folder / "report.html", title=printable(name), **known)  # type: ignore[arg-type]
    return facts
