"""Write files completely or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


class OutputError(OSError):
    """A file cannot be written. The message names the file, the cause and the remedy."""


@contextlib.contextmanager
def atomic(path: Path | str) -> Iterator[Path]:
    """Give a temporary path beside `path`, which is renamed to `path` when the block ends without an exception.

    The temporary file keeps the suffix, because some encoders look at it. It is removed on any exception, Ctrl-C
    included. A full disk, missing rights or a missing folder become an `OutputError` of one line. If `path` is a
    symbolic link, its target is replaced. If it is neither a file nor absent (a folder, a device), it is refused.

    >>> with atomic("/nowhere/z.npy") as part: pass
    Traceback (most recent call last):
    quotientgraph.io.atomic.OutputError: /nowhere/z.npy: the folder /nowhere does not exist; create it first
    """
    path = Path(path)
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OutputError(f"{path}: exists and is not a file; choose another name")
    if not target.parent.is_dir():
        raise OutputError(f"{path}: the folder {path.parent} does not exist; create it first")
    part = target.with_name(f".{target.stem[:100]}.{secrets.token_hex(6)}.part{target.suffix}")
    try:
        # The file is made here and not by the encoder, so that missing rights show before the work begins.
        with part.open("xb"):
            pass
        yield part
        os.replace(part, target)
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error}); {_remedy(error)}") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _remedy(error: OSError) -> str:
    import errno

    # NumPy reports a short write without an error number: "2000 requested and 496 written".
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) or str(error).endswith(" written"):
        return "free some space or write to another disk"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "choose a folder in which you may write"
    return "choose another place"
