"""Certainty: the probability that depth is right within 2 %, where a depth prior has placed the surfaces.

The model of the prior states an error of the place of each group, but it does not know where the model itself fails. That
shows where the prior and the placed surface disagree, at borders that looked like contacts and were torn, and where little
of the prior, or of a border, holds a component.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from .placement import Placing

PRECISE = 0.02  # relative error up to which depth is called right


@dataclass(frozen=True)
class Right:
    """Log-odds that a pixel is right per unit of each cue, fitted by `quotientgraph.bench.prior_fit`."""

    stated: float
    told: float
    apart: float
    near_apart: float
    blurred: float
    touching: float
    torn: float
    size: float
    group: float
    always: float


DENSE = Right(
    stated=-1.1868,
    told=0.3726,
    apart=-1.0564,
    near_apart=-0.4036,
    blurred=0.2477,
    touching=0.4040,
    torn=-0.2319,
    size=-0.2504,
    group=0.5043,
    always=-0.8334,
)
SPARSE = Right(
    stated=0.2329,
    told=0.6919,
    apart=-0.7398,
    near_apart=-0.6992,
    blurred=0.2659,
    touching=0.3229,
    torn=-0.3718,
    size=-0.0984,
    group=0.0493,
    always=-1.5693,
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
    stated = scipy.special.erf(PRECISE * unit / np.sqrt(2 * placing.variance))[group] * (1 - placing.doubt)
    stated = np.clip(stated, 0.01, 0.99)
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
    return {
        "stated": np.log(stated / (1 - stated))[component],
        "told": np.log1p(told * (PRECISE * unit) ** 2)[component],
        "apart": np.log1p(apart / (PRECISE * unit))[component],
        "near_apart": np.log1p(np.where(cells.weight > 0, rest, 0.0) / (PRECISE * unit)),
        "blurred": np.log1p(placing.blurred / (PRECISE * unit)),
        "touching": np.log1p(touching)[component],
        "torn": np.log1p(torn)[component],
        "size": np.log(size / size.sum())[component],
        "group": np.log(whole / size.sum())[component],
        "always": np.ones(cells.n_cells),
    }
