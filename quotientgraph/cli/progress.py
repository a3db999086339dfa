"""Progress for people: bars where stderr is a terminal, and a line when kernels have to be compiled."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .messages import printable, say

if TYPE_CHECKING:
    from ..result import Step

_NAME_LENGTH = 24
_FORMAT = "{desc}{bar:16} {n_fmt}/{total_fmt}{postfix}"


class Watcher:
    """Is told about the progress of a task. This one ignores it."""

    def stage(self, text: str) -> None:
        """A stage of the work begins."""

    def step(self, step: Step) -> None:
        """An iteration is done."""

    def compiling(self) -> None:
        """A kernel is being compiled, for the first time on this machine."""


class IterationBar(Watcher):
    """The progress of one input: its stage, and in the loop the start, the components and the energy."""

    def __init__(self, name: str, total: int, quiet: bool) -> None:
        self.name = name if len(name) <= _NAME_LENGTH else name[: _NAME_LENGTH - 1] + "…"
        self.bar = _bar(total, "it", quiet)
        self.notice = _CompileNotice(quiet)
        self.start, self.last = 1, 0

    def stage(self, text: str) -> None:
        if self.bar is not None:
            self.bar.set_description(printable(f"{self.name}: {text}", sys.stderr))

    def step(self, step: Step) -> None:
        # Each start has an energy of its own, so its number explains why the energy jumps.
        self.start += step.iteration <= self.last
        self.last = step.iteration
        if self.bar is not None:
            self.bar.set_description(printable(f"{self.name}: scales", sys.stderr), refresh=False)
            start = {"start": self.start} if self.start > 1 else {}
            self.bar.set_postfix(components=step.n_components, energy=f"{step.energy:.3g}", **start, refresh=False)
            self.bar.update()

    def compiling(self) -> None:
        self.stage("compiling (once)")
        self.notice.give(self.bar is not None)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


class InputBar(Watcher):
    """The progress of many inputs: how many are done, how many have failed, and what is under way."""

    def __init__(self, total: int, quiet: bool) -> None:
        self.bar = _bar(total, "map", quiet)
        self.notice = _CompileNotice(quiet)
        self.failed = 0

    def stage(self, text: str) -> None:
        if self.bar is not None:
            self.bar.set_postfix_str(printable(self._failures() + text, sys.stderr))

    def step(self, step: Step) -> None:
        if self.bar is not None:
            text = f"iteration {step.iteration}, {step.n_components} components, energy {step.energy:.3g}"
            self.bar.set_postfix_str(self._failures() + text, refresh=False)
            self.bar.update(0)

    def compiling(self) -> None:
        self.stage("compiling (once)")
        self.notice.give(self.bar is not None)

    def done(self, record: dict[str, Any]) -> None:
        self.failed += record["status"] == "failed"
        if self.bar is not None:
            self.bar.set_postfix_str(self._failures().rstrip(", "))
            self.bar.update()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()

    def _failures(self) -> str:
        return f"{self.failed} failed, " if self.failed else ""


class StageBar:
    """The progress of a map in tiles: the stage, and how many of its tasks are done; lines where there is no terminal."""

    def __init__(self, name: str, quiet: bool) -> None:
        self.name, self.quiet, self.stage = name, quiet, ""
        self.bar = _bar(1, "tile", quiet)

    def show(self, stage: str, done: int, total: int) -> None:
        """Take in where the work is; a stage that is an address says where it can be watched."""
        if "://" in stage:
            if not self.quiet:
                say(f"quotientgraph: watch it at {stage}")
        elif self.bar is not None:
            self.bar.total = total
            self.bar.n = done
            self.bar.set_description(printable(f"{self.name}: {stage}", sys.stderr))
        elif stage != self.stage and not self.quiet:
            self.stage = stage
            say(f"quotientgraph: {self.name}: {stage}")

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


class _CompileNotice:
    """The line that is written once where no bar shows that kernels are compiled."""

    def __init__(self, quiet: bool) -> None:
        self.due = not quiet

    def give(self, bar_shows_it: bool) -> None:
        if self.due and not bar_shows_it:
            say("quotientgraph: compiling (once; the next runs start at once)")
        self.due = False


@contextlib.contextmanager
def compiling_shown(watcher: Watcher) -> Iterator[None]:
    """While the block runs, tell the watcher when a kernel is compiled."""
    import laplacians

    callbacks: list[Any] | None = getattr(laplacians, "on_compile", None)
    if callbacks is None:
        yield
        return

    def tell(name: str, seconds: float | None) -> None:
        if seconds is None:
            watcher.compiling()

    callbacks.append(tell)
    try:
        yield
    finally:
        callbacks.remove(tell)


def _bar(total: int, unit: str, quiet: bool) -> Any:
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        return None
    from tqdm import tqdm

    # A terminal inside a container may say that it has no columns or no lines, and tqdm would then draw nothing.
    columns, lines = os.get_terminal_size(sys.stderr.fileno())
    size: dict[str, Any] = {"dynamic_ncols": True} if columns and lines else {"ncols": columns or 80, "nrows": 24}
    return tqdm(total=total, unit=unit, leave=False, file=sys.stderr, bar_format=_FORMAT, **size)
