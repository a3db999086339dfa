"""How far borders can place components at all: ``python -m quotientgraph.bench.limits``.

Four arrangements of the same components of random scenes are compared: as borders are judged; as they would be if the state
of every border and likely common plane were known; the same with the groups that touch nothing in view at their true places;
and with every component at its true place. The second is what no judgement of borders can surpass. It differs from the third
by groups whose distance from the rest the normals leave open: moved along their rays, they show the same normals, and hide
the same.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .. import scenes
from ..beyond.joining import Judgement, Witnesses, join
from ..graph.selection import connected_components
from ..integration import integrate
from ..metrics import relative_error
from ..scenes import Scene
from .context_fit import medians, true_potential

_SURE = 4.0  # log-odds of a state that is known
_LARGE = 0.005  # of the pixels: smaller groups are not counted


@dataclass(frozen=True)
class Limits:
    """Of one scene.

    Attributes
    ----------
    judged, known, grouped, placed : float
        Relative depth errors in per cent: by judged borders, by true states of all borders, with the groups that these make
        in their places, and with every component in its place.
    loose : float
        Per cent of the pixels in groups that no contact in view ties to the largest one.
    n_loose : int
        Number of such groups of half a per cent of the pixels or more.
    """

    judged: float
    known: float
    grouped: float
    placed: float
    loose: float
    n_loose: int


def limits(judged: Judgement, scene: Scene) -> Limits:
    """Compare arrangements of components, the borders of which were judged before they were joined."""
    graph, normal_map = judged.graph, judged.graph.pixels.map
    n, size, camera = graph.n_components, graph.sizes, normal_map.camera
    told, right, group = contact_groups(judged, scene.depth)
    miss = right[told.left] - right[told.right] - told.offset
    state = np.where(np.abs(miss) <= told.tolerance, 0, np.where(miss < 0, 1, 2))
    sure = -np.log1p(2 * np.exp(-_SURE))
    touch, left_front, right_front = (np.where(state == k, sure, sure - _SURE) for k in range(3))
    known = join(n, replace(told, touch=touch, left_front=left_front, right_front=right_front), size)
    pixels = np.bincount(group, size)
    # Groups are as contacts place their components, and stand where they truly do.
    grouped = known + medians((right - known)[graph.labels], group[graph.labels])[group]
    others = np.arange(len(pixels)) != pixels.argmax()

    def off_by(shift: np.ndarray) -> float:
        depth = normal_map.image(camera.depth(judged.potential + shift[graph.labels]))
        return 100 * relative_error(depth, scene.depth, offset=not camera.central)

    return Limits(
        off_by(join(n, told, size)),
        off_by(known),
        off_by(grouped),
        off_by(right),
        100 * float(pixels[others].sum() / pixels.sum()),
        int((others & (pixels >= _LARGE * pixels.sum())).sum()),
    )


def contact_groups(judged: Judgement, depth: np.ndarray) -> tuple[Witnesses, np.ndarray, np.ndarray]:
    """Which components true contacts in view tie together.

    Parameters
    ----------
    judged : Judgement
    depth : (H, W) float64
        The truth.

    Returns
    -------
    Witnesses
        What the borders say.
    (n_components,) float64
        True shifts.
    (n_components,) int32
        Numbers of the groups.
    """
    graph = judged.graph
    right = medians(true_potential(graph, depth) - judged.potential, graph.labels)
    told = judged.witnesses
    touches = np.abs(right[told.left] - right[told.right] - told.offset) <= told.tolerance
    return told, right, connected_components(graph.n_components, told.left[touches], told.right[touches])


def of_scenes(split: str, per_kind: int) -> Iterator[tuple[str, Limits]]:
    """Names and limits of the random scenes whose borders are judged."""
    for kind, seed in scenes.cases(split, per_kind=per_kind):
        scene = scenes.random(kind, seed)
        result = integrate(scene.normals, scene.mask, scene.camera, "opencv", check=False)
        if result.judged is not None:
            yield f"{kind}-{seed}", limits(result.judged, scene)


def main() -> None:
    parser = argparse.ArgumentParser(description="How far borders can place components at all.")
    parser.add_argument("--split", choices=list(scenes.SPLITS), default="tune")
    parser.add_argument("--per-kind", type=int, default=4, help="scenes of each kind (4)")
    given = parser.parse_args()
    logging.getLogger("quotientgraph").setLevel(logging.ERROR)
    found = []
    for name, of in of_scenes(given.split, given.per_kind):
        found.append(of)
        sys.stdout.write(
            f"{name:16} judged {of.judged:6.2f}  known {of.known:6.2f}  grouped {of.grouped:6.2f}  "
            f"placed {of.placed:6.2f} %, {of.n_loose} loose groups, {of.loose:.0f} % of the pixels\n"
        )
        sys.stdout.flush()
    for name in ("judged", "known", "grouped", "placed", "loose", "n_loose"):
        values = np.array([getattr(of, name) for of in found])
        sys.stdout.write(
            f"{name}: mean {values.mean():.2f} ± {values.std() / len(values) ** 0.5:.2f}, median {np.median(values):.2f}\n"
        )


if __name__ == "__main__":
    main()
