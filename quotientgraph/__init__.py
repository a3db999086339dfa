"""Surface normal integration on quotient graphs.

>>> from quotientgraph import integrate, scenes
>>> scene = scenes.make("sphere", shape=(32, 40))
>>> result = integrate(scene.normals, mask=scene.mask, camera=scene.camera, frame="opencv")
>>> result.depth.shape
(32, 40)
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["Camera", "Orthographic", "Pinhole", "QuotientGraph", "RayMap", "Reconstruction", "Step", "integrate"]

# Names are loaded when they are first asked for, so that `quotientgraph --help` is there before NumPy would be.
if TYPE_CHECKING:
    from .camera import Camera, Orthographic, Pinhole, RayMap
    from .integration import integrate
    from .quotient import QuotientGraph
    from .result import Reconstruction, Step
else:
    _HOME = {
        "Camera": "camera",
        "Orthographic": "camera",
        "Pinhole": "camera",
        "QuotientGraph": "quotient",
        "RayMap": "camera",
        "Reconstruction": "result",
        "Step": "result",
        "integrate": "integration",
    }

    def __getattr__(name):
        if name in _HOME:
            value = getattr(_import_module(f"{__name__}.{_HOME[name]}"), name)
            globals()[name] = value
            return value
        if not name.startswith("_"):
            try:
                return _import_module(f"{__name__}.{name}")
            except ModuleNotFoundError as problem:
                if problem.name != f"{__name__}.{name}":
                    raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *__all__})
