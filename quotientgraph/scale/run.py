"""`Run`: the stages of one integration over tiles, each of them tasks for all tiles and a little work in between."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from laplacians.core.sharing import at_most

from ..beyond.doubts import CHOSEN as DOUBTS
from ..io.atomic import OutputError
from ..method.outcome import Step
from . import angle, borders, components, filling, hidden, outputs, rounds, seams
from .coarse_system import CoarseSystem
from .journal import Journal
from .memory import peak_memory
from .pool import Pool, Task
from .scales import TiledScales
from .window import Job
from .work import Written

logger = logging.getLogger(__name__)

_MOST_ROUNDS = 60
_STALLED = 0.7  # a change that is more than this part of the one before: steps become symmetric
_CALM = 6  # rounds with symmetric steps that go on after changes are small, because these shrink unevenly
# A stage begins, or a task of it is done: name of the stage, tasks done, tasks in all.
Watch = Callable[[str, int, int], Any]


@dataclass
class Run:
    """The state of an integration.

    Attributes
    ----------
    job : Job
    pool : Pool
    journal : Journal
    tolerance : float
        Error of the filling, relative to the depth, at which its rounds end.
    watch : callable
        Is told of every task.
    seconds : dict
        Time by stage.
    tasks : dict
        Number of tasks by stage, and the processor time that they took.
    peaks : dict
        Largest memory of each process that ran tasks, in bytes.
    busy : dict
        Processor time that each of them spent on tasks.
    longest : float
        Sum over the stages of the processor time of the process that had most to do in it.
    beside : float
        Processor time of this process while it waited for tasks of other processes: Dask's scheduler, mostly.
    """

    job: Job
    pool: Pool
    journal: Journal
    tolerance: float
    watch: Watch
    seconds: dict[str, float] = field(default_factory=dict)
    tasks: dict[str, list[float]] = field(default_factory=dict)
    peaks: dict[str, int] = field(default_factory=dict)
    busy: dict[str, float] = field(default_factory=dict)
    longest: float = 0.0
    beside: float = 0.0
    changes: list[float] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def stage(self, name: str, task: Task, *args: Any, drop: Iterable[str] = ()) -> None:
        """Run a task for all tiles that have not done it yet.

        `drop` names images that no later task reads, and that this one reads in the window of the rounds. Those of a tile
        are removed as soon as all tiles that see it are done.
        """
        began, used, n = time.perf_counter(), time.process_time(), self.job.tiling.n_tiles
        todo = [k for k in range(n) if not self.journal.has(name, k)]
        done, left = n - len(todo), set(todo)
        self.watch(name, done, n)
        self.journal.drop(drop, [k for k in range(n) if drop and not left & self.job.tiling.seen_by(k)])
        load: dict[str, float] = {}
        try:
            for k, result in self.pool.run(measured, todo, self.job, self.pool.threads, task, *args):
                self.journal.record(name, k, result["files"])
                self.peaks[result["process"]] = max(self.peaks.get(result["process"], 0), result["peak"])
                self._count(name, result["seconds"])
                load[result["process"]] = load.get(result["process"], 0.0) + result["seconds"]
                done += 1
                left.discard(k)
                if drop:
                    self.journal.drop(
                        drop, [j for j in self.job.tiling.seen_by(k) if not left & self.job.tiling.seen_by(j)]
                    )
                self.watch(name, done, n)
        except FileNotFoundError as error:
            if done == n or not self.journal.reused:
                raise
            raise OutputError(
                f"{error.filename}: is gone, and what it was made from is no longer kept; "
                f"remove {self.job.work.folder} and begin again"
            ) from error
        kind = name.split(".")[0]
        self.seconds[kind] = self.seconds.get(kind, 0.0) + time.perf_counter() - began
        self.longest += max(load.values(), default=0.0)
        if self.pool.elsewhere:
            self.beside += time.process_time() - used
        self.busy.update({process: self.busy.get(process, 0.0) + took for process, took in load.items()})

    def _count(self, name: str, seconds: float) -> None:
        kind = name.split(".")[0]
        n, total = self.tasks.get(kind, [0, 0.0])
        self.tasks[kind] = [n + 1, total + seconds]

    def choose_angle(self, wanted: float | str | None) -> None:
        """Settle the angle that components are formed with; "auto" looks at the normals of all tiles."""
        found: Any = wanted
        if isinstance(wanted, str):
            self.stage("count", angle.count_pixels)
            self.stage("bends", angle.sample_bends)
            found = angle.found_angle(self.job.work)
        self.job = replace(self.job, angle=found)

    def find_hidden(self) -> None:
        """Find the depth jumps hidden in components, if filling is to leave them out."""
        if self.job.contracted:
            self.stage("forest", hidden.plant)
            hidden.find_hidden(self.job.work)

    def fill(self, found: components.Components, absorbed: bool = False) -> int:
        """Fill all components; returns the round whose images hold the potential.

        Components that have `absorbed` others may hang together by narrow ways, over which errors die out slowly after the
        first rounds have removed most of them. So these rounds are not taken for the rate at which they do.
        """
        work = self.job.work
        seams.choose_coarse(self.job, found)
        self.stage("start", filling.start)
        if not work.joined("start", "reached").all():
            self.warnings.append("filling did not reach its tolerance in some tiles")
        self.stage("joints", seams.join)
        seams.align(work)
        if not found.crossing.any():
            return 0
        self.stage("pull.0", seams.pull, 0)
        system = CoarseSystem.from_tables(work, self.job.grid.size)
        names = "residual_key", "residual"
        residual = _sums(system, work.tables("start", *names), work.tables("pull.0", *names))
        pulled, calm, stalled = np.zeros_like(residual), 0, 0  # the last is the first round of symmetric steps
        for number in range(1, _MOST_ROUNDS + 1):
            name, at_seams = f"correct.{number}", f"pull.{number}"
            work.write_table(f"coarse.{number}", None, keys=system.keys, values=system.solve(residual))
            if stalled:
                self.stage(f"local.{number}", rounds.correct_windows, number)
                seams.lift(work, number)
            unread = (*rounds.read_last(number), f"local.{number}") if stalled else rounds.read_last(number)
            self.stage(name, rounds.correct, number, stalled > 0, drop=unread)
            self.stage(at_seams, seams.pull, number)
            moved, between = work.tables(name), work.tables(at_seams)
            totals = [np.sum([table["totals"] for table in tables], axis=0) for tables in (moved, between)]
            alpha, beta = best_step(totals[0] + totals[1], anew=number == stalled)
            work.write(f"steps.{number}", None, np.array([alpha, beta]))
            pulled = _sums(system, moved, between) + beta * pulled
            residual = residual - alpha * pulled
            calm = calm + 1 if self._settled(name, moved, 0.9 if stalled else 0.5 if absorbed else 0.0) else 0
            if calm > (_CALM if stalled else 0):
                unread = ("gamma", "b") if number == 1 else ("gamma", "b", "part")
                self.journal.drop(unread, range(self.job.tiling.n_tiles))
                return number
            if not stalled and number > 1 and self.changes[-1] > _STALLED * self.changes[-2]:
                stalled = number + 1
        self.warnings.append(f"filling did not reach its tolerance after {_MOST_ROUNDS} rounds")
        return _MOST_ROUNDS

    def conclude(self, found: components.Components, scales: TiledScales, converged: bool, piece: np.ndarray) -> None:
        """Say what a user should know about the result, as sentences."""
        texts, n_pieces = self.warnings, int(piece.max()) + 1
        if found.left_out:
            texts.append(f"{found.left_out} pixels have no normal or face away from the camera and were left out")
        if n_pieces > 1:
            texts.append(
                f"the valid pixels form {n_pieces} separate pieces; "
                "their depth relative to each other is not determined by the normals"
            )
        if scales.unsolved:
            texts.append(
                f"the solver did not reach its tolerance in {scales.unsolved} of {scales.iteration} iterations"
            )
        if not converged:
            texts.append(f"not converged after {scales.iteration} iterations; raise max_iterations or energy_tol")

    def confidence(self, scales: TiledScales) -> np.ndarray | None:
        """Confidence of the components; None if there are too many of them for a cheap judgement."""
        n = scales.components.n
        if n > DOUBTS.most:
            return None
        sure = scales.confidence()
        size = scales.components.size
        share = float(size[sure < DOUBTS.low].sum() / size.sum())
        if share >= DOUBTS.notable:
            self.warnings.append(
                f"the depth of {share:.0%} of the pixels relative to the rest is a guess: the borders that fit are too few "
                "or too short to hold them; see the column confidence of the table of components"
            )
        return sure

    def _settled(self, name: str, tables: list[dict[str, np.ndarray]], slowest: float) -> bool:
        """Whether the rounds of filling have come close enough to the solution, if changes shrink by `slowest` at best."""
        change = max(float(table["change"]) for table in tables)
        size = float(max(table["high"] for table in tables) - min(table["low"] for table in tables))
        size = 1.0 if self.job.camera.central else max(size, 1e-300)
        faster = min(change / self.changes[-1], 0.9) if self.changes and self.changes[-1] > 0 else 0.9
        faster = max(faster, slowest)
        self.changes.append(change)
        logger.info("%s: largest change %.3g, relative %.3g", name, change, change / size)
        return change * faster / (1 - faster) <= self.tolerance * size

    def scale(
        self,
        found: components.Components,
        number: int,
        report: Callable[[Step], Any],
        places: np.ndarray | None = None,
    ) -> tuple[TiledScales, bool]:
        """Find the relative scales of the components, from their places on if they have some."""
        job = self.job
        self.stage("edges", borders.gather, number)
        began = time.perf_counter()
        self.watch("scales", 0, job.settings.max_iterations)
        total = np.zeros(found.n)
        for k, values in enumerate(job.work.column("edges", "total")):
            np.add.at(total, found.of.of(k), values)
        edges = borders.Borders.from_tables(job.work, found)
        scales = TiledScales(found, edges, total / found.size, job.settings, report, places)
        converged = scales.descend()
        if job.settings.creases == "anywhere" and job.settings.merge_every is None:
            converged = scales.refine(converged)
        self.seconds["scales"] = time.perf_counter() - began
        return scales, converged

    def write(
        self, found: components.Components, scales: TiledScales, number: int, where: outputs.Outputs
    ) -> np.ndarray:
        """Write depth and components; returns the piece of each component."""
        shift = scales.potential
        piece = scales.borders.pattern.pieces
        mean = shift - scales.begin
        weight = np.bincount(piece, found.size)
        shift = shift - (np.bincount(piece, found.size * mean) / weight)[piece]
        self.job.work.write("shift", None, shift)
        self.stage("write", outputs.write, number, where)
        return piece


def _sums(system: CoarseSystem, *stages: list[dict[str, np.ndarray]]) -> np.ndarray:
    """(n_coarse,) the sums of Pᵀ in the tables of all tiles, of some stages, added up."""
    total = np.zeros(len(system.keys))
    for tables in stages:
        key, value = (np.concatenate([table[name] for table in tables]) for name in ("residual_key", "residual"))
        total = total + system.gathered(key, value)
    return total


def best_step(totals: np.ndarray, anew: bool = False) -> tuple[float, float]:
    """α and β for which y + α (s + β p) has the least energy, where p was a direction of least energy before.

    β is 0 if directions begin `anew`.

    The totals are those of `quotientgraph.scale.rounds`.
    """
    ss, sp, pp, sr, pr = totals
    beta = -sp / pp if pp > 0 and not anew else 0.0
    curvature = ss + 2 * beta * sp + beta * beta * pp
    if not curvature > 0:  # there is nothing left to correct
        return 0.0, 0.0
    return float((sr + beta * pr) / curvature), float(beta)


def measured(job: Job, k: int, threads: int, task: Task, *args: Any) -> dict[str, Any]:
    """Run a task on at most so many threads, and say what it took."""
    # A worker with several threads runs several tasks at once, each of them on one thread.
    clock = time.thread_time if threads == 1 else time.process_time
    began = clock()
    with at_most(threads):
        files: Written = task(job, k, *args)
    return {
        "files": files,
        "process": f"{socket.gethostname()}:{os.getpid()}",
        "peak": peak_memory(),
        "seconds": clock() - began,
    }
