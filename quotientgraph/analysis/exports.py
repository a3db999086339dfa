"""`ExportedQuotient`: a quotient graph with the ways to other libraries and to files."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..beyond.hidden_jumps import hidden_jumps
from ..graph.quotient import Quotient
from ..graph.tables import GraphTables, Table
from ..method.filling import fill
from ..method.optimize import backend_of
from . import libraries, storage, tables

if TYPE_CHECKING:
    import igraph
    import napari
    import networkx
    import pandas
    import skimage.graph


class ExportedQuotient(Quotient):
    """A quotient graph that can be taken to igraph, networkx, pandas, scikit-image and napari, and saved.

    Wherever a `potential` (n_pixels,) can be given, such as `result.potential`, areas, points, residuals and weights are
    taken there; by default each component is filled on its own.
    """

    def filled(self, solver: Any = "auto", filling: str = "contracted") -> np.ndarray:
        """(n_pixels,) potential of each component integrated on its own, of zero mean over each.

        Parameters
        ----------
        solver : "auto", str or object with ``solve(system)``
        filling : "contracted" or "induced"
            Whether the depth jumps hidden in components are left out, or all edges inside components count.
        """
        backend = solver if isinstance(solver, str) and solver == "auto" else backend_of(solver, "solver")
        if filling not in ("contracted", "induced"):
            raise ValueError(f'filling={filling!r} is not known; use "contracted" or "induced"')
        return fill(self, backend, hidden_jumps if filling == "contracted" else None).potential

    def tables(self, potential: np.ndarray | None = None, *, multi: bool = False) -> GraphTables:
        """The graph as columns of numbers, from which every other export is made.

        Parameters
        ----------
        potential : (n_pixels,) float64, optional
        multi : bool
            Whether every cut edge of G0 is an edge of its own, with parallel edges between components; by default there is
            one edge per pair of adjacent components.

        Returns
        -------
        GraphTables
            The columns are described in `quotientgraph.analysis.tables`.
        """
        at = self.filled() if potential is None else np.asarray(potential, dtype=np.float64)
        if at.shape != (self.pixels.n_pixels,):
            raise ValueError(f"potential: expected one value per valid pixel, {self.pixels.n_pixels}, got {at.shape}")
        return tables.edge_tables(self, at) if multi else tables.component_tables(self, at)

    def node_table(self, potential: np.ndarray | None = None) -> Table:
        """Columns with one entry per component; see `quotientgraph.analysis.tables.node_columns`."""
        return tables.node_columns(self, potential)

    def edge_table(self, potential: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, Table]:
        """Tail, head and columns of the pairs of adjacent components; see `quotientgraph.analysis.tables.pair_columns`."""
        found = self.tables(potential)
        return found.tail, found.head, found.edges

    def to_igraph(self, potential: np.ndarray | None = None, *, multi: bool = False) -> igraph.Graph:
        """An igraph `Graph` of the components, with the attributes of `tables`."""
        return self.tables(potential, multi=multi).to_igraph()

    def to_networkx(self, potential: np.ndarray | None = None, *, multi: bool = False) -> networkx.Graph:
        """A networkx `Graph` of the components, or a `MultiGraph`, with the attributes of `tables`."""
        return self.tables(potential, multi=multi).to_networkx(multi)

    def to_pandas(
        self, potential: np.ndarray | None = None, *, multi: bool = False
    ) -> tuple[pandas.DataFrame, pandas.DataFrame]:
        """Two pandas tables, of the components and of the edges between them."""
        return self.tables(potential, multi=multi).to_pandas()

    def to_rag(self, potential: np.ndarray | None = None, *, weight: str = "similarity") -> skimage.graph.RAG:
        """A region adjacency graph of scikit-image; see `quotientgraph.analysis.libraries.to_rag`."""
        return libraries.to_rag(self.tables(potential), weight)

    def to_napari(self, potential: np.ndarray | None = None, **options: Any) -> napari.layers.Labels:
        """A `Labels` layer of napari whose features are the node table; see `quotientgraph.analysis.libraries`."""
        return libraries.to_napari(self, self.tables(potential), **options)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the decomposition with its levels, normals and camera into one file, which `load` reads."""
        storage.save_graph(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a decomposition that `save` wrote; nothing in the file can run code.

        `levels` of the result are those that were saved. `quotientgraph.io.InputError` says what is wrong with a file.
        """
        return storage.load_graph(path, cls)
