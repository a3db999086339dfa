"""Depth maps, component labels and the graph of the components as files. Every write is atomic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from .atomic import OutputError, atomic
from .decode import pick
from .formats import InputError, read_arrays, write_image

# Names of the depth among several arrays of a file, the likeliest first.
DEPTH_NAMES = ("depth_gt", "depth", "z", "arr_0", "")
_LEVELS = 65534  # of a 16-bit PNG; 0 means "no depth"
_OFTEN, _NEAR = 1e-3, 0.75  # share of pixels that makes a largest value a code; part of it that is near


def write_depth(path: Path | str, depth: np.ndarray) -> None:
    """Write a depth map: ``.npy`` in its own type, ``.exr``, ``.tiff`` as float32 with NaN, ``.png`` 16 bit.

    A PNG has value 0 where there is no depth and depth = offset + scale·value elsewhere; offset and scale
    stand in the sidecar ``name.png.json``, which `read_depth` looks for.
    """
    path = Path(path)
    depth = np.asarray(depth)
    if depth.ndim != 2 or depth.dtype.kind != "f":
        raise OutputError(f"{path}: depth must be an (H, W) array of floats, got {depth.shape} {depth.dtype}")
    if path.suffix.lower() != ".png":
        write_image(path, depth)
        return
    depth = depth.astype(np.float64)  # the range of float16 is less than that of a PNG's numbers
    finite = np.isfinite(depth)
    low, high = (float(depth[finite].min()), float(depth[finite].max())) if finite.any() else (0.0, 0.0)
    scale = (high - low) / (_LEVELS - 1) or 1.0
    offset = low - scale
    image = np.zeros(depth.shape, dtype=np.uint16)
    image[finite] = np.clip(np.rint((depth[finite] - offset) / scale), 1, _LEVELS).astype(np.uint16)
    facts = {"depth": "offset + scale * value", "offset": offset, "scale": scale, "invalid": 0}
    with atomic(sidecar(path)) as part:
        part.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
        write_image(path, image)


def read_depth(path: Path | str, *, relative: bool = False) -> np.ndarray:
    """(H, W) float64 depth from a file, NaN where there is none.

    Integers become depth by the offset and scale in the sidecar file that `write_depth` makes. With `relative` the
    sidecar may be missing: then the integers are depths in an unknown unit, and 0 means that there is none, which is
    how depth cameras write PNG.
    """
    return _read(Path(path), relative)[0]


def read_prior(path: Path | str) -> tuple[np.ndarray, list[str]]:
    """What `read_depth` reads as relative depth, and warnings about it."""
    return _read(Path(path), relative=True)


def _read(path: Path, relative: bool) -> tuple[np.ndarray, list[str]]:
    depth = pick(path, read_arrays(path), DEPTH_NAMES, "depth")
    if depth.ndim != 2:
        raise InputError(f"{path}: a depth map has one value a pixel, got shape {depth.shape}")
    if depth.dtype.kind not in "ui":
        return depth.astype(np.float64), []
    if relative and not sidecar(path).exists():
        return known_depth(depth, str(path))
    return apply_sidecar(path, depth), []


def known_depth(whole: np.ndarray, name: str) -> tuple[np.ndarray, list[str]]:
    """Depth of an unknown unit from whole numbers, NaN where they say that there is none, and a warning about that.

    0 says so, and the largest number of 16 bits and more where many pixels have it and no other number comes near it.
    Numbers that were scaled to all 16 bits come near it.

    Examples
    --------
    >>> known_depth(np.array([[0, 1500, 65535, 65535]], dtype=np.uint16), "prior")[0].tolist()
    [[nan, 1500.0, nan, nan]]
    """
    depth = np.where(whole == 0, np.nan, whole.astype(np.float64))
    top = np.iinfo(whole.dtype).max
    coded = whole == top
    share = float(coded.mean()) if whole.size else 0.0
    below = whole.max(initial=0, where=~coded)
    if whole.dtype.itemsize < 2 or np.count_nonzero(coded) < 2 or share < _OFTEN or not 0 < below < _NEAR * top:
        return depth, []
    depth[coded] = np.nan
    return depth, [
        f"{name}: {share:.1%} of its values are {top}, the largest that {whole.dtype} holds, and no other is near; "
        "they were read as unknown, so pass floats if they are depths"
    ]


def sidecar(path: Path) -> Path:
    """Where offset and scale of an integer depth map stand."""
    return path.with_name(path.name + ".json")


def apply_sidecar(path: Path, image: np.ndarray) -> np.ndarray:
    """Depth from the integers of a PNG and the numbers beside it."""
    side = sidecar(path)
    try:
        facts = json.loads(side.read_text(encoding="utf-8"))
        offset, scale, invalid = float(facts["offset"]), float(facts["scale"]), facts.get("invalid", 0)
    except FileNotFoundError:
        raise InputError(f"{path}: integer depth needs offset and scale in {side.name}, which is not there") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{side}: not a depth sidecar ({type(error).__name__}); write the depth again") from None
    return np.where(image == invalid, np.nan, offset + scale * image.astype(np.float64))


def write_labels(path: Path | str, labels: np.ndarray) -> None:
    """Write an (H, W) integer label image, −1 outside.

    ``.npy`` and ``.tiff`` keep the numbers. A ``.png`` is 16 bit, holds label + 1, 0 outside, and at most
    65535 labels.
    """
    path = Path(path)
    labels = np.asarray(labels)
    if labels.ndim != 2 or labels.dtype.kind not in "iu":
        raise OutputError(f"{path}: labels must be an (H, W) array of integers, got {labels.shape} {labels.dtype}")
    if path.suffix.lower() == ".png":
        if labels.size and labels.max() > 65534:
            raise OutputError(f"{path}: {labels.max() + 1} labels do not fit in 16 bits; use .tiff or .npy")
        labels = (np.maximum(labels, -1) + 1).astype(np.uint16)
    elif path.suffix.lower() not in (".npy", ".npz", ".tif", ".tiff", ".mat"):
        raise OutputError(f"{path}: labels are integers; use .png, .tiff or .npy")
    write_image(path, labels if labels.dtype == np.uint16 else labels.astype(np.int32))


def read_labels(path: Path | str) -> np.ndarray:
    """(H, W) int32 labels, −1 outside, as `write_labels` wrote them."""
    path = Path(path)
    image = next(iter(read_arrays(path).values()))
    if image.ndim != 2 or image.dtype.kind not in "iu":
        raise InputError(f"{path}: labels are one integer a pixel, got shape {image.shape} {image.dtype}")
    return image.astype(np.int32) - (1 if path.suffix.lower() == ".png" else 0)


def write_graphml(path: Path | str, graph: Any) -> None:
    """Write a networkx graph as GraphML; attributes that GraphML has no type for become text."""
    import networkx as nx

    plain = type(graph)()
    plain.graph.update(_plain(graph.graph))
    plain.add_nodes_from((node, _plain(data)) for node, data in graph.nodes(data=True))
    if graph.is_multigraph():
        plain.add_edges_from((a, b, key, _plain(data)) for a, b, key, data in graph.edges(keys=True, data=True))
    else:
        plain.add_edges_from((a, b, _plain(data)) for a, b, data in graph.edges(data=True))
    with atomic(path) as part, part.open("wb") as file:
        nx.write_graphml(plain, file)


def _plain(data: dict) -> dict:
    out: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, np.generic):
            value = value.item()
        elif isinstance(value, np.ndarray):
            value = value.tolist()
        out[str(key)] = value if isinstance(value, bool | int | float | str) else str(value)
    return out
