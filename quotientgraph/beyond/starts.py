"""Where the reweighting starts from.

Reweighting finds the minimum nearest to its start. The paper starts from uniform alignment, in which every cut edge counts
the same, contact or not. The start called "consensus" lets whole borders speak instead: the edges of a border that agree
state one offset together, a long border has hardly more say than a short one, and edges are given up one after the other,
the worst first. With "auto" the uniform start comes first and is judged by how much of the borders it explains as contact.
If that is not enough, consensus follows, and the start that explains more is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from laplacians.core.arrays import to_host

from ..method.cutedges import CutEdges
from ..method.scales import Scales
from .contacts import evidence, gaps, residual_range
from .runs import agreed


@dataclass(frozen=True)
class _Constants:
    """Chosen on the embedded scenes, the five DiLiGenT objects and the bedroom."""

    widest: float = 64.0  # factor of the outlier thresholds with which annealing begins
    narrowing: float = 0.6  # their factor from step to step
    long: int = 80  # edges beyond which a border has no more say in the consensus
    fewest_steps: int = 20  # of a refinement
    most_steps: int = 60
    step_budget: int = 300_000  # steps times components that a refinement may take
    enough: float = 0.95  # evidence from which on the uniform start is not doubted
    tie: float = 0.002  # lead in evidence that the uniform start needs over consensus
    clear: float = 0.05  # lead of consensus that settles the choice
    shorten: float = 0.95  # factor of the step of a refinement each time its energy rises


_CHOSEN = _Constants()


@dataclass(frozen=True)
class StartFrom:
    """The hook for `quotientgraph.method.optimize`: descend from the start called `alignment`."""

    alignment: str

    def __call__(self, scales: Scales) -> bool:
        if scales.known is not None or not len(scales.cut.number):
            return scales.descend()
        contact = residual_range(scales.graph, scales.cut)
        return _choose(scales, contact) if self.alignment == "auto" else _consent(scales, _together(scales, contact))


def _choose(scales: Scales, contact: np.ndarray) -> bool:
    """Descend from the uniform alignment, and from consensus if that leaves much unexplained; keep the best."""
    focal = scales.graph.pixels.focal_at(to_host(scales.cut.number))
    start = to_host(scales.cut.start)
    best: tuple[float, Any, bool] = (-np.inf, None, False)

    def judge(name: str, converged: bool, lead: float = 0.0) -> None:
        nonlocal best
        scales.evidence[name] = evidence(start, gaps(scales.cut, contact, scales.shift) * focal)
        best = max(best, (scales.evidence[name] + lead, scales.shift, converged), key=lambda found: found[0])

    settled = scales.descend()
    judge("uniform", settled)
    if best[0] < _CHOSEN.enough and scales.iteration < scales.settings.max_iterations:
        together, uniform = _together(scales, contact), scales.shift
        judge("consensus", _consent(scales, together), _CHOSEN.tie)
        if scales.evidence["consensus"] < scales.evidence["uniform"] + _CHOSEN.clear:
            scales.shift = uniform
            judge("uniform, creases", _refine(scales, together) or settled)
    _, scales.shift, converged = best
    return converged


def _together(scales: Scales, contact: np.ndarray) -> CutEdges:
    """The cut edges with creases where their borders agree they are, else anywhere between their two pixels."""
    return agreed(scales.graph, scales.cut.to(np), contact).to(scales.xp)


def _consent(scales: Scales, together: CutEdges) -> bool:
    """Start from the consensus of the borders and descend; False if stopped by the number of iterations."""
    n_edges = scales.cut.start[1:] - scales.cut.start[:-1]
    shared = replace(together, share=scales.xp.minimum(1.0, _CHOSEN.long / n_edges))
    scales.shift = scales.xp.zeros(scales.graph.n_components)
    scales.solve(shared, False, replace(scales.outliers, kind="none"))
    settled = _anneal(scales, shared) and _refine(scales, shared)
    return _refine(scales, together) or settled


def _refine(scales: Scales, cut: CutEdges) -> bool:
    """Descend with the given equations for a few iterations, more of them where each costs little."""
    steps = int(np.clip(_CHOSEN.step_budget // scales.graph.n_components, _CHOSEN.fewest_steps, _CHOSEN.most_steps))
    return scales.descend(cut, min(scales.iteration + steps, scales.settings.max_iterations), _CHOSEN.shorten)


def _anneal(scales: Scales, cut: CutEdges) -> bool:
    """Lower the outlier thresholds step by step; False if stopped by the number of iterations.

    Bilateral weights compare both sides of a pixel, which means nothing while the components are far from their places. So
    all are ½γ², as where there is no pixel beyond, and uniform in the first step.
    """
    alone = replace(cut, beyond_component=scales.xp.full(cut.beyond_component.shape, -1, dtype=np.int32))
    outliers, factor = scales.outliers, _CHOSEN.widest
    while factor > 1:
        if scales.iteration >= scales.settings.max_iterations:
            return False
        wide = replace(outliers, lower=factor * outliers.lower, upper=factor * outliers.upper)
        scales.solve(alone, factor < _CHOSEN.widest, wide)
        factor *= _CHOSEN.narrowing
    scales.alignments = 0
    return True
