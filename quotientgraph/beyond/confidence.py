"""Confidence: how firmly each component is held in its place by the borders that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import laplacians
from laplacians import Direct, LaplacianSystem, Pattern

from ..graph.quotient import Quotient
from ..method.cutedges import Borders
from .contacts import gaps, support

# How many contacts a component hangs on when its confidence is ½.
_FEW = 10.0
_SETTLED = 1000.0  # contacts that a known offset is worth
_N_PROBES, _TOGETHER = 12, 4  # random pulls, and how many of them threads solve for at the same time
_MOST_FACTORISED = 200_000  # components; beyond that each probe is solved by itself


def confidence(
    graph: Quotient,
    potential: np.ndarray,
    borders: Borders | None = None,
    settled: Sequence[tuple[int, int]] = (),
) -> np.ndarray:
    """Rate how firmly each component is held in its place.

    Each edge between two components is a spring as strong as its `support`, times the mean support of its border, because
    some edges fit by chance where one surface passes in front of another. A component that n such springs hold directly
    moves against the rest with variance 1/n; chains of springs weaken, parallel chains strengthen. The confidence is
    1/(1 + 10·variance). It is 0 where nothing holds, as across a border that is all discontinuity. The variances are
    estimated from a dozen random pulls at the springs, so they are known within some ten per cent.

    Parameters
    ----------
    graph : Quotient
    potential : (n_pixels,) float64
    borders : Borders, optional
        Those of the graph, if they are known; the order in which they are eliminated may then be known as well.
    settled : sequence of (int, int)
        Pairs of pixels whose depth relative to each other is known: as strong as a thousand edges.

    Returns
    -------
    (n_components,) float64
        0 … 1; ½ where a component hangs on the rest by as much as ten edges that fit.
    """
    if not len(graph.cut):
        return np.ones(graph.n_components)
    borders = borders or Borders.from_graph(graph)
    held = np.add.reduceat(support(gaps(graph, potential, borders.number)), borders.start[:-1])
    pattern, n_edges, size = borders.pattern, np.diff(borders.start), graph.sizes
    ends = graph.labels[np.array(settled, dtype=np.int64).reshape(-1, 2)]
    ends = ends[ends[:, 0] != ends[:, 1]]
    if len(ends):
        tail, head = np.append(pattern.tail, ends[:, 0]), np.append(pattern.head, ends[:, 1])
        pattern, order, start = Pattern.from_edges(pattern.n, tail, head)
        held, n_edges = (np.append(values, np.full(len(ends), _SETTLED)) for values in (held, n_edges))
        held, n_edges = (np.add.reduceat(values[order], start[:-1]) for values in (held, n_edges))
    return confidence_by_springs(pattern, held, n_edges, size)


def confidence_by_springs(pattern: Pattern, held: np.ndarray, n_edges: np.ndarray, size: np.ndarray) -> np.ndarray:
    """What `confidence` returns, from sums over borders.

    Parameters
    ----------
    pattern : Pattern
        Pairs of adjacent components.
    held, n_edges : (n_pairs,)
        Sum of the support of each border's edges, and their number.
    size : (n_components,)
        Pixels of each component.
    """
    n = pattern.n
    if not pattern.n_pairs:
        return np.ones(n)
    strength = np.maximum(held**2 / n_edges, 1e-6)
    system = LaplacianSystem(pattern, strength, np.zeros_like(strength))
    random, root, piece, variance = np.random.default_rng(0), np.sqrt(strength), pattern.pieces, np.zeros(n)
    factor, whole = Direct().factor(system) if n <= _MOST_FACTORISED else None, np.bincount(piece, size)
    for _ in range(_N_PROBES // _TOGETHER):
        moved = np.empty((_TOGETHER, n))
        for k in range(_TOGETHER):
            pulled = replace(system, flow=(2.0 * random.integers(0, 2, len(strength)) - 1.0) * root)
            moved[k] = pulled.rhs if factor is not None else laplacians.get("auto").solve(pulled).x
        for x in moved if factor is None else factor.solve(moved.T).T:
            x = x - (np.bincount(piece, size * x) / whole)[piece]
            variance += x**2 / _N_PROBES
    return 1 / (1 + _FEW * variance)
