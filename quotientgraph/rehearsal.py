"""What a first integration needs compiled, used on small inputs, so that a second process can compile it meanwhile.

`laplacians.core.companion` runs `main` in a process of its own. The process that integrates compiles what it needs from the
first stage on. Here the order is the opposite, the last stages first, so that the two meet in the middle and neither waits
for the other before that. Factorisation is the exception: it needs no graph of pixels, whose kernels the other process
compiles at the beginning. Kernels that read normal maps are not used here. They depend on the type of the map, and are the
first that the other process compiles.

A scene without noise has few components and nothing to solve for, so for the demo factorisation comes last (`demo`). Large
maps are filled on a grid, which has kernels of its own (`large`).
"""

from __future__ import annotations

import numpy as np

import laplacians
from laplacians.direct.pieces import solve_pieces

from .beyond.border_junctions import propagate
from .beyond.certainty import nearby
from .beyond.creases import with_creases
from .beyond.division import divided_pixels
from .beyond.face_fragments import settle_fragments
from .beyond.face_planes import mark_inside
from .beyond.joining import Witnesses, join, joined
from .geometry.camera import Orthographic
from .geometry.jumps import planar
from .geometry.normals import NormalMap
from .graph.pixels import PixelGraph
from .graph.quotient import jumps_of
from .method.cutedges import CutEdges
from .method.exact_trees import leave_out_exact
from .method.filling import fill
from .method.weights import Outliers, pair_terms_by_kernel
from .quotient_graph import QuotientGraph

_SHAPE = 140, 160  # large enough for kernels instead of array expressions, and for two levels of multigrid
_LARGE = 512, 512  # large enough for a grid


def main() -> None:
    """Use the kernels of an integration with default settings: factorisation, scales, joining, filling, merging, crumbs."""
    _late_stages()
    _filling()
    _no_iterations()


def large() -> None:
    """Use the same kernels, and those for filling a large map."""
    _late_stages()
    fill(_folded(_LARGE))
    _filling()
    _no_iterations()


def demo() -> None:
    """Use the same kernels, those first that an exact scene with few components needs."""
    _joining()
    _judging()
    folded = _folded()
    _crease_edges(folded)
    _joining_of_borders(folded)
    main()


def _late_stages() -> None:
    """Factorise, weigh the cut edges of a graph with many components, and join the components of one with few."""
    _factorisation()
    rough = _rough()
    pair_terms_by_kernel(_crease_edges(rough), np.zeros(rough.n_components), True, Outliers())
    _joining()
    _joining_of_borders(_folded())


def _factorisation() -> None:
    """Solve a system on a grid directly."""
    node = np.arange(_SHAPE[0] * _SHAPE[1]).reshape(_SHAPE)
    tail = np.concatenate([node[:, :-1].ravel(), node[:-1].ravel()])
    head = np.concatenate([node[:, 1:].ravel(), node[1:].ravel()])
    weight = np.random.default_rng(0).random(len(tail))
    laplacians.get("direct").solve(laplacians.LaplacianSystem.from_edges(node.size, tail, head, weight, weight))


def _tilt(shape: tuple[int, int] = _SHAPE) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(*shape, 2))


def _rough() -> QuotientGraph:
    """A graph in which every pixel is a component."""
    return _graph(0.3 * _tilt(), 0.01)


def _folded(shape: tuple[int, int] = _SHAPE) -> QuotientGraph:
    """A graph of a few faces with noise."""
    slope = 0.01 * _tilt(shape)
    slope[..., 0] += 0.3 - 0.6 * (np.arange(shape[1]) // 21 % 2)
    return _graph(slope, 8.0)


def _graph(slope: np.ndarray, angle: float) -> QuotientGraph:
    """The quotient graph of a surface of which every pixel is valid."""
    shape = slope.shape[:2]
    normals = np.dstack([slope, np.full(shape, -1.0)]).reshape(-1, 3)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    position = np.arange(len(normals), dtype=np.int32)
    pixels = PixelGraph.from_map(NormalMap(normals, position.reshape(shape), position, Orthographic(), {}), 8)
    components = divided_pixels(pixels, angle, None, None, whole_tiles=False)
    return QuotientGraph.from_components(pixels, jumps_of(pixels, planar), components)


def _crease_edges(graph: QuotientGraph) -> CutEdges:
    """The cut edges of a graph that is not filled."""
    return with_creases(graph, CutEdges.from_graph(graph, np.zeros(graph.pixels.n_pixels), 1.0))


def _joining() -> None:
    """Join a row of three components by two borders."""
    left, one = np.arange(2), np.ones(2)
    join(3, Witnesses(left, left + 1, one, one, one, -one, -2 * one, -3 * one), np.ones(3))


def _judging() -> None:
    """Let two borders that follow each other tell each other what they are, where none meet."""
    meeting = np.empty((0, 3), dtype=np.int32), np.empty((0, 3), dtype=np.int8), np.empty(0, dtype=np.int8)
    follow = np.array([[0, 1]], dtype=np.int32), np.zeros(1, dtype=np.int8)
    propagate(np.zeros((3, 2)), meeting, follow, np.zeros((3, 9)), np.zeros((3, 3, 3)))


def _joining_of_borders(graph: QuotientGraph) -> None:
    """Join the components of a graph that is not filled, and look at what is near a pixel."""
    nearby(graph, np.zeros(1, dtype=np.int64), *np.ones((3, 1)))
    joined(graph, np.zeros(graph.pixels.n_pixels))
    mark_inside(np.zeros((1, 2)), np.eye(3, 2), np.zeros(1, dtype=np.bool_))
    settle_fragments(graph, np.zeros(graph.pixels.n_pixels, dtype=np.int32))


def _filling() -> None:
    """Integrate a graph without merging and with it, and one with few components."""
    rough = _rough()
    rough.optimize(max_iterations=3)
    _folded().optimize()
    rough.optimize(max_iterations=3, merge_every=1)


def _no_iterations() -> None:
    """Fill components of two pixels each and a plane; only maps with many cut edges, and those without noise, need that."""
    left = np.arange(0, 40, 2, dtype=np.int32)
    weight = np.ones(len(left), dtype=np.float32)
    solve_pieces(left, left + np.int32(1), weight, np.repeat(left, 2), np.zeros(40), np.zeros(40))
    tail, head, weight = np.zeros(3, dtype=np.int32), np.ones(3, dtype=np.int32), np.ones(3, dtype=np.float32)
    leave_out_exact(tail, head, weight, np.zeros(3), np.zeros(2), np.zeros(2, dtype=np.int32), np.zeros(2))


if __name__ == "__main__":
    main()
