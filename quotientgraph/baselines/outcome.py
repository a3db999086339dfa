"""What the pixel-level methods share: what they need, and the `Outcome` they return."""

from __future__ import annotations

import numpy as np

from ..graph.quotient import Quotient
from ..method.outcome import Outcome, Step, centred_pieces, warnings_of


def needs_pixels(graph: Quotient) -> None:
    """Refuse a graph whose pixels are joined into components."""
    if len(graph.cut) != graph.pixels.n_edges:
        raise ValueError(
            f"graph: a pixel-level method needs one component a pixel, got {graph.n_components} "
            f"for {graph.pixels.n_pixels} pixels; make it with angle=None"
        )


def outcome(
    graph: Quotient, phi: np.ndarray, history: list[Step], seconds: float, converged: bool, unsolved: int
) -> Outcome:
    """The outcome for the potential that a pixel-level method ended with, centred, with its warnings."""
    return Outcome(
        graph=graph,
        potential=centred_pieces(phi, graph),
        levels=[graph],
        history=history,
        seconds={**graph.seconds, "scales": seconds},
        converged=bool(converged),
        warnings=warnings_of(graph, history, bool(converged), unsolved),
    )
