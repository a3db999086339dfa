"""`integrate`: a map of any size, tile by tile, with the answer of the whole map."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from numbers import Integral
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from .. import __version__
from ..beyond.net_slope import check_slope, slope_warnings
from ..geometry.camera import Camera, as_camera
from ..geometry.frames import frame_axes
from ..geometry.wrapping import Wrap
from ..io import OutputError, understand_camera
from ..method.outcome import Step
from ..settings import Settings, check_angle
from . import cameras, components, joining
from .borders import GROUP
from .cameras import RayFormula
from .continuous import use_continuity
from .doubts import doubts, edges_are_blurred
from .journal import Journal, is_of
from .memory import check_driver, driver_needs, peak_memory, tile_for
from .outputs import Outputs, as_dask, write_tables
from .ownership import check_places, holds_a_run
from .pool import check_pool, pool_for, prepare
from .report import Report, conclusions, differences
from .run import Run, Watch
from .slope import find_slope
from .sources import Source, zarr
from .tiling import ALIGNED, MARGIN, Tiling
from .turned import would_be_moved
from .window import Job
from .work import Work

TILE = 2048


def integrate(
    normals: Any,
    mask: Any = None,
    camera: Camera | ArrayLike | None = None,
    out: str | Path = "depth.zarr",
    client: Any = None,
    tile: int | None = None,
    *,
    frame: str = "opengl",
    angle: float | str | None = "auto",
    connectivity: int = 8,
    preset: str = "best",
    wrap: str | None = "auto",
    slope: str = "remove",
    workers: int | None = None,
    memory: float | None = None,
    overlap: int | None = None,
    tolerance: float = 1e-8,
    dtype: str = "float64",
    resume: bool = False,
    overwrite: bool = False,
    keep: bool = False,
    progress: Watch | None = None,
    **settings: Any,
) -> tuple[Any, Report]:
    """Integrate a large normal map in tiles, with the result that integrating it as a whole has.

    Parameters
    ----------
    normals : array or path
        (H, W, 3) or (3, H, W): an array of Dask, Zarr or NumPy (memory-mapped too), a Zarr group or OME-Zarr image, or the
        path of a Zarr store, of a .npy file or of a tiled TIFF. Whole numbers are decoded as 2·value/max − 1.
    mask : array or path, optional
        (H, W), not zero at the pixels to use; floats count from 0.5 on.
    camera : Pinhole, Orthographic, RayFormula, RayMap, 3×3 intrinsic matrix or path, optional
        Of the whole map. None is ``Orthographic()``. `RayFormula` is a ray map that takes no memory.
    out : path
        Zarr array of the depth. The components (components.zarr), the tables nodes.parquet and edges.parquet and
        report.json appear beside it; their names begin with that of `out` unless it is depth.zarr.
    client : distributed.Client or str, optional
        A Dask cluster, or the address of its scheduler. Its workers must see `out` and the files of the input under the same
        paths. Without it the tasks run on this machine.
    tile : int, optional
        Pixels along the side of a tile, a multiple of 8; 2048, or what `memory` allows.
    frame, angle, connectivity, preset, wrap, slope
        As for `QuotientGraph.from_normals`.
    workers : int, optional
        Processes on this machine if there is no client; by default one for each core. 1 is this process alone.
    memory : float, optional
        Bytes that each process may take, from which the tile is chosen. If the driver will need more for its lists, a
        `MemoryError` says so as soon as the components of the tiles are counted.
    overlap : int, optional
        How far tiles see into their neighbours while filling is corrected, a multiple of 8; at most 128 by default.
    tolerance : float
        Error of the filling, relative to the depth, at which its corrections end.
    dtype : str
        Of the depth.
    resume : bool
        Go on with a run that was interrupted: tasks whose files are intact are not done again. If it is complete, and the
        input cannot have changed unnoticed, its results are returned.
    overwrite : bool
        Replace results that an earlier run wrote, and begin again if one was interrupted. Nothing else is ever replaced.
    keep : bool
        Keep the folder of intermediate files, which is beside `out` and ends in .work.
    progress : callable, optional
        Is told of every task: name of the stage, tasks done, tasks in all; and first of the address of Dask's dashboard.
    **settings
        Fields of `Settings`, for instance ``max_iterations``, ``merge_every`` or ``reweighting``.

    Returns
    -------
    depth : dask.array.Array
        Over the Zarr array at `out`; NaN outside the valid pixels.
    report : Report
    """
    began, cpu_began = time.perf_counter(), time.process_time()
    check_angle(angle)
    frame_axes(frame)  # refuses what is no frame
    source = Source.from_arrays(normals, mask)
    given, corrected = understand_camera(camera, source.shape)
    view = as_camera(given)
    check_slope(slope)
    around = _wrap(wrap, view, source.shape)
    _refuse_what_needs_the_whole_map(settings)
    chosen = Settings.from_preset(preset, **settings)
    # Borders are judged where there is an image plane with ends; see `quotientgraph.beyond.plugging`.
    joins = chosen.joining == "certain" and chosen.merge_every is None and not (around or view.spherical)
    chosen = chosen if joins else replace(chosen, joining="none")
    if chosen.fill_solver != "auto":
        raise ValueError("fill_solver: a map in tiles is filled by multigrid; leave it at its default")
    tiling = _tiling(source, tile, overlap, memory, around)
    where = Outputs(Path(out).resolve(), dtype)
    work = Work(where.depth.with_name(where.depth.name.removesuffix(".zarr") + ".work"), tiling)
    zarr()
    check_pool(client, workers)
    kept = {Path.cwd(): "the working directory", **dict.fromkeys(source.places, "an input")}
    identity = {
        "quotientgraph": __version__,
        "input": [layer.identity for layer in source.layers],
        "settings": {**asdict(chosen), "angle": angle, "frame": frame, "connectivity": connectivity, "slope": slope},
        "camera": cameras.identity(view),
        "tiles": [tiling.tile, tiling.overlap, asdict(tiling.wrap), tolerance, dtype],
    }
    same = is_of(work, identity)
    if same is None:  # the journal is gone, so only the report tells, and it must not mistake the input
        same = all(layer.is_told_by_identity for layer in source.layers)
    complete = Report.saved(where, identity) if resume and same else None
    if complete is not None:  # it was stopped at the earliest while it removed its folder
        if not keep and holds_a_run(work.folder):
            work.clear()
        return as_dask(where.depth), complete
    check_places(where.all, work.folder, kept, resume, overwrite)
    about = [*corrected, *doubts(source, view, frame)]
    if around and view.spherical:
        poles = ", and its rows at the poles across these" if around.top or around.bottom else ""
        about.append(f"the two ends of the panorama were joined{poles}")
    try:
        if overwrite and not resume:
            work.clear()
        journal = Journal(work, identity, resume)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{where.depth}: cannot be written there ({error.strerror}); choose another folder") from None
    spacing = max(ALIGNED, tiling.overlap // 2)
    job = Job(source, work, view, frame, connectivity, spacing, None, chosen)
    history: list[Step] = []
    with journal, pool_for(client, workers) as pool:
        waited = time.perf_counter() - began
        if pool.elsewhere:
            job = replace(job, source=source.on_disk(work.folder))
        run = Run(job, pool, journal, tolerance, progress or (lambda *_: None), warnings=about)
        if pool.dashboard:
            run.watch(pool.dashboard, 0, 0)
        if pool.elsewhere:
            prepare()
        if client is not None:  # its workers may go on writing into the folder for a while after this run has failed
            journal.in_vain = False
        if around and not view.central and slope != "steps":
            run.job = replace(run.job, slope=find_slope(run))
        run.choose_angle(chosen.angle if angle == "auto" else angle)
        tiles = around.x and around.y and not view.central
        if tiles and preset == "best" and angle == "auto":
            use_continuity(run)
        run.stage("labels", components.label)
        n_ring, n_labels, n_cut = components.counted(work)
        needs = driver_needs(tiling, n_ring if job.contracted else 0, n_labels, min(n_cut, GROUP))
        check_driver(needs, memory)
        found = run.find_components()
        if tiles and found.n == 1:
            use_continuity(run)
        found = joining.forgiving(run, found) if joins else found
        faces = found.large.faces
        blurred = joins and chosen.sharpening == "edges" and angle == "auto" and (faces.notable or faces.bent)
        blurred = blurred and edges_are_blurred(run.job)
        bent = joins and chosen.straightening == "smooth" and faces.bent
        joins = joins and faces.notable
        obstacle = joining.obstacle(run, found, needs, memory) if joins else ""
        if joins and not obstacle:
            found = joining.absorb(run, found)
        run.find_hidden()
        number = run.fill(found, absorbed=joins and not obstacle)
        placed = joining.join(run, found, number) if joins and not obstacle else joining.Placed(found, None)
        found = placed.components
        scales, converged = run.scale(found, number, history.append, placed.shift, placed.held)
        turned = chosen.axes == "shared" and chosen.merge_every is None and not around
        turned = turned and would_be_moved(run, scales, number)
        if slope == "keep":
            where = replace(where, ramp=run.job.slope)
        where.create(tiling, {"camera": repr(view)}, resume)
        piece = run.write(found, scales, number, where)
    different = differences(obstacle, blurred, bent, turned)
    run.warnings.extend(different)
    run.warnings.extend(slope_warnings(run.job.slope, slope == "keep", "report"))
    run.warnings.extend(conclusions(found, scales, converged, piece))
    sure = run.confidence(scales) if preset != "paper" else None
    write_tables(where, found, scales.borders, work.read("shift"), piece, scales.residuals(), sure)
    driver = time.process_time() - cpu_began - (run.beside if pool.elsewhere else sum(run.busy.values()))
    report = Report(
        shape=tiling.shape,
        tile=tiling.tile,
        overlap=tiling.overlap,
        angle=run.job.angle,
        n_components=found.n,
        n_pieces=int(piece.max()) + 1,
        n_edges=len(scales.borders.number),
        rounds=run.changes,
        converged=converged,
        warnings=run.warnings,
        wrap={(False, False): "none", (True, False): "x", (False, True): "y"}.get((around.x, around.y), "both"),
        slope=run.job.slope,
        joining="none" if placed.shift is None else "certain",
        as_in_memory=not different,
        seconds={"cluster": waited, **run.seconds, "total": time.perf_counter() - began},
        tasks=run.tasks,
        busy={**run.busy, "driver": driver, "beside": run.beside},
        critical=run.longest + driver,
        peaks={**run.peaks, "driver": peak_memory()},
        reused=journal.reused,
        depth=str(where.depth),
        components=str(where.components),
        nodes=str(where.nodes),
        edges=str(where.edges),
        history=history,
    )
    report.save(where, identity)
    if not keep:
        work.clear()
    return as_dask(where.depth), report


def _wrap(wanted: str | None, view: Camera, shape: tuple[int, int]) -> Wrap:
    """Which borders of the map meet, from what the user asks for."""
    if not isinstance(view, RayFormula):
        return Wrap.from_name(wanted or "none", view, shape)
    found = view.wrap
    if wanted in ("none", None) or (wanted == "auto" and not found):
        return Wrap()
    if wanted not in ("auto", "x") or not found:
        raise ValueError(
            f"wrap={wanted!r}: of rays by a formula the left and the right border meet, if they go all around, "
            'and no others; use wrap="auto", or a RayMap'
        )
    return found


def _refuse_what_needs_the_whole_map(settings: dict[str, Any]) -> None:
    """Raise a `ValueError` for keywords of `quotientgraph.integrate` that a map in tiles does not take."""
    images = "labels", "image", "forbidden"
    for name in ("method", "prior", "prior_confidence", "prior_weight", "prior_kind", "anchors", "contacts", *images):
        if settings.pop(name, None) is not None:
            raise ValueError(f"{name}: a map in tiles does not take it; use `quotientgraph.integrate`, or leave it out")


def _tiling(source: Source, tile: int | None, overlap: int | None, memory: float | None, wrap: Wrap) -> Tiling:
    """The tiles that a user asks for, but not larger than the map."""
    if tile is None:
        tile = min(TILE, tile_for(memory)) if memory is not None else TILE
    for name, value in (("tile", tile), ("overlap", overlap)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, Integral)):
            raise ValueError(f"{name}={value!r} must be a whole number of pixels, a multiple of {ALIGNED}")
    whole = max(2 * MARGIN, -(-max(source.shape) // ALIGNED) * ALIGNED)
    side = min(tile, whole)
    reach = max(MARGIN, min(128, side // 16 // ALIGNED * ALIGNED)) if overlap is None else overlap
    return Tiling(source.shape, side, reach, wrap)
