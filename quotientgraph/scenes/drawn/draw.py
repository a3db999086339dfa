"""Random scenes: a site drawn from a seed, and a camera drawn to look at it.

The seed alone decides everything, whatever the shape of the image: a finer image shows the same view. The
camera is drawn apart from the site, so a scene forced to another camera shows the same site.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..render import FOV, checked_shape, render
from ..scene import Scene
from .curved_walls import curved
from .figures import figures
from .heaps import heap
from .indoors import closed_room, open_room, shelves, tabletop
from .site import Site
from .stairwells import stairwell
from .streets import street
from .things import Draw
from .view import CAMERAS, Lens, looked_at

_SITES: dict[str, Callable[[Draw], Site]] = {
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
KINDS: tuple[str, ...] = tuple(_SITES)
_TILE = 64  # pixels: there are many small solids


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
        fisheyes of 100 to 165° and orthographic cameras in equal parts.

    Returns
    -------
    Scene
        Its name is the kind with the seed, as in ``"street-17"``. Pixels that see nothing (sky, the edge of
        a fisheye) are outside its mask. Depths are in metres.

    Examples
    --------
    >>> scene = random("tabletop", 3, shape=(60, 80))
    >>> scene.name, bool(scene.mask.mean() > 0.3)
    ('tabletop-3', True)
    """
    if kind not in _SITES:
        raise ValueError(f"kind={kind!r} is not a kind of random scene; use one of {', '.join(KINDS)}")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ValueError(f"seed={seed!r} must be a whole number of at least 0")
    if camera is not None and camera not in CAMERAS:
        raise ValueError(f"camera={camera!r} is not known; use one of {', '.join(CAMERAS)}, or None to draw one")
    shape = checked_shape(shape)
    # One stream of random numbers for the site and one for the view, so that neither depends on the other.
    layout, looking = (np.random.default_rng([part, int(seed), *kind.encode()]) for part in (0, 1))
    site = _SITES[kind](layout)
    lens = Lens.drawn(looking, camera)
    model = looked_at(site, looking, lens)
    normals, mask, depth, seen_by = render(model, shape, lens.camera(shape, model.distance), FOV, tile=_TILE)
    if not mask.any():
        raise ValueError(f"shape={shape}: none of these pixels sees anything of {kind}-{seed}; use more of them")
    return Scene(f"{kind}-{seed}", normals, mask, depth, seen_by, f"Random {kind}, {lens}")
