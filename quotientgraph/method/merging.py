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
        best = np.full(n, -1, dtype=np.int64)
        _least(tail, head, residual, best)
        return np.unique(best[best >= 0])
    order = xp.argsort(xp.abs(residual), kind="stable")
    rank = xp.empty(len(order), dtype=np.int32)
    rank[order] = xp.arange(len(order), dtype=np.int32)
    least = xp.full(n, len(order), dtype=np.int32)
    xp.minimum.at(least, tail, rank)
    xp.minimum.at(least, head, rank)
    return xp.unique(order[least[least < len(order)]])


@kernel
def _least(tail, head, residual, best):
    """Write the first edge of least |residual| of each component to `best`, which holds −1 on entry."""
    for e in range(len(residual)):
        size = abs(residual[e])
        if best[tail[e]] < 0 or size < abs(residual[best[tail[e]]]):
            best[tail[e]] = e
        if best[head[e]] < 0 or size < abs(residual[best[head[e]]]):
            best[head[e]] = e
