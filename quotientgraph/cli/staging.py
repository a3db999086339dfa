"""Folders whose files are replaced all at once: a reader sees the old results or the new ones, never a mixture.

The new files are written into a hidden folder beside the target. Then the two folders exchange their names in one step of
the file system, and the old one is deleted. Where that is not possible (the target is the working directory or holds other
folders, or the file system cannot exchange names), files are moved one by one under a journal: a failure or an interrupt
moves them back, and so does the next run after a kill.

A hidden folder is locked by its process. What a killed process left is therefore known, and removed by the next run.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path

from .journal import recover, replace_one_by_one

_PART, _NEW = ".part", ".new"
_tidied: set[tuple[int, Path]] = set()
_FORGOTTEN = 3600.0  # seconds after which an empty folder that was never locked is removed


def staging_for(target: Path) -> Path:
    """A name for the hidden folder of a target, on the same disk: beside it, or in it if one may not write beside it."""
    target = Path(os.path.realpath(target))
    token = secrets.token_hex(6)
    beside = target.with_name(f".{target.name[:100]}.{token}{_PART}")
    if target.is_dir() and (not _may_write(target.parent) or target.parent == target):
        return target / f".{token}{_PART}"
    return beside


@contextlib.contextmanager
def staged(
    target: Path,
    staging: Path,
    is_ours: Callable[[Path], bool] = lambda file: False,
    planned: Iterable[str] = (),
    inputs: Iterable[Path] = (),
) -> Iterator[Path]:
    """A folder whose files replace those of `target` when the block ends well, and vanish when it does not.

    Parameters
    ----------
    target : Path
        The folder that is to hold the files; it need not exist.
    staging : Path
        From `staging_for`.
    is_ours : callable
        Whether a file of the target comes from an earlier run: only then it may be replaced, and it goes if it is not
        written again.
    planned : names
        Files that will probably be written. If one of them is in the way, that is an error before the block begins.
    inputs : paths
        Files that the run reads. They are neither replaced nor removed, whoever wrote them.
    """
    from ..io import OutputError

    place = Path(os.path.realpath(target))
    inputs = list(inputs)
    lock = -1
    try:
        if place.is_dir():
            recover(place)
        remove_litter(place)
        _refuse(_in_the_way(target, planned, is_ours, identities(inputs)))
        lock = _locked(staging)
        yield staging
        new, kept = os.listdir(staging), identities(inputs)
        # Another run may have published between the look at its manifest and that at its files: look again.
        _refuse(_in_the_way(target, new, is_ours, kept) and _in_the_way(target, new, is_ours, kept))
        _publish(staging, place, lambda file: is_ours(file) and identity(file) not in kept)
    except OSError as problem:
        cause = problem.strerror or str(problem) or type(problem).__name__
        text = str(problem) if isinstance(problem, OutputError) else f"{target}: cannot be written ({cause})"
        raise OutputError(text.replace(str(staging), str(target))) from problem
    finally:
        try:
            shutil.rmtree(staging, ignore_errors=True)
        finally:  # an interrupt in the middle of it: remove the rest
            if os.path.lexists(staging):
                shutil.rmtree(staging, ignore_errors=True)
            if lock >= 0:
                os.close(lock)


def _in_the_way(target: Path, names: Iterable[str], is_ours: Callable[[Path], bool], inputs: Container[object]) -> str:
    """Why a file of the target must not be replaced by one of these names; empty if all may."""
    for file in (target / name for name in sorted(names)):
        if not os.path.lexists(file):
            continue
        if identity(file) in inputs:
            return f"{file}: is an input of this run, which would replace it; choose another folder to write to"
        if not is_ours(file):
            return (
                f"{file}: was not written by an earlier run, or was changed since; choose another folder to write to, or "
                "remove it"
            )
    return ""


def _refuse(text: str) -> None:
    from ..io import OutputError

    if text:
        raise OutputError(text)


def identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from all others, whatever it is called; None if there is none."""
    try:
        facts = path.stat()
    except (OSError, ValueError):  # ValueError: a null byte in the name
        return None
    return facts.st_dev, facts.st_ino


def identities(paths: Iterable[Path]) -> set[tuple[int, int]]:
    """The same of those files that are there."""
    return {found for path in paths if (found := identity(path)) is not None}


def discard(staging: Path) -> None:
    """Remove a hidden folder whose process has ended."""
    shutil.rmtree(staging, ignore_errors=True)
    shutil.rmtree(staging.with_suffix(_NEW), ignore_errors=True)


