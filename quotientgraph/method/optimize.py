"""The method from start to end: fill the components, find their relative scales, say how it went.

With no hooks this is the published method. What goes beyond it plugs in at the hooks, in the order in which they are called:
absorbing crumbs, edges to leave out of the filling, joining components, pixels of known depth, refining the scales, placing
parts by what they share, and placing the surfaces by a depth prior.
The additions themselves live in `quotientgraph.beyond`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

import laplacians
from laplacians.core.arrays import namespace, to_host
from laplacians.core.sharing import Later

from ..graph.quotient import Quotient
from ..settings import Settings
from .cutedges import Borders, CutEdges
from .filling import LeaveOut, fill
from .outcome import Outcome, Progress, centred_pieces, reporter, warnings_of
from .scales import Known, Scales
from .weights import Outliers

_MANY_CUT = 10_000  # cut edges from which on it pays to group them, and to order their components, beside the filling


@dataclass(frozen=True, eq=False)
class Joined:
    """Components placed against each other by their borders.

    Attributes
    ----------
    graph : Quotient
        The graph, some components of which may have been divided.
    potential : (n_pixels,) float64
    judged : object
        What was found about its borders.
    placed : bool
        Whether any component was moved; otherwise graph and potential are as they were.
    held : Known, optional
        What holds components in their places beside their borders.
    """

    graph: Quotient
    potential: np.ndarray
    judged: Any
    placed: bool
    held: Known | None = None


@dataclass(frozen=True, eq=False)
class Shared:
    """What was placed by something that several parts have in common.

    Attributes
    ----------
    pairs : tuple of (int, int)
        Pairs of pixels whose depth relative to each other follows from it.
    text : str
        What a user should know about it.
    part, body : (n_components,) integers
        Components of one part surely touch, and the parts of one body have something in common. Numbers are equal within a
        part, or a body, and at least n_components; a component that belongs to none has its own number.
    """

    pairs: tuple[tuple[int, int], ...]
    text: str
    part: np.ndarray
    body: np.ndarray


@dataclass(frozen=True, eq=False)
class Placement:
    """A reconstruction improved by what is known beside the normals.

    Attributes
    ----------
    potential : (n_pixels,) float64
    levels : list of Quotient
        Graphs that stand for Q0, Q1, …
    certainty : (n_pixels,) float64
        Probability that the depth is right.
    doubts : tuple of str
        What a user should know about it.
    shared : Shared, optional
        What is left of what parts have in common: the pairs that were not moved against each other; None if there are none.
    """

    potential: np.ndarray
    levels: list[Quotient]
    certainty: np.ndarray
    doubts: tuple[str, ...] = ()
    shared: Shared | None = None


# A function of Q0 that gives the coarser graph to fill.
Absorb = Callable[[Quotient], Quotient]
# A function of a graph and its filled potential that moves the components against each other, and may divide some of them.
Join = Callable[[Quotient, np.ndarray], Joined]
# A function that goes on from the scales that were found, is told whether they had converged, and returns whether they have.
Refine = Callable[[Scales, bool], bool]
# A function that moves components from where the scales put them by what they have in common, if there is anything.
Share = Callable[[Scales], Shared | None]
# A function of Q0, its filled potential, the potential found from the normals, what was found about the borders, if that
# was asked for, and what parts have in common, if anything, that improves on the potential.
Place = Callable[[Quotient, np.ndarray, np.ndarray, Any, Shared | None], Placement]


class KnownDepth(Known, Protocol):
    """What is known of depth beside the normals, as the driver needs it."""

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of pixels whose depth relative to each other is known."""

    def settle(self, potential: np.ndarray, pieces: np.ndarray) -> np.ndarray:
        """The potential moved to the known depth."""


@dataclass(frozen=True)
class Hooks:
    """Where additions to the published method plug in; None leaves it as published.

    Attributes
    ----------
    absorb : callable
        Contracts crumbs before the filling.
    leave_out : callable
        Edges inside components that do not count in the filling.
    precise : bool
        Whether the filling is precise enough to decide by it.
    join : callable
        Places components against each other, for the scales to start from.
    refine : callable
        Goes on from the scales that were found.
    share : callable
        Places parts of a body against each other that have an axis in common.
    known : KnownDepth
        Anchors.
    place : callable
        Improves the result by a depth prior.
    """

    absorb: Absorb | None = None
    leave_out: LeaveOut | None = None
    precise: bool = False
    join: Join | None = None
    refine: Refine | None = None
    share: Share | None = None
    known: KnownDepth | None = None
    place: Place | None = None


