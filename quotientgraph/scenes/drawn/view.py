"""How a random site is looked at: the camera, and an eye and a target that make a good view."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from ...geometry.camera import Camera, Orthographic, Pinhole, RayMap
from ..hollow_solids import Interior
from ..render import FOV, Solids, render
from ..solids import Array, Convex
from .site import Site
from .things import Draw

CAMERAS = ("pinhole", "fisheye", "orthographic")
_SHARES = (0.7, 0.15, 0.15)
_HALF = float(np.tan(np.radians(FOV / 2)))
_TRIAL = (24, 32)  # pixels of the small image by which a view is judged first
_CLOSER = (60, 80)  # and of the one by which a view that passed is judged again
_TRIES = 24  # places for the camera
_LOOKS = 4  # of them judged again, at most


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
    best, most, looks = None, -np.inf, 0
    for _ in range(_TRIES):
        eye, target = draw.uniform(*site.eye), draw.uniform(*site.target)
        width, roll = draw.uniform(*site.width), draw.normal(scale=2.0)
        if lens.kind == "orthographic":
            eye = _stepped_back(eye, target, width)
        elif site.framed:
            eye = _stepped_up(site, eye, target, lens.degrees)
        if lens.kind != "orthographic" and not _free(site, eye):
            continue
        model = Solids(site.solids, tuple(eye), tuple(target), roll=roll)
        worth = _worth(model, site.near, lens)
        if worth >= 1 and looks < _LOOKS:
            looks += 1
            worth = 1 + min(_hangs_together(model, lens) / 0.85, 1.0)
        if worth > most:
            best, most = model, worth
        if worth >= 2 or looks == _LOOKS:
            break
    if best is None:  # every try was inside something; the middle is as good as any other place
        best = Solids(site.solids, tuple(np.mean(site.eye, axis=0)), tuple(np.mean(site.target, axis=0)))
    return best


def _stepped_back(eye: Array, target: Array, width: float) -> Array:
    """The eye of an orthographic view `width` wide, at least 15° downwards so as not to begin below the floor."""
    forward = target - eye
    forward[2] = min(forward[2], -np.tan(np.radians(15)) * np.hypot(forward[0], forward[1]))
    return target - width / (2 * _HALF) * forward / np.linalg.norm(forward)


def _stepped_up(site: Site, eye: Array, target: Array, degrees: float) -> Array:
    """The eye from where a view of these degrees shows as much as one of 50°, or nearer if that is behind a wall."""
    stretch = np.clip(_HALF / np.tan(np.radians(min(degrees, 100.0) / 2)), 0.5, 1.5)
    while stretch > 0.5 and not _free(site, target + stretch * (eye - target)):
        stretch *= 0.9
    return target + stretch * (eye - target)


def _free(site: Site, eye: Array) -> bool:
    """Whether the eye is in no solid, nor nearly, and inside the room if there is one."""
    at = eye[:, None]
    for solid in site.solids:
        if isinstance(solid, Interior):
            if max(cell.within(at)[0] for cell in solid.cells) < 0.1:
                return False
        elif np.linalg.norm(eye - solid.centre) < solid.radius + 0.1:
            body = getattr(solid, "body", solid)
            if not isinstance(body, Convex) or body.within(at)[0] > -0.1:
                return False
    return True


def _worth(model: Solids, near: float, lens: Lens) -> float:
    """1 for a view that looks well; otherwise the less the worse it is.

    It sees something in the middle and in at least 35 % of the image, nothing nearer than `near`, not more
    than 60 % of one plane and 85 % of two, and at least eight planes or something else than planes.
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
    good = closest / near, mask.mean() / 0.35, 0.6 / shares[0], 0.85 / shares[:2].sum(), len(shares) / 8
    return float(min(1.0, *good))


def _hangs_together(model: Solids, lens: Lens) -> float:
    """Share of the view in one piece: where no contact in the image leads, normals do not determine the depth."""
    return in_one_piece(*render(model, _CLOSER, lens.camera(_CLOSER, model.distance), FOV))


def in_one_piece(normals: Array, mask: Array, depth: Array, camera: Camera) -> float:
    """Share of the pixels in the largest piece whose pixels are joined by surfaces that touch.

    Two neighbours are joined if a crease somewhere between them explains the depths of both: the step of the
    potential lies between what the plane of the one and the plane of the other predict. Surfaces seen at less
    than 4° explain anything and join nothing.
    """
    shape, rays = mask.shape, camera.rays(mask.shape)
    potential = camera.potential(depth)
    steep = np.abs((normals * rays).sum(axis=-1)) > 0.07 * np.linalg.norm(rays, axis=-1)
    pixel = 1 / camera.focal(shape)
    tails, heads = [], []
    number = np.arange(mask.size).reshape(shape)
    for down, right in ((0, 1), (1, 0)):
        a = slice(0, shape[0] - down), slice(0, shape[1] - right)
        b = slice(down, None), slice(right, None)
        with np.errstate(invalid="ignore", divide="ignore"):
            if camera.central:
                predicted = [np.log((n * rays[a]).sum(-1) / (n * rays[b]).sum(-1)) for n in (normals[a], normals[b])]
            else:
                predicted = [-(n[..., 0] * right + n[..., 1] * down) / n[..., 2] for n in (normals[a], normals[b])]
            step, spare = potential[b] - potential[a], 0.2 * np.broadcast_to(pixel, shape)[a]
            joined = (step > np.minimum(*predicted) - spare) & (step < np.maximum(*predicted) + spare)
        joined &= steep[a] & steep[b]  # pixels outside the mask are NaN and join nothing
        tails.append(number[a][joined])
        heads.append(number[b][joined])
    ends = np.concatenate(tails), np.concatenate(heads)
    graph = coo_matrix((np.ones(len(ends[0])), ends), shape=(mask.size, mask.size))
    piece = connected_components(graph, directed=False)[1].reshape(shape)
    return float(np.bincount(piece[mask]).max() / mask.sum())
