"""`NormalMap`: the validated input, and the one place that states units and signs; frames are those of `frames`.

Inside the program a normal is a unit vector in the OpenCV camera frame. A pixel is valid when it lies in the mask, its
normal is finite and not zero, its ray exists, and the surface faces the camera there: n·ray < 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from laplacians.core.jit import WHOLE, kernel, portion

from .camera import Camera, as_camera
from .frames import FRAMES, frame_axes
from .wrapping import Wrap

# Why pixels of the mask are left out: reason, and how to say it of them.
LEFT_OUT = {"no_normal": "have no normal", "no_ray": "have no ray", "faces_away": "face away from the camera"}
_VALID, _OUTSIDE, _NO_NORMAL, _NO_RAY, _FACES_AWAY = 0, 1, 2, 3, 4


@dataclass(frozen=True, eq=False)
class NormalMap:
    """Valid pixels of a normal map, in row-major order.

    Attributes
    ----------
    normals : (n_pixels, 3) float64
        Unit normals in the OpenCV frame.
    index : (H, W) int32
        Number of each valid pixel, −1 elsewhere.
    position : (n_pixels,) int32
        Flat image position of each valid pixel.
    camera : Camera
    dropped : dict
        How many pixels of the mask were left out, by reason.
    wrap : Wrap
        Which borders of the image meet.
    slope : (float, float)
        Slope by column and by row that is taken out of the normals of a wrapped surface, so that it closes: of the
        potential, per pixel. See `quotientgraph.beyond.net_slope`.
    keeps_slope : bool
        Whether that slope is added to the depth in the end.
    straightened : float
        Degrees in the root mean square by which a smooth error was taken out of the normals; see
        `quotientgraph.beyond.straightening`.
    sharpened : float
        Part of the pixels that took the normals beside them, because edges were blurred; see
        `quotientgraph.beyond.sharpening`.
    """

    normals: np.ndarray
    index: np.ndarray
    position: np.ndarray
    camera: Camera
    dropped: dict[str, int]
    wrap: Wrap = field(default_factory=Wrap)
    slope: tuple[float, float] = (0.0, 0.0)
    keeps_slope: bool = False
    straightened: float = 0.0
    sharpened: float = 0.0

    @classmethod
    def from_array(
        cls,
        normals: ArrayLike,
        mask: ArrayLike | None = None,
        camera: Camera | ArrayLike | None = None,
        frame: str = "opengl",
        wrap: str = "none",
    ) -> NormalMap:
        """Validate and convert; see `QuotientGraph.from_normals` for the arguments."""
        array = _checked_normals(normals)
        shape = array.shape[:2]
        camera = as_camera(camera)
        axes = frame_axes(frame)
        x, y, z = camera.coordinates(shape)
        around = Wrap.from_name(wrap, camera, shape)
        reason = np.empty(shape, dtype=np.uint8)
        per_row = np.empty(shape[0], dtype=np.int64)
        chosen = _checked_mask(mask, shape)
        _judge(array, chosen, x, y, z, axes, reason, per_row)
        counts = np.bincount(reason.ravel(), minlength=5)
        if counts[_VALID] == 0:
            away = np.flatnonzero(reason == _FACES_AWAY)
            raise ValueError(_nothing_left(mask, counts, frame, _remedy(array, away, (x, y, z))))
        start = np.concatenate([[0], np.cumsum(per_row)])
        index = np.empty(shape, dtype=np.int32)
        unit = np.empty((start[-1], 3))
        position = np.empty(start[-1], dtype=np.int32)
        _compact(array, axes, reason, start, index, unit, position)
        dropped = {
            "no_normal": int(counts[_NO_NORMAL]),
            "no_ray": int(counts[_NO_RAY]),
            "faces_away": int(counts[_FACES_AWAY]),
        }
        return cls(unit, index, position, camera, dropped, around)

    @property
    def shape(self) -> tuple[int, int]:
        height, width = self.index.shape
        return height, width

    @property
    def n_pixels(self) -> int:
        return len(self.normals)

    def with_normals(self, normals: np.ndarray) -> NormalMap:
        """The same pixels with other unit normals (n_pixels, 3); where a surface would face away, its normal stays."""
        away = replace(self, normals=normals).facing >= 0
        return replace(self, normals=np.where(away[:, None], self.normals, normals))

    @property
    def mended(self) -> bool:
        """Whether the normals are not those that were given, because their edges or faces had errors."""
        return self.straightened > 0 or self.sharpened > 0

    @property
    def facing(self) -> np.ndarray:
        """(n_pixels,) float64 product n·ray of each pixel, negative because every valid pixel faces the camera."""
        x, y, z = self.camera.coordinates(self.shape)
        out = np.empty(self.n_pixels)
        _facing(self.normals, self.position, x, y, z, out)
        return out

    @cached_property
    def focal(self) -> float | np.ndarray:
        """How many pixels one unit of the potential is, sideways at the surface: a number, or (n_pixels,)."""
        f = self.camera.focal(self.shape)
        return f if np.ndim(f) == 0 else np.asarray(f).ravel()[self.position]

    def image(self, values: np.ndarray, fill: float | np.int32 = np.nan) -> np.ndarray:
        """Scatter one value per valid pixel into an (H, W, ...) image."""
        dtype = np.result_type(values, type(fill))
        if self.n_pixels == self.index.size:  # every pixel is valid
            return values.astype(dtype).reshape(*self.shape, *values.shape[1:])
        out = np.full((self.index.size, *values.shape[1:]), fill, dtype=dtype)
        out[self.position] = values
        return out.reshape(*self.shape, *values.shape[1:])


def _checked_normals(normals: ArrayLike) -> np.ndarray:
    array = np.asarray(normals)
    if array.ndim != 3 or array.shape[2] != 3:
        raise ValueError(f"normals: expected an array of shape (H, W, 3), got {array.shape}")
    if array.size == 0:
        raise ValueError(f"normals: the image is empty, shape {array.shape}")
    if array.dtype.kind != "f":
        raise ValueError(
            f"normals: expected floating-point vectors, got {array.dtype}; "
            "convert image values first, for instance 2*value/255 - 1 for 8-bit"
        )
    if array.shape[0] * array.shape[1] >= 2**29:
        raise ValueError(f"normals: {array.shape[:2]} pixels exceed the limit of 2**29; integrate it in tiles")
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _checked_mask(mask: ArrayLike | None, shape: tuple[int, int]) -> np.ndarray:
    if mask is None:
        return np.broadcast_to(np.ones((1, 1), dtype=bool), shape)
    chosen = np.asarray(mask)
    if chosen.shape != shape:
        raise ValueError(f"mask: its shape {chosen.shape} differs from the normals' {shape}; both are (H, W)")
    return np.broadcast_to(chosen.astype(bool), shape)


def _nothing_left(mask: ArrayLike | None, counts: np.ndarray, frame: str, remedy: str) -> str:
    if mask is not None and counts[_OUTSIDE] == counts.sum():
        return "mask: it selects no pixel; pass a mask that is True where normals are valid"
    if counts[_FACES_AWAY]:
        n = counts[_FACES_AWAY]
        return f"normals: no valid pixel is left, {n} face away from the camera in the frame {frame}; {remedy}"
    return (
        "normals: no valid pixel is left; all normals are NaN, infinite or zero, or far from length 1; scale them to it"
    )


def _remedy(normals: np.ndarray, position: np.ndarray, ray: Sequence[np.ndarray]) -> str:
    """What to do about normals that face away at these flat positions: in which frames most face the camera."""
    some = position[:: len(position) // 100_000 + 1]
    v, u = rows_and_columns(some, normals.shape[1])
    n = normals[v, u].astype(np.float64)
    seen = np.stack([part[v, u] for part in ray], axis=-1)
    if 2 * np.count_nonzero(seen[:, 2] < 0) > len(some):
        return "most rays of the camera have z < 0, but z is forward; negate them if they point to the camera"
    better = [k for k, axes in FRAMES.items() if 2 * np.count_nonzero(((n @ axes.T) * seen).sum(-1) < 0) > len(some)]
    if better:
        which = "which" if len(better) == 1 else "one of which"
        return f"most of them face it in {' or '.join(better)}, {which} is probably the frame"
    return "most do so in every frame that has a name; check the camera, and that they are in camera coordinates"


@kernel(parallel_from=2**19)
def _judge(normals, mask, x, y, z, axes, reason, per_row, share=WHOLE):
    """Sort every pixel into valid or a reason why not; count the valid ones of each row."""
    height, width = reason.shape
    for v in portion(height, share):
        count = 0
        for u in range(width):
            if not mask[v, u]:
                reason[v, u] = 1
                continue
            a, b, c = normals[v, u, 0], normals[v, u, 1], normals[v, u, 2]
            size = a * a + b * b + c * c
            if not (size > 1e-12 and size < 1e300):
                reason[v, u] = 2
                continue
            nx = axes[0, 0] * a + axes[0, 1] * b + axes[0, 2] * c
            ny = axes[1, 0] * a + axes[1, 1] * b + axes[1, 2] * c
            nz = axes[2, 0] * a + axes[2, 1] * b + axes[2, 2] * c
            towards = nx * x[v, u] + ny * y[v, u] + nz * z[v, u]
            if towards != towards:
                reason[v, u] = 3
            elif not (towards < 0):
                reason[v, u] = 4
            else:
                reason[v, u] = 0
                count += 1
        per_row[v] = count


@kernel(parallel_from=2**19)
def _compact(normals, axes, reason, start, index, unit, position, share=WHOLE):
    """Number the valid pixels and write their unit normals in the OpenCV frame."""
    height, width = reason.shape
    for v in portion(height, share):
        i = start[v]
        for u in range(width):
            if reason[v, u] != 0:
                index[v, u] = -1
                continue
            a, b, c = normals[v, u, 0], normals[v, u, 1], normals[v, u, 2]
            scale = 1.0 / np.sqrt(np.float64(a) * a + np.float64(b) * b + np.float64(c) * c)
            for k in range(3):
                unit[i, k] = (axes[k, 0] * a + axes[k, 1] * b + axes[k, 2] * c) * scale
            index[v, u] = i
            position[i] = v * width + u
            i += 1


def rows_and_columns(position: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of flat positions (...) in an image so wide; `np.divmod` takes ten times as long.

    >>> [axis.tolist() for axis in rows_and_columns(np.array([2, 7]), 5)]
    [[0, 1], [2, 2]]
    """
    row = position // width
    return row, position - row * width


@kernel(no_cpython_wrapper=True)
def row_and_column(position, width):
    """Row and column of a flat position below 2³¹, for use in kernels: the processor divides whole numbers slowly."""
    row = int((position + 0.5) * (1.0 / width))
    return row, position - row * width


@kernel(parallel_from=2**19)
def _facing(normals, position, x, y, z, out, share=WHOLE):
    """Write n·(x, y, z) of each valid pixel to `out`; `position` lies inside the image of x, y and z."""
    width = x.shape[1]
    for i in portion(len(out), share):
        row, column = row_and_column(position[i], width)
        v, u = np.uint32(row), np.uint32(column)  # unsigned: Numba need not look for negative ones
        out[i] = normals[i, 0] * x[v, u] + normals[i, 1] * y[v, u] + normals[i, 2] * z[v, u]
