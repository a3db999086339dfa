"""Which additions to the published method a graph is integrated with."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

import numpy as np

from ..geometry.wrapping import Wrap
from ..graph.quotient import Quotient
from ..method.optimize import Hooks
from ..settings import Settings
from .absorbing import absorbed
from .anchors import Anchors
from .creases import refine_creases
from .flatness import Faces
from .hidden_jumps import hidden_jumps
from .joining import joined
from .prior import Prior
from .shared_axes import share_axes
from .sharpening import sharpened
from .straightening import straightened

_Q = TypeVar("_Q", bound=Quotient)
# Of a map without noise that has notable faces, this part of the neighbouring normals differs by no more than so much.
_ALIKE, _ROUNDED = 0.2, 1e-5
_PRECISE_UP_TO = 2**18  # pixels of a map that is filled precisely; larger ones would take noticeably longer


def prepared(graph: _Q, settings: Settings) -> tuple[_Q, Faces | None]:
    """The graph to integrate, and its faces if its components are joined.

    It is the given one, with sharp edges if they are blurred, and straightened normals if a smooth error bends its faces.
    """
    # Borders are judged by their lines in an image plane, which panoramas do not have.
    seen = graph.pixels.map
    joins = _whole(graph, settings) and settings.joining == "certain" and not seen.camera.spherical
    if not joins or seen.wrap != Wrap():
        return graph, None
    mended, faces = graph, Faces.of_graph(graph)
    if settings.sharpening == "edges" and graph.formed_by_preset and (faces.notable or faces.bent):
        sharp = sharpened(graph)
        if sharp is not None:
            mended, faces = sharp, Faces.of_graph(sharp)
    if settings.straightening == "smooth" and faces.bent and graph.below is None:
        straight = straightened(mended)
        if straight is not None:
            return straight, Faces.of_graph(straight)
    return (mended, faces) if faces.notable else (graph, None)


def hooks_for(
    graph: Quotient,
    settings: Settings,
    faces: Faces | None,
    known: Anchors | None = None,
    place: Prior | None = None,
) -> Hooks:
    """The additions to the published method that the settings ask for and the graph allows.

    Where components are joined, or none has a border, anchors are none of them: they are settled afterwards.

    Parameters
    ----------
    graph : Quotient
    settings : Settings
    faces : Faces or None
        None if components are not joined; see `prepared`.
    known : Anchors, optional
    place : Prior, optional

    Returns
    -------
    Hooks
    """
    joins = faces is not None
    known = known if len(graph.cut) and not joins else None
    # Anchors that tie components to their depths would pull at what is moved.
    free = _whole(graph, settings) and known is None
    return Hooks(
        absorb=absorbed if joins else None,
        join=None if faces is None else partial(joined, noisy=faces.noisy),
        precise=joins and _deserves_precision(graph),
        leave_out=hidden_jumps if settings.filling == "contracted" else None,
        refine=refine_creases if free and settings.creases == "anywhere" else None,
        share=share_axes if free and settings.axes == "shared" else None,
        known=known,
        place=place,
    )


def _whole(graph: Quotient, settings: Settings) -> bool:
    """Whether components stay what they are, and have one jump for each edge."""
    return settings.merge_every is None and graph.jump.ndim == 1


def _deserves_precision(graph: Quotient) -> bool:
    """Whether a map that has faces is small and free of noise: neighbouring normals of a face are then equal to rounding.

    Joining such a map is worth a precise filling: a flipped map then gives the flipped surface. With noise, even that of 8
    bits, more digits would be digits of the noise.
    """
    pixels = graph.pixels
    if pixels.n_pixels > _PRECISE_UP_TO:
        return False
    step = max(1, pixels.n_edges // 20_000)
    tail, head = (pixels.map.normals.take(end[::step], axis=0) for end in (pixels.tail, pixels.head))
    x, y, z = np.abs(tail - head).T
    chord = np.maximum(np.maximum(x, y), z)  # row by row it would take ten times as long
    if not len(chord):
        return False
    # The quantile lies between two of the sorted chords, so that counting tells unless just one of them is below the bound.
    rank, n_below = int(_ALIKE * (len(chord) - 1)), np.count_nonzero(chord < _ROUNDED)
    return bool(n_below > rank + 1 or (n_below > rank and np.quantile(chord, _ALIKE) < _ROUNDED))
