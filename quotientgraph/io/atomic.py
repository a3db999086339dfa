"""Write files completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

_PART = re.compile(r"\..*\.[0-9a-f]{12}\.part(\.[^.]*)?", re.S)
_tidied: set[tuple[int, Path]] = set()


class OutputError(OSError):
    """A file cannot be written. The message names the file, the cause and the remedy."""


@contextlib.contextmanager
def atomic(path: Path | str) -> Iterator[Path]:
    """Give a temporary path beside `path`, which is renamed to `path` when the block ends without an exception.

    The temporary file keeps the suffix, because some encoders look at it. It is removed on any exception, Ctrl-C
    included; what a killed process left is removed by the next process that writes into the folder. A full disk, missing
    rights or a missing folder become an `OutputError` of one line. If `path` is a symbolic link of this user, its target
    is replaced; a link that somebody else put into a shared folder is refused. If `path` is neither a file nor absent
    (a folder, a device), it is refused as well.

    >>> with atomic("/nowhere/z.npy") as part: pass
    Traceback (most recent call last):
    quotientgraph.io.atomic.OutputError: /nowhere/z.npy: the folder /nowhere does not exist; create it first
    """
    path = Path(path)
    if _is_planted(path):
        raise OutputError(f"{path}: is a symbolic link that another user made; remove it or choose another name")
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OutputError(f"{path}: exists and is not a file; choose another name")
    if not target.parent.is_dir():
        raise OutputError(f"{path}: the folder {path.parent} does not exist; create it first")
    _remove_litter(target.parent)
    part = target.with_name(f".{target.stem[:100]}.{secrets.token_hex(6)}.part{target.suffix}")
    lock = -1
    try:
        # The file is made here and not by the encoder, so that missing rights show before the work begins.
        lock = os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        lock_file(lock)
        yield part
        os.replace(part, target)
    except OutputError:
        raise
    except OSError as error:
        cause = error.strerror or str(error) or type(error).__name__
        raise OutputError(f"{path}: cannot be written ({cause}); {_remedy(error)}") from error
    finally:
        try:
            _unlink(part)
        finally:  # an interrupt in the middle of it
            _unlink(part)
            if lock >= 0:
                os.close(lock)


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def _is_planted(path: Path) -> bool:
    """Whether the path is a link of another user in a folder where everybody may write, such as /tmp."""
    with contextlib.suppress(OSError, AttributeError):
        if path.is_symlink():
            return path.parent.stat().st_mode & 0o002 != 0 and path.lstat().st_uid not in (os.geteuid(), 0)
    return False


def lock_file(descriptor: int) -> bool:
    """Lock an open file for as long as this process lives; False if another one holds it, or where there are no locks."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _remove_litter(folder: Path) -> None:
    """Remove temporary files whose process is gone; once for each folder and process, since listing takes time."""
    if (os.getpid(), folder) in _tidied:
        return
    _tidied.add((os.getpid(), folder))
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if _PART.fullmatch(name) and (folder / name).is_file():
                with contextlib.suppress(OSError):
                    lock = os.open(folder / name, os.O_RDWR)
                    try:
                        # A living process locks its file right after making it; an empty one may be a moment old.
                        if os.fstat(lock).st_size and lock_file(lock):
                            (folder / name).unlink()
                    finally:
                        os.close(lock)


def _remedy(error: OSError) -> str:
    # NumPy reports a short write without an error number: "2000 requested and 496 written".
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) or str(error).endswith(" written"):
        return "free some space or write to another disk"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "choose a folder in which you may write"
    return "choose another place"
