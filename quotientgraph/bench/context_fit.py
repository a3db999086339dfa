"""Fit the networks of `quotientgraph.beyond.border_context` on random scenes: ``python -m quotientgraph.bench.context_fit``.

The scenes are those of the split "tune", as they are, noisy, of 8 bits or with a smooth error; views of one's own with known
depth can be added. Every piece of a border between two components is told the truth about the places of these components:
each is where the median of its pixels truly is. The piece is right if the two then touch along it; otherwise the one or the
other of them is nearer than that. The result is written as JSON, which is what the library reads.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import QuotientGraph, scenes
from ..beyond.absorbing import absorbed
from ..beyond.border_context import Context
from ..beyond.border_cues import weight_of_sides
from ..beyond.hidden_faces import hidden_faces
from ..beyond.joining import Judgement
from ..beyond.networks import Network
from ..beyond.plugging import prepared
from ..geometry.camera import Camera
from ..graph.quotient import Quotient
from ..settings import BEST
from .degrade import degraded

_SLACK, _PART = 1.5, 0.003  # a piece is right within so many tolerances, or within this part of the potential
_CONDITIONS = ("", "noise=1", "bits=8", "bias=3")
_BATCH, _RATE, _SHRINK = 2048, 4e-3, 1e-4


@dataclass(frozen=True, eq=False)
class View:
    """The borders of one view, and the truth about them.

    Attributes
    ----------
    context : Context
    truth : (n_pieces,) int64
        0 right, 1 the left one is nearer than that, 2 the right one is.
    """

    context: Context
    truth: np.ndarray

    @classmethod
    def of(cls, judged: Judgement, depth: np.ndarray) -> View:
        """The pieces of a judged graph whose true depth (H, W) is known."""
        facts, slack = judged.facts, _SLACK * judged.tolerance
        return cls(judged.context, true_states(judged, depth, facts.left, facts.right, facts.offset, slack))


def judgement(normals: np.ndarray, mask: np.ndarray, camera: Camera, depth: np.ndarray) -> Judgement | None:
    """The borders of a view, with hidden faces as components of their own; None if it has no faces."""
    known = mask & np.isfinite(depth)
    graph = QuotientGraph.from_normals(normals, known, camera, "opencv", check=False)
    graph, shown = prepared(graph, BEST)
    if shown is None:
        return None
    whole = absorbed(graph)
    judged = Judgement.of(whole, whole.filled())
    found = judged.borders, judged.facts, judged.contact, judged.front, judged.tolerance
    faces = hidden_faces(whole, *found)
    if faces is not None:
        judged = Judgement.of(faces.divide(whole), judged.potential, faces)
    return judged


def tune_views(seeds: int, extra: list[Path]) -> Iterator[tuple[Judgement, np.ndarray]]:
    """Views that have faces, with their true depth (H, W).

    They are random scenes of the split "tune", three in four of them also worse than exact, and the given files.
    """
    for normals, mask, camera, depth in _cases(seeds, extra):
        judged = judgement(normals, mask, camera, depth)
        if judged is not None:
            yield judged, depth


def _cases(seeds: int, extra: list[Path]) -> Iterator[tuple[np.ndarray, np.ndarray, Any, np.ndarray]]:
    """Normals, mask, camera and depth."""
    for k, (kind, seed) in enumerate(scenes.cases("tune", per_kind=seeds)):
        scene = scenes.random(kind, seed)
        for condition in {"", _CONDITIONS[k % len(_CONDITIONS)]}:
            yield degraded(scene, condition, seed).normals, scene.mask, scene.camera, scene.depth
    for path in extra:
        with np.load(path) as z:
            yield z["normals"], z["mask"], z["K"], z["depth"].astype(float)


Odds = tuple[np.ndarray, np.ndarray]


def both_networks(views: list[View], hidden: int, networks: int, epochs: int) -> list[Network]:
    """The first network, and the second one, which is fitted on what the first one says about views that it never saw."""
    first = fit(views, [None] * len(views), hidden, networks, epochs)
    before: list[Odds | None] = [None] * len(views)
    for part in range(2):
        others = views[1 - part :: 2]
        unseen = fit(others, [None] * len(others), hidden, networks, epochs)
        before[part::2] = [one.context.judged_by(unseen) for one in views[part::2]]
    return [first, fit(views, before, hidden, networks, epochs)]


def fit(views: list[View], before: list[Odds | None], hidden: int, networks: int, epochs: int) -> Network:
    """One network from several fits that begin with other numbers, given the log-odds that were found before it."""
    columns: list[list[np.ndarray]] = [[], [], [], []]
    for one, odds in zip(views, before, strict=True):
        _, cues, turned = one.context.cues(odds)
        kept = one.context.facts.valid & ~one.context.unseen
        weight = weight_of_sides(one.context.facts.n)[kept]
        for column, values in zip(columns, (cues, turned, one.truth), strict=False):
            column.append(values[kept])
        columns[3].append(weight / max(weight.sum(), 1e-9))
    cues, turned, truth, weight = (np.concatenate(column) for column in columns)
    return together([descend(cues, turned, truth, weight, hidden, epochs, seed) for seed in range(networks)])


def descend(
    cues: np.ndarray, turned: np.ndarray, truth: np.ndarray, weight: np.ndarray, hidden: int, epochs: int, seed: int
) -> Network:
    """The network of least mean negative log-likelihood, by stochastic gradients with moments (Adam)."""
    weight = weight / weight.mean()
    rng = np.random.default_rng(seed)
    n = cues.shape[1]
    mean, spread = 0.5 * (cues.mean(axis=0) + turned.mean(axis=0)), np.concatenate([cues, turned]).std(axis=0) + 1e-6
    inner = np.concatenate([rng.normal(0, n**-0.5, (n, hidden)), np.zeros((1, hidden))])
    outer = np.concatenate([rng.normal(0, hidden**-0.5, (hidden, 2)), np.zeros((1, 2))])
    plain = Network(mean, spread, inner, outer)
    one = np.ones((len(cues), 1))
    x = [np.concatenate([plain.scaled(v), one], axis=1).astype(np.float32) for v in (cues, turned)]
    values = [inner.astype(np.float32), outer.astype(np.float32)]
    first, second = ([np.zeros(v.shape) for v in values] for _ in range(2))
    starts = range(0, len(truth), _BATCH)
    steps = epochs * len(starts)
    for step in range(steps):
        if step % len(starts) == 0:
            order = rng.permutation(len(truth))
        k = order[starts[step % len(starts)] :][:_BATCH]
        slopes = _slopes(values, [v[k] for v in x], truth[k], weight[k])
        rate = 0.5 * _RATE * (1 + np.cos(np.pi * step / steps))
        for i, slope in enumerate(slopes):
            first[i] = 0.9 * first[i] + 0.1 * slope
            second[i] = 0.999 * second[i] + 0.001 * slope**2
            scale = np.sqrt(second[i] / (1 - 0.999 ** (step + 1))) + 1e-8
            values[i] = (values[i] - rate * first[i] / (1 - 0.9 ** (step + 1)) / scale).astype(np.float32)
    return Network(mean, spread, *(v.astype(np.float64) for v in values))


def together(networks: list[Network]) -> Network:
    """One network whose log-odds are the mean of those of several ones that were fitted on the same cues."""
    inner = np.concatenate([one.inner for one in networks], axis=1)
    outer = np.concatenate([one.outer[:-1] for one in networks] + [sum(one.outer[-1:] for one in networks)])
    return Network(networks[0].mean, networks[0].spread, inner, outer / len(networks))


def as_text(networks: list[Network], names: list[str]) -> str:
    """JSON with four significant digits, one line for each cue."""
    parts = []
    for network in networks:
        lines = [f'"{name}": {_numbers(getattr(network, name))}' for name in ("mean", "spread")]
        for name in ("inner", "outer"):
            lines.append(f'"{name}": [\n' + ",\n".join(_numbers(row) for row in getattr(network, name)) + "\n]")
        parts.append("{\n" + ",\n".join(lines) + "\n}")
    return f'{{"cues": {json.dumps(names)},\n"networks": [' + ",\n".join(parts) + "]}\n"


def _numbers(values: np.ndarray) -> str:
    return "[" + ", ".join(f"{v:.4g}" for v in values) + "]"


def _slopes(values: list[np.ndarray], x: list[np.ndarray], truth: np.ndarray, weight: np.ndarray) -> list[np.ndarray]:
    """Gradients of the mean negative log-likelihood."""
    inner, outer = values
    hidden = [np.tanh(v @ inner) for v in x]
    one, other = (h @ outer[:-1] + outer[-1] for h in hidden)
    odds, nearer = 0.5 * (one[:, 0] + other[:, 0]), 0.5 * (one[:, 1] - other[:, 1])
    of_odds = weight * (1 / (1 + np.exp(-odds)) - (truth == 0))
    of_nearer = weight * np.where(truth == 0, 0, 1 / (1 + np.exp(-nearer)) - (truth == 1))
    of_inner, of_outer = _SHRINK * inner, _SHRINK * outer
    of_inner[-1], of_outer[-1] = 0, 0
    for sign, v, h in zip((1, -1), x, hidden, strict=True):
        of_out = 0.5 * np.column_stack([of_odds, sign * of_nearer]) / len(truth)
        of_inner += v.T @ ((of_out @ outer[:-1].T) * (1 - h * h))
        of_outer[:-1] += h.T @ of_out
        of_outer[-1] += of_out.sum(axis=0)
    return [of_inner, of_outer]


def true_states(
    judged: Judgement,
    depth: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    offset: np.ndarray,
    slack: np.ndarray | float = 0.0,
    part: float = _PART,
) -> np.ndarray:
    """Whether pairs of components, −1 outside, truly are at their offsets (n,), given the true depth (H, W).

    Returns
    -------
    (n,) int64
        0 if they are, within `slack` or within this part of the potential; 1 if the left one is nearer than that, 2 if
        the right one is.
    """
    truth = true_potential(judged.graph, depth)
    shift = np.append(medians(truth - judged.potential, judged.graph.labels), 0.0)
    span = 1.0 if judged.graph.pixels.map.camera.central else float(np.ptp(truth))
    step = shift[left] - shift[right] - offset
    right_there = np.abs(step) < np.maximum(slack, part * span)
    return np.where(right_there, 0, np.where(step < 0, 1, 2))


def true_potential(graph: Quotient, depth: np.ndarray) -> np.ndarray:
    """(n_pixels,) the potential of a true depth (H, W)."""
    return graph.pixels.map.camera.potential(depth.ravel()[graph.pixels.map.position])


def medians(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(n_labels,) the upper median of the values of each label."""
    ranked = values[np.lexsort((values, labels))]
    start = np.append(0, np.cumsum(np.bincount(labels)))
    return ranked[(start[:-1] + start[1:]) // 2]


def asked(description: str, hidden: int, epochs: int) -> argparse.Namespace:
    """What the caller of a fit wants, by default so many hidden values and epochs."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--per-kind", type=int, default=48, help="random scenes of each kind (48)")
    parser.add_argument("--hidden", type=int, default=hidden, help=f"hidden values of each fit ({hidden})")
    parser.add_argument("--networks", type=int, default=2, help="fits that are averaged (2)")
    parser.add_argument("--epochs", type=int, default=epochs, help=f"times that everything is seen ({epochs})")
    parser.add_argument("views", nargs="*", type=Path, help="NPZ files with normals, mask, depth and K")
    return parser.parse_args()


def main() -> None:
    given = asked("Fit the networks that judge borders in their context.", hidden=40, epochs=20)
    logging.getLogger("quotientgraph").setLevel(logging.ERROR)
    views = [View.of(judged, depth) for judged, depth in tune_views(given.per_kind, given.views)]
    found = both_networks(views, given.hidden, given.networks, given.epochs)
    sys.stdout.write(as_text(found, views[0].context.cues()[0]))


if __name__ == "__main__":
    main()