def remove_litter(target: Path) -> None:
    """Remove hidden folders, in and beside this target, whose process is gone."""
    for place in (target.parent, target):
        # Once in a process, since a batch may have many targets in one place.
        if place == target.parent and (os.getpid(), place) in _tidied:
            continue
        _tidied.add((os.getpid(), place))
        with contextlib.suppress(OSError):
            for name in os.listdir(place):
                if _hidden(name) and (place / name).is_dir():
                    _remove_if_abandoned(place / name)


def _remove_if_abandoned(folder: Path) -> None:
    """Remove a staging folder whose process is gone: nobody holds its lock."""
    from ..io.atomic import lock_file

    if folder.suffix == _NEW:
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > _FORGOTTEN:
                folder.rmdir()
        return
    with contextlib.suppress(OSError):
        lock = os.open(folder, os.O_RDONLY)
        try:
            if lock_file(lock):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def _locked(staging: Path) -> int:
    """Make the folder and lock it. It gets its name when it is locked, so that nobody takes it for litter."""
    from ..io.atomic import lock_file

    new = staging.with_suffix(_NEW)
    try:
        new.mkdir()
        lock = os.open(new, os.O_RDONLY)
        lock_file(lock)
        os.rename(new, staging)
    except BaseException:
        with contextlib.suppress(OSError):
            new.rmdir()
        raise
    return lock


def _publish(staging: Path, target: Path, is_ours: Callable[[Path], bool]) -> None:
    if not os.path.lexists(target):
        try:
            os.rename(staging, target)
            return
        except OSError:
            if not target.is_dir():  # another run may have made it just now
                raise
    old = sorted(os.listdir(target)) if target.is_dir() else []
    new = set(os.listdir(staging))
    stale = [name for name in old if name not in new and is_ours(target / name)]
    others = [name for name in old if name not in new and name not in stale and not _hidden(name)]
    if not (_exchangeable(staging, target, others) and _exchange_with(staging, target, others)):
        replace_one_by_one(staging, target, sorted(new), stale)


def _hidden(name: str) -> bool:
    """Whether it is the name of a hidden folder of ours."""
    return re.fullmatch(r"\.(?:.*\.)?[0-9a-f]{12}\.(?:part|new)", name, re.S) is not None


def _exchangeable(staging: Path, target: Path, others: list[str]) -> bool:
    """Whether another folder may take the place of the target without anybody noticing."""
    here = Path(os.path.realpath(os.getcwd()))
    facts = target.stat()
    return (
        staging.parent == target.parent
        and target not in (here, *here.parents)
        and not os.path.ismount(target)
        and facts.st_uid == staging.stat().st_uid
        and not any(stat.S_ISDIR((target / name).lstat().st_mode) for name in others)
    )


def _exchange_with(staging: Path, target: Path, others: list[str]) -> bool:
    """Exchange two folders, after the files of other people have been linked into the new one."""
    try:
        os.chmod(staging, stat.S_IMODE(target.stat().st_mode))
        for name in others:
            os.link(target / name, staging / name, follow_symlinks=False)
    except (OSError, NotImplementedError):
        done = False
    else:
        done = _exchange(staging, target)
    if not done:
        for name in others:
            with contextlib.suppress(OSError):
                (staging / name).unlink()
    return done


def _exchange(a: Path, b: Path) -> bool:
    """Exchange two names in one step; False where the system cannot do that."""
    libc = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(a), os.fsencode(b)
    if sys.platform == "darwin" and hasattr(libc, "renamex_np"):
        return libc.renamex_np(*names, ctypes.c_uint(2)) == 0
    if hasattr(libc, "renameat2"):
        return libc.renameat2(-100, names[0], -100, names[1], ctypes.c_uint(2)) == 0
    return False


def _may_write(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)


def place_for(target: Path) -> contextlib.AbstractContextManager[Path]:
    """The folder in which something is made for `target`: itself if it exists, else the one that will hold it."""
    return folder(target if target.exists() else target.parent)


@contextlib.contextmanager
def folder(path: Path) -> Iterator[Path]:
    """A folder, made with its parents; those made here that end up empty are removed again."""
    from ..io import OutputError

    missing = [place for place in (path, *path.parents) if not place.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not _may_write(path):
            raise PermissionError(13, "Permission denied")
    except FileExistsError:
        raise OutputError(f"{path}: exists and is not a folder; choose another place with -o") from None
    except OSError as problem:
        raise OutputError(f"{path}: cannot be written to ({problem.strerror}); choose another place with -o") from None
    try:
        yield path
    finally:
        for place in missing:
            with contextlib.suppress(OSError):
                place.rmdir()
