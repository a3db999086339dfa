"""`Report`: how an integration over tiles went."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..io.atomic import atomic
from ..method.outcome import Step


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
    joining : str
        What placed components before the descent: "certain" if large flat faces have a notable part of the pixels, else
        "none".
    as_in_memory : bool
        Whether `quotientgraph.integrate` with the same settings would also have placed them in this way. It is False for a
        map with such faces whose borders could not be judged in tiles; a warning says why.
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
            part.write_text(json.dumps(asdict(self), default=float, indent=1), encoding="utf-8")
