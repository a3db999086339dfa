"""Multigrid by contraction: the preconditioner behind the backend `multigrid`.

Contracting groups of strongly joined unknowns and adding up the weights between groups gives a smaller graph whose
Laplacian is the Galerkin coarse operator for piecewise constant interpolation. Levels are built until the graph is small
enough for a direct solve. A cycle smooths with Gauss-Seidel, solves the coarse problem by one or two steps of conjugate
gradients preconditioned by the cycle below (the K-cycle, which keeps the number of iterations independent of the size),
and smooths again.

A preconditioner need not be exact, so it is kept in single precision; this halves the memory that every cycle reads.
"""

from __future__ import annotations

from dataclasses import dataclass
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
from .vectors import dot

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
    """

    levels: list[NeighbourLists | GridGraph]
    groups: list[np.ndarray | Squares]
    factor: Factor

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
        r = r.astype(np.float32, copy=False)  # one type on all levels: each further one would be compiled too
        n_coarse = self.levels[depth + 1].n if depth + 1 < len(self.levels) else len(self.factor.pivots)
        sweeps: Any = grid_smoothing if isinstance(graph, GridGraph) else smoothing
        z, coarse = sweeps.smooth_and_restrict(graph, r, group, n_coarse)
        sweeps.correct_and_smooth(graph, r, group, self._coarse_solution(depth + 1, coarse), z)
        return z

    def _coarse_solution(self, depth: int, r: np.ndarray) -> np.ndarray:
        """One or two steps of conjugate gradients, preconditioned by the cycle of this level; exact on the coarsest."""
        first = self.cycle(depth, r)
        if depth == len(self.levels):
            return first
        graph, product = self.levels[depth], np.empty(len(r))
        rho = graph.apply(first, product)
        if not rho > 0:
            return first
        step = dot(first, r) / rho
        if not step:
            return first
        product *= -step
        product += r
        left = product.astype(np.float32)
        if dot(left, left) <= _ENOUGH * dot(r, r):
            first *= np.float32(step)
            return first
        second = self.cycle(depth, left)
        remaining = dot(second, left)
        overlap = (dot(second, r) - remaining) / step  # second · L first
        curvature = graph.apply(second, product) - overlap * overlap / rho
        step2 = remaining / curvature if curvature > 0 else 0.0
        first *= np.float32(step - overlap * step2 / rho)
        second *= np.float32(step2)
        first += second
        return first


def _factor(graph: NeighbourLists) -> Factor:
    """Factorise the Laplacian of a graph in double precision."""
    row = np.repeat(np.arange(graph.n, dtype=np.int32), np.diff(graph.start))
    upper = row < graph.neighbour
    tail, head, weight = row[upper], graph.neighbour[upper], graph.weight[upper].astype(np.float64)
    pattern = Pattern(graph.n, tail, head)
    return factorise(LaplacianSystem(pattern, weight, weight))
