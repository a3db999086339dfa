"""What a first integration needs compiled, used on small inputs, so that a second process can compile it meanwhile.

`laplacians.core.companion` runs `main` in a process of its own. The process that integrates compiles what it needs from the
first stage on. Here the order is the opposite, the last stages first, so that the two meet in the middle and neither waits
for the other before that. Factorisation is the exception: it needs no graph of pixels, whose kernels the other process
compiles at the beginning.
"""

from __future__ import annotations

import numpy as np

import laplacians

from .beyond.certainty import nearby
from .beyond.creases import with_creases
from .beyond.face_fragments import settle_fragments
from .beyond.face_planes import mark_inside
from .beyond.joining import Witnesses, join, joined
from .integration import integrate
from .method.cutedges import CutEdges
from .method.weights import Outliers, pair_terms_by_kernel
from .quotient_graph import QuotientGraph

_SHAPE = 140, 160  # large enough for kernels instead of array expressions, and for two levels of multigrid


def main() -> None:
    """Use the kernels of an integration with default settings: factorisation, scales, joining, filling, merging."""
    random = np.random.default_rng(0)
    node = np.arange(_SHAPE[0] * _SHAPE[1]).reshape(_SHAPE)
    tail = np.concatenate([node[:, :-1].ravel(), node[:-1].ravel()])
    head = np.concatenate([node[:, 1:].ravel(), node[1:].ravel()])
    weight = random.random(len(tail))
    laplacians.get("direct").solve(laplacians.LaplacianSystem.from_edges(node.size, tail, head, weight, weight))
    tilt = random.normal(size=(*_SHAPE, 2))
    rough, folded = (np.dstack([slope, np.ones(_SHAPE)]) for slope in (0.3 * tilt, 0.01 * tilt))
    folded[..., 0] += 0.3 - 0.6 * (np.arange(_SHAPE[1]) // 20 % 2)
    _scales(QuotientGraph.from_normals(rough, angle=0.01, check=False))
    _joining(QuotientGraph.from_normals(folded, angle=8.0, check=False))
    integrate(rough, angle=0.01, check=False, max_iterations=3)
    integrate(folded, angle=8.0, check=False)
    integrate(rough, angle=0.01, check=False, max_iterations=3, merge_every=1)


def _scales(graph: QuotientGraph) -> None:
    """Weigh the cut edges of a graph that is not filled."""
    cut = CutEdges.from_graph(graph, np.zeros(graph.pixels.n_pixels), 1.0)
    pair_terms_by_kernel(with_creases(graph, cut), np.zeros(graph.n_components), True, Outliers())


def _joining(graph: QuotientGraph) -> None:
    """Join the components of a graph that is not filled; before that a row of three by two borders."""
    left, one = np.arange(2), np.ones(2)
    join(3, Witnesses(left, left + 1, one, one, one, -one, -2 * one, -3 * one), np.ones(3))
    joined(graph, np.zeros(graph.pixels.n_pixels))
    mark_inside(np.zeros((1, 2)), np.eye(3, 2), np.zeros(1, dtype=np.bool_))
    settle_fragments(graph, np.zeros(graph.pixels.n_pixels, dtype=np.int32))
    nearby(graph, np.zeros(1, dtype=np.int64), *np.ones((3, 1)))


if __name__ == "__main__":
    main()
