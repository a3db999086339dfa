"""How much memory a run takes, as the operating system sees it."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path


def resident(reset: bool = False) -> tuple[int, str]:
    """Return the resident memory of this process in bytes, and how it was found.

    Parameters
    ----------
    reset : bool
        True before a run: freed memory is given back to the system, the high-water mark is reset, and the present size
        is returned. False after it: the high-water mark is returned. The difference is what the run took.

    Returns
    -------
    bytes, method : int, str
        On Linux the mark of the kernel is used. Elsewhere the mark of the process cannot be reset, so that only a new
        maximum shows; `method` says which of the two it was.
    """
    status = Path("/proc/self/status")
    try:
        if reset:
            _give_back()
            Path("/proc/self/clear_refs").write_text("5")
        wanted = "VmRSS" if reset else "VmHWM"
        line = next(line for line in status.read_text().splitlines() if line.startswith(wanted))
        return int(line.split()[1]) * 1024, "rise of the resident set, mark reset before the run"
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:
        return 0, "not known on this system"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024), "rise of the process's highest resident set"


def _give_back() -> None:
    """Return freed memory to the system if it can be asked to take it; memory kept for reuse would hide what a run takes."""
    import ctypes
    import gc

    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
