"""Settling: contacts and depths that a user knows move the components that they are about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..geometry.jumps import interval
from ..graph.quotient import Quotient
from ..method.outcome import Outcome, centred_pieces
from .alternatives import Alternative
from .anchors import Anchors
from .contradictions import compared
from .standing import Standing

# Edges of a border this near to a contact, in pixels, say together where the two surfaces touch.
_NEAR = 6.0

Pixel = Sequence[float]
Contact = tuple[Pixel, Pixel]


def settled(
    outcome: Outcome,
    standing: Standing,
    contacts: Sequence[Contact] | None = None,
    anchors: Sequence[tuple[float, float, float]] | None = None,
) -> Outcome:
    """Move components so that known contacts are made and known depths are met.

    Parameters
    ----------
    outcome : Outcome
    standing : Standing
        How it stands.
    contacts : sequence of pairs of (column, row), optional
        Neighbouring pixels on two sides of a border where the two surfaces touch.
    anchors : sequence of (column, row, depth), optional

    Returns
    -------
    Outcome
        What moves is what hangs on a contact or an anchor more than on the rest. What is settled stays so afterwards.
    """
    graph, potential, pins = standing.graph, outcome.potential, standing.pins
    pairs, words = [*outcome.settled], [*outcome.taken]
    for contact in understood(contacts):
        a, b, offset = _contact_offset(graph, potential, contact)
        pins = pins.with_one(int(graph.labels[a]), int(graph.labels[b]), offset)
        pairs.append((a, b))
        words.append(f"the surfaces touch at {_place(graph, a)} and {_place(graph, b)}")
    known = Anchors.from_depths(graph, anchors)
    if known is not None:
        off = known.potential - potential[known.pixel]
        for pixel, step in zip(known.pixel[1:], off[1:] - off[0], strict=True):
            one, other = int(graph.labels[pixel]), int(graph.labels[known.pixel[0]])
            if one != other:
                pins = pins.with_one(one, other, float(step))
        pairs += known.pairs
        words.append(f"{len(known.pixel)} anchor{'s' if len(known.pixel) > 1 else ''}")
    moved = potential + standing.rearranged(pins)[graph.labels]
    if known is not None:
        label = graph.labels[known.pixel]
        moved += np.median((known.potential - moved[known.pixel])[label == label[0]])
    return compared(_moved(outcome, moved, pairs, words, outcome.absolute or known is not None), known)


def taken(outcome: Outcome, standing: Standing, alternative: Alternative) -> Outcome:
    """Move what an alternative moves. The contact that it makes is settled from then on."""
    graph = standing.graph
    potential = outcome.potential + alternative.shift[graph.labels]
    ends = [int(graph.pixels.map.index[row, column]) for column, row in alternative.contact]
    pairs = [*outcome.settled, (ends[0], ends[1])]
    return _moved(outcome, potential, pairs, [*outcome.taken, alternative.text], outcome.absolute)


def _moved(
    outcome: Outcome, potential: np.ndarray, pairs: list[tuple[int, int]], words: list[str], absolute: bool
) -> Outcome:
    """The outcome at another potential. Certainty that came from a depth prior is that of what a pixel is now tied to."""
    certainty = None
    if outcome.certainty is not None and outcome.absolute:
        certainty = outcome.certainty.copy()
        step = potential - outcome.potential
        for a, b in pairs[len(outcome.settled) :]:
            certainty[np.abs(step - step[a]) < 1e-12] = certainty[[a, b]].max()
    return replace(
        outcome,
        potential=potential if absolute else centred_pieces(potential, outcome.levels[0]),
        certainty=certainty,
        absolute=absolute,
        settled=tuple(pairs),
        taken=tuple(words),
        doubts=(),
        warnings=[text for text in outcome.warnings if text not in outcome.doubts],
    )


def _contact_offset(graph: Quotient, potential: np.ndarray, contact: Contact) -> tuple[int, int, float]:
    """The two pixels of a contact and the shift, of the component of the first against the other, that makes it.

    Of the shifts that the edge at the contact allows, wherever its crease is, it is the one that most edges near it allow.
    """
    pixels = graph.pixels
    a, b = (_pixel(graph, one) for one in contact)
    one, other = graph.labels[a], graph.labels[b]
    if one == other:
        raise ValueError(
            f"contacts: {_place(graph, a)} and {_place(graph, b)} lie in one component, whose shape the normals tell; "
            "choose two pixels on two sides of a border"
        )
    tail, head = graph.tail, graph.head
    along, back = (tail == one) & (head == other), (tail == other) & (head == one)
    edges = np.concatenate([graph.cut[along], graph.cut[back]])
    if not len(edges):
        raise ValueError(
            f"contacts: the components of {_place(graph, a)} and {_place(graph, b)} share no border; "
            "choose two pixels beside each other, or give the depth of both as anchors"
        )
    first = np.concatenate([pixels.tail[graph.cut[along]], pixels.head[graph.cut[back]]])
    second = np.concatenate([pixels.head[graph.cut[along]], pixels.tail[graph.cut[back]]])
    distance = _distance(graph, first, a) + _distance(graph, second, b)
    near = distance <= distance.min() + 2 * _NEAR
    low, high = interval(pixels.map, first[near], second[near]) - (potential[first] - potential[second])[near]
    own = int(distance[near].argmin())
    ends = np.unique(np.clip(np.concatenate([low, high]), low[own], high[own]))
    middle = np.append(0.5 * (ends[1:] + ends[:-1]), 0.5 * (low[own] + high[own]))
    votes = ((low[:, None] <= middle) & (middle <= high[:, None])).sum(axis=0)
    return a, b, float(np.median(middle[votes == votes.max()]))


def _distance(graph: Quotient, pixel: np.ndarray, other: int) -> np.ndarray:
    """(n,) distances in pixels, the short way around where the image wraps."""
    normal_map = graph.pixels.map
    v, u = np.divmod(normal_map.position[np.append(pixel, other)], normal_map.shape[1])
    down, along = np.abs(v[:-1] - v[-1]), np.abs(u[:-1] - u[-1])
    if normal_map.wrap.y:
        down = np.minimum(down, normal_map.shape[0] - down)
    if normal_map.wrap.x:
        along = np.minimum(along, normal_map.shape[1] - along)
    return np.hypot(down, along)


def understood(contacts: Sequence[Contact] | None) -> list[Contact]:
    """What a user passes as contacts; ValueError if that is not what they are."""
    if contacts is None:
        return []
    if not isinstance(contacts, Iterable):
        raise ValueError(f"contacts: expected a sequence of pairs of pixels ((u, v), (u, v)), got {contacts!r}")
    return [_both(contact) for contact in contacts]


def _both(contact: Contact) -> tuple[Pixel, Pixel]:
    try:
        one, other = contact
        (_, _), (_, _) = one, other
    except (TypeError, ValueError):
        raise ValueError(f"contacts: expected two pixels ((u, v), (u, v)), got {contact!r}") from None
    return one, other


def _pixel(graph: Quotient, place: Pixel) -> int:
    """Number of the valid pixel at (column, row)."""
    normal_map = graph.pixels.map
    height, width = normal_map.shape
    column, row = (round(float(value)) for value in place)
    if not (0 <= column < width and 0 <= row < height):
        raise ValueError(
            f"contacts: ({column}, {row}) lies outside the {width}×{height} image; u is the column, v the row"
        )
    number = int(normal_map.index[row, column])
    if number < 0:
        raise ValueError(f"contacts: the pixel ({column}, {row}) is not valid; choose one on the surface")
    return number


def _place(graph: Quotient, pixel: int) -> str:
    row, column = divmod(int(graph.pixels.map.position[pixel]), graph.pixels.map.shape[1])
    return f"({column}, {row})"
