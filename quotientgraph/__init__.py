"""Surface normal integration on quotient graphs.

>>> from quotientgraph import integrate, scenes
>>> scene = scenes.make("sphere", shape=(32, 40))
>>> result = integrate(scene.normals, mask=scene.mask, camera=scene.camera, frame="opencv")
>>> result.depth.shape
(32, 40)
"""

from .camera import Camera, Orthographic, Pinhole, RayMap
from .integration import integrate
from .quotient import QuotientGraph
from .result import Reconstruction, Step

__version__ = "0.1.0"
__all__ = ["Camera", "Orthographic", "Pinhole", "QuotientGraph", "RayMap", "Reconstruction", "Step", "integrate"]
