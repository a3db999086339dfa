"""Iteratively reweighted least squares over all pixels: the log-depth methods and BiNI.

Each system is solved for the correction to the former iterate. How precisely is part of these methods: an iterate whose
residual is below a thousandth of the *whole* right-hand side is left as it is. Exact solves end in other minima.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import laplacians
from laplacians.backends.numba_cg import conjugate_gradients
from laplacians.checked import solve_checked
from laplacians.core.jit import kernel, prange

from ..geometry.camera import Pinhole
from ..geometry.jumps import bini as one_sided
from ..graph.pixels import PixelGraph
from ..graph.quotient import Quotient
from ..method.outcome import Outcome, Step, reporter
from ..method.weights import KINDS, SHARPNESS, Outliers
from ..settings import Settings
from .outcome import needs_pixels, outcome

CG_RTOL = 1e-3  # of the whole right-hand side, as both papers' implementations have it
_MOST_ITERATIONS = 5000


def planar_gamma(pixels: PixelGraph) -> np.ndarray:
    """(2, n_edges) γ² of the pixels at the two ends of each edge."""
    return pixels.gamma_squared[np.stack([pixels.tail, pixels.head])]


def bini_terms(pixels: PixelGraph) -> tuple[np.ndarray, np.ndarray]:
    """Jumps and γ² of BiNI's equations, two (2, n_edges) arrays; row 0 is the tail's equation.

    Equation 2 to the letter: the denominator n_x(u − c_x) + n_y(v − c_y) + n_z f is also γ, with f = f_x along rows and
    f_y along columns. Where these differ it is not quite f·n·τ, and BiNI's path is sensitive to that (bear of DiLiGenT,
    f_y = 0.9965 f_x: MADE 0.334 mm this way, as its authors have it, 0.391 with one f). Only pinhole cameras with
    unequal focal lengths and four neighbours know the difference; all others use f·n·τ.
    """
    camera = pixels.map.camera
    gamma, jump = planar_gamma(pixels), one_sided(pixels.map, pixels.tail, pixels.head)
    if not isinstance(camera, Pinhole) or camera.fx == camera.fy or pixels.connectivity != 4:
        return jump, gamma
    v, u = np.divmod(pixels.map.position, pixels.map.shape[1])
    n = pixels.map.normals
    lateral = n[:, 0] * (u - camera.cx) + n[:, 1] * (v - camera.cy)
    along_row = pixels.map.position[pixels.head] - pixels.map.position[pixels.tail] == 1
    for side, end in enumerate((pixels.tail, pixels.head)):
        across = np.where(along_row, n[end, 0], n[end, 1])
        g = lateral[end] + n[end, 2] * np.where(along_row, camera.fx, camera.fy)
        jump[side], gamma[side] = across / g, g * g
    return jump, gamma


@dataclass(frozen=True)
class Scheme:
    """What tells one reweighted pixel-level method from another.

    Attributes
    ----------
    uniform_first : bool
        Uniform weights in the first iteration; else bilateral ones at φ = 0, that is ½γ².
    discontinuity : bool
        Move each equation's jump towards the present difference, by the fraction β = max(0, 1 − 2w) of w, its bilateral
        weight without γ².
    beyond_is_level : bool
        Where there is no pixel on the other side, take the potential to be level there; else w = ½.
    renewed_energy : bool
        Judge convergence by the energy with the weights renewed after the solve; else with those of the solve.
    gamma : callable
        (2, n_edges) γ² of the tail's and the head's equation of each edge, from the graph.
    """

    uniform_first: bool = True
    discontinuity: bool = False
    beyond_is_level: bool = False
    renewed_energy: bool = False
    gamma: Callable[[PixelGraph], np.ndarray] = planar_gamma


LOGDEPTH, LOGDEPTH_D = Scheme(), Scheme(discontinuity=True)
BINI = Scheme(
    uniform_first=False, beyond_is_level=True, renewed_energy=True, gamma=lambda pixels: bini_terms(pixels)[1]
)


def logdepth(graph: Quotient, **settings: Any) -> Outcome:
    """Log-depth integration with the planar model ("ND" in the paper's tables); settings of `reweighted`."""
    return reweighted(graph, LOGDEPTH, **settings)


def logdepth_d(graph: Quotient, **settings: Any) -> Outcome:
    """`logdepth` with the discontinuity term ("D").

    In each direction on its own, ω = exp(jump) becomes ω + β·(z_a/z_b − ω) at the former iterate; orthographic: the
    jump itself moves by β times the residual. The paper does not say what β is. With max(0, 1 − 2w) its reweighted row
    comes out, but so it does with other functions that vanish at w = ½; see docs/laboratory.md.
    """
    return reweighted(graph, LOGDEPTH_D, **settings)


def bini(graph: Quotient, **settings: Any) -> Outcome:
    """Bilateral normal integration (Cao 2022); its jumps and γ are those of `bini_terms`, whatever the graph's are."""
    defaults = {"reweighting": "none", "max_iterations": 100, "energy_tol": 1e-4}
    return reweighted(replace(graph, jump=bini_terms(graph.pixels)[0]), BINI, **{**defaults, **settings})


def reweighted(
    graph: Quotient,
    scheme: Scheme,
    *,
    solver: Any = "auto",
    reweighting: str = "soft",
    lower: float = 1e-5,
    upper: float = 1e-3,
    thresholds: str = "natural",
    max_iterations: int = 150,
    energy_tol: float = 1e-3,
    rtol: float = CG_RTOL,
    progress: bool | Callable[[Step], Any] | None = None,
) -> Outcome:
    """Iteratively reweighted least squares over all pixels.

    Parameters
    ----------
    graph : Quotient
        With one component a pixel (``angle=None``).
    scheme : Scheme
    solver : "auto", a backend's name or an object with ``solve(system)``
        "auto" is conjugate gradients that stop at `rtol` times the whole right-hand side; any other solves each
        correction to its own tolerance.
    reweighting, lower, upper, thresholds, max_iterations, energy_tol, progress
        As in `quotientgraph.QuotientGraph.optimize`.
    """
    needs_pixels(graph)
    settings = Settings(
        reweighting=reweighting,
        lower=lower,
        upper=upper,
        thresholds=thresholds,
        max_iterations=max_iterations,
        energy_tol=energy_tol,
    )
    outliers = Outliers.from_settings(settings)
    loop = _Loop(graph, scheme, outliers, solver, rtol)
    report, close = reporter(progress, max_iterations)
    converged = False
    try:
        while loop.iteration < max_iterations and not converged:
            before = loop.energy
            step = loop.step()
            report(step)
            converged = loop.energy == 0 or abs(loop.energy - before) < energy_tol * before
    finally:
        close()
    seconds = time.perf_counter() - loop.began
    return outcome(graph, loop.phi, loop.history, seconds, converged, loop.unsolved)


for _peer in (logdepth, logdepth_d, bini):  # they take the settings of `reweighted`
    _peer.__signature__ = inspect.signature(reweighted)  # type: ignore[attr-defined]


class _Loop:
    """The state of the reweighting: the potential and what the weights are computed from."""

    def __init__(self, graph: Quotient, scheme: Scheme, outliers: Outliers, solver: Any, rtol: float) -> None:
        self.began = time.perf_counter()
        self.graph, self.scheme, self.outliers, self.rtol = graph, scheme, outliers, rtol
        self.solver = laplacians.get(solver) if isinstance(solver, str) and solver != "auto" else solver
        pixels = graph.pixels
        self.pattern = laplacians.Pattern(pixels.n_pixels, pixels.tail, pixels.head)
        self.beyond = pixels.opposites(np.arange(pixels.n_edges))
        self.jump = np.atleast_2d(np.asarray(graph.jump))
        self.gamma = scheme.gamma(pixels)
        self.unit = np.broadcast_to(outliers.scale(pixels.map), (pixels.n_pixels,))
        self.phi = np.zeros(pixels.n_pixels)
        self.energy = np.inf
        self.history: list[Step] = []
        self.unsolved = 0

    @property
    def iteration(self) -> int:
        return len(self.history)

    def step(self) -> Step:
        weight, flow, curve, push = self.terms()
        start_energy = float(curve.sum())
        system = self.pattern.system(weight, flow, start_energy)
        if self.solver == "auto":
            solution = self.corrected(system, push)
        else:
            solution = solve_checked(self.solver, system, start_energy, self.iteration)
        x, p = solution.x, self.pattern
        change = x[p.tail] - x[p.head]
        self.energy = start_energy + float(np.sum(change * (change * weight - 2 * flow)))
        self.phi = self.phi + x
        self.unsolved += not solution.converged
        seconds = time.perf_counter() - self.began
        self.history.append(
            Step(self.iteration + 1, 0, self.graph.n_components, self.energy, solution.iterations, seconds)
        )
        if self.scheme.renewed_energy:
            self.energy = float(self.terms()[2].sum())
        return self.history[-1]

    def corrected(self, system: laplacians.LaplacianSystem, push: np.ndarray) -> laplacians.Solution:
        """CG whose tolerance is relative to the whole problem; what is good enough already is not corrected."""
        p, left = self.pattern, float(np.linalg.norm(system.rhs))
        whole = float(np.linalg.norm(np.bincount(p.tail, push, p.n) - np.bincount(p.head, push, p.n)))
        if left <= self.rtol * whole:
            return laplacians.Solution(np.zeros(system.n), True, 0, 1.0)
        # The kernel itself: the backend aims a little below its tolerance, which moves BiNI to another minimum.
        start, neighbour, pair = p.adjacency
        x, goal = np.zeros(system.n), self.rtol * whole / left
        used = conjugate_gradients(
            start, neighbour, system.weight[pair], system.diagonal, system.rhs.copy(), x, goal, _MOST_ITERATIONS
        )
        return laplacians.Solution(system.centred(x), used < _MOST_ITERATIONS, used, system.residual(x))

    def terms(self) -> np.ndarray:
        """(4, n_edges): Σ W, Σ W·(−χ), Σ W·χ² and Σ W·jump of the two equations of each edge, at φ as it is."""
        first, scheme, pixels = self.iteration == 0, self.scheme, self.graph.pixels
        outliers = replace(self.outliers, kind="none") if first else self.outliers
        out = np.empty((4, pixels.n_edges))
        _edge_terms(
            pixels.tail, pixels.head, *self.beyond, self.jump, self.gamma, self.unit, self.phi,
            not (first and scheme.uniform_first), scheme.beyond_is_level, scheme.discontinuity,
            pixels.map.camera.central, SHARPNESS, KINDS[outliers.kind], outliers.upper, outliers.centre,
            outliers.power, out,
        )  # fmt: skip
        return out


@kernel(parallel=True)
def _edge_terms(
    tail, head, beyond_tail, beyond_head, jump, gamma_squared, unit, phi,
    bilateral, beyond_is_level, discontinuity, central, sharpness, kind, upper, centre, power, out,
):  # fmt: skip
    """One pass over all edges; row 0 of `jump` is the tail's equation, the last row the head's (they may be one)."""
    for e in prange(len(tail)):
        difference = phi[tail[e]] - phi[head[e]]
        w_sum, flow, curve, push = 0.0, 0.0, 0.0, 0.0
        for side in range(2):
            i = tail[e] if side == 0 else head[e]
            c = beyond_tail[e] if side == 0 else beyond_head[e]
            j = jump[side if len(jump) == 2 else 0, e]
            chi = difference - j
            share, w = 0.5, 1.0
            size = abs(chi) * unit[i]
            if kind == 0:
                w = 1.0 / (1.0 + (size / centre) ** power)
            elif kind == 1:
                w = 1.0 if size < upper else 0.0
            if bilateral:
                if c >= 0 or beyond_is_level:
                    away = phi[c] - phi[i] if c >= 0 else 0.0
                    x = sharpness * gamma_squared[side, e] * (away * away - difference * difference)
                    share = 1.0 / (1.0 + np.exp(-x)) if x > -700.0 else 0.0
                w *= share * gamma_squared[side, e]
                if discontinuity and share < 0.5:
                    beta = 1.0 - 2.0 * share
                    if central:
                        s = 1.0 if side == 0 else -1.0
                        j = s * np.log((1.0 - beta) * np.exp(s * j) + beta * np.exp(s * difference))
                    else:
                        j += beta * chi
                    chi = difference - j
            w_sum += w
            flow -= w * chi
            curve += w * chi * chi
            push += w * j
        out[0, e] = w_sum
        out[1, e] = flow
        out[2, e] = curve
        out[3, e] = push
