"""`Journal`: which tasks of a run are done, on disk, so that an interrupted run can go on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..io.atomic import OutputError
from .outputs import region_intact
from .work import Work, Written

FILE = "journal.jsonl"


class Journal:
    """Lines of JSON, one for each task that is done, with the checksums of the files that it wrote.

    Parameters
    ----------
    work : Work
    identity : dict
        What the run depends on. A folder of another run is refused.
    resume : bool
        Whether to go on with what is in the folder.
    """

    def __init__(self, work: Work, identity: dict[str, Any], resume: bool) -> None:
        self.work, self.path = work, work.folder / FILE
        self.done: dict[tuple[str, int], Written] = {}
        self.dropped: set[tuple[str, int]] = set()
        self.reused = 0
        identity = json.loads(json.dumps(identity))
        lines = _lines(self.path)
        if lines and not resume:
            raise OutputError(
                f"{work.folder}: holds an unfinished run; go on with it by resume=True (--resume), or remove the folder"
            )
        if lines and lines[0] != identity:
            different = [name for name in identity if lines[0].get(name) != identity[name]]
            raise OutputError(
                f"{work.folder}: belongs to a run with other {', '.join(different) or 'settings'}; "
                "use the same input and settings, or remove the folder"
            )
        for line in lines[1:]:
            if "dropped" in line:
                self.dropped.update((name, k) for name in line["dropped"] for k in line["tiles"])
            else:
                self.done[line["stage"], line["tile"]] = line["files"]
        work.folder.mkdir(parents=True, exist_ok=True)
        self.file = self.path.open("a", encoding="utf-8")
        if not lines:
            self.file.seek(0)
            self.file.truncate()
            self._append(identity)
        elif not self.path.read_bytes().endswith(b"\n"):
            self.file.write("\n")  # the last line was not finished

    def has(self, stage: str, k: int) -> bool:
        """Whether a task is done and its files are there as it wrote them, apart from those no longer needed."""
        files = self.done.get((stage, k))
        if files is None:
            return False
        for name, value in files.items():
            if "#" in name:
                whole = region_intact(self.work.tiling, name, value)
            else:
                gone = (Path(name).parent.as_posix(), k) in self.dropped and Path(name).suffix == ".npy"
                whole = gone or self.work.intact({name: value})
            if not whole:
                return False
        self.reused += 1
        return True

    def record(self, stage: str, k: int, files: Written) -> None:
        """A task is done."""
        self.done[stage, k] = files
        self._append({"stage": stage, "tile": k, "files": files})

    def drop(self, names: Iterable[str], tiles: Iterable[int]) -> None:
        """Remove images that no task will ask for any more."""
        names, tiles = list(names), list(tiles)
        new = {(name, k) for name in names for k in tiles} - self.dropped
        if new:
            self.dropped |= new
            self._append({"dropped": names, "tiles": tiles})
        for name in names:
            self.work.drop(name, tiles)

    def close(self) -> None:
        self.file.close()

    def _append(self, line: dict[str, Any]) -> None:
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())


def _lines(path: Path) -> list[dict[str, Any]]:
    """The lines that were written whole."""
    out: list[dict[str, Any]] = []
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return out
    for line in text.splitlines():
        try:
            out.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return out
