"""A `Hierarchy` in the notations of others: SciPy's linkage matrix, Newick's text, higra's tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from laplacians.core.jit import kernel
from laplacians.system import Pattern

if TYPE_CHECKING:
    from .hierarchy import Hierarchy


def linkage(tree: Hierarchy, height: str = "residual", apart: float = np.inf) -> np.ndarray:
    """(n_leaves − 1, 4) float64 linkage matrix for `scipy.cluster.hierarchy`; see `Hierarchy.linkage`."""
    if height not in ("residual", "level"):
        raise ValueError(f'height={height!r} is not known; use "residual" or "level"')
    n = tree.n_leaves
    tall = tree.altitude[n:] if height == "residual" else tree.level.astype(np.float64)
    order = np.argsort(tall, kind="stable")  # a cluster is never lower than its parts, and comes after them
    name = np.arange(n + tree.n_merges)
    name[n + order] = n + np.arange(tree.n_merges)
    out = np.empty((n - 1, 4))
    out[: tree.n_merges] = np.column_stack([name[tree.first], name[tree.second], tall, tree.n_leaves_of[n:]])[order]
    roots = np.flatnonzero(tree.parent < 0)
    joined, held = name[roots[0]], tree.n_leaves_of[roots[0]]
    for row, root in enumerate(roots[1:], start=tree.n_merges):
        held += tree.n_leaves_of[root]
        out[row] = joined, name[root], apart, held
        joined = n + row
    return out


def newick(tree: Hierarchy) -> str:
    """The tree in Newick's notation; see `Hierarchy.newick`."""
    n, high = tree.n_leaves, tree.altitude
    roots = np.flatnonzero(tree.parent < 0).tolist()
    text: list[str] = ["("] if len(roots) > 1 else []
    # What is still to be written, last first: a cluster, or a text.
    waiting: list[int | str] = [");"] if len(roots) > 1 else [";"]
    for k, root in enumerate(reversed(roots)):
        waiting += [root] if k == 0 else [",", root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            text.append(item)
        elif item < n:
            text.append(str(item))
        else:
            a, b = int(tree.first[item - n]), int(tree.second[item - n])
            text.append("(")
            waiting += [")", f":{high[item] - high[b]:.9g}", b, ",", f":{high[item] - high[a]:.9g}", a]
    return "".join(text)


def parents_and_altitudes(tree: Hierarchy, leaves: str = "components") -> tuple[np.ndarray, np.ndarray]:
    """The tree as higra stores it, which needs no library: every node before its parent, the root last, its own parent.

    Parameters
    ----------
    tree : Hierarchy
    leaves : "components" or "pixels"
        As in `Hierarchy.to_higra`.

    Returns
    -------
    parents : (n_nodes,) int64
    altitudes : (n_nodes,) float64
        In pixels. Clusters that nothing joins, and the pixels without a normal, are joined at infinity.
    """
    if leaves not in ("components", "pixels"):
        raise ValueError(f'leaves={leaves!r} is not known; use "components" or "pixels"')
    n, n_clusters = tree.n_leaves, tree.n_leaves + tree.n_merges
    order = np.append(np.arange(n), n + np.argsort(tree.altitude[n:], kind="stable"))
    place = np.empty(n_clusters + 1, dtype=np.int64)
    place[order] = np.arange(n_clusters)
    place[-1] = n_clusters  # the node above all roots; tree.parent is −1 there, which points to this entry
    above, altitude = place[tree.parent[order]], tree.altitude[order]
    single = (tree.parent < 0).sum() == 1
    if leaves == "components":
        if single:
            return np.append(above[:-1], n_clusters - 1), altitude
        return np.append(above, n_clusters), np.append(altitude, np.inf)
    source = tree.base.pixels.map
    n_image = source.index.size
    pixel = np.full(n_image, n_image + n_clusters, dtype=np.int64)  # without a normal: right below the root
    pixel[source.position] = n_image + place[tree.base.labels]
    if single and len(source.position) == n_image:
        return np.concatenate([pixel, n_image + above[:-1], [n_image + n_clusters - 1]]), np.append(
            np.zeros(n_image), altitude
        )
    return (
        np.concatenate([pixel, n_image + above, [n_image + n_clusters]]),
        np.concatenate([np.zeros(n_image), altitude, [np.inf]]),
    )


def to_higra(tree: Hierarchy, leaves: str = "components") -> tuple[Any, np.ndarray]:
    """A higra `Tree` and the altitude of its nodes; see `Hierarchy.to_higra`."""
    try:
        import higra
    except ImportError as error:
        raise ImportError('to_higra needs higra: pip install "quotientgraph[graphs]"') from error
    parents, altitudes = parents_and_altitudes(tree, leaves)
    out = higra.Tree(parents)
    if leaves == "pixels":
        graph = higra.get_4_adjacency_graph(tree.base.pixels.map.shape)
    else:
        pattern, _, _ = Pattern.from_edges(tree.n_leaves, tree.base.tail, tree.base.head)
        graph = higra.UndirectedGraph(tree.n_leaves)
        graph.add_edges(pattern.tail, pattern.head)
    higra.CptHierarchy.link(out, graph)
    return out, altitudes


@kernel
def _add_up(first, second, total):
    """Write the sum of its two parts for each merge; the values of the leaves are there already."""
    n = len(total) - len(first)
    for i in range(len(first)):
        total[n + i] = total[first[i]] + total[second[i]]


def cluster_sums(tree: Hierarchy, values: np.ndarray) -> np.ndarray:
    """(n_leaves + n_merges,) sums of the values (n_leaves,) over the leaves of every cluster."""
    out = np.zeros(tree.n_leaves + tree.n_merges, dtype=values.dtype)
    out[: tree.n_leaves] = values
    _add_up(tree.first, tree.second, out)
    return out
