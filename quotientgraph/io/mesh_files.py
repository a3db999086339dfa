"""Write meshes and point clouds straight from arrays, so that millions of triangles are written in seconds.

Axes: a ``.ply`` keeps the OpenCV camera frame, so its vertices are those of ``result.points``. In a ``.glb`` y points
up and z to the viewer by specification, which is half a turn about x; ``.obj`` and ``.stl`` are written in the same
way, because viewers expect it and show the surface upright. ``frame="opencv"`` or ``"opengl"`` overrides the habit of
the format. Coordinates are float32 in all of them.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..geometry.mesh import Mesh
from .atomic import OutputError, atomic
from .formats import InputError, read_arrays
from .glb_files import write_glb
from .orientation import stated_orientation
from .texture_corners import texture_corners

NO_TRIANGLE = "the surface has no triangle, because nowhere three pixels of a square of 2 × 2 lie on one surface"
MeshWriter = Callable[[Path, Mesh, "np.ndarray | None"], None]
_log = logging.getLogger(__name__)
_HALF_TURN = np.array([1.0, -1.0, -1.0])
_WRITERS: dict[str, tuple[MeshWriter, str]] = {".glb": (write_glb, "opengl")}


def mesh_writer(suffix: str, frame: str = "opengl") -> Callable[[MeshWriter], MeshWriter]:
    """Register the decorated function for a suffix; it gets the mesh in `frame`, a uint8 texture or None."""

    def add(function: MeshWriter) -> MeshWriter:
        _WRITERS[suffix.lower()] = (function, frame)
        return function

    return add


def mesh_suffixes() -> list[str]:
    """The suffixes of meshes that can be written."""
    return sorted(_WRITERS)


def write_mesh(
    path: Path | str,
    mesh: Mesh,
    *,
    texture: np.ndarray | Path | str | None = None,
    frame: str | None = None,
    coarser: Sequence[Mesh] = (),
) -> None:
    """Write a mesh as ``.ply``, ``.obj``, ``.glb`` or ``.stl``, with vertex normals.

    Parameters
    ----------
    texture : (h, w, 3) uint8 array or image file, optional
        Laid over the input image, of any size. Embedded in ``.glb``; beside an ``.obj`` as ``name.png`` and
        ``name.mtl``; one colour a vertex in ``.ply``; not possible in ``.stl``.
    frame : "opencv" or "opengl", optional
        Axes of the file, by default those of the format.
    coarser : sequence of Mesh, optional
        The same surface with fewer and fewer faces, for viewers that show less detail from afar; possible in ``.glb``.
    """
    path = Path(path)
    if path.suffix.lower() not in _WRITERS:
        raise OutputError(f"{path}: the suffix {path.suffix!r} is not known; use one of {' '.join(sorted(_WRITERS))}")
    if len(mesh.faces) == 0:
        raise OutputError(f"{path}: {NO_TRIANGLE}; write its depth or its points instead")
    write, habit = _WRITERS[path.suffix.lower()]
    turn = _turn(frame or habit)
    turned = [replace(m, vertices=m.vertices * turn, normals=m.normals * turn) for m in (mesh, *coarser)]
    image = None if texture is None else _texture(texture)
    if not coarser:
        write(path, turned[0], image)
    elif write is write_glb:
        write_glb(path, turned[0], image, turned[1:])
    else:
        raise OutputError(
            f"{path}: coarser: a {path.suffix} file holds no levels of detail; use .glb or one mesh a file"
        )


def write_points(
    path: Path | str,
    points: np.ndarray,
    *,
    normals: np.ndarray | None = None,
    colours: np.ndarray | None = None,
    frame: str = "opencv",
) -> None:
    """Write a point cloud as ``.ply``, or as text ``.xyz``; points that are not finite are left out.

    `points` is (H, W, 3) or (n, 3); `normals` and `colours` (uint8) have as many.
    """
    path = Path(path)
    if path.suffix.lower() not in (".ply", ".xyz"):
        raise OutputError(f"{path}: the suffix {path.suffix!r} is not known for a point cloud; use .ply or .xyz")
    xyz = np.asarray(points, dtype=np.float64).reshape(-1, 3)
    keep = np.isfinite(xyz).all(axis=-1)
    turn = _turn(frame)
    if normals is not None:
        normals = np.nan_to_num(np.asarray(normals).reshape(-1, 3)[keep] * turn)
    if colours is not None:
        colours = np.asarray(colours).reshape(len(xyz), -1)[keep, :3]
    xyz = xyz[keep] * turn
    with atomic(path) as part, part.open("wb") as file:
        if path.suffix.lower() == ".xyz":
            columns = xyz if normals is None else np.hstack([xyz, normals])
            file.writelines(_lines(" ".join(["%.9g"] * columns.shape[1]) + "\n", columns))
        else:
            _ply(file, xyz, normals, colours, None)


def _turn(frame: str) -> np.ndarray:
    if frame not in ("opencv", "opengl"):
        raise OutputError(f"frame={frame!r} is not known for meshes; use 'opencv' or 'opengl'")
    return _HALF_TURN if frame == "opengl" else np.ones(3)


def _texture(texture: np.ndarray | Path | str) -> np.ndarray:
    source = texture if isinstance(texture, str | Path) else "texture"
    image = next(iter(read_arrays(texture).values())) if isinstance(texture, str | Path) else np.asarray(texture)
    if isinstance(texture, str | Path) and stated_orientation(texture) != 1:
        _log.warning(
            "%s: states an orientation, which was not applied; pass oriented pixels if it does not fit", texture
        )
    if image.ndim == 2 or (image.ndim == 3 and image.shape[2] < 3):
        image = np.repeat(image.reshape(*image.shape[:2], -1)[..., :1], 3, axis=-1)
    if image.ndim != 3 or image.dtype not in (np.uint8, np.uint16) or image.size == 0:
        raise InputError(f"{source}: a texture is an 8- or 16-bit image, got {image.shape} {image.dtype}")
    image = image[..., :3]
    return np.ascontiguousarray(image if image.dtype == np.uint8 else (image >> 8).astype(np.uint8))


def _ply(file: BinaryIO, xyz, normals, colours, faces) -> None:
    fields = [(name, "<f4") for name in "xyz"]
    columns: list[np.ndarray] = list(xyz.T)
    if normals is not None:
        fields += [(name, "<f4") for name in ("nx", "ny", "nz")]
        columns += list(normals.T)
    if colours is not None:
        fields += [(name, "u1") for name in ("red", "green", "blue")]
        columns += list(colours.T)
    table = np.empty(len(xyz), dtype=fields)
    for (name, _), column in zip(fields, columns, strict=True):
        table[name] = column
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(xyz)}"]
    header += [f"property {'float' if kind == '<f4' else 'uchar'} {name}" for name, kind in fields]
    if faces is not None:
        header += [f"element face {len(faces)}", "property list uchar int vertex_indices"]
    file.write("\n".join([*header, "end_header", ""]).encode("ascii"))
    file.write(table.data if len(table) else b"")
    if faces is not None:
        lists = np.empty(len(faces), dtype=[("n", "u1"), ("corners", "<i4", 3)])
        lists["n"], lists["corners"] = 3, faces
        file.write(lists.data)


@mesh_writer(".ply", frame="opencv")
def _write_ply(path: Path, mesh: Mesh, texture: np.ndarray | None) -> None:
    colours = None
    if texture is not None:
        rows, columns = texture.shape[:2]
        u, v = mesh.uv.T % 1  # the far border of a tile repeats the near one
        colours = texture[(v * rows).astype(int), (u * columns).astype(int)]
    with atomic(path) as part, part.open("wb") as file:
        _ply(file, mesh.vertices, mesh.normals, colours, mesh.faces)


@mesh_writer(".stl")
def _write_stl(path: Path, mesh: Mesh, texture: np.ndarray | None) -> None:
    if texture is not None:
        raise OutputError(f"{path}: an STL file holds no texture; use .glb, .obj or .ply")
    table = np.zeros(len(mesh.faces), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("extra", "<u2")])
    corners = mesh.vertices[mesh.faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    table["normal"] = normal / np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-300)
    table["corners"] = corners
    with atomic(path) as part, part.open("wb") as file:
        file.write(b"quotientgraph".ljust(80, b"\0") + struct.pack("<I", len(table)))
        file.write(table.data)


@mesh_writer(".obj")
def _write_obj(path: Path, mesh: Mesh, texture: np.ndarray | None) -> None:
    from .formats import write_image

    head = "# quotientgraph\n"
    if texture is not None:
        image, material = path.with_suffix(".png"), path.with_suffix(".mtl")
        write_image(image, texture)
        with atomic(material) as part:
            part.write_text(f"newmtl surface\nKd 1 1 1\nmap_Kd {image.name}\n", encoding="utf-8")
        head += f"mtllib {material.name}\nusemtl surface\n"
    with atomic(path) as part, part.open("wb") as file:
        file.write(head.encode())
        file.writelines(_lines("v %.9g %.9g %.9g\n", mesh.vertices))
        file.writelines(_lines("vn %.6g %.6g %.6g\n", mesh.normals))
        numbers = mesh.faces + 1
        if texture is None:
            file.writelines(_lines("f %d//%d %d//%d %d//%d\n", numbers.repeat(2, axis=1)))
        else:
            uv, _, places = texture_corners(mesh)
            file.writelines(_lines("vt %.9g %.9g\n", uv * [1, -1] + [0, 1]))  # v is from the bottom here
            corners = np.stack([numbers, places + 1, numbers], axis=-1).reshape(-1, 9)
            file.writelines(_lines("f %d/%d/%d %d/%d/%d %d/%d/%d\n", corners))


def _lines(pattern: str, rows: np.ndarray, chunk: int = 65536) -> Iterator[bytes]:
    for start in range(0, len(rows), chunk):
        part = rows[start : start + chunk]
        yield (pattern * len(part) % tuple(part.ravel().tolist())).encode("ascii")
