"""Fit the constants of border cues on random scenes: ``python -m quotientgraph.bench.border_fit``.

The scenes are those of the split "tune" (`quotientgraph.scenes.cases`); views of one's own with known depth can be added.
The output is what the dataclasses in `quotientgraph.beyond.border_cues` and `border_junctions` hold.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import QuotientGraph, scenes
from ..beyond.absorbing import absorbed
from ..beyond.border_cues import contact_cues, front_cues
from ..beyond.border_facts import PieceFacts
from ..beyond.border_junctions import (
    following,
    junctions,
    log_probabilities,
    order_table,
    propagate,
    without_owner,
)
from ..beyond.border_pieces import BorderPieces
from ..geometry.camera import Camera, as_camera
from ..geometry.jumps import interval
from ..geometry.normals import NormalMap
from .degrade import degraded

_TORN = 0.1  # pixels by which true depth must miss the interval of jumps for a side to count as torn
_DAMPED = 0.7  # junctions share pieces, so their factors count for less than they would alone


@dataclass
class View:
    """Cues and truth of the pieces of one view; `state` is 0 contact, 1 left in front, 2 right in front, −1 unknown."""

    contact: np.ndarray
    front: np.ndarray
    state: np.ndarray
    weight: np.ndarray
    meeting: tuple[np.ndarray, np.ndarray, np.ndarray]
    following: tuple[np.ndarray, np.ndarray]


def view(normals: np.ndarray, clean: np.ndarray, mask: np.ndarray, camera: Camera, depth: np.ndarray) -> View:
    """The pieces of a view with normals as given, judged by its clean normals and its true depth."""
    known = mask & np.isfinite(depth) & np.isfinite(clean).all(axis=-1)
    camera = as_camera(camera)
    graph = absorbed(QuotientGraph.from_normals(normals, known, camera, "opencv", check=False))
    borders = BorderPieces.from_graph(graph)
    facts = PieceFacts.measure(graph, graph.filled(), borders)
    truth = NormalMap.from_array(clean, graph.pixels.map.index >= 0, camera, "opencv")
    inside = np.flatnonzero((borders.left >= 0) & (borders.right >= 0))
    a, b = borders.left[inside], borders.right[inside]
    potential = truth.camera.potential(depth.ravel()[graph.pixels.map.position])
    low, high = interval(truth, a, b)
    step = potential[a] - potential[b]
    gap = (np.maximum(step - high, 0) + np.minimum(step - low, 0)) * np.broadcast_to(truth.focal, len(potential))[a]
    piece, n = borders.piece[inside], np.maximum(np.bincount(borders.piece[inside], minlength=borders.n_pieces), 1)
    torn = np.bincount(piece, np.abs(gap) > _TORN, borders.n_pieces) / n
    behind = np.bincount(piece, np.sign(gap) * (np.abs(gap) > _TORN), borders.n_pieces)
    state = np.where(torn < 0.35, 0, np.where(torn > 0.65, np.where(behind < 0, 1, 2), -1))
    state[~facts.valid] = -1
    weight = np.minimum(facts.n, 40)
    return View(
        np.column_stack(list(contact_cues(graph, facts).values())),
        np.column_stack(list(front_cues(graph, facts).values())),
        state,
        weight / max(weight[state >= 0].sum(), 1) * 1000,
        junctions(borders, facts),
        following(borders, facts),
    )


def logistic(cues: np.ndarray, truth: np.ndarray, weight: np.ndarray, shrink: float = 1.0) -> np.ndarray:
    """Coefficients of the logistic model of largest likelihood, by Newton's method, each cue scaled to unit spread."""
    spread = cues.std(axis=0)
    scale = np.where(spread > 1e-9, spread, 1.0)
    x, found = cues / scale, np.zeros(cues.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(x @ found, -30, 30)))
        gradient = x.T @ (weight * (truth - p)) - shrink * found
        step = np.linalg.solve((x * (weight * p * (1 - p))[:, None]).T @ x + shrink * np.eye(len(found)), gradient)
        found += step
        if np.abs(step).max() < 1e-8:
            break
    return found / scale


