"""What notebooks and `result.show()` display."""

from __future__ import annotations

import math
import os
import sys
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from .color import brief
from .facts import headline, verdict
from .figures import draw_convergence, draw_maps
from .gallery import Picture, png_uri, shrink
from .page import inline_html
from .pictures import label_picture, overview_picture

if TYPE_CHECKING:
    from ..quotient_graph import QuotientGraph
    from ..result import Reconstruction

_MAX_SIDE = 720


class Fragment(str):
    """HTML text that notebooks render instead of quoting."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<HTML of {len(self):,} characters, shown by notebooks>"


def html_fragment(result: Reconstruction) -> str:
    """Return a small static summary of a result as HTML: one picture, a few numbers and the warnings, without scripts.

    Parameters
    ----------
    result : Reconstruction

    Returns
    -------
    str

    Examples
    --------
    >>> from quotientgraph import integrate
    >>> html_fragment(integrate(np.tile([0.0, 0.0, 1.0], (8, 9, 1))))[:4]
    '<div'
    """
    rgb = overview_picture(result)
    overview = Picture("overview", "", "", rgb, np.ones(rgb.shape[:2], dtype=bool), "")
    uri = png_uri(shrink(overview, math.ceil(max(rgb.shape) / _MAX_SIDE))[..., :3])
    warnings = "".join(f"<li>{escape(str(w))}</li>" for w in getattr(result, "warnings", None) or [])
    listed = f'<ul style="margin:.3em 0 0;padding-left:1.3em">{warnings}</ul>' if warnings else ""
    return _summary(uri, "Normals, components and depth", headline(result), escape(verdict(result)) + listed)


def _summary(uri: str, alt: str, numbers: list[tuple[str, str]], below: str) -> str:
    cells = "".join(
        '<div style="margin-right:2.2em"><div style="opacity:.65;font-size:.85em">'
        f"{escape(k)}</div><div>{escape(v)}</div></div>"
        for k, v in numbers
    )
    return (
        '<div style="font-family:system-ui,sans-serif;line-height:1.45;max-width:760px">'
        f'<img src="{uri}" alt="{escape(alt)}" '
        'style="max-width:100%;border-radius:6px;background:#fff;padding:6px">'
        f'<div style="display:flex;flex-wrap:wrap;margin:.5em 0">{cells}</div>'
        f"<div>{below}</div></div>"
    )


def graph_fragment(graph: QuotientGraph) -> str:
    """Return a small static summary of a graph as HTML: its components in colours and a few numbers, without scripts.

    Examples
    --------
    >>> from quotientgraph import QuotientGraph
    >>> graph_fragment(QuotientGraph.from_normals(np.tile([0.0, 0.0, 1.0], (8, 9, 1))))[:4]
    '<div'
    """
    labels = graph.label_image()
    picture = Picture("components", "", "", label_picture(labels), labels >= 0, "", nearest=True)
    uri = png_uri(shrink(picture, math.ceil(max(labels.shape) / (_MAX_SIDE // 2))))
    height, width = labels.shape
    numbers = [
        ("Level", f"Q{graph.level}"),
        ("Components", brief(int(graph.n_components))),
        ("Cut edges", brief(len(graph.cut))),
        ("Valid pixels", brief(int(np.sum(labels >= 0)))),
        ("Image", f"{width} × {height}"),
    ]
    return _summary(uri, "Components of the graph, each in a colour of its own", numbers, "")


def frame_fragment(result: Reconstruction, image: np.ndarray | None = None, height: int = 720) -> str:
    """Return the two linked views of the report in a frame, for a notebook: complete, without network.

    Parameters
    ----------
    result : Reconstruction
    image : (H, W, 3) or (H, W) array, optional
        A photograph of the scene.
    height : int
        Of the frame, in pixels.

    Returns
    -------
    str
    """
    page = escape(inline_html(result, image=image), quote=True)
    warnings = "".join(f"<li>{escape(str(w))}</li>" for w in getattr(result, "warnings", None) or [])
    listed = f"<ul>{warnings}</ul>" if warnings else ""
    return (
        f'<iframe srcdoc="{page}" title="Views of the surface" allowfullscreen '
        f'style="width:100%;height:{int(height)}px;border:0"></iframe>'
        f'<div style="font-family:system-ui,sans-serif">{escape(verdict(result))}{listed}</div>'
    )


def show(result: Reconstruction, image: np.ndarray | None = None) -> Fragment | None:
    """Show a result: in a notebook with the views of the report, elsewhere in windows of matplotlib.

    Parameters
    ----------
    result : Reconstruction
    image : (H, W, 3) or (H, W) array, optional
        A photograph of the scene, for the views in a notebook.

    Returns
    -------
    Fragment or None
        A `Fragment` in a notebook; the static summary where there is no display or no matplotlib; otherwise None.
    """
    if "ipykernel" in sys.modules:
        return Fragment(frame_fragment(result, image))
    if not _has_display():
        return Fragment(html_fragment(result))
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return Fragment(html_fragment(result))
    if plt.get_backend().lower() in ("agg", "pdf", "ps", "svg", "cairo", "template"):
        return Fragment(html_fragment(result))
    draw_maps(plt.figure(figsize=(11, 7)), result)
    draw_convergence(plt.figure(figsize=(10, 3.4)), result)
    plt.show()
    return None


def _has_display() -> bool:
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
