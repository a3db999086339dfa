"""Relative-scale optimisation: `optimize` checks its arguments, fills the components, runs the loop, says how it went."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import laplacians
from laplacians.core.arrays import namespace, to_host

from ..beyond.parallel_faces import separated
from ..beyond.priors import Ground
from ..graph.quotient import QuotientGraph
from ..result import Reconstruction, Step
from .cutedges import CutEdges, Outliers
from .filling import FILLINGS, fill
from .scales import Loop, Progress, Settings

logger = logging.getLogger(__name__)

# What is not said otherwise. "paper": exactly the published method.
PRESETS: dict[str, dict[str, str]] = {
    "best": {"filling": "contracted", "faces": "separate", "alignment": "auto", "thresholds": "natural"},
    "paper": {"filling": "induced", "faces": "joined", "alignment": "uniform", "thresholds": "absolute"},
}
FACES = ("separate", "joined")
_STRAIGHTENINGS = 4  # rounds in which a prior is fitted to the depth found with it


def optimize(
    graph: QuotientGraph,
    *,
    solver: Any = "auto",
    reweighting: str = "soft",
    lower: float = 1e-5,
    upper: float = 1e-3,
    thresholds: str | None = None,
    max_iterations: int = 150,
    energy_tol: float = 1e-3,
    merge_every: int | None = None,
    device: str = "auto",
    progress: bool | Progress | None = None,
    fill_solver: Any = "auto",
    filling: str | None = None,
    faces: str | None = None,
    alignment: str | None = None,
    preset: str = "best",
    prior: ArrayLike | None = None,
    prior_weight: float = 1.0,
    anchors: Sequence[tuple[float, float, float]] | None = None,
) -> Reconstruction:
    """Fill the components of a graph and find their relative scales.

    Parameters
    ----------
    graph : QuotientGraph
        Q0.
    solver : str or object with ``solve(system)``
        Backend for the scale systems: a name from ``laplacians.available()`` or "auto".
    reweighting : "soft", "hard" or "none"
        Outlier reweighting with thresholds `lower` and `upper`.
    thresholds : "natural" or "absolute", optional
        Whether the thresholds are scaled with the focal length, so that they are lengths in pixels, or are log-depths.
    max_iterations : int
        T.
    energy_tol : float
        Relative change of the energy below which the loop has converged.
    merge_every : int, optional
        Merge components every so many iterations, and whenever the energy has converged; None never merges. As in the
        paper, which counts from 0, the first merge comes after one iteration more.
    device : "cpu", "cuda" or "auto"
    progress : bool or callable
        True for a progress bar, or a function that is given every `Step`.
    fill_solver : str or object
        Backend for the filling systems, which are larger and better conditioned.
    filling : "contracted" or "induced", optional
        Whether components are filled without the depth jumps hidden in them, or over all their edges.
    faces : "separate" or "joined", optional
        Whether parallel faces with equal normals, which share a component, are set apart where other components tell
        them apart. Not when components are merged.
    alignment : "auto", "uniform" or "consensus", optional
        Where reweighting starts from; "auto" tries what seems promising and keeps what explains the cut edges best. When
        components are merged the start matters less: it is uniform, whatever is said here.
    preset : "best" or "paper"
        Stands for what is not given: "best" is contracted, separate, auto and natural; "paper" is the published method:
        induced, joined, uniform and absolute.
    prior : (H, W) array, optional
        Coarse depth, NaN where unknown, of any scale and offset. It decides what normals leave open: depth across full
        discontinuities and between separate pieces. Components are split first where it jumps and the normals do not
        tell, as from a table top to the floor. The result has its scale (orthographic: its offset).
    prior_weight : float
        Trust in the prior; 1 suits an error of about 1 % a pixel.
    anchors : sequence of (u, v, depth), optional
        Known depths at pixels: column, row, depth. They fix absolute scale, and separate surfaces against each other.
        With a prior or anchors components are aligned by them, whatever `alignment` says.

    Returns
    -------
    Reconstruction
    """
    if preset not in PRESETS:
        raise ValueError(f"preset={preset!r} is not known; use {', '.join(map(repr, PRESETS))}")
    given = {"filling": filling, "faces": faces, "alignment": alignment, "thresholds": thresholds}
    chosen = {name: PRESETS[preset][name] if value is None else value for name, value in given.items()}
    filling, faces, alignment, thresholds = (chosen[name] for name in given)
    if filling not in FILLINGS:
        raise ValueError(f"filling={filling!r} is not known; use {', '.join(map(repr, FILLINGS))}")
    if faces not in FACES:
        raise ValueError(f"faces={faces!r} is not known; use {', '.join(map(repr, FACES))}")
    if thresholds not in ("natural", "absolute"):
        raise ValueError(f'thresholds={thresholds!r} must be "natural" or "absolute"')
    outliers = Outliers(reweighting, lower, upper, natural=thresholds == "natural")
    settings = Settings(outliers, max_iterations, energy_tol, merge_every, alignment)
    backend = _backend(solver, "solver")
    fill_backend = fill_solver if fill_solver == "auto" else _backend(fill_solver, "fill_solver")
    ground = Ground.from_depth(graph, prior, prior_weight, anchors)
    if ground:
        graph = ground.separated(graph)
    # Ground edges are few and the loop with them is short: it stays on the host.
    xp = namespace("cpu" if ground and device == "auto" else device)
    if ground and xp is not np:
        raise ValueError('device="cuda" does not go with prior or anchors yet; use device="cpu"')
    report, close = _reporter(progress, max_iterations)
    try:
        began = time.perf_counter()
        inside = fill(graph, fill_backend, filling)
        filled = time.perf_counter()
        if faces == "separate" and merge_every is None and graph.jump.ndim == 1:
            graph, cut = separated(graph, inside.potential, outliers.natural)
        else:
            cut = CutEdges.from_graph(graph, inside.potential, outliers.natural)
        loop = Loop(graph, cut, inside.potential, settings, backend, report, xp, ground)
        converged = loop.run()
        for again in range(_STRAIGHTENINGS if ground else 0):
            better = ground.straightened(loop.potential, graph, again > 0) if ground else None
            if better is None:
                break
            ground = better
            loop = Loop(graph, cut, inside.potential, settings, backend, report, xp, ground)
            converged = loop.run()
    finally:
        close()
    settled = to_host(loop.potential)
    settled = ground.settle(settled, graph.pixels.pieces) if ground else _centred(settled, graph)
    warnings = _warnings(graph, inside.converged, loop, converged)
    for text in warnings:
        logger.warning(text)
    seconds = {**graph.seconds, "filling": filled - began, "scales": time.perf_counter() - filled}
    return Reconstruction(
        graph=loop.graph,
        potential=settled,
        levels=loop.levels,
        history=loop.history,
        seconds=seconds,
        converged=converged,
        warnings=warnings,
        device="cpu" if xp is np else "cuda",
        evidence=loop.evidence,
    )


def _backend(solver: Any, argument: str) -> Any:
    if isinstance(solver, str):
        return laplacians.get(solver)
    if callable(getattr(solver, "solve", None)):
        return solver
    raise ValueError(
        f"{argument}: expected a name ({', '.join(laplacians.available())}) or an object with solve(system), got {solver!r}"
    )


def _centred(potential: np.ndarray, graph: QuotientGraph) -> np.ndarray:
    """Zero mean over each connected piece of G0."""
    if graph.pixels.n_pieces == 1:
        return potential - potential.mean()
    pieces = graph.pixels.pieces
    return potential - (np.bincount(pieces, potential) / np.bincount(pieces))[pieces]


def _warnings(graph: QuotientGraph, filled: bool, loop: Loop, converged: bool) -> list[str]:
    out = []
    dropped = graph.pixels.map.dropped
    reasons = {"no_normal": "have no normal", "no_ray": "have no ray", "faces_away": "face away from the camera"}
    out += [
        f"{dropped[key]} pixels of the mask {text} and were left out" for key, text in reasons.items() if dropped[key]
    ]
    if graph.pixels.n_pieces > 1:
        out.append(
            f"the valid pixels form {graph.pixels.n_pieces} separate pieces; "
            "their depth relative to each other is not determined by the normals (see `pieces`)"
        )
    if not filled:
        out.append("filling did not reach its tolerance")
    if loop.unsolved:
        out.append(f"the solver did not reach its tolerance in {loop.unsolved} of {len(loop.history)} iterations")
    if not converged:
        out.append(f"not converged after {loop.iteration} iterations; raise max_iterations or energy_tol")
    return out


def _reporter(progress: bool | Progress | None, total: int) -> tuple[Progress, Callable[[], Any]]:
    if callable(progress):
        return progress, lambda: None
    if not progress:
        return lambda step: None, lambda: None
    from tqdm.auto import tqdm

    bar = tqdm(total=total, desc="scales", unit="it", leave=False)

    def show(step: Step) -> None:
        bar.set_postfix(level=step.level, components=step.n_components, energy=f"{step.energy:.3g}")
        bar.update()

    return show, bar.close
