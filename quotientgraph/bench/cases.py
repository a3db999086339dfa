"""The normal maps that a benchmark measures on.

A case is named by a text, its source:

- a folder in any layout that `quotientgraph.io` reads, or a folder of such folders;
- ``scene:NAME?shape=512x608``, a built-in scene with its size and parameters after a question mark;
- ``random:KIND?seed=17``, a random scene (`quotientgraph.scenes.random`);
- ``view:PATH.npz``, a file with `normals` (OpenCV frame), `mask`, `depth` and `K`, or ``view:PATH.npz?part=middle``, a part
  of it (see `quotientgraph.bench.parts`).

The last three may be degraded: ``&bits=8``, ``&noise=1``, ``&blur=1``, ``&bias=3`` or ``&turn=3`` (see
`quotientgraph.bench.degrade`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from .. import scenes
from ..geometry.camera import Camera, as_camera
from ..io import detect_frame, is_input_folder, read_normals
from ..scenes import Scene
from .degrade import degraded
from .parts import part_of

SCENE, RANDOM, VIEW = "scene:", "random:", "view:"


@dataclass(frozen=True)
class Maps:
    """The arrays of a case: normals in `frame`, the mask, the camera and, if it is known, the true depth."""

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
        The name that tables print; for objects of the paper, the name that the paper's tables use.
    source : str
        A path, or a text such as ``scene:NAME?…``. It is enough to find the case again.
    frame : str
        The frame of normals in files, or "auto" to find it from them.
    """

    name: str
    source: str
    frame: str = "opengl"

    @cached_property
    def maps(self) -> Maps:
        """The arrays; read or rendered at the first use."""
        for prefix, read in ((SCENE, _built_in), (RANDOM, _random), (VIEW, _view)):
            if self.source.startswith(prefix):
                return _scene_maps(*_scene(self.source.removeprefix(prefix), read))
        return _folder(Path(self.source), self.frame)

    def forget(self) -> None:
        """Release the memory of the arrays."""
        self.__dict__.pop("maps", None)


def find(sources: Iterable[str], frame: str = "opengl") -> list[Case]:
    """Return the cases that the given sources name.

    Parameters
    ----------
    sources : texts
        As described above; folders are searched at most two levels down.
    frame : str
        The frame of normals in files, or "auto".

    Returns
    -------
    list of Case
        Each source once.

    Examples
    --------
    >>> [case.name for case in find(["scene:plane"])]
    ['plane']
    """
    cases: list[Case] = []
    for source in sources:
        prefix = next((prefix for prefix in (SCENE, RANDOM, VIEW) if source.startswith(prefix)), None)
        if prefix is not None:
            name = source.removeprefix(prefix)
            cases.append(Case((Path(name).name if prefix == VIEW else name).replace("?", " "), source))
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
    deeper = [[folder] if _readable(folder) else sorted(p for p in folder.iterdir() if p.is_dir()) for folder in inner]
    return [folder for group in deeper for folder in group]


def _readable(folder: Path) -> bool:
    return folder.is_file() or is_input_folder(folder)


def _name(path: Path) -> str:
    name = path.stem if path.is_file() else path.name
    # DiLiGenT's own folders are called bearPNG, catPNG, …
    return name.removesuffix("PNG").lower() if name.endswith("PNG") else name


def _folder(path: Path, frame: str) -> Maps:
    found = read_normals(path)
    camera = as_camera(found.camera)
    if frame == "auto":
        frame = detect_frame(found.normals, found.mask, camera).frame or "opengl"
    return Maps(found.normals, found.mask, camera, frame, found.read_truth())


def _scene(text: str, read: Callable[[str, dict[str, Any]], Scene]) -> tuple[Scene, str, int]:
    """Return the scene of ``NAME?key=value&…``, its degradation and the seed of that."""
    name, _, query = text.partition("?")
    options: dict[str, Any] = dict(parse_qsl(query, strict_parsing=bool(query)))
    worse = [f"{key}={options.pop(key)}" for key in ("bits", "noise", "bias", "turn") if key in options]
    if len(worse) > 1:
        raise ValueError(f"{text}: give one of bits, noise, bias and turn")
    if "shape" in options:
        height, cross, width = options["shape"].lower().partition("x")
        if not (cross and height.isdecimal() and width.isdecimal()):
            raise ValueError(f"{text}: shape={options['shape']} must be shape=HEIGHTxWIDTH, for instance shape=60x80")
        options["shape"] = (int(height), int(width))
    values = {key: _number(value) for key, value in options.items()}
    return read(name, values), "".join(worse), int(values.get("seed", 0))


def _scene_maps(scene: Scene, degradation: str, seed: int) -> Maps:
    made = degraded(scene, degradation, seed)
    return Maps(made.normals, made.mask, made.camera, "opencv", made.depth)


def _built_in(name: str, options: dict[str, Any]) -> Scene:
    return scenes.make(name, **options)


def _random(kind: str, options: dict[str, Any]) -> Scene:
    return scenes.random(kind, **options)


def _view(path: str, options: dict[str, Any]) -> Scene:
    """A view stored as one file; pixels outside the mask get a normal that faces the viewer, so that noise can turn it."""
    with np.load(path, allow_pickle=False) as file:
        mask = np.asarray(file["mask"], dtype=bool)
        normals = np.asarray(file[options.get("key", "normals")], dtype=np.float64)
        depth, camera = np.asarray(file["depth"], dtype=np.float64), as_camera(file["K"])
    mask &= np.isfinite(depth) & (np.linalg.norm(normals, axis=-1) > 0.5)
    normals = np.where(mask[..., None], normals, [0.0, 0.0, -1.0])
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    scene = Scene(Path(path).stem, normals, mask, np.where(mask, depth, np.nan), camera, "a stored view")
    return part_of(scene, options["part"]) if "part" in options else scene


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            pass
    return value
