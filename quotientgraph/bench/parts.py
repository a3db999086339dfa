"""Parts of stored views: more cases from few scenes.

A handful of real views says little about real views in general, and less after methods were compared on them. A part of a
view is another case: it has other components and other borders, and lacks what held things in their places outside it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..geometry.camera import Pinhole
from ..scenes import Scene

_SIZE = 0.62  # of the height and of the width of the view
# name -> where between the upper left (0) and the lower right (1) a part lies, as (down, across)
_PLACES = {
    "upper_left": (0, 0),
    "upper_right": (0, 1),
    "lower_left": (1, 0),
    "lower_right": (1, 1),
    "middle": (0.5, 0.5),
}
PARTS: tuple[str, ...] = (*_PLACES, "coarse")


def part_of(scene: Scene, name: str) -> Scene:
    """A part of a view through a pinhole.

    Parameters
    ----------
    scene : Scene
    name : str
        One of `PARTS`; "coarse" is every second pixel in both directions.

    Returns
    -------
    Scene

    Examples
    --------
    >>> from quotientgraph import scenes
    >>> part_of(scenes.make("boxes", shape=(60, 80)), "middle").shape
    (37, 49)
    """
    if name not in PARTS:
        raise ValueError(f"part={name!r} is not known; use one of {', '.join(PARTS)}")
    if not isinstance(scene.camera, Pinhole):
        raise ValueError(f"part={name!r}: parts are made of views through a pinhole, got {scene.camera!r}")
    if name == "coarse":
        top = left = 0
        rows, columns, step = slice(None, None, 2), slice(None, None, 2), 2
    else:
        size = [int(_SIZE * n) for n in scene.shape]
        top, left = (int(at * (n - of)) for at, n, of in zip(_PLACES[name], scene.shape, size, strict=True))
        rows, columns, step = slice(top, top + size[0]), slice(left, left + size[1]), 1
    seen = scene.camera
    camera = Pinhole(seen.fx / step, seen.fy / step, (seen.cx - left) / step, (seen.cy - top) / step)
    arrays = (np.ascontiguousarray(of[rows, columns]) for of in (scene.normals, scene.mask, scene.depth))
    normals, mask, depth = arrays
    return replace(scene, name=f"{scene.name} {name}", normals=normals, mask=mask, depth=depth, camera=camera)
