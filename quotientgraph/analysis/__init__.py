"""Decompositions as graphs to be studied: tables for other libraries, the merge tree, measures, better decompositions.

graph.tables(potential)                 columns for igraph, networkx, pandas, scipy.sparse; `GraphTables`
result.hierarchy                        which component merged into which; `Hierarchy`
resistances(graph, potential)           effective resistance of borders, uncertainty of scales
connection(graph, potential, a, b)      how firmly two regions are held to each other
face_residuals, cycle_residuals         where the normals contradict each other
bridges, articulation                   what hangs on a single border or component
absorb_small, split_by_image, …         functions that take a graph and give a better one
"""

from ..graph.tables import GraphTables
from .decompositions import absorb_small, coarsened, split_at_lines, split_by_image
from .hierarchy import Hierarchy
from .measures import Bridges, articulation, bridges, cycle_residuals, face_residuals
from .resistance import Resistances, connection, resistances, strengths
from .tables import component_tables, edge_tables, pixel_tables

__all__ = [
    "Bridges",
    "GraphTables",
    "Hierarchy",
    "Resistances",
    "absorb_small",
    "articulation",
    "bridges",
    "coarsened",
    "component_tables",
    "connection",
    "cycle_residuals",
    "edge_tables",
    "face_residuals",
    "pixel_tables",
    "resistances",
    "split_at_lines",
    "split_by_image",
    "strengths",
]
