"""Hidden faces over tiles: what the outlines of faces cut off their components becomes components of its own.

The driver guesses the outlines (`quotientgraph.beyond.hidden_faces`). Tiles sort their own pixels into *groups* that lie
inside the same outlines, so that the driver can settle by the sizes of groups which outlines are faces, and which face a
group belongs to. Tiles then divide their pixels into connected *parts* of one face of one component, and say which parts of
other tiles they meet. The driver gives fragments to what surrounds them, and unites the parts into components.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..beyond.face_fragments import settled_parts
from ..beyond.face_planes import Outline, Plane, mark_inside
from ..beyond.flatness import are_flat
from ..beyond.hidden_faces import SCATTER, fewest_pixels, hidden_outlines, numbered_faces
from ..beyond.joining import Judgement
from ..graph.selection import connected_components, equal_parts
from .components import measure
from .crumbs import gathered
from .groups import starts
from .numbering import Components
from .tiling import ALIGNED, compact
from .window import Job, Window
from .work import Lookup, Work, Written


def write_outlines(job: Job, found: Components, judged: Judgement) -> list[Outline]:
    """Find the outlines of what may be hidden faces, and write the table ``outlines`` of all tiles."""
    work, size = job.work, found.size
    total, noise = np.zeros((3, found.n)), np.zeros((2, found.n))
    for table in work.tables("normals"):
        total[:, table["names"]] += table["normal"]
        noise[:, table["names"]] += table["noise"]
    least, normal = fewest_pixels(size), total / size
    flat = (size >= 3 * least) & are_flat(size, total, noise[0] / np.maximum(noise[1], 1), SCATTER)
    outlines = list(
        hidden_outlines(
            judged.borders, judged.facts, judged.contact, judged.front, judged.tolerance, flat,
            lambda component: Plane(component, normal[:, component], job.camera, job.tiling.shape),
        )
    )  # fmt: skip
    at = judged.graph.pixels.map.position.astype(np.int64)
    component = np.array([one.component for one in outlines], dtype=np.int64)
    work.write_table(
        "outlines",
        None,
        component=component,
        normal=normal[:, component].T,
        ahead=np.array([one.ahead for one in outlines], dtype=np.bool_),
        corners=starts([one.polygon for one in outlines]),
        polygon=np.concatenate([np.zeros((0, 2)), *(one.polygon for one in outlines)]),
        pixels=starts([one.beside for one in outlines]),
        beside=at[np.concatenate([np.zeros(0, dtype=np.int32), *(one.beside for one in outlines)])],
    )
    return outlines


def sort_pixels(job: Job, k: int) -> Written:
    """Sort the pixels of a tile into groups that lie inside the same outlines; group 0 lies in none.

    Writes the image ``groups`` and the table ``groups``: the size of each group, pairs of a group and an outline that it
    lies in, and for each outline how many pixels, and how many of those beside it, lie inside.
    """
    work, core, outlines = job.work, job.tiling.core(k), job.work.table("outlines")
    labels = job.components(core)
    image, label = np.zeros(labels.shape, dtype=np.int32), labels.ravel()
    n, n_beside = np.zeros((2, len(outlines["component"])), dtype=np.int64)
    pairs, n_groups = [np.zeros((2, 0), dtype=np.int64)], 1
    for component in np.unique(outlines["component"]):
        own = np.flatnonzero(label == component)
        if not len(own):
            continue
        row, column = np.divmod(own, labels.shape[1])
        position = (row + core.top) * job.tiling.shape[1] + column + core.left
        mine = np.flatnonzero(outlines["component"] == component)
        points = Plane(component, outlines["normal"][mine[0]], job.camera, job.tiling.shape).points(position)
        code, members = np.zeros(len(own), dtype=np.int32), np.zeros((1, 0), dtype=np.bool_)
        for j in mine:
            inside = np.zeros(len(own), dtype=np.bool_)
            mark_inside(points, outlines["polygon"][outlines["corners"][j] : outlines["corners"][j + 1]], inside)
            beside = outlines["beside"][outlines["pixels"][j] : outlines["pixels"][j + 1]]
            at = np.minimum(np.searchsorted(position, beside), len(position) - 1)
            at = at[position[at] == beside]
            n[j], n_beside[j] = np.count_nonzero(inside), np.count_nonzero(inside[at])
            inside[at] = outlines["ahead"][j]
            names, code = compact(2 * code + inside)
            members = np.column_stack([members[names // 2], names % 2 == 1])
        image.ravel()[own] = n_groups + code
        group, outline = np.nonzero(members)
        pairs.append(np.stack([n_groups + group, mine[outline]]))
        n_groups += len(members)
    image[labels < 0] = -1
    group, outline = np.concatenate(pairs, axis=1)
    size = np.bincount(image[image >= 0], minlength=n_groups)
    return {
        **work.write_numbers("groups", k, image),
        **work.write_table("groups", k, size=size, group=group, outline=outline, n=n, n_beside=n_beside),
    }


def number_groups(work: Work, outlines: list[Outline], found: Components) -> np.ndarray:
    """Settle which outlines are faces; write the lookup ``numbers`` of the face of each group, and return their ranks."""
    tables = work.tables("groups")
    start = starts([table["size"] for table in tables])
    n, n_beside = (np.sum([table[name] for table in tables], axis=0) for name in ("n", "n_beside"))
    group = np.concatenate([table["group"] + base for table, base in zip(tables, start)])
    member, least = np.concatenate([table["outline"] for table in tables]), fewest_pixels(found.size)
    faces = [
        (group[member == j], one.ahead)
        for j, one in enumerate(outlines)
        if one.is_face(n_beside[j] / len(one.beside), n[j], found.size[one.component], least)
    ]
    number, rank = numbered_faces(faces, np.concatenate([table["size"] for table in tables]), least)
    work.write_lookup("numbers", Lookup(start, number))
    return rank


def divide(job: Job, k: int) -> Written:
    """Divide the pixels of a tile into connected parts that lie in one face of one component.

    Writes the image ``parts``, and the table ``parts``: size, first pixel and box of each, its component and the number of
    its face, pairs of parts of one component with the number of edges between them, and the edges to other tiles inside
    components.
    """
    window, work = Window.read(job, k, ALIGNED), job.work
    pixels, mine = window.pixels, window.mine
    label = window.values(job.components(window.box))
    number = window.values(work.window("groups", window.box, work.lookup("numbers")))
    tail, head = pixels.tail[window.inside], pixels.head[window.inside]
    face = compact(label)[1] * (int(number.max(initial=0)) + 1) + number
    part = equal_parts(replace(pixels, tail=tail, head=head), face.astype(np.int32))
    local = np.full(pixels.n_pixels, -1, dtype=np.int32)
    local[mine] = compact(part[mine])[1]
    n = int(local.max(initial=-1)) + 1
    size, first = np.zeros(n, dtype=np.int64), np.full(n, np.iinfo(np.int64).max)
    box = np.repeat(np.array([[2**62], [2**62], [-1], [-1]]), n, axis=1)
    measure(local, pixels.map.position, window.box.shape[1], *window.box[:2], window.shape[1], size, first, box)
    of = np.zeros((2, n), dtype=np.int32)
    of[:, local[mine]] = label[mine], number[mine]
    between = (label[tail] == label[head]) & (number[tail] != number[head])
    pairs, count = np.unique(local[np.stack([tail[between], head[between]])], axis=1, return_counts=True)
    seam = window.seam
    seam = seam[label[pixels.tail[seam]] == label[pixels.head[seam]]]
    return {
        **work.write_numbers("parts", k, window.tile_image(local, -1)),
        **work.write_table(
            "parts",
            k,
            size=size,
            first=first,
            box=box,
            component=of[0],
            number=of[1],
            pairs=pairs,
            count=count,
            tail=window.positions(pixels.tail[seam]),
            head=window.positions(pixels.head[seam]),
        ),
    }


def meet_parts(job: Job, k: int) -> Written:
    """Write the table ``touching``: parts of this tile and of others that edges inside components join, and how many."""
    work, edges = job.work, job.work.table("parts", k, "tail", "head")
    tail, head = edges["tail"], edges["head"]
    found = np.stack([work.at("parts", tail), work.tiling.tile_of(head), work.at("parts", head)]).astype(np.int64)
    (mine, tile, other), count = np.unique(found, axis=1, return_counts=True)
    return work.write_table("touching", k, mine=mine, tile=tile, other=other, count=count)


@dataclass(frozen=True, eq=False)
class Divided:
    """The components of a map after faces that hid in them have become components of their own.

    Attributes
    ----------
    components : Components
    origin : (n,) int32
        The component in which each of them was found.
    face : (n,) int32
        Number of its face, 0 for the rest of a component.
    """

    components: Components
    origin: np.ndarray
    face: np.ndarray


def unite_parts(work: Work, found: Components) -> Divided | None:
    """Unite the parts of all tiles into components, and write their lookup ``faces``; None if no face is left."""
    tables, touching = work.tables("parts"), work.tables("touching")
    start = starts([table["size"] for table in tables])
    # Parts are numbered by their first pixel, as in memory: what is equal otherwise is decided by numbers.
    order = np.argsort(np.concatenate([table["first"] for table in tables]))
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    tail = [table["pairs"][0] + base for table, base in zip(tables, start)]
    head = [table["pairs"][1] + base for table, base in zip(tables, start)]
    tail += [table["mine"] + base for table, base in zip(touching, start)]
    head += [table["other"] + start[table["tile"]] for table in touching]
    ends = rank[np.concatenate(tail)], rank[np.concatenate(head)]
    count = np.concatenate([table["count"] for table in tables + touching])
    size, origin, number = (
        np.concatenate([table[name] for table in tables])[order] for name in ("size", "component", "number")
    )
    number = settled_parts(number, size, *ends, count)
    if not number.any():
        return None
    same = number[ends[0]] == number[ends[1]]
    became = connected_components(len(order), ends[0][same], ends[1][same])
    lookup = Lookup(start, became[rank])
    size, box = gathered(became, size, np.concatenate([table["box"] for table in tables], axis=1)[:, order])
    of = np.zeros((2, len(size)), dtype=np.int32)
    of[:, became] = origin, number
    work.write_lookup("faces", lookup)
    reach = (box[2:] - box[:2]).max(axis=0) + 1
    return Divided(replace(found, of=lookup, size=size, box=box, reach=reach), *of)
