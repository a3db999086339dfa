"""`Outcome`: what a method found, and what a user should know about it; `Step`: what one iteration did."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from laplacians.core.arrays import centred

from ..geometry.normals import LEFT_OUT
from ..graph.quotient import Quotient
from .cutedges import Borders

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Step:
    """One iteration of the relative-scale optimisation."""

    iteration: int
    level: int
    n_components: int
    energy: float
    solver_iterations: int
    seconds: float


Progress = Callable[[Step], Any]


@dataclass(frozen=True, eq=False, repr=False)
class Outcome:
    """A surface integrated from normals, as its method leaves it.

    Attributes
    ----------
    graph : Quotient
        The last Qm.
    potential : (n_pixels,) float64
        φ of each valid pixel, of zero mean over each connected piece unless depth is known otherwise.
    levels : sequence of Quotient
        Q0, Q1, …, the last of which is `graph`.
    history : list of Step
    seconds : dict
        Time by stage: "graph", "components", "filling", "scales".
    converged : bool
    warnings : list of str
        What a user should know: pixels left out, separate pieces, non-convergence.
    device : str
        "cpu" or "cuda": where the scales were optimised.
    certainty : (n_pixels,) float64 or None
        Probability that the depth of each pixel is right, where a depth prior tells; None without a prior.
    borders : Borders or None
        Those of Q0, with what its solver knows of them, for who goes on from here; None if there are none to share.
    judged : object or None
        What was found about the borders of faces, `quotientgraph.beyond.joining.Judgement`; None where there are no faces.
    joined : bool
        Whether components were placed against each other by their most certain borders.
    absolute : bool
        Whether anchors or a depth prior fix the absolute depth.
    settled : tuple of (int, int)
        Pairs of pixels whose depth relative to each other is known beside the normals, and has been given to them.
    taken : tuple of str
        What was settled after the integration, in words.
    doubts : tuple of str
        Those of the warnings that are about where the parts are now, so that moving them takes the warnings away.
    """

    graph: Quotient
    potential: np.ndarray
    levels: Sequence[Quotient]
    history: list[Step]
    seconds: dict[str, float]
    converged: bool
    warnings: list[str]
    device: str = "cpu"
    certainty: np.ndarray | None = None
    borders: Borders | None = None
    judged: Any = None
    joined: bool = False
    absolute: bool = False
    settled: tuple[tuple[int, int], ...] = ()
    taken: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def centred_pieces(potential: np.ndarray, graph: Quotient) -> np.ndarray:
    """The potential (n_pixels,) with zero mean over each connected piece of G0."""
    if graph.pixels.n_pieces == 1:
        return potential - potential.mean()
    return centred(potential, graph.pixels.pieces)


def warnings_of(
    graph: Quotient,
    history: list[Step],
    converged: bool,
    unsolved: int,
    filled: bool = True,
    further: Sequence[str] = (),
) -> list[str]:
    """What a user should know about a run, as sentences; they are logged as well.

    Parameters
    ----------
    graph : Quotient
    history : list of Step
    converged : bool
        Whether the energy settled before the iterations ran out.
    unsolved : int
        In how many iterations the solver did not reach its tolerance.
    filled : bool
        Whether the filling reached its tolerance.
    further : sequence of str
        What else is to be said.
    """
    pixels = graph.pixels
    out = list(graph.warnings)
    out += [
        f"{count} pixels {LEFT_OUT[reason]} and were left out" for reason, count in pixels.map.dropped.items() if count
    ]
    if pixels.n_pieces > 1:
        out.append(
            f"the valid pixels form {pixels.n_pieces} separate pieces; "
            "their depth relative to each other is not determined by the normals (see `pieces`)"
        )
    if not filled:
        out.append("filling did not reach its tolerance")
    if unsolved:
        out.append(f"the solver did not reach its tolerance in {int(unsolved)} of {len(history)} iterations")
    if not converged:
        out.append(f"not converged after {len(history)} iterations; raise max_iterations or energy_tol")
    out += further
    for text in out:
        logger.warning(text)
    return out


def reporter(progress: bool | Progress | None, total: int) -> tuple[Progress, Callable[[], Any]]:
    """A function to call with every `Step`, and one to call at the end.

    Parameters
    ----------
    progress : bool, callable or None
        True shows a progress bar; a callable is given every step.
    total : int
        The largest number of iterations.
    """
    if callable(progress):
        return progress, lambda: None
    if not progress:
        return lambda step: None, lambda: None
    from tqdm.auto import tqdm

    bar = tqdm(total=total, desc="scales", unit="it", leave=False)

    def show(step: Step) -> None:
        bar.set_postfix(level=step.level, components=step.n_components, energy=f"{step.energy:.3g}")
        bar.update()

    return show, bar.close
