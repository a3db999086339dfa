"""Creases: where two components meet between the pixels of a border, decided by all of its edges together.

Two planes that touch meet along a crease, which crosses each edge of their border somewhere between its two pixels. The
paper lets them meet midway, which is wrong by up to half a pixel at each edge. An edge alone leaves the place open: any
residual in an interval is as good as any other, its *slack*. The edges of a border know more together, because all of them
state an interval of offsets between the same two components. Where most of a border's edges share an offset, the crease is
placed there; elsewhere an edge keeps its whole slack. Only components large enough to have a plane take part. From the
scales found with creases midway, a few iterations with these equations follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from laplacians.core.arrays import to_host
from laplacians.core.jit import kernel
from laplacians.core.sorting import sort_runs

from ..geometry.jumps import interval
from ..graph.quotient import Quotient
from ..method.cutedges import CutEdges
from ..method.scales import Scales
from .contacts import CREASED, CURVED


@dataclass(frozen=True)
class _Constants:
    """Chosen on the embedded scenes, five DiLiGenT objects and the tune seeds of the random scenes."""

    tolerance: float = 0.02  # pixels by which intervals are widened for what noise does to the normals
    least: int = 64  # pixels of a component; a smaller one is too small to have a plane that reaches beyond it
    worthwhile: float = 0.01  # share of edges that are creases: at most .004 on curved objects, .04 and more in rooms
    fewest: int = 8  # edges of a border that must agree for it to have an offset
    majority: float = 0.6  # share of them
    fewest_steps: int = 20  # of the refinement
    most_steps: int = 60
    step_budget: int = 300_000  # steps times components, within those bounds
    shorten: float = 0.95  # factor of the step each time the energy rises


_CHOSEN = _Constants()


def refine_creases(scales: Scales, converged: bool) -> bool:
    """Go on from the scales that were found, with creases where their borders put them.

    A few iterations are made, more of them where each costs little; none where hardly any edge is a crease.

    Returns
    -------
    bool
        Whether the energy has settled, now or before (`converged`).
    """
    if not len(scales.cut.number):
        return converged
    cut = scales.cut.to(np)
    if np.mean(_between_large(scales.graph, cut)) < _CHOSEN.worthwhile:  # no other edge can have slack
        return converged
    creased = with_creases(scales.graph, cut)
    return descend_creased(scales, creased.to(scales.xp), float(creased_edges(creased).mean()), converged)


def descend_creased(scales: Scales, creased: CutEdges, share: float, converged: bool) -> bool:
    """Make the iterations of `refine_creases` with the cut edges from `with_creases`, a `share` of which are creases."""
    if share < _CHOSEN.worthwhile:
        return converged
    steps = int(np.clip(_CHOSEN.step_budget // scales.graph.n_components, _CHOSEN.fewest_steps, _CHOSEN.most_steps))
    limit = min(scales.iteration + steps, scales.settings.max_iterations)
    return scales.descend(creased, limit, _CHOSEN.shorten) or converged


def creased_edges(cut: CutEdges) -> np.ndarray:
    """(n_cut,) bool: the cut edges that have some slack."""
    return cut.slack[1] > cut.slack[0]


def with_creases(graph: Quotient, cut: CutEdges) -> CutEdges:
    """The cut edges with slack, and with creases where most edges of their border say they are.

    Parameters
    ----------
    graph : Quotient
    cut : CutEdges
        Its cut edges, in the arrays of NumPy.

    Returns
    -------
    CutEdges
    """
    number, size = to_host(cut.number), graph.sizes
    room, angle = residual_range(graph, cut), edge_angles(graph, number)
    smaller = np.minimum(size[cut.pattern.tail], size[cut.pattern.head])[cut.pair]
    return placed_creases(cut, room, angle, smaller, graph.pixels.focal_at(number))


def edge_angles(graph: Quotient, number: np.ndarray) -> np.ndarray:
    """(n,) degrees between the two normals of the given edges of G0."""
    pixels, normals = graph.pixels, graph.pixels.map.normals
    tail, head = (normals.take(end[number], axis=0) for end in (pixels.tail, pixels.head))
    x, y, z = (tail - head).T  # sums over rows of three take ten times as long
    chord = np.sqrt(x * x + y * y + z * z)
    return np.degrees(2 * np.arcsin(np.minimum(chord / 2, 1)))


def placed_creases(
    cut: CutEdges, room: np.ndarray, angle: np.ndarray, smaller: np.ndarray, focal: np.ndarray
) -> CutEdges:
    """What `with_creases` returns, from what it takes from the graph.

    Parameters
    ----------
    cut : CutEdges
        Whole borders.
    room : (2, n_cut) float64
        See `residual_range`.
    angle : (n_cut,) float64
        Degrees between the two normals.
    smaller : (n_cut,) integers
        Pixels of the smaller of the two components.
    focal : (n_cut,) float64
        Pixels per unit of the potential.
    """
    flat = (smaller >= _CHOSEN.least) & (angle > CURVED)
    slack = room * np.where(flat, np.clip((angle - CURVED) / (CREASED - CURVED), 0, 1), 0.0)
    border, low, high = _agreed(cut, room, flat, _CHOSEN.tolerance / focal)
    edges = np.flatnonzero(border >= 0)
    half = 0.5 * (high - low)[border[edges]]
    residual = cut.residual.copy()
    residual[edges] = -0.5 * (low + high)[border[edges]]
    slack[:, edges] = -half, half
    return replace(cut, residual=residual, residual_back=residual, slack=slack)


def _between_large(graph: Quotient, cut: CutEdges) -> np.ndarray:
    """(n_cut,) bool: whether both components of each cut edge are large enough to have a plane."""
    large = graph.sizes >= _CHOSEN.least
    return np.repeat(large[cut.pattern.tail] & large[cut.pattern.head], np.diff(cut.start))


def residual_range(graph: Quotient, cut: CutEdges) -> np.ndarray:
    """(2, n_cut) least (≤ 0) and largest (≥ 0) residual φ_a − φ_b − jump of two surfaces that touch."""
    pixels, number = graph.pixels, to_host(cut.number)
    tail, head = pixels.tail[number], pixels.head[number]
    ends = interval(pixels.map, tail, head) - np.atleast_2d(graph.jump[..., number]).mean(axis=0)
    low, high = ends
    turned = np.flatnonzero(graph.labels[tail] > graph.labels[head])
    low[turned], high[turned] = -high[turned], -low[turned]
    np.minimum(low, 0.0, out=low)
    np.maximum(high, 0.0, out=high)
    return ends


def _agreed(
    cut: CutEdges, room: np.ndarray, creased: np.ndarray, tolerance: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the borders whose edges agree for the most part: who agrees, and on what.

    Returns
    -------
    border : (n_cut,) int32
        Border of each edge that agrees with most of its border, else −1.
    low, high : (n_borders,) float64
        Shift of a border's tail against its head between which all of these edges are content.
    """
    size = np.diff(cut.start)
    used = np.flatnonzero(np.repeat(size >= _CHOSEN.fewest, size) & creased)
    start = np.searchsorted(used, cut.start)  # the edges come in the order of their borders
    lower, upper = (room - cut.residual)[:, used]
    lower, upper = lower - tolerance[used], upper + tolerance[used]
    of = np.repeat(np.arange(len(size), dtype=np.int32), np.diff(start))
    low, high = np.zeros(len(size)), np.zeros(len(size))
    votes = np.zeros(len(size), dtype=np.int32)
    begins, ends = lower.copy(), upper.copy()
    for values in (begins, ends):
        sort_runs(values, start)
    _sweep(start, begins, ends, low, high, votes)
    clear = (votes >= _CHOSEN.fewest) & (votes >= _CHOSEN.majority * size)
    middle = 0.5 * (low + high)[of]
    border = np.full(len(cut.number), -1, dtype=np.int32)
    border[used] = np.where(clear[of] & (lower <= middle) & (middle <= upper), of, -1)
    return border, low, high


@kernel
def _sweep(start, lower, upper, low, high, votes):
    """For each border find the range of offsets that most intervals contain, by sweeping over their sorted ends.

    The intervals of border p have the ends start[p]:start[p+1] of `lower` and of `upper`, each of which is sorted on its
    own. Writes the range to `low` and `high`, and the number of its intervals to `votes`. Of several ranges in as many
    intervals it is the widest, whichever way the border is walked.
    """
    for p in range(len(votes)):
        i, j, now = start[p], start[p], 0
        while i < start[p + 1]:
            if lower[i] <= upper[j]:
                now += 1
                wider = upper[j] - lower[i] > high[p] - low[p] + 1e-12
                if now > votes[p] or (now == votes[p] and wider):
                    votes[p], low[p], high[p] = now, lower[i], upper[j]
                i += 1
            else:
                now -= 1
                j += 1
