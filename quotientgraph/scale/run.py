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
from ..beyond.held_planes import HeldPlanes
from ..io.atomic import OutputError
from ..method.outcome import Step
from . import angle, blocks, borders, filling, forest, hidden, numbering, outputs, rounds, seams, uniting
from .journal import Journal
from .memory import peak_memory
from .numbering import Components
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

    def stage(self, name: str, task: Task, *args: Any, drop: Iterable[str] = (), n: int | None = None) -> None:
        """Run a task for all tiles that have not done it yet, or for `n` groups of tiles.

        `drop` names images that no later task reads, and that this one reads in the window of the rounds. Those of a tile
        are removed as soon as all tiles that see it are done.
        """
        began, used, n = time.perf_counter(), time.process_time(), self.job.tiling.n_tiles if n is None else n
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

    def groups(self, name: str, up: Task, down: Task, *args: Any) -> None:
        """Run a task for the groups of tiles, from the smallest to that of the whole map, and another one down again.

        The tiles themselves and the group of the whole map have nothing to do on the way down.
        """
        tree = self.job.tree
        for level in range(1, tree.height + 1):
            self.stage(f"{name}.{level}", up, *args, level, n=tree.n_groups(level))
        for level in range(tree.height - 1, 0, -1):
            self.stage(f"{name}.settled.{level}", down, *args, level, n=tree.n_groups(level))

    def unite(self, name: str) -> None:
        """Unite classes of tiles; see `quotientgraph.scale.uniting`."""
        self.groups(name, uniting.unite, uniting.settle, name)

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

    def find_components(self) -> Components:
        """Unite the labels of all tiles into components."""
        self.stage("meetings", numbering.meet)
        self.unite("unite")
        self.stage("own", numbering.own)
        self.stage("bands", numbering.add_up, n=self.job.tiling.rows)
        numbering.write_bases(self.job.work)
        self.stage("components", numbering.number)
        return Components.from_tables(self.job.work)

    def find_hidden(self) -> None:
        """Find the depth jumps hidden in components, if filling is to leave them out."""
        if self.job.contracted:
            self.stage("forest", hidden.plant)
            self.groups("forest", forest.grow, forest.descend)
            self.stage("apart", hidden.judge)
            self.unite("chains")
            self.stage("hidden", hidden.choose)

    def fill(self, found: Components, absorbed: bool = False) -> int:
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
        n_blocks = blocks.n_blocks(self.job)
        self.stage("block", blocks.assemble, n=n_blocks)
        wide = blocks.wide_system(work, n_blocks, blocks.wide_grid(self.job).size) if n_blocks > 1 else None
        calm, stalled, gains = 0, 0, []  # the second is the first round of symmetric steps
        for number in range(1, _MOST_ROUNDS + 1):
            name, at_seams = f"correct.{number}", f"pull.{number}"
            self.stage(f"residual.{number}", blocks.advance, number, n=n_blocks)
            if wide is not None:
                blocks.lift(work, wide, n_blocks, number)
            self.stage(f"coarse.{number}", blocks.solve, number, n=n_blocks)
            if stalled:
                self.stage(f"local.{number}", rounds.correct_windows, number)
                seams.lift(work, number)
            unread = (*rounds.read_last(number), f"local.{number}") if stalled else rounds.read_last(number)
            self.stage(name, rounds.correct, number, stalled > 0, drop=unread)
            self.stage(at_seams, seams.pull, number)
            totals, change, size = self._after_round(name, at_seams)
            alpha, beta = rounds.best_step(totals, anew=number == stalled)
            gains.append(float(totals[3]))
            work.write(f"steps.{number}", None, np.array([alpha, beta]))
            calm = calm + 1 if self._settled(name, change, size, 0.9 if stalled else 0.5 if absorbed else 0.0) else 0
            if calm > (_CALM if stalled else 0) or alpha == 0 or rounds.at_rounding(gains):
                unread = ("gamma", "b") if number == 1 else ("gamma", "b", "part")
                self.journal.drop(unread, range(self.job.tiling.n_tiles))
                return number
            if not stalled and number > 1 and self.changes[-1] > _STALLED * self.changes[-2]:
                stalled = number + 1
        self.warnings.append(f"filling did not reach its tolerance after {_MOST_ROUNDS} rounds")
        return _MOST_ROUNDS

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

    def _after_round(self, name: str, at_seams: str) -> tuple[np.ndarray, float, float]:
        """Totals of a round over all tiles and seams, its largest change, and the range of the potential before it."""
        inside, between, change, low, high = np.zeros(5), np.zeros(5), 0.0, np.inf, -np.inf
        for k in range(self.job.tiling.n_tiles):
            table = self.job.work.table(name, k, "totals", "change", "low", "high")
            inside += table["totals"]
            between += self.job.work.table(at_seams, k, "totals")["totals"]
            change = max(change, float(table["change"]))
            low, high = min(low, float(table["low"])), max(high, float(table["high"]))
        return inside + between, change, high - low

    def _settled(self, name: str, change: float, size: float, slowest: float) -> bool:
        """Whether the rounds of filling have come close enough to the solution, if changes shrink by `slowest` at best."""
        # A plane that is filled to find the net slope may come out level; then its size is that of a tile.
        size = 1.0 if self.job.camera.central else max(size, 1e-300 if self.job.tilt is None else self.job.tiling.tile)
        faster = min(change / self.changes[-1], 0.9) if self.changes and self.changes[-1] > 0 else 0.9
        faster = max(faster, slowest)
        self.changes.append(change)
        logger.info("%s: largest change %.3g, relative %.3g", name, change, change / size)
        return change * faster / (1 - faster) <= self.tolerance * size

    def scale(
        self,
        found: Components,
        number: int,
        report: Callable[[Step], Any],
        places: np.ndarray | None = None,
        held: HeldPlanes | None = None,
    ) -> tuple[TiledScales, bool]:
        """Find the relative scales of the components, from their places on if they have some."""
        job = self.job
        self.stage("edges", borders.gather, number)
        began = time.perf_counter()
        self.watch("scales", 0, job.settings.max_iterations)
        total = np.zeros(found.n)
        for k in range(job.tiling.n_tiles):
            np.add.at(total, found.of.of(k), job.work.table("edges", k, "total")["total"])
        edges = borders.Borders.from_tables(job.work, found)
        scales = TiledScales(found, edges, total / found.size, job.settings, report, places, held)
        converged = scales.descend()
        if job.settings.creases == "anywhere" and job.settings.merge_every is None:
            converged = scales.refine(converged)
        self.seconds["scales"] = time.perf_counter() - began
        return scales, converged

    def write(self, found: Components, scales: TiledScales, number: int, where: outputs.Outputs) -> np.ndarray:
        """Write depth and components; returns the piece of each component."""
        shift = scales.potential
        piece = scales.borders.pattern.pieces
        mean = shift - scales.begin
        weight = np.bincount(piece, found.size)
        shift = shift - (np.bincount(piece, found.size * mean) / weight)[piece]
        self.job.work.write("shift", None, shift)
        self.stage("write", outputs.write, number, where)
        return piece


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
