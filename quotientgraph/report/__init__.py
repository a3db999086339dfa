"""Pictures of a reconstruction, and the report: one HTML file that opens from disk.

    write_report(result, "bear.html")      the whole story, with a 3-D view, in one self-contained file
    depth_picture, label_picture, …        (H, W, 3) uint8 arrays, ready for any image writer
    border_picture, graph_picture, …       the same of decompositions as graphs; dendrogram_svg of their merge tree
    figures(result)                        matplotlib figures, for papers
    show(result)                           what `result.show()` displays: the report's views in a notebook
    html_fragment(result), graph_fragment  small static summaries, which notebooks show for a result and a graph

Colours, charts and the 3-D viewer are the package's own; matplotlib is needed by `figures` alone.
"""

from .coloring import component_picture
from .dendrogram import dendrogram_svg
from .figures import figures
from .graph_pictures import border_picture, graph_picture, uncertainty_picture
from .notebook import Fragment, frame_fragment, graph_fragment, html_fragment, show
from .page import write_report
from .pictures import (
    depth_picture,
    label_picture,
    normal_picture,
    overview_picture,
    residual_picture,
    shaded_picture,
)

__all__ = [
    "Fragment",
    "border_picture",
    "component_picture",
    "dendrogram_svg",
    "depth_picture",
    "figures",
    "frame_fragment",
    "graph_fragment",
    "graph_picture",
    "html_fragment",
    "label_picture",
    "normal_picture",
    "overview_picture",
    "residual_picture",
    "shaded_picture",
    "show",
    "uncertainty_picture",
    "write_report",
]
