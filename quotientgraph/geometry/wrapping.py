"""`Wrap`: which borders of an image meet each other, so that its pixels have neighbours beyond them.

A texture that tiles goes on at its opposite border. A panorama goes on from its last column to its first, and over each
pole from one pixel to the one half a turn away: all pixels of the top row of a full panorama meet at the pole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laplacians.core.jit import kernel

from .camera import Camera, RayMap, Shape

WRAPS = ("auto", "none", "x", "y", "both")
_SMALLEST = 3  # pixels around; with fewer, both neighbours of a pixel would be the same one
_SMALLEST_POLE = 8  # columns from which on the rows at the poles are joined across
_N_LINES = 64  # rows or columns that rays are judged by
_SEAM = 1.5  # how many usual steps between neighbouring rays the step across the seam may be


@dataclass(frozen=True)
class Wrap:
    """Which borders of an image meet.

    Attributes
    ----------
    x, y : bool
        Whether the last column goes on in the first one, and the last row in the first one.
    top, bottom : bool
        Whether the pixels of the first or the last row meet at a pole: one and that half a turn away are neighbours.
    """

    x: bool = False
    y: bool = False
    top: bool = False
    bottom: bool = False

    @classmethod
    def from_name(cls, name: str, camera: Camera, shape: Shape) -> Wrap:
        """What a user asks for, checked against the camera.

        Parameters
        ----------
        name : "auto", "none", "x", "y" or "both"
            "auto" is what the camera says: a ray map whose last column goes on in its first one wraps in x, everything
            else does not wrap.
        camera : Camera
        shape : (height, width)

        Examples
        --------
        >>> from quotientgraph import Orthographic, RayMap
        >>> Wrap.from_name("both", Orthographic(), (64, 64))
        Wrap(x=True, y=True, top=False, bottom=False)
        >>> Wrap.from_name("auto", RayMap.equirectangular((32, 64)), (32, 64))
        Wrap(x=True, y=False, top=True, bottom=True)
        """
        if name not in WRAPS:
            raise ValueError(f"wrap={name!r} is not known; use one of {', '.join(map(repr, WRAPS))}")
        if name == "none" or (name == "auto" and not isinstance(camera, RayMap)):
            return cls()
        if not camera.central:
            return cls._checked(name, shape)
        if not isinstance(camera, RayMap):
            raise ValueError(
                f"wrap={name!r}: a pinhole camera does not see all around, so opposite borders of its image never meet; "
                'use wrap="none", or Orthographic() for a texture and RayMap.equirectangular(shape) for a panorama'
            )
        camera.slopes(shape)  # raises if the sizes do not agree
        rays = camera.directions
        around = closes(rays)
        if name == "auto":
            if not around:
                return cls()
            name = "x"
        found = cls._checked(name, shape)
        if (found.x and not around) or (found.y and not closes(rays.swapaxes(0, 1))):
            raise ValueError(
                f"wrap={name!r}: the rays at opposite borders of the ray map are farther apart than neighbours; "
                'use wrap="none", or a ray map that goes all around'
            )
        return found.with_poles(rays[0], rays[-1], rays[:, :: max(1, rays.shape[1] // _N_LINES)], shape)

    @classmethod
    def _checked(cls, name: str, shape: Shape) -> Wrap:
        out = cls(name in ("x", "both"), name in ("y", "both"))
        for wrapped, n, what in ((out.x, shape[1], "wide"), (out.y, shape[0], "high")):
            if wrapped and n < _SMALLEST:
                raise ValueError(
                    f'wrap={name!r}: an image that wraps is at least {_SMALLEST} pixels {what}, got {n}; use wrap="none"'
                )
        return out

    def with_poles(self, first: np.ndarray, last: np.ndarray, lines: np.ndarray, shape: Shape) -> Wrap:
        """The same with the poles of rays: (W, 3) are those of the first and last row, (H, n, 3) those of some columns."""
        poles = self.x and not self.y and shape[1] % 2 == 0 and shape[1] >= _SMALLEST_POLE and shape[0] > 1
        return Wrap(self.x, self.y, poles and _is_pole(first, lines), poles and _is_pole(last, lines))

    def __bool__(self) -> bool:
        return self.x or self.y

    @property
    def flags(self) -> np.ndarray:
        """(4,) bool: x, y, top, bottom, as kernels take them."""
        return np.array([self.x, self.y, self.top, self.bottom])

    def steps(self, shape: Shape, tail: np.ndarray, head: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(dv, du) from flat positions `tail` to their neighbours `head`, the short way around; int32.

        Across a pole it is the step in the image, half a turn.
        """
        out = []
        for n, wrapped, a, b in (
            (shape[0], self.y, tail // np.int32(shape[1]), head // np.int32(shape[1])),
            (shape[1], self.x, tail % np.int32(shape[1]), head % np.int32(shape[1])),
        ):
            step = (b - a).astype(np.int32)
            if wrapped:
                step[step == n - 1] = -1
                step[step == 1 - n] = 1
            out.append(step)
        return out[0], out[1]

    def padded(self, shape: Shape) -> Shape:
        """The shape of the image with its first row and column repeated at the end where it wraps."""
        return shape[0] + int(self.y), shape[1] + int(self.x)

    def padded_edges(self, shape: Shape, tail: np.ndarray, head: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The edges, given by flat positions, in the padded image, each as often as it is there; not those across a pole."""
        (height, width), across = self.padded(shape), self.padded(shape)[1]
        down, right = self.steps(shape, tail, head)
        near = np.abs(right) <= 1
        v, u = (part[near].astype(np.int64) for part in np.divmod(tail, shape[1]))
        down, right = down[near], right[near]
        out = []
        for below in (0, shape[0]) if self.y else (0,):
            for beside in (0, shape[1]) if self.x else (0,):
                va, ua = v + below, u + beside
                vb, ub = va + down, ua + right
                inside = (np.minimum(va, vb) >= 0) & (np.maximum(va, vb) < height)
                inside &= (np.minimum(ua, ub) >= 0) & (np.maximum(ua, ub) < width)
                out.append(np.stack([va * across + ua, vb * across + ub])[:, inside])
        tails, heads = np.concatenate(out, axis=1)
        return tails, heads

    def folded(self, shape: Shape, position: np.ndarray) -> np.ndarray:
        """Flat positions in the image, int32, of flat positions in the padded one."""
        v, u = np.divmod(position, self.padded(shape)[1])
        return (v % shape[0] * shape[1] + u % shape[1]).astype(np.int32)


def around_border(shape: Shape, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether pairs of flat positions can be neighbours in an image that wraps only: across a seam, or across a pole."""
    height, width = shape
    (va, ua), (vb, ub) = np.divmod(a, width), np.divmod(b, width)
    dv, du = np.abs(va - vb), np.abs(ua - ub)
    beside = (du == width - 1) & (width > 2) & ((dv <= 1) | (dv == height - 1))
    below = (dv == height - 1) & (height > 2) & ((du <= 1) | (du == width - 1))
    pole = (dv == 0) & ((va == 0) | (va == height - 1)) & (np.abs(2 * du - width) <= 2) & (width >= _SMALLEST_POLE)
    return beside | below | pole


def closes(rays: np.ndarray) -> bool:
    """Whether the last column of rays (H, W, 3) goes on in the first one, as judged in most of some rows."""
    if rays.shape[1] < _SMALLEST:
        return False
    unit = _unit(rays[:: max(1, len(rays) // _N_LINES)])
    seam = np.linalg.norm(unit[:, -1] - unit[:, 0], axis=-1)
    judged = np.isfinite(seam)
    if not judged.any():
        return False
    step = np.linalg.norm(np.diff(unit[judged], axis=1), axis=-1)
    # The largest step of each row: where the faces of a cube are laid out as a panorama, many steps are zero.
    largest = np.fmax.reduce(step, axis=1, initial=0.0)
    return bool(np.mean((largest > 0) & (seam[judged] <= _SEAM * largest)) > 0.9)


def _is_pole(row: np.ndarray, lines: np.ndarray) -> bool:
    """Whether all rays of a row surround one point, nearer to it than the usual step between rows in some columns."""
    first = _unit(row)
    step = np.linalg.norm(np.diff(_unit(lines), axis=0), axis=-1)
    step = step[step > 0]
    if not np.isfinite(first).all() or not len(step):
        return False
    middle = first.mean(axis=0)
    length = np.linalg.norm(middle)
    if length < 0.5:
        return False
    away = np.linalg.norm(first - middle / length, axis=-1)
    return bool(away.max() <= np.median(step))


def _unit(rays: np.ndarray) -> np.ndarray:
    """The rays with length 1, whatever their size; NaN for those that have none."""
    with np.errstate(invalid="ignore", divide="ignore", under="ignore"):
        scaled = rays / np.abs(rays).max(axis=-1, keepdims=True)
        unit = scaled / np.linalg.norm(scaled, axis=-1, keepdims=True)
    return np.where(np.isfinite(unit).all(axis=-1, keepdims=True), unit, np.nan)


@kernel(no_cpython_wrapper=True)
def neighbour(index, v, u, dv, du, flags):
    """The pixel at (v + dv, u + du), the image going on as `Wrap.flags` says; −1 where there is none."""
    height, width = index.shape
    v += dv
    u += du
    if flags[0]:
        u %= width
    if flags[1]:
        v %= height
    elif v < 0 and flags[2]:
        v, u = -1 - v, (u + width // 2) % width
    elif v >= height and flags[3]:
        v, u = 2 * height - 1 - v, (u + width // 2) % width
    return index[v, u] if 0 <= v < height and 0 <= u < width else -1


@kernel(no_cpython_wrapper=True)
def pixel_beyond(index, a, b, flags):
    """The pixel beyond b as seen from its neighbour a, both given as (row, column); −1 where there is none."""
    height, width = index.shape
    v, u = b
    dv, du = v - a[0], u - a[1]
    if flags[0] and (du > 1 or du < -1):
        if du == width - 1:
            du = -1
        elif du == 1 - width:
            du = 1
        else:  # across a pole: on, away from it
            du = 0
            dv = 1 if v == 0 else -1
    if flags[1]:
        if dv == height - 1:
            dv = -1
        elif dv == 1 - height:
            dv = 1
    return neighbour(index, v, u, dv, du, flags)
