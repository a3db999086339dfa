"""What notebooks and `result.show()` display."""

from __future__ import annotations

import math
import os
import sys
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from .facts import headline, verdict
from .figures import draw_convergence, draw_maps
from .gallery import Picture, png_uri, shrink
from .pictures import overview_picture

if TYPE_CHECKING:
    from ..result import Reconstruction

_MAX_SIDE = 720


class Fragment(str):
    """HTML text that notebooks render instead of quoting."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)


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
    cells = "".join(
        '<div style="margin-right:2.2em"><div style="opacity:.65;font-size:.85em">'
        f"{escape(k)}</div><div>{escape(v)}</div></div>"
        for k, v in headline(result)
    )
    warnings = "".join(f"<li>{escape(str(w))}</li>" for w in getattr(result, "warnings", None) or [])
    listed = f'<ul style="margin:.3em 0 0;padding-left:1.3em">{warnings}</ul>' if warnings else ""
    return (
        '<div style="font-family:system-ui,sans-serif;line-height:1.45;max-width:760px">'
        f'<img src="{uri}" alt="Normals, components and depth" '
        'style="max-width:100%;border-radius:6px;background:#fff;padding:6px">'
        f'<div style="display:flex;flex-wrap:wrap;margin:.5em 0">{cells}</div>'
        f"<div>{escape(verdict(result))}</div>{listed}</div>"
    )


def show(result: Reconstruction) -> Fragment | None:
    """Show a result in windows of matplotlib and return None, or return the summary for a notebook.

    Parameters
    ----------
    result : Reconstruction

    Returns
    -------
    Fragment or None
        A `Fragment` in a notebook, and where there is no display or no matplotlib.
    """
    if "ipykernel" in sys.modules or not _has_display():
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
