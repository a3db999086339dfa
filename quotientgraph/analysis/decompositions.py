"""Better decompositions: functions that take a graph and give one with other components.

    absorb_small(graph)              tiny components join the neighbour with the most similar normal
    split_by_image(graph, image)     components end where the colour of a photograph changes
    split_at_lines(graph, lines)     no surface goes on across lines that a user drew
    coarsened(graph, membership)     the way back from igraph, networkx or any clustering of the components

The same criteria can be had from the start: ``QuotientGraph.from_normals(…, image=…, forbidden=…, labels=…)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from laplacians.core.jit import kernel

from ..geometry.jumps import PlanarJumps
from ..graph.colours import COLOUR_STEP, similar_colours
from ..graph.lines import Lines, without_lines
from ..graph.quotient import Quotient
from ..graph.selection import connected_components

G = TypeVar("G", bound=Quotient)


@dataclass(frozen=True)
class _Constants:
    """Chosen on buddha and harvest at 3.5°, and checked on cat, bear and bedroom; docs/analysis.md has the table."""

    size: int = 8  # pixels: what has fewer is tiny
    angle: float = 20.0  # degrees: a wider angle is a crease, or two surfaces


_CHOSEN = _Constants()


def absorb_small(graph: G, size: int = _CHOSEN.size, angle: float = _CHOSEN.angle) -> G:
    """Let tiny components join the neighbour with the most similar normal, without letting large ones join each other.

    The cut edges are taken in the order of the angle between their two normals. An edge joins its two components if one of
    them, with all that it has taken in so far, has fewer than `size` pixels. So tiny components gather until they are no
    longer tiny or have joined a large one, and two large components never become one.

    Parameters
    ----------
    graph : Quotient
    size : int
        The number of pixels from which on a component is large.
    angle : float
        In degrees. Normals that differ by more are never joined, so that a component stays one surface.

    Returns
    -------
    Quotient
        One level up. Its components can still be tiny where all neighbours have other normals.

    Examples
    --------
    >>> from quotientgraph import QuotientGraph, scenes
    >>> scene = scenes.make("spheres", shape=(60, 80))
    >>> graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=2.0)
    >>> 3 * absorb_small(graph).n_components < graph.n_components
    True
    """
    if size < 1 or not 0 < angle <= 180:
        raise ValueError(f"size={size} must be at least 1 and angle={angle} between 0 and 180 degrees")
    pixels = graph.pixels
    normals, tail, head = pixels.map.normals, pixels.tail[graph.cut], pixels.head[graph.cut]
    chord = np.linalg.norm(normals[tail] - normals[head], axis=1)
    near = np.flatnonzero(chord < 2 * np.sin(np.radians(angle) / 2))
    order = near[np.argsort(chord[near], kind="stable")]
    held = np.bincount(graph.labels, minlength=graph.n_components)
    root = np.arange(graph.n_components, dtype=np.int32)
    joins = np.zeros(len(order), dtype=bool)
    _absorb(graph.labels[tail[order]], graph.labels[head[order]], size, root, held, joins)
    return graph.contract(graph.cut[np.sort(order[joins])])


def split_by_image(graph: G, image: ArrayLike, step: float = COLOUR_STEP) -> G:
    """Divide components where the colour of a photograph changes from one pixel to the next.

    Parameters
    ----------
    graph : Quotient
    image : (H, W) or (H, W, 3) array
        8 or 16 bit, or floats 0 … 1, of the same size as the normals.
    step : float
        The least change of colour that divides, as a distance in the colour space OKLab, in which black and white are 1
        apart and equal distances look equal.

    Returns
    -------
    Quotient
        Its components lie inside those of the graph; its level is 0.
    """
    pixels = graph.pixels
    inside = similar_colours(pixels, image, step)
    inside[graph.cut] = False
    labels = connected_components(pixels.n_pixels, pixels.tail[inside], pixels.head[inside])
    return replace(graph.divided(labels), level=0, preset=None, seconds={})


def split_at_lines(graph: G, lines: Lines) -> G:
    """Take away the edges of G0 that cross lines of discontinuity, and divide components that fall apart by it.

    Parameters
    ----------
    graph : Quotient
    lines : (H, W) bool array, or sequence of (n, 2) arrays
        The drawn pixels, or polylines of points (column, row); see `quotientgraph.graph.lines.without_lines`.

    Returns
    -------
    Quotient
        On another G0, without the edges; its level is 0.
    """
    pixels, kept = without_lines(graph.pixels, lines)
    lean = isinstance(graph.jump, PlanarJumps)
    jump = PlanarJumps(pixels.map, pixels.tail, pixels.head) if lean else graph.jump[..., kept]
    inside = graph.labels[pixels.tail] == graph.labels[pixels.head]
    labels = connected_components(pixels.n_pixels, pixels.tail[inside], pixels.head[inside])
    made = type(graph).from_components(pixels, jump, labels)
    return replace(made, angle=graph.angle, warnings=graph.warnings)


def coarsened(graph: G, membership: ArrayLike) -> G:
    """Join components that belong together by any partition of them, such as communities found by igraph or networkx.

    Parameters
    ----------
    graph : Quotient
    membership : (n_components,) integers
        The class of each component. Components of one class that are not connected within it stay apart, because a
        component is connected.

    Returns
    -------
    Quotient
        One level up.

    Examples
    --------
    >>> from quotientgraph import QuotientGraph, scenes
    >>> scene = scenes.make("spheres", shape=(60, 80))
    >>> graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv")
    >>> found = graph.to_igraph().community_multilevel(weights="n_edges").membership
    >>> coarsened(graph, found).n_components == len(set(found))
    True
    """
    given = np.asarray(membership)
    if given.shape != (graph.n_components,) or given.dtype.kind not in "iub":
        raise ValueError(
            f"membership: expected one whole number per component, {graph.n_components}, got {given.dtype} {given.shape}"
        )
    return graph.contract(given[graph.tail] == given[graph.head])


@kernel
def _absorb(tail, head, size, root, held, joins):
    """Join components along edges in the order given if one of the two holds fewer than `size` pixels; mark those edges.

    On entry `root` holds 0, 1, 2, … and `held` the size of each component; afterwards those of roots are up to date.
    """
    for e in range(len(tail)):
        i, j = tail[e], head[e]
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        while root[j] != j:
            root[j] = root[root[j]]
            j = root[j]
        if i != j and (held[i] < size or held[j] < size):
            low, high = min(i, j), max(i, j)
            root[high] = low
            held[low] += held[high]
            joins[e] = True
