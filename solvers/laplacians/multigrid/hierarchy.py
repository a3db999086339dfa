"""Multigrid by contraction: the preconditioner behind the backend `multigrid`.

Contracting groups of strongly joined unknowns and adding up the weights between groups gives a smaller graph whose
Laplacian is the Galerkin coarse operator for piecewise constant interpolation. Levels are built until the graph is small
enough for a direct solve. A cycle smooths with Gauss-Seidel, solves the coarse problem by one or two steps of conjugate
gradients preconditioned by the cycle below (the K-cycle, which keeps the number of iterations independent of the size),
and smooths again.

A preconditioner need not be exact, so it is kept in single precision; this halves the memory that every cycle reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..direct.cholesky import Factor, factorise
from ..pattern import Pattern
from ..system import LaplacianSystem
from . import grid_smoothing, smoothing
from .contraction import contracted, grouped
from .grid import GridGraph
from .grid_contraction import Squares, as_lists, contracted_grid
from .lists import NeighbourLists
from .vectors import dot, round_to, subtract

# Contracting goes on while it removes at least a fifth of the unknowns.
_WORTHWHILE = 0.8
# A contracted grid is turned into neighbour lists when it has fewer nodes than this, or when more than this part of them has
# no cell.
_SMALLEST_GRID, _MOST_OTHERS = 2**15, 0.35
# One step of the coarse solver is enough if it leaves at most this fraction of the squared residual.
_ENOUGH = 0.0625


@dataclass(frozen=True)
class Hierarchy:
    """Ever more contracted graphs.

    Attributes
    ----------
    levels : list of NeighbourLists
        From fine to coarse; the first ones may be on a grid. Empty if the graph itself is solved directly.
    groups : list of (n,) int32
        For each level the group that each unknown is contracted into; −1 if it has no neighbours. `Squares` for a grid.
    factor : Factor
        The factorised Laplacian of the coarsest graph, which is not among the levels.
    spare : dict
        Vectors of each level that nobody uses at the moment; see `room`.
    """

    levels: list[NeighbourLists | GridGraph]
    groups: list[np.ndarray | Squares]
    factor: Factor
    spare: dict[tuple[int, str], list[np.ndarray]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_graph(cls, graph: NeighbourLists | GridGraph, coarsest: int) -> Hierarchy:
        """Contract a graph until at most `coarsest` unknowns are left, or until contraction no longer pays."""
        levels: list[NeighbourLists | GridGraph] = []
        groups: list[np.ndarray | Squares] = []
        while isinstance(graph, GridGraph):
            squares = Squares.from_graph(graph)
            levels.append(graph)
            groups.append(squares)
            graph = contracted_grid(graph, squares)
            if graph.n < _SMALLEST_GRID or squares.n_others > _MOST_OTHERS * graph.n:
                graph = as_lists(graph)
        while graph.n > coarsest:
            group, block_start = grouped(graph)
            if block_start[-1] > _WORTHWHILE * graph.n:
                break
            levels.append(graph)
            groups.append(group)
            graph = contracted(graph, group, block_start)
        return cls(levels, groups, _factor(graph))

    @property
    def n_entries(self) -> int:
        """Entries of the lists of all levels and of the factor: roughly the number of values that a cycle reads."""
        return sum(graph.weight.size for graph in self.levels) + self.factor.analysis.n_nonzeros

    def cycle(self, depth: int, r: np.ndarray) -> np.ndarray:
        """An approximate solution of L z = r on a level: smooth, correct from the coarser level, smooth again.

        Parameters
        ----------
        depth : int
            Number of the level; the number of levels stands for the coarsest graph, which is solved exactly.
        r : (n,) float

        Returns
        -------
        (n,) float32
        """
        if depth == len(self.levels):
            return self.factor.solve(r.astype(np.float64)).astype(np.float32)
        graph, group = self.levels[depth], self.groups[depth]
        rounded = r if r.dtype == np.float32 else self.room(depth, "f4", "rounded")
        if rounded is not r:  # one type on all levels: each further one would be compiled too
            round_to(r, rounded, graph.spans)
        sweeps: Any = grid_smoothing if isinstance(graph, GridGraph) else smoothing
        z, coarse = self.room(depth, "f4"), self.room(depth + 1, "f4")
        sweeps.smooth_and_restrict(graph, rounded, group, z, coarse)
        correction = self._coarse_solution(depth + 1, coarse)
        sweeps.correct_and_smooth(graph, rounded, group, correction, z)
        self.give_back(depth + 1, coarse)
        if depth + 1 < len(self.levels):
            self.give_back(depth + 1, correction)
        if rounded is not r:
            self.give_back(depth, rounded, use="rounded")
        return z

    def room(self, depth: int, dtype: str, use: str = "") -> np.ndarray:
        """A vector of a level: zeros, or what it was given back with after the same use.

        It is zero where a grid has no nodes: a right-hand side of a user's own may not be, and is kept apart by its use. A
        system takes longer to hand out new memory than it takes to fill it, and a cycle needs the same vectors each time.
        """
        kept = self.spare.get((depth, dtype + use))
        if kept:
            return kept.pop()
        return np.zeros(self.levels[depth].n if depth < len(self.levels) else len(self.factor.pivots), dtype=dtype)

    def give_back(self, depth: int, *vectors: np.ndarray, use: str = "") -> None:
        """Keep vectors of a level that are no longer needed for those who ask for `room`."""
        for vector in vectors:
            self.spare.setdefault((depth, vector.dtype.str[1:] + use), []).append(vector)

    def _coarse_solution(self, depth: int, r: np.ndarray) -> np.ndarray:
        """One or two steps of conjugate gradients, preconditioned by the cycle of this level; exact on the coarsest."""
        first = self.cycle(depth, r)
        if depth == len(self.levels):
            return first
        graph, product = self.levels[depth], self.room(depth, "f8")
        spans, rho = graph.spans, graph.apply(first, product)
        step = dot(first, r, spans) / rho if rho > 0 else 0.0
        if not step:
            self.give_back(depth, product)
            return first
        left = self.room(depth, "f4")
        if subtract(r, product, step, left, spans) <= _ENOUGH * dot(r, r, spans):
            first *= np.float32(step)
            self.give_back(depth, product, left)
            return first
        second = self.cycle(depth, left)
        remaining = dot(second, left, spans)
        overlap = (dot(second, r, spans) - remaining) / step  # second · L first
        curvature = graph.apply(second, product) - overlap * overlap / rho
        step2 = remaining / curvature if curvature > 0 else 0.0
        first *= np.float32(step - overlap * step2 / rho)
        second *= np.float32(step2)
        first += second
        self.give_back(depth, product, left, second)
        return first


def _factor(graph: NeighbourLists) -> Factor:
    """Factorise the Laplacian of a graph in double precision."""
    row = np.repeat(np.arange(graph.n, dtype=np.int32), np.diff(graph.start))
    upper = row < graph.neighbour
    tail, head, weight = row[upper], graph.neighbour[upper], graph.weight[upper].astype(np.float64)
    pattern = Pattern(graph.n, tail, head)
    return factorise(LaplacianSystem(pattern, weight, weight))
