"""The forest of steady edges over all tiles, which hidden depth jumps are looked for with, put together group by group.

The forest takes every edge that joins two trees, in the order of the image. It is unique, and can be found in parts. An edge
that joins two trees of a tile or of a group is in the forest of the whole map for certain unless both trees reach its
border; then a way around through other tiles may have joined them before. Such edges are *open*. Without them every tree has
at most one node at the border. So a group passes on its nodes at the border, the open edges between them, and the edges that
lead out of it, and nothing else.
"""

from __future__ import annotations

import numpy as np

from laplacians.core.edges import root_of
from laplacians.core.jit import kernel

from ..method.filling import along_trees
from .groups import Tree, edges_around, found_at, starts
from .window import Job
from .work import Work, Written

_EDGES = "tail", "head", "jump", "key"
_LINKS = "at", "here", "there", "other", "offset", "across", "order", "outward"


def grow(job: Job, g: int, level: int) -> Written:
    """Join the forests of the members of a group; write the table ``forest.<level>``.

    It has the nodes of all members, those at the border of each one after the other (`start`): their tree (`tree`, the
    position of a pixel of it), their offset `x`, and the node at the border of this group that they hang on (`at_border`, or
    −1). For the group above it has the position of the nodes at the border, the open edges, and the edges that lead out: the
    two ends (`here`, `there`), which node the inner end hangs on (`at`) and with which `offset`.
    """
    tree = job.tree
    members = [_of_member(job, level - 1, member) for member in tree.members(level, g)]
    start = starts([member["position"] for member in members])
    position = np.concatenate([member["position"] for member in members])
    link = {name: np.concatenate([member[name] for member in members]) for name in _LINKS}
    link["at"] = np.concatenate([member["at"] + base for member, base in zip(members, start)])
    inside = tree.group_of(level, link["other"]) == g
    crossed = np.flatnonzero(inside & link["outward"])
    met = found_at(link["here"], link["there"][crossed])
    jump = link["across"][crossed] - link["offset"][crossed] + link["offset"][met]
    tail = np.concatenate([*(m["tail"] + base for m, base in zip(members, start)), link["at"][crossed]])
    head = np.concatenate([*(m["head"] + base for m, base in zip(members, start)), link["at"][met]])
    jump = np.concatenate([*(m["jump"] for m in members), jump])
    key = np.concatenate([*(m["key"] for m in members), link["order"][crossed]])
    order = np.argsort(key, kind="stable")
    tail, head, jump, key = tail[order].astype(np.int32), head[order].astype(np.int32), jump[order], key[order]
    n, out = len(position), ~inside
    reaches = np.zeros(n, dtype=bool)
    reaches[link["at"][out]] = True
    border = np.flatnonzero(reaches)
    kind = sorted_out(n, tail, head, np.ones(len(tail), dtype=bool), reaches)
    x, root, at_border = hung_on(border, n, tail, head, kind, jump)
    is_open = kind == 2
    tail, head, jump = tail[is_open], head[is_open], jump[is_open] - x[tail[is_open]] + x[head[is_open]]
    at, offset = link["at"][out], link["offset"][out]
    return job.work.write_table(
        f"forest.{level}",
        g,
        start=start,
        tree=position[root],
        x=x,
        at_border=at_border,
        position=position[border],
        tail=at_border[tail],
        head=at_border[head],
        jump=jump,
        key=key[is_open],
        **{name: link[name][out] for name in ("here", "there", "other", "across", "order", "outward")},
        at=at_border[at],
        offset=offset + x[at],
    )


