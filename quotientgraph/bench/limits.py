"""How far borders can place components at all: ``python -m quotientgraph.bench.limits --split tune`` or ``… SOURCE …``.

Four arrangements of the same components are compared, in random scenes or in cases named as for `quotientgraph bench`: as
borders are judged; as they would be if the state of every border and likely common plane were known; the same with the
groups that touch nothing in view at their true places; and with every component at its true place. The second is what no
judgement of borders can surpass. It differs from the third by groups whose distance from the rest the normals leave open:
moved along their rays, they show the same normals, and hide the same.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from .. import scenes
from ..beyond.joining import Judgement, join
from ..graph.selection import connected_components
from ..integration import integrate
from ..metrics import relative_error
from ..result import Reconstruction
from .cases import RANDOM, Case, find
from .context_fit import medians, true_potential, true_states

_ABOUT = "How far borders can place components at all."
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


def limits(judged: Judgement, truth: np.ndarray) -> Limits:
    """Compare arrangements of components, whose borders were judged before they were joined, with the true depth (H, W)."""
    graph, normal_map = judged.graph, judged.graph.pixels.map
    n, size, camera = graph.n_components, graph.sizes, normal_map.camera
    told = judged.witnesses
    state, right, group = contact_groups(judged, truth)
    sure = -np.log1p(2 * np.exp(-_SURE))
    touch, left_front, right_front = (np.where(state == k, sure, sure - _SURE) for k in range(3))
    known = join(n, replace(told, touch=touch, left_front=left_front, right_front=right_front), size)
    pixels = np.bincount(group, size)
    # Groups are as contacts place their components, and stand where they truly do.
    grouped = known + medians((right - known)[graph.labels], group[graph.labels])[group]
    others = np.arange(len(pixels)) != pixels.argmax()

    def off_by(shift: np.ndarray) -> float:
        depth = normal_map.image(camera.depth(judged.potential + shift[graph.labels]))
        return 100 * relative_error(depth, truth, offset=not camera.central)

    return Limits(
        off_by(join(n, told, size)),
        off_by(known),
        off_by(grouped),
        off_by(right),
        100 * float(pixels[others].sum() / pixels.sum()),
        int((others & (pixels >= _LARGE * pixels.sum())).sum()),
    )


def contact_groups(judged: Judgement, depth: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which components true contacts in view tie together, as far as components are right inside.

    Parameters
    ----------
    judged : Judgement
    depth : (H, W) float64
        The truth.

    Returns
    -------
    (n_witnesses,) int64
        The true state of each witness: 0 touching, 1 the left one nearer, 2 the right one nearer; see `true_states`.
    (n_components,) float64
        True shifts.
    (n_components,) int32
        Numbers of the groups.
    """
    graph, told = judged.graph, judged.witnesses
    right = medians(true_potential(graph, depth) - judged.potential, graph.labels)
    state = true_states(judged, depth, told.left, told.right, told.offset, told.tolerance)
    tied = state == 0
    return state, right, connected_components(graph.n_components, told.left[tied], told.right[tied])


def asked(parser: argparse.ArgumentParser) -> tuple[list[Case], argparse.Namespace]:
    """The cases that the caller names, by sources or by a split of random scenes, and what else was given."""
    parser.add_argument("--split", choices=list(scenes.SPLITS), help="random scenes of this split")
    parser.add_argument("--per-kind", type=int, default=4, help="so many of each kind (4)")
    parser.add_argument("sources", nargs="*", help="cases with known depth, named as for `quotientgraph bench`")
    given = parser.parse_args()
    logging.getLogger("quotientgraph").setLevel(logging.ERROR)
    drawn = scenes.cases(given.split, per_kind=given.per_kind) if given.split else ()
    return find([*given.sources, *(f"{RANDOM}{kind}?seed={seed}" for kind, seed in drawn)]), given


def integrated(cases: Iterable[Case]) -> Iterator[tuple[str, Reconstruction, np.ndarray]]:
    """Names, reconstructions and true depths (H, W) of cases whose depth is known, where it is."""
    for case in cases:
        maps = case.maps
        if maps.truth is not None:
            known = np.isfinite(maps.truth) & (True if maps.mask is None else maps.mask)
            yield case.name, integrate(maps.normals, known, maps.camera, maps.frame, check=False), maps.truth
        case.forget()


def main() -> None:
    found = []
    for name, result, truth in integrated(asked(argparse.ArgumentParser(description=_ABOUT))[0]):
        if result.judged is None:
            continue
        of = limits(result.judged, truth)
        found.append(of)
        sys.stdout.write(
            f"{name:28} judged {of.judged:6.2f}  known {of.known:6.2f}  grouped {of.grouped:6.2f}  "
            f"placed {of.placed:6.2f} %, {of.n_loose} loose groups, {of.loose:.0f} % of the pixels\n"
        )
        sys.stdout.flush()
    for name in ("judged", "known", "grouped", "placed", "loose", "n_loose") if found else ():
        values = np.array([getattr(of, name) for of in found])
        sys.stdout.write(
            f"{name}: mean {values.mean():.2f} ± {values.std() / len(values) ** 0.5:.2f}, median {np.median(values):.2f}\n"
        )


if __name__ == "__main__":
    main()
