"""The report's pictures: which there are, their captions, and PNG encoding within a budget of bytes."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from . import pictures as pic
from .charts import color_bar
from .color import Scale, brief, colorize
from .coloring import component_picture
from .comparison import Comparison
from .graph_pictures import uncertainty_picture, uncertainty_scale

if TYPE_CHECKING:
    from ..result import Reconstruction

MAX_LEVELS = 8
MAX_SIDE = 1024  # longest side of a picture in pixels
BUDGET = 1_200_000  # characters of all pictures in base64
QUALITY = 82  # of pictures without sharp borders


@dataclass(frozen=True)
class Picture:
    """A picture to show: `rgb`, (H, W, 3) uint8, is transparent where `valid`, (H, W), is False."""

    name: str
    title: str
    caption: str
    rgb: np.ndarray
    valid: np.ndarray
    section: str
    legend: str = ""
    nearest: bool = False  # labels must not be averaged


def gallery(
    result: Reconstruction, crop: tuple[slice, slice], image: np.ndarray | None, beside: Comparison
) -> list[Picture]:
    """Return all pictures of a result and of what is known beside it, cropped."""
    valid = np.isfinite(result.depth)[crop]
    everywhere = np.ones_like(valid)
    out = []

    def add(name: str, title: str, caption: str, rgb: np.ndarray, valid: np.ndarray, *more: Any) -> None:
        out.append(Picture(name, title, caption, rgb, valid, *more))

    if image is not None:
        add("image", "Image", "As given.", _rgb(image, result.depth.shape)[crop], everywhere, "input")
    normals = pic.normal_picture(pic.normal_image(result))[crop]
    add("normals", "Normal map", "Red is right, green is up, blue is to the viewer.", normals, valid, "input")
    said = "Of the surface that was found. Compare them with the normal map: move the slider below the two views."
    shown = np.isfinite(beside.normals).all(axis=-1)[crop]
    add("result-normals", "Normals of the result", said, pic.normal_picture(beside.normals)[crop], shown, "input")
    if not np.isfinite(result.depth).all():  # else it would be an empty frame
        mask = np.where(valid[..., None], np.uint8(236), np.uint8(38)).repeat(3, axis=-1)
        add("mask", "Mask", "Light pixels are valid and were integrated.", mask, everywhere, "input", "", True)
    out += _levels(result, crop, valid)

    legend = color_bar("depth", pic.depth_scale(result.depth))
    depth = pic.depth_picture(result.depth)[crop]
    add("depth", "Depth", "Near is light, far is dark.", depth, valid, "depth", legend)
    clay = pic.shaded_picture(result)[crop]
    add("shading", "Shading", "The surface as matt clay, lit from the upper left.", clay, valid, "depth")
    residual = getattr(result, "discontinuity", None)
    if residual is not None:
        said = "Largest residual of each pixel’s edges, in pixels. Dark lines are breaks of the surface."
        legend = color_bar("residual", pic.residual_scale(residual))
        rgb = pic.residual_picture(residual)[crop]
        add("residual", "Discontinuities", said, rgb, np.isfinite(residual)[crop], "depth", legend)
    confidence = getattr(result, "confidence", None)
    if confidence is not None:
        said = "How well each pixel’s depth is tied to its surroundings; 1 is best."
        legend = color_bar("confidence", Scale(0.0, 1.0))
        rgb = colorize(confidence, Scale(0.0, 1.0), "confidence")[crop]
        add("confidence", "Confidence", said, rgb, np.isfinite(confidence)[crop], "depth", legend)
    scale = Scale(0.0, max(1.0, pic.depth_scale(beside.angle).high))
    said = "Angle in degrees between the normals of the result and the normal map."
    rgb = colorize(beside.angle, scale, "residual")[crop]
    add(
        "angle",
        "Angle to the input",
        said,
        rgb,
        np.isfinite(beside.angle)[crop],
        "depth",
        color_bar("residual", scale, "°", "angle"),
    )
    if beside.error is not None:
        per_cent = 100 * beside.error
        legend = color_bar("residual", pic.residual_scale(per_cent), " %", "error")
        said = "Error of the depth in per cent, after the free factor or offset has been fitted."
        rgb = pic.residual_picture(per_cent)[crop]
        add("error", "Error against the true depth", said, rgb, np.isfinite(per_cent)[crop], "depth", legend)
    if beside.prior is not None:
        said = "What was known before, in the colours of the depth."
        rgb = pic.depth_picture(beside.prior, scale=pic.depth_scale(result.depth))[crop]
        add("prior", "Depth prior", said, rgb, np.isfinite(beside.prior)[crop], "depth")
    uncertainty = getattr(result, "uncertainty", None)
    if uncertainty is not None:
        said = "Standard deviation of each component’s scale, in pixels at the surface, from the borders that hold it."
        legend = color_bar("residual", uncertainty_scale(uncertainty), " px", "uncertainty")
        rgb = uncertainty_picture(uncertainty)[crop]
        add("uncertainty", "Uncertainty of scale", said, rgb, np.isfinite(uncertainty)[crop], "depth", legend)
    return out


def _levels(result: Reconstruction, crop: tuple[slice, slice], valid: np.ndarray) -> list[Picture]:
    levels = list(result.levels) or [result.graph]
    labels = pic.stable_labels(levels)
    shown = sorted({round(x) for x in np.linspace(0, len(levels) - 1, min(MAX_LEVELS, len(levels)))})
    return [
        Picture(
            f"level-{k}",
            f"Level {levels[k].level}",
            f"{brief(int(levels[k].n_components))} component{'s' if levels[k].n_components != 1 else ''}",
            component_picture(labels[k])[crop],
            valid,
            "components",
            nearest=True,
        )
        for k in shown
    ]


def _rgb(image: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    array = np.asarray(image)
    if array.shape[:2] != tuple(shape) or array.shape[2:] not in ((), (1,), (3,), (4,)):
        raise ValueError(f"image: expected shape {(*shape, 3)} like the normals, got {array.shape}")
    array = array[..., None] if array.ndim == 2 else array[..., :3]
    if array.dtype.kind == "f":
        array = np.clip(np.nan_to_num(array), 0, 1) * 255
    elif array.dtype == np.uint16:
        array = array // 257
    elif array.dtype != np.uint8:
        raise ValueError(f"image: expected uint8, uint16 or floats in [0, 1], got {array.dtype}")
    return np.broadcast_to(array.astype(np.uint8), (*shape, 3))


def shrink(picture: Picture, step: int) -> np.ndarray:
    """Return a picture `step` times smaller in each direction, (h, w, 4) uint8."""
    alpha = np.where(picture.valid, np.uint8(255), np.uint8(0))
    # One colour where nothing shows: it compresses to nothing.
    rgb = np.where(picture.valid[..., None], picture.rgb, np.uint8(0))
    rgba = np.concatenate([rgb, alpha[..., None]], axis=-1)
    if step == 1:
        return rgba
    if picture.nearest:
        return rgba[::step, ::step]
    # Mean of each block, weighted by alpha; incomplete blocks at the end are padded with nothing.
    h, w = (math.ceil(n / step) for n in rgba.shape[:2])
    padded = np.zeros((h * step, w * step, 4), dtype=np.float32)
    padded[: rgba.shape[0], : rgba.shape[1]] = rgba
    total = padded.reshape(h, step, w, step, 4).sum(axis=(1, 3))
    count = total[..., 3:] / 255
    total[..., :3] /= np.maximum(count, 1)
    total[..., 3:] = 255 * (count > 0.5 * step * step / 2)
    return total.round().astype(np.uint8)


def png_uri(array: np.ndarray) -> str:
    """Return an (H, W, 3 or 4) uint8 array as a data URI with a PNG in it."""
    import imagecodecs

    data = imagecodecs.png_encode(np.ascontiguousarray(array), level=7)
    return "data:image/png;base64," + base64.b64encode(data).decode()


def picture_uri(array: np.ndarray, sharp: bool) -> str:
    """Return an (H, W, 4) uint8 array as a data URI: as PNG if its borders must stay sharp, otherwise as WebP."""
    import imagecodecs

    if sharp:
        return png_uri(array)
    data = imagecodecs.webp_encode(np.ascontiguousarray(array), level=QUALITY, lossless=False)
    return "data:image/webp;base64," + base64.b64encode(data).decode()


def encode(shown: list[Picture], budget: int = BUDGET) -> dict[str, tuple[str, int, int]]:
    """Return data URI, width and height of each picture by name, at the largest size at which all fit the budget.

    Tiny pictures are enlarged by viewers, so they stay exact.
    """
    out: dict[str, tuple[str, int, int]] = {}
    longest = max(max(picture.valid.shape) for picture in shown)
    step = math.ceil(longest / MAX_SIDE)
    while True:
        for picture in shown:
            array = shrink(picture, step)
            sharp = picture.nearest or max(array.shape) < 200
            out[picture.name] = (picture_uri(array, sharp), array.shape[1], array.shape[0])
        excess = sum(len(uri) for uri, _, _ in out.values()) / budget
        if excess <= 1 or step >= longest:
            return out
        step = math.ceil(step * max(1.01, 0.9 * math.sqrt(excess)))  # bytes go with the area


def figure_html(picture: Picture, coded: tuple[str, int, int]) -> str:
    """Return the `<figure>` element of a picture; a click opens it large (page.js)."""
    uri, width, height = coded
    alt = escape(f"{picture.title}. {picture.caption}")
    rough = ' class="rough"' if max(width, height) < 200 or picture.nearest else ""
    return (
        f'<figure><button class="picture" type="button" aria-label="Enlarge: {escape(picture.title)}">'
        f'<img id="picture-{picture.name}"{rough} width="{width}" height="{height}" alt="{alt}" '
        f'src="{uri}">'
        f"</button>{picture.legend}"
        f"<figcaption><b>{escape(picture.title)}</b> {escape(picture.caption)}</figcaption></figure>"
    )
