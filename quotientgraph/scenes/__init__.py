"""Analytic scenes with exact normals and exact depth, for the demo, the tests, the docs and the benchmark.

`make(name)` gives one of the scenes by name, `random(kind, seed)` a random man-made one.

>>> from quotientgraph import scenes
>>> room = scenes.make("room", shape=(64, 80))
>>> room.normals.shape, bool(room.mask.all())
((64, 80, 3), True)
"""

from .drawn import KINDS, SPLITS, cases, random
from .places import boxes, islands, occlusions, room, spheres, stairs, textured_room
from .scene import SCENES, Scene, make, names, summary
from .surfaces import bumps, plane, ramp, sphere, step, torus, tube

__all__ = [
    "KINDS",
    "SCENES",
    "SPLITS",
    "Scene",
    "boxes",
    "bumps",
    "cases",
    "islands",
    "make",
    "names",
    "occlusions",
    "plane",
    "ramp",
    "random",
    "room",
    "sphere",
    "spheres",
    "stairs",
    "step",
    "summary",
    "textured_room",
    "torus",
    "tube",
]
