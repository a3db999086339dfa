"""Certainty: the probability that depth is right within 2 %, where a depth prior has placed the surfaces.

The errors of places that the model of the prior states do not tell where the model itself fails. That shows where the prior
and the placed surface disagree, here or everywhere, at borders that looked like contacts and were torn, in components that
the prior has moved far from where normals put them, and where little of the prior, or of a border, holds a component.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .cells import medians
from .placement import Placing

PRECISE = 0.02  # relative error up to which depth is called right


@dataclass(frozen=True)
class Right:
    """Log-odds that a pixel is right per unit of each cue, fitted by `quotientgraph.bench.prior_fit`."""

    told: float
    apart: float
    near_apart: float
    blurred: float
    touching: float
    torn: float
    size: float
    group: float
    level: float
    away: float
    always: float


DENSE = Right(
    told=0.3748,
    apart=-0.8542,
    near_apart=-0.1920,
    blurred=-0.6769,
    touching=0.3207,
    torn=-0.4869,
    size=-0.0993,
    group=0.2826,
    level=-0.7505,
    away=-0.0228,
    always=-1.7663,
)
SPARSE = Right(
    told=0.4241,
    apart=-0.6017,
    near_apart=-0.6646,
    blurred=0.0000,
    touching=0.1262,
    torn=-0.4427,
    size=0.1979,
    group=0.1540,
    level=-0.5444,
    away=-0.0467,
    always=2.3883,
)


def certainty(placing: Placing) -> np.ndarray:
    """(n_pixels,) probability that the depth is right within 2 %, for parallel rays within 2 % of its range."""
    right = SPARSE if placing.cells.sparse else DENSE
    odds = sum(getattr(right, name) * cue for name, cue in certainty_cues(placing).items())
    return 1 / (1 + np.exp(-np.asarray(odds)))[placing.cells.of]


def certainty_cues(placing: Placing) -> dict[str, np.ndarray]:
    """(n_cells,) cues, by the names of the fields of `Right`."""
    cells, cut, ties, unit, n = placing.cells, placing.cut, placing.ties, placing.unit, placing.graph.n_components
    component, group = cells.component, placing.group
    rest = np.abs(cells.offset - placing.shift[component] - placing.basis @ placing.coefficients)
    told = np.bincount(component, placing.base, n)
    apart = np.bincount(component, placing.base * rest, n) / np.maximum(told, 1e-300)
    fits = cut.gaps(placing.shift) < placing.constants.fit

    def of_component(one: np.ndarray, other: np.ndarray, values: np.ndarray) -> np.ndarray:
        return np.bincount(one, values, n) + np.bincount(other, values, n)

    touching = of_component(cut.one, cut.other, cut.length * fits)
    broken = np.abs(placing.shift[ties.one] - placing.shift[ties.other] - ties.step) > 0.5 * PRECISE * unit
    torn = of_component(ties.one, ties.other, ties.strength * broken)
    size = placing.graph.sizes
    whole = np.bincount(group, size)[group]
    # How far the prior is from the placed surfaces everywhere, and how far it moved each component from the others.
    level = np.average(rest, weights=cells.weight)
    move = placing.shift - placing.start
    middle = medians(np.zeros(n, dtype=np.int64), move, size.astype(np.float64), 1)[0]
    return {
        "told": np.log1p(told * (PRECISE * unit) ** 2)[component],
        "apart": np.log1p(apart / (PRECISE * unit))[component],
        "near_apart": np.log1p(np.where(cells.weight > 0, rest, 0.0) / (PRECISE * unit)),
        "blurred": np.log1p(placing.blurred / (PRECISE * unit)),
        "touching": np.log1p(touching)[component],
        "torn": np.log1p(torn)[component],
        "size": np.log(size / size.sum())[component],
        "group": np.log(whole / size.sum())[component],
        "level": np.full(cells.n_cells, np.log(level / (PRECISE * unit) + 1e-3)),
        "away": np.log1p(np.abs(move - middle) / (PRECISE * unit))[component],
        "always": np.ones(cells.n_cells),
    }
