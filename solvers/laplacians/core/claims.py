"""Which process compiles what: a claim is a locked file, and the system gives up the lock when its process ends.

Without claims several processes that start together would all compile everything.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: nobody waits, and what two processes compile at the same time is compiled twice
    fcntl = None  # type: ignore[assignment]

_PATIENCE = 60.0  # seconds to wait for another process; no kernel takes as long, but a process may have been stopped
_PAUSE = 0.005


class Claim:
    """The claim of this process to compile one entry.

    Parameters
    ----------
    path : Path
        The file to lock. An OSError is raised if it cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def take(self) -> None:
        """Lock the file. If another process has locked it, wait until it is done, but not for ever."""
        latest = time.monotonic() + _PATIENCE
        while fcntl is not None and time.monotonic() < latest:
            try:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                time.sleep(_PAUSE)
            except OSError:  # a file system without locks
                return

    def release(self) -> None:
        """Remove the file and the lock."""
        with contextlib.suppress(OSError):
            self.path.unlink()
        os.close(self.descriptor)
