"""Which edges to contract: those between similar normals (Q0), those of least residual (Qm+1); and connected components."""

from __future__ import annotations

from typing import Any

import numpy as np

from solvers.arrays import array_namespace
from solvers.jit import kernel, prange
from solvers.system import connected_labels

from .pixelgraph import PixelGraph

# Building an igraph object takes 0.3 µs an edge and more, union-find 0.01; beyond this many edges "auto" uses the latter.
_IGRAPH_LIMIT = 20_000


def similar_edges(graph: PixelGraph, angle: float | None) -> np.ndarray:
    """(n_edges,) bool: edges whose two normals differ by less than `angle` degrees; none for None."""
    out = np.zeros(graph.n_edges, dtype=bool)
    if angle is not None:
        _similar(graph.map.normals, graph.tail, graph.head, np.cos(np.radians(angle)), out)
    return out


def connected_components(n: int, tail: np.ndarray, head: np.ndarray, engine: str = "auto") -> np.ndarray:
    """(n,) int32 component of each node, numbered by first node.

    `engine` is "igraph", "union-find", or "auto": igraph for quotient graphs, union-find at pixel scale. Both give the
    same labels.
    """
    if engine == "auto":
        engine = "igraph" if len(tail) <= _IGRAPH_LIMIT else "union-find"
    if engine == "union-find":
        return connected_labels(n, tail, head)
    if engine != "igraph":
        raise ValueError(f'engine={engine!r} is not known; use "auto", "igraph" or "union-find"')
    import igraph

    graph = igraph.Graph(n, edges=np.column_stack([tail, head]))
    membership = np.asarray(graph.connected_components().membership, dtype=np.int32)
    first = np.unique(membership, return_index=True)[1]
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank[membership]


def least_residual_edges(n: int, tail: Any, head: Any, residual: Any) -> Any:
    """For each of n components the incident edge of least |residual|, the first among equals; indices, sorted.

    `tail` and `head` are the components that each edge joins; the arrays are of one namespace, numpy or cupy.
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
    """For each component the first of its edges of least |residual|."""
    for e in range(len(residual)):
        size = abs(residual[e])
        if best[tail[e]] < 0 or size < abs(residual[best[tail[e]]]):
            best[tail[e]] = e
        if best[head[e]] < 0 or size < abs(residual[best[head[e]]]):
            best[head[e]] = e


@kernel(parallel=True)
def _similar(normals, tail, head, cosine, out):
    for e in prange(len(out)):
        a, b = tail[e], head[e]
        dot = normals[a, 0] * normals[b, 0] + normals[a, 1] * normals[b, 1] + normals[a, 2] * normals[b, 2]
        out[e] = dot > cosine
