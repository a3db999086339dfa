"""`Report`: how an integration over tiles went."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from .. import __version__
from ..io.atomic import atomic
from ..method.outcome import Step
from .numbering import Components
from .ownership import MARK
from .scales import TiledScales


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
        map with such faces whose borders could not be judged in tiles, and for one whose faces are bent so that memory would
        look for a smooth error of the normals; a warning says why.
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

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        with atomic(path) as part:
            document = {MARK: __version__, **asdict(self)}
            part.write_text(json.dumps(document, default=float, indent=1), encoding="utf-8")


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
