"""What the pixel-level methods share: what they need, and the `Outcome` they return."""

from __future__ import annotations

import logging

import numpy as np

from ..graph.quotient import Quotient
from ..method.outcome import Outcome, Step, centred_pieces, warnings_of
from .grazing import limited

logger = logging.getLogger(__name__)


def needs_pixels(graph: Quotient) -> None:
    """Raise a `ValueError` if the pixels of a graph are joined into components."""
    if len(graph.cut) != graph.pixels.n_edges:
        raise ValueError(
            f"graph: a pixel-level method needs one component a pixel, got {graph.n_components} "
            f"for {graph.pixels.n_pixels} pixels; make it with angle=None"
        )


def outcome(
    graph: Quotient, phi: np.ndarray, history: list[Step], seconds: float, converged: bool, unsolved: int
) -> Outcome:
    """Return the outcome for the potential that a pixel-level method ended with, centred, with its warnings."""
    potential, warning = limited(centred_pieces(phi, graph), graph.pixels.map.camera)
    if warning:
        logger.warning(warning)
    return Outcome(
        graph=graph,
        potential=potential,
        levels=[graph],
        history=history,
        seconds={**graph.seconds, "scales": seconds},
        converged=bool(converged),
        warnings=[*warnings_of(graph, history, bool(converged), unsolved), *([warning] if warning else [])],
    )
