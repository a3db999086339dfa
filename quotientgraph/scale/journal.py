"""`Journal`: which tasks of a run are done, on disk, so that an interrupted run can go on."""

from __future__ import annotations

import contextlib
import json
import os
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

from ..io.atomic import OutputError
from .outputs import region_intact
from .work import JOURNAL, Work, Written


class Journal:
    """Lines of JSON, one for each task that is done, with the checksums of the files that it wrote.

    As a context manager, it is closed at the end of the block. If no task was done by then, the folder is removed.

    Parameters
    ----------
    work : Work
    identity : dict
        What the run depends on. A folder of another run is refused.
    resume : bool
        Whether to go on with what is in the folder.

    Attributes
    ----------
    in_vain : bool
        Whether the folder is removed at the end of the block: nothing is in it that another run could use.
    """

    def __init__(self, work: Work, identity: dict[str, Any], resume: bool) -> None:
        self.work, self.path = work, work.folder / JOURNAL
        # Where the line of each task begins in the file, and which images are gone. A map may have millions of tasks, so
        # what the lines say is read again when it is asked for.
        self.done: dict[str, array[int]] = {}
        self.dropped: dict[str, array[int]] = {}
        self.reused = 0
        identity = json.loads(json.dumps(identity))
        lines = _lines(self.path)
        _, first = next(lines, (0, None))
        if first is not None and not resume:
            raise OutputError(
                f"{work.folder}: holds an unfinished run; go on with it by resume=True (--resume), "
                "or begin again by overwrite=True (--overwrite)"
            )
        if first is not None and first != identity:
            different = [name for name in identity if first.get(name) != identity[name]]
            raise OutputError(
                f"{work.folder}: belongs to a run with other {', '.join(different) or 'settings'}; "
                "use the same input and settings, or remove the folder"
            )
        for begin, line in lines:
            if "dropped" in line:
                for name in line["dropped"]:
                    for k in line["tiles"]:
                        _mark(self.dropped, name, k, 1)
            else:
                _mark(self.done, line["stage"], line["tile"], begin)
        self.in_vain = not self.done
        self.made = [path for path in work.folder.parents if not path.exists()]
        work.folder.mkdir(parents=True, exist_ok=True)
        self.file = self.path.open("ab")
        if first is None:
            self.file.truncate(0)
            self._append(identity)
        elif not _ends_well(self.path):
            self.file.write(b"\n")  # the last line was not finished

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        if self.in_vain:
            self.work.clear()
            with contextlib.suppress(OSError):
                for path in self.made:
                    path.rmdir()

    def has(self, stage: str, k: int) -> bool:
        """Whether a task is done and its files are there as it wrote them, apart from those no longer needed."""
        begin = _marked(self.done, stage, k)
        if not begin:
            return False
        with self.path.open("rb") as file:
            file.seek(begin)
            files = json.loads(file.readline())["files"]
        for name, value in files.items():
            if "#" in name:
                whole = region_intact(self.work.tiling, name, value)
            else:
                gone = _marked(self.dropped, Path(name).parent.as_posix(), k) and Path(name).suffix == ".npy"
                whole = gone or self.work.intact({name: value})
            if not whole:
                return False
        self.reused += 1
        return True

    def record(self, stage: str, k: int, files: Written) -> None:
        """A task is done."""
        self.in_vain = False
        self._append({"stage": stage, "tile": k, "files": files})

    def drop(self, names: Iterable[str], tiles: Iterable[int]) -> None:
        """Remove images that no task will ask for any more."""
        names, tiles = list(names), list(tiles)
        new = [(name, k) for name in names for k in tiles if not _marked(self.dropped, name, k)]
        for name, k in new:
            _mark(self.dropped, name, k, 1)
        if new:
            self._append({"dropped": names, "tiles": tiles})
        for name in names:
            self.work.drop(name, tiles)

    def close(self) -> None:
        self.file.close()

    def _append(self, line: dict[str, Any]) -> None:
        self.file.write(json.dumps(line).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())


def is_of(work: Work, identity: dict[str, Any]) -> bool | None:
    """Whether a folder holds the run that depends on this, and not another one; None if it holds none."""
    _, first = next(_lines(work.folder / JOURNAL), (0, None))
    return None if first is None else first == json.loads(json.dumps(identity))


def _mark(marks: dict[str, array[int]], name: str, k: int, value: int) -> None:
    """Set the mark of number `k` under a name; those that were never set are 0."""
    row = marks.setdefault(name, array("q"))
    row.extend(0 for _ in range(k + 1 - len(row)))
    row[k] = value


def _marked(marks: dict[str, array[int]], name: str, k: int) -> int:
    row = marks.get(name, ())
    return row[k] if k < len(row) else 0


def _ends_well(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines that were written whole, one after the other, and where they begin."""
    if not path.exists():
        return
    begin = 0
    with path.open("rb") as file:
        for line in file:
            with contextlib.suppress(json.JSONDecodeError, UnicodeDecodeError):
                yield begin, json.loads(line)
            begin += len(line)
