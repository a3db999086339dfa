"""Contact: what a cut edge says when it is not known where, between its two pixels, the surfaces meet.

Two planes that touch do so along a crease, and it crosses an edge (a, b) of G0 somewhere. Wherever that is, the jump
φ_a − φ_b is known: at one extreme b's plane reaches to a, at the other a's plane reaches to b. So the normals state an
*interval* of jumps, and the model of continuity, the jump of a crease midway, is but its centre. The distance by which a
reconstruction misses the interval is the *gap* of the edge: 0 where the surfaces may touch, large where one of them hides
the other.

Gaps need no ground truth, so they tell which of several reconstructions to believe: `evidence`. They also tell what the
relative scale of a component rests on: `support` and `confidence`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import laplacians
from laplacians.core.arrays import to_host

from ..geometry.jumps import crease_jump
from ..graph.quotient import QuotientGraph
from ..method.cutedges import CutEdges

# A border counts for at most this many edges: what is parallel to what it hides touches it by chance, all along.
LONG = 64
# An edge with this gap, in pixels, is as likely a contact as not; its support is ½.
DOUBT = 0.377
# Normals that differ by less than the first angle (degrees) are those of one curved surface, for which the middle of the
# interval is right to second order; beyond the second they are those of a crease.
CURVED, CREASED = 8.0, 24.0
# Contacts on which a component hangs when its confidence is ½.
FEW = 10.0
_N_PROBES = 12


def residual_range(graph: QuotientGraph, cut: CutEdges, chosen: Any = slice(None)) -> np.ndarray:
    """(2, n) least (≤ 0) and largest (≥ 0) residual φ_a − φ_b − jump of two surfaces that touch, for cut edges."""
    pixels, number = graph.pixels, to_host(cut.number)[chosen]
    jump = np.atleast_2d(graph.jump[..., number]).mean(axis=0)
    ends = np.stack([crease_jump(pixels, 0.0, number), crease_jump(pixels, 1.0, number)]) - jump
    turned = graph.labels[pixels.tail[number]] > graph.labels[pixels.head[number]]
    ends = np.where(turned, -ends, ends)
    return np.stack([np.minimum(ends.min(axis=0), 0.0), np.maximum(ends.max(axis=0), 0.0)])


def crease_slack(graph: QuotientGraph, cut: CutEdges, contact: np.ndarray) -> np.ndarray:
    """`CutEdges.slack`: the whole range at creases, nothing on curved surfaces, in between a part."""
    return contact * np.clip((normal_angle(graph, cut) - CURVED) / (CREASED - CURVED), 0, 1)


def normal_angle(graph: QuotientGraph, cut: CutEdges, chosen: Any = slice(None)) -> np.ndarray:
    """Angle between the two normals of cut edges, in degrees."""
    pixels, number = graph.pixels, to_host(cut.number)[chosen]
    normals = pixels.map.normals
    chord = np.linalg.norm(normals[pixels.tail[number]] - normals[pixels.head[number]], axis=1)
    return np.degrees(2 * np.arcsin(np.minimum(chord / 2, 1)))


def focal_of(graph: QuotientGraph, cut: CutEdges, chosen: Any = slice(None)) -> np.ndarray:
    """(n,) what turns differences of the potential into pixels at cut edges."""
    pixels = graph.pixels
    return np.broadcast_to(pixels.focal, pixels.n_pixels)[pixels.tail[to_host(cut.number)[chosen]]]


def gaps(cut: CutEdges, contact: Any, shift: Any) -> np.ndarray:
    """(n_cut,) by how much each edge misses its interval after a shift of the components, in the unit of the potential."""
    chi = to_host(cut.residuals(shift))
    return np.maximum(np.maximum(contact[0] - chi, chi - contact[1]), 0.0)


def evidence(start: np.ndarray, gap: np.ndarray) -> float:
    """How much of all borders a reconstruction explains as contact, 0 … 1: the mean support of their edges.

    `start` is that of `CutEdges`; `gap` in pixels.
    """
    if not len(gap):
        return 1.0
    size = np.diff(start)
    return float(np.average(np.add.reduceat(support(gap), start[:-1]) / size, weights=np.minimum(size, LONG)))


def support(gap: np.ndarray) -> np.ndarray:
    """(n_cut,) how surely each edge is a contact, 0 … 1, from its gap in pixels."""
    return 1 / (1 + np.square(gap / DOUBT))


def confidence(graph: QuotientGraph, potential: np.ndarray) -> np.ndarray:
    """(n_components,) how firmly each component is held in its place at a potential (n_pixels,), 0 … 1.

    Each edge between two components is a spring as strong as its `support`, times the mean support of that border: where
    surfaces pass before each other some edges fit by chance. A component that n such springs hold directly moves against
    the rest with variance 1/n; chains weaken, parallel chains strengthen. The confidence is 1/(1 + FEW·variance). It is 0
    where nothing holds, as across a border that is all discontinuity.

    The variances are those of the solutions for random pulls at the springs, a dozen of them, so they are known within
    some ten per cent.
    """
    n = graph.n_components
    if not len(graph.cut):
        return np.ones(n)
    cut = CutEdges.from_graph(graph, potential)
    gap = gaps(cut, residual_range(graph, cut), np.zeros(n)) * focal_of(graph, cut)
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
    return 1 / (1 + FEW * variance)
