"""What is measured on: folders in any layout that `quotientgraph.io` reads, folders of such, and built-in scenes.

A built-in scene is named ``scene:NAME``, with its size and parameters after a question mark:
``scene:room?shape=512x608&noise=1``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from ..geometry.camera import Camera, as_camera

SCENE = "scene:"


@dataclass(frozen=True)
class Maps:
    """The arrays of a case: normals in `frame`, mask, camera and, where known, the true depth."""

    normals: np.ndarray = field(repr=False)
    mask: np.ndarray | None = field(repr=False)
    camera: Camera
    frame: str
    truth: np.ndarray | None = field(repr=False)


@dataclass(frozen=True)
class Case:
    """One normal map to integrate; its arrays are read when first asked for.

    Attributes
    ----------
    name : str
        As in the paper's tables, where it is one of theirs.
    source : str
        A path, or ``scene:NAME?…``: enough to find it again.
    frame : str
        Of the normals in files, or "auto" to find it from them.
    """

    name: str
    source: str
    frame: str = "opengl"

    @cached_property
    def maps(self) -> Maps:
        return _scene(self.source) if self.source.startswith(SCENE) else _folder(Path(self.source), self.frame)

    def forget(self) -> None:
        """Let go of the arrays."""
        self.__dict__.pop("maps", None)


def find(sources: Iterable[str], frame: str = "opengl") -> list[Case]:
    """Cases that the given folders hold, at most two levels down, and the scenes that are named.

    >>> [case.name for case in find(["scene:plane"])]
    ['plane']
    """
    cases: list[Case] = []
    for source in sources:
        if source.startswith(SCENE):
            cases.append(Case(source[len(SCENE) :].replace("?", " "), source))
            continue
        path = Path(source).expanduser()
        if not path.exists():
            raise ValueError(f"{source}: there is no such folder; `quotientgraph data` says where data come from")
        found = [folder for folder in _candidates(path) if _readable(folder)]
        if not found:
            raise ValueError(f"{source}: no normal map in it; see the layouts in `quotientgraph data`")
        cases += [Case(_name(folder), str(folder.resolve()), frame) for folder in found]
    unique = {case.source: case for case in cases}
    return list(unique.values())


def _candidates(path: Path) -> list[Path]:
    if path.is_file() or _readable(path):
        return [path]
    inner = sorted(p for p in path.iterdir() if p.is_dir())
    return [deep for folder in inner for deep in ([folder] if _readable(folder) else sorted(folder.iterdir()))]


def _readable(folder: Path) -> bool:
    from ..io import is_input_folder

    return folder.is_file() or is_input_folder(folder)


def _name(path: Path) -> str:
    name = path.stem if path.is_file() else path.name
    # DiLiGenT's own folders are called bearPNG, catPNG, …
    return name.removesuffix("PNG").lower() if name.endswith("PNG") else name


def _folder(path: Path, frame: str) -> Maps:
    from ..io import detect_frame, read_normals

    found = read_normals(path)
    camera = as_camera(found.camera)
    if frame == "auto":
        frame = detect_frame(found.normals, found.mask, camera).frame or "opengl"
    return Maps(found.normals, found.mask, camera, frame, found.read_truth())


def _scene(source: str) -> Maps:
    from .. import scenes

    name, _, query = source[len(SCENE) :].partition("?")
    options: dict[str, Any] = dict(parse_qsl(query, strict_parsing=bool(query)))
    noise, bits = float(options.pop("noise", 0)), int(options.pop("bits", 0))
    if "shape" in options:
        height, width = options["shape"].lower().split("x")
        options["shape"] = (int(height), int(width))
    made = scenes.make(name, **{key: _number(value) for key, value in options.items()})
    if noise:
        made = made.with_noise(noise)
    if bits:
        made = made.quantised(bits)
    return Maps(made.normals, made.mask, made.camera, "opencv", made.depth)


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            pass
    return value
