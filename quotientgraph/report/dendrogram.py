"""The merge tree as a drawing: a dendrogram in SVG."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .color import Scale, brief

if TYPE_CHECKING:
    from ..analysis.hierarchy import Hierarchy

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 800, 360, 62, 14, 34


def dendrogram_svg(tree: Hierarchy, most: int = 60) -> str:
    """Draw the top of a merge tree: clusters from left to right, the residual at which they merge from bottom to top.

    Parameters
    ----------
    tree : Hierarchy
        As `Reconstruction.hierarchy`.
    most : int
        The last merges are drawn, at most so many less one; what is below them is one stem each, as wide as its number of
        pixels demands.

    Returns
    -------
    str
        An ``<svg>`` element, which notebooks show and files ending in .svg may hold. The axis is the altitude in pixels,
        logarithmic.
    """
    if most < 2:
        raise ValueError(f"most={most} must be at least 2")
    n = tree.n_leaves
    shown = np.argsort(tree.altitude[n:], kind="stable")[max(0, tree.n_merges - most + 1) :]
    inner = {int(n + i) for i in shown}
    stems, x = _stems(tree, inner, most)
    inner &= x.keys()
    heights = tree.altitude[sorted(inner)] if inner else np.zeros(0)
    positive = heights[heights > 0]
    low = float(positive.min()) / 2 if len(positive) else 0.1
    up = Scale(low, max(float(positive.max()) if len(positive) else 1.0, 2 * low), True)

    def place(altitude: float) -> float:
        return HEIGHT - BOTTOM - float(up(np.array(altitude))) * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" class="dendrogram" role="img" '
        f'font-family="sans-serif" font-size="12"><title>Merge tree of {brief(n)} components</title>'
    ]
    for tick in up.ticks():
        y = place(tick)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 8}" y1="{y:.1f}" y2="{y:.1f}" stroke="#8884"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="currentColor">{brief(tick)}</text>')
    total = float(tree.size[stems].sum()) if stems else 1.0
    for c in sorted(x):
        parent = int(tree.parent[c])
        top = place(float(tree.altitude[parent])) if parent >= 0 else TOP
        foot = place(float(tree.altitude[c])) if c in inner else HEIGHT - BOTTOM
        wide = 1.2 if c in inner else 1.2 + 6 * math.sqrt(float(tree.size[c]) / total)
        said = f"{brief(int(tree.size[c]))} pixels, {brief(int(tree.n_leaves_of[c]))} components"
        parts.append(
            f'<line x1="{x[c]:.1f}" x2="{x[c]:.1f}" y1="{foot:.1f}" y2="{top:.1f}" stroke="currentColor" '
            f'stroke-width="{wide:.1f}"><title>{said}</title></line>'
        )
        if c in inner:
            a, b = int(tree.first[c - n]), int(tree.second[c - n])
            level = f"level {int(tree.level[c - n])}, residual {brief(float(tree.residual[c - n]))} pixels"
            parts.append(
                f'<line x1="{x[a]:.1f}" x2="{x[b]:.1f}" y1="{foot:.1f}" y2="{foot:.1f}" stroke="currentColor" '
                f'stroke-width="1.2"><title>{level}</title></line>'
            )
    parts.append(
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 10}" text-anchor="middle" fill="currentColor">'
        f"{brief(len(stems))} clusters of {brief(n)} components; height: residual in pixels</text></svg>"
    )
    return "".join(parts)


def _stems(tree: Hierarchy, inner: set[int], most: int) -> tuple[list[int], dict[int, float]]:
    """The clusters at the bottom of the drawing from left to right, and the column of every drawn cluster."""
    n = tree.n_leaves
    order: list[int] = []
    roots = np.flatnonzero(tree.parent < 0)
    roots = roots[np.argsort(-tree.size[roots], kind="stable")][:most]  # of many separate pieces, the largest
    waiting = [int(c) for c in roots[::-1]]
    while waiting:
        c = waiting.pop()
        if c in inner:
            pair = sorted((int(tree.first[c - n]), int(tree.second[c - n])), key=lambda k: -int(tree.size[k]))
            waiting += pair[::-1]
        else:
            order.append(c)
    step = (WIDTH - LEFT - 24) / max(len(order), 1)
    x = {c: LEFT + 8 + step * (k + 0.5) for k, c in enumerate(order)}
    for c in sorted(inner):  # parts have smaller numbers than what they make
        if int(tree.first[c - n]) in x:
            x[c] = 0.5 * (x[int(tree.first[c - n])] + x[int(tree.second[c - n])])
    return order, x
