"""`GraphTables`: a graph as columns of numbers, and the way to igraph, networkx, pandas and scipy.sparse and back.

The tables are the neutral form of every export. Node i is row i of the node columns; edge e joins tail[e] and head[e]. All
columns hold numbers or truth values, one a row, so that every library and every file format can keep them. Parallel edges
are allowed.

networkx and igraph keep rows of Python's own numbers. What these do not tell, the names of columns without rows and the
types of all, goes with the graph as the attribute `column_types`, a text, which GraphML keeps as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    import igraph
    import networkx
    import pandas
    import scipy.sparse

Table = dict[str, np.ndarray]

_TYPES = "column_types"  # the name of a graph attribute


@dataclass(frozen=True, eq=False, repr=False)
class GraphTables:
    """An undirected graph with attributes, parallel edges allowed.

    Attributes
    ----------
    nodes : dict of (n_nodes,) arrays
        At least one column, since the length of a column is the number of nodes.
    tail, head : (n_edges,) int32
        The two nodes of each edge. Signed columns, such as a residual, hold in the direction tail − head.
    edges : dict of (n_edges,) arrays
    about : dict
        Facts about the whole graph: numbers and texts.

    Examples
    --------
    >>> g = GraphTables({"size": np.array([3, 5])}, np.array([0]), np.array([1]), {"length": np.array([2.0])})
    >>> g.to_networkx().edges[0, 1]
    {'length': 2.0}
    >>> GraphTables.from_igraph(g.to_igraph()).nodes["size"].tolist()
    [3, 5]
    """

    nodes: Table
    tail: np.ndarray
    head: np.ndarray
    edges: Table
    about: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lengths = {len(column) for column in self.nodes.values()}
        if len(lengths) != 1:
            raise ValueError(
                f"nodes: expected columns of one length, at least one of them, got lengths {sorted(lengths)}"
            )
        for name, column in {"head": self.head, **self.edges}.items():
            if len(column) != len(self.tail):
                raise ValueError(f"edges: the column {name!r} has {len(column)} rows, tail has {len(self.tail)}")
        ends = np.concatenate([self.tail, self.head])
        if len(ends) and not 0 <= ends.min() <= ends.max() < self.n_nodes:
            raise ValueError(f"tail and head must lie in [0, {self.n_nodes}), the number of nodes")

    @property
    def n_nodes(self) -> int:
        return len(next(iter(self.nodes.values())))

    @property
    def n_edges(self) -> int:
        return len(self.tail)

    @property
    def has_parallel_edges(self) -> bool:
        """Whether two edges join the same two nodes."""
        low, high = np.minimum(self.tail, self.head).astype(np.int64), np.maximum(self.tail, self.head)
        return len(np.unique(low * self.n_nodes + high)) < self.n_edges

    def _types(self) -> str:
        """The types of all columns by name, as a text."""
        tables = {"nodes": self.nodes, "edges": self.edges}
        return json.dumps({part: {name: x.dtype.name for name, x in table.items()} for part, table in tables.items()})

    def to_networkx(self, multi: bool | None = None) -> networkx.Graph:
        """A networkx `Graph`, or a `MultiGraph` whose keys are the numbers of the edges.

        Parameters
        ----------
        multi : bool, optional
            By default it is a `MultiGraph` if there are parallel edges.
        """
        import networkx

        multi = self.has_parallel_edges if multi is None else multi
        if not multi and self.has_parallel_edges:
            raise ValueError("multi=False: the graph has parallel edges, which only a MultiGraph can hold")
        about = {**self.about, _TYPES: self._types()}
        out = networkx.MultiGraph(**about) if multi else networkx.Graph(**about)
        out.add_nodes_from(enumerate(_rows(self.nodes, self.n_nodes)))
        ends = zip(self.tail.tolist(), self.head.tolist())
        rows = _rows(self.edges, self.n_edges)
        if multi:
            out.add_edges_from((t, h, e, row) for e, ((t, h), row) in enumerate(zip(ends, rows)))
        else:
            out.add_edges_from((t, h, row) for (t, h), row in zip(ends, rows))
        return out

    @classmethod
    def from_networkx(cls, graph: networkx.Graph) -> Self:
        """Read back a networkx graph whose nodes are 0, 1, … or their texts; each node and edge must have all attributes.

        networkx does not keep the direction of an undirected edge. Edges of the result run from the smaller node to the
        larger, and signed columns are what the graph holds.
        """
        number = {node: int(node) for node in graph.nodes}
        if sorted(number.values()) != list(range(len(number))):
            raise ValueError(
                "graph: its nodes must be the numbers 0, 1, …; use networkx.convert_node_labels_to_integers"
            )
        order = sorted(graph.nodes, key=number.__getitem__)
        if graph.is_multigraph():
            found = [(number[a], number[b], int(key), data) for a, b, key, data in graph.edges(keys=True, data=True)]
            found.sort(key=lambda edge: edge[2])
        else:
            found = [(number[a], number[b], 0, data) for a, b, data in graph.edges(data=True)]
            found.sort(key=lambda edge: (min(edge[:2]), max(edge[:2])))
        tail = np.array([min(edge[:2]) for edge in found], dtype=np.int32)
        head = np.array([max(edge[:2]) for edge in found], dtype=np.int32)
        about = dict(graph.graph)
        node_types, edge_types = _read_types(about.pop(_TYPES, None))
        nodes = _columns([graph.nodes[node] for node in order], "node", node_types)
        edges = _columns([edge[3] for edge in found], "edge", edge_types)
        return cls(nodes or {"node": np.arange(len(order))}, tail, head, edges, about)

    def to_igraph(self) -> igraph.Graph:
        """An igraph `Graph`; vertices and edges have the numbers that they have here."""
        import igraph

        return igraph.Graph(
            self.n_nodes,
            edges=np.column_stack([self.tail, self.head]),
            vertex_attrs={name: column.tolist() for name, column in self.nodes.items()},
            edge_attrs={name: column.tolist() for name, column in self.edges.items()},
            graph_attrs={**self.about, _TYPES: self._types()},
        )

    @classmethod
    def from_igraph(cls, graph: igraph.Graph) -> Self:
        """Read back an igraph graph; its attributes must be numbers or truth values."""
        ends = np.array(graph.get_edgelist(), dtype=np.int32).reshape(-1, 2)
        about = {name: graph[name] for name in graph.attributes()}
        node_types, edge_types = _read_types(about.pop(_TYPES, None))
        nodes = {name: _column(graph.vs[name], f"node attribute {name!r}", node_types.get(name))
                 for name in graph.vs.attributes()}  # fmt: skip
        edges = {name: _column(graph.es[name], f"edge attribute {name!r}", edge_types.get(name))
                 for name in graph.es.attributes()}  # fmt: skip
        return cls(nodes or {"node": np.arange(graph.vcount())}, ends[:, 0], ends[:, 1], edges, about)

    def to_pandas(self) -> tuple[pandas.DataFrame, pandas.DataFrame]:
        """Two pandas tables: nodes, whose index is the number of the node, and edges, with the columns tail and head."""
        pandas = _pandas()
        nodes = pandas.DataFrame(self.nodes, index=pandas.RangeIndex(self.n_nodes, name="node"))
        edges = pandas.DataFrame({"tail": self.tail, "head": self.head, **self.edges})
        edges.index.name = "edge"
        nodes.attrs, edges.attrs = dict(self.about), dict(self.about)
        return nodes, edges

    @classmethod
    def from_pandas(cls, nodes: pandas.DataFrame, edges: pandas.DataFrame) -> Self:
        """Read back the two tables of `to_pandas`."""
        columns = {str(name): edges[name].to_numpy() for name in edges.columns}
        missing = {"tail", "head"} - set(columns)
        if missing:
            raise ValueError(f"edges: the table needs the columns tail and head, it has {', '.join(columns)}")
        tail, head = (columns.pop(name).astype(np.int32) for name in ("tail", "head"))
        given = {str(name): nodes[name].to_numpy() for name in nodes.columns}
        return cls(given or {"node": np.arange(len(nodes))}, tail, head, columns, dict(nodes.attrs))

    def adjacency(self, weight: str | np.ndarray | None = None) -> scipy.sparse.csr_array:
        """(n_nodes, n_nodes) symmetric matrix of the weights between nodes; those of parallel edges add up.

        Parameters
        ----------
        weight : str or (n_edges,) array, optional
            The name of an edge column, or values; by default every edge counts one.
        """
        import scipy.sparse

        value = self.weights(weight)
        rows, columns = np.concatenate([self.tail, self.head]), np.concatenate([self.head, self.tail])
        both = np.concatenate([value, value])
        return scipy.sparse.coo_array((both, (rows, columns)), (self.n_nodes, self.n_nodes)).tocsr()

    def incidence(self) -> scipy.sparse.csr_array:
        """(n_edges, n_nodes) matrix B with +1 at the tail and −1 at the head of each edge, so that B φ = φ_tail − φ_head."""
        import scipy.sparse

        edge = np.arange(self.n_edges)
        sign = np.concatenate([np.ones(self.n_edges), -np.ones(self.n_edges)])
        at = (np.concatenate([edge, edge]), np.concatenate([self.tail, self.head]))
        return scipy.sparse.coo_array((sign, at), (self.n_edges, self.n_nodes)).tocsr()

    def laplacian(self, weight: str | np.ndarray | None = None) -> scipy.sparse.csr_array:
        """(n_nodes, n_nodes) matrix Bᵀ W B with the weights of `adjacency`."""
        import scipy.sparse

        between = self.adjacency(weight)
        return (scipy.sparse.diags_array(np.asarray(between.sum(axis=1)).ravel()) - between).tocsr()

    def weights(self, weight: str | np.ndarray | None = None) -> np.ndarray:
        """(n_edges,) float64 from the name of a column, from values, or ones."""
        if weight is None:
            return np.ones(self.n_edges)
        if isinstance(weight, str):
            if weight not in self.edges:
                raise ValueError(f"weight={weight!r} is no column of the edges; use one of {', '.join(self.edges)}")
            return self.edges[weight].astype(np.float64)
        given = np.asarray(weight, dtype=np.float64)
        if given.shape != (self.n_edges,):
            raise ValueError(f"weight: expected one value per edge, {self.n_edges}, got shape {given.shape}")
        return given

    def __repr__(self) -> str:
        nodes, edges = ", ".join(self.nodes), ", ".join(self.edges)
        return f"<GraphTables: {self.n_nodes} nodes ({nodes}), {self.n_edges} edges ({edges})>"


def _read_types(text: str | None) -> tuple[dict[str, np.dtype], dict[str, np.dtype]]:
    """The types of node and edge columns by name, as `GraphTables._types` wrote them; none for graphs made elsewhere."""
    if text is None:
        return {}, {}
    try:
        given = json.loads(text)
        nodes, edges = ({name: np.dtype(kind) for name, kind in given[part].items()} for part in ("nodes", "edges"))
        if any(dtype.kind not in "biuf" for dtype in (*nodes.values(), *edges.values())):
            raise ValueError("a type that is neither of numbers nor of truth values")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"graph: cannot read its attribute {_TYPES!r} ({error}); delete it") from None
    return nodes, edges


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError('tables of pandas need pandas: pip install "quotientgraph[graphs]"') from error
    return pandas


def _rows(table: Table, n: int) -> Any:
    """One dict per row, made of Python's own numbers."""
    if not table:
        return ({} for _ in range(n))
    names = list(table)
    return (dict(zip(names, row)) for row in zip(*(column.tolist() for column in table.values())))


def _columns(rows: list[Mapping[str, Any]], kind: str, types: Mapping[str, np.dtype]) -> Table:
    if not rows:
        return {name: np.zeros(0, dtype) for name, dtype in types.items()}
    names = list(rows[0])
    for i, row in enumerate(rows):
        if set(row) != set(names):
            raise ValueError(f"graph: {kind} {i} has the attributes {sorted(row)}, the first has {sorted(names)}")
    return {name: _column([row[name] for row in rows], f"{kind} attribute {name!r}", types.get(name)) for name in names}


def _column(values: list[Any], what: str, dtype: np.dtype | None = None) -> np.ndarray:
    """The values as an array: of the given type where it holds them, since they may have been changed on the way.

    Some libraries write whole numbers as others; truth values remain what they are everywhere.
    """
    column = np.array(values)
    if column.ndim != 1 or column.dtype.kind not in "biuf":
        raise ValueError(f"graph: the {what} is not a column of numbers or truth values; leave it out of the graph")
    if dtype is None or (len(column) and (column.dtype.kind == "b") != (dtype.kind == "b")):
        return column
    with np.errstate(over="ignore", invalid="ignore"):
        cast = column.astype(dtype)
    return cast if np.array_equal(cast, column, equal_nan=True) else column
