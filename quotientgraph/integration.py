"""`integrate`: from a normal map to a reconstruction in one call, by the component method or one of its peers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from . import baselines
from .geometry.camera import Camera
from .graph.quotient import QuotientGraph
from .method.optimize import optimize
from .result import Reconstruction


@dataclass(frozen=True)
class Method:
    """A way to integrate.

    Attributes
    ----------
    run : callable
        ``run(graph, **settings) -> Reconstruction``.
    summary : str
    joins_pixels : bool
        Whether the graph has components of several pixels; else `angle` is not used.
    connectivity : 4 or 8
        Used where the caller does not say.
    """

    run: Callable[..., Reconstruction]
    summary: str
    joins_pixels: bool = False
    connectivity: int = 8


PAPER_ANGLE = 3.5  # degrees

METHODS: dict[str, Method] = {
    "components": Method(optimize, "relative scales of continuous components", joins_pixels=True),
    "pixels": Method(optimize, "the component method with one component a pixel"),
    "logdepth": Method(baselines.logdepth, "reweighted log-depth, planar model (Milano 2025 ND)"),
    "logdepth-d": Method(baselines.logdepth_d, "log-depth with a discontinuity term (Milano 2025 D)"),
    "bini": Method(baselines.bini, "bilateral normal integration (Cao 2022)", connectivity=4),
    "poisson": Method(baselines.poisson, "plain least squares"),
    "fft": Method(baselines.fft, "Fourier projection (Frankot and Chellappa 1988)", connectivity=4),
}


def integrate(
    normals: ArrayLike,
    mask: ArrayLike | None = None,
    camera: Camera | ArrayLike | None = None,
    frame: str = "opengl",
    angle: float | str | None = "auto",
    connectivity: int | None = None,
    method: str = "components",
    **settings: Any,
) -> Reconstruction:
    """Recover depth from normals: ``QuotientGraph.from_normals(...).optimize(...)``, or one of its peers.

    Parameters
    ----------
    normals, mask, camera, frame, angle
        As in `QuotientGraph.from_normals`, but with ``preset="paper"`` the angle "auto" is the paper's 3.5°; pixel-level
        methods do not use `angle`.
    connectivity : 4 or 8, optional
        By default 8; 4 for "bini" and "fft".
    method : str
        "components", or a peer: "pixels", "logdepth", "logdepth-d", "bini", "poisson", "fft".
    **settings
        As in `QuotientGraph.optimize`; those of a peer are in `quotientgraph.baselines`.

    Examples
    --------
    >>> import numpy as np
    >>> result = integrate(np.tile([0.0, 0.0, 1.0], (4, 5, 1)))
    >>> result.depth.shape, result.converged
    ((4, 5), True)
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r} is not known; use one of {', '.join(METHODS)}")
    chosen = METHODS[method]
    if angle == "auto" and settings.get("preset") == "paper":
        angle = PAPER_ANGLE
    graph = QuotientGraph.from_normals(
        normals,
        mask,
        camera,
        frame,
        angle if chosen.joins_pixels else None,
        chosen.connectivity if connectivity is None else connectivity,
    )
    return chosen.run(graph, **settings)
