"""Joining over tiles: maps with large flat faces are placed by their most certain borders first, as in memory.

The code that absorbs crumbs, judges borders, finds hidden faces and places components is that of `quotientgraph.beyond`. The
driver runs it on the pixels along borders (`quotientgraph.scale.band`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..beyond.hidden_faces import HiddenFaces
from ..beyond.joining import Judgement, places
from . import band, crumbs, faces
from .components import Components
from .run import Run
from .sampling import number_edges


def absorb(run: Run, found: Components) -> Components:
    """The components without crumbs."""
    work = run.job.work
    work.write("sizes", None, found.size)
    run.stage("crumbs", crumbs.list_crumbs)
    return crumbs.absorbed(work, found, run.job.angle)


@dataclass(frozen=True, eq=False)
class Placed:
    """Components placed against each other by their borders.

    Attributes
    ----------
    components : Components
        Some of which may have been divided.
    shift : (n,) float64 or None
        What to add to the filled potential of each; None where borders cannot tell.
    """

    components: Components
    shift: np.ndarray | None


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
    shift = places(judged)
    if shift is None:
        found, run.job = whole, undivided
    return Placed(found, shift)