def _of_member(job: Job, level: int, g: int) -> dict[str, np.ndarray]:
    """What a tile or a group passes on."""
    work = job.work
    if level > 0:
        return work.table(f"forest.{level}", g, "position", *_EDGES, *_LINKS)
    position = work.table("labels", g, "ring")["ring"]
    inner = work.table("forest", g, *(f"open_{name}" for name in _EDGES))
    edges = edges_around(work, g, "forest", "jump", "key", "steady")
    links = []
    for outward, (here, there) in enumerate((("head", "tail"), ("tail", "head"))):
        mine = edges["steady"] & (work.tiling.tile_of(edges[here]) == g)
        one = {name: edges[name][mine] for name in (here, there, "jump", "key")}
        links.append(
            {
                "at": found_at(position, one[here]),
                "here": one[here],
                "there": one[there],
                "other": work.tiling.tile_of(one[there]),
                "offset": np.zeros(len(one[here])),
                "across": one["jump"],
                "order": one["key"],
                "outward": np.full(len(one[here]), bool(outward)),
            }
        )
    joined = {name: np.concatenate([one[name] for one in links]) for name in _LINKS}
    return {"position": position, **{name: inner[f"open_{name}"] for name in _EDGES}, **joined}


def descend(job: Job, g: int, level: int) -> Written:
    """Write the table ``forest.settled.<level>``: tree and offset in the whole map of the nodes of a group's members."""
    x, tree = _settled(job.work, job.tree, level, g)
    return job.work.write_table(f"forest.settled.{level}", g, x=x, tree=tree)


def at_border(work: Work, tree: Tree, level: int, g: int) -> tuple[np.ndarray, np.ndarray]:
    """Offset and tree in the whole map of the nodes at the border of a tile or of a group."""
    parent, place = tree.above(level, g)
    start = work.table(f"forest.{level + 1}", parent, "start")["start"]
    name = f"forest.{level + 1}" if level + 1 == tree.height else f"forest.settled.{level + 1}"
    above = work.table(name, parent, "x", "tree")
    mine = slice(start[place], start[place + 1])
    return above["x"][mine], above["tree"][mine]


def _settled(work: Work, tree: Tree, level: int, g: int) -> tuple[np.ndarray, np.ndarray]:
    own = work.table(f"forest.{level}", g, "x", "tree", "at_border")
    x, root, at = own["x"], own["tree"], own["at_border"]
    above, roots = at_border(work, tree, level, g)
    hangs = at >= 0
    x[hangs] += above[at[hangs]]
    root[hangs] = roots[at[hangs]]
    return x, root


def sorted_out(n: int, tail: np.ndarray, head: np.ndarray, used: np.ndarray, reaches: np.ndarray) -> np.ndarray:
    """(n_edges,) int8: 1 for the edges of the forest that are certain, 2 for open ones, 0 for the rest.

    Parameters
    ----------
    n : int
        Number of nodes.
    tail, head : (n_edges,) int32
        In the order of the image.
    used : (n_edges,) bool
    reaches : (n,) bool
        Whether a node is at the border.
    """
    kind = np.zeros(len(tail), dtype=np.int8)
    _sort_out(tail, head, used, np.arange(n, dtype=np.int32), reaches.copy(), kind)
    return kind


def hung_on(
    border: np.ndarray, n: int, tail: np.ndarray, head: np.ndarray, kind: np.ndarray, jump: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add up the jumps of the certain edges along their trees, from the node at the border if a tree has one.

    Returns the sums (n,), the first node (n,) of each tree, and the node at the border (n,), counted in `border`, or −1.
    """
    x, root = along_trees(n, tail, head, (kind == 1).astype(np.float32), jump)
    held = np.full(n, -1, dtype=np.int64)  # by root
    held[root[border]] = np.arange(len(border))
    at = held[root]
    hangs = at >= 0
    x[hangs] -= x[border[at[hangs]]]
    return x, root, at


@kernel
def _sort_out(tail, head, used, parent, reaches, kind):
    """Write 1 for the edges of the forest that are certain, 2 for open ones, 0 for the rest.

    `parent` holds 0, 1, 2, … on entry, and `reaches` whether a node is at the border; both are overwritten.
    """
    for e in range(len(tail)):
        if used[e]:
            a, b = root_of(parent, tail[e]), root_of(parent, head[e])
            if a != b:
                kind[e] = 2 if reaches[a] and reaches[b] else 1
                low, high = min(a, b), max(a, b)
                parent[high] = low
                reaches[low] = reaches[a] or reaches[b]
