"""Classes of a tile that go on in other tiles, united group by group: labels of components, chains of edges.

Each tile has classes with totals, for instance their sizes. A class that goes on in another tile has *links* there. A link
is known to both tiles, and each of them writes how it calls its own end (`here`) and the other one (`there`). A group unites
the classes whose links are inside, and adds up their totals. A class without links to tiles outside is complete.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from laplacians.core.edges import connected_labels

from .groups import Tree, found_at, starts
from .tiling import Tiling
from .window import Job
from .work import Work, Written

# How totals are put together when classes are united.
_TOGETHER = {
    "size": np.add, "pieces": np.add, "normal": np.add, "noise": np.add,
    "first": np.minimum, "low": np.minimum, "high": np.maximum, "widest": np.maximum,
}  # fmt: skip

Totals = dict[str, np.ndarray]


class Links(NamedTuple):
    """Where classes go on: their number, both ends by names (int64) that are unique in the map, the other tile; (n,) all."""

    of: np.ndarray
    here: np.ndarray
    there: np.ndarray
    other: np.ndarray


def both_ways(tiling: Tiling, k: int, tail: np.ndarray, head: np.ndarray, of: np.ndarray) -> Links:
    """The links of tile `k` by edges between positions, of which one end or both belong to it; `of` are its classes."""
    of, here, there = (np.append(*pair) for pair in ((of, of), (tail, head), (head, tail)))
    mine = tiling.tile_of(here) == k
    return Links(of[mine], here[mine], there[mine], tiling.tile_of(there[mine]))


def write_classes(
    work: Work, name: str, level: int, g: int, totals: Totals, links: Links, **columns: np.ndarray
) -> Written:
    """Write the classes of a tile or of a group, with those of their links that lead out of it."""
    is_open, of = np.unique(links.of, return_inverse=True)
    return work.write_table(f"{name}.{level}", g, **totals, **links._replace(of=of)._asdict(), open=is_open, **columns)


def unite(job: Job, g: int, name: str, level: int) -> Written:
    """Unite the open classes of the members of a group."""
    work, tree = job.work, job.tree
    tables = [work.table(f"{name}.{level - 1}", member) for member in tree.members(level, g)]
    start = starts([table["open"] for table in tables])
    of = np.concatenate([table["of"] + base for table, base in zip(tables, start)])
    links = Links(of, *(np.concatenate([table[end] for table in tables]) for end in ("here", "there", "other")))
    inside = tree.group_of(level, links.other) == g
    became = connected_labels(int(start[-1]), of[inside], of[found_at(links.here, links.there[inside])])
    order = np.argsort(became, kind="stable")
    begin = np.searchsorted(became[order], np.arange(int(became.max(initial=-1)) + 1))
    totals = {}
    for column in _totals(tables[0]):
        values = np.concatenate([table[column][..., table["open"]] for table in tables], axis=-1)
        totals[column] = _TOGETHER[column].reduceat(values[..., order], begin, axis=-1) if len(begin) else values
    outside = Links(became[of[~inside]], *(values[~inside] for values in links[1:]))
    return write_classes(work, name, level, g, totals, outside, became=became, start=start)


def settle(job: Job, g: int, name: str, level: int) -> Written:
    """Write the totals of the classes of a group, those that are open as they are in the whole map."""
    return job.work.write_table(f"{name}.settled.{level}", g, **settled(job.work, job.tree, name, level, g))


def settled(work: Work, tree: Tree, name: str, level: int, g: int) -> Totals:
    """The totals that the classes of a tile or of a group have in the whole map; those of the level above are written."""
    own = work.table(f"{name}.{level}", g)
    totals = _totals(own)
    if level == tree.height or not len(own["open"]):
        return totals
    parent, place = tree.above(level, g)
    above = work.table(f"{name}.{level + 1}", parent)
    whole = above if level + 1 == tree.height else work.table(f"{name}.settled.{level + 1}", parent)
    became = above["became"][above["start"][place] : above["start"][place + 1]]
    for column, values in totals.items():
        values[..., own["open"]] = whole[column][..., became]
    return totals


def _totals(table: dict[str, np.ndarray]) -> Totals:
    return {column: values for column, values in table.items() if column in _TOGETHER}
