"""What alternatives, contacts and anchors are worth on random scenes: ``python -m quotientgraph.bench.settling_gain``.

An oracle stands for the user: of what is offered it takes what lowers the error most. Three ways are measured, each with
one, two and three steps: taking one of the first three alternatives, telling that two surfaces touch where they truly do and
the result is torn, and telling the depth of one more pixel.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Iterator

import numpy as np

from .. import Orthographic, scenes
from ..beyond.contacts import gaps
from ..integration import integrate
from ..metrics import aligned, relative_error
from ..result import Reconstruction
from ..scenes import Scene

_STEPS, _OFFERED, _TRIED = 3, 3, 10
_TOUCHING = 0.1  # pixels by which true depth may miss a contact

Step = Callable[[Reconstruction, Scene], Iterator[Reconstruction]]


def error(result: Reconstruction, scene: Scene) -> float:
    """Relative depth error in per cent."""
    return 100 * relative_error(result.depth, scene.depth, offset=isinstance(scene.camera, Orthographic))


def by_alternatives(result: Reconstruction, scene: Scene) -> Iterator[Reconstruction]:
    """What each of the first three alternatives gives."""
    yield from (result.take(one) for one in result.alternatives[:_OFFERED])


def by_contacts(result: Reconstruction, scene: Scene) -> Iterator[Reconstruction]:
    """What a known contact gives, for the pairs of surfaces that touch in truth, are torn in the result, and matter most."""
    graph = result._standing.graph
    pixels, camera = graph.pixels, graph.pixels.map.camera
    truth = camera.potential(scene.depth.ravel()[pixels.map.position])
    torn = np.abs(graph.residual(result.potential)) > result._standing.percent
    torn &= gaps(graph, result.potential) > 1
    edges = np.flatnonzero(torn & (gaps(graph, truth) < _TOUCHING))
    size, jump = np.bincount(graph.labels), np.abs(graph.residual(result.potential))[edges]
    ends = np.sort(np.stack([graph.tail[edges], graph.head[edges]]), axis=0).astype(np.int64)
    _, which, count = np.unique(ends[0] * graph.n_components + ends[1], return_inverse=True, return_counts=True)
    matter = np.bincount(which, jump * size[ends].min(axis=0)) / np.maximum(count, 1)
    for k in np.argsort(-matter * (count >= 4))[:_TRIED]:
        of = edges[which == k]
        edge = graph.cut[of[len(of) // 2]]
        yield result.settle(contacts=[(_place(result, pixels.tail[edge]), _place(result, pixels.head[edge]))])


def by_anchors(result: Reconstruction, scene: Scene) -> Iterator[Reconstruction]:
    """What the depth of one pixel gives, in those surfaces that are off most, beside one pixel of the largest right one."""
    graph = result._standing.graph
    offset = isinstance(scene.camera, Orthographic)
    map_of = graph.pixels.map
    depth = aligned(result.depth, scene.depth, offset)
    potential, truth = (map_of.camera.potential(z.ravel()[map_of.position]) for z in (depth, scene.depth))
    off = truth - potential
    size = np.bincount(graph.labels)
    mean = np.bincount(graph.labels, off) / size
    right = int((size * (np.abs(mean) < result._standing.percent)).argmax())
    known = [tuple(pair) for pair in result.settled]
    told = {pixel for pair in known for pixel in pair} or {_middle(graph.labels, right, off)}
    for component in np.argsort(-size * np.abs(mean))[:_TRIED]:
        pixel = _middle(graph.labels, int(component), off)
        if pixel not in told:
            chosen = [_place(result, p) for p in (*sorted(told), pixel)]
            yield result.settle(anchors=[(u, v, float(scene.depth[v, u])) for u, v in chosen])


def steps(scene: Scene, way: Step) -> list[float]:
    """The error before any step, and after each one that the oracle takes."""
    result = integrate(scene.normals, scene.mask, scene.camera, "opencv", check=False)
    found = [error(result, scene)]
    for _ in range(_STEPS):
        offered = [(error(one, scene), k, one) for k, one in enumerate(way(result, scene))]
        if offered and min(offered)[0] < found[-1]:
            least, _, result = min(offered)
            found.append(least)
        else:
            found.append(found[-1])
    return found


def _middle(labels: np.ndarray, component: int, off: np.ndarray) -> int:
    """The pixel of a component whose error is the median."""
    inside = np.flatnonzero(labels == component)
    return int(inside[np.argsort(off[inside])[len(inside) // 2]])


def _place(result: Reconstruction, pixel: int) -> tuple[int, int]:
    row, column = divmod(int(result.graph.pixels.map.position[pixel]), result.depth.shape[1])
    return column, row


def main() -> None:
    parser = argparse.ArgumentParser(description="What alternatives, contacts and anchors are worth on random scenes.")
    parser.add_argument("--split", default="tune", choices=list(scenes.SPLITS), help="which scenes (tune)")
    parser.add_argument("--per-kind", type=int, default=4, help="scenes of each kind (4)")
    given = parser.parse_args()
    logging.getLogger("quotientgraph").setLevel(logging.ERROR)
    ways: dict[str, Step] = {"alternatives": by_alternatives, "contacts": by_contacts, "anchors": by_anchors}
    table: dict[str, list[list[float]]] = {name: [] for name in ways}
    for kind, seed in scenes.cases(given.split, per_kind=given.per_kind):
        scene = scenes.random(kind, seed)
        for name, way in ways.items():
            table[name].append(steps(scene, way))
    for name, rows in table.items():
        errors = np.array(rows)
        large = errors[:, 0] > 3
        part = errors[large] / errors[large, :1]
        sys.stdout.write(
            f"{name}: mean error after 0, 1, 2, 3 steps {errors.mean(axis=0).round(2)}, "
            f"median {np.median(errors, axis=0).round(2)}; of {large.sum()} scenes above 3 %: "
            f"halved {(part <= 0.5).mean(axis=0).round(2)}, less by a quarter {(part <= 0.75).mean(axis=0).round(2)}, "
            f"less by a tenth {(part <= 0.9).mean(axis=0).round(2)}\n"
        )


if __name__ == "__main__":
    main()