def optimize(
    graph: Quotient, settings: Settings, hooks: Hooks | None = None, progress: bool | Progress | None = None
) -> Outcome:
    """Fill the components of a graph and find their relative scales.

    Parameters
    ----------
    graph : Quotient
        Q0.
    settings : Settings
    hooks : Hooks, optional
        Additions to the published method.
    progress : bool or callable, optional
        True for a progress bar, or a function that is given every `Step`.

    Returns
    -------
    Outcome
    """
    hooks = hooks or Hooks()
    backend = backend_of(settings.solver, "solver")
    fill_backend = (
        settings.fill_solver if settings.fill_solver == "auto" else backend_of(settings.fill_solver, "fill_solver")
    )
    xp = namespace(settings.device)
    scale = Outliers.from_settings(settings).scale(graph.pixels.map)
    report, close = reporter(progress, settings.max_iterations)
    try:
        began = laplacians.working_clock()
        known = hooks.known
        whole = graph if hooks.absorb is None else hooks.absorb(graph)
        # What joining leaves of the components is not known yet, and large maps need the memory for filling.
        certain = hooks.join is None and known is None and xp is np and isinstance(whole.jump, np.ndarray)
        ahead = Later(Borders.prepared, whole, backend, 0) if certain and len(whole.cut) > _MANY_CUT else None
        inside = fill(whole, fill_backend, hooks.leave_out, hooks.precise)
        filled = laplacians.working_clock()
        joined = None if hooks.join is None else hooks.join(whole, inside.potential)
        whole, start = (whole, inside.potential) if joined is None else (joined.graph, joined.potential)
        placed = joined is not None and joined.placed
        cut = CutEdges.from_graph(whole, start, scale, ahead.result() if ahead else None)
        borders = Borders(cut.pattern, cut.start, cut.number) if whole is graph else None
        held = known if joined is None else joined.held
        scales = Scales(whole, cut, start, settings, backend, report, xp, held, placed)
        converged = scales.descend()
        if hooks.refine is not None:
            converged = hooks.refine(scales, converged)
        shared = None if hooks.share is None else hooks.share(scales)
        potential = to_host(scales.potential)
        judged = None if joined is None else joined.judged
        found = hooks.place(scales.levels[0], inside.potential, potential, judged, shared) if hooks.place else None
        shared = shared if found is None else found.shared
    finally:
        close()
    if found is not None:
        potential = found.potential
    elif known is None:
        potential = centred_pieces(potential, graph)
    else:
        potential = known.settle(potential, graph.pixels.pieces)
    levels = scales.levels if whole is graph else [*whole.levels[-2:-1], *scales.levels]
    levels = levels if found is None else found.levels
    moved = [shared.text] if shared else []
    texts = warnings_of(graph, scales.history, converged, scales.unsolved, inside.converged, moved)
    return Outcome(
        graph=levels[-1],
        potential=potential,
        levels=levels,
        history=scales.history,
        seconds={**graph.seconds, "filling": filled - began, "scales": laplacians.working_clock() - filled},
        converged=converged,
        warnings=texts if found is None else [*texts, *found.doubts],
        device="cpu" if xp is np else "cuda",
        certainty=None if found is None else found.certainty,
        borders=borders if found is None else None,
        judged=judged if found is None else None,
        joined=placed and found is None,
        absolute=known is not None or found is not None,
        settled=(*(known.pairs if known else ()), *(shared.pairs if shared else ())),
    )


def backend_of(solver: Any, argument: str) -> Any:
    """A backend from what users pass: a name, or an object with ``solve(system)``."""
    if isinstance(solver, str):
        return laplacians.get(solver)
    if callable(getattr(solver, "solve", None)):
        return solver
    raise ValueError(
        f"{argument}: expected a name ({', '.join(laplacians.available())}) or an object with solve(system), got {solver!r}"
    )
