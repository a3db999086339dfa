"""How much memory a process takes for a tile, and has taken."""

from __future__ import annotations

import re
import sys

# What a process takes before it has read a pixel, and for each pixel of a window; measured, see docs/scale.md.
_BASE, _PER_PIXEL = 450_000_000, 260
_UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


def tile_for(memory: float) -> int:
    """The side of the largest tile, in steps of 128 pixels, for which a process needs at most `memory` bytes.

    >>> tile_for(2e9)
    2048
    """
    side = int(max(memory - _BASE, 0) / _PER_PIXEL) ** 0.5
    tile = int(side / 1.125) // 128 * 128  # the window reaches a sixteenth beyond the tile on each side
    if tile < 128:
        least = (_BASE + _PER_PIXEL * (1.125 * 128) ** 2) / 1e9
        raise ValueError(f"memory={memory:g} bytes is too little for the smallest tile; allow at least {least:.2f} GB")
    return tile


def bytes_of(text: str) -> float:
    """A size that a person writes, in bytes.

    >>> bytes_of("2GB"), bytes_of("512 MB")
    (2000000000.0, 512000000.0)
    """
    found = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?)(?:i?b)?\s*", text.lower())
    if not found:
        raise ValueError(f"{text!r} is not a size of memory such as 2GB")
    return float(found[1]) * _UNITS[found[2]]


def peak_memory() -> int:
    """The largest memory that this process has taken so far, in bytes; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most
