"""Binary glTF 2.0: one buffer, double sided, the texture embedded as PNG, and levels of detail if there are several meshes.

Levels of detail are nodes of the extension ``MSFT_lod``: the scene holds the finest, which names the coarser ones. A
program that does not know the extension shows the finest. Every level is also a scene of its own, so that programs
without the extension can open it by its number.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..geometry.mesh import Mesh
from .atomic import OutputError, atomic
from .texture_corners import texture_corners

_WIDTH = {"SCALAR": 1, "VEC2": 2, "VEC3": 3}
_FLOAT, _UNSIGNED, _VERTICES, _INDICES = 5126, 5125, 34962, 34963  # numbers of the specification


@dataclass(frozen=True)
class _Buffer:
    """The binary part of the file, and the tables that say what lies where in it."""

    blobs: list[bytes] = field(default_factory=list)
    views: list[dict[str, int]] = field(default_factory=list)
    accessors: list[dict[str, Any]] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(map(len, self.blobs))

    def add(self, data: bytes, **extra: int) -> int:
        """Append bytes, and return the number of their view."""
        self.views.append({"buffer": 0, "byteOffset": self.size, "byteLength": len(data), **extra})
        self.blobs.append(data + b"\0" * (-len(data) % 4))
        return len(self.views) - 1

    def accessor(self, array: np.ndarray, kind: str, **extra: Any) -> int:
        """Append an array, and return the number of its accessor."""
        floats = array.dtype.kind == "f"
        view = self.add(array.tobytes(), target=_VERTICES if floats else _INDICES)
        number = _FLOAT if floats else _UNSIGNED
        self.accessors.append(
            {"bufferView": view, "componentType": number, "count": array.size // _WIDTH[kind], "type": kind, **extra}
        )
        return len(self.accessors) - 1


def write_glb(path: Path, mesh: Mesh, texture: np.ndarray | None = None, coarser: Sequence[Mesh] = ()) -> None:
    """Write a mesh, and coarser ones of the same surface, as ``.glb``.

    Parameters
    ----------
    path : Path
    mesh : Mesh
        In the OpenGL frame; `write_mesh` turns it.
    texture : (h, w, 3) uint8 array, optional
    coarser : sequence of Mesh
        In the order of fewer and fewer faces.
    """
    buffer = _Buffer()
    levels = [mesh, *coarser]
    material: dict[str, Any] = {
        "doubleSided": True,
        "pbrMetallicRoughness": {"metallicFactor": 0, "roughnessFactor": 0.8},
    }
    scene: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": "quotientgraph"},
        "scene": 0,
        "scenes": [{"nodes": [k]} for k in range(len(levels))],
        "nodes": [{"mesh": k} for k in range(len(levels))],
        "materials": [material],
        "meshes": [{"primitives": [_primitive(level, buffer, texture is not None)]} for level in levels],
    }
    if coarser:
        scene["extensionsUsed"] = ["MSFT_lod"]
        scene["nodes"][0]["extensions"] = {"MSFT_lod": {"ids": list(range(1, len(levels)))}}
        # The share of the screen's height down to which a level suffices: half as high shows half as much detail.
        share = [float(np.sqrt(len(level.faces) / len(mesh.faces))) / 2 for level in coarser]
        scene["nodes"][0]["extras"] = {"MSFT_screencoverage": [*share, 0.0]}
    if texture is not None:
        import imagecodecs

        scene["images"] = [{"mimeType": "image/png", "bufferView": buffer.add(bytes(imagecodecs.png_encode(texture)))}]
        scene["textures"] = [{"source": 0}]
        material["pbrMetallicRoughness"]["baseColorTexture"] = {"index": 0}
    size = buffer.size
    scene |= {"accessors": buffer.accessors, "bufferViews": buffer.views, "buffers": [{"byteLength": size}]}
    text = json.dumps(scene, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    if size + len(text) + 28 >= 2**32:
        raise OutputError(f"{path}: {size} bytes exceed the 4 GiB of a glb file; use .ply")
    with atomic(path) as part, part.open("wb") as file:
        file.write(struct.pack("<4sII", b"glTF", 2, 28 + len(text) + size))
        file.write(struct.pack("<I4s", len(text), b"JSON") + text)
        file.write(struct.pack("<I4s", size, b"BIN\0"))
        file.writelines(buffer.blobs)


def _primitive(mesh: Mesh, buffer: _Buffer, textured: bool) -> dict[str, Any]:
    xyz, normals, faces = mesh.vertices.astype("<f4"), mesh.normals.astype("<f4"), mesh.faces
    if textured:  # a vertex has one place in the picture, so those at a seam are there twice
        uv, vertex, faces = texture_corners(mesh)
        xyz, normals = xyz[vertex], normals[vertex]
    attributes = {
        "POSITION": buffer.accessor(xyz, "VEC3", min=xyz.min(axis=0).tolist(), max=xyz.max(axis=0).tolist()),
        "NORMAL": buffer.accessor(normals, "VEC3"),
    }
    indices = buffer.accessor(faces.astype("<u4"), "SCALAR")
    if textured:
        attributes["TEXCOORD_0"] = buffer.accessor(uv.astype("<f4"), "VEC2")
    return {"attributes": attributes, "indices": indices, "material": 0}
