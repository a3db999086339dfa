"""How much memory this process may still take, so that what cannot fit is refused with a figure."""

from __future__ import annotations

from pathlib import Path

_UNKNOWN = 2**62


_LARGE = 2**28  # bytes; what needs less is not worth a look at the system


def shortage(needed: int) -> str | None:
    """Why something that needs so many bytes cannot be done; None if there is room for it.

    Parameters
    ----------
    needed : int
        Bytes.

    Returns
    -------
    str or None
        A half sentence with both figures and the remedy.

    Examples
    --------
    >>> shortage(1000) is None
    True
    """
    if needed <= _LARGE or needed <= available_memory():
        return None
    free = available_memory() / 1e9
    return f"needs about {needed / 1e9:.1f} GB of memory and {free:.1f} GB are free; use a smaller map or tiles"


def available_memory() -> int:
    """Bytes that can be allocated before the system runs out or a limit of this process is met.

    The least of what Linux calls available, what the control group leaves, and what the limit on the address space
    leaves. A very large number where none of them is known.
    """
    return min(_of_the_system(), _of_the_control_group(), _of_the_process())


def _of_the_system() -> int:
    return 1024 * _field(Path("/proc/meminfo"), "MemAvailable", _UNKNOWN // 1024)


def _of_the_control_group() -> int:
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            most, now = int(Path(limit).read_text()), int(Path(used).read_text())
        except (OSError, ValueError):  # no such group, or "max"
            continue
        # What is used includes files in the page cache, which make room; so this is only a bound for small groups.
        return max(most - now, most // 2) if most < _UNKNOWN else _UNKNOWN
    return _UNKNOWN


def _of_the_process() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return _UNKNOWN
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return _UNKNOWN
    return max(most - 1024 * _field(Path("/proc/self/status"), "VmSize", 0), 0)


def _field(file: Path, name: str, default: int) -> int:
    """A number of kilobytes from a file of lines such as ``MemAvailable:  123 kB``."""
    try:
        for line in file.read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return default
