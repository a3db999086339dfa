"""Fit and check the certainty of random scenes: ``python -m quotientgraph.bench.certainty_fit``.

By default the model of `quotientgraph.beyond.certainty` is fitted on scenes of the split "tune", some of them noisy or of 8
bits. With ``--check SPLIT`` the confidence of results is compared with the truth instead: the area under the curve for
"off by more than 2 %", and how often that happens at each confidence.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from .. import Orthographic, scenes
from ..beyond.certainty import certainty_cues
from ..integration import integrate
from ..metrics import aligned
from ..result import Reconstruction
from ..scenes import Scene
from .border_fit import logistic
from .degrade import degraded

_OFF = 0.02  # relative error of depth, for parallel rays relative to its range, from which on a pixel is wrong
_EVERY = 23  # pixels, of which one is looked at
_BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)


def results(split: str, per_kind: int, degrade: bool) -> Iterator[tuple[Reconstruction, Scene]]:
    """Results of random scenes, with what they show."""
    for i, (kind, seed) in enumerate(scenes.cases(split, per_kind=per_kind)):
        scene = scenes.random(kind, seed)
        turn = (i + i // len(scenes.KINDS)) % 3  # so that each kind has its turn
        for condition in ("", *(("noise=1",), ("bits=8",), ())[turn]) if degrade else ("",):
            normals = degraded(scene, condition, seed).normals
            yield integrate(normals, scene.mask, scene.camera, "opencv", check=False), scene


def wrong(result: Reconstruction, scene: Scene) -> np.ndarray:
    """(n_pixels,) bool: pixels that are off by more than 2 %."""
    offset = isinstance(scene.camera, Orthographic)
    error = np.abs(aligned(result.depth, scene.depth, offset) - scene.depth)
    error /= np.nanmax(scene.depth) - np.nanmin(scene.depth) if offset else scene.depth
    return error.ravel()[result.graph.pixels.map.position] > _OFF


def fit(per_kind: int) -> dict[str, float]:
    """The constants of the model, by name."""
    cues, right = [], []
    for result, scene in results("tune", per_kind, degrade=True):
        if result.judged is None:
            continue
        found = certainty_cues(result.judged.at(result.potential), result.settled)
        cues.append(np.column_stack(list(found.values()))[::_EVERY])
        right.append(~wrong(result, scene)[::_EVERY])
    x, y = np.concatenate(cues), np.concatenate(right).astype(float)
    return dict(zip(found, logistic(x, y, np.ones(len(y))), strict=True))


def check(split: str, per_kind: int) -> str:
    """Area under the curve, for pinhole and fisheye cameras and for all, and the table of reliability."""
    sure, off, central = [], [], []
    for result, scene in results(split, per_kind, degrade=False):
        place = result.graph.pixels.map.position[::_EVERY]
        sure.append(result.confidence.ravel()[place])
        off.append(wrong(result, scene)[::_EVERY])
        central.append(np.full(len(place), not isinstance(scene.camera, Orthographic)))
    c, b, known = np.concatenate(sure), np.concatenate(off), np.concatenate(central)
    lines = [f"area under the curve {area(c[known], b[known]):.3f}, with orthographic cameras {area(c, b):.3f}"]
    for low, high in pairwise(_BINS):
        of = known & (c >= low) & (c < high if high < 1 else c <= 1)
        if of.any():
            lines.append(
                f"confidence {low:.2f} to {high:.2f} (mean {c[of].mean():.2f}): {of.sum() / known.sum():.1%} of the pixels, "
                f"{b[of].mean():.1%} off by more than 2 %"
            )
    return "\n".join(lines)


def area(sure: np.ndarray, off: np.ndarray) -> float:
    """The probability that a pixel that is off has less confidence than one that is not; ties count half."""
    _, rank, count = np.unique(sure, return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - 0.5 * (count - 1)
    n_off, n_right = off.sum(), (~off).sum()
    return float(1 - (middle[rank][off].sum() - n_off * (n_off + 1) / 2) / (n_off * n_right))


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit and check the certainty of random scenes.")
    parser.add_argument("--per-kind", type=int, default=12, help="scenes of each kind (12)")
    parser.add_argument("--check", metavar="SPLIT", choices=list(scenes.SPLITS), help="check the confidence on a split")
    given = parser.parse_args()
    logging.getLogger("quotientgraph").setLevel(logging.ERROR)
    if given.check:
        sys.stdout.write(check(given.check, given.per_kind) + "\n")
    else:
        for name, value in fit(given.per_kind).items():
            sys.stdout.write(f"{name} {value:.4f}\n")


if __name__ == "__main__":
    main()
