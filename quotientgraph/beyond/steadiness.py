"""Steadiness: which components would stand elsewhere if their borders had spoken a little differently.

Joining decides by what the borders say, and some of its decisions are close. Which ones shows when it is repeated: what each
pair of components says about its offset is disturbed at random, and everything is joined anew. A component that many firm
borders hold stays where it is. One that hangs on a close decision, with all that hangs on it in turn, is found elsewhere in
some of the arrangements.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from laplacians.core.arrays import weighted_median
from laplacians.core.sorting import order_within

from ..graph.selection import connected_components
from .disturbance import disturbed
from .joining import Judgement, Witnesses, join


@dataclass(frozen=True)
class _Constants:
    """Chosen on the random scenes of the split "tune"; the size of crumbs by the time that they take."""

    times: int = 8  # arrangements
    disturbance: float = 2.0  # standard deviation of what is added to log-odds
    moved: float = 0.02  # of the potential (of its range, for parallel rays): what moves by more stands elsewhere
    crumb: float = 1e-3  # of the pixels: what is smaller stays with its neighbour


_CHOSEN = _Constants()


def unsteadiness(judged: Judgement, witnesses: Witnesses, settled: tuple[tuple[int, int], ...] = ()) -> np.ndarray:
    """(n_components,) share of the arrangements by disturbed evidence in which a component stands elsewhere.

    Most pixels are taken to stand where they do, so it is always the smaller part that is said to move.

    Parameters
    ----------
    judged : Judgement
        The borders at the present potential.
    witnesses : Witnesses
        What they say.
    settled : pairs of pixels
        Whose depth relative to each other is known.
    """
    pairs = judged.graph.labels[np.array(settled, dtype=np.int64).reshape(-1, 2)]
    group = _kept_together(witnesses, judged.graph.sizes, pairs)
    size = np.bincount(group, judged.graph.sizes)
    left, right = group[witnesses.left], group[witnesses.right]
    w = _chosen(replace(witnesses, left=left, right=right), left != right)
    elsewhere = np.zeros(len(size))
    if not len(w.left):
        return elsewhere[group]
    for one in disturbed(w, np.arange(len(size)), _CHOSEN.times, _CHOSEN.disturbance):
        shift = join(len(size), one, size)
        elsewhere += np.abs(shift - weighted_median(shift, size)) > _CHOSEN.moved * judged.span
    return elsewhere[group] / _CHOSEN.times


def _kept_together(witnesses: Witnesses, size: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """(n_components,) groups of components that are not moved apart: pairs (n, 2), and crumbs with a neighbour.

    A crumb stays with the neighbour that it touches most at present, or else has most of its border with.
    """
    w, n = witnesses, len(size)
    own, other = np.append(w.left, w.right), np.append(w.right, w.left)
    tie = np.tile(w.weight * np.where(np.abs(w.offset) <= w.tolerance, 1.0, 1e-3), 2)
    of_crumb = size[own] < _CHOSEN.crumb * size.sum()
    own, other, tie = own[of_crumb], other[of_crumb], tie[of_crumb]
    order = order_within(own, tie)
    last = order[np.flatnonzero(np.diff(own[order], append=-1))]
    return connected_components(n, np.append(own[last], pairs[:, 0]), np.append(other[last], pairs[:, 1])).astype(
        np.int64
    )


def _chosen(witnesses: Witnesses, kept: np.ndarray) -> Witnesses:
    """Some of the witnesses, whatever they are."""
    return Witnesses(**{name: values[kept] for name, values in vars(witnesses).items() if name != "piece"})
