"""The coarse system of the whole map, which the driver adds up from all tiles and solves in each round of filling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from laplacians import LaplacianSystem, Multigrid, NeighbourLists, Pattern
from laplacians.direct.cholesky import Factor, factorise

from .coarse import summed
from .work import Work

# What is added to the diagonal, as a part of it. Constants cost no energy, nor do functions that differ nowhere on a small
# component, so that the matrix alone is singular.
_GROUND = 1e-10
# Nodes above which the coarse system is solved by multigrid: that takes 150 bytes a node, a factorisation 1.9 kB.
MANY = 30_000
_MULTIGRID = Multigrid(rtol=1e-10, maxiter=100)


@dataclass(frozen=True, eq=False)
class CoarseSystem:
    """The coarse system of the whole map.

    Attributes
    ----------
    keys : (n,) int64
        Sorted numbers of the nodes that have an equation.
    edges : LaplacianSystem or None
        None if there is no node.
    ground : (n,) float64
        What is added to the diagonal.
    component : (n,) int64
        Component of each node, counted from 0.
    """

    keys: np.ndarray
    edges: LaplacianSystem | None
    ground: np.ndarray
    component: np.ndarray

    @classmethod
    def from_tables(cls, work: Work, per_component: int) -> CoarseSystem:
        """From the entries in the tables ``start`` of all tiles, the upper triangle by keys.

        `per_component` is the number of keys of each component.
        """
        row, column, value = summed(*(work.joined("start", name) for name in ("row", "column", "value")))
        if not len(row):
            return cls(row, None, value, row)
        keys = np.unique(np.append(row, column))
        tail, head = np.searchsorted(keys, row).astype(np.int32), np.searchsorted(keys, column).astype(np.int32)
        on = tail == head
        diagonal = np.bincount(tail[on], value[on], len(keys))
        # A map that wraps may be so small that it has a single node, which is a constant and costs no energy at all.
        ground = np.maximum(_GROUND * (diagonal + 1e-4 * diagonal.max()), 1e-30)
        weight = -value[~on]
        system = LaplacianSystem(Pattern(len(keys), tail[~on], head[~on]), weight, np.zeros_like(weight))
        # The diagonal is added up from the weights again; the difference to the true one is rounding.
        return cls(keys, system, ground, np.unique(keys // per_component, return_inverse=True)[1])

    @cached_property
    def _factor(self) -> Factor:
        assert self.edges is not None
        return factorise(self.edges, self.ground)

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """(n,) solution whose mean over the nodes of each component is zero.

        Nothing but the little that was added to the diagonal holds the mean, so that rounding would move it.
        """
        if self.edges is None:
            return np.zeros(0)
        x = self._by_multigrid(rhs) if len(rhs) > MANY else None
        if x is None:
            x = self._factor.solve(rhs)
        mean = np.bincount(self.component, x) / np.bincount(self.component)
        return x - mean[self.component]

    def _by_multigrid(self, rhs: np.ndarray) -> np.ndarray | None:
        """The solution in little memory; None if it was not reached, which thin components can bring about."""
        assert self.edges is not None
        pattern = self.edges.pattern
        lists = NeighbourLists.from_edges(pattern.n, pattern.tail, pattern.head, self.edges.weight)
        solution = _MULTIGRID.improve(lists, np.zeros(len(rhs)), rhs.copy())
        return solution.x if solution.converged else None

    def gathered(self, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
        """(n,) values added up by their keys, which may repeat; keys without an equation are passed over."""
        if not len(self.keys):
            return np.zeros(0)
        at = np.searchsorted(self.keys, keys)
        known = self.keys[np.minimum(at, len(self.keys) - 1)] == keys
        return np.bincount(at[known], values[known], len(self.keys)).astype(np.float64)
