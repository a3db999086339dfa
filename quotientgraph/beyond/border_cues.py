"""What can be seen at a border: whether its two surfaces touch there, and if not, which of them is in front.

Every piece of a border (`quotientgraph.beyond.border_pieces`) is judged by what its shape and the normals beside it say:

- *Drift.* Two surfaces that touch do so along a crease, whose direction their normals predict. Along a true crease all sides
  of the piece ask for one offset between the two components; elsewhere the offset that they ask for drifts.
- *Lean.* A surface whose normal leans out over the border can hide what lies behind it. If both normals lean away from the
  border, it is a ridge of which both sides are seen, and they touch.
- *Limb.* A surface that turns away from the viewer at the border ends there, in front of the other one.
- Size, enclosure, the angle between the normals and the width of the interval of jumps.

A logistic model turns these into log-odds. Junctions then carry them from piece to piece
(`quotientgraph.beyond.border_junctions`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..graph.quotient import Quotient
from .border_facts import PieceFacts


@dataclass(frozen=True)
class _Contact:
    """Log-odds of contact per unit of each cue, fitted on 72 random scenes of the division "tune" and three real views."""

    drift: float = -0.1525
    drift_squared: float = -1.1221
    length: float = 0.3784
    wide: float = -0.4628
    narrow: float = 1.1556
    ridge: float = 2.9785
    one_leans_in: float = 1.0742
    leans_out: float = -1.2882
    leans_far_out: float = -5.1066
    both_lean_out: float = 0.9778
    valley: float = 1.2277
    limb: float = -1.6925
    smooth: float = 4.6227
    blunt: float = 0.2637
    scatter: float = -0.2532
    small: float = 0.4647
    short: float = -0.4295
    always: float = -1.3353


@dataclass(frozen=True)
class _Front:
    """Log-odds that the left side is in front, fitted on the same scenes as `_Contact`."""

    lean: float = 3.0297
    limb: float = -0.3603
    size: float = 1.0881
    enclosed: float = -0.6224


_CONTACT, _FRONT = _Contact(), _Front()

# Sides of a piece that count once: n sides count (n/10)^0.7 times, but never more than six times. Chosen on "tune".
_UNIT, _POWER, _MOST_WEIGHT = 10.0, 0.7, 6.0


def weight_of_sides(n: np.ndarray) -> np.ndarray:
    """How much a piece of n sides counts."""
    return np.minimum((n / _UNIT) ** _POWER, _MOST_WEIGHT)


def log_odds(graph: Quotient, facts: PieceFacts) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds of contact, and log-odds that the left side is in front if there is none, for each piece."""
    contact = sum(getattr(_CONTACT, name) * cue for name, cue in contact_cues(graph, facts).items())
    front = sum(getattr(_FRONT, name) * cue for name, cue in front_cues(graph, facts).items())
    return np.asarray(contact), np.asarray(front)


def contact_cues(graph: Quotient, facts: PieceFacts) -> dict[str, np.ndarray]:
    """(n_pieces,) cues of contact, by the names of the fields of `_Contact`."""
    left, right = _sizes(graph, facts)
    most, least = np.maximum(facts.lean_left, facts.lean_right), np.minimum(facts.lean_left, facts.lean_right)
    width = facts.width + 0.05
    drift = np.abs(facts.drift) / width
    return {
        "drift": np.log(drift + 0.05),
        "drift_squared": np.log1p(np.minimum(drift, 30) ** 2),
        "length": np.log(np.minimum(facts.length, 80)),
        "wide": np.maximum(np.log(width / 4), 0),
        "narrow": np.minimum(np.log(width), 0),
        "ridge": (most < -3).astype(np.float64),
        "one_leans_in": np.clip(-least, 0, 40) / 40 * (most > 1e-6),
        "leans_out": np.clip(most, 0, 40) / 40,
        "leans_far_out": np.clip(most - 40, 0, 50) / 50,
        "both_lean_out": np.clip(least, 0, 40) / 40,
        "valley": np.clip(most + least, -90, 90) / 90,
        "limb": np.minimum(*_limbs(facts)),
        "smooth": np.clip(25 - facts.angle, 0, 15) / 15,
        "blunt": np.clip(70 - np.maximum(facts.angle, 25), 0, 45) / 45 * (facts.angle > 20),
        "scatter": np.log(facts.scatter / width + 0.02),
        "small": np.log(np.minimum(left, right)) / 5,
        "short": (facts.n < 4).astype(np.float64),
        "always": np.ones(len(facts.n)),
    }


def front_cues(graph: Quotient, facts: PieceFacts) -> dict[str, np.ndarray]:
    """(n_pieces,) cues that the left is in front, by the names of the fields of `_Front`."""
    left, right = _sizes(graph, facts)
    limb_left, limb_right = _limbs(facts)
    return {
        "lean": np.clip(np.radians(facts.lean_left - facts.lean_right), -1.2, 1.2),
        "limb": limb_right - limb_left,
        "size": np.clip(np.log(right / left), -6, 6) / 3,
        "enclosed": _enclosed(graph.n_components, facts),
    }


def _sizes(graph: Quotient, facts: PieceFacts) -> tuple[np.ndarray, np.ndarray]:
    """Pixels of the components on the left and on the right; 1 outside."""
    size = np.append(graph.sizes, 1).astype(np.float64)
    return size[facts.left], size[facts.right]


def _limbs(facts: PieceFacts) -> tuple[np.ndarray, np.ndarray]:
    """Logarithm of how much each side faces the viewer."""
    left, right = (np.log(np.clip(facing, 0.02, 1)) for facing in (facts.facing_left, facts.facing_right))
    return left, right


def _enclosed(n: int, facts: PieceFacts) -> np.ndarray:
    """The part of the left component's outline that borders on the right one, minus the same of the right one."""
    outline = np.bincount(facts.left + 1, facts.n, n + 1) + np.bincount(facts.right + 1, facts.n, n + 1)
    shared = facts.of_pairs(facts.n)
    return shared / np.maximum(outline[facts.left + 1], 1) - shared / np.maximum(outline[facts.right + 1], 1)
