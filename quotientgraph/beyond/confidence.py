"""Confidence: how firmly each component is held in its place by the borders that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import laplacians
from laplacians import Direct, LaplacianSystem, Pattern
from laplacians.core.sharing import in_blocks

from ..graph.quotient import Quotient
from ..method.cutedges import Borders
from .contacts import gaps, support

# How many contacts a component hangs on when its confidence is ½.
_FEW = 10.0
_SETTLED = 1000.0  # contacts that a known offset is worth
_N_PROBES = 12  # random pulls
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
    system, random = LaplacianSystem(pattern, strength, np.zeros_like(strength)), np.random.default_rng(0)
    factor = Direct().factor(system) if n <= _MOST_FACTORISED else None
    together = _N_PROBES if factor else 1
    variance = np.zeros(n)
    for _ in range(0, _N_PROBES, together):
        variance += _squares(system, factor, size, random, together) / _N_PROBES
    return 1 / (1 + _FEW * variance)


def _squares(
    system: LaplacianSystem, factor: Any, size: np.ndarray, random: np.random.Generator, n_probes: int
) -> np.ndarray:
    """(n,) how far random pulls move each component against the mean of its piece, squared and added up.

    Parameters
    ----------
    system : LaplacianSystem
        The springs.
    factor : Factor, DenseFactor or None
        Its factorisation, or None to solve by iteration.
    size : (n,)
        What a component counts in the mean.
    """
    twice, piece, moved = 2 * np.sqrt(system.weight), system.pattern.pieces, np.empty((n_probes, system.n))
    # The highest bit of a number of 32 bits is the sign: `integers(0, 2, n)` draws it, too, but writes four times as much.
    drawn = (random.integers(0, 2**32, len(twice), dtype=np.uint32) for _ in moved)
    signs, whole = [np.packbits(one >= 2**31) for one in drawn], np.bincount(piece, size)

    def pull(part: slice) -> None:
        """Write the right-hand side of a probe or, without a factor, its solution."""
        flow = np.unpackbits(signs[part.start], count=len(twice)).astype(np.float64)
        flow -= 0.5
        flow *= twice
        pulled = replace(system, flow=flow)
        moved[part] = pulled.rhs if factor else laplacians.get("auto").solve(pulled).x

    def square(part: slice) -> None:
        """Replace the solution of a probe by squared distances from the means."""
        x = moved[part.start]
        x -= (size * x).sum() / whole if len(whole) == 1 else (np.bincount(piece, size * x) / whole)[piece]
        np.square(x, out=x)

    in_blocks(pull, n_probes, 1)
    if factor:
        factor.solve_rows(moved)
    in_blocks(square, n_probes, 1)
    return moved.sum(axis=0)
