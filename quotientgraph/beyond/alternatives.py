"""Alternatives: parts of a reconstruction that could sit elsewhere.

Where two components do not touch although their border looks like a contact, they could. Each such contact is tried: it is
pinned, everything is joined anew, and what moves is an alternative. It is the more probable the better the borders are
explained after it, compared with the reconstruction as it is. Those come first that are probable and would move much.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .contacts import resting
from .region_words import elsewhere, part_of, resting_on
from .standing import Standing


@dataclass(frozen=True)
class _Constants:
    """Chosen on the random scenes of the split "tune"."""

    most: int = 12  # alternatives that are listed
    notable: float = 0.01  # share of the pixels that an alternative has to move
    worst: float = 20.0  # how much worse the borders may be explained
    tried: int = 40  # contacts
    effort: int = 40_000  # contacts times components
    same: float = 0.005  # share of the pixels by which alternatives have to differ
    overlap: float = 0.7  # of the pixels of two alternatives, from which on they are about one part: listed once
    largest: float = 30.0  # per cent: a larger move counts as this
    level: float = -1.8  # log-odds that an alternative which explains the borders as well is better
    slope: float = 0.34  # by how much they fall with asinh(worse / SCALE)


_CHOSEN = _Constants()

SCALE = 3.0  # log-likelihoods up to this differ in earnest; of larger ones the logarithm does


@dataclass(frozen=True, eq=False)
class Alternative:
    """A part of a reconstruction that could sit elsewhere.

    Attributes
    ----------
    mask : (H, W) bool
        The pixels that would move.
    offset : float
        By how much most of them would move: log-depth for a central camera, depth for an orthographic one; positive is
        farther. Smaller parts that hang on them may move by another amount.
    factor : float or None
        exp(offset), the factor of their depth, for a central camera; None for an orthographic one.
    worse : float
        How much worse the borders are explained: the log-likelihood of what is seen at them falls by so much. Negative
        where they would be explained better.
    probability : float
        That it is nearer to the truth than the reconstruction as it is, calibrated on random scenes.
    contact : ((int, int), (int, int))
        Two neighbouring pixels (column, row) that would touch.
    text : str
        The same in words.
    shift : (n_components,) float64
        By how much each component that moves as a whole would move, in the unit of the potential.
    """

    mask: np.ndarray = field(repr=False)
    offset: float
    factor: float | None
    worse: float
    probability: float
    contact: tuple[tuple[int, int], tuple[int, int]]
    text: str
    shift: np.ndarray = field(repr=False)


def alternatives(standing: Standing) -> tuple[Alternative, ...]:
    """List what could sit elsewhere, the most plausible first.

    Parameters
    ----------
    standing : Standing
        A reconstruction and what its borders say.

    Returns
    -------
    tuple of Alternative
    """
    n_pixels = int(standing.size.sum())
    present = standing.log_likelihood(np.zeros(len(standing.size)))
    found = []
    for k in _untouched(standing):
        w = standing.witnesses
        shift = standing.rearranged(standing.pins.with_one(int(w.left[k]), int(w.right[k]), float(w.offset[k])))
        made = abs(shift[w.left[k]] - shift[w.right[k]] - w.offset[k]) <= w.tolerance[k]
        kept = np.allclose(shift[standing.pins.left], shift[standing.pins.right], rtol=0, atol=0.1 * standing.percent)
        worse = present - standing.log_likelihood(shift)
        notable = standing.size[standing.moves(shift)].sum() >= _CHOSEN.notable * n_pixels
        if made and kept and notable and worse <= _CHOSEN.worst:
            found.append(_Trial(int(k), shift, worse))
    chosen: list[_Trial] = []
    for one in sorted(found, key=lambda trial: -trial.promise(standing)):
        if len(chosen) < _CHOSEN.most and not any(_alike(standing, one.shift, other.shift) for other in chosen):
            chosen.append(one)
    return tuple(_described(standing, one) for one in chosen)


@dataclass(frozen=True, eq=False)
class _Trial:
    """The contact of a witness, the shifts (n_components,) that make it, and how much worse the borders are explained."""

    witness: int
    shift: np.ndarray
    worse: float

    @property
    def probability(self) -> float:
        odds = _CHOSEN.level - _CHOSEN.slope * np.arcsinh(self.worse / SCALE)
        return float(1 / (1 + np.exp(-odds)))

    def promise(self, standing: Standing) -> float:
        """The order of alternatives: their probability times the root of the mean move of all pixels."""
        move = np.minimum(np.abs(self.shift) / standing.percent, _CHOSEN.largest)
        return self.probability * float(np.sqrt((standing.size * move).sum() / standing.size.sum()))


def _alike(standing: Standing, one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two alternatives move the same part, or move it to the same place."""
    size, a, b = standing.size, standing.moves(one), standing.moves(other)
    if size[standing.moves(one - other)].sum() < _CHOSEN.same * size.sum():
        return True
    return bool(size[a & b].sum() > _CHOSEN.overlap * size[a | b].sum())


def _untouched(standing: Standing) -> np.ndarray:
    """Witnesses of contacts that are not made at present, the most promising first, one for each place that they suggest."""
    w, size = standing.witnesses.of_pieces, standing.size
    apart = np.flatnonzero(np.abs(w.offset) > np.maximum(standing.percent, 2 * w.tolerance))
    gain = w.weight * (w.touch - np.maximum(w.left_front, w.right_front))
    promise = gain + np.log(np.minimum(size[w.left], size[w.right]) / size.sum())
    apart = apart[np.argsort(-promise[apart], kind="stable")]
    turned = np.where(w.left < w.right, 1, -1)[apart]
    place = np.round(turned * w.offset[apart] / standing.percent).astype(np.int64)
    pair = np.sort(np.stack([w.left[apart], w.right[apart]]), axis=0)
    _, first = np.unique(np.stack([*pair, place]), axis=1, return_index=True)
    most = int(np.clip(_CHOSEN.effort // len(size), _CHOSEN.tried // 4, _CHOSEN.tried))
    return apart[np.sort(first)[:most]]


def _described(standing: Standing, trial: _Trial) -> Alternative:
    """A trial as users see it."""
    borders = standing.judged.borders
    graph, w, k, shift = standing.graph, standing.witnesses, trial.witness, trial.shift
    normal_map = graph.pixels.map
    moved = standing.moves(shift)
    inside = moved[graph.labels]
    by_pixel = shift[graph.labels][inside]
    camera = normal_map.camera
    middle = float(np.median(by_pixel))
    offset = middle if camera.central else float(camera.depth(np.array(middle)) - camera.depth(np.array(0.0)))
    factor = float(np.exp(middle)) if camera.central else None
    side = (borders.start[w.piece[k]] + borders.start[w.piece[k] + 1]) // 2
    width = normal_map.shape[1]
    at = [divmod(int(normal_map.position[pixel[side]]), width) for pixel in (borders.left, borders.right)]
    contact = ((at[0][1], at[0][0]), (at[1][1], at[1][0]))
    rests = resting_on(*resting(graph, standing.judged.potential, inside))
    text = f"{part_of(normal_map, inside)} {rests}; {elsewhere(offset, factor)}"
    mask = normal_map.image(inside, False).astype(np.bool_)
    return Alternative(mask, offset, factor, trial.worse, trial.probability, contact, text, shift)
