"""Weighted graphs as neighbour lists in single precision, and the products that multigrid makes with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.jit import kernel, prange

# Entries of neighbour lists or of vectors. To wake a thread that sleeps takes a quarter of a millisecond on a busy machine,
# in which so many entries can be worked through twice; and the coarser levels are visited often.
PARALLEL_FROM = 2**17
N_BLOCKS = 64  # sums are made in so many parts, whatever the number of threads, so that it does not change them


@dataclass(frozen=True)
class Lists:
    """A weighted graph as sorted neighbour lists, every edge in the lists of both its ends.

    Attributes
    ----------
    start : (n + 1,) int32 or int64
    neighbour : (n_entries,) int32
    weight : (n_entries,) float32
    inverse : (n,) float32
        One over the sum of each list's weights; 0 for an empty list.
    """

    start: np.ndarray
    neighbour: np.ndarray
    weight: np.ndarray
    inverse: np.ndarray

    @classmethod
    def from_edges(cls, n: int, tail: np.ndarray, head: np.ndarray, weight: np.ndarray) -> Lists:
        """From edges sorted by (tail, head) with tail < head; those of weight zero are left out."""
        start = np.zeros(n + 1, dtype=np.int64 if len(tail) >= 2**30 else np.int32)
        _count_entries(tail, head, weight, start)
        neighbour, value = np.empty(start[-1], dtype=np.int32), np.empty(start[-1], dtype=np.float32)
        inverse = np.empty(n, dtype=np.float32)
        _list_entries(tail, head, weight, start, neighbour, value, inverse)
        return cls(start, neighbour, value, inverse)

    @property
    def n(self) -> int:
        return len(self.inverse)

    @property
    def fields(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self.start, self.neighbour, self.weight, self.inverse

    def apply(self, x: np.ndarray, out: np.ndarray) -> float:
        """out = L x; returns x·L x."""
        part = np.zeros(N_BLOCKS)
        apply_lists(self.start, self.neighbour, self.weight, x, out, part)
        return float(part.sum())


def dot(x: np.ndarray, y: np.ndarray) -> float:
    """x·y in double precision, summed over fixed blocks."""
    part = np.zeros(N_BLOCKS)
    _dot(x, y, part)
    return float(part.sum())


@kernel
def _count_entries(tail, head, weight, start):
    for e in range(len(tail)):
        if weight[e] > 0:
            start[tail[e] + 1] += 1
            start[head[e] + 1] += 1
    for i in range(len(start) - 1):
        start[i + 1] += start[i]


@kernel
def _list_entries(tail, head, weight, start, neighbour, value, inverse):
    """Edges are sorted by tail, so the smaller neighbours of a row come first: its larger ones are written after."""
    cursor = start[:-1].copy()
    for e in range(len(tail)):
        if weight[e] > 0:
            i = head[e]
            neighbour[cursor[i]] = tail[e]
            value[cursor[i]] = weight[e]
            cursor[i] += 1
    for e in range(len(tail)):
        if weight[e] > 0:
            i = tail[e]
            neighbour[cursor[i]] = head[e]
            value[cursor[i]] = weight[e]
            cursor[i] += 1
    for i in range(len(inverse)):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            total += value[k]
        inverse[i] = 1.0 / total if total > 0 else 0.0


@kernel(parallel=True, parallel_from=PARALLEL_FROM)
def apply_lists(start, neighbour, weight, x, out, part):
    """out = L x, with differences, so that constants vanish exactly; part: x·L x over each of some blocks."""
    n, n_blocks = len(x), len(part)
    for b in prange(n_blocks):
        s = 0.0
        for i in range(b * n // n_blocks, (b + 1) * n // n_blocks):
            total = 0.0
            for k in range(start[i], start[i + 1]):
                total += weight[k] * (x[i] - x[neighbour[k]])
            out[i] = total
            s += total * x[i]
        part[b] = s


@kernel(parallel=True, parallel_from=PARALLEL_FROM)
def _dot(x, y, part):
    n, n_blocks = len(x), len(part)
    for b in prange(n_blocks):
        s = 0.0
        for i in range(b * n // n_blocks, (b + 1) * n // n_blocks):
            s += x[i] * y[i]
        part[b] = s
