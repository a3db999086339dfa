"""`integrate`: a map of any size, tile by tile, with the answer of the whole map."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import __version__
from ..geometry.camera import Camera, as_camera
from ..geometry.normals import FRAMES
from ..io.atomic import OutputError, atomic
from ..method.outcome import Step
from ..settings import Settings
from . import components, outputs
from .journal import Journal
from .outputs import Outputs, as_dask
from .pool import pool_for
from .run import Run, Watch
from .sources import Source
from .tiling import Tiling
from .window import Job
from .work import Work


@dataclass(frozen=True)
class Report:
    """How an integration over tiles went.

    Attributes
    ----------
    shape, tile, overlap
        The map, and how it was divided.
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
    seconds : dict
        Time by stage.
    tasks : dict
        For each stage the number of tasks and the processor time they took.
    peaks : dict
        Largest memory of each process, in bytes.
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
    seconds: dict[str, float]
    tasks: dict[str, list[float]]
    peaks: dict[str, int]
    depth: str
    components: str
    nodes: str
    edges: str
    history: list[Step] = field(repr=False)


def integrate(
    normals: Any,
    mask: Any = None,
    camera: Camera | ArrayLike | None = None,
    out: str | Path = "depth.zarr",
    client: Any = None,
    tile: int = 2048,
    *,
    frame: str = "opengl",
    angle: float | str | None = "auto",
    connectivity: int = 8,
    preset: str = "best",
    workers: int | None = None,
    overlap: int | None = None,
    tolerance: float = 1e-8,
    dtype: str = "float64",
    resume: bool = False,
    overwrite: bool = False,
    keep: bool = False,
    progress: Watch | None = None,
    **settings: Any,
) -> tuple[Any, Report]:
    """Integrate a large normal map in tiles, with the result that integrating it as a whole has."""
    began = time.perf_counter()
    source = Source.from_arrays(normals, mask)
    if frame not in FRAMES:
        raise ValueError(f"frame={frame!r} is not known; use one of {', '.join(sorted(FRAMES))}")
    chosen = Settings.from_preset(preset, **settings)
    view = as_camera(camera)
    where = Outputs(Path(out).resolve(), dtype)
    tile = min(tile, -(-max(source.shape) // 8) * 8)
    overlap = overlap or max(16, min(128, tile // 16 // 8 * 8))
    tiling = Tiling(source.shape, max(tile, 32), overlap)
    work = Work(where.beside(where.depth.name.removesuffix(".zarr") + ".work"), tiling)
    identity = {
        "quotientgraph": __version__,
        "input": [source.normals.identity, None if source.mask is None else source.mask.identity],
        "settings": {**asdict(chosen), "angle": angle, "preset": preset, "frame": frame, "connectivity": connectivity},
        "camera": repr(view),
        "tiles": [tiling.tile, tiling.overlap, tolerance, dtype],
    }
    if where.depth.exists() and not (overwrite or resume):
        raise OutputError(f"{where.depth}: exists; pass overwrite=True (--overwrite), or choose another name")
    where.depth.parent.mkdir(parents=True, exist_ok=True)
    journal = Journal(work, identity, resume)
    history: list[Step] = []
    job = Job(source, work, view, frame, connectivity, max(8, overlap // 2), None, chosen)
    with pool_for(client, workers) as pool:
        run = Run(job, pool, journal, tolerance, progress or (lambda *_: None))
        run.choose_angle(chosen.angle if angle == "auto" else angle)
        run.stage("labels", components.label)
        found = components.unite(work)
        if not found.n:
            raise ValueError("normals: no valid pixel is left in any tile; check the mask, the frame and the camera")
        run.find_hidden(found)
        number = run.fill(found)
        scales, converged = run.scale(found, number, history.append)
        where.create(tiling, {"camera": repr(view), "frame": "opencv"})
        piece = run.write(found, scales, number, where)
        outputs.write_tables(
            where, found, scales.cut.borders, work.read("shift"), piece, np.zeros(len(scales.cut.borders.n_edges)), None
        )
    report = Report(
        tiling.shape, tiling.tile, tiling.overlap, run.job.angle, found.n, int(piece.max()) + 1, len(scales.cut.borders.number),
        run.rounds, converged, run.warnings, {**run.seconds, "total": time.perf_counter() - began}, run.tasks, run.peaks,
        str(where.depth), str(where.components), str(where.nodes), str(where.edges), history,
    )  # fmt: skip
    with atomic(where.report) as part:
        part.write_text(json.dumps(asdict(report), default=float, indent=1), encoding="utf-8")
    journal.close()
    if not keep:
        shutil.rmtree(work.folder)
    return as_dask(where.depth, tiling.shape), report
