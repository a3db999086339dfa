"""Scales over tiles: the loop of `quotientgraph.method.scales` on the quotient graph of all tiles.

The driver knows components and borders, all of them. Cut edges are met group by group, so that any number fits into memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from laplacians import Pattern

from ..beyond.confidence import confidence_by_springs
from ..beyond.contacts import support
from ..beyond.creases import creased_edges, descend_creased, placed_creases
from ..beyond.held_planes import HeldPlanes
from ..graph.selection import connected_components
from ..method.cutedges import CutEdges
from ..method.merging import least_residual_edges
from ..method.optimize import backend_of
from ..method.outcome import Progress
from ..method.scales import Scales
from ..method.weights import Outliers, pair_terms
from ..settings import Settings
from .borders import Borders, Group
from .numbering import Components


@dataclass(frozen=True)
class TiledGraph:
    """As much of a quotient graph as the loop asks for.

    Attributes
    ----------
    n_components, n_pixels, level : int
    labels : (n,) int32
        Component of each component of Q0.
    """

    n_components: int
    n_pixels: int
    labels: np.ndarray
    level: int = 0

    @property
    def pixels(self) -> TiledGraph:
        """The loop asks ``graph.pixels.n_pixels``."""
        return self


@dataclass(frozen=True, eq=False)
class EdgeGroups:
    """Cut edges in groups that hold whole borders, in place of one `CutEdges`.

    Attributes
    ----------
    pattern : Pattern
        Borders of the whole map.
    borders : Borders
    creased : bool
        Whether the residuals and slacks are those that `placed_creases` gave each group; they are tables ``creases``.
    kept : CutEdges or None
        All edges after a merge, which are in memory.
    """

    pattern: Pattern
    borders: Borders
    creased: bool = False
    kept: CutEdges | None = None

    @property
    def number(self) -> Any:
        """As long as there are cut edges."""
        return self.borders.number if self.kept is None else self.kept.number

    @cached_property
    def mean_gamma_squared(self) -> float:
        """As `CutEdges` has it."""
        return float(sum(cut.gamma_squared.sum() for cut in self.cuts())) / (2 * len(self.number))

    def to(self, xp: Any) -> EdgeGroups:
        """The loop runs on the host."""
        return self

    def cuts(self) -> Iterator[CutEdges]:
        """The groups one after the other."""
        if self.kept is not None:
            yield self.kept
            return
        for g, group in enumerate(self.borders.groups()):
            if not self.creased:
                yield group.cut
            else:
                residual, slack = self.borders.work.table("creases", g).values()
                yield replace(group.cut, residual=residual, residual_back=residual, slack=slack)


class TiledScales(Scales):
    """The state of the optimisation over tiles.

    Parameters
    ----------
    components : Components
    borders : Borders
    mean : (n_components,) float64
        Mean of the filled potential over each component; the shifts begin at minus that.
    settings : Settings
    report : callable
        Is given every `Step`.
    places : (n_components,) float64, optional
        Shifts of components that are at their places already.
    held : HeldPlanes, optional
        What holds them there beside their borders.
    """

    def __init__(
        self,
        components: Components,
        borders: Borders,
        mean: np.ndarray,
        settings: Settings,
        report: Progress,
        places: np.ndarray | None = None,
        held: HeldPlanes | None = None,
    ) -> None:
        self.components, self.borders, self.begin = components, borders, -mean
        self.places = self.begin if places is None else places
        self.before = np.zeros(components.n)  # shift of the components of Q0 until the last merge
        graph: Any = TiledGraph(components.n, int(components.size.sum()), np.arange(components.n, dtype=np.int32))
        edges: Any = EdgeGroups(borders.pattern, borders)
        solver, placed = backend_of(settings.solver, "solver"), places is not None
        super().__init__(graph, edges, np.zeros(0), settings, solver, report, np, held, placed)

    graph: Any
    cut: Any

    def _enter(self, graph: Any, cut: Any) -> None:
        self.graph, self.cut = graph, cut
        self.ties = None if self.known is None else self.known.ties(graph, self.base, cut.pattern)
        self.levels.append(graph)
        self.labels = graph.labels
        self.shift = self.places.copy() if len(self.levels) == 1 else np.zeros(graph.n_components)

    @property
    def potential(self) -> np.ndarray:
        """(n,) what to add to the filled potential of each component of Q0."""
        return self.before + self.shift[self.labels]

    def terms(self, cut: Any, bilateral: bool, outliers: Outliers) -> np.ndarray:
        return np.concatenate([pair_terms(one, self.shift, bilateral, outliers) for one in cut.cuts()], axis=1)

    def merge(self) -> None:
        if self.cut.kept is None and self.cut.borders.n_groups > 1:
            raise ValueError(
                f"merge_every: merging takes up to a few million cut edges, and there are {len(self.cut.number):,}; "
                "leave merge_every at None"
            )
        cut = next(self.cut.cuts())
        tail, head = cut.pattern.tail[cut.pair], cut.pattern.head[cut.pair]
        chosen = least_residual_edges(cut.pattern.n, tail, head, cut.residuals(self.shift))
        became = connected_components(cut.pattern.n, tail[chosen], head[chosen])
        n = int(became.max()) + 1
        kept = cut.contracted(became, n, self.shift)
        self.before = self.potential
        self.alignments = 1
        graph = TiledGraph(n, self.graph.n_pixels, became[self.labels], self.graph.level + 1)
        self._enter(graph, replace(self.cut, pattern=kept.pattern, kept=kept))

    def refine(self, converged: bool) -> bool:
        """Go on with creases where their borders put them; see `quotientgraph.beyond.creases.refine_creases`."""
        if not len(self.cut.number):
            return converged
        n_creased = 0
        for g, group in enumerate(self.borders.groups()):
            creased = placed_creases(group.cut, group.room, group.angle, self._smaller(group), group.focal)
            self.borders.work.write_table("creases", g, residual=creased.residual, slack=creased.slack)
            n_creased += int(creased_edges(creased).sum())
        edges: Any = replace(self.cut, creased=True)
        return descend_creased(self, edges, n_creased / len(self.cut.number), converged)

    def _smaller(self, group: Group) -> np.ndarray:
        size, cut = self.components.size, group.cut
        return np.minimum(size[cut.pattern.tail], size[cut.pattern.head])[cut.pair]

    def residuals(self) -> np.ndarray:
        """(n_pairs,) mean residual of each border, with each component filled on its own, of zero mean."""
        return np.concatenate([np.zeros(0), *(self._mean_residuals(group.cut) for group in self.borders.groups())])

    def _mean_residuals(self, cut: CutEdges) -> np.ndarray:
        shift = self.begin[cut.pattern.tail] - self.begin[cut.pattern.head]
        return np.add.reduceat(cut.residual, cut.start[:-1]) / np.diff(cut.start) + shift

    def confidence(self) -> np.ndarray:
        """(n,) confidence of the components of Q0; see `quotientgraph.beyond.confidence`."""
        shift, borders = self.potential, self.borders
        held = [np.add.reduceat(support(group.gaps(shift)), group.cut.start[:-1]) for group in borders.groups()]
        pattern = borders.pattern
        return confidence_by_springs(
            pattern, np.concatenate(held or [np.zeros(0)]), borders.n_edges, self.components.size
        )
