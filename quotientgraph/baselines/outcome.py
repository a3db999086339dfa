"""What the pixel-level methods share: what they need, and the `Reconstruction` they return."""

from __future__ import annotations

import numpy as np

from ..graph.quotient import QuotientGraph
from ..result import Reconstruction, Step


def needs_pixels(graph: QuotientGraph) -> None:
    """Refuse a graph whose pixels are joined into components."""
    if len(graph.cut) != graph.pixels.n_edges:
        raise ValueError(
            f"graph: a pixel-level method needs one component a pixel, got {graph.n_components} "
            f"for {graph.pixels.n_pixels} pixels; make it with angle=None"
        )


def outcome(
    graph: QuotientGraph, phi: np.ndarray, history: list[Step], seconds: float, converged: bool, unsolved: int
) -> Reconstruction:
    """A reconstruction from the potential that a pixel-level method ended with, centred, with its warnings."""
    pieces = graph.pixels.pieces
    phi = phi - (np.bincount(pieces, phi) / np.bincount(pieces))[pieces]
    warnings = []
    for key, text in {"no_normal": "have no normal", "no_ray": "have no ray", "faces_away": "face away"}.items():
        if graph.pixels.map.dropped[key]:
            warnings.append(f"{graph.pixels.map.dropped[key]} pixels of the mask {text} and were left out")
    if graph.pixels.n_pieces > 1:
        warnings.append(f"the valid pixels form {graph.pixels.n_pieces} separate pieces (see `pieces`)")
    if unsolved:
        warnings.append(f"the solver did not reach its tolerance in {int(unsolved)} of {len(history)} iterations")
    if not converged:
        warnings.append(f"not converged after {len(history)} iterations; raise max_iterations or energy_tol")
    return Reconstruction(
        graph=graph,
        potential=phi,
        levels=[graph],
        history=history,
        seconds={**graph.seconds, "scales": seconds},
        converged=bool(converged),
        warnings=warnings,
    )
