"""Iteratively reweighted least squares over all pixels: the log-depth methods and BiNI.

Each system is solved for the correction to the former iterate. How precisely is part of these methods: an iterate whose
residual is below a thousandth of the *whole* right-hand side is left as it is. Exact solves end in other minima.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import laplacians
from laplacians.checked import solve_checked

from ..graph.quotient import Quotient
from ..method.outcome import Outcome, Progress, Step, reporter
from ..method.weights import Outliers
from ..settings import Settings
from .grid_cg import PixelGrid
from .outcome import needs_pixels, outcome
from .schemes import BINI, LOGDEPTH, LOGDEPTH_D, Equations, Scheme, bini_terms

CG_RTOL = 1e-3  # of the whole right-hand side, as the implementations of both papers have it
_MOST_ITERATIONS = 5000


def logdepth(
    graph: Quotient,
    *,
    solver: Any = "auto",
    reweighting: str = "soft",
    lower: float = 1e-5,
    upper: float = 1e-3,
    thresholds: str = "natural",
    max_iterations: int = 150,
    energy_tol: float = 1e-3,
    rtol: float = CG_RTOL,
    progress: bool | Progress | None = None,
) -> Outcome:
    """Integrate log-depth with the planar model, "ND" in the paper's tables; parameters as in `reweighted`.

    Examples
    --------
    >>> from quotientgraph import integrate, scenes
    >>> scene = scenes.make("bumps", shape=(20, 24))
    >>> integrate(scene.normals, scene.mask, scene.camera, frame="opencv", method="logdepth").converged
    True
    """
    settings = _settings(reweighting, lower, upper, thresholds, max_iterations, energy_tol)
    return reweighted(graph, LOGDEPTH, settings, solver, rtol, progress)


def logdepth_d(
    graph: Quotient,
    *,
    solver: Any = "auto",
    reweighting: str = "soft",
    lower: float = 1e-5,
    upper: float = 1e-3,
    thresholds: str = "natural",
    max_iterations: int = 150,
    energy_tol: float = 1e-3,
    rtol: float = CG_RTOL,
    progress: bool | Progress | None = None,
) -> Outcome:
    """Integrate as `logdepth` does, with the discontinuity term, "D" in the paper's tables.

    In each direction on its own, ω = exp(jump) becomes ω + β·(z_a/z_b − ω) at the former iterate; for an orthographic
    camera the jump itself moves by β times the residual. The paper does not say what β is. With max(0, 1 − 2w) its
    reweighted row is reproduced, but so it is with other functions that vanish at w = ½. Parameters as in `reweighted`.
    """
    settings = _settings(reweighting, lower, upper, thresholds, max_iterations, energy_tol)
    return reweighted(graph, LOGDEPTH_D, settings, solver, rtol, progress)


def bini(
    graph: Quotient,
    *,
    solver: Any = "auto",
    reweighting: str = "none",
    lower: float = 1e-5,
    upper: float = 1e-3,
    thresholds: str = "natural",
    max_iterations: int = 100,
    energy_tol: float = 1e-4,
    rtol: float = CG_RTOL,
    progress: bool | Progress | None = None,
) -> Outcome:
    """Integrate by bilateral normal integration (Cao 2022); parameters as in `reweighted`.

    Its jumps and γ are those of `bini_terms`, whatever the graph's are.
    """
    settings = _settings(reweighting, lower, upper, thresholds, max_iterations, energy_tol)
    one_sided = replace(graph, jump=bini_terms(graph.pixels)[0])
    return reweighted(one_sided, BINI, settings, solver, rtol, progress)


def _settings(
    reweighting: str, lower: float, upper: float, thresholds: str, max_iterations: int, energy_tol: float
) -> Settings:
    return Settings(
        reweighting=reweighting,
        lower=lower,
        upper=upper,
        thresholds=thresholds,
        max_iterations=max_iterations,
        energy_tol=energy_tol,
    )


def reweighted(
    graph: Quotient,
    scheme: Scheme,
    settings: Settings,
    solver: Any = "auto",
    rtol: float = CG_RTOL,
    progress: bool | Progress | None = None,
) -> Outcome:
    """Solve the equations of all pixels by iteratively reweighted least squares.

    Parameters
    ----------
    graph : Quotient
        With one component for each pixel (``angle=None``).
    scheme : Scheme
    settings : Settings
        Of which `reweighting`, `lower`, `upper`, `thresholds`, `max_iterations` and `energy_tol` are used.
    solver : "auto", a backend's name or an object with ``solve(system)``
        "auto" is conjugate gradients that stop at `rtol` times the whole right-hand side. Any other solves each
        correction to its own tolerance.
    rtol : float
        Between 0 and 1.
    progress : bool or callable
        True for a progress bar, or a function that is given every `Step`.

    Returns
    -------
    Outcome
    """
    if not 0 < rtol < 1:
        raise ValueError(f"rtol={rtol} must lie between 0 and 1")
    needs_pixels(graph)
    outliers = Outliers.from_settings(settings)
    loop = _Loop(graph, scheme, outliers, solver, rtol)
    report, close = reporter(progress, settings.max_iterations)
    converged = False
    try:
        while loop.iteration < settings.max_iterations and not converged:
            before = loop.energy
            step = loop.step()
            report(step)
            converged = loop.energy == 0 or abs(loop.energy - before) < settings.energy_tol * before
    finally:
        close()
    seconds = laplacians.working_clock() - loop.began
    return outcome(graph, loop.phi, loop.history, seconds, converged, loop.unsolved)


class _Loop:
    """The state of the reweighting: the potential, its energy, and how it came about."""

    def __init__(self, graph: Quotient, scheme: Scheme, outliers: Outliers, solver: Any, rtol: float) -> None:
        self.began = laplacians.working_clock()
        self.graph, self.rtol = graph, rtol
        self.solver = laplacians.get(solver) if isinstance(solver, str) and solver != "auto" else solver
        pixels = graph.pixels
        self.pattern = laplacians.Pattern(pixels.n_pixels, pixels.tail, pixels.head)
        self.grid = PixelGrid.from_pixels(pixels) if self.solver == "auto" else None
        if self.solver == "auto" and self.grid is None:
            self.solver = laplacians.get("numba", rtol=rtol)
        self.equations = Equations(graph, scheme, outliers)
        self.phi = np.zeros(pixels.n_pixels)
        self.terms = self.equations.terms(self.phi, first=True)
        self.energy = np.inf
        self.history: list[Step] = []
        self.unsolved = 0

    @property
    def iteration(self) -> int:
        return len(self.history)

    def step(self) -> Step:
        """Solve for the correction to the potential under the present weights, and renew the weights."""
        weight, flow, curve, push = self.terms
        start_energy = float(curve.sum())
        if self.grid is not None:
            solution = self.corrected(self.grid, weight, flow, push)
        else:
            system = laplacians.LaplacianSystem(self.pattern, weight, flow, start_energy)
            solution = solve_checked(self.solver, system, start_energy, self.iteration)
        x, p = solution.x, self.pattern
        change = x[p.tail] - x[p.head]
        energy = start_energy + float(np.sum(change * (change * weight - 2 * flow)))
        self.phi = self.phi + x
        self.unsolved += not solution.converged
        seconds = laplacians.working_clock() - self.began
        self.history.append(Step(self.iteration + 1, 0, self.graph.n_components, energy, solution.iterations, seconds))
        self.terms = self.equations.terms(self.phi, first=False)
        self.energy = float(self.terms[2].sum()) if self.equations.scheme.renewed_energy else energy
        return self.history[-1]

    def corrected(self, grid: PixelGrid, weight: np.ndarray, flow: np.ndarray, push: np.ndarray) -> laplacians.Solution:
        """Solve by conjugate gradients whose tolerance is relative to the whole problem, not to the correction.

        An iterate that is good enough already is not corrected. The tolerance is met as it is: aiming a little below it
        moves BiNI to another minimum.
        """
        rhs, left = _divergence(self.pattern, flow)
        whole = _divergence(self.pattern, push)[1]
        if left <= self.rtol * whole:
            return laplacians.Solution(np.zeros(len(rhs)), True, 0, 1.0)
        goal = self.rtol * whole / left
        x, used = grid.solve(weight, rhs, goal, _MOST_ITERATIONS)
        return laplacians.Solution(x, used < _MOST_ITERATIONS, used, goal)


def _divergence(pattern: laplacians.Pattern, flow: np.ndarray) -> tuple[np.ndarray, float]:
    """Return what flows along edges add up to at each pixel, and the norm of that."""
    out = np.bincount(pattern.tail, flow, pattern.n) - np.bincount(pattern.head, flow, pattern.n)
    return out, float(np.linalg.norm(out))
