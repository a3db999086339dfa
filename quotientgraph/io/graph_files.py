"""Graphs with attributes as files: GraphML, CSV and Parquet. Every write is atomic."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from ..graph.tables import GraphTables, Table
from .atomic import OutputError, atomic
from .depth_files import write_graphml
from .formats import InputError, check_file

SUFFIXES = (".graphml", ".csv", ".parquet")


def write_tables(path: Path | str, tables: GraphTables) -> list[Path]:
    """Write a graph: ``.graphml`` as one file; ``.csv`` or ``.parquet`` as two, whose names end in _nodes and _edges.

    Numbers are kept to the last digit. CSV keeps neither `about` nor the types of columns: whole numbers are read as int64,
    others as float64, and columns without rows as int64. Parquet needs pandas and pyarrow.

    Returns
    -------
    list of Path
        The files that were written.
    """
    if not isinstance(tables, GraphTables):
        raise TypeError(
            f"tables: expected GraphTables, got a {type(tables).__name__}; pass for instance graph.tables()"
        )
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".graphml":
        write_graphml(path, tables.to_networkx())
        return [path]
    nodes, edges = _pair(path)
    columns = {"tail": tables.tail, "head": tables.head, **tables.edges}
    if suffix == ".csv":
        with atomic(nodes) as first, atomic(edges) as second:
            _write_csv(first, tables.nodes)
            _write_csv(second, columns)
    elif suffix == ".parquet":
        _need_parquet()
        frames = tables.to_pandas()
        with atomic(nodes) as first, atomic(edges) as second:
            frames[0].to_parquet(first)
            frames[1].to_parquet(second)
    else:
        raise OutputError(f"{path}: the suffix of a graph is one of {' '.join(SUFFIXES)}, got {suffix!r}")
    return [nodes, edges]


def read_tables(path: Path | str) -> GraphTables:
    """Read what `write_tables` wrote, by the same name; `InputError` says what is wrong with a file."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{path}: the suffix of a graph is one of {' '.join(SUFFIXES)}, got {suffix!r}")
    files = [path] if suffix == ".graphml" else _pair(path)
    for file in files:
        check_file(file)
    if suffix == ".parquet":
        _need_parquet()
    try:
        if suffix == ".graphml":
            return _read_graphml(path)
        if suffix == ".csv":
            nodes, edges = (_read_csv(file) for file in files)
            tail, head = (edges.pop(name).astype(np.int32) for name in ("tail", "head"))
            return GraphTables(nodes, tail, head, edges)
        import pandas

        return GraphTables.from_pandas(*(pandas.read_parquet(file) for file in files))
    except Exception as error:  # parsers raise what they like
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path}: not a graph that can be read ({said}); write it with write_tables") from error


def _pair(path: Path) -> list[Path]:
    return [path.with_name(f"{path.stem}_{part}{path.suffix}") for part in ("nodes", "edges")]


def _need_parquet() -> None:
    try:
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError('Parquet needs pandas and pyarrow: pip install "quotientgraph[graphs]"') from error


def _read_graphml(path: Path) -> GraphTables:
    import networkx

    graph = networkx.read_graphml(path, node_type=int)
    for name in ("node_default", "edge_default"):
        graph.graph.pop(name, None)
    if not graph.is_multigraph():
        for _, _, data in graph.edges(data=True):
            data.pop("id", None)  # how networkx keeps the key of an edge of a MultiGraph
    return GraphTables.from_networkx(graph)


def _write_csv(path: Path, table: Table) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values())))


def _read_csv(path: Path) -> Table:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise ValueError(f"{path.name} has no header, or rows of different lengths")
    columns = list(zip(*rows[1:])) or [()] * len(rows[0])
    return {name: _parsed(column) for name, column in zip(rows[0], columns)}


def _parsed(column: tuple[str, ...]) -> np.ndarray:
    """A column of truth values, whole numbers or floats."""
    if column and set(column) <= {"True", "False"}:
        return np.array([text == "True" for text in column])
    try:
        return np.array([int(text) for text in column], dtype=np.int64)
    except ValueError:
        return np.array([float(text) for text in column])
