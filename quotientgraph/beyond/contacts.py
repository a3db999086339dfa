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

from laplacians.core.arrays import to_host

from ..geometry.jumps import interval
from ..graph.quotient import Quotient
from ..method.cutedges import CutEdges
from ..method.weights import DOUBT

# A border counts for at most this many edges: what is parallel to what it hides touches it by chance, all along.
LONG = 64
# Normals that differ by less than the first angle (degrees) are those of one curved surface, for which the middle of the
# interval is right to second order; beyond the second they are those of a crease.
CURVED, CREASED = 8.0, 24.0


def residual_range(graph: Quotient, cut: CutEdges, chosen: Any = slice(None)) -> np.ndarray:
    """(2, n) least (≤ 0) and largest (≥ 0) residual φ_a − φ_b − jump of two surfaces that touch, for cut edges."""
    pixels, number = graph.pixels, to_host(cut.number)[chosen]
    tail, head = pixels.tail[number], pixels.head[number]
    jump = np.atleast_2d(graph.jump[..., number]).mean(axis=0)
    ends = interval(pixels.map, tail, head) - jump
    turned = graph.labels[tail] > graph.labels[head]
    ends = np.where(turned, -ends[::-1], ends)
    return np.stack([np.minimum(ends[0], 0.0), np.maximum(ends[1], 0.0)])


def crease_slack(graph: Quotient, cut: CutEdges, contact: np.ndarray) -> np.ndarray:
    """`CutEdges.slack`: the whole range at creases, nothing on curved surfaces, in between a part."""
    return contact * np.clip((normal_angle(graph, cut) - CURVED) / (CREASED - CURVED), 0, 1)


def normal_angle(graph: Quotient, cut: CutEdges, chosen: Any = slice(None)) -> np.ndarray:
    """Angle between the two normals of cut edges, in degrees."""
    pixels, number = graph.pixels, to_host(cut.number)[chosen]
    normals = pixels.map.normals
    chord = np.linalg.norm(normals[pixels.tail[number]] - normals[pixels.head[number]], axis=1)
    return np.degrees(2 * np.arcsin(np.minimum(chord / 2, 1)))


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
