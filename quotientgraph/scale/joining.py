"""Joining over tiles: maps with large flat faces are placed by their most certain borders first, as in memory.

The code that absorbs crumbs, judges borders, finds hidden faces and places components is that of `quotientgraph.beyond`. The
driver runs it on the pixels along borders (`quotientgraph.scale.band`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..beyond.held_planes import HeldPlanes
from ..beyond.hidden_faces import HiddenFaces
from ..beyond.joining import Judgement, places
from . import band, cores, crumbs, faces
from .cameras import RayFormula
from .numbering import Components
from .run import Run
from .sampling import number_edges

# What the driver takes for each side of a pixel on a border, and for each edge over which a crumb may be absorbed; measured,
# see docs/scale.md. It takes this much for them unless `memory` says otherwise.
_SIDE, _EDGE, _MOST = 900, 150, 2e9


def forgiving(run: Run, found: Components) -> Components:
    """The components, of which large ones are judged by their cores where that may decide whether they are joined."""
    axis = found.large.axes()
    if axis is None:
        return found
    run.stage("cores", cores.add_cores, found.large.name, axis)
    return replace(found, large=found.large.forgiving(run.job.work))


def obstacle(run: Run, found: Components, needs: dict[str, int], memory: float | None) -> str:
    """Why the components of a map cannot be joined in tiles; empty if they can.

    `needs` are bytes that the driver takes for other things, and `memory` those that it may take in all.
    """
    job = run.job
    if isinstance(job.camera, RayFormula):
        return "borders are not judged along rays that are given by a formula"
    if job.tiling.shape[0] * job.tiling.shape[1] >= 2**31:
        return "borders are judged on maps of less than 2**31 pixels"
    job.work.write("sizes", None, found.size)
    run.stage("crumbs", crumbs.list_crumbs)
    n_sides, n_edges = (int(job.work.joined("crumbs", name).sum()) for name in ("n_sides", "n_listed"))
    needed, allowed = _SIDE * n_sides + _EDGE * n_edges, _MOST if memory is None else memory - sum(needs.values())
    # A run that goes on decides as it did when it began, whatever memory it is given.
    if not job.work.path("joins").exists():
        job.work.write("joins", None, np.array(needed <= allowed))
    if job.work.read("joins"):
        return ""
    taken = f"{needed / 1e9:.1f} GB, and it may take {max(allowed, 0) / 1e9:.1f} GB"
    return f"to judge their borders the driver would take {taken}"


def absorb(run: Run, found: Components) -> Components:
    """The components without crumbs, of which `obstacle` has made the list."""
    return crumbs.absorbed(run.job.work, found, run.job.angle)


@dataclass(frozen=True, eq=False)
class Placed:
    """Components placed against each other by their borders.

    Attributes
    ----------
    components : Components
        Some of which may have been divided.
    shift : (n,) float64 or None
        What to add to the filled potential of each; None where borders cannot tell.
    held : HeldPlanes or None
        Faces that were put into one plane.
    """

    components: Components
    shift: np.ndarray | None
    held: HeldPlanes | None = None


def join(run: Run, found: Components, number: int) -> Placed:
    """Place filled components by their borders, with hidden faces as components of their own.

    `number` is the round of filling whose images hold the potential.
    """
    if found.n == 1:
        return Placed(found, None)
    work = run.job.work
    number_edges(work)
    run.stage("normals", band.add_normals)
    run.stage("band", band.list_band, number, "band")
    strip = band.Band.from_tables(run.job, "band", found)
    judged = Judgement.of(strip, strip.potential)
    whole, undivided = found, run.job
    outlines = faces.write_outlines(run.job, found, judged)
    if outlines:
        run.stage("groups", faces.sort_pixels)
        rank = faces.number_groups(work, outlines, found)
        run.stage("parts", faces.divide)
        run.stage("touching", faces.meet_parts)
        divided = faces.unite_parts(work, found)
        if divided is not None:
            found, run.job = divided.components, replace(run.job, divided=True)
            run.stage("seams", band.list_band, number, "seams")
            strip = band.Band.from_tables(run.job, "seams", found)
            known = HiddenFaces(divided.origin[strip.labels], divided.face[strip.labels], rank)
            judged = Judgement.of(strip, strip.potential, known)
    shift = places(judged, whole.large.faces.noisy)
    if shift is None:
        run.job = undivided
        return Placed(whole, None)
    return Placed(found, shift, HeldPlanes.of(judged.witnesses, shift, moved=False))
