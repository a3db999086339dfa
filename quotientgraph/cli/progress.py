"""Progress bars, drawn only where stderr is a terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from .reconstruct import Watcher

if TYPE_CHECKING:
    from ..result import Step


class IterationBar(Watcher):
    """The progress of one input: its stage, and in the loop the iteration, level, components and energy."""

    def __init__(self, name: str, total: int, quiet: bool) -> None:
        self.name = name
        self.bar = _bar(total, "it", quiet)

    def stage(self, text: str) -> None:
        if self.bar is not None:
            self.bar.set_description(f"{self.name}: {text}")

    def step(self, step: Step) -> None:
        if self.bar is not None:
            self.bar.set_description(f"{self.name}: scales", refresh=False)
            self.bar.set_postfix(
                level=step.level, components=step.n_components, energy=f"{step.energy:.3g}", refresh=False
            )
            self.bar.update()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


class InputBar(Watcher):
    """The progress of many inputs: how many are done, how many have failed, and what is under way."""

    def __init__(self, total: int, quiet: bool) -> None:
        self.bar = _bar(total, "map", quiet)
        self.failed = 0

    def stage(self, text: str) -> None:
        if self.bar is not None:
            self.bar.set_postfix_str(self._failures() + text)

    def step(self, step: Step) -> None:
        if self.bar is not None:
            text = f"iteration {step.iteration}, {step.n_components} components, energy {step.energy:.3g}"
            self.bar.set_postfix_str(self._failures() + text, refresh=False)
            self.bar.update(0)

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


def _bar(total: int, unit: str, quiet: bool) -> Any:
    if quiet or not sys.stderr.isatty():
        return None
    from tqdm import tqdm

    # A terminal inside a container may say that it has no columns.
    known = os.get_terminal_size(sys.stderr.fileno()).columns > 0
    size: dict[str, Any] = {"dynamic_ncols": True} if known else {"ncols": 80, "nrows": 24}
    return tqdm(total=total, unit=unit, leave=False, file=sys.stderr, **size)
