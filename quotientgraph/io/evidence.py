"""Measurements on a normal map that tell one frame from another; `conventions.detect_frame` weighs them.

Frames are given as a dictionary from their names to the signed permutations that take a normal to the OpenCV frame.
Each function `by_…` returns the names of the frames that remain possible, and the score of each frame. Where it cannot
judge, all frames remain and there are no scores.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..geometry.camera import Camera
from ..geometry.frames import FRAMES

Frames = dict[str, np.ndarray]

# How much evidence a decision needs; tests/test_io_conventions.py shows the margins on real data.
RESIDUAL_RATIO, SIGNIFICANCE = 1.15, 5.0
USUAL_RATIO = 2.0  # how much worse the best frame that has a name must be to lose to one that has none
TWIN_RATIO, TWIN_MARGIN = 2.0, 0.002  # more than the limbs of a ball add to the sums
OUTWARD, OUTWARD_MARGIN, MIN_TILT, MIN_BORDER = 0.35, 0.3, 0.4, 30
SMALLEST_OUTSIDE = 25  # pixels: a smaller region is a hole and no outside
MAX_LEAN = 0.5
LIMB, MIN_LIMB = 0.5, 40
SAME_ANGLE = 0.5  # degrees of mean difference below which two frames are the same for this map
SAMPLES = 400_000
LOOP = 4  # pixels along the side of a loop: averages the rounding of 8-bit files


def change_axes(normals: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Multiply normals by a signed permutation, without the rounding and the threads of a matrix product."""
    order = np.abs(axes).argmax(axis=1)
    return normals[..., order] * axes[np.arange(3), order].astype(normals.dtype)


@dataclass(frozen=True)
class NormalSample:
    """Every k-th pixel of a normal map, cropped to the valid ones.

    Attributes
    ----------
    normals : (h, w, 3) float64
        Unit normals in the frame of the file; 0 where invalid.
    valid : (h, w) bool
    x, y, z : (h, w) float64
        Rays, with z = 1 unless the camera sees all around.
    focal : float
        Pixels per unit of slope.
    central : bool
        False for an orthographic camera.
    shape : (int, int)
        Of the whole map.
    taken : (slice, slice)
        Rows and columns of the map that were taken.
    loops : dict
        Sums around loops that were found already, by frame; see `loop_sums`.
    """

    normals: np.ndarray
    valid: np.ndarray
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    focal: float
    central: bool
    shape: tuple[int, int]
    taken: tuple[slice, slice]
    loops: dict[bytes, np.ndarray] = field(init=False, default_factory=dict, repr=False)

    @classmethod
    def from_map(
        cls, normals: np.ndarray, mask: np.ndarray | None, camera: Camera, n_samples: int = SAMPLES
    ) -> NormalSample:
        """Take about `n_samples` pixels, evenly spaced."""
        shape = (normals.shape[0], normals.shape[1])
        rows, columns = (slice(0, n) for n in shape)
        if mask is not None and np.any(mask):  # the pixels are taken where there may be some
            rows, columns = (_span(np.any(mask, axis=axis)) for axis in (1, 0))
        area = (rows.stop - rows.start) * (columns.stop - columns.start)
        step = max(1, int(np.ceil(np.sqrt(area / n_samples))))
        thin = (slice(rows.start, rows.stop, step), slice(columns.start, columns.stop, step))
        n = np.asarray(normals[thin], dtype=np.float64)
        size = np.linalg.norm(n, axis=-1)
        x, y, z = (part[thin] for part in camera.coordinates(shape))
        valid = np.isfinite(size) & (size > 1e-6) & np.isfinite(x + y)
        if mask is not None:
            valid &= np.asarray(mask)[thin].astype(bool)
        used = _span(valid.any(axis=1)), _span(valid.any(axis=0))
        n, size, valid, x, y, z = n[used], size[used], valid[used], x[used], y[used], z[used]
        n = np.where(valid[..., None], n / np.where(valid, size, 1)[..., None], 0.0)
        focal = _typical(camera.focal(shape)) / step
        taken = _within(thin[0], used[0]), _within(thin[1], used[1])
        return cls(n, valid, x, y, z, focal, camera.central, shape, taken)

    def seen_by(self, camera: Camera) -> NormalSample:
        """The same pixels with the rays of another camera, which has one for each of them."""
        x, y, z = (part[self.taken] for part in camera.coordinates(self.shape))
        focal = _typical(camera.focal(self.shape)) / self.taken[0].step
        return replace(self, x=x, y=y, z=z, focal=focal, central=camera.central)

    @property
    def looks_forward(self) -> bool:
        """Whether x and y of a normal are right and down in the image, which they are not all around a panorama."""
        return bool((self.z[self.valid] > 0).all())

    def change_axes(self, axes: np.ndarray) -> np.ndarray:
        """The normals in another frame."""
        return change_axes(self.normals, axes)

    def turned(self, axes: np.ndarray) -> NormalSample:
        """The same pixels with their normals in another frame."""
        out = replace(self, normals=self.change_axes(axes))
        if axes.tobytes() in self.loops:
            out.loops[np.eye(3).tobytes()] = self.loops[axes.tobytes()]
        return out

    def parts(self, axes: np.ndarray) -> list[np.ndarray]:
        """The three components of the normals in another frame, each an (h, w) array."""
        order = np.abs(axes).argmax(axis=1)
        return [self.normals[..., k] * axes[row, k] for row, k in enumerate(order)]

    def towards(self, n: list[np.ndarray]) -> np.ndarray:
        """n·ray of each pixel for the three components of n, negative where the surface faces the camera."""
        return n[0] * self.x + n[1] * self.y + n[2] * self.z

    def away(self, axes: np.ndarray) -> float:
        """The share of the pixels that clearly face away. A few degrees beyond grazing are attributed to noise."""
        return float((self.towards(self.parts(axes)) > 0.05)[self.valid].mean())

    def same(self, frames: Frames) -> bool:
        """Whether this map has the same normals in all of these frames."""
        n = self.normals[self.valid]
        first, *others = (change_axes(n, axes) for axes in frames.values())
        for other in others:
            chord = np.linalg.norm(other - first, axis=-1)
            if np.degrees(chord.mean()) > SAME_ANGLE:
                return False
        return True


