"""Random scenes: a place drawn from a seed, and a camera drawn to look at it.

The seed alone decides everything, whatever the shape of the image: a finer image shows the same view. The
camera is drawn apart from the place, so a scene forced to another camera shows the same place.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..geometry.camera import Camera, Orthographic, Pinhole, RayMap
from .indoors import closed_room, open_room, shelves, stairwell, tabletop
from .outdoors import heap, street
from .place import Place
from .render import FOV, Solids, View, render
from .rounds import curved, figures
from .scene import Scene
from .solids import Array, Convex
from .things import Draw

_PLACES: dict[str, Callable[[Draw], Place]] = {
    "closed_room": closed_room,
    "open_room": open_room,
    "street": street,
    "heap": heap,
    "stairwell": stairwell,
    "shelves": shelves,
    "figures": figures,
    "tabletop": tabletop,
    "curved": curved,
}
KINDS: tuple[str, ...] = tuple(_PLACES)
CAMERAS = ("pinhole", "fisheye", "orthographic")
_SHARES = (0.7, 0.15, 0.15)
_TRIAL = (27, 36)  # pixels of the small image by which a view is judged
_TRIES = 40


def random(kind: str, seed: int, shape: tuple[int, int] = (300, 400), camera: str | None = None) -> Scene:
    """A random man-made scene with exact normals and depth.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    seed : int
        At least 0. Layout, sizes, number of things, view and camera follow from it alone; see `SPLITS` for
        the seeds that are set aside for tuning, validation and test.
    shape : (height, width)
    camera : None, "pinhole", "fisheye" or "orthographic"
        None draws it too: seven in ten are pinholes of 35 to 90° across the longer side, the rest are
        fisheyes and orthographic cameras in equal parts.

    Returns
    -------
    Scene
        Its name is the kind with the seed, as in ``"street-17"``. Pixels that see nothing (sky, the edge of
        a fisheye) are outside its mask. Depths are metres.

    Examples
    --------
    >>> scene = random("tabletop", 3, shape=(60, 80))
    >>> scene.name, bool(scene.mask.mean() > 0.3)
    ('tabletop-3', True)
    """
    if kind not in _PLACES:
        raise ValueError(f"kind={kind!r} is not a kind of random scene; use one of {', '.join(KINDS)}")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ValueError(f"seed={seed!r} must be a whole number of at least 0")
    if camera is not None and camera not in CAMERAS:
        raise ValueError(f"camera={camera!r} is not known; use one of {', '.join(CAMERAS)}, or None to draw one")
    layout, looking = (np.random.default_rng([part, int(seed), *kind.encode()]) for part in (0, 1))
    place = _PLACES[kind](layout)
    drawn = str(looking.choice(CAMERAS, p=_SHARES))
    camera = camera or drawn
    degrees = looking.uniform(35, 90), looking.uniform(100, 165)
    model = _looked_at(place, looking, camera, degrees)
    lens = _lens(camera, degrees, shape, model.distance)
    normals, mask, depth, seen_by = render(model, shape, lens, FOV, tile=64)
    if not mask.any():
        raise ValueError(f"shape={shape}: none of these pixels sees anything of {kind}-{seed}; use more of them")
    words = {"pinhole": f"pinhole of {degrees[0]:.0f}°", "fisheye": f"fisheye of {degrees[1]:.0f}°"}
    return Scene(f"{kind}-{seed}", normals, mask, depth, seen_by, f"Random {kind}, {words.get(camera, camera)}")


def _lens(camera: str, degrees: tuple[float, float], shape: tuple[int, int], distance: float) -> Camera:
    """The camera itself; both angles are measured across the longer side of the image."""
    longer = max(shape)
    if camera == "pinhole":
        focal = longer / 2 / np.tan(np.radians(degrees[0] / 2))
        return Pinhole(focal, focal, (shape[1] - 1) / 2, (shape[0] - 1) / 2)
    if camera == "fisheye":
        return RayMap.fisheye(degrees[1] * min(shape) / longer, shape)
    return Orthographic(2 * distance * float(np.tan(np.radians(FOV / 2))) / longer)


def _looked_at(place: Place, draw: Draw, camera: str, degrees: tuple[float, float]) -> Solids:
    """The place with an eye and a target, the best of some tries: near nothing, and not before a bare wall."""
    best, most = None, -np.inf
    for _ in range(_TRIES):
        eye, target = draw.uniform(*place.eye), draw.uniform(*place.target)
        width, roll = draw.uniform(*place.width), draw.normal(scale=2.0)
        if camera == "orthographic":
            eye, target = _stepped_back(eye, target, width)
        elif _inside_something(place, eye):
            continue
        model = Solids(place.solids, tuple(eye), tuple(target), roll=roll)
        worth = _worth(model, place.near, camera, degrees)
        if worth > most:
            best, most = model, worth
        if worth >= 1:
            break
    if best is None:
        best = Solids(place.solids, tuple(np.mean(place.eye, axis=0)), tuple(np.mean(place.target, axis=0)))
    return best


def _stepped_back(eye: Array, target: Array, width: float) -> tuple[Array, Array]:
    """Eye and target of an orthographic view `width` wide, at least 15° downwards so as not to look from below."""
    forward = target - eye
    level = np.hypot(forward[0], forward[1])
    forward[2] = min(forward[2], -np.tan(np.radians(15)) * level)
    distance = width / (2 * np.tan(np.radians(FOV / 2)))
    return target - distance * forward / np.linalg.norm(forward), target


def _inside_something(place: Place, eye: Array) -> bool:
    """Whether the eye is in one of the solids, or nearly; rooms, which are seen from within, do not count."""
    for solid in place.solids:
        if np.isfinite(solid.radius) and np.linalg.norm(eye - solid.centre) < solid.radius + 0.1:
            body = getattr(solid, "body", solid)
            if not isinstance(body, Convex) or body.within(eye[:, None])[0] > -0.1:
                return True
    return False


def _worth(model: Solids, near: float, camera: str, degrees: tuple[float, float]) -> float:
    """At least 1 for a good view; otherwise the less the worse it is."""
    normals, mask, depth, seen_by = render(model, _TRIAL, _lens(camera, degrees, _TRIAL, model.distance), FOV)
    middle = tuple(slice(n // 2 - 1, n // 2 + 1) for n in _TRIAL)
    if not mask[middle].all():
        return -1.0
    closest = near if camera == "orthographic" else (depth * np.linalg.norm(seen_by.rays(_TRIAL), axis=-1))[mask].min()
    # Planes, by their normals and offsets: a view should not be of one or two of them alone.
    offset = (normals * seen_by.points(depth)).sum(axis=-1, keepdims=True)
    planes = np.rint(np.concatenate([normals, offset], axis=-1)[mask] * 1e3)
    counts = np.sort(np.unique(planes, axis=0, return_counts=True)[1])[::-1] / mask.size
    good = [
        closest / near,
        mask.mean() / 0.35,
        0.6 / max(counts[0], 1e-9),
        0.85 / max(counts[:2].sum(), 1e-9),
        len(counts) / 8,
    ]
    return float(min(1.0, *good)) if min(good) < 1 else 1.0


__all__ = ["CAMERAS", "KINDS", "random"]
