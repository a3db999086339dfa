"""Better decompositions: functions that take a graph and give one with other components.

    absorb_small(graph)              tiny components join the neighbour that continues them
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

import laplacians
from laplacians.core.edges import root_of
from laplacians.core.jit import kernel

from ..beyond.hidden_jumps import hidden_jumps
from ..geometry.jumps import PlanarJumps
from ..graph.colours import COLOUR_STEP, similar_colours
from ..graph.lines import Lines, without_lines
from ..graph.quotient import Quotient
from ..graph.selection import connected_components
from ..method.cutedges import CutEdges
from ..method.filling import fill
from ..method.scales import Scales
from ..method.weights import Outliers
from ..settings import BEST

G = TypeVar("G", bound=Quotient)


@dataclass(frozen=True)
class _Constants:
    """Chosen on buddha and harvest at 3.5°, and looked at on cat, goblet, bear and bedroom; docs/analysis.md has a table."""

    size: int = 6  # pixels: what has fewer is tiny
    fit: float = 0.03  # pixels: the mean residual up to which a border fits
    n_alignments: int = 6  # iterations; after fewer of them, residuals do not tell yet which side a component is on


_CHOSEN = _Constants()


def absorb_small(graph: G, size: int = _CHOSEN.size, fit: float = _CHOSEN.fit, angle: float = 180.0) -> G:
    """Let tiny components join the neighbour that continues them, without letting large ones join each other.

    A similar normal alone would join surfaces of which one hides the other. So the components are first aligned by some
    iterations of the optimisation, and a border counts as fitting if the mean residual of its edges is small. The borders
    that fit are taken in the order of their residuals, and one joins its two components if one of them, with all that it
    has taken in so far, has fewer than `size` pixels. So tiny components gather until they are no longer tiny or have
    joined a large one, and two large components never become one. Components that have joined keep the offset that the
    alignment gave them, so the new ones need no filling (`inside`).

    Parameters
    ----------
    graph : Quotient
    size : int
        The number of pixels from which on a component is large.
    fit : float
        In pixels. A border whose residuals are larger on average joins nothing.
    angle : float
        In degrees. A border whose normals differ by more on average joins nothing; by default all may.

    Returns
    -------
    Quotient
        One level up. Its components can still be tiny where no border fits.

    Examples
    --------
    >>> from quotientgraph import QuotientGraph, scenes
    >>> scene = scenes.make("spheres", shape=(60, 80))
    >>> graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=2.0)
    >>> 2 * absorb_small(graph).n_components < graph.n_components
    True
    """
    if size < 1 or not fit > 0 or not 0 < angle <= 180:
        raise ValueError(
            f"size={size} must be at least 1, fit={fit} positive, and angle={angle} between 0 and 180 degrees"
        )
    if not len(graph.cut):
        return graph.contract([])
    filled = fill(graph, "auto", hidden_jumps).potential
    cut = CutEdges.from_graph(graph, filled, Outliers.from_settings(BEST).scale(graph.pixels.map))
    scales = Scales(graph, cut, filled, BEST, laplacians.get("auto"), lambda step: None, np)
    scales.descend(limit=_CHOSEN.n_alignments)

    pattern, first = cut.pattern, cut.start[:-1]
    signed = cut.residuals(scales.shift)
    mean = np.add.reduceat(np.abs(signed) * graph.pixels.focal_at(cut.number), first) / np.diff(cut.start)
    fits = np.flatnonzero(mean < fit)
    if angle < 180:
        normals, tail, head = graph.pixels.map.normals, graph.pixels.tail[cut.number], graph.pixels.head[cut.number]
        chord = np.sqrt(np.square(normals[tail] - normals[head]).sum(axis=1))
        turn = np.add.reduceat(chord, first) / np.diff(cut.start)
        fits = fits[turn[fits] < 2 * np.sin(np.radians(angle) / 2)]
    fits = fits[np.argsort(mean[fits], kind="stable")]
    held, root = np.bincount(graph.labels, minlength=pattern.n), np.arange(pattern.n, dtype=np.int32)
    joins = np.zeros(len(fits), dtype=bool)
    _absorb(pattern.tail[fits], pattern.head[fits], size, root, held, joins)
    chosen = first[fits[joins]]
    return replace(graph.contract(cut.number[chosen], signed[chosen]), inside=scales.potential)


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
    return replace(graph.divided(labels), level=0, seconds={})


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
    return replace(made, angle=graph.angle, preset=graph.preset, warnings=graph.warnings)


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
        i, j = root_of(root, tail[e]), root_of(root, head[e])
        if i != j and (held[i] < size or held[j] < size):
            low, high = min(i, j), max(i, j)
            root[high] = low
            held[low] += held[high]
            joins[e] = True
