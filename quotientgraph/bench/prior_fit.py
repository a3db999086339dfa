"""Fit and check what is known of errors with depth priors: ``python -m quotientgraph.bench.prior_fit``.

By default the model of `quotientgraph.beyond.prior.certainty` is fitted on random scenes of the split "tune", with priors of
all makes. With ``--check SPLIT`` results are compared with the truth instead, make by make: errors of normals alone and of
both, how often both are worse than normals alone by more than 5 %, and how confidence ranks what is off by more than 2 %.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from .. import Orthographic, QuotientGraph, scenes
from ..beyond.plugging import hooks_for, prepared
from ..beyond.prior import Prior
from ..beyond.prior.certainty import certainty_cues
from ..beyond.prior.placement import Placing
from ..method.optimize import optimize
from ..metrics import relative_error
from ..result import Reconstruction
from ..scenes import Scene
from ..settings import Settings
from .border_fit import logistic
from .certainty_fit import area, wrong
from .coarse_depths import MAKES, coarse_depth

_EVERY = 23  # pixels, of which one is looked at
_BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)


@dataclass(frozen=True, eq=False)
class _Recorded(Prior):
    """A prior that keeps how it placed the surfaces."""

    placings: list[Placing] = field(default_factory=list)

    def placed(self, *found: Any) -> Placing:
        self.placings.append(super().placed(*found))
        return self.placings[-1]


def drawn(split: str, per_kind: int) -> Iterator[tuple[QuotientGraph, Scene]]:
    """Random scenes and their graphs."""
    for kind, seed in scenes.cases(split, per_kind=per_kind):
        scene = scenes.random(kind, seed)
        yield QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", check=False), scene


def fit(per_kind: int) -> dict[str, dict[str, float]]:
    """The constants of the model, by name, for dense and for sparse priors."""
    cues: dict[str, list[np.ndarray]] = {"dense": [], "sparse": []}
    right: dict[str, list[np.ndarray]] = {"dense": [], "sparse": []}
    settings = Settings.from_preset("best")
    for i, (given, scene) in enumerate(drawn("tune", per_kind)):
        graph, faces = prepared(given, settings)
        for make in MAKES:
            known = Prior.from_depth(graph, coarse_depth(scene, make, seed=i))
            assert known is not None
            prior = _Recorded(**vars(known))
            hooks = hooks_for(graph, settings, faces, None, prior)
            result = Reconstruction.from_outcome(optimize(graph, settings, hooks))
            placing = prior.placings[-1]
            found, cell = certainty_cues(placing), placing.cells.of[::_EVERY]
            kind = "sparse" if placing.cells.sparse else "dense"
            cues[kind].append(np.column_stack(list(found.values()))[cell])
            right[kind].append(~wrong(result, scene)[::_EVERY])
    constants = {}
    for kind, x in cues.items():
        y = np.concatenate(right[kind]).astype(float)
        constants[kind] = dict(zip(found, logistic(np.concatenate(x), y, np.ones(len(y))), strict=True))
    return constants


def check(split: str, per_kind: int) -> str:
    """A line for each make, and the table of reliability over all of them."""
    alone: list[float] = []
    errors: dict[str, list[float]] = {make: [] for make in MAKES}
    sure: dict[str, list[np.ndarray]] = {make: [] for make in MAKES}
    off: dict[str, list[np.ndarray]] = {make: [] for make in MAKES}
    for graph, scene in drawn(split, per_kind):
        offset = isinstance(scene.camera, Orthographic)
        alone.append(relative_error(graph.optimize().depth, scene.depth, offset))
        for make in MAKES:
            result = graph.optimize(prior=coarse_depth(scene, make))
            errors[make].append(relative_error(result.depth, scene.depth, offset))
            sure[make].append(result.confidence.ravel()[graph.pixels.map.position][::_EVERY])
            off[make].append(wrong(result, scene)[::_EVERY])
    lines = []
    for make in MAKES:
        both, c, b = np.array(errors[make]), np.concatenate(sure[make]), np.concatenate(off[make])
        lines.append(
            f"{make}: normals alone {np.mean(alone):.2%}, both {both.mean():.2%} (median {np.median(both):.2%}), worse than "
            f"normals alone in {np.mean(both > 1.05 * np.array(alone)):.0%}, area under the curve {area(c, b):.3f}"
        )
    c, b = (np.concatenate([np.concatenate(of[make]) for make in MAKES]) for of in (sure, off))
    for low, high in pairwise(_BINS):
        of = (c >= low) & (c < high if high < 1 else c <= 1)
        if of.any():
            lines.append(
                f"confidence {low:.2f} to {high:.2f} (mean {c[of].mean():.2f}): {of.mean():.1%} of the pixels, "
                f"{b[of].mean():.1%} off by more than 2 %"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit and check what is known of errors with depth priors.")
    parser.add_argument("--per-kind", type=int, default=4, help="scenes of each kind (4)")
    parser.add_argument("--check", metavar="SPLIT", choices=list(scenes.SPLITS), help="check results on a split")
    given = parser.parse_args()
    logging.getLogger("quotientgraph").setLevel(logging.ERROR)
    if given.check:
        sys.stdout.write(check(given.check, given.per_kind) + "\n")
        return
    for kind, constants in fit(given.per_kind).items():
        for name, value in constants.items():
            sys.stdout.write(f"{kind} {name} {value:.4f}\n")


if __name__ == "__main__":
    main()
