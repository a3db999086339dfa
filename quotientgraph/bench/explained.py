"""Whether normals speak for the truth or for what was found: ``python -m quotientgraph.bench.explained SOURCE …``.

A reconstruction that is wrong somewhere consists of *parts*: bordering surfaces that are right against each other. Moving
every part to its true place gives a second reconstruction. Both have the same normals on all surfaces, since a surface that
is scaled along its rays keeps them. They differ only in where parts touch (`quotientgraph.bench.touching`). So for each part
that is off, the length along which it touches others is compared: where it was found, in its true place, and in other
places, which is what chance gives. The part is

- *open* if no contact in view holds it: in its true place it touches others no more than in one of ten other places, or
  only such parts as are smaller and hang on nothing else either;
- *imitated* if it is held, but touches as much or more where it was found: a false contact looks as good as the true one;
- *mixed* if it touches more in its true place, but was never free to go there, since components hold parts of it together
  with parts of something else;
- *missed* if it touches more in its true place, and could have gone there: the normals tell, and the method did not see it.

The rest of the error is *inside* of parts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ..beyond.contacts import gaps
from ..beyond.joining import Judgement
from ..graph.quotient import Quotient
from ..graph.selection import connected_components
from ..metrics import aligned
from ..result import Reconstruction
from .context_fit import medians, true_potential
from .limits import asked, integrated
from .touching import LEAST, Borders

KINDS = ("open", "imitated", "mixed", "missed")
_SAME = 0.01  # of the depth: surfaces that are right against each other to so much are one part
_TORN = 0.1  # pixels: an edge that misses its interval by more is torn
_FACE = 64  # pixels of a surface that counts on its own
_MORE = 1.05  # times what is touched elsewhere: less than that is no more
_SHARED = 0.25  # of the pixels of a part in components that are not its own
_PART = 0.003  # of the depth: log-likelihoods take a contact for made to so much


@dataclass(frozen=True)
class Part:
    """Bordering surfaces that are right against each other; lengths are in pixels.

    Attributes
    ----------
    pixels : float
        Per cent of all pixels.
    row, column : float
        The middle of it.
    shift : float
        By how much it would have to move, in per cent of the depth; positive is farther.
    error : float
        What its place adds to the mean relative error, in per cent; 0 for what is in its place.
    border : float
        Length of its borders with other parts.
    found, true, chance : float
        Length along which it touches them: as found, with all parts in their true places, and in nine of ten other places
        at most.
    torn_found, torn_true : float
        Torn length of its borders as found, and with all parts in their true places.
    likelier : float
        By how much the log-likelihood of its judged borders is higher in its true place; NaN if none were judged.
    shared : float
        Share of its pixels in components that belong to other parts, or half to them.
    held : bool
        Whether true contacts in view tie it to a larger part, or it is the largest of those that hold most of the picture.
    """

    pixels: float
    row: float
    column: float
    shift: float
    error: float
    border: float
    found: float
    true: float
    chance: float
    torn_found: float
    torn_true: float
    likelier: float
    shared: float
    held: bool

    @property
    def kind(self) -> str:
        """One of `KINDS`, or "" for what is in its place."""
        if self.error == 0:
            return ""
        if not self.held or self.true <= max(self.chance, LEAST):
            return "open"
        if self.true <= _MORE * self.found:
            return "imitated"
        return "mixed" if self.shared > _SHARED else "missed"

    @property
    def text(self) -> str:
        """All about it in a line."""
        return (
            f"{self.kind:8} {self.error:5.2f}: {self.pixels:.1f} % at ({self.column:.0f}, {self.row:.0f}), "
            f"{self.shift:+.1f} % off; touches {self.found:.0f} px, in its place {self.true:.0f}, by chance "
            f"{self.chance:.0f}; torn {self.torn_found:.0f}, {self.torn_true:.0f}; likelier by {self.likelier:+.1f}"
        )


@dataclass(frozen=True, eq=False)
class Explained:
    """A reconstruction compared with the one that has every part in its true place.

    Attributes
    ----------
    error : float
        Mean relative depth error in per cent.
    parts : tuple of Part
    number : (n_pixels,) int64
        Which part each valid pixel belongs to.
    """

    error: float
    parts: tuple[Part, ...] = field(repr=False)
    number: np.ndarray = field(repr=False)

    def of(self, kind: str) -> float:
        """What the parts of one kind add to the error; "inside" is what is not due to the places of parts."""
        if kind == "inside":
            return self.error - sum(part.error for part in self.parts)
        return sum(part.error for part in self.parts if part.kind == kind)


def explained(result: Reconstruction, truth: np.ndarray, same: float = _SAME) -> Explained:
    """Compare a reconstruction with the true depth (H, W), known at every valid pixel.

    Surfaces whose places are right against each other to `same`, a part of the depth, are one part.
    """
    graph: Quotient = result.judged.graph if result.joined else result.graph
    pixels, seen = graph.pixels, graph.pixels.map
    right = true_potential(graph, truth)
    off = right - result.potential
    off -= np.median(off)
    span = 1.0 if seen.camera.central else float(np.ptp(right))
    surface = _surfaces(graph, right, same * span)
    own = medians(off, surface)
    ends = surface[pixels.tail], surface[pixels.head]
    near = np.abs(own[ends[0]] - own[ends[1]]) <= same * span
    number = connected_components(len(own), ends[0][near], ends[1][near])[surface].astype(np.int64)
    shift = medians(off, number)
    error = _relative(graph, result.potential, truth)
    # That part of the error of a pixel belongs to the place of its part which is gone once the part is there.
    moved = np.maximum(np.abs(off) - np.abs(off - shift[number]), 0) / np.maximum(np.abs(off), 1e-12)
    moved[np.abs(shift[number]) <= same * span] = 0
    size, (row, column) = np.bincount(number), np.divmod(seen.position, seen.shape[1])
    borders = Borders.of(graph, number, same * span)
    places = result.potential, result.potential + own[surface]
    found, (true, chance) = borders.touching(places[0])[0], borders.touching(places[1])
    torn = (borders.along(gaps(graph, place) > _TORN) for place in places)
    main = _main_parts(graph, number)
    mixed = np.bincount(graph.labels, main[graph.labels] == number) <= 0.5 * graph.sizes
    shared = np.bincount(number, (main[graph.labels] != number) | mixed[graph.labels]) / size
    likelier = np.full(len(size), np.nan)
    if result.joined:
        likelier = _likelier(
            result.judged.at(result.potential), medians(off, graph.labels), main, len(size), _PART * span
        )
    columns = (
        100 * size / len(number), np.bincount(number, row) / size, np.bincount(number, column) / size, 100 * shift / span,
        np.bincount(number, moved * error) / len(error), borders.along(borders.between), found, true, chance, *torn,
        likelier, shared, borders.held(places[1], number),
    )  # fmt: skip
    parts = tuple(Part(*values) for values in zip(*(of.tolist() for of in columns), strict=True))
    return Explained(float(error.mean()), parts, number)


def _relative(graph: Quotient, potential: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """(n_pixels,) relative errors in per cent, as `metrics.relative_error` has their mean."""
    seen = graph.pixels.map
    depth, known = (of.ravel()[seen.position] for of in (seen.image(seen.camera.depth(potential)), truth))
    miss = np.abs(aligned(depth, known, offset=not seen.camera.central) - known)
    return 100 * miss / (known if seen.camera.central else np.ptp(known))


def _surfaces(graph: Quotient, right: np.ndarray, same: float) -> np.ndarray:
    """(n_pixels,) numbers of surfaces: components, divided where they are torn by the true potential (n_pixels,).

    What is smaller than a face goes with the largest surface of its component.
    """
    pixels = graph.pixels
    inner = np.flatnonzero(graph.labels[pixels.tail] == graph.labels[pixels.head])
    whole = inner[gaps(graph, right, inner) <= np.maximum(1.0, 0.5 * same * pixels.focal_at(inner))]
    piece = connected_components(pixels.n_pixels, pixels.tail[whole], pixels.head[whole])
    size, first = np.bincount(piece), np.unique(piece, return_index=True)[1]
    of = graph.labels[first]  # the component of each piece
    largest = np.lexsort((size, of))[np.cumsum(np.bincount(of)) - 1]
    return np.unique(np.where(size >= _FACE, np.arange(len(size)), largest[of])[piece], return_inverse=True)[1]


def _main_parts(graph: Quotient, number: np.ndarray) -> np.ndarray:
    """(n_components,) the part that has most pixels of each component."""
    pair, count = np.unique(graph.labels * (number.max() + 1) + number, return_counts=True)
    component, part = np.divmod(pair, number.max() + 1)
    return part[np.lexsort((count, component))[np.cumsum(np.bincount(component)) - 1]]


def _likelier(judged: Judgement, own: np.ndarray, part: np.ndarray, n_parts: int, slack: float) -> np.ndarray:
    """(n_parts,) by how much the borders of each part are likelier if components shift by `own` (n_components,)."""
    w = judged.witnesses

    def told(shift: np.ndarray) -> np.ndarray:
        miss = shift[w.left] - shift[w.right] - w.offset
        touches = np.abs(miss) <= np.maximum(w.tolerance, slack)
        return np.where(touches, w.touch, np.where(miss < 0, w.left_front, w.right_front))

    gain = w.weight * (part[w.left] != part[w.right]) * (told(own) - told(np.zeros_like(own)))
    return np.bincount(part[w.left], gain, n_parts) + np.bincount(part[w.right], gain, n_parts)


def main() -> None:
    parser = argparse.ArgumentParser(description="Whether normals speak for the truth or for what was found.")
    parser.add_argument(
        "--parts", type=int, default=0, help="list so many parts of each case, those of most error first (0)"
    )
    cases, given = asked(parser)
    total: list[list[float]] = []
    for name, result, truth in integrated(cases):
        of = explained(result, truth)
        total.append([of.error, of.of("inside"), *(of.of(kind) for kind in KINDS)])
        sys.stdout.write(f"{name:28} {_text(total[-1])}\n")
        for part in sorted(of.parts, key=lambda part: -part.error)[: given.parts]:
            sys.stdout.write(f"  {part.text}\n")
        sys.stdout.flush()
    if total:
        sys.stdout.write(f"{f'mean of {len(total)}':28} {_text(np.mean(total, axis=0))}\n")


def _text(values: Iterable[float]) -> str:
    error, *shares = values
    named = zip(("inside", *KINDS), shares, strict=True)
    return f"error {error:6.2f} %: " + ", ".join(f"{name} {value:5.2f}" for name, value in named)


if __name__ == "__main__":
    main()
