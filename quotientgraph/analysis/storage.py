"""Decompositions as files: one archive of arrays, as NumPy's ``.npz``, that holds everything but Python objects.

The archive holds the normal map with its camera, the components of the first level, for each further level the edges that
were contracted, with their residuals, and for each level its number and `inside`. Edges and jumps follow from the normals;
they are stored only where they do not, as with lines of discontinuity or another model of continuity.
"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..geometry.camera import Camera, Orthographic, Pinhole, RayMap
from ..geometry.jumps import PlanarJumps, planar
from ..geometry.normals import NormalMap
from ..geometry.wrapping import Wrap
from ..graph.pixels import PixelGraph
from ..graph.quotient import Quotient, jumps_of
from ..io import InputError, OutputError, atomic
from ..io.formats import check_file
from ..io.numpy_files import read_npz

G = TypeVar("G", bound=Quotient)

_KIND, _VERSION = "quotientgraph decomposition", 1
# Names that would say something wrong about what is in the file.
_OTHERS = (
    ".graphml", ".gml", ".gexf", ".dot", ".csv", ".tsv", ".parquet", ".json", ".yaml", ".pkl", ".pickle", ".npy", ".mat",
    ".h5", ".hdf5", ".zarr", ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".exr", ".ply", ".obj", ".glb", ".gltf", ".stl",
    ".html", ".txt",
)  # fmt: skip


def save_graph(graph: Quotient, path: str | PathLike[str]) -> None:
    """Write a decomposition with its levels; `load_graph` reads it. The name ends in .npz, or in no known suffix."""
    suffix = Path(path).suffix.lower()
    if suffix in _OTHERS:
        raise OutputError(
            f"{path}: a decomposition is saved as .npz, not as {suffix}; for other programs there are "
            "quotientgraph.io.write_tables (.graphml, .csv, .parquet), to_networkx, to_igraph and to_pandas"
        )
    levels = graph.levels
    first, pixels, source = levels[0], graph.pixels, graph.pixels.map
    _check_map(source)
    camera, arrays = _stored_camera(source.camera)
    arrays |= {
        "position": source.position,
        "normals": source.normals,
        "labels": first.labels,
        "removed": pixels.removed,
    }
    plain = PixelGraph.from_map(source, pixels.connectivity)
    if not (np.array_equal(plain.tail, pixels.tail) and np.array_equal(plain.head, pixels.head)):
        arrays |= {"tail": pixels.tail, "head": pixels.head}
    jump = np.asarray(graph.jump)
    if not isinstance(graph.jump, PlanarJumps) and not np.array_equal(jump, planar(source, pixels.tail, pixels.head)):
        arrays["jump"] = jump
    for m, level in enumerate(levels[1:], start=1):
        arrays |= {f"contracted_{m}": level.contracted, f"contracted_at_{m}": level.contracted_at}
    arrays |= {_inside(m, len(levels)): level.inside for m, level in enumerate(levels) if level.inside is not None}
    facts = {
        "kind": _KIND, "version": _VERSION, "shape": list(source.shape), "camera": camera, "dropped": source.dropped,
        "connectivity": pixels.connectivity, "n_levels": len(levels), "first_level": first.level,
        "levels": [level.level for level in levels], "angle": graph.angle, "preset": graph.preset,
        "formed_by_preset": first.formed_by_preset, "warnings": list(graph.warnings),
        "wrap": source.wrap.flags.tolist(), "slope": list(source.slope),
        "keeps_slope": source.keeps_slope, "straightened": source.straightened,
        "sharpened": source.sharpened,
    }  # fmt: skip
    arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    with atomic(Path(path)) as part, part.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # NumPy's types know no names


def load_graph(path: str | PathLike[str], kind: type[G]) -> G:
    """Read what `save_graph` wrote, as a graph of the given class.

    `quotientgraph.io.InputError` says what is wrong with a file that is damaged or something else. Arrays are checked
    against each other, so that a graph which is returned is sound.
    """
    path = Path(path)
    check_file(path)
    try:
        arrays = dict(read_npz(path))
        facts = json.loads(arrays.pop("facts").tobytes())
        if facts["kind"] != _KIND:
            raise ValueError("another kind of archive")
    except InputError:
        raise
    except Exception as error:  # from a damaged archive anything may come, from zlib.error to RecursionError
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{path}: not a saved decomposition, or a damaged one ({said}); write it with graph.save"
        ) from None
    if facts.get("version") != _VERSION:
        raise InputError(f"{path}: has version {facts.get('version')!r}, this program reads {_VERSION}; update it")
    try:
        return _rebuilt(arrays, facts, kind)
    except (ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
        raise InputError(f"{path}: its parts do not fit each other ({error}); it is damaged, save it again") from None


def _rebuilt(arrays: dict[str, np.ndarray], facts: dict[str, Any], kind: type[G]) -> G:
    pixels = _pixels(arrays, facts)
    n_pixels = pixels.n_pixels
    jump: np.ndarray | PlanarJumps
    if "jump" in arrays:
        jump = arrays["jump"].astype(np.float64)
        _need(jump.shape in ((pixels.n_edges,), (2, pixels.n_edges)) and np.isfinite(jump).all(), "jump")
    else:
        jump = jumps_of(pixels, planar)
    labels = arrays["labels"].astype(np.int32)
    _need(labels.shape == (n_pixels,), "labels")
    graph = kind.from_labels(pixels, jump, labels)
    _need(np.array_equal(graph.labels, labels), "labels")
    angle, preset = facts["angle"], facts["preset"]
    _need(angle is None or 0 < float(angle) <= 180, "angle")
    _need(preset is None or isinstance(preset, str), "preset")
    said = tuple(str(text) for text in facts["warnings"])
    # Former files have a preset only if it formed the components.
    by_preset = bool(facts.get("formed_by_preset", preset is not None))
    graph = replace(graph, angle=angle, preset=preset, formed_by_preset=by_preset, warnings=said)
    n_levels, first = int(facts["n_levels"]), int(facts["first_level"])
    levels = facts.get("levels", range(first, first + n_levels))  # former files tell the first one only
    _need(0 < len(levels) == n_levels, "levels")
    for m, level in enumerate(levels):
        if m:
            graph = graph.contract(arrays[f"contracted_{m}"], arrays[f"contracted_at_{m}"])
        inside = arrays.get(_inside(m, n_levels))
        if inside is not None:
            inside = inside.astype(np.float64)
            _need(inside.shape == (n_pixels,) and np.isfinite(inside).all(), "inside")
        graph = replace(graph, level=int(level), inside=inside)
    return graph


def _inside(m: int, n_levels: int) -> str:
    """The name of `inside` of level m; that of the last level is the one that former files have."""
    return "inside" if m == n_levels - 1 else f"inside_{m}"


def _pixels(arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> PixelGraph:
    height, width = (int(side) for side in facts["shape"])
    position, normals = arrays["position"].astype(np.int32), arrays["normals"].astype(np.float64)
    _need(height > 0 and width > 0 and position.ndim == 1 and len(position) > 0, "shape")
    _need((np.diff(position) > 0).all() and position[0] >= 0 and position[-1] < height * width, "position")
    _need(normals.shape == (len(position), 3), "normals")
    _need(bool((np.abs(np.linalg.norm(normals, axis=1) - 1) < 1e-6).all()), "normals")
    index = np.full(height * width, -1, dtype=np.int32)
    index[position] = np.arange(len(position), dtype=np.int32)
    camera = _camera(facts["camera"], arrays, (height, width))
    dropped = {str(key): int(value) for key, value in facts["dropped"].items()}
    wrap = Wrap(*(bool(flag) for flag in facts.get("wrap", ())))
    right, down = (float(one) for one in facts.get("slope", (0.0, 0.0)))
    _need((not wrap.x or width > 2) and (not wrap.y or height > 2) and np.isfinite(right + down), "wrap")
    _need(not (wrap.top or wrap.bottom) or (wrap.x and width % 2 == 0 and width > 7 and height > 1), "wrap")
    _need(not wrap or not isinstance(camera, Pinhole), "wrap")
    straightened, sharpened = (float(facts.get(name, 0.0)) for name in ("straightened", "sharpened"))
    _need(straightened >= 0, "straightened")
    _need(0 <= sharpened <= 1, "sharpened")
    source = NormalMap(
        normals, index.reshape(height, width), position, camera, dropped, wrap, (right, down),
        bool(facts.get("keeps_slope")), straightened, sharpened,
    )  # fmt: skip
    _need(bool((source.facing < 0).all()), "camera")
    pixels = PixelGraph.from_map(source, facts["connectivity"])
    removed = arrays["removed"].astype(np.int32)
    tail, head = (arrays.get(name, getattr(pixels, name)).astype(np.int32) for name in ("tail", "head"))
    _need(removed.ndim == 2 and removed.shape[1] == 2 and tail.shape == head.shape and tail.ndim == 1, "tail")
    for ends in (tail, head, removed.ravel()):
        _need(len(ends) == 0 or (int(ends.min()) >= 0 and int(ends.max()) < len(position)), "tail")
    _need(bool((tail < head).all()), "tail")
    return replace(pixels, tail=tail, head=head, removed=removed)


def _check_map(source: NormalMap) -> None:
    """Raise ValueError if a normal map has properties that the file would not keep."""
    plain = NormalMap(
        source.normals, source.index, source.position, source.camera, source.dropped, source.wrap, source.slope,
        source.keeps_slope, source.straightened, source.sharpened,
    )  # fmt: skip
    for field in fields(NormalMap):
        kept = getattr(plain, field.name)
        if kept is not getattr(source, field.name) and kept != getattr(source, field.name):
            raise ValueError(f"{field.name}: a graph whose normal map has it cannot be saved")


def _stored_camera(camera: Camera) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A camera as numbers, and as arrays where it has a ray for each pixel."""
    if isinstance(camera, Pinhole):
        return {"kind": "pinhole", "fx": camera.fx, "fy": camera.fy, "cx": camera.cx, "cy": camera.cy}, {}
    if isinstance(camera, Orthographic):
        return {"kind": "orthographic", "pixel_size": camera.pixel_size}, {}
    if isinstance(camera, RayMap):
        return {"kind": "rays"}, {"rays": camera.directions}
    raise ValueError(f"camera: a {type(camera).__name__} cannot be saved; use Pinhole, Orthographic or RayMap")


def _camera(facts: dict[str, Any], arrays: dict[str, np.ndarray], shape: tuple[int, int]) -> Camera:
    if facts["kind"] == "pinhole":
        return Pinhole(*(float(facts[name]) for name in ("fx", "fy", "cx", "cy")))
    if facts["kind"] == "orthographic":
        return Orthographic(float(facts["pixel_size"]))
    _need(facts["kind"] == "rays" and arrays["rays"].shape[:2] == shape, "rays")
    return RayMap(arrays["rays"])


def _need(holds: Any, what: str) -> None:
    if not holds:
        raise ValueError(f"{what!r} is not as it was written")
