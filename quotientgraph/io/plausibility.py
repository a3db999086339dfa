"""Compare what a user states about a normal map with what the normals themselves show.

A wrong frame, a wrong camera or normals in world coordinates give a surface that looks like a result, so each clear
contradiction is worth a warning. The thresholds were chosen so that no correctly stated map gives one: the shared
data, the embedded scenes with noise of up to 8°, and the ray-cast real scenes, in all four frames that have a name.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from ..geometry.camera import Camera, Orthographic, Pinhole, RayMap, as_camera
from ..geometry.frames import FRAMES
from .camera_files import k_order
from .conventions import FrameEvidence, detect_frame, frame_axes, frame_name
from .evidence import NormalSample, loop_sums

CONTRADICTION = "the normals contradict"  # how every warning below begins, but for the one on the order of K


@dataclass(frozen=True)
class Thresholds:
    """How clear a contradiction must be."""

    n_at_first: int = 20_000  # a map without a contradiction in this many pixels is not looked at again
    n_samples: int = 60_000
    away: float = 0.04  # a correct map has at most 1 % of its pixels clearly facing away, noise included
    # Cameras whose shares of pixels facing away differ by no more explain it as well as each other.
    alike: float = 0.005
    aspect: float = 0.02  # of width over twice the height, from 1, that rounding gives a whole panorama
    explained: float = 0.25  # another statement explains the facing if it leaves less than this part of it
    loop_ratio: float = 1.8  # noise alone changes the sums around loops by up to 1.4 between cameras
    loop_margin: float = 0.002
    exchanged_ratio: float = 2.0  # a correct map has at most 1.2 times the sums that exchanged axes would give
    exchanged_margin: float = 0.005
    significance: float = 6.0
    fields_of_view: tuple[float, ...] = (35.0, 60.0, 90.0)


_LIMITS = Thresholds()


def check_conventions(
    normals: np.ndarray,
    mask: np.ndarray | None = None,
    camera: Camera | np.ndarray | None = None,
    frame: str = "opengl",
    *,
    frame_is_stated: bool = True,
) -> list[str]:
    """Warnings about a frame or a camera that the normals clearly contradict; mostly an empty list.

    Parameters
    ----------
    normals : (H, W, 3) array
        In the stated frame. They need not have unit length; NaN and 0 are ignored.
    mask : (H, W) array, optional
    camera : Camera or 3×3 matrix, optional
        None is the orthographic camera.
    frame : str
        A name such as "opengl", or directions such as "right,up,viewer".
    frame_is_stated : bool
        False if the frame was found by `detect_frame`, so that it need not be compared again.

    Returns
    -------
    list of str
        Sentences that name what was stated and what fits better.

    Examples
    --------
    >>> from quotientgraph import scenes
    >>> ball = scenes.make("sphere", shape=(60, 80))
    >>> check_conventions(ball.normals, ball.mask, ball.camera, "opencv")
    []
    >>> check_conventions(ball.normals, ball.mask, ball.camera, "opengl")[0][:45]
    'the normals contradict the frame opengl: 100%'
    """
    view = as_camera(camera)
    for n_samples in (_LIMITS.n_at_first, _LIMITS.n_samples):
        texts = _contradictions(normals, mask, view, frame, frame_is_stated, n_samples)
        if not texts:
            break
    return texts


def _contradictions(
    normals: np.ndarray, mask: np.ndarray | None, view: Camera, frame: str, frame_is_stated: bool, n_samples: int
) -> list[str]:
    """What `check_conventions` returns, from about `n_samples` pixels."""
    shape = (normals.shape[0], normals.shape[1])
    texts = _order_of_intrinsics(view, shape) + _aspect_of_panorama(view, shape)
    sample = NormalSample.from_map(normals, mask, view, n_samples)
    if sample.valid.sum() < 16:
        return texts
    evidence = None
    if frame_is_stated:
        frames = dict.fromkeys([frame, *FRAMES])
        evidence = detect_frame(normals, mask, view, frames=frames, sample=sample, away_margin=_LIMITS.away)
    turned = sample.turned(frame_axes(frame))
    text = (
        (_frame(evidence, frame) if evidence is not None else "")
        or (_exchanged(turned, frame) if evidence is not None else "")
        or _camera(turned, view)
        or _world(turned, evidence)
    )
    return [*texts, text] if text else texts


def _order_of_intrinsics(camera: Camera, shape: tuple[int, int]) -> list[str]:
    if not isinstance(camera, Pinhole) or k_order(camera.matrix, shape) != "row-first":
        return []
    return [
        f"camera: the principal point ({camera.cx:g}, {camera.cy:g}) fits an image of {shape[1]}×{shape[0]} only if rows "
        "come first; K is [[fx, 0, cx], [0, fy, cy], [0, 0, 1]] with cx along the width"
    ]


def _aspect_of_panorama(camera: Camera, shape: tuple[int, int]) -> list[str]:
    """A whole panorama has square pixels; one of another aspect is mostly a crop whose part of the sphere was not stated."""
    height, width = shape
    if not isinstance(camera, RayMap) or not camera.spherical or abs(width / (2 * height) - 1) < _LIMITS.aspect:
        return []
    if camera.directions.shape[:2] != shape or not np.array_equal(
        camera.directions, RayMap.equirectangular(shape).directions, equal_nan=True
    ):
        return []
    return [
        f"camera: a panorama of all directions, 360° by 180°, is twice as wide as high, and this one is {width}×{height}; "
        "state its longitude and latitude if it is a part, as in RayMap.equirectangular(shape, latitude=(-60, 60))"
    ]


def _frame(evidence: FrameEvidence, frame: str) -> str:
    """The stated frame against the others that have a name."""
    if not evidence.possible or frame in evidence.possible:
        return ""
    better = [name for name in evidence.possible if name in FRAMES] or list(evidence.possible)
    stated, best = evidence.scores[frame], evidence.scores[better[0]]
    if stated.away > best.away + _LIMITS.away:
        if best.away > _LIMITS.explained * stated.away:
            return ""
        why = f"{stated.away:.0%} of them face away from the camera, against {best.away:.0%}"
    elif np.isnan(
        [stated.residual, stated.outward, stated.limbs]
    ).all():  # a few pixels, as JPEG adds them at an outline
        return ""
    elif stated.residual > best.residual:
        why = f"their sums around loops are {stated.residual:.2g}, against {best.residual:.2g}"
    elif stated.outward < best.outward:
        why = f"at the outline they point outwards by {stated.outward:.2g}, against {best.outward:.2g}"
    else:
        why = f"at inner outlines they point outwards by {stated.limbs:.2g}, against {best.limbs:.2g}"
    return f"{CONTRADICTION} the frame {frame}: {why} in {' or '.join(better)}, which fits better"


def _exchanged(sample: NormalSample, frame: str) -> str:
    """A frame whose x and y are exchanged, or that is turned by 90° in the image; `sample` is in the OpenCV frame."""
    if min(sample.valid.shape) < 3 or not sample.looks_forward:
        return ""
    sums = loop_sums(sample, np.eye(3)).ravel()
    known = np.isfinite(sums)
    if np.count_nonzero(known) < 64 or np.median(sums[known]) < _LIMITS.exchanged_margin:
        return ""
    found = {}
    for signs in product((1.0, -1.0), repeat=2):
        axes = np.array([[0, signs[0], 0], [signs[1], 0, 0], [0, 0, 1.0]])
        other = loop_sums(sample, axes).ravel()
        judged = np.isfinite(sums) & np.isfinite(other)
        if judged.sum() < 64:
            continue
        worse = sums[judged] - other[judged]
        mine, gain, noise = float(sums[judged].mean()), worse.mean(), worse.std() / np.sqrt(judged.sum())
        clear = mine > _LIMITS.exchanged_ratio * (mine - gain) + _LIMITS.exchanged_margin
        if clear and gain > _LIMITS.significance * noise:
            found[frame_name(axes @ frame_axes(frame))] = float(mine - gain), mine
    if not found:
        return ""
    least, mine = min(found.values())
    # An inside-out twin has the same sums without perspective, and nearly the same with it.
    names = " or ".join(repr(name) for name, (sums_of, _) in found.items() if sums_of < 1.5 * least + 0.002)
    return (
        f"{CONTRADICTION} the frame {frame}: their sums around loops are {mine:.2g}, against {least:.2g} with x and y "
        f"exchanged; if they are, state the frame {names}"
    )


def _camera(sample: NormalSample, camera: Camera) -> str:
    """The stated camera against an orthographic one and a few pinhole cameras; `sample` is in the OpenCV frame."""
    others: dict[str, Camera] = {}
    if camera.central:
        others["an orthographic camera"] = Orthographic()
    for degrees in _LIMITS.fields_of_view:
        others[f"a perspective camera (a field of view of about {degrees:g}°)"] = Pinhole.from_fov(
            degrees, sample.shape
        )
    stated = "orthographic camera" if not camera.central else "perspective of the camera"
    identity = np.eye(3)
    samples = {name: sample.seen_by(other) for name, other in others.items()}
    away = sample.away(identity)
    if away > _LIMITS.away:
        shares = {name: seen.away(identity) for name, seen in samples.items()}
        best = min(shares, key=lambda name: shares[name])
        if shares[best] < min(_LIMITS.explained * away, 0.02):
            alike = [name for name in shares if shares[name] <= shares[best] + _LIMITS.alike]
            which = best if len(alike) == 1 else "a perspective camera, of a field of view that this does not tell"
            if len(alike) > 1 and "an orthographic camera" in alike:
                which = "another camera, which this does not tell"
            return f"{CONTRADICTION} the {stated}: {away:.0%} of them face away, against {shares[best]:.0%} for {which}"
    if min(sample.valid.shape) < 3:
        return ""
    sums = loop_sums(sample, identity)
    for name, seen in samples.items():
        worse = (sums - loop_sums(seen, identity)).ravel()
        judged = np.isfinite(worse)
        if judged.sum() < 64:
            continue
        mine = float(sums.ravel()[judged].mean())
        gain, noise = worse[judged].mean(), worse[judged].std() / np.sqrt(judged.sum())
        theirs = mine - float(gain)
        if mine > _LIMITS.loop_ratio * theirs + _LIMITS.loop_margin and gain > _LIMITS.significance * noise:
            return (
                f"{CONTRADICTION} the {stated}: their sums around loops are {mine:.2g}, against {theirs:.2g} for {name}"
            )
    return ""


def _world(sample: NormalSample, evidence: FrameEvidence | None) -> str:
    """Normals that face the camera in no frame, but would after a rotation, are in world coordinates."""
    away = sample.away(np.eye(3))
    if away < _LIMITS.away:
        return ""
    if evidence is not None and min(score.away for score in evidence.scores.values()) < _LIMITS.explained * away:
        return ""
    n = sample.normals[sample.valid]
    ray = np.stack([part[sample.valid] for part in (sample.x, sample.y, sample.z)], axis=-1)
    ray /= np.linalg.norm(ray, axis=-1, keepdims=True)
    # The rotation that turns the normals most directly against their rays (orthogonal Procrustes problem).
    u, _, v = np.linalg.svd(-(ray.T @ n))
    turned = n @ (u @ np.diag([1, 1, np.linalg.det(u @ v)]) @ v).T
    rotated = float(((turned * ray).sum(axis=-1) > 0.05).mean())
    if rotated < _LIMITS.explained * away:
        return (
            f"{CONTRADICTION} every frame of the camera: {away:.0%} of them face away, but only {rotated:.0%} after a "
            "rotation; they are probably in world coordinates, so multiply them by the rotation from world to camera"
        )
    return (
        f"{CONTRADICTION} the frame or the camera: {away:.0%} of them face away; check both, and that "
        "the normals are in camera coordinates rather than world coordinates"
    )
