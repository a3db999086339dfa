"""`Report`: how an integration over tiles went."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np

from .. import __version__
from ..io.atomic import atomic
from ..method.outcome import Step
from .numbering import Components
from .outputs import Outputs
from .ownership import MARK, is_ours
from .scales import TiledScales

_NOT_JOINED = (
    "large flat faces have a quarter of the pixels or more: the default places the components of such maps by their most "
    "certain borders first, but {why}, so here they are placed by the descent alone, and the depth of some of them "
    "differs from that of `quotientgraph.integrate`; use that where the map fits into memory, or pass "
    'joining="none" if you want this'
)
_NOT_STRAIGHTENED = (
    "large faces are slightly bent: in memory a smooth error of the normals would be looked for, as networks make it, and "
    "taken out, but not in tiles, so the depth may differ from that of `quotientgraph.integrate`; use that where the map "
    'fits into memory, or pass straightening="none" if you want this'
)
_NOT_SHARPENED = (
    "the edges of the normals are blurred: in memory they would be made sharp, but not in tiles, so the depth may differ "
    "from that of `quotientgraph.integrate`; use that where the map fits into memory, or pass "
    'sharpening="none" if you want this'
)
_NOT_TURNED = (
    "parts of a turned body have an axis in common: in memory they would be placed by it, but not in tiles, so their depth "
    "differs from that of `quotientgraph.integrate`; use that where the map fits into memory, or pass "
    'axes="none" if you want this'
)


@dataclass(frozen=True)
class Report:
    """How an integration over tiles went.

    Attributes
    ----------
    shape : (H, W)
    tile, overlap : int
        How the map was divided.
    angle : float or None
        θ_c in degrees that components were formed with.
    n_components, n_pieces, n_edges : int
        Components, connected pieces of the valid pixels, cut edges.
    rounds : list of float
        Largest change of the potential in each round that corrected the filling.
    history : list of Step
        The iterations of the scales.
    converged : bool
    warnings : list of str
    wrap : str
        Which borders of the map meet: "none", "x", "y" or "both".
    slope : (float, float)
        The net slope around a map that wraps, to the right and downwards, as `Reconstruction.slope` has it.
    joining : str
        What placed components before the descent: "certain" if large flat faces have a notable part of the pixels, else
        "none".
    as_in_memory : bool
        Whether `quotientgraph.integrate` with the same settings would also have placed them in this way. It is False for a
        map with such faces whose borders could not be judged in tiles, for one whose faces are bent so that memory would
        look for a smooth error of the normals, for one whose edges are blurred so that memory would make them sharp, and for
        one with parts that memory would place by an axis that they share; a warning says why.
    seconds : dict
        Time by stage; "cluster" is what passed before the first of them.
    tasks : dict
        For each stage the number of tasks that were run, and the processor time they took.
    busy : dict
        Processor time of each process: what it spent on tasks, for "driver" what it spent between stages, while no task ran,
        and for "beside" what it spent while tasks of other processes ran, on the scheduler of Dask for the most part.
    critical : float
        Processor time of the driver between stages, and in each stage that of the process that had most to do: how long the
        run takes at least on as many free cores as there are processes.
    peaks : dict
        Largest memory of each process, in bytes; "driver" is the one that was asked.
    reused : int
        Tasks of an earlier run whose files were found intact.
    depth, components, nodes, edges : str
        Where the results are.
    """

    shape: tuple[int, int]
    tile: int
    overlap: int
    angle: float | None
    n_components: int
    n_pieces: int
    n_edges: int
    rounds: list[float]
    converged: bool
    warnings: list[str]
    wrap: str
    slope: tuple[float, float]
    joining: str
    as_in_memory: bool
    seconds: dict[str, float]
    tasks: dict[str, list[float]]
    busy: dict[str, float]
    critical: float
    peaks: dict[str, int]
    reused: int
    depth: str
    components: str
    nodes: str
    edges: str
    history: list[Step] = field(repr=False)

    def save(self, where: Outputs, identity: dict[str, Any]) -> None:
        """Write it as JSON, with what the run depended on. It is the last of the results: the others are there."""
        with atomic(where.report) as part:
            document = {MARK: __version__, "identity": identity, **asdict(self)}
            part.write_text(json.dumps(document, default=float, indent=1), encoding="utf-8")

    @classmethod
    def saved(cls, where: Outputs, identity: dict[str, Any]) -> Self | None:
        """The report of a run that is complete; None if another run wrote the results, or they are not all there."""
        if not all(is_ours(path) and (path.is_file() or (path / "zarr.json").exists()) for path in where.all):
            return None
        found = json.loads(where.report.read_bytes())
        if found.pop("identity", None) != json.loads(json.dumps(identity)):
            return None
        del found[MARK]
        found |= {name: tuple(found[name]) for name in ("shape", "slope")}
        return cls(**{**found, "history": [Step(**step) for step in found["history"]]})


def differences(obstacle: str, blurred: bool, bent: bool, turned: bool) -> list[str]:
    """Why the result is not that of `quotientgraph.integrate`, as sentences; empty if it is.

    `obstacle` is why components were not joined, `blurred` whether memory would make edges sharp, `bent` whether it would
    look for a smooth error of the normals, and `turned` whether it would place parts by the axis that they share.
    """
    joined = [_NOT_JOINED.format(why=obstacle)] if obstacle else []
    return joined + [_NOT_SHARPENED] * blurred + [_NOT_STRAIGHTENED] * bent + [_NOT_TURNED] * turned


def conclusions(found: Components, scales: TiledScales, converged: bool, piece: np.ndarray) -> list[str]:
    """What a user should know about the result, as sentences; `piece` is that of each component."""
    texts, n_pieces = [], int(piece.max()) + 1
    if found.left_out:
        texts.append(f"{found.left_out} pixels have no normal or face away from the camera and were left out")
    if n_pieces > 1:
        texts.append(
            f"the valid pixels form {n_pieces} separate pieces; "
            "their depth relative to each other is not determined by the normals"
        )
    if scales.unsolved:
        texts.append(f"the solver did not reach its tolerance in {scales.unsolved} of {scales.iteration} iterations")
    if not converged:
        texts.append(f"not converged after {scales.iteration} iterations; raise max_iterations or energy_tol")
    return texts
