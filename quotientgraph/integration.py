"""`integrate`: from a normal map to a reconstruction in one call, by the component method or one of its peers."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from .camera import Camera
from .quotient import QuotientGraph
from .result import Reconstruction
from .scales import optimize

# name -> function(graph, **settings) -> Reconstruction
METHODS = {"components": optimize}


def integrate(
    normals: ArrayLike,
    mask: ArrayLike | None = None,
    camera: Camera | ArrayLike | None = None,
    frame: str = "opengl",
    angle: float | None = 3.5,
    connectivity: int = 8,
    method: str = "components",
    **settings: Any,
) -> Reconstruction:
    """Recover depth from normals: ``QuotientGraph.from_normals(...).optimize(...)``.

    Parameters
    ----------
    normals, mask, camera, frame, angle, connectivity
        As in `QuotientGraph.from_normals`.
    method : str
        "components"; its peers are in `quotientgraph.baselines`.
    **settings
        As in `QuotientGraph.optimize`.

    Examples
    --------
    >>> import numpy as np
    >>> result = integrate(np.tile([0.0, 0.0, 1.0], (4, 5, 1)))
    >>> result.depth.shape, result.converged
    ((4, 5), True)
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r} is not known; use one of {', '.join(METHODS)}")
    graph = QuotientGraph.from_normals(normals, mask, camera, frame, angle, connectivity)
    return METHODS[method](graph, **settings)
