"""Depth jumps hidden in components, over tiles: the same edges as `quotientgraph.beyond.hidden_jumps` finds in memory.

In memory the steady edges are integrated along a spanning tree. Each tile does so with its own edges, and
`quotientgraph.scale.forest` puts the trees of all tiles together. Then each tile judges the edges that are not steady. Those
across which the depth jumps form chains, which `quotientgraph.scale.uniting` follows from tile to tile.
"""

from __future__ import annotations

import numpy as np

from laplacians.core.edges import connected_labels

from ..beyond.hidden_jumps import SURE_GAP, WIDE_GAP, steady_among, steady_edges
from ..method.filling import equations
from .forest import at_border, hung_on, sorted_out
from .groups import edges_around, found_at, neighbours
from .tiling import ALIGNED, MARGIN
from .uniting import both_ways, settled, write_classes
from .window import Job, Window
from .work import Written


def plant(job: Job, k: int) -> Written:
    """Write the table ``forest``: open edges, steady edges to other tiles, and doubtful edges of a tile."""
    window = Window.read(job, k, MARGIN)
    pixels, n = window.pixels, window.pixels.n_pixels
    label = window.values(job.work.window("labels", window.box, job.work.lookup("components")))
    weight, jump = equations(window.undivided(label), None)
    steady = _steady(job, window) & (weight > 0)
    on_ring = np.zeros(n, dtype=bool)
    on_ring[window.ring] = True
    kind = sorted_out(n, pixels.tail, pixels.head, steady & window.inside, on_ring)
    x, tree, at = hung_on(window.ring, n, pixels.tail, pixels.head, kind, jump)
    is_open = np.flatnonzero(kind == 2)
    across = window.seam[weight[window.seam] > 0]
    doubtful = np.flatnonzero((weight > 0) & ~steady & window.inside)
    tail, head = pixels.tail[doubtful], pixels.head[doubtful]
    same = tree[tail] == tree[head]
    judged = same | ((at[tail] >= 0) & (at[head] >= 0))
    doubtful, tail, head, same = doubtful[judged], tail[judged], head[judged], same[judged]
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
        doubt_tail_at=np.where(same, -1, at[tail]),
        doubt_head_at=np.where(same, -1, at[head]),
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


def judge(job: Job, k: int) -> Written:
    """Find the edges of a tile across which the depth jumps, and write them as ``apart`` and their chains as ``chains.0``.

    Edges to other tiles are judged by both tiles, with the same outcome: so each tile knows all that meet at its pixels.
    """
    work, tile_of = job.work, job.tiling.tile_of
    names = "tail", "head", "tail_at", "head_at", "misfit", "focal"
    inner = {name: work.table("forest", k, f"doubt_{name}")[f"doubt_{name}"] for name in names}
    (x, tree), same = at_border(work, job.tree, 0, k), inner["tail_at"] < 0
    a, b = (np.where(same, 0, inner[end]) for end in ("tail_at", "head_at"))
    x, tree = (np.append(values, 0) for values in (x, tree))  # a ring without a pixel has no entry 0
    gap = np.abs(inner["misfit"] + x[a] - x[b]) * inner["focal"]
    apart = (same | (tree[a] == tree[b])) & (gap > WIDE_GAP)
    found = [(inner["tail"][apart], inner["head"][apart], gap[apart])]

    edges = edges_around(work, k, "forest", "jump", "steady", "focal")
    rings = [
        (work.table("labels", j, "ring")["ring"], *at_border(work, job.tree, 0, j)) for j in neighbours(job.tiling, k)
    ]
    position, x, tree = (np.concatenate(column) for column in zip(*rings))
    a, b = (found_at(position, edges[end]) for end in ("tail", "head"))
    gap = np.abs(x[a] - x[b] - edges["jump"]) * edges["focal"]
    apart = ~edges["steady"] & (tree[a] == tree[b]) & (gap > WIDE_GAP)
    between = edges["tail"][apart], edges["head"][apart]
    found.append((*between, gap[apart]))

    tail, head, gap = (np.concatenate(column) for column in zip(*found))
    pixels, node = np.unique(np.append(tail, head), return_inverse=True)
    part = connected_labels(len(pixels), node[: len(tail)], node[len(tail) :])[node[: len(tail)]]
    chains, chain = np.unique(part, return_inverse=True)
    widest = np.zeros(len(chains))
    np.maximum.at(widest, chain, gap)
    at_seams = chain[len(chain) - len(between[0]) :]
    links = both_ways(job.tiling, k, *between, at_seams)
    mine = tile_of(tail) == k
    return {
        **work.write_table("apart", k, tail=tail[mine], head=head[mine], chain=chain[mine]),
        **write_classes(work, "chains", 0, k, {"widest": widest}, links),
    }


def choose(job: Job, k: int) -> Written:
    """Write the table ``hidden``: the edges of a tile that are in a chain with a sure gap somewhere."""
    edges = job.work.table("apart", k)
    sure = settled(job.work, job.tree, "chains", 0, k)["widest"][edges["chain"]] > SURE_GAP
    return job.work.write_table("hidden", k, tail=edges["tail"][sure], head=edges["head"][sure])
