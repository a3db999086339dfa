"""`integrate`: from a normal map to a reconstruction in one call, by the component method or one of its peers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from . import baselines
from .beyond.settling import Contact
from .geometry.camera import Camera
from .graph.lines import Lines
from .method.outcome import Outcome, Progress
from .quotient_graph import QuotientGraph
from .result import Reconstruction


@dataclass(frozen=True)
class Method:
    """A way to integrate.

    Attributes
    ----------
    run : callable or None
        ``run(graph, **settings) -> Outcome``; None is `QuotientGraph.optimize`.
    summary : str
    joins_pixels : bool
        Whether the graph has components of several pixels; if not, `angle` is not used.
    connectivity : 4 or 8
        Used where the caller does not say.
    """

    run: Callable[..., Outcome] | None
    summary: str
    joins_pixels: bool = False
    connectivity: int = 8


METHODS: dict[str, Method] = {
    "components": Method(None, "relative scales of continuous components", joins_pixels=True),
    "pixels": Method(None, "the component method with one component a pixel"),
    "logdepth": Method(baselines.logdepth, "reweighted log-depth, planar model (Milano 2025 ND)"),
    "logdepth-d": Method(baselines.logdepth_d, "log-depth with a discontinuity term (Milano 2025 D)"),
    "bini": Method(baselines.bini, "bilateral normal integration (Cao 2022)", connectivity=4),
    "poisson": Method(baselines.poisson, "plain least squares"),
    "fft": Method(baselines.fft, "Fourier projection (Frankot and Chellappa 1988)", connectivity=4),
}


def integrate(
    normals: ArrayLike | str | PathLike[str],
    mask: ArrayLike | str | PathLike[str] | None = None,
    camera: Camera | ArrayLike | None = None,
    frame: str = "opengl",
    angle: float | str | None = "auto",
    connectivity: int | None = None,
    method: str = "components",
    *,
    solver: Any = "auto",
    reweighting: str | None = None,
    lower: float | None = None,
    upper: float | None = None,
    thresholds: str | None = None,
    max_iterations: int | None = None,
    energy_tol: float | None = None,
    merge_every: int | None = None,
    device: str | None = None,
    progress: bool | Progress | None = None,
    fill_solver: Any = None,
    filling: str | None = None,
    creases: str | None = None,
    joining: str | None = None,
    sharpening: str | None = None,
    straightening: str | None = None,
    axes: str | None = None,
    preset: str | None = None,
    prior: ArrayLike | str | PathLike[str] | None = None,
    prior_weight: float | None = None,
    prior_kind: str | None = None,
    prior_confidence: ArrayLike | str | PathLike[str] | None = None,
    anchors: Sequence[tuple[float, float, float]] | ArrayLike | None = None,
    contacts: Sequence[Contact] | None = None,
    rtol: float | None = None,
    check: bool = True,
    labels: ArrayLike | str | PathLike[str] | None = None,
    image: ArrayLike | str | PathLike[str] | None = None,
    forbidden: Lines | None = None,
    wrap: str = "auto",
    slope: str = "remove",
) -> Reconstruction:
    """Recover depth from normals: ``QuotientGraph.from_normals(...).optimize(...)``, or one of its peers.

    Parameters
    ----------
    normals, mask, camera, frame, angle, check, labels, image, forbidden, wrap, slope
        As in `QuotientGraph.from_normals`. Pixel-level methods do not use `angle`, and refuse `labels` and `image`.
    connectivity : 4 or 8, optional
        By default 8; 4 for "bini" and "fft".
    method : str
        "components", or a peer: "pixels", "logdepth", "logdepth-d", "bini", "poisson", "fft".
    solver, reweighting, lower, upper, thresholds, max_iterations, energy_tol, merge_every, device, progress, fill_solver, \
filling, creases, joining, sharpening, straightening, axes, preset, prior, prior_weight, \
prior_kind, prior_confidence, anchors, contacts
        As in `QuotientGraph.optimize`. What is not given is the method's own default. A peer takes some of them, see
        `quotientgraph.baselines`, and refuses the others.
    rtol : float, optional
        Tolerance of the linear solves of "bini", "logdepth" and "logdepth-d", between 0 and 1.

    Returns
    -------
    Reconstruction

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
    keywords = {
        "solver": solver,
        "reweighting": reweighting,
        "lower": lower,
        "upper": upper,
        "thresholds": thresholds,
        "max_iterations": max_iterations,
        "energy_tol": energy_tol,
        "merge_every": merge_every,
        "device": device,
        "progress": progress,
        "fill_solver": fill_solver,
        "filling": filling,
        "creases": creases,
        "joining": joining,
        "sharpening": sharpening,
        "straightening": straightening,
        "axes": axes,
        "preset": preset,
        "prior": prior,
        "prior_weight": prior_weight,
        "prior_kind": prior_kind,
        "prior_confidence": prior_confidence,
        "anchors": anchors,
        "contacts": contacts,
        "rtol": rtol,
    }
    given = {name: value for name, value in keywords.items() if value is not None}
    run = QuotientGraph.optimize if chosen.run is None else chosen.run
    taken = keywords_of(method)
    for name in given:
        if name not in taken and not (name == "solver" and given[name] == "auto"):
            raise ValueError(f"{name}: method={method!r} does not take it; it takes {', '.join(taken)}")
    for name, value in (("labels", labels), ("image", image)):
        if value is not None and not chosen.joins_pixels:
            raise ValueError(f"{name}: method={method!r} has no components to form by it; leave it out")
    graph = QuotientGraph.from_normals(
        normals,
        mask,
        camera,
        frame,
        angle if chosen.joins_pixels else None,
        chosen.connectivity if connectivity is None else connectivity,
        preset=preset or "best",
        check=check,
        labels=labels,
        image=image,
        forbidden=forbidden,
        wrap=wrap,
        slope=slope,
    )
    found = run(graph, **{name: value for name, value in given.items() if name in taken})
    return found if isinstance(found, Reconstruction) else Reconstruction.from_outcome(found)


def keywords_of(method: str) -> list[str]:
    """Names of the settings that a method of `METHODS` takes."""
    run = METHODS[method].run
    parameters = inspect.signature(QuotientGraph.optimize if run is None else run).parameters.values()
    return [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
