"""How a random site is looked at: the camera, and an eye and a target that make a good view."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...geometry.camera import Camera, Orthographic, Pinhole, RayMap
from ..render import FOV, Solids, render
from ..solids import Array, Convex
from .site import Site
from .things import Draw

CAMERAS = ("pinhole", "fisheye", "orthographic")
_SHARES = (0.7, 0.15, 0.15)
_HALF = float(np.tan(np.radians(FOV / 2)))
_TRIAL = (27, 36)  # pixels of the small image by which a view is judged
_TRIES = 40


@dataclass(frozen=True)
class Lens:
    """A camera whatever the size of its image; `degrees` is measured across the longer side (not used if orthographic)."""

    kind: str
    degrees: float

    @classmethod
    def drawn(cls, draw: Draw, kind: str | None) -> Lens:
        """A lens of this kind, or of any; what is drawn afterwards does not depend on the kind."""
        any_kind = str(draw.choice(CAMERAS, p=_SHARES))
        kind = kind or any_kind
        across = {"pinhole": draw.uniform(35, 90), "fisheye": draw.uniform(100, 165), "orthographic": 0.0}
        return cls(kind, across[kind])

    def camera(self, shape: tuple[int, int], distance: float) -> Camera:
        """The camera for images of this shape; `distance` from eye to target sets an orthographic one's pixel size."""
        longer = max(shape)
        if self.kind == "pinhole":
            focal = longer / 2 / np.tan(np.radians(self.degrees / 2))
            return Pinhole(focal, focal, (shape[1] - 1) / 2, (shape[0] - 1) / 2)
        if self.kind == "fisheye":
            return RayMap.fisheye(self.degrees * min(shape) / longer, shape)
        return Orthographic(2 * distance * _HALF / longer)

    def __str__(self) -> str:
        return f"{self.kind} of {self.degrees:.0f}°" if self.degrees else self.kind


def looked_at(site: Site, draw: Draw, lens: Lens) -> Solids:
    """The site with an eye and a target: the first good view, or the best of some tries."""
    best, most = None, -np.inf
    for _ in range(_TRIES):
        eye, target = draw.uniform(*site.eye), draw.uniform(*site.target)
        width, roll = draw.uniform(*site.width), draw.normal(scale=2.0)
        if lens.kind == "orthographic":
            eye = _stepped_back(eye, target, width)
        else:
            if site.framed:
                half = np.radians(min(lens.degrees, 100.0) / 2)
                eye = target + np.clip(_HALF / np.tan(half), 0.5, 1.5) * (eye - target)
            if _inside_something(site, eye):
                continue
        model = Solids(site.solids, tuple(eye), tuple(target), roll=roll)
        worth = _worth(model, site.near, lens)
        if worth > most:
            best, most = model, worth
        if worth >= 1:
            break
    if best is None:  # every try was inside something; the middle is as good as any other place
        best = Solids(site.solids, tuple(np.mean(site.eye, axis=0)), tuple(np.mean(site.target, axis=0)))
    return best


def _stepped_back(eye: Array, target: Array, width: float) -> Array:
    """The eye of an orthographic view `width` wide, at least 15° downwards so as not to begin below the floor."""
    forward = target - eye
    forward[2] = min(forward[2], -np.tan(np.radians(15)) * np.hypot(forward[0], forward[1]))
    return target - width / (2 * _HALF) * forward / np.linalg.norm(forward)


def _inside_something(site: Site, eye: Array) -> bool:
    """Whether the eye is in one of the solids, or nearly; rooms, which are seen from within, do not count."""
    for solid in site.solids:
        if np.isfinite(solid.radius) and np.linalg.norm(eye - solid.centre) < solid.radius + 0.1:
            body = getattr(solid, "body", solid)
            if not isinstance(body, Convex) or body.within(eye[:, None])[0] > -0.1:
                return True
    return False


def _worth(model: Solids, near: float, lens: Lens) -> float:
    """1 for a good view; otherwise the less the worse it is.

    A good view sees something in the middle and in at least 35 % of the image, nothing nearer than `near`,
    not more than 60 % of one plane and 85 % of two, and something else than planes or eight of them.
    """
    normals, mask, depth, camera = render(model, _TRIAL, lens.camera(_TRIAL, model.distance), FOV)
    middle = tuple(slice(n // 2 - 1, n // 2 + 1) for n in _TRIAL)
    if not mask[middle].all():
        return -1.0
    closest = near
    if camera.central:
        closest = (depth * np.linalg.norm(camera.rays(_TRIAL), axis=-1))[mask].min()
    offset = (normals * camera.points(depth)).sum(axis=-1, keepdims=True)
    planes = np.rint(np.concatenate([normals, offset], axis=-1)[mask] * 1e3)
    shares = np.sort(np.unique(planes, axis=0, return_counts=True)[1])[::-1] / mask.size
    return float(
        min(1.0, closest / near, mask.mean() / 0.35, 0.6 / shares[0], 0.85 / shares[:2].sum(), len(shares) / 8)
    )
