"""Fit and check the probability of alternatives on random scenes: ``python -m quotientgraph.bench.alternatives_fit``.

Every alternative of every result is taken, and is right if the depth error falls by it. The log-odds of that are fitted as a
straight line in asinh(worse / scale), which is what `quotientgraph.beyond.alternatives` holds as `level` and `slope`. The
table compares the probabilities that results state with how often they came true.
"""

from __future__ import annotations

import argparse
import logging
import sys
from itertools import pairwise

import numpy as np

from .. import scenes
from ..beyond.alternatives import SCALE
from .border_fit import logistic
from .certainty_fit import results
from .settling_gain import error

_BINS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)


def trials(split: str, per_kind: int) -> np.ndarray:
    """(n, 3) of every alternative: how much worse it explains the borders, its probability, and 1 if it was better."""
    found = []
    for result, scene in results(split, per_kind, degrade=split == "tune"):
        before = error(result, scene)
        for one in result.alternatives:
            found.append((one.worse, one.probability, float(error(result.take(one), scene) < before)))
    return np.array(found).reshape(-1, 3)


def table(found: np.ndarray) -> str:
    """How often alternatives came true, by the probability that was stated."""
    lines = [f"{len(found)} alternatives, stated {found[:, 1].mean():.2f}, true {found[:, 2].mean():.2f}"]
    for low, high in pairwise(_BINS):
        of = (found[:, 1] >= low) & (found[:, 1] < high)
        if of.any():
            stated, true = found[of, 1].mean(), found[of, 2].mean()
            lines.append(f"{low:.2f} to {high:.2f}: {of.sum()} alternatives, stated {stated:.2f}, true {true:.2f}")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit and check the probability of alternatives on random scenes.")
    parser.add_argument("--per-kind", type=int, default=6, help="scenes of each kind (6)")
    parser.add_argument(
        "--check", metavar="SPLIT", choices=list(scenes.SPLITS), help="check the probability on a split"
    )
    given = parser.parse_args()
    logging.getLogger("quotientgraph").setLevel(logging.ERROR)
    found = trials(given.check or "tune", given.per_kind)
    sys.stdout.write(table(found))
    if not given.check:
        cues = np.column_stack([np.ones(len(found)), -np.arcsinh(found[:, 0] / SCALE)])
        level, slope = logistic(cues, found[:, 2], np.ones(len(found)))
        sys.stdout.write(f"level {level:.2f}\nslope {slope:.2f}\n")


if __name__ == "__main__":
    main()
