"""Fit the network of `quotientgraph.beyond.common_planes`: ``python -m quotientgraph.bench.plane_fit``.

The scenes are those that the networks of borders are fitted on (`quotientgraph.bench.context_fit`). Two faces with one
normal are parts of one plane if the medians of their pixels say so; otherwise the one or the other of them is nearer than
that. The result is written as JSON, which is what the library reads.
"""

from __future__ import annotations

import logging
import sys

import numpy as np

from ..beyond.common_planes import PlanePairs
from ..beyond.joining import Witnesses
from ..beyond.networks import Network
from .context_fit import as_text, asked, descend, together, true_states, tune_views

_PART = 0.006  # of the potential: parts of one plane miss it by less


def fitted(found: list[tuple[PlanePairs, np.ndarray]], hidden: int, networks: int, epochs: int) -> Network:
    """One network from several fits that begin with other numbers, given pairs of faces and the truth about them."""
    cues, turned = (np.concatenate([getattr(pairs, name) for pairs, _ in found]) for name in ("cues", "turned"))
    truth = np.concatenate([states for _, states in found])
    # A view with ten times as many pairs says little more.
    weight = np.concatenate([np.full(len(states), len(states) ** -0.5) for _, states in found])
    return together([descend(cues, turned, truth, weight, hidden, epochs, seed) for seed in range(networks)])


def main() -> None:
    given = asked("Fit the network that says which faces are parts of one plane.", hidden=12, epochs=60)
    logging.getLogger("quotientgraph").setLevel(logging.ERROR)
    found = []
    for judged, depth in tune_views(given.per_kind, given.views):
        pairs = PlanePairs.of(judged, Witnesses.from_pieces(judged))
        if len(pairs.left):
            found.append((pairs, true_states(judged, depth, pairs.left, pairs.right, pairs.offset, part=_PART)))
    network = fitted(found, given.hidden, given.networks, given.epochs)
    sys.stdout.write(as_text([network], found[0][0].names))


if __name__ == "__main__":
    main()
