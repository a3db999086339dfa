"""Quotient graphs for other libraries: tables of components and borders, igraph, networkx."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from laplacians.system import Pattern

from .quotient import Quotient

if TYPE_CHECKING:
    import igraph
    import networkx

Table = dict[str, np.ndarray]


def to_igraph(graph: Quotient, potential: np.ndarray) -> igraph.Graph:
    """An igraph `Graph` of the components, with the attributes of `node_table` and `edge_table`."""
    import igraph

    nodes, (tail, head, edges) = node_table(graph), edge_table(graph, potential)
    return igraph.Graph(
        graph.n_components,
        edges=np.column_stack([tail, head]),
        vertex_attrs={name: values.tolist() for name, values in nodes.items()},
        edge_attrs={name: values.tolist() for name, values in edges.items()},
    )


def to_networkx(graph: Quotient, potential: np.ndarray) -> networkx.Graph:
    """A networkx `Graph` of the components, with the attributes of `node_table` and `edge_table`."""
    import networkx

    nodes, (tail, head, edges) = node_table(graph), edge_table(graph, potential)
    out = networkx.Graph(level=graph.level)
    columns = [values.tolist() for values in nodes.values()]
    out.add_nodes_from((c, dict(zip(nodes, row))) for c, row in enumerate(zip(*columns)))
    columns = [values.tolist() for values in edges.values()]
    out.add_edges_from((t, h, dict(zip(edges, row))) for t, h, *row in zip(tail.tolist(), head.tolist(), *columns))
    return out


def node_table(graph: Quotient) -> Table:
    """Columns with one entry per component: its `size` in pixels and its bounding box.

    Returns
    -------
    dict of (n_components,) arrays
        `size`, `top`, `left`, `bottom`, `right`; the box includes its last row and column.
    """
    v, u = np.divmod(graph.pixels.map.position, graph.pixels.map.shape[1])
    table = {"size": np.bincount(graph.labels, minlength=graph.n_components)}
    for name, coordinate, reduce, start in (
        ("top", v, np.minimum, np.iinfo(np.int32).max),
        ("left", u, np.minimum, np.iinfo(np.int32).max),
        ("bottom", v, np.maximum, -1),
        ("right", u, np.maximum, -1),
    ):
        table[name] = np.full(graph.n_components, start, dtype=np.int32)
        reduce.at(table[name], graph.labels, coordinate)
    return table


def edge_table(graph: Quotient, potential: np.ndarray) -> tuple[np.ndarray, np.ndarray, Table]:
    """Columns with one entry per pair of adjacent components.

    Parameters
    ----------
    graph : Quotient
    potential : (n_pixels,) float64
        Where residuals φ_tail − φ_head − jump are taken. At the potential of components that were filled each on its own,
        the mean residual is minus the offset that would align the two.

    Returns
    -------
    tail, head : (n_pairs,) int32
    table : dict of (n_pairs,) arrays
        `n_edges` of G0 between the two components, and their mean `residual`.
    """
    tail, head = graph.tail, graph.head
    pattern, order, start = Pattern.from_edges(graph.n_components, tail, head)
    residual = np.where(tail < head, 1.0, -1.0) * graph.residual(potential)
    count = np.diff(start)
    total = np.add.reduceat(residual[order], start[:-1]) if len(order) else np.zeros(0)
    return pattern.tail, pattern.head, {"n_edges": count, "residual": total / count}
