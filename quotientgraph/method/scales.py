"""Relative-scale optimisation: align the components, reweight, solve, merge, until nothing moves.

Reweighting finds the minimum nearest to where it starts. The paper starts from uniform alignment, in which every cut
edge counts the same, contact or not. The start called "consensus" lets borders speak instead: edges that agree speak with
one voice, a long border has not much more say than a short one, and edges lose theirs one by one, the worst first. With
``alignment="auto"`` the uniform start is judged afterwards by how much of the borders it explains as contact; if that is
not enough, the other follows, and the one that explains more is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from laplacians.checked import solve_checked
from laplacians.core.arrays import to_device, to_host
from laplacians.system import LaplacianSystem

from ..beyond.contacts import evidence, focal_of, gaps, residual_range
from ..beyond.priors import Ground, GroundEdges
from ..beyond.runs import agreed
from ..graph.quotient import QuotientGraph
from ..graph.selection import least_residual_edges
from ..result import Step
from .cutedges import CutEdges, Outliers, pair_terms

Progress = Callable[[Step], Any]

ALIGNMENTS = ("auto", "uniform", "consensus")
_WIDEST, _NARROWING = 64.0, 0.6  # factor of the outlier thresholds when annealing begins, and from step to step
_LONG = 80  # edges of a border beyond which it has no more say in the consensus
_CREASE_STEPS = 20, 60  # at least and at most; in between, as many as cost little (see `refine`)
_ENOUGH = 0.95  # evidence from which on the first start is not doubted
_SHORTER = 0.95  # factor of the step in refinements when the energy rises: whole steps may go back and forth for ever
_TIE, _CLEAR = 0.002, 0.05  # lead in evidence that uniform needs over consensus; lead of consensus that settles it
_LEAST_WEIGHT = 1e-10  # of a border, relative to the mean: beyond that a factorisation has no digits left


@dataclass(frozen=True)
class Settings:
    """What steers the loop; see `optimize` for the meaning."""

    outliers: Outliers
    max_iterations: int = 150
    energy_tol: float = 1e-3
    merge_every: int | None = None
    alignment: str = "uniform"

    def __post_init__(self) -> None:
        for name in ("max_iterations", "merge_every"):
            value = getattr(self, name)
            if value is None and name == "merge_every":
                continue
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise ValueError(f"{name}={value!r} must be a positive whole number")
        if not self.energy_tol > 0:
            raise ValueError(f"energy_tol={self.energy_tol!r} must be positive")
        if self.alignment not in ALIGNMENTS:
            raise ValueError(f"alignment={self.alignment!r} is not known; use {', '.join(map(repr, ALIGNMENTS))}")


class Loop:
    """The state of the loop: the graph Qm, the potential when it was made, and the shift of its components since."""

    def __init__(
        self,
        graph: QuotientGraph,
        cut: CutEdges,
        potential: np.ndarray,
        settings: Settings,
        solver: Any,
        report: Progress,
        xp: Any,
        ground: Ground | None = None,
    ) -> None:
        self.settings, self.solver, self.report, self.xp, self.ground = settings, solver, report, xp, ground
        self.levels: list[QuotientGraph] = []
        self.history: list[Step] = []
        self.evidence: dict[str, float] = {}  # by start, if there was a choice
        self.stride = 1.0  # part of a step that is taken
        self.unsolved = 0  # systems whose backend did not converge
        # One component a pixel needs no second alignment: nothing was integrated on its own.
        self.alignments = 1 if graph.n_components == graph.pixels.n_pixels else 2
        self.iteration = 0
        self.began = time.perf_counter()
        self.base = to_device(potential, xp)
        self.enter(graph, cut.to(xp))

    def enter(self, graph: QuotientGraph, cut: CutEdges) -> None:
        """Start on a new Qm."""
        self.graph, self.cut = graph, cut
        self.levels.append(graph)
        self.labels = to_device(graph.labels, self.xp)
        self.shift = self.xp.zeros(graph.n_components)
        self.energy = np.inf
        self.tied = GroundEdges.from_graph(self.ground, graph, self.base, cut.pattern) if self.ground else None

    @property
    def potential(self) -> Any:
        """(n_pixels,) where the state is."""
        return self.base + self.shift[self.labels]

    def run(self) -> bool:
        """Iterate to the end; True unless stopped by the number of iterations."""
        alignment = self.settings.alignment
        plain = alignment == "uniform" or self.settings.merge_every or self.graph.jump.ndim == 2
        if plain or self.ground or not len(self.graph.cut):
            return self.descend()
        contact = residual_range(self.graph, self.cut)
        return self.choose(contact) if alignment == "auto" else self.consent(self.together(contact))

    def choose(self, contact: np.ndarray) -> bool:
        """Descend from the uniform alignment, and from consensus if that leaves much unexplained; keep the best."""
        focal, start = focal_of(self.graph, self.cut), to_host(self.cut.start)
        best: tuple[float, Any, bool] = (-np.inf, None, False)

        def judge(name: str, converged: bool, lead: float = 0.0) -> None:
            nonlocal best
            self.evidence[name] = evidence(start, gaps(self.cut, contact, self.shift) * focal)
            best = max(best, (self.evidence[name] + lead, self.shift, converged), key=lambda found: found[0])

        settled = self.descend()
        judge("uniform", settled)
        if best[0] < _ENOUGH and self.iteration < self.settings.max_iterations:
            together, uniform = self.together(contact), self.shift
            judge("consensus", self.consent(together), _TIE)
            if self.evidence["consensus"] < self.evidence["uniform"] + _CLEAR:
                self.shift = uniform
                judge("uniform, creases", self.refine(together) or settled)
        _, self.shift, converged = best
        return converged

    def together(self, contact: np.ndarray) -> CutEdges:
        """The cut edges with creases where their borders agree they are, else anywhere between their two pixels."""
        return agreed(self.graph, self.cut.to(np), contact).to(self.xp)

    def consent(self, together: CutEdges) -> bool:
        """Start from the consensus of the borders and descend; False if stopped by the number of iterations."""
        plain = self.cut
        self.cut = replace(together, share=self.xp.minimum(1.0, _LONG / (plain.start[1:] - plain.start[:-1])))
        self.shift = self.xp.zeros(self.graph.n_components)
        self.solve(self.cut, False, replace(self.settings.outliers, kind="none"))
        settled = self.anneal() and self.refine(self.cut)
        self.cut = plain
        return self.refine(together) or settled

    def refine(self, together: CutEdges) -> bool:
        """Descend with the given cut edges from where the state is, for a few iterations; True if that was enough."""
        plain, self.cut = self.cut, together
        converged = self.descend(self.limit)
        self.cut, self.stride = plain, 1.0
        return converged

    @property
    def limit(self) -> int:
        """Number of the iteration at which a refinement ends; more of them where each costs little."""
        steps = int(np.clip(300_000 // self.graph.n_components, *_CREASE_STEPS))
        return min(self.iteration + steps, self.settings.max_iterations)

    def anneal(self) -> bool:
        """Lower the outlier thresholds step by step; False if stopped by the number of iterations.

        Bilateral weights compare both sides of a pixel, which says nothing while the components are far from their
        places; so all are ½γ², as where nothing lies beyond, and uniform in the first step.
        """
        alone = replace(self.cut, beyond_component=self.xp.full(self.cut.beyond_component.shape, -1, dtype=np.int32))
        outliers, factor = self.settings.outliers, _WIDEST
        while factor > 1:
            if self.iteration >= self.settings.max_iterations:
                return False
            wide = replace(outliers, lower=factor * outliers.lower, upper=factor * outliers.upper)
            self.solve(alone, factor < _WIDEST, wide)
            factor *= _NARROWING
        self.alignments = 0
        return True

    def descend(self, limit: int | None = None) -> bool:
        """Reweight and solve until the energy has settled; False if stopped by the number of iterations."""
        settings = self.settings
        self.energy = np.inf
        while len(self.graph.cut):
            if self.iteration >= (limit or settings.max_iterations):
                return False
            energy = self.step()
            settled = abs(energy - self.energy) < settings.energy_tol * self.stride * self.energy or energy == 0
            if self.cut.slack is not None and energy > self.energy:
                self.stride *= _SHORTER
            self.energy = energy
            if settings.merge_every is None:
                if settled:
                    return True
            elif settled or (self.iteration - 1) % settings.merge_every == 0 < self.iteration - 1:
                self.merge()  # the paper counts from 0: every 5 means after 6 solves, after 11, and so on
        return True

    def step(self) -> float:
        """One solve with the weights whose turn it is; returns the energy."""
        bilateral = self.alignments == 0
        first = self.iteration == 0
        outliers = replace(self.settings.outliers, kind="none") if first else self.settings.outliers
        return self.solve(self.cut, bilateral, outliers)

    def solve(self, cut: CutEdges, bilateral: bool, outliers: Outliers) -> float:
        """One reweighted solve; returns the energy."""
        terms = pair_terms(cut, self.shift, bilateral, outliers)
        # A border of no weight at all keeps its components as they are to each other, rather than letting them drift.
        weight = self.xp.maximum(terms[0], _LEAST_WEIGHT * float(terms[0].mean()))
        if self.tied is None:
            system = LaplacianSystem(self.cut.pattern, weight, terms[1])
        else:
            unit = float(self.cut.gamma_squared.mean()) if bilateral else 1.0
            system = self.tied.system(weight, terms[1], self.shift, not bilateral, unit)
        solution = solve_checked(
            self.solver, system, float(terms[2].sum()) if self.tied is None else np.inf, self.iteration
        )
        x = to_device(solution.x if self.tied is None else self.tied.components(solution.x), self.xp)
        x = self.stride * x
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
        chosen = least_residual_edges(
            pattern.n, pattern.tail[cut.pair], pattern.head[cut.pair], cut.residuals(self.shift)
        )
        graph = self.graph.contract(to_host(cut.number[chosen]))
        self.base = self.potential
        self.alignments = 1
        if self.xp is np:
            self.enter(graph, CutEdges.from_graph(graph, self.base, self.settings.outliers.natural))
            return
        merged = self.xp.empty(pattern.n, dtype=np.int32)
        merged[before] = to_device(graph.labels, self.xp)
        self.enter(graph, cut.contracted(merged, graph.n_components, self.shift))
