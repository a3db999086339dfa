"""`height_map`: from a tangent-space normal map to a height map with its range, its mid-level and its physical size."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..baselines.smooth import surface_of
from ..beyond.net_slope import SLOPES, slope_warnings
from ..geometry.camera import Orthographic
from ..geometry.frames import FRAMES
from ..integration import integrate
from ..io import OutputError, atomic
from ..io.evidence import change_axes
from ..io.exr_files import write_exr
from ..io.image_files import write_png, write_tiff
from ..result import Reconstruction
from .relief import ambient_occlusion, curvature
from .sizes import Size
from .tangent import TangentMap

_STEEPEST = 1e3  # a slope above this is a normal at grazing incidence and says nothing
_HIGHEST = float(np.finfo(np.float32).max)  # what EXR and TIFF files can hold
SUFFIXES = (".png", ".exr", ".tif", ".tiff", ".npy")


@dataclass(frozen=True, eq=False)
class HeightMap:
    """A relief above its mean level.

    Attributes
    ----------
    height : (H, W) float64
        In the unit of `size`, higher towards the viewer, 0 at the mean level.
    size : Size
        How large the surface is.
    source : TangentMap
        The normal map, and what was understood of it.
    slope : (float, float)
        The net slope that was found and removed so that the relief tiles, height by length, to the right and upwards.
    warnings : tuple of str
        What the normals contradict, and what to know of the integration.
    result : Reconstruction or None
        The surface as it was integrated; None for a smooth one, which is found without a graph.
    """

    height: np.ndarray = field(repr=False)
    size: Size
    source: TangentMap
    slope: tuple[float, float] = (0.0, 0.0)
    warnings: tuple[str, ...] = ()
    result: Reconstruction | None = field(repr=False, default=None)

    @property
    def low(self) -> float:
        """The lowest height, which the value 0 stands for."""
        return float(self.height.min())

    @property
    def high(self) -> float:
        """The greatest height, which the value 1 stands for."""
        return float(self.height.max())

    @property
    def range(self) -> float:
        """From the lowest to the greatest height: what a displacement is to be scaled by."""
        return self.high - self.low

    @property
    def mid_level(self) -> float:
        """The value in 0 … 1 that stands for the height 0; ½ for a flat map."""
        return -self.low / self.range if self.range > 0 else 0.5

    @property
    def levels(self) -> np.ndarray:
        """(H, W) float64 heights as values 0 … 1."""
        return (self.height - self.low) / self.range if self.range > 0 else np.full(self.height.shape, 0.5)

    @property
    def _shape(self) -> tuple[int, int]:
        return self.height.shape[0], self.height.shape[1]

    @property
    def facts(self) -> dict[str, Any]:
        """What the files say about the relief, in types that JSON has."""
        across, down = self.size.pixel(self._shape)
        return {
            "unit": self.size.unit,
            "low": self.low,
            "high": self.high,
            "range": self.range,
            "mid_level": self.mid_level,
            "width": self.size.width,
            "height": self.size.height,
            "pixel_width": across,
            "pixel_height": down,
            "tile": self.source.tile,
            "green": self.source.green,
            "slope_removed": list(self.slope),
        }

    def ambient_occlusion(self, radius: float | None = None) -> np.ndarray:
        """(H, W) float32 in 0 … 1; see `quotientgraph.height.ambient_occlusion`."""
        return ambient_occlusion(self.height, self.size.pixel(self._shape), self._wraps, radius)

    def curvature(self) -> np.ndarray:
        """(H, W) float32 in 0 … 1; see `quotientgraph.height.curvature`."""
        return curvature(self.height, self.size.pixel(self._shape), self._wraps)

    @property
    def _wraps(self) -> tuple[bool, bool]:
        return self.source.tile in ("x", "both"), self.source.tile in ("y", "both")

    def save(self, path: Path | str, values: str = "levels") -> None:
        """Write the heights by suffix: 16-bit .png, 32-bit .exr and .tiff, or .npy.

        Parameters
        ----------
        path : path
            PNG, EXR and TIFF files hold `facts` as JSON under the name "height" (TIFF: as the description), and PNG and
            TIFF the resolution where the size is known.
        values : "levels" or "height"
            0 … 1, or the heights in their unit, which a PNG cannot hold.
        """
        if values not in ("levels", "height"):
            raise ValueError(f'values={values!r} is not known; use "levels" or "height"')
        self._write(Path(path), self.levels if values == "levels" else self.height, values)

    def save_picture(self, path: Path | str, picture: np.ndarray) -> None:
        """Write a picture of the same size with values 0 … 1, such as `ambient_occlusion()`, in the format of the suffix."""
        self._write(Path(path), picture, "levels")

    def _write(self, path: Path, array: np.ndarray, values: str) -> None:
        suffix = path.suffix.lower()
        if suffix not in SUFFIXES:
            raise OutputError(f"{path}: the suffix {path.suffix!r} is not one of {' '.join(SUFFIXES)}")
        if suffix == ".png" and values == "height":
            raise OutputError(f"{path}: a PNG holds values 0 … 1 only; write .exr or .tiff, or values='levels'")
        text, dots = json.dumps({**self.facts, "values": values}), self.size.pixels_per_metre(self._shape)
        with atomic(path) as part:
            if suffix == ".png":
                write_png(part, np.rint(array * 65535).astype(np.uint16), {"height": text}, dots)
            elif suffix == ".exr":
                write_exr(part, array, {"height": text}, channel="Y")
            elif suffix == ".npy":
                np.save(part, array)
            else:
                write_tiff(part, array, text, dots)


def height_map(
    normals: Any,
    *,
    green: str = "auto",
    tile: str = "auto",
    size: str | float | tuple[float, float] | None = None,
    strength: float = 1.0,
    smooth: bool = False,
    slope: str = "remove",
    **settings: Any,
) -> HeightMap:
    """The height map of a tangent-space normal map.

    Parameters
    ----------
    normals : path, PIL image, array or tensor
        x to the right, z to the viewer; two channels are x and y.
    green : "auto", "opengl" or "directx"
        Whether green points up or down; "auto" takes the one that makes the slopes those of a surface. One that is stated
        is used; if the normals contradict it, that is a warning.
    tile : "auto", "x", "y", "both" or "no"
        In which directions the texture tiles, and the height map with it; "auto" compares the seams with the inside.
    size : str, number or (width, height), optional
        Physical width of the texture such as "2m", or width and height "2m x 1m"; numbers are metres. Heights are in its
        unit; without it a pixel is 1.
    strength : float
        Factor of the slopes, and so of the heights.
    smooth : bool
        Plain least squares by Fourier transform, which is fast and rounds off steps. Otherwise steps are found and kept.
    slope : "remove", "keep" or "steps"
        What becomes of a net slope of a texture that tiles, as in `integrate`; a smooth one has no steps that undo it.
    **settings
        Of `integrate`, for instance ``angle=3``; not with `smooth`.

    Returns
    -------
    HeightMap

    Examples
    --------
    >>> from quotientgraph import scenes
    >>> tile = scenes.texture("waves", shape=(64, 64))
    >>> found = height_map(tile.normals * [1, -1, -1], size="2m")
    >>> found.source.green, found.source.tile, found.size.text(found.range)
    ('opengl', 'both', '10 cm')
    """
    if not np.isfinite(strength) or strength == 0:
        raise ValueError(f"strength={strength} must be a number other than 0, a factor of the heights")
    if slope not in SLOPES:
        raise ValueError(f"slope={slope!r} is not known; use one of {', '.join(map(repr, SLOPES))}")
    source = TangentMap.from_source(normals, green, tile)
    shape = (source.normals.shape[0], source.normals.shape[1])
    extent = Size.from_text(size, shape)
    across, down = extent.pixel(shape)
    seen = change_axes(np.asarray(source.normals), FRAMES[source.green])
    if across != down:  # slopes per pixel in units of the width of a pixel
        seen = seen * np.array([1.0, down / across, 1.0])
    if smooth:
        if settings:
            raise ValueError(f"{', '.join(settings)}: a smooth height map takes no settings of `integrate`")
        depth, found = _smooth_depth(seen, source.wrap, slope)
        depth *= across
        result = None
    else:
        with np.errstate(invalid="ignore", divide="ignore"):
            seen = seen / np.linalg.norm(seen, axis=-1, keepdims=True)
        result = integrate(
            seen, camera=Orthographic(across), frame="opencv", wrap=source.wrap, slope=slope, check=False, **settings
        )
        depth, found = result.depth, result.slope
    height = np.nanmean(depth) - depth
    with np.errstate(over="ignore"):
        height *= strength
        rise = -strength * found[0], strength * found[1] * across / down
    spread = np.fmax.reduce(height, axis=None) - np.fmin.reduce(height, axis=None)
    if not max(spread, *map(abs, rise)) < _HIGHEST:
        raise ValueError(
            f"strength={strength:g}: heights of a surface {extent.width:g} {extent.unit} wide are then beyond "
            f"{_HIGHEST:.2g}, the most that files hold; use a smaller strength or size"
        )
    warnings = (*source.warnings, *(slope_warnings(found, slope == "keep") if result is None else result.warnings))
    return HeightMap(np.nan_to_num(height), extent, source, rise, warnings, result)


def _smooth_depth(normals: np.ndarray, wrap: str, slope: str) -> tuple[np.ndarray, tuple[float, float]]:
    """Depth in pixels of normals in the OpenCV frame by plain least squares, and the net slope that was found."""
    around = wrap in ("x", "both"), wrap in ("y", "both")
    slopes = []
    for k in (0, 1):
        with np.errstate(invalid="ignore", divide="ignore"):
            rise = -normals[..., k].astype(np.float64) / normals[..., 2]
        rise[~(np.abs(rise) < _STEEPEST)] = 0
        slopes.append(rise)
    right, down = (float(rise.mean()) if goes else 0.0 for rise, goes in zip(slopes, around, strict=True))
    depth = surface_of(slopes[0] - right, slopes[1] - down, *around)
    if slope == "keep":
        v, u = (np.arange(n) - (n - 1) / 2 for n in depth.shape)
        depth = depth + down * v[:, None] + right * u
    return depth, (right, down)
