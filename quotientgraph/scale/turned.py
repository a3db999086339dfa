"""Turned parts over tiles: whether memory would move parts of the map to an axis that they share.

Tiles do not place them by it. They list a sample of their pixels, and the driver asks of it what is asked in memory
(`quotientgraph.beyond.shared_axes`), so that a warning is given only where something would be moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import Self

import numpy as np

from ..beyond.shared_axes import (
    CHOSEN,
    FARTHEST,
    any_moves,
    coaxial_clusters,
    firm_borders,
    large_groups,
    turned_of,
)
from ..beyond.turned_parts import TurnedParts, n_sample
from ..geometry.normals import rows_and_columns
from ..geometry.rays import rays_at
from ..graph.selection import connected_components
from .rounds import potential
from .run import Run
from .scales import TiledScales
from .window import Job, normal_map
from .work import Work, Written

# The sample has at least so many pixels, if the map has; a part that is looked at has a hundredth of the map or more, so a
# thousand of them.
_SAMPLE = 100_000


def list_points(job: Job, k: int, number: int, step: int) -> Written:
    """Write the table ``turned``: place, component, filled potential, ray and normal of some pixels of a tile.

    They are those in every `step`-th row and column of the map. `number` is the round of filling whose images hold the
    potential.
    """
    work, core = job.work, job.tiling.core(k)
    seen = normal_map(job, core)
    row, column = rows_and_columns(seen.position, core.shape[1])
    chosen = np.flatnonzero(((row + core.top) % step == 0) & ((column + core.left) % step == 0))
    row, column = row[chosen], column[chosen]
    if seen.camera.central:
        ray = np.stack(rays_at(seen.camera.coordinates(seen.shape), row, column), axis=-1)
    else:
        ray = np.stack([column + core.left, row + core.top, np.zeros(len(row))], axis=-1)
    label, filled = job.components(core)[row, column], potential(work, core, number)[0][row, column]
    at = job.tiling.positions(row + core.top, column + core.left)
    return work.write_table("turned", k, at=at, label=label, filled=filled, ray=ray, normal=seen.normals[chosen])


@dataclass(frozen=True, eq=False)
class _Sample:
    """Some pixels of the map, row by row.

    Attributes
    ----------
    label : (n,) int32
    point, normal : (n, 3) float64
        Points of the surface, in any unit.
    """

    label: np.ndarray
    point: np.ndarray
    normal: np.ndarray

    @classmethod
    def from_tables(cls, work: Work, shift: np.ndarray, central: bool) -> Self:
        order = np.argsort(work.joined("turned", "at"))  # as in memory, whatever the tiles are
        names = "label", "filled", "ray", "normal"
        label, filled, ray, normal = (work.joined("turned", name)[order] for name in names)
        height = filled + shift[label]
        if not central:
            return cls(label, ray + height[:, None] * [0.0, 0.0, 1.0], normal)
        with np.errstate(over="ignore"):
            return cls(label, np.exp(height - height.mean())[:, None] * ray, normal)

    def turned(self, group: np.ndarray, names: np.ndarray) -> tuple[np.ndarray, TurnedParts]:
        """Those of the named groups that are turned, and their axes; `group` is that of each component."""
        own = [np.flatnonzero(group[self.label] == name) for name in names]
        names, own = names[[len(one) > 0 for one in own]], [one for one in own if len(one)]
        if len(names) < 2:
            return names[:0], TurnedParts.none()
        chosen = np.stack([one[np.linspace(0, len(one) - 1, n_sample()).astype(np.int64)] for one in own])
        return turned_of(names, self.point[chosen], self.normal[chosen], self.label[chosen])

    def apart(self, group: np.ndarray, names: np.ndarray, parts: TurnedParts) -> np.ndarray:
        """(n_components,) bool: components of turned groups most of whose pixels do not meet the axis."""
        met, n = np.ones(len(self.label), dtype=np.bool_), len(group)
        for k in np.flatnonzero(parts.share < CHOSEN.whole):
            own = group[self.label] == names[k]
            met[own] = parts.meets(int(k), self.point[own], self.normal[own])
        return np.bincount(self.label, met, n) < 0.5 * np.bincount(self.label, minlength=n)


def would_be_moved(run: Run, scales: TiledScales, number: int) -> bool:
    """Whether memory would place parts of the map by an axis that they share, which is not where they are.

    `number` is the round of filling whose images hold the potential.
    """
    pattern, size, central = scales.borders.pattern, scales.components.size, run.job.camera.central
    firm = _firm(scales)
    group = connected_components(pattern.n, pattern.tail[firm], pattern.head[firm])
    names = large_groups(np.bincount(group, size))
    if len(names) < 2:
        return False
    run.stage("turned", list_points, number, max(1, isqrt(int(size.sum()) // _SAMPLE)))
    sample = _Sample.from_tables(run.job.work, scales.potential, central)
    if not np.abs(sample.point).max(initial=0.0) < FARTHEST:
        return False
    names, parts = sample.turned(group, names)
    apart = sample.apart(group, names, parts)
    if apart.any():
        firm &= apart[pattern.tail] == apart[pattern.head]
        group = connected_components(pattern.n, pattern.tail[firm], pattern.head[firm])
        names, parts = sample.turned(group, large_groups(np.bincount(group, size)))
    piece = np.empty(int(group.max()) + 1, dtype=np.int64)
    piece[group] = pattern.pieces
    return any_moves(coaxial_clusters(names, parts, np.bincount(group, size), piece, central))


def _firm(scales: TiledScales) -> np.ndarray:
    """(n_pairs,) bool: the borders where two components surely touch."""
    out = [np.zeros(0, dtype=np.bool_)]
    for group in scales.borders.groups():
        narrow = (group.room[1] - group.room[0]) * group.focal <= CHOSEN.narrow
        touches = group.gaps(scales.potential) <= CHOSEN.gap
        out.append(firm_borders(narrow & touches, group.cut.start))
    return np.concatenate(out)
