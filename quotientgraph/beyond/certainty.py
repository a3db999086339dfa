"""Certainty: the probability that the depth of a pixel is right, from how its face stands and what contradicts it.

Where borders can be judged, more is known than how many of them fit (`quotientgraph.beyond.confidence`): whether they fit
by chance. Where joining ends elsewhere as soon as its evidence is disturbed (`quotientgraph.beyond.steadiness`), the place
of a face was a close decision. A face that stands on another one meets it in a valley, which seldom happens by chance, and
borders at which faces touch should look like contacts. A border that looks like one but is torn contradicts the places of
its two faces, or one of them is several parallel faces in one; pixels close to it are the most doubtful.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laplacians.core.arrays import blocks, gathered
from laplacians.core.jit import WHOLE, kernel, portion

from ..geometry.normals import row_and_column
from ..graph.quotient import Quotient
from .joining import Judgement, weight_of_sides
from .ridges import RIDGE
from .steadiness import unsteadiness


@dataclass(frozen=True)
class _Right:
    """Log-odds that a pixel is right within 2 % per unit of each cue, fitted by `quotientgraph.bench.certainty_fit`."""

    little: float = -2.4071
    much: float = -1.4797
    standing: float = 0.2351
    likely: float = 0.1556
    contradicted_near: float = -0.4859
    size: float = 0.1368
    always: float = 1.9642


@dataclass(frozen=True)
class _Constants:
    """Chosen on the random scenes of the split "tune"."""

    torn: float = 0.3  # pixels by which a border must be torn, and
    notable: float = 0.01  # of the potential (of its range, for parallel rays)
    reach: float = 15.0  # pixels within which a contradiction counts most
    # Log-odds that count in addition where the normals were sharpened or straightened; see docs/beyond.md.
    mended: float = -0.4


_RIGHT, _CHOSEN = _Right(), _Constants()
_NOTHING = 60.0  # times the reach: beyond it a contradiction counts less than can be added to a number
_AT_ONCE = 2**17  # pixels: so many are looked up by a kernel
_CELL = 4  # pixels: the side of the cells for which nearness is computed


def certainty(judged: Judgement, settled: tuple[tuple[int, int], ...] = ()) -> np.ndarray:
    """(n_pixels,) probability that the depth is right within 2 %, for parallel rays within 2 % of its range.

    Parameters
    ----------
    judged : Judgement
        The borders of faces.
    settled : pairs of pixels
        Whose depth relative to each other is known.
    """
    labels = judged.graph.labels
    if judged.graph.n_components == 1:
        return np.ones(len(labels))
    cues, out = _component_cues(judged, settled)
    of_component = sum(getattr(_RIGHT, name) * cue for name, cue in cues.items())
    of_component += _RIGHT.always + (_CHOSEN.mended if judged.graph.pixels.map.mended else 0.0)
    for part in blocks(len(out), _AT_ONCE):
        odds = gathered(of_component, labels[part])
        near = np.flatnonzero(out[part])
        odds[near] += _RIGHT.contradicted_near * np.log1p(out[part][near])
        np.exp(np.negative(odds, out=odds), out=odds)
        odds += 1
        np.divide(1, odds, out=out[part])
    return out


def certainty_cues(judged: Judgement, settled: tuple[tuple[int, int], ...] = ()) -> dict[str, np.ndarray]:
    """(n_pixels,) cues, by the names of the fields of `_Right`; parameters as in `certainty`."""
    labels, (cues, near) = judged.graph.labels, _component_cues(judged, settled)
    return {
        **{name: cue[labels] for name, cue in cues.items()},
        "contradicted_near": np.log1p(near),
        "always": np.ones(len(labels)),
    }


def _component_cues(
    judged: Judgement, settled: tuple[tuple[int, int], ...]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """(n_components,) cues of components by name, and (n_pixels,) the contradictions near each pixel."""
    graph, facts = judged.graph, judged.facts
    w = judged.witnesses.of_pieces
    n, size, length = graph.n_components, graph.sizes, facts.n[w.piece]
    odds = w.touch - np.maximum(w.left_front, w.right_front)
    contact = weight_of_sides(length) * np.maximum(odds, 0)
    torn = np.abs(w.offset) > np.maximum(w.tolerance, _CHOSEN.torn / float(np.median(graph.pixels.map.focal)))
    valley = (facts.lean_left + facts.lean_right)[w.piece] > RIDGE
    against = np.where(torn & (np.abs(w.offset) > _CHOSEN.notable * judged.span), contact, 0.0)

    def of_component(values: np.ndarray) -> np.ndarray:
        return np.bincount(w.left, values, n) + np.bincount(w.right, values, n)

    told = np.tile(np.flatnonzero(against), 2)
    component = np.where(np.arange(len(told)) < len(told) // 2, w.left[told], w.right[told])
    near = nearby(graph, component, facts.row[w.piece[told]], facts.column[w.piece[told]], against[told])
    touching = np.where(torn, 0.0, length)
    cues = {
        **unsteadiness(judged, judged.witnesses, settled)._asdict(),
        "standing": np.log1p(of_component(np.where(~torn & valley, contact, 0.0))),
        "likely": of_component(touching * odds) / np.maximum(of_component(touching), 1),
        "size": np.log(size / size.sum()),
    }
    return cues, near


def nearby(
    graph: Quotient, component: np.ndarray, row: np.ndarray, column: np.ndarray, strength: np.ndarray
) -> np.ndarray:
    """(n_pixels,) how much there is near each pixel at places (n,) of its own component, given with their strengths."""
    pixels, (height, width) = graph.pixels, graph.pixels.map.shape
    out = np.zeros(pixels.n_pixels)
    if len(component):
        order = np.argsort(component, kind="stable")
        start = np.searchsorted(component[order], np.arange(graph.n_components + 1))
        rows = np.arange(0, height + _CELL, _CELL, dtype=np.int32)
        begin = np.searchsorted(pixels.map.position, rows * np.int32(width))
        cells = len(begin) - 1, width // _CELL + 1
        _nearby(
            pixels.map.position, width, graph.labels, begin, start, row[order], column[order], strength[order],
            _CHOSEN.reach, np.full(cells, -1, dtype=np.int32), np.empty(cells), out,
        )  # fmt: skip
    return out


@kernel(parallel_from=2**19)
def _nearby(position, width, labels, begin, start, row, column, strength, reach, seen, value, out, share=WHOLE):
    """Sum up the strengths of the places of each pixel's component, which fall off with their distance.

    The places of component c are start[c]:start[c+1]. The distance is that of the middle of the pixel's cell. Row i of
    cells has the pixels begin[i]:begin[i+1]. `seen` (n_rows, n_columns) tells for which component the `value` of a cell was
    computed last, and holds −1 on entry.
    """
    far = (_NOTHING * reach) ** 2
    for i in portion(len(begin) - 1, share):
        y = (i + 0.5) * _CELL - 0.5
        for p in range(begin[i], begin[i + 1]):
            c = labels[p]
            if start[c] == start[c + 1]:
                continue
            j = row_and_column(position[p], width)[1] // _CELL
            if seen[i, j] != c:
                x, total = (j + 0.5) * _CELL - 0.5, 0.0
                for k in range(start[c], start[c + 1]):
                    dy, dx = row[k] - y, column[k] - x
                    square = dy * dy + dx * dx
                    if square < far:
                        total += strength[k] * np.exp(-np.sqrt(square) / reach)
                seen[i, j], value[i, j] = c, total
            out[p] = value[i, j]
