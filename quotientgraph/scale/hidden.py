"""Depth jumps hidden in components, over tiles: the same edges as `quotientgraph.beyond.hidden_jumps` finds in memory.

In memory the steady edges are integrated along a spanning tree, which takes every edge that joins two trees, in the order
of the image. This forest is unique, and can be found in parts. In a tile, an edge that joins two trees is in the forest of
the whole map for certain unless both trees reach the ring of the tile; then a way around through other tiles may have joined
them before. Without those *open* edges every tree of a tile has at most one pixel of the ring. The driver decides on the
open edges and the edges between tiles, with the pixels of the rings as nodes, in the order of the image.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laplacians.core.edges import connected_labels, root_of
from laplacians.core.jit import kernel

from ..beyond.hidden_jumps import SURE_GAP, WIDE_GAP, steady_among, steady_edges
from ..method.filling import along_trees, equations
from .components import starts
from .tiling import ALIGNED, MARGIN
from .window import Job, Window
from .work import Work, Written


def plant(job: Job, k: int) -> Written:
    """Write the table ``forest``: open edges, steady edges to other tiles, and doubtful edges of a tile."""
    window = Window.read(job, k, MARGIN)
    pixels, n = window.pixels, window.pixels.n_pixels
    label = window.values(job.work.window("labels", window.box, job.work.lookup("components")))
    weight, jump = equations(window.undivided(label), None)
    steady = _steady(job, window) & (weight > 0)
    entry = np.full(n, -1, dtype=np.int64)
    entry[window.ring] = np.arange(len(window.ring))
    kind = np.zeros(pixels.n_edges, dtype=np.int8)
    _sort_out(pixels.tail, pixels.head, steady & window.inside, np.arange(n, dtype=np.int32), entry >= 0, kind)
    x, tree = along_trees(n, pixels.tail, pixels.head, (kind == 1).astype(np.float32), jump)
    root = np.full(n, -1, dtype=np.int64)  # by tree: its pixel in the ring
    root[tree[window.ring]] = window.ring
    x -= np.where(root[tree] >= 0, x[root[tree]], 0.0)
    at = np.where(root[tree] >= 0, entry[root[tree]], -1)
    is_open = np.flatnonzero(kind == 2)
    across = window.seam[weight[window.seam] > 0]
    doubtful = np.flatnonzero((weight > 0) & ~steady & window.inside)
    tail, head = pixels.tail[doubtful], pixels.head[doubtful]
    settled = tree[tail] == tree[head]
    judged = settled | ((at[tail] >= 0) & (at[head] >= 0))
    doubtful, tail, head, settled = doubtful[judged], tail[judged], head[judged], settled[judged]
    return job.work.write_table(
        "forest",
        k,
        open_tail=at[pixels.tail[is_open]],
        open_head=at[pixels.head[is_open]],
        open_jump=jump[is_open] - x[pixels.tail[is_open]] + x[pixels.head[is_open]],
        open_key=window.keys(is_open),
        tail=window.positions(pixels.tail[across]),
        head=window.positions(pixels.head[across]),
        jump=jump[across],
        key=window.keys(across),
        steady=steady[across],
        focal=pixels.focal_at(across),
        doubt_tail=window.positions(tail),
        doubt_head=window.positions(head),
        doubt_tail_at=np.where(settled, -1, at[tail]),
        doubt_head_at=np.where(settled, -1, at[head]),
        doubt_misfit=x[tail] - x[head] - jump[doubtful],
        doubt_focal=pixels.focal_at(doubtful),
    )


def _steady(job: Job, window: Window) -> np.ndarray:
    """(n_edges,) bool: the edges along which the surface surely goes on, as in memory.

    Beyond a border around which the map goes on, squares of pixels are counted from there, and in memory an edge counts for
    the square of the first of its two pixels in the map.
    """
    pixels, box = window.pixels, window.box
    turns = list(job.tiling.turns(box))
    if len(turns) == 1:
        return steady_edges(pixels, job.angle)
    square, n = np.empty(box.shape, dtype=np.int32), 0
    for turn in turns:
        rows, columns = (
            np.arange(begin, end) // ALIGNED - begin // ALIGNED for begin, end in zip(turn.source[:2], turn.source[2:])
        )
        square[turn.part.within(box)] = turn.seen(n + rows[:, None] * (columns[-1] + 1) + columns)
        n += int((rows[-1] + 1) * (columns[-1] + 1))
    position = window.positions(np.arange(pixels.n_pixels))
    turned = position[pixels.head] < position[pixels.tail]
    tail, head = (np.where(turned, b, a) for a, b in ((pixels.tail, pixels.head), (pixels.head, pixels.tail)))
    return steady_among(pixels.map.normals, window.values(square), n, tail, head, job.angle)


@dataclass(frozen=True, eq=False)
class Ring:
    """The outermost pixels of all tiles, in which edges between tiles end.

    Attributes
    ----------
    position : (n,) int64
        Flat positions in the map, sorted.
    start : (n_tiles + 1,) int64
        Where the rings of the tiles begin if they are listed one after the other, as tables of tiles list them.
    order : (n,) int64
        Which entry of those lists each of the sorted positions is.
    """

    position: np.ndarray
    start: np.ndarray
    order: np.ndarray

    @classmethod
    def from_lists(cls, lists: list[np.ndarray]) -> Ring:
        """From the positions of each tile."""
        every = np.concatenate(lists)
        order = np.argsort(every)
        return cls(every[order], starts(lists), order)

    def find(self, position: np.ndarray) -> np.ndarray:
        """The entries of positions that are in the ring of their tile, in the order of the lists."""
        return self.order[np.searchsorted(self.position, position)]


def find_hidden(work: Work) -> int:
    """Find the edges across which the depth jumps, and write them as tables ``hidden``; returns their number."""
    tables = work.tables("forest")
    ring = Ring.from_lists(work.column("labels", "ring"))
    base = ring.start
    ends = {}
    for end in ("tail", "head"):
        inner = np.concatenate([t[f"open_{end}"] + b for t, b in zip(tables, base)])
        ends[end] = inner, ring.find(np.concatenate([t[end] for t in tables]))
    steady = np.concatenate([t["steady"] for t in tables])
    jump, key = (np.concatenate([t[name] for t in tables]) for name in ("jump", "key"))
    every = {name: np.concatenate([ends[name][0], ends[name][1][steady]]).astype(np.int32) for name in ends}
    all_jump = np.concatenate([*(t["open_jump"] for t in tables), jump[steady]])
    order = np.argsort(np.concatenate([*(t["open_key"] for t in tables), key[steady]]))
    n = len(ring.position)
    tail, head = every["tail"][order], every["head"][order]
    x, tree = along_trees(n, tail, head, np.ones(len(order), dtype=np.float32), all_jump[order])
    x, tree = np.append(x, 0.0), np.append(tree, -1)  # the rings may have no valid pixel at all

    found = []  # tail, head (positions) and gap of the edges that are apart
    for t, b in zip(tables, base):
        a, c = t["doubt_tail_at"] + b, t["doubt_head_at"] + b
        settled = t["doubt_tail_at"] < 0
        a, c = np.where(settled, 0, a), np.where(settled, 0, c)
        gap = np.abs(t["doubt_misfit"] + x[a] - x[c]) * t["doubt_focal"]
        apart = (settled | (tree[a] == tree[c])) & (gap > WIDE_GAP)
        found.append((t["doubt_tail"][apart], t["doubt_head"][apart], gap[apart]))
    a, c = ends["tail"][1], ends["head"][1]
    gap = np.abs(x[a] - x[c] - jump) * np.concatenate([t["focal"] for t in tables])
    apart = ~steady & (tree[a] == tree[c]) & (gap > WIDE_GAP)
    at_tail, at_head = (np.concatenate([t[name] for t in tables])[apart] for name in ("tail", "head"))
    found.append((at_tail, at_head, gap[apart]))
    tail, head, gap = (np.concatenate(column) for column in zip(*found))
    sure = _in_sure_chains(tail, head, gap)
    return _write(work, tail[sure], head[sure])


def _in_sure_chains(tail: np.ndarray, head: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """Which edges are in a chain, joined at pixels, that has a sure gap somewhere."""
    pixels, node = np.unique(np.append(tail, head), return_inverse=True)
    node = node.astype(np.int32)
    chain = connected_labels(len(pixels), node[: len(tail)], node[len(tail) :])[node[: len(tail)]]
    widest = np.zeros(len(pixels))
    np.maximum.at(widest, chain, gap)
    return widest[chain] > SURE_GAP


def _write(work: Work, tail: np.ndarray, head: np.ndarray) -> int:
    owner = work.tiling.tile_of(tail)
    order = np.argsort(owner, kind="stable")
    start = np.searchsorted(owner[order], np.arange(work.tiling.n_tiles + 1))
    for k in range(work.tiling.n_tiles):
        mine = order[start[k] : start[k + 1]]
        work.write_table("hidden", k, tail=tail[mine], head=head[mine])
    return len(tail)


@kernel
def _sort_out(tail, head, used, parent, reaches, kind):
    """Write 1 for the edges of the forest that are certain, 2 for open ones, 0 for the rest.

    `parent` holds 0, 1, 2, … on entry, and `reaches` whether a pixel is in the ring; both are overwritten.
    """
    for e in range(len(tail)):
        if used[e]:
            a, b = root_of(parent, tail[e]), root_of(parent, head[e])
            if a != b:
                kind[e] = 2 if reaches[a] and reaches[b] else 1
                low, high = min(a, b), max(a, b)
                parent[high] = low
                reaches[low] = reaches[a] or reaches[b]
