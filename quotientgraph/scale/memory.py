"""How much memory a process takes for a tile, how much the driver takes for the whole map, and what was taken."""

from __future__ import annotations

import re
import sys

from ..io.memory import available_memory
from .tiling import Tiling

# What a process takes before it has read a pixel, and for each pixel of a window; measured, see docs/scale.md.
_BASE, _PER_PIXEL = 450_000_000, 260
# What the driver takes at the start, for each tile, for each component with its borders, and for each cut edge of a group;
# and what the process takes that settles the largest group of tiles, for each pixel along the borders of its members while
# hidden jumps are found; measured, see docs/scale.md.
_DRIVER, _TILE, _COMPONENT, _EDGE, _BORDER_PIXEL = 350_000_000, 5_000, 500, 200, 280
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


def driver_needs(tiling: Tiling, n_ring: int, n_labels: int, n_edges: int = 0) -> dict[str, int]:
    """Bytes that the driver takes, by what for.

    Parameters
    ----------
    tiling : Tiling
    n_ring : int
        Valid pixels along the sides of all tiles; 0 if no hidden jumps are to be found.
    n_labels : int
        Components of all tiles, each counted in every tile that has a part of it.
    n_edges : int
        Cut edges that are in memory at a time.
    """
    return {
        "the program": _DRIVER,
        "tiles": _TILE * tiling.n_tiles,
        "borders of groups of tiles": _BORDER_PIXEL * min(n_ring, 4 * sum(tiling.shape)),
        "components": _COMPONENT * n_labels,
        "cut edges": _EDGE * n_edges,
    }


def check_driver(needs: dict[str, int], memory: float | None) -> None:
    """Raise a `MemoryError` that names the cause and the remedy if the driver will need more than it may take."""
    allowed = available_memory() if memory is None else memory
    needed = sum(needs.values())
    if needed <= allowed:
        return
    most = max((name for name in needs if name != "the program"), key=lambda name: needs[name])
    remedy = {
        "tiles": "choose larger tiles",
        "borders of groups of tiles": 'use preset="paper", which looks for no depth jumps inside components',
        "components": "choose a larger angle, or smooth the normals, which makes fewer components",
        "cut edges": "choose a larger angle, or smooth the normals, which makes fewer of them",
    }[most]
    limit = "are free" if memory is None else "are allowed (memory)"
    raise MemoryError(
        f"the driver will need about {needed / 1e9:.1f} GB of memory, {needs[most] / 1e9:.1f} GB of it for {most}, and "
        f"{allowed / 1e9:.1f} GB {limit}; {remedy}, or give it more memory, and begin again"
    )


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
