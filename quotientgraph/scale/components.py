"""Components over tiles: each tile labels its own pixels.

Labels that meet at a seam become one component; see `quotientgraph.scale.uniting` and `quotientgraph.scale.numbering`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from laplacians.core.edges import number_trees, root_of
from laplacians.core.jit import kernel

from ..graph.selection import similar_edges
from .tiling import ALIGNED
from .window import Job, Window
from .work import Work, Written

_SAMPLE = 200_000  # edges of a tile that noise is estimated from


def label(job: Job, k: int) -> Written:
    """Label the components of a tile's own pixels, and say which edges to other tiles join them to more.

    Writes the image ``labels``, in which components count from 0 in each tile, and the table ``labels`` with the size, the
    first pixel and the bounding box of each component, the sums that tell whether it is flat, the ring of the tile and its
    edges to other tiles.
    """
    window = Window.read(job, k, ALIGNED)
    pixels, mine = window.pixels, window.mine
    labels = np.arange(pixels.n_pixels, dtype=np.int32)
    if job.joining_angle is not None:
        cosine = np.cos(np.radians(job.joining_angle))
        _unite_similar(labels, pixels.map.normals, pixels.tail, pixels.head, mine, cosine)
    number_trees(labels)
    number = np.full(int(labels.max(initial=-1)) + 1, -1, dtype=np.int32)  # of the trees with pixels of the tile
    n = _count_own(labels, mine, number)
    size, first = np.zeros(n, dtype=np.int64), np.full(n, np.iinfo(np.int64).max)
    box = np.repeat(np.array([[2**62], [2**62], [-1], [-1]]), n, axis=1)
    measure(labels, pixels.map.position, window.box.shape[1], *window.box[:2], window.shape[1], size, first, box)
    normal, noise = np.zeros((3, n)), np.zeros((2, n))
    _add_normals(labels, pixels.map.normals, normal)
    step = max(1, pixels.n_edges // _SAMPLE)
    n_cut = step * _add_noise(labels, pixels.map.normals, pixels.tail, pixels.head, step, noise)
    tail, head = window.seam_ends
    return {
        **job.work.write_numbers("labels", k, window.tile_image(labels, -1)),
        **job.work.write_table(
            "labels",
            k,
            size=size,
            first=first,
            box=box,
            normal=normal,
            noise=noise,
            n_cut=np.array(n_cut),
            ring=window.positions(window.ring),
            tail=window.positions(tail),
            head=window.positions(head),
            similar=similar_edges(replace(pixels, tail=tail, head=head), job.joining_angle),
            left_out=np.array(_left_out(job, k, int(mine.sum()))),
        ),
    }


def _left_out(job: Job, k: int, n_valid: int) -> int:
    """How many pixels of the mask of a tile have no usable normal."""
    core = job.tiling.core(k)
    mask = None if job.source.mask is None else job.source.read(core)[1]
    return (core.shape[0] * core.shape[1] if mask is None else int(mask.sum())) - n_valid


def counted(work: Work) -> tuple[int, int, int]:
    """Valid pixels in the rings, labels, and about as many cut edges, of all tiles; one table is in memory at a time."""
    tables = (work.table("labels", k, "ring", "size", "n_cut") for k in range(work.tiling.n_tiles))
    counts = [(len(t["ring"]), len(t["size"]), int(t["n_cut"])) for t in tables]
    n_ring, n_labels, n_cut = (sum(column) for column in zip(*counts))
    return n_ring, n_labels, n_cut


@kernel
def _unite_similar(parent, normals, tail, head, mine, cosine):
    """Join the trees of both ends of every edge inside the tile whose unit normals have a product above `cosine`.

    `parent` holds 0, 1, 2, … on entry; afterwards the root of every tree is its least pixel.
    """
    for e in range(len(tail)):
        a, b = tail[e], head[e]
        if parent[a] == parent[b] or not (mine[a] and mine[b]):
            continue
        i, j = root_of(parent, a), root_of(parent, b)
        if i != j:
            dot = normals[a, 0] * normals[b, 0] + normals[a, 1] * normals[b, 1] + normals[a, 2] * normals[b, 2]
            if dot > cosine:
                parent[max(i, j)] = min(i, j)


@kernel
def _count_own(labels, mine, number):
    """Number the labels that pixels of the tile have, in their order, and replace them; −1 elsewhere. Returns how many.

    `number` is −1 for every label on entry. Labels are numbered by their first pixel.
    """
    n = 0
    for i in range(len(labels)):
        if not mine[i]:
            labels[i] = -1
            continue
        if number[labels[i]] < 0:
            number[labels[i]] = n
            n += 1
        labels[i] = number[labels[i]]
    return n


@kernel
def measure(labels, position, width, top, left, whole, size, first, box):
    """Write the number of pixels, the first position in the map and the bounding box of each label."""
    for i in range(len(labels)):
        k = labels[i]
        if k >= 0:
            row, column = top + position[i] // width, left + position[i] % width
            size[k] += 1
            first[k] = min(first[k], row * whole + column)
            box[0, k], box[1, k] = min(box[0, k], row), min(box[1, k], column)
            box[2, k], box[3, k] = max(box[2, k], row), max(box[3, k], column)


@kernel
def _add_normals(labels, normals, total):
    """Add the normal of each pixel to the sum of its label; pixels with a negative one are passed over."""
    for i in range(len(labels)):
        if labels[i] >= 0:
            for axis in range(3):
                total[axis, labels[i]] += normals[i, axis]


@kernel
def _add_noise(labels, normals, tail, head, step, noise):
    """Add up, over every so many edges inside a label, a quarter of the squared difference of the normals, and count.

    Returns how many of the edges that were looked at join two labels.
    """
    n_cut = 0
    for e in range(0, len(tail), step):
        a, b = tail[e], head[e]
        k = labels[a]
        if k >= 0 and labels[b] == k:
            for axis in range(3):
                noise[0, k] += 0.25 * (normals[a, axis] - normals[b, axis]) ** 2
            noise[1, k] += 1
        elif k >= 0 and labels[b] >= 0:
            n_cut += 1
    return n_cut
