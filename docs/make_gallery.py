"""The pictures of docs/gallery.md: results on real maps, drawn small. python docs/make_gallery.py DATA

The maps themselves are not part of the project. Where a build finds them, in the folder that QUOTIENTGRAPH_DATA names, the
pictures are drawn anew; elsewhere those of the last build are shown. Only what was found is drawn, never a map.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import imagecodecs
import numpy as np

from quotientgraph import Reconstruction, integrate, io, metrics
from quotientgraph.report import depth_picture, label_picture, shaded_picture
from quotientgraph.report.gallery import Picture, shrink
from quotientgraph.report.pictures import crop_of

IMAGES = Path(__file__).parent / "images" / "gallery"
WIDTH = 360  # of a picture in pixels
OBJECTS = ("diligent/bear", "diligent/buddha", "diligent/cat", "diligent/goblet", "diligent/harvest", "scenes/bedroom",
           "scenes/wedding_cake")  # fmt: skip
VIEWS = ("livingroom3_1", "bathroom_0", "staircase2_0", "barcelona_0", "bmw_0")


def results(data: Path) -> Iterator[tuple[str, Reconstruction, np.ndarray | None]]:
    """Name, result and true depth of each map of the folder."""
    for path in OBJECTS:
        found = io.read_normals(data / path)
        yield path.rpartition("/")[2], integrate(found.normals, found.mask, found.camera, "opengl"), found.read_truth()
    for name in VIEWS:
        with np.load(data / "real" / f"{name}.npz") as file:
            depth = np.asarray(file["depth"], dtype=float)
            prior = _coarse(depth)
            yield name, integrate(file["normals"], file["mask"], file["K"], "opencv", prior=prior), depth


def _coarse(depth: np.ndarray) -> np.ndarray:
    """A depth map as a network would give it: blurred by 4 pixels, 2 % noise, of another scale."""
    from scipy import ndimage

    known = np.isfinite(depth)
    weight = ndimage.gaussian_filter(known.astype(float), 4)
    blurred = ndimage.gaussian_filter(np.where(known, depth, 0), 4) / np.maximum(weight, 1e-9)
    noise = np.random.default_rng(0).normal(0, 0.02, depth.shape)
    return np.where(known, 2.5 * blurred * (1 + noise), np.nan)


def draw(result: Reconstruction) -> np.ndarray:
    """Components, clay and depth of a result side by side, on white, (h, w, 3) uint8."""
    crop = crop_of(result)
    valid = np.isfinite(result.depth)[crop]
    step = max(1, math.ceil(valid.shape[1] / WIDTH))
    panels = []
    for rgb, nearest in (
        (label_picture(result.levels[0].label_image()), True),
        (shaded_picture(result), False),
        (depth_picture(result.depth), False),
    ):
        small = shrink(Picture("", "", "", rgb[crop], valid, "", nearest=nearest), step)
        alpha = small[..., 3:] / 255
        panels.append((small[..., :3] * alpha + 255 * (1 - alpha)).astype(np.uint8))
    return np.concatenate(panels[1:] if panels[0].shape[1] > 330 else panels, axis=1)


def write_gallery(data: str | None = None) -> None:
    """Draw the pictures anew if the maps are there."""
    folder = data or os.environ.get("QUOTIENTGRAPH_DATA")
    if not folder or not (Path(folder) / "real").is_dir():
        return
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, result, truth in results(Path(folder)):
        (IMAGES / f"{name}.webp").write_bytes(imagecodecs.webp_encode(draw(result), level=80, lossless=False))
        if truth is not None:
            error = 100 * metrics.relative_error(result.depth, truth)
            sys.stdout.write(f"{name}: {error:.2f} %, {result.levels[0].n_components} components\n")


if __name__ == "__main__":
    write_gallery(sys.argv[1] if len(sys.argv) > 1 else None)
