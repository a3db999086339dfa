"""The equations of a block of the coarse grid, or of the wide grid above blocks, solved in each round of filling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from laplacians import LaplacianSystem, Multigrid, NeighbourLists, Pattern
from laplacians.direct.cholesky import Factor, factorise

from .coarse import summed

# What is added to the diagonal, as a part of it. Constants cost no energy, nor do functions that differ nowhere on a small
# component, so that the matrix alone is singular.
_GROUND = 1e-10
# Nodes above which the coarse system is solved by multigrid: that takes 150 bytes a node, a factorisation 1.9 kB.
MANY = 30_000
_MULTIGRID = Multigrid(rtol=1e-10, maxiter=100)


@dataclass(frozen=True, eq=False)
class CoarseSystem:
    """Equations of nodes of the coarse grid.

    Attributes
    ----------
    keys : (n,) int64
        Sorted numbers of the nodes that have an equation.
    edges : LaplacianSystem or None
        None if there is no node.
    ground : (n,) float64
        What is added to the diagonal; this and `edges` have one node more if there is a rim.
    component : (n,) int64
        Component of each node, counted from 0.
    held : (n_components,) bool
        Whether a component reaches the rim.
    """

    keys: np.ndarray
    edges: LaplacianSystem | None
    ground: np.ndarray
    component: np.ndarray
    held: np.ndarray

    @classmethod
    def from_entries(cls, row: np.ndarray, column: np.ndarray, value: np.ndarray, per_component: int) -> CoarseSystem:
        """From the entries of the upper triangle, by keys; those of one place are added up."""
        row, column, value = summed(row, column, value)
        keys = np.unique(np.append(row, column))
        tail, head = np.searchsorted(keys, row), np.searchsorted(keys, column)
        on = tail == head
        diagonal = np.bincount(tail[on], value[on], len(keys))
        complete = np.ones(len(keys), dtype=bool)
        return cls.from_edges(keys, complete, tail[~on], head[~on], -value[~on], diagonal, per_component)

    @classmethod
    def from_edges(
        cls,
        keys: np.ndarray,
        complete: np.ndarray,
        tail: np.ndarray,
        head: np.ndarray,
        weight: np.ndarray,
        diagonal: np.ndarray,
        per_component: int,
    ) -> CoarseSystem:
        """From edges between nodes that are numbered by `keys`; the correction is zero at nodes that are not complete.

        These nodes become one, the *rim*, which is the last one. `per_component` is the number of keys of each component.
        """
        n, n_nodes = int(complete.sum()), int(complete.sum())
        node = np.where(complete, np.cumsum(complete) - 1, n)
        tail, head = node[tail], node[head]
        used = (tail < n) | (head < n)
        at_rim = np.zeros(n + 1, dtype=bool)
        if n < len(keys):
            low, high, weight = summed(np.minimum(tail, head)[used], np.maximum(tail, head)[used], weight[used])
            tail, head = low, high
            at_rim[low[high == n]] = True
            n_nodes = n + bool(at_rim.any())
        keys, diagonal = keys[complete], diagonal[complete]
        component = np.unique(keys // per_component, return_inverse=True)[1]
        held = np.zeros(int(component.max(initial=-1)) + 1, dtype=bool)
        held[component[at_rim[:n]]] = True
        if not n:
            return cls(keys, None, diagonal, component, held)
        # A map that wraps may be so small that it has a single node, which is a constant and costs no energy at all.
        ground = np.maximum(_GROUND * (diagonal + 1e-4 * diagonal.max()), 1e-30)
        pattern = Pattern(n_nodes, tail.astype(np.int32), head.astype(np.int32))
        system = LaplacianSystem(pattern, weight, np.zeros_like(weight))
        # The diagonal is added up from the weights again; the difference to the true one is rounding.
        return cls(keys, system, np.append(ground, np.full(n_nodes - n, ground.max())), component, held)

    @cached_property
    def _factor(self) -> Factor:
        assert self.edges is not None
        return factorise(self.edges, self.ground)

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """(n,) solution that is zero at the rim. Of a component without a rim, its mean over the nodes is zero.

        Nothing but the little that was added to the diagonal holds the mean, so that rounding would move it.
        """
        if self.edges is None:
            return np.zeros(0)
        n = len(rhs)
        if self.edges.n > n:
            rhs = np.append(rhs, -rhs[self.held[self.component]].sum())
        x = self._by_multigrid(rhs) if len(rhs) > MANY else None
        if x is None:
            x = self._factor.solve(rhs)
        mean = np.bincount(self.component, x[:n]) / np.bincount(self.component)
        if self.edges.n > n:
            mean[self.held] = x[n]
        return x[:n] - mean[self.component]

    def _by_multigrid(self, rhs: np.ndarray) -> np.ndarray | None:
        """The solution in little memory; None if it was not reached, which thin components can bring about."""
        assert self.edges is not None
        pattern = self.edges.pattern
        lists = NeighbourLists.from_edges(pattern.n, pattern.tail, pattern.head, self.edges.weight)
        solution = _MULTIGRID.improve(lists, np.zeros(len(rhs)), rhs.copy())
        return solution.x if solution.converged else None

    def gathered(self, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
        """(n,) values added up by their keys, which may repeat; keys without an equation are passed over."""
        return gathered(self.keys, keys, values)


def gathered(known: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(n,) values added up by their keys, which may repeat, for each of the sorted known ones."""
    if not len(known):
        return np.zeros(0)
    at = np.searchsorted(known, keys)
    used = known[np.minimum(at, len(known) - 1)] == keys
    return np.bincount(at[used], values[used], len(known)).astype(np.float64)
