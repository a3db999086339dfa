"""The shape of the borders between components: how long they are, and how straight."""

from __future__ import annotations

import numpy as np

from ..graph.quotient import Quotient


def lengths(graph: Quotient, order: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Lengths in pixels of the borders between pairs of components, counted from the edges that cross them.

    Cauchy and Crofton: the length of a curve is proportional to how many lines of a grid of all directions cross it. With
    8-connectivity it is (axial + diagonal/√2)/(1 + √2), exact for horizontal, vertical and diagonal borders and at most
    8 % too long in between. With 4-connectivity it is π/4 times the crossings, right on average over all directions.

    Parameters
    ----------
    graph : Quotient
    order, start : arrays
        The cut edges by pair, as `laplacians.Pattern.from_edges` returns them.

    Returns
    -------
    (n_pairs,) float64
    """
    across, down = _steps(graph, order)
    diagonal = (across != 0) & (down != 0)
    if graph.pixels.connectivity == 4:
        share = np.full(len(order), np.pi / 4)
    else:
        share = np.where(diagonal, np.sqrt(0.5), 1.0) / (1 + np.sqrt(2))
    return _sums(share, start)


def straightness(graph: Quotient, order: np.ndarray, start: np.ndarray) -> np.ndarray:
    """How straight each border is, 0 … 1: one less the ratio of its widths across and along its main direction.

    The widths are standard deviations of the middles of its edges. A border of one edge is straight.

    Parameters and result are those of `lengths`.
    """
    across, down = _steps(graph, order)
    v, u = np.divmod(graph.pixels.map.position[graph.pixels.tail[graph.cut[order]]], graph.pixels.map.shape[1])
    u, v = u + 0.5 * across, v + 0.5 * down
    count = np.diff(start)
    u, v = (x - np.repeat(_sums(x, start) / count, count) for x in (u, v))
    uu, vv, uv = (_sums(x, start) for x in (u * u, v * v, u * v))
    middle, radius = 0.5 * (uu + vv), np.hypot(0.5 * (uu - vv), uv)
    return 1 - np.sqrt(np.maximum(middle - radius, 0) / np.maximum(middle + radius, 1e-300))


def _steps(graph: Quotient, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Step to the right and down, each −1, 0 or 1, from tail to head of the cut edges, also around the ends of the image."""
    number = graph.cut[order]
    position, width = graph.pixels.map.position, graph.pixels.map.shape[1]
    va, ua = np.divmod(position[graph.pixels.tail[number]], width)
    vb, ub = np.divmod(position[graph.pixels.head[number]], width)
    across, down = ub - ua, vb - va
    return np.where(np.abs(across) > 1, -np.sign(across), across), np.where(np.abs(down) > 1, -np.sign(down), down)


def _sums(values: np.ndarray, start: np.ndarray) -> np.ndarray:
    return np.add.reduceat(values, start[:-1]) if len(values) else np.zeros(0)
