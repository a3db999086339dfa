"""Relative-scale optimisation: align the components, reweight, solve, merge, until nothing moves."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import solvers
from solvers.arrays import namespace, to_device, to_host
from solvers.checked import solve_checked

from .components import least_residual_edges
from .discontinuity import CutEdges, Outliers, pair_terms
from .filling import fill
from .quotient import QuotientGraph
from .result import Reconstruction, Step

logger = logging.getLogger(__name__)

Progress = Callable[[Step], Any]

_LEAST_WEIGHT = 1e-10  # of a border, relative to the mean: beyond that a factorisation has no digits left


@dataclass(frozen=True)
class Settings:
    """What steers the loop; see `optimize` for the meaning."""

    outliers: Outliers
    max_iterations: int = 150
    energy_tol: float = 1e-3
    merge_every: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_iterations", "merge_every"):
            value = getattr(self, name)
            if value is None and name == "merge_every":
                continue
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise ValueError(f"{name}={value!r} must be a positive whole number")
        if not self.energy_tol > 0:
            raise ValueError(f"energy_tol={self.energy_tol!r} must be positive")


def optimize(
    graph: QuotientGraph,
    *,
    solver: Any = "auto",
    reweighting: str = "soft",
    lower: float = 1e-5,
    upper: float = 1e-3,
    thresholds: str = "natural",
    max_iterations: int = 150,
    energy_tol: float = 1e-3,
    merge_every: int | None = None,
    device: str = "auto",
    progress: bool | Progress | None = None,
    fill_solver: Any = "auto",
) -> Reconstruction:
    """Fill the components of a graph and find their relative scales.

    Parameters
    ----------
    graph : QuotientGraph
        Q0.
    solver : str or object with ``solve(system)``
        Backend for the scale systems: a name from ``solvers.available()`` or "auto".
    reweighting : "soft", "hard" or "none"
        Outlier reweighting with thresholds `lower` and `upper`.
    thresholds : "natural" or "absolute"
        Whether the thresholds are scaled with the focal length, so that they are lengths in pixels, or are log-depths.
    max_iterations : int
        T.
    energy_tol : float
        Relative change of the energy below which the loop has converged.
    merge_every : int, optional
        Merge components after so many iterations, and whenever the energy has converged; None never merges.
    device : "cpu", "cuda" or "auto"
    progress : bool or callable
        True for a progress bar, or a function that is given every `Step`.
    fill_solver : str or object
        Backend for the filling systems, which are larger and better conditioned.

    Returns
    -------
    Reconstruction
    """
    if thresholds not in ("natural", "absolute"):
        raise ValueError(f'thresholds={thresholds!r} must be "natural" or "absolute"')
    outliers = Outliers(reweighting, lower, upper, natural=thresholds == "natural")
    settings = Settings(outliers, max_iterations, energy_tol, merge_every)
    backend = _backend(solver, "solver")
    fill_backend = fill_solver if fill_solver == "auto" else _backend(fill_solver, "fill_solver")
    xp = namespace(device)
    report, close = _reporter(progress, max_iterations)
    try:
        began = time.perf_counter()
        filling = fill(graph, fill_backend)
        filled = time.perf_counter()
        loop = _Loop(graph, filling.potential, settings, backend, report, xp)
        converged = loop.run()
    finally:
        close()
    warnings = _warnings(graph, filling.converged, loop, converged)
    for text in warnings:
        logger.warning(text)
    seconds = {**graph.seconds, "filling": filled - began, "scales": time.perf_counter() - filled}
    return Reconstruction(
        graph=loop.graph,
        potential=_centred(to_host(loop.potential), graph),
        levels=loop.levels,
        history=loop.history,
        seconds=seconds,
        converged=converged,
        warnings=warnings,
        device="cpu" if xp is np else "cuda",
    )


class _Loop:
    """The state of the loop: the graph Qm, the potential when it was made, and the shift of its components since."""

    def __init__(
        self, graph: QuotientGraph, potential: np.ndarray, settings: Settings, solver: Any, report: Progress, xp: Any
    ) -> None:
        self.settings, self.solver, self.report, self.xp = settings, solver, report, xp
        self.levels: list[QuotientGraph] = []
        self.history: list[Step] = []
        self.unsolved = 0  # systems whose backend did not converge
        # One component a pixel needs no second alignment: nothing was integrated on its own.
        self.alignments = 1 if graph.n_components == graph.pixels.n_pixels else 2
        self.iteration = 0
        self.began = time.perf_counter()
        self.base = to_device(potential, xp)
        self.enter(graph, CutEdges.from_graph(graph, potential, settings.outliers.natural).to(xp))

    def enter(self, graph: QuotientGraph, cut: CutEdges) -> None:
        """Start on a new Qm."""
        self.graph, self.cut = graph, cut
        self.levels.append(graph)
        self.labels = to_device(graph.labels, self.xp)
        self.shift = self.xp.zeros(graph.n_components)
        self.energy = np.inf

    @property
    def potential(self) -> Any:
        """(n_pixels,) where the state is."""
        return self.base + self.shift[self.labels]

    def run(self) -> bool:
        """Iterate to the end; True unless stopped by the number of iterations."""
        settings = self.settings
        while len(self.graph.cut):
            if self.iteration >= settings.max_iterations:
                return False
            energy = self.step()
            settled = abs(energy - self.energy) < settings.energy_tol * self.energy or energy == 0
            self.energy = energy
            if settings.merge_every is None:
                if settled:
                    return True
            elif settled or self.iteration % settings.merge_every == 0:
                self.merge()
        return True

    def step(self) -> float:
        """One reweighted solve; returns the energy."""
        bilateral = self.alignments == 0
        first = self.iteration == 0
        outliers = replace(self.settings.outliers, kind="none") if first else self.settings.outliers
        terms = pair_terms(self.cut, self.shift, bilateral, outliers)
        # A border of no weight at all keeps its components as they are to each other, rather than letting them drift.
        weight = self.xp.maximum(terms[0], _LEAST_WEIGHT * float(terms[0].mean()))
        system = self.cut.pattern.system(weight, terms[1])
        solution = solve_checked(self.solver, system, float(terms[2].sum()), self.iteration)
        x = to_device(solution.x, self.xp)
        self.shift = self.shift + x
        change = x[self.cut.pattern.tail] - x[self.cut.pattern.head]
        energy = float((terms[2] + change * (change * terms[0] - 2 * terms[1])).sum())
        self.alignments = max(0, self.alignments - 1)
        self.unsolved += not solution.converged
        self.iteration += 1
        step = Step(
            self.iteration,
            self.graph.level,
            self.graph.n_components,
            energy,
            solution.iterations,
            time.perf_counter() - self.began,
        )
        self.history.append(step)
        self.report(step)
        return energy

    def merge(self) -> None:
        """Contract, for each component, its cut edge of least residual.

        The new labels are found on the host, which is told the chosen edges only; all else stays where it is. On the
        host itself, gathering the cut edges anew is one pass and the faster way.
        """
        cut, before = self.cut, self.labels
        pattern = cut.pattern
        chosen = least_residual_edges(pattern.n, pattern.tail[cut.pair], pattern.head[cut.pair], cut.residuals(self.shift))
        graph = self.graph.contract(to_host(cut.number[chosen]))
        self.base = self.potential
        self.alignments = 1
        if self.xp is np:
            self.enter(graph, CutEdges.from_graph(graph, self.base, self.settings.outliers.natural))
            return
        merged = self.xp.empty(pattern.n, dtype=np.int32)
        merged[before] = to_device(graph.labels, self.xp)
        self.enter(graph, cut.contracted(merged, graph.n_components, self.shift))


def _backend(solver: Any, argument: str) -> Any:
    if isinstance(solver, str):
        return solvers.get(solver)
    if callable(getattr(solver, "solve", None)):
        return solver
    raise ValueError(
        f"{argument}: expected a name ({', '.join(solvers.available())}) or an object with solve(system), got {solver!r}"
    )


def _centred(potential: np.ndarray, graph: QuotientGraph) -> np.ndarray:
    """Zero mean over each connected piece of G0."""
    pieces = graph.pixels.pieces
    return potential - (np.bincount(pieces, potential) / np.bincount(pieces))[pieces]


def _warnings(graph: QuotientGraph, filled: bool, loop: _Loop, converged: bool) -> list[str]:
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
