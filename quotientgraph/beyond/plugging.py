"""Which additions to the published method a graph is integrated with."""

from __future__ import annotations

from ..geometry.wrapping import Wrap
from ..graph.quotient import Quotient
from ..method.optimize import Hooks
from ..settings import Settings
from .absorbing import absorbed, deserves_precision, has_faces
from .anchors import Anchors
from .creases import refine_creases
from .hidden_jumps import hidden_jumps
from .joining import joined
from .prior import Prior


def hooks_for(graph: Quotient, settings: Settings, known: Anchors | None = None, place: Prior | None = None) -> Hooks:
    """The additions to the published method that the settings ask for and the graph allows.

    Where components are joined, anchors are none of them: they are settled afterwards, on the joined components.

    Parameters
    ----------
    graph : Quotient
    settings : Settings
    known : Anchors, optional
    place : Prior, optional

    Returns
    -------
    Hooks
    """
    whole = settings.merge_every is None and graph.jump.ndim == 1
    # Borders are judged by their lines in an image plane, which panoramas do not have.
    seen = graph.pixels.map
    joins = whole and settings.joining == "certain" and not seen.camera.spherical
    joins = joins and seen.wrap == Wrap() and has_faces(graph)
    known = None if joins else known
    return Hooks(
        absorb=absorbed if joins else None,
        join=joined if joins else None,
        precise=joins and deserves_precision(graph),
        leave_out=hidden_jumps if settings.filling == "contracted" else None,
        refine=refine_creases if whole and known is None and settings.creases == "anywhere" else None,
        known=known,
        place=place,
    )
