"""Relative scales: align the components, reweight, solve, merge, until nothing moves any more.

The first iteration gives every cut edge the same weight, the second uniform weights times the outlier weight, and from then
on the weights are bilateral. After a merge one iteration is uniform again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

import laplacians
from laplacians import LaplacianSystem, Pattern, solve_checked
from laplacians.core.arrays import gathered, to_device

from ..graph.quotient import Quotient
from ..settings import Settings
from .cutedges import Borders, CutEdges
from .merging import merged
from .outcome import Progress, Step
from .weights import Outliers, pair_terms

# The least weight of a border, relative to the mean. A factorisation would have no digits left below it. It also keeps
# components whose border has no weight at all as they are to each other, rather than letting them drift.
_LEAST_WEIGHT = 1e-10


class Ties(Protocol):
    """Edges from the components of one Qm to nodes of known depth."""

    def system(self, weight: Any, flow: Any, shift: Any, first: bool, unit: float) -> LaplacianSystem:
        """The graph's system (weight and flow per pair) with the ties added, which count in multiples of `unit`."""

    def components(self, x: Any) -> Any:
        """The part of a solution that belongs to the components."""


class Known(Protocol):
    """What is known of depth beside the normals."""

    def ties(self, graph: Quotient, potential: Any, pattern: Pattern) -> Ties:
        """The ties of a graph's components at a potential, in its namespace."""


class Scales:
    """The state of the optimisation: the graph Qm, the potential when it was entered, and the shift of components since.

    Parameters
    ----------
    graph : Quotient
        Q0.
    cut : CutEdges
        Its cut edges at `potential`.
    potential : (n_pixels,) float64
        Each component filled on its own.
    settings : Settings
    solver : object with ``solve(system)``
    report : callable
        Is given every `Step`.
    xp : module
        Array namespace to compute in, numpy or cupy.
    known : Known, optional
    placed : bool
        Whether the components are at their places already, so that the weights can be taken from there at once.
    """

    def __init__(
        self,
        graph: Quotient,
        cut: CutEdges,
        potential: np.ndarray,
        settings: Settings,
        solver: Any,
        report: Progress,
        xp: Any,
        known: Known | None = None,
        placed: bool = False,
    ) -> None:
        self.settings, self.solver, self.report, self.xp, self.known = settings, solver, report, xp, known
        self.outliers = Outliers.from_settings(settings)
        self.levels: list[Quotient] = []
        self.history: list[Step] = []
        self.unsolved = 0  # systems whose backend did not converge
        # Where every pixel is a component nothing was integrated beforehand, and one alignment is enough.
        self.alignments = 0 if placed else 1 if graph.n_components == graph.pixels.n_pixels else 2
        self.began = laplacians.working_clock()
        self.base = to_device(potential, xp)
        self._enter(graph, cut.to(xp))

    def _enter(self, graph: Quotient, cut: CutEdges) -> None:
        """Start on a new Qm."""
        self.graph, self.cut = graph, cut
        self.levels.append(graph)
        self.labels = to_device(graph.labels, self.xp)
        self.shift = self.xp.zeros(graph.n_components)
        self.ties = self.known.ties(graph, self.base, cut.pattern) if self.known else None

    @property
    def iteration(self) -> int:
        """The number of solves so far."""
        return len(self.history)

    @property
    def potential(self) -> Any:
        """(n_pixels,) the potential that the optimisation has reached."""
        moved = gathered(self.shift, self.labels)
        moved += self.base
        return moved

    def descend(self, cut: CutEdges | None = None, limit: int | None = None, shorten: float = 1.0) -> bool:
        """Reweight and solve until the energy has settled, merging on the way if the settings ask for it.

        Parameters
        ----------
        cut : CutEdges, optional
            Other equations for the cut edges of the graph than its own.
        limit : int, optional
            The iteration to stop at; by default `max_iterations`.
        shorten : float
            Factor of the step length each time the energy rises, which whole steps might let it do for ever.

        Returns
        -------
        bool
            False if it was stopped by the number of iterations.
        """
        settings, before, stride = self.settings, np.inf, 1.0
        while len(self.cut.number):
            if self.iteration >= (limit or settings.max_iterations):
                return False
            kind = "none" if self.iteration == 0 < self.alignments else self.outliers.kind
            energy = self.solve(
                self.cut if cut is None else cut, self.alignments == 0, replace(self.outliers, kind=kind), stride
            )
            settled = abs(energy - before) < settings.energy_tol * stride * before or energy == 0
            if energy > before:
                stride *= shorten
            before = energy
            if settings.merge_every is None:
                if settled:
                    return True
            elif settled or (self.iteration - 1) % settings.merge_every == 0 < self.iteration - 1:
                self.merge()  # the paper counts from 0: every 5 means after 6 solves, after 11, and so on
                before = np.inf
        return True

    def solve(self, cut: CutEdges, bilateral: bool, outliers: Outliers, stride: float = 1.0) -> float:
        """One reweighted solve, of which the part `stride` is taken as a step.

        Returns
        -------
        float
            The energy after the step, with the weights before it.
        """
        terms = self.terms(cut, bilateral, outliers)
        weight = self.xp.maximum(terms[0], _LEAST_WEIGHT * float(terms[0].mean()))
        if self.ties is None:
            system, start_energy = LaplacianSystem(cut.pattern, weight, terms[1]), float(terms[2].sum())
        else:
            unit = cut.mean_gamma_squared if bilateral else 1.0
            system, start_energy = self.ties.system(weight, terms[1], self.shift, not bilateral, unit), np.inf
        solution = solve_checked(self.solver, system, start_energy, self.iteration)
        x = stride * to_device(solution.x if self.ties is None else self.ties.components(solution.x), self.xp)
        self.shift = self.shift + x
        change = x[cut.pattern.tail] - x[cut.pattern.head]
        energy = float((terms[2] + change * (change * terms[0] - 2 * terms[1])).sum())
        self.alignments = max(0, self.alignments - 1)
        self.unsolved += not solution.converged
        step = Step(
            self.iteration + 1,
            self.graph.level,
            self.graph.n_components,
            energy,
            solution.iterations,
            laplacians.working_clock() - self.began,
        )
        self.history.append(step)
        self.report(step)
        return energy

    def terms(self, cut: CutEdges, bilateral: bool, outliers: Outliers) -> Any:
        """(3, n_pairs) what the cut edges add up to at the present shift; see `pair_terms`."""
        return pair_terms(cut, self.shift, bilateral, outliers)

    def merge(self) -> None:
        """Go on with the graph one level up; see `quotientgraph.method.merging`.

        The new labels are found on the host, which is told the chosen edges only; all else stays on the device. On the
        host itself, gathering the cut edges anew is one pass and the faster way.
        """
        cut, before = self.cut, self.labels
        graph = merged(self.graph, cut, self.shift)
        self.base = self.potential
        self.alignments = 1
        if self.xp is np:
            scale = self.outliers.scale(graph.pixels.map)
            last = self.iteration >= self.settings.max_iterations
            borders = Borders.prepared(graph, None if last or self.known else self.solver, self.iteration)
            self._enter(graph, CutEdges.from_graph(graph, self.base, scale, borders, given_up=cut))
            return
        became = self.xp.empty(cut.pattern.n, dtype=np.int32)
        became[before] = to_device(graph.labels, self.xp)
        self._enter(graph, cut.contracted(became, graph.n_components, self.shift))