def factors(views: list[View], contact: np.ndarray, front: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log-factors of orders at junctions and of neighbours in chains: how often they are, over what pieces predict."""
    table = order_table()
    seen, expected = np.full((2, 3, 9), 2.0)
    beside, by_chance = np.full((2, 3, 3, 3), 2.0)
    for one in views:
        p = np.exp(log_probabilities(one.contact @ contact, one.front @ front)).T
        pieces, sign, geometry = one.meeting
        sure = (one.state[pieces] >= 0).all(axis=1)
        pieces, sign, geometry = pieces[sure], sign[sure], geometry[sure]
        state = np.where((sign < 0) & (one.state[pieces] > 0), 3 - one.state[pieces], one.state[pieces])
        np.add.at(seen, (geometry, table[state[:, 0], state[:, 1], state[:, 2]]), 1.0)
        q = np.where((sign < 0)[..., None], p[pieces][..., [0, 2, 1]], p[pieces])
        for a, b, c in np.ndindex(3, 3, 3):
            np.add.at(
                expected, (geometry, np.full(len(geometry), table[a, b, c])), q[:, 0, a] * q[:, 1, b] * q[:, 2, c]
            )
        follow, turn = one.following
        sure = (one.state[follow] >= 0).all(axis=1)
        follow, turn = follow[sure], turn[sure]
        np.add.at(beside, (turn, one.state[follow[:, 0]], one.state[follow[:, 1]]), 1.0)
        for a, b in np.ndindex(3, 3):
            np.add.at(
                by_chance, (turn, np.full(len(turn), a), np.full(len(turn), b)), p[follow[:, 0], a] * p[follow[:, 1], b]
            )
    beside, by_chance = _symmetric(beside), _symmetric(by_chance)
    return without_owner(_DAMPED * np.log(seen / expected)), _DAMPED * np.log(beside / by_chance)


def fit(views: list[View]) -> dict[str, np.ndarray]:
    """All constants, by name."""
    state = np.concatenate([one.state for one in views])
    weight = np.concatenate([one.weight for one in views])
    cues, fronts = np.concatenate([one.contact for one in views]), np.concatenate([one.front for one in views])
    known, torn = state >= 0, state > 0
    contact = logistic(cues[known], (state[known] == 0).astype(float), weight[known])
    both = np.concatenate([fronts[torn], -fronts[torn]])
    left = (state[torn] == 1).astype(float)
    front = logistic(both, np.concatenate([left, 1 - left]), np.tile(weight[torn], 2))
    orders, neighbours = factors(views, contact, front)
    after = [
        propagate(log_probabilities(v.contact @ contact, v.front @ front), v.meeting, v.following, orders, neighbours)
        for v in views
    ]
    told, side = (np.concatenate([a[k] for a in after]) for k in range(2))
    ones = np.column_stack([told, np.ones(len(told))])
    scale, shift = logistic(ones[known], (state[known] == 0).astype(float), weight[known], 1e-3)
    front_scale = logistic(side[torn][:, None], left, weight[torn], 1e-3)[0]
    return {
        "contact": contact,
        "front": front,
        "orders": orders,
        "neighbours": neighbours,
        "calibration": np.array([scale, shift, front_scale]),
    }


def tune_views(per_kind: int, extra: list[Path]) -> Iterator[View]:
    """Views of random scenes of the split "tune", some of them noisy or of 8 bits, and of the given files."""
    for i, (kind, seed) in enumerate(scenes.cases("tune", per_kind=per_kind)):
        s = scenes.random(kind, seed)
        for condition in ("", *(("noise=1",) if i % 3 == 0 else ("bits=8",) if i % 3 == 1 else ())):
            yield view(degraded(s, condition, seed).normals, s.normals, s.mask, s.camera, s.depth)
    for path in extra:
        with np.load(path) as z:
            found = view(z["normals"], z["normals"], z["mask"], z["K"], z["depth"].astype(float))
        yield from (found,) * 3  # real views are few and count more


def _symmetric(table: np.ndarray) -> np.ndarray:
    """Counts over a chain walked either way, and mirrored."""
    table = 0.5 * (table + table.transpose(0, 2, 1))
    return 0.5 * (table + table[[0, 2, 1]][:, [0, 2, 1]][:, :, [0, 2, 1]])


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit the constants of border cues on random scenes.")
    parser.add_argument("--per-kind", type=int, default=6, help="random scenes of each kind")
    parser.add_argument("views", nargs="*", type=Path, help="NPZ files with normals, mask, depth and K")
    given = parser.parse_args()
    for name, value in fit(list(tune_views(given.per_kind, given.views))).items():
        text = np.array2string(value, precision=4, separator=", ", suppress_small=True, max_line_width=120)
        sys.stdout.write(f"{name} {text}\n")


if __name__ == "__main__":
    main()
