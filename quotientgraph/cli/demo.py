"""``quotientgraph demo``: reconstruct an embedded scene and compare it with its exact depth."""

from __future__ import annotations

import argparse
import contextlib
import filecmp
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .arguments import not_empty, whole
from .messages import UsageError, calm, print_json, tell, warning

if TYPE_CHECKING:
    from ..scenes import Scene

_EXPLAINED = {
    "depth.npy": "depth, (H, W) float64, NaN outside",
    "mesh.ply": "triangles, cut where the surface is broken; for MeshLab, Blender, Open3D",
    "picture.png": "normals, components, depth",
    "report.html": "all of it in the browser, with a 3-D view",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scene", default="stairs", metavar="NAME", help="which scene; --list names them (stairs)")
    parser.add_argument("--list", action="store_true", help="list the scenes and exit")
    parser.add_argument("--size", type=whole(8), default=320, metavar="PIXELS", help="width of the image (320)")
    parser.add_argument(
        "-o",
        "--output",
        type=not_empty,
        default="quotientgraph-demo",
        metavar="DIR",
        help="folder (quotientgraph-demo)",
    )
    parser.add_argument("--report", action="store_true", help="write report.html as well")
    parser.add_argument(
        "--save-input",
        type=not_empty,
        metavar="DIR",
        help="also write the scene as an input for `integrate`: normal_map.png, mask.png, K.txt, depth_gt.npz",
    )
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print errors only")


def run(args: argparse.Namespace) -> int:
    from .. import scenes

    if args.list:
        for name in scenes.names():
            tell(f"{name:14} {scenes.summary(name)}".rstrip())
        return 0
    if args.scene not in scenes.names():
        raise UsageError(f"argument --scene: {args.scene!r} is not a scene; use one of {', '.join(scenes.names())}")

    from laplacians.core import companion, edges

    companion.use("quotientgraph.rehearsal", edges.__file__, "demo")

    from .manifest import write_manifest
    from .progress import IterationBar, compiling_shown
    from .publishing import write_all
    from .reconstruct import error_text, errors

    calm()
    began = time.perf_counter()
    bar = IterationBar(args.scene, 150, args.quiet or args.json)
    try:
        bar.stage("drawing")
        scene = scenes.make(args.scene, shape=(max(8, args.size * 4 // 5), args.size))
        if args.save_input:
            _write_input(Path(args.save_input), scene)
        with _results(Path(args.output), args.report) as (folder, asked):
            bar.stage("components, filling")
            from ..integration import integrate

            with compiling_shown(bar):
                result = integrate(scene.normals, scene.mask, scene.camera, "opencv", progress=bar.step)
            bar.stage("writing")
            wrong = errors(result, scene.depth)
            about = {"Scene": scene.description, "Error against the true depth": error_text(wrong)}
            write_all(folder, result, scene.name, asked, about=about, truth=scene.depth)
            files = sorted(file.name for file in folder.iterdir())
            write_manifest(folder, f"scene {scene.name}", asked)
    finally:
        bar.close()
    seconds = time.perf_counter() - began
    height, width = scene.shape
    record = {
        "scene": scene.name,
        "description": scene.description,
        "width": width,
        "height": height,
        "valid_pixels": int(scene.mask.sum()),
        "components": int(result.levels[0].n_components),
        "iterations": len(result.history),
        "pieces": result.n_pieces,
        "output": args.output,
        "files": files,
        **wrong,
        "seconds": {stage: round(value, 4) for stage, value in result.seconds.items()},
        "total_seconds": round(seconds, 4),
        "warnings": list(result.warnings),
    }
    if args.json:
        print_json(record)
    elif not args.quiet:
        _tell(record)
    return 0


def _headline(name: str, description: str) -> str:
    """The scene and what it is, without saying the name twice.

    >>> _headline("stairs", "Stairs: seen from above"), _headline("torus", "A ring")
    ('stairs: seen from above', 'torus: a ring')
    """
    text = description
    if text.lower().startswith(f"{name}:"):
        text = text[len(name) + 1 :].strip()
    return f"{name}: {text[:1].lower()}{text[1:]}" if text else name


@contextlib.contextmanager
def _results(folder: Path, with_report: bool) -> Iterator[tuple[Path, argparse.Namespace]]:
    """A folder whose files will be those of `folder`, and which of them are asked for; what is in the way is an error."""
    from .manifest import MANIFEST, is_ours
    from .publishing import planned
    from .staging import place_for, staged, staging_for

    asked = argparse.Namespace(
        format=None, mesh=None, texture=None, points=False, labels=False, graphml=False, tables=False,
        decomposition=False, picture=True, report=with_report, alternatives=False, faces=None, error=None,
    )  # fmt: skip
    with place_for(folder), staged(folder, staging_for(folder), is_ours, [MANIFEST, *planned(asked)]) as staging:
        yield staging, asked


def _write_input(folder: Path, scene: Scene) -> None:
    """The layout of BiNI: 16-bit normals in the OpenGL frame."""
    import numpy as np

    from ..geometry.camera import Pinhole
    from ..io import write_image
    from .staging import place_for, staged, staging_for

    place = staging_for(folder)

    def is_same(file: Path) -> bool:
        """Whether nothing is lost by replacing a file: it is already what is written."""
        with contextlib.suppress(OSError):
            return filecmp.cmp(file, place / file.name, shallow=False)
        return False

    with place_for(folder), staged(folder, place, is_same) as staging:
        opengl = np.where(scene.mask[..., None], scene.normals * (1, -1, -1), 0)
        write_image(staging / "normal_map.png", np.rint((opengl + 1) / 2 * 65535).astype(np.uint16))
        write_image(staging / "mask.png", np.where(scene.mask, np.uint8(255), np.uint8(0)))
        if isinstance(scene.camera, Pinhole):
            np.savetxt(staging / "K.txt", scene.camera.matrix)
        np.savez_compressed(staging / "depth_gt.npz", depth_gt=scene.depth)


def _tell(record: dict) -> None:
    lines = [
        _headline(record["scene"], record["description"]),
        f"  {record['width']} × {record['height']} normals, {record['components']:,} components, "
        f"{record['iterations']} iterations, {record['total_seconds']:.1f} s",
        f"  error against the exact depth: {100 * record['relative_error']:.2g} % on average",
        f"made in {record['output']}/",
    ]
    lines += [f"  {file:12} {_EXPLAINED.get(file, '')}" for file in record["files"]]
    lines.append("next: quotientgraph integrate YOUR_NORMAL_MAP.png --fov 60")
    for text in record["warnings"]:
        warning(text)
    tell("\n".join(lines))
