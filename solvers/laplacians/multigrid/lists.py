"""Weighted graphs as neighbour lists in single precision: what multigrid works on, and its largest memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..core.edges import neighbour_lists
from ..core.jit import WHOLE, kernel, portion
from .vectors import N_BLOCKS, PARALLEL_FROM, Spans


@dataclass(frozen=True, eq=False)
class NeighbourLists:
    """A weighted graph in which every edge is in the lists of both its ends; the lists are sorted.

    Attributes
    ----------
    start : (n + 1,) int32 or int64
        The list of node i is ``start[i]:start[i+1]`` of the next two arrays.
    neighbour : (n_entries,) int32
    weight : (n_entries,) float32, > 0
    inverse : (n,) float32
        One over the sum of the weights of each list, or 0 for an empty list.

    Examples
    --------
    >>> tail, head = np.array([0, 1], dtype=np.int32), np.array([1, 2], dtype=np.int32)
    >>> graph = NeighbourLists.from_edges(3, tail, head, np.array([1.0, 4.0]))
    >>> graph.neighbour.tolist(), graph.weight.tolist()
    ([1, 0, 2, 1], [1.0, 1.0, 4.0, 4.0])
    """

    start: np.ndarray
    neighbour: np.ndarray
    weight: np.ndarray
    inverse: np.ndarray

    @classmethod
    def from_edges(cls, n: int, tail: np.ndarray, head: np.ndarray, weight: np.ndarray) -> NeighbourLists:
        """Copy edges into lists. No reference to the arguments is kept, so the caller may free them.

        Parameters
        ----------
        n : int
            Number of nodes.
        tail, head : (n_edges,) int32
            Ends of the edges, tail < head, sorted by (tail, head).
        weight : (n_edges,) float32 or float64, ≥ 0
            Edges of weight zero are left out. Weights are rounded to single precision.

        Returns
        -------
        NeighbourLists
        """
        start, neighbour, value = neighbour_lists(n, tail, head, weight)
        inverse = np.empty(n, dtype=np.float32)
        _invert_sums(start, value, inverse)
        return cls(start, neighbour, value, inverse)

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.inverse)

    @cached_property
    def spans(self) -> Spans:
        """All of a vector, in blocks."""
        return Spans.from_runs(self.n, np.array([0]), np.array([self.n]))

    @property
    def fields(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The four arrays, in the order in which kernels take them."""
        return self.start, self.neighbour, self.weight, self.inverse

    def apply(self, x: np.ndarray, out: np.ndarray) -> float:
        """Write L x into `out` and return x·L x, where L is the Laplacian of this graph."""
        part = np.zeros(N_BLOCKS)
        _apply(self.start, self.neighbour, self.weight, x, out, part)
        return float(part.sum())


@kernel
def _invert_sums(start, value, inverse):
    """Write one over the sum of each list of values into `inverse`, 0 for an empty list.

    Assumes ``start`` of length len(inverse) + 1 that ends at len(value).
    """
    for i in range(len(inverse)):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            total += value[k]
        inverse[i] = 1.0 / total if total > 0 else 0.0


@kernel(parallel_from=PARALLEL_FROM)
def _apply(start, neighbour, weight, x, out, part, share=WHOLE):
    """Write out = L x, and x·L x of each block into `part`. Assumes neighbours within x, and `out` as long as x.

    Products are made with differences of x, so that constants vanish exactly, and in double precision.
    """
    n, n_blocks = len(x), len(part)
    for b in portion(n_blocks, share):
        s = 0.0
        # Unsigned: see `laplacians.multigrid.smoothing`.
        for i in range(np.uint64(b * n // n_blocks), np.uint64((b + 1) * n // n_blocks)):
            total, at = 0.0, np.float64(x[i])
            for k in range(np.uint64(start[i]), np.uint64(start[i + np.uint64(1)])):
                total += weight[k] * (at - x[np.uint32(neighbour[k])])
            out[i] = total
            s += total * at
        part[b] = s
