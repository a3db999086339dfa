"""Replace the files of a folder one by one under a journal, from which the next run undoes what a kill left half done."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path

_JOURNAL = ".quotientgraph-journal"


def replace_one_by_one(staging: Path, target: Path, new: list[str], stale: list[str]) -> None:
    """Move the new files in and the old ones out, under a journal that tells how to undo it."""
    aside = staging / ".old"
    aside.mkdir()
    touched = [*new, *stale]
    facts = {"staging": os.path.relpath(staging, target), "new": new}
    facts["before"] = [name for name in touched if os.path.lexists(target / name)]
    journal = target / _JOURNAL
    (staging / _JOURNAL).write_text(json.dumps(facts), encoding="utf-8")
    os.replace(staging / _JOURNAL, journal)
    try:
        for name in touched:
            if os.path.lexists(target / name):
                os.rename(target / name, aside / name)
            if name in new:
                os.rename(staging / name, target / name)
        journal.unlink()
    except BaseException:
        _undo(target, facts)
        raise


def recover(target: Path) -> None:
    """Undo what a killed process left half done in this folder."""
    from ..io.atomic import lock_file

    journal = target / _JOURNAL
    try:
        facts = json.loads(journal.read_text(encoding="utf-8"))
        names = [*facts["before"], *facts["new"], facts["staging"]]
        if not all(isinstance(name, str) for name in names) or any(os.sep in name for name in names[:-1]):
            raise ValueError
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError):
        with contextlib.suppress(OSError):
            journal.unlink()
        return
    staging = target / facts["staging"]
    with contextlib.suppress(OSError):
        lock = os.open(staging, os.O_RDONLY)
        try:
            if not lock_file(lock):
                return  # its process is at work
        finally:
            os.close(lock)
    _undo(target, facts)
    shutil.rmtree(staging, ignore_errors=True)


def _undo(target: Path, facts: dict) -> None:
    """Put every file back where it was; what has been moved is seen from where it is."""
    staging = target / facts["staging"]
    for name in facts["new"]:
        moved_in = not os.path.lexists(staging / name)
        if moved_in and name not in facts["before"]:
            with contextlib.suppress(OSError):
                (target / name).unlink()
    for name in facts["before"]:
        if os.path.lexists(staging / ".old" / name):
            with contextlib.suppress(OSError):
                os.replace(staging / ".old" / name, target / name)
    with contextlib.suppress(OSError):
        (target / _JOURNAL).unlink()
