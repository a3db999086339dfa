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
__all__ = [
    "Alternative",
    "Camera",
    "Orthographic",
    "Pinhole",
    "QuotientGraph",
    "RayMap",
    "Reconstruction",
    "Step",
    "analysis",
    "height_map",
    "integrate",
    "io",
    "metrics",
    "report",
    "scenes",
    "solvers",
]

# Names are loaded when they are first asked for, so that `quotientgraph --help` does not wait for NumPy.
if TYPE_CHECKING:
    import laplacians as solvers

    from . import analysis, io, metrics, report, scenes
    from .geometry.camera import Camera, Orthographic, Pinhole, RayMap
    from .height import height_map
    from .integration import integrate
    from .quotient_graph import QuotientGraph
    from .result import Alternative, Reconstruction, Step
else:
    _HOME = {
        "Alternative": "quotientgraph.result",
        "Camera": "quotientgraph.geometry.camera",
        "Orthographic": "quotientgraph.geometry.camera",
        "Pinhole": "quotientgraph.geometry.camera",
        "QuotientGraph": "quotientgraph.quotient_graph",
        "RayMap": "quotientgraph.geometry.camera",
        "Reconstruction": "quotientgraph.result",
        "Step": "quotientgraph.result",
        "height_map": "quotientgraph.height",
        "integrate": "quotientgraph.integration",
    }

    def __getattr__(name):
        if name in _HOME:
            value = getattr(_import_module(_HOME[name]), name)
        elif name == "solvers":
            value = _import_module("laplacians")
        elif name in __all__:
            value = _import_module(f"{__name__}.{name}")
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__} - {"TYPE_CHECKING"})
