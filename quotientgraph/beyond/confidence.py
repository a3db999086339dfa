"""Confidence: how firmly each component is held in its place by the borders that fit."""

from __future__ import annotations

import numpy as np

import laplacians

from ..graph.quotient import Quotient
from ..method.cutedges import CutEdges
from .contacts import gaps, residual_range, support

# How many contacts a component hangs on when its confidence is ½.
_FEW = 10.0
_N_PROBES = 12


def confidence(graph: Quotient, potential: np.ndarray) -> np.ndarray:
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

    Returns
    -------
    (n_components,) float64
        0 … 1; ½ where a component hangs on the rest by as much as ten edges that fit.
    """
    n = graph.n_components
    if not len(graph.cut):
        return np.ones(n)
    cut = CutEdges.from_graph(graph, potential, 1.0)
    gap = gaps(cut, residual_range(graph, cut), np.zeros(n)) * graph.pixels.focal_at(cut.number)
    start = cut.start[:-1]
    held = np.add.reduceat(support(gap), start)
    strength = np.maximum(held**2 / np.diff(cut.start), 1e-6)
    size, piece = np.bincount(graph.labels), cut.pattern.pieces
    random, backend = np.random.default_rng(0), laplacians.get("auto")
    variance = np.zeros(n)
    for _ in range(_N_PROBES):
        pull = random.choice([-1.0, 1.0], len(strength)) * np.sqrt(strength)
        x = backend.solve(laplacians.LaplacianSystem(cut.pattern, strength, pull)).x
        x = x - (np.bincount(piece, size * x) / np.bincount(piece, size))[piece]
        variance += x**2 / _N_PROBES
    return 1 / (1 + _FEW * variance)
