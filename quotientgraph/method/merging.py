"""The step from Qm to Qm+1: contract, for each component, its cut edge of least residual."""

from __future__ import annotations

from typing import Any

import numpy as np

from laplacians.core.arrays import array_namespace, to_host
from laplacians.core.jit import kernel

from ..graph.quotient import Quotient
from .cutedges import CutEdges


def merged(graph: Quotient, cut: CutEdges, shift: Any) -> Quotient:
    """The quotient graph one level up.

    Parameters
    ----------
    graph : Quotient
        Qm.
    cut : CutEdges
        Its cut edges; their arrays may lie on a GPU.
    shift : (n_components,) float64
        The shift of the components since `cut` was made.

    Returns
    -------
    Quotient
        Qm+1.
    """
    pattern = cut.pattern
    if array_namespace(shift) is np:
        step = shift[pattern.tail] - shift[pattern.head]
        chosen = _chosen(pattern.n, pattern.tail, pattern.head, cut.start, cut.residual, cut.residual_back, step)
        pair = np.searchsorted(cut.start, chosen, side="right") - 1
        return graph.contract(cut.number[chosen], 0.5 * (cut.residual[chosen] + cut.residual_back[chosen]) + step[pair])
    residual = cut.residuals(shift)
    chosen = least_residual_edges(pattern.n, pattern.tail[cut.pair], pattern.head[cut.pair], residual)
    return graph.contract(to_host(cut.number[chosen]), to_host(residual[chosen]))


def least_residual_edges(n: int, tail: Any, head: Any, residual: Any) -> Any:
    """Find for each component the incident edge of least |residual|, the first of them if there are equals.

    Parameters
    ----------
    n : int
        Number of components.
    tail, head, residual : (n_edges,) arrays of one namespace, numpy or cupy
        The components that each edge joins, and its residual.

    Returns
    -------
    (n_chosen,) integers
        Indices of the chosen edges, sorted, each once.
    """
    xp = array_namespace(residual)
    if xp is np:
        return _chosen(n, tail, head, np.arange(len(residual) + 1), residual, residual, np.zeros(len(residual)))
    order = xp.argsort(xp.abs(residual), kind="stable")
    rank = xp.empty(len(order), dtype=np.int32)
    rank[order] = xp.arange(len(order), dtype=np.int32)
    least = xp.full(n, len(order), dtype=np.int32)
    xp.minimum.at(least, tail, rank)
    xp.minimum.at(least, head, rank)
    return xp.unique(order[least[least < len(order)]])


def _chosen(n: int, *borders: np.ndarray) -> np.ndarray:
    """(n_chosen,) integers what `least_residual_edges` returns, from what `_least` is given of the edges."""
    best = np.full(n, -1, dtype=np.int64)
    _least(*borders, np.full(n, np.inf), best)
    taken = np.zeros(len(borders[3]), dtype=bool)
    taken[best[best >= 0]] = True
    return np.flatnonzero(taken)


@kernel
def _least(tail, head, start, residual, residual_back, step, size, best):
    """Write the first edge of least |residual| of each component to `best`, which holds −1 on entry.

    The edges start[p]:start[p+1] join tail[p] and head[p], and step[p] is added to the means of their two residuals.
    `size` holds infinities on entry.
    """
    for p in range(len(tail)):
        a, b = np.uint32(tail[p]), np.uint32(head[p])
        for e in range(np.uint64(start[p]), np.uint64(start[p + 1])):
            own = abs(0.5 * (residual[e] + residual_back[e]) + step[p])
            if own < size[a]:
                size[a] = own
                best[a] = e
            if own < size[b]:
                size[b] = own
                best[b] = e
