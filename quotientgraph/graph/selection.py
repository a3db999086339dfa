"""Which edges make Q0: those between similar normals; and the connected components of a graph."""

from __future__ import annotations

import numpy as np

from laplacians.core.edges import connected_labels, number_trees, root_of, union_find_is_loaded
from laplacians.core.jit import WHOLE, kernel, portion

from .pixels import PixelGraph

_MANY = 2**21  # entries above which two threads pay
_N_BLOCKS = 64  # parts that threads share the edges in

# Building an igraph object takes 0.3 µs per edge or more, union-find 0.01 µs. "auto" uses igraph up to this many edges.
_IGRAPH_LIMIT = 20_000


def similar_edges(graph: PixelGraph, angle: float | None) -> np.ndarray:
    """Find the edges whose two normals differ by less than an angle.

    Parameters
    ----------
    graph : PixelGraph
    angle : float or None
        Degrees. None selects no edge.

    Returns
    -------
    (n_edges,) bool
    """
    out = np.zeros(graph.n_edges, dtype=bool)
    if angle is not None:
        _similar(graph.map.normals, graph.tail, graph.head, np.cos(np.radians(angle)), out)
    return out


def components_by_angle(graph: PixelGraph, angle: float | None, alike: np.ndarray | None = None) -> np.ndarray:
    """(n_pixels,) int32 components of Q0: pixels joined by similar edges, or every pixel alone if the angle is None.

    `alike` (n_edges,) bool, if given, restricts the edges that may join.
    """
    if angle is None:
        return np.arange(graph.n_pixels, dtype=np.int32)
    if alike is not None:
        edges = similar_edges(graph, angle) & alike
        return connected_components(graph.n_pixels, graph.tail[edges], graph.head[edges])
    labels = np.arange(graph.n_pixels, dtype=np.int32)
    _unite_similar(labels, graph.map.normals, graph.tail, graph.head, np.cos(np.radians(angle)))
    number_trees(labels)
    return labels


def cut_edges(graph: PixelGraph, labels: np.ndarray) -> np.ndarray:
    """(n_cut,) int32 numbers of the edges whose ends have different labels, in increasing order."""
    first = np.arange(_N_BLOCKS + 1) * graph.n_edges // _N_BLOCKS
    count, out = np.zeros(_N_BLOCKS, dtype=np.int64), np.empty(graph.n_edges, dtype=np.int32)
    _list_cut(labels, graph.tail, graph.head, first, count, out)
    return np.concatenate([out[i : i + n] for i, n in zip(first.tolist(), count.tolist())])


def equal_parts(graph: PixelGraph, value: np.ndarray) -> np.ndarray:
    """(n_pixels,) int32 connected parts of equal values (n_pixels,) int32, numbered by their first pixel."""
    labels = np.arange(graph.n_pixels, dtype=np.int32)
    _unite_equal(labels, value, graph.tail, graph.head)
    number_trees(labels)
    return labels


def connected_components(n: int, tail: np.ndarray, head: np.ndarray, engine: str = "auto") -> np.ndarray:
    """Find the connected components of a graph.

    Parameters
    ----------
    n : int
        Number of nodes.
    tail, head : (n_edges,) integers
        The two ends of each edge.
    engine : "auto", "igraph" or "union-find"
        "auto" uses union-find at pixel scale, and where it has been used before; otherwise igraph, which takes half a
        second to import. Both give the same labels.

    Returns
    -------
    (n,) int32
        Component of each node. Components are numbered by their first node.

    Examples
    --------
    >>> connected_components(4, np.array([0, 2]), np.array([1, 3])).tolist()
    [0, 0, 1, 1]
    """
    if engine == "auto":
        engine = "igraph" if len(tail) <= _IGRAPH_LIMIT and not union_find_is_loaded() else "union-find"
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


@kernel(parallel_from=_MANY)
def _similar(normals, tail, head, cosine, out, share=WHOLE):
    """Write whether the unit normals at the two ends of each edge have a product above `cosine`."""
    for e in portion(len(out), share):
        a, b = np.uint32(tail[e]), np.uint32(head[e])
        dot = normals[a, 0] * normals[b, 0] + normals[a, 1] * normals[b, 1] + normals[a, 2] * normals[b, 2]
        out[e] = dot > cosine


@kernel
def _unite_similar(parent, normals, tail, head, cosine):
    """Join the trees of both ends of every edge whose unit normals have a product above `cosine`.

    Edges inside a tree are passed over, which are most. `parent` holds 0, 1, 2, … on entry; afterwards the root of every
    tree is its least pixel.
    """
    for e in range(len(tail)):
        a, b = np.uint32(tail[e]), np.uint32(head[e])  # unsigned: Numba need not look for negative ones
        i, j = parent[a], parent[b]
        if i == j:
            continue
        i, j = root_of(parent, i), root_of(parent, j)
        if i != j:
            dot = normals[a, 0] * normals[b, 0] + normals[a, 1] * normals[b, 1] + normals[a, 2] * normals[b, 2]
            if dot > cosine:
                parent[max(i, j)] = min(i, j)


@kernel
def _unite_equal(parent, value, tail, head):
    """Join the trees of both ends of every edge whose pixels have the same value; as `_unite_similar` otherwise."""
    for e in range(len(tail)):
        a, b = np.uint32(tail[e]), np.uint32(head[e])
        i, j = parent[a], parent[b]
        if i != j and value[a] == value[b]:
            i, j = root_of(parent, i), root_of(parent, j)
            parent[max(i, j)] = min(i, j)


@kernel(parallel_from=_MANY)
def _list_cut(labels, tail, head, first, count, out, share=WHOLE):
    """Write the numbers of the cut edges of each block of edges to `out`, from the first place of the block on.

    A block has room for all its edges; what is not written takes no memory.
    """
    for b in portion(len(count), share):
        k = first[b]
        for e in range(first[b], first[b + 1]):
            if labels[np.uint32(tail[e])] != labels[np.uint32(head[e])]:
                out[k] = e
                k += 1
        count[b] = k - first[b]
