"""Decompositions for scikit-image and napari, whose label images have 0 for the background.

Component c has the label c + 1 there: use ``graph.label_image() + 1``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.quotient import Quotient
from ..graph.tables import GraphTables

if TYPE_CHECKING:
    import napari
    import skimage.graph


def to_rag(tables: GraphTables, weight: str = "similarity") -> skimage.graph.RAG:
    """A region adjacency graph of scikit-image, for `cut_threshold`, `cut_normalized` and `merge_hierarchical`.

    Parameters
    ----------
    tables : GraphTables
        As `quotientgraph.analysis.tables.component_tables` makes them.
    weight : "similarity" or "distance"
        What the edge attribute `weight` is. scikit-image's `cut_normalized` takes similarities: here the number of pixel
        edges between two components, each counted by its outlier weight. `cut_threshold` and `merge_hierarchical` take
        distances: here the mean |residual| of the border in pixels.

    Returns
    -------
    skimage.graph.RAG
        Nodes are numbered component + 1 and have the attribute `labels`, as scikit-image expects, with all columns of the
        tables. The label image that goes with it is ``graph.label_image() + 1``.
    """
    try:
        from skimage.graph import RAG
    except ImportError as error:
        raise ImportError('to_rag needs scikit-image: pip install "quotientgraph[graphs]"') from error
    if weight == "similarity":
        value = tables.edges["n_edges"] * tables.edges["outlier"]
    elif weight == "distance":
        value = tables.edges["pixels"]
    else:
        raise ValueError(f'weight={weight!r} is not known; use "similarity" or "distance"')
    out = RAG()
    names = list(tables.nodes)
    for c, row in enumerate(zip(*(column.tolist() for column in tables.nodes.values())), start=1):
        out.add_node(c, labels=[c], **dict(zip(names, row)))
    names = [*tables.edges, "weight"]
    columns = [*(column.tolist() for column in tables.edges.values()), value.tolist()]
    for tail, head, *values in zip(tables.tail.tolist(), tables.head.tolist(), *columns):
        out.add_edge(tail + 1, head + 1, **dict(zip(names, values)))
    return out


def to_napari(graph: Quotient, tables: GraphTables, **options: Any) -> napari.layers.Labels:
    """A `Labels` layer of napari: label c + 1 is component c, 0 the background, and features are the columns of the nodes.

    Parameters
    ----------
    graph : Quotient
    tables : GraphTables
        Its tables.
    **options
        Passed on to `napari.layers.Labels`, such as `name` or `opacity`.

    Returns
    -------
    napari.layers.Labels
        Add it to a viewer with ``viewer.add_layer(layer)``. No window is needed to make it.
    """
    try:
        from napari.layers import Labels
    except ImportError as error:
        raise ImportError('to_napari needs napari: pip install "quotientgraph[napari]"') from error
    nodes, _ = tables.to_pandas()
    features = nodes.reset_index(names="component")
    features.index = features.index + 1
    features = features.reindex(np.arange(len(features) + 1))  # row i belongs to label i; 0 is the background
    features.insert(0, "index", features.index)
    return Labels(graph.label_image() + 1, **{"name": f"components of Q{graph.level}", "features": features, **options})
