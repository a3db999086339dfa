"""Sharpening: where edges of the normals are blurred, every pixel takes the normal of the face that it belongs to.

Networks, resampling and smoothing mix the normals on both sides of an edge. A step becomes a ramp some pixels wide, which
looks like a narrow curved surface: it falls into hundreds of crumbs, and a border that hides something behind it looks like
a contact. But a ramp lies between calm regions. A pixel on it belongs to the one whose normal is more like its own, and
takes its normal from there; the step is then where the blurred ramp has its middle.

Only blurred maps are changed. Their steps become higher by this, the sharp steps of other maps do not. In sharp maps, noisy
ones too, half of the steps keep just their height; a blur of half a pixel leaves 0.82 of it, of one pixel 0.46. And there
have to be faces, since structure on curved surfaces is narrow, too. And the ramps must contradict themselves: where they are
rounded edges of one surface, as of a brick, the jumps around four pixels add up to zero, and there is nothing to mend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from laplacians.core.jit import kernel

from ..geometry.jumps import planar
from ..geometry.normals import NormalMap
from ..graph.quotient import Quotient, jumps_of
from .division import formed_anew

_Q = TypeVar("_Q", bound=Quotient)
# A map, and the numbers of its pixels in a part of its image, −1 where there is none.
View = tuple[NormalMap, np.ndarray]


@dataclass(frozen=True)
class _Constants:
    """Chosen on random scenes of the split "tune", blurred with standard deviations of 0.7 to 3 pixels."""

    reach: int = 8  # pixels that the calm region may be away
    calm: float = 1.0  # degrees from pixel to pixel within such a region, or, of noisy maps,
    typical: float = 3.0  # this many times the median
    alike: float = 55.0  # degrees that its normal may be off
    far: float = 0.2  # degrees that a pixel of distance counts
    step: float = 15.0  # degrees between neighbours, after sharpening, that make a step
    height: float = 0.9  # of a step before, in the median, up to which a map is blurred
    fewest: int = 30  # steps that tell, and loops
    open: float = 0.03  # pixels, and
    noise: float = 2.0  # times that of calm regions: what the sums around a tenth of the loops on ramps exceed
    asked: int = 4000  # pixels on ramps that are looked at
    whole: int = 2**18  # pixels of an image that is looked at as a whole; of larger ones
    side: int = 256  # windows of so many pixels, on a grid with so many to a side
    windows: int = 3


_CHOSEN = _Constants()


def sharpened(graph: _Q) -> _Q | None:
    """The graph of the same pixels with sharp edges of its normals, and with components formed from these.

    Parameters
    ----------
    graph : Quotient
        Q0, whose jumps are planar.

    Returns
    -------
    Quotient or None
        With a warning of what was done; None if the edges are sharp.
    """
    seen = graph.pixels.map
    calm = calm_if_blurred([(seen, seen.index[rows, columns]) for rows, columns in windows(seen.shape)])
    if calm is None:
        return None
    sharp = _applied(seen, calm)
    text = (
        f"the edges of the normals are blurred or rounded, as networks and resampling make them; the {sharp.sharpened:.0%} "
        'of the pixels that lie on them took the normals of faces beside them (sharpening="none" leaves them as they are)'
    )
    found = formed_anew(graph, replace(graph.pixels, map=sharp))
    return replace(found, jump=jumps_of(found.pixels, planar), warnings=(*graph.warnings, text))


def windows(shape: tuple[int, int]) -> list[tuple[slice, slice]]:
    """The parts of an image to look at: all of it, or of a large one some windows on a grid."""
    if shape[0] * shape[1] <= _CHOSEN.whole:
        return [(slice(0, shape[0]), slice(0, shape[1]))]
    first = [np.linspace(0, max(n - _CHOSEN.side, 0), _CHOSEN.windows).astype(int) for n in shape]
    rows, columns = ([slice(int(k), int(k) + _CHOSEN.side) for k in np.unique(one)] for one in first)
    return [(down, along) for down in rows for along in columns]


def calm_if_blurred(views: Sequence[View]) -> float | None:
    """By how much neighbouring normals differ in calm regions at most, in radians; None if the edges are sharp."""
    steep = [_steepness(seen.normals, index) for seen, index in views]
    valid = [one[index >= 0] for one, (_, index) in zip(steep, views, strict=True)]
    each = np.concatenate([np.zeros(0), *valid])
    calm = max(np.radians(_CHOSEN.calm), _CHOSEN.typical * float(np.median(each))) if len(each) else 0.0
    asked = _CHOSEN.asked // max(len(views), 1)
    ramps = [one > calm for one in steep]
    found = [_heights(seen.normals, index, ramp, asked) for (seen, index), ramp in zip(views, ramps, strict=True)]
    heights = np.concatenate([np.zeros(0), *found])
    if len(heights) < _CHOSEN.fewest or np.median(heights) > _CHOSEN.height:
        return None
    on_ramps = [_loop_sums(*view, ramp, asked) for view, ramp in zip(views, ramps, strict=True)]
    elsewhere = [_loop_sums(*view, ~ramp, asked) for view, ramp in zip(views, ramps, strict=True)]
    least = max(_CHOSEN.open, _CHOSEN.noise * _exceeded(elsewhere))
    return calm if _exceeded(on_ramps) > least else None


def _steepness(normals: np.ndarray, index: np.ndarray) -> np.ndarray:
    """(H, W) by how much each normal differs from those around it at most, for a pixel of distance, in radians."""
    out = np.zeros(index.shape, dtype=np.float32)
    _find_steepness(normals, np.ascontiguousarray(index), out)
    return out


def _heights(normals: np.ndarray, index: np.ndarray, ramp: np.ndarray, asked: int) -> np.ndarray:
    """(n,) heights of steps, as parts of what sharpening makes of them.

    They are steps beside `asked` of the pixels where `ramp` (H, W) bool says that sharpening may change something. Steps
    that it would not change, because there is no calm pixel nearby, do not count.
    """
    row, column = np.nonzero(ramp)
    skip = max(1, len(row) // asked)
    pairs = []
    for down, along in ((0, 1), (1, 0)):
        v, u = row[::skip], column[::skip]
        inside = (v + down < index.shape[0]) & (u + along < index.shape[1])
        v, u = v[inside], u[inside]
        valid = index[v + down, u + along] >= 0
        pairs.append(np.stack([v, u, v + down, u + along])[:, valid])
    v, u, below, beside = np.concatenate(pairs, axis=1)
    ends, known = [], np.ones(len(v), dtype=bool)
    for place in ((v, u), (below, beside)):
        own, source = index[place], _sources(normals, index, ramp, *place)
        known &= (source != own) | ~ramp[place]
        ends.append((own, source))
    before, after = (np.linalg.norm(normals[a] - normals[b], axis=1) for a, b in zip(*ends, strict=True))
    steps = known & (after > np.radians(_CHOSEN.step))
    return before[steps] / after[steps]


def _loop_sums(seen: NormalMap, index: np.ndarray, chosen: np.ndarray, asked: int) -> np.ndarray:
    """(n,) sizes in pixels of the sums of jumps around four pixels, two of which `chosen` (H, W) bool selects across."""
    corners = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
    whole = np.flatnonzero(chosen[:-1, :-1] & chosen[1:, 1:] & np.all([one >= 0 for one in corners], axis=0))
    some = whole[:: max(1, len(whole) // asked)]
    a, b, c, d = (one.ravel()[some] for one in corners)
    total = planar(seen, a, b) + planar(seen, b, c) - planar(seen, a, d) - planar(seen, d, c)
    return np.abs(total) * np.broadcast_to(seen.focal, seen.n_pixels)[a]


def _exceeded(sums: Sequence[np.ndarray]) -> float:
    """What a tenth of the sums around loops exceed; 0 if there are too few of them."""
    together = np.concatenate([np.zeros(0), *sums])
    return float(np.quantile(together, 0.9)) if len(together) >= _CHOSEN.fewest else 0.0


def _sources(
    normals: np.ndarray, index: np.ndarray, ramp: np.ndarray, row: np.ndarray, column: np.ndarray
) -> np.ndarray:
    """(n,) int32 pixels whose normals the pixels at the given places take: of those on ramps the most similar calm one."""
    reach = _CHOSEN.reach
    down, along = np.mgrid[-reach : reach + 1, -reach : reach + 1].reshape(2, -1)
    away = np.hypot(down, along)
    near = np.flatnonzero(away <= reach)
    near = near[np.argsort(away[near], kind="stable")]
    out = np.empty(len(row), dtype=np.int32)
    penalty = np.radians(_CHOSEN.far) * away[near]
    whole = np.ascontiguousarray(index)
    _find_sources(normals, whole, ramp, row, column, down[near], along[near], penalty, np.radians(_CHOSEN.alike), out)
    return out


def _applied(seen: NormalMap, calm: float) -> NormalMap:
    """The map with sharp edges; where a surface would face away, its normal stays as it is."""
    ramp = _steepness(seen.normals, seen.index) > calm
    row, column = np.nonzero(ramp)
    own, source = seen.index[row, column], _sources(seen.normals, seen.index, ramp, row, column)
    normals = seen.normals.copy()
    normals[own] = seen.normals[source]
    sharp = seen.with_normals(normals)
    taken = (source != own) & (sharp.normals[own] == seen.normals[source]).all(axis=1)
    return replace(sharp, sharpened=np.count_nonzero(taken) / seen.n_pixels)


@kernel
def _find_steepness(normals, index, out):
    """Write the largest chord to the eight neighbours, of diagonal ones 0.7 of it; `out` is zero on entry."""
    height, width = index.shape
    for v in range(height):
        for u in range(width):
            a = index[v, u]
            if a < 0:
                continue
            for k in range(4):
                below, beside = v + min(k, 1), u + (1 if k == 0 else k - 2)
                if below >= height or beside < 0 or beside >= width:
                    continue
                b = index[below, beside]
                if b < 0:
                    continue
                square = 0.0
                for axis in range(3):
                    difference = normals[a, axis] - normals[b, axis]
                    square += difference * difference
                chord = np.float32(np.sqrt(square if k == 0 or k == 2 else 0.5 * square))
                out[v, u] = max(out[v, u], chord)
                out[below, beside] = max(out[below, beside], chord)


@kernel
def _find_sources(normals, index, ramp, row, column, down, along, penalty, alike, out):
    """Write of each pixel the one that is most like it of those that are not on ramps, at places (down, along) from it.

    Chords stand for angles. Penalties increase from place to place. A pixel that is on no ramp, or has no such pixel near
    it, keeps its own number.
    """
    height, width = index.shape
    for k in range(len(row)):
        p = index[row[k], column[k]]
        out[k] = p
        if not ramp[row[k], column[k]]:
            continue
        best = alike
        for i in range(len(down)):
            if penalty[i] >= best:
                break
            v, u = row[k] + down[i], column[k] + along[i]
            if v < 0 or v >= height or u < 0 or u >= width or ramp[v, u] or index[v, u] < 0:
                continue
            q = index[v, u]
            square = 0.0
            for axis in range(3):
                difference = normals[p, axis] - normals[q, axis]
                square += difference * difference
            off = np.sqrt(square) + penalty[i]
            if off < best:
                best = off
                out[k] = q
