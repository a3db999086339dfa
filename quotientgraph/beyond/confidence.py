"""Confidence: how firmly each component is held in its place by the borders that fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import laplacians
from laplacians import Direct, LaplacianSystem

from ..graph.quotient import Quotient
from ..method.cutedges import Borders
from .contacts import gaps, support

# How many contacts a component hangs on when its confidence is ½.
_FEW = 10.0
_N_PROBES = 12
_MOST_FACTORISED = 200_000  # components; beyond that each probe is solved by itself


def confidence(graph: Quotient, potential: np.ndarray, borders: Borders | None = None) -> np.ndarray:
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

    Returns
    -------
    (n_components,) float64
        0 … 1; ½ where a component hangs on the rest by as much as ten edges that fit.
    """
    n = graph.n_components
    if not len(graph.cut):
        return np.ones(n)
    borders = borders or Borders.from_graph(graph)
    pattern = borders.pattern
    held = np.add.reduceat(support(gaps(graph, potential, borders.number)), borders.start[:-1])
    strength = np.maximum(held**2 / np.diff(borders.start), 1e-6)
    system = LaplacianSystem(pattern, strength, np.zeros_like(strength))
    solve = Direct().factor(system).solve if n <= _MOST_FACTORISED else None
    size, piece = np.bincount(graph.labels), pattern.pieces
    random, variance, whole = np.random.default_rng(0), np.zeros(n), np.bincount(piece, size)
    for _ in range(_N_PROBES):
        pull = random.choice([-1.0, 1.0], len(strength)) * np.sqrt(strength)
        probe = replace(system, flow=pull)
        x = laplacians.get("auto").solve(probe).x if solve is None else solve(probe.rhs)
        x = x - (np.bincount(piece, size * x) / whole)[piece]
        variance += x**2 / _N_PROBES
    return 1 / (1 + _FEW * variance)