def _typical(focal: float | np.ndarray) -> float:
    """The median of a focal length that may vary over the image."""
    return float(focal) if np.ndim(focal) == 0 else float(np.nanmedian(focal))


def _span(used: np.ndarray) -> slice:
    """The slice from the first to the last True."""
    where = np.flatnonzero(used)
    return slice(where[0], where[-1] + 1) if len(where) else slice(0, 0)


def _within(whole: slice, part: slice) -> slice:
    """The slice of an array that is the slice `part` of its slice `whole`."""
    return slice(whole.start + part.start * whole.step, whole.start + part.stop * whole.step, whole.step)


def loop_sums(sample: NormalSample, axes: np.ndarray) -> np.ndarray:
    """|Sum of the planar model's jumps| around square loops with sides of LOOP pixels, as a slope; NaN if invalid.

    Several judgements ask for the sums of one frame, so the sample keeps them.
    """
    key = axes.tobytes()
    if key not in sample.loops:
        sample.loops[key] = _loop_sums(sample, axes)
    return sample.loops[key]


def _loop_sums(sample: NormalSample, axes: np.ndarray) -> np.ndarray:
    n = sample.parts(axes)
    towards = sample.towards(n)
    bad = ~sample.valid | (towards > -0.2)  # the sums are inexact where the view is grazing
    if sample.central:
        right = _jump(sample, n, towards, np.s_[:, :-1], np.s_[:, 1:])
        down = _jump(sample, n, towards, np.s_[:-1, :], np.s_[1:, :])
    else:
        towards = np.where(bad, -1.0, towards)
        p, q = -n[0] / towards, -n[1] / towards
        right, down = (p[:, :-1] + p[:, 1:]) / 2, (q[:-1] + q[1:]) / 2
    with np.errstate(invalid="ignore"):  # a plane seen edge on has an infinite jump
        curl = right[:-1] + down[:, 1:] - right[1:] - down[:, :-1]
    curl[bad[:-1, :-1] | bad[1:, :-1] | bad[:-1, 1:] | bad[1:, 1:]] = np.nan
    side = min(LOOP, *curl.shape)
    height, width = (n // side * side for n in curl.shape)
    blocks = curl[:height, :width].reshape(height // side, side, width // side, side)
    return np.minimum(
        np.abs(blocks.sum(axis=(1, 3)) / side), 0.1
    )  # limited, so that a jump of depth does not outweigh the rest


def _jump(sample: NormalSample, n: list[np.ndarray], towards: np.ndarray, a: tuple, b: tuple) -> np.ndarray:
    """φ_b − φ_a of neighbours whose planes meet on the ray halfway between them, in pixels."""
    rays = sample.x, sample.y, sample.z
    # n·(ray_a + ray_b) for the normals of a and of b.
    at_a, at_b = (
        towards[here] + (n[0][here] * rays[0][there] + n[1][here] * rays[1][there] + n[2][here] * rays[2][there])
        for here, there in ((a, b), (b, a))
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return sample.focal * np.log(towards[a] * at_b / (at_a * towards[b]))


def by_loops(sample: NormalSample, frames: Frames, twins: bool = False) -> tuple[list[str], dict[str, float]]:
    """Judge by the sums around loops. The inside-out twin of the best frame is judged only with `twins`, and strictly."""
    if min(sample.valid.shape) < 3:
        return list(frames), {}
    loops = {name: loop_sums(sample, axes) for name, axes in frames.items()}
    judged = np.isfinite(sum(loops.values())).ravel()
    if judged.sum() < 16:
        return list(frames), {}
    sums = {name: loop.ravel()[judged] for name, loop in loops.items()}
    values = {name: float(loop.mean()) for name, loop in sums.items()}
    best = min(values, key=lambda name: values[name])
    # Hardly anybody writes normals in a frame without a name, so only overwhelming evidence rules out all the others.
    best_usual = min((name for name in frames if name in FRAMES), key=lambda name: values[name], default=best)
    twin = np.diag([-1.0, -1.0, 1.0]) @ frames[best]
    kept = []
    for name, axes in frames.items():
        worse = sums[name] - sums[best]
        noise = worse.std() / np.sqrt(len(worse))
        limit = RESIDUAL_RATIO * values[best] + 1e-9
        if np.array_equal(axes, twin):
            limit = TWIN_RATIO * values[best] + TWIN_MARGIN if twins else np.inf
        if name == best_usual:
            limit = max(limit, USUAL_RATIO * values[best])
        if values[name] <= limit or worse.mean() <= SIGNIFICANCE * noise:
            kept.append(name)
    return kept, values


def by_silhouette(sample: NormalSample, frames: Frames) -> tuple[list[str], dict[str, float]]:
    """Judge by the border of the mask, where normals of a closed object point outwards."""
    if not sample.looks_forward or np.count_nonzero(~sample.valid) < SMALLEST_OUTSIDE:
        return list(frames), {}
    from scipy import ndimage  # it takes longer to load than all the rest takes

    # Neither the frame of the image, nor the edge of a rectangular crop, nor a small hole is an outline.
    outside = ndimage.binary_opening(~sample.valid, iterations=3)
    border = sample.valid & ndimage.binary_dilation(outside, iterations=2)
    if border.sum() < MIN_BORDER or min(border.shape) < 3:
        return list(frames), {}
    down, right = np.gradient(ndimage.gaussian_filter(outside.astype(np.float64), 3, mode="nearest"))
    out = np.stack([right[border], down[border]], axis=-1)
    out /= np.maximum(np.linalg.norm(out, axis=-1, keepdims=True), 1e-12)
    if np.linalg.norm(out.mean(axis=0)) > MAX_LEAN:  # a border on one side only is the end of a wall, no outline
        return list(frames), {}
    values = {}
    for name, axes in frames.items():
        tilt = change_axes(sample.normals[border], axes)[:, :2]
        length = np.linalg.norm(tilt, axis=-1)
        if length.mean() < MIN_TILT:  # the mask cuts through a surface, it does not follow its outline
            return list(frames), {}
        values[name] = float((tilt * out).sum() / length.sum())
    return _leaders(values, OUTWARD, OUTWARD_MARGIN), values


def by_limbs(sample: NormalSample, frames: Frames) -> tuple[list[str], dict[str, float]]:
    """Judge by steep surfaces that end at a jump of the normal, across which they point."""
    if not sample.looks_forward:
        return list(frames), {}
    values = {}
    for name, axes in frames.items():
        n = sample.change_axes(axes)
        votes = [_limb_votes(n, sample.valid, np.s_[:, :-1], np.s_[:, 1:], 0)]
        votes.append(_limb_votes(n, sample.valid, np.s_[:-1, :], np.s_[1:, :], 1))
        vote = np.concatenate(votes)
        if len(vote) < MIN_LIMB:
            return list(frames), {}
        values[name] = float(vote.mean())
    return _leaders(values, LIMB, LIMB), values


def _limb_votes(n: np.ndarray, valid: np.ndarray, a: tuple, b: tuple, axis: int) -> np.ndarray:
    """For each steep pixel beside a jump of 30°: +1 if its normal points across the jump, −1 if it points back."""
    jump = valid[a] & valid[b] & ((n[a] * n[b]).sum(axis=-1) < np.cos(np.radians(30)))
    votes = []
    for steep, other, ahead in ((n[a][jump], n[b][jump], 1), (n[b][jump], n[a][jump], -1)):
        z, tilt = np.abs(steep[:, 2]), np.linalg.norm(steep[:, :2], axis=-1)
        chosen = (z < 0.35) & (z < np.abs(other[:, 2]) - 0.2) & (np.abs(steep[:, axis]) > 0.5 * tilt)
        votes.append(np.sign(ahead * steep[chosen, axis]))
    return np.concatenate(votes)


def _leaders(values: dict[str, float], least: float, margin: float) -> list[str]:
    """The names within `margin` of the best value; all of them if even the best is below `least`."""
    best = max(values.values())
    return [name for name in values if values[name] > best - margin or best < least]
