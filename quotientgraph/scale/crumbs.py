"""Crumbs over tiles: small components join their most similar neighbour, as `quotientgraph.beyond.absorbing` has it.

Which of them do is decided by the cut edges over which a component may be absorbed, in one order for the whole map. Tiles
list these edges, the driver decides, and what follows sees the components that are left.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..beyond.absorbing import absorbing_angles, absorbing_edges, from_middle
from ..graph.quotient import Quotient
from ..graph.selection import connected_components, cut_edges
from .groups import starts
from .numbering import Components
from .sampling import row_edges
from .tiling import ALIGNED
from .window import Job, Window
from .work import Lookup, Work, Written


def list_crumbs(job: Job, k: int) -> Written:
    """Write the table ``crumbs``: the cut edges of a tile over which a component may be absorbed.

    Also how many sides of pixels lie on borders, and how many edges begin in each row.
    """
    window, work = Window.read(job, k, ALIGNED), job.work
    pixels, image = window.pixels, job.components(window.box)
    label = window.values(image)
    cut = cut_edges(pixels, label)
    graph = Quotient(pixels, np.zeros(0), label, cut[window.mine[pixels.tail[cut]]], angle=job.angle)
    size = work.read("sizes")
    angle, chosen = absorbing_angles(graph, np.minimum(size[graph.tail], size[graph.head]))
    edge = graph.cut[chosen]
    tail, head = pixels.tail[edge], pixels.head[edge]
    upper, left = (sides[window.core.within(window.box)] for sides in bordering(image))
    return work.write_table(
        "crumbs",
        k,
        tail=label[tail],
        head=label[head],
        angle=angle,
        away=from_middle(job.tiling.shape, window.positions(tail), window.positions(head)),
        key=window.keys(edge),
        n_sides=np.array(np.count_nonzero(upper) + np.count_nonzero(left)),
        n_listed=np.array(len(edge)),
        row_edges=np.diff(row_edges(window)).ravel(),
    )


def bordering(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which pixels of an image of components differ from the pixel above them, and from that to their left."""
    upper, left = np.zeros(labels.shape, dtype=np.bool_), np.zeros(labels.shape, dtype=np.bool_)
    np.not_equal(labels[1:], labels[:-1], out=upper[1:])
    np.not_equal(labels[:, 1:], labels[:, :-1], out=left[:, 1:])
    return upper, left


def absorbed(work: Work, found: Components, angle: float | None) -> Components:
    """The components without crumbs; their lookup replaces that of all components."""
    tables = work.tables("crumbs", "tail", "head", "angle", "away", "key")
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    order = np.argsort(columns.pop("key"))
    tail, head, degrees, away = (columns[name][order] for name in ("tail", "head", "angle", "away"))
    chosen = absorbing_edges(tail, head, degrees, away, found.size, angle)
    became = connected_components(found.n, tail[chosen], head[chosen])
    labels = [found.of.of(k) for k in range(work.tiling.n_tiles)]
    lookup = Lookup(starts(labels), became[np.concatenate(labels)])
    n_tiles = np.zeros(int(became.max()) + 1, dtype=np.int64)
    for k in range(work.tiling.n_tiles):
        n_tiles[np.unique(lookup.of(k))] += 1
    size, box = gathered(became, found.size, found.box)
    work.write_lookup("components", lookup)
    work.write("crossing", None, n_tiles > 1)
    reach = (box[2:] - box[:2]).max(axis=0) + 1  # maps that wrap are not joined
    return replace(found, of=lookup, size=size, box=box, reach=reach, crossing=n_tiles > 1)


def gathered(became: np.ndarray, size: np.ndarray, box: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sizes (n,) and boxes (4, n) of what parts with the given sizes and boxes became, numbers (n_parts,) from 0 on."""
    order = np.argsort(became, kind="stable")
    begin = np.flatnonzero(np.diff(became[order], prepend=-1))
    box = box[:, order]
    reached = [np.minimum.reduceat(side, begin) for side in box[:2]] + [
        np.maximum.reduceat(side, begin) for side in box[2:]
    ]
    return np.add.reduceat(size[order], begin), np.stack(reached)
