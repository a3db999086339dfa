"""Anchors: pixels of known depth, as edges from their components to a ground node that stands for absolute depth.

The systems remain graph Laplacians with one more unknown, so every solver backend works as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from laplacians.core.arrays import array_namespace, to_device, to_host
from laplacians.system import LaplacianSystem, Pattern

from ..graph.quotient import Quotient

# Weight of one anchor against one cut edge.
_ANCHOR = 1e3


@dataclass(frozen=True, eq=False)
class Anchors:
    """Known potentials of some pixels.

    Attributes
    ----------
    pixel : (n_anchors,) int32
    potential : (n_anchors,) float64
    """

    pixel: np.ndarray
    potential: np.ndarray

    @classmethod
    def from_depths(cls, graph: Quotient, anchors: Sequence[tuple[float, float, float]] | None) -> Anchors | None:
        """Check and convert what a user passes, which is (column, row, depth) of each; None if there are none."""
        return cls(*_checked(graph, anchors)) if anchors else None

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of pixels whose depth relative to each other is known: each anchor and the first one."""
        return tuple((int(pixel), int(self.pixel[0])) for pixel in self.pixel[1:])

    def ties(self, graph: Quotient, potential: Any, pattern: Pattern) -> GroundEdges:
        """The edges from a graph's components to the ground node."""
        return GroundEdges.from_graph(self, graph, potential, pattern)

    def settle(self, potential: np.ndarray, pieces: np.ndarray) -> np.ndarray:
        """The potential with each piece moved to its anchors, from where it is centred, and others as `moved` says."""
        mean = np.bincount(pieces, potential) / np.bincount(pieces)
        return self.moved(potential - mean[pieces], pieces)

    def moved(self, potential: np.ndarray, group: np.ndarray) -> np.ndarray:
        """The potential with rigid groups of pixels moved to their anchors, and all others by the median of those moves.

        Parameters
        ----------
        potential : (n_pixels,) float64
        group : (n_pixels,) integers
        """
        off = self.potential - potential[self.pixel]
        n = int(group.max()) + 1
        count = np.bincount(group[self.pixel], minlength=n)
        own = np.bincount(group[self.pixel], off, n) / np.maximum(count, 1)
        return potential + np.where(count > 0, own, np.median(off))[group]


@dataclass(frozen=True, eq=False)
class GroundEdges:
    """The edges from the components of one Qm to the ground node, which is number n; arrays of numpy or cupy.

    Attributes
    ----------
    pattern : Pattern
        The graph's pattern with the ground edges added.
    order : (n_pairs + n_ground,) int64
        Sorts the graph's pairs, followed by the ground edges, into the pattern.
    component : (n_ground,) int32
    target : (n_ground,) float64
        Wanted shift of the component, at the potential the object was made for.
    weight : (n_ground,) float64
        Against a cut edge of weight one.
    """

    pattern: Pattern
    order: Any
    component: Any
    target: Any
    weight: Any

    @classmethod
    def from_graph(cls, anchors: Anchors, graph: Quotient, potential: Any, pattern: Pattern) -> GroundEdges:
        """Make the edges, in the namespace of the potential (n_pixels,) and of the pattern."""
        xp = array_namespace(potential)
        potential = to_host(potential[to_device(anchors.pixel, xp)])
        n, label = graph.n_components, graph.labels[anchors.pixel]
        count = np.bincount(label, minlength=n)
        component = np.flatnonzero(count).astype(np.int32)
        wanted = np.bincount(label, anchors.potential - potential, n)
        tail = np.concatenate([to_host(pattern.tail), component])
        head = np.concatenate([to_host(pattern.head), np.full(len(component), n, dtype=np.int32)])
        order = np.lexsort((head, tail))
        extended = Pattern(n + 1, tail[order], head[order]).to(xp)
        count = count[component].astype(np.float64)
        made = order, component, wanted[component] / count, _ANCHOR * count
        return cls(extended, *(to_device(array, xp) for array in made))

    def system(self, weight: Any, flow: Any, shift: Any, first: bool, unit: float) -> LaplacianSystem:
        """The graph's system (weight and flow per pair) with the ground edges, whose weights are in units of `unit`."""
        xp = array_namespace(weight)
        own = unit * self.weight
        pull = own * (self.target - shift[self.component])
        weight, flow = xp.concatenate([weight, own]), xp.concatenate([flow, pull])
        return LaplacianSystem(self.pattern, weight[self.order], flow[self.order])

    def components(self, x: Any) -> Any:
        """The shift of the components in a solution, relative to the anchors."""
        return x[:-1] - x[-1]


def _checked(graph: Quotient, anchors: Sequence[tuple[float, float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Pixel and potential of each anchor."""
    normal_map = graph.pixels.map
    height, width = normal_map.shape
    pixel, potential = [], []
    for anchor in anchors:
        try:
            u, v, depth = (float(value) for value in anchor)
        except (TypeError, ValueError):
            raise ValueError(f"anchors: expected (u, v, depth), got {anchor!r}") from None
        column, row = round(u), round(v)
        if not (0 <= column < width and 0 <= row < height):
            raise ValueError(
                f"anchors: ({u:g}, {v:g}) lies outside the {width}×{height} image; u is the column, v the row"
            )
        number = int(normal_map.index[row, column])
        if number < 0:
            raise ValueError(
                f"anchors: the pixel ({column}, {row}) is not valid, so its depth says nothing of the surface"
            )
        value = float(normal_map.camera.potential(np.array(depth)))
        if not np.isfinite(value):
            raise ValueError(f"anchors: the depth at ({column}, {row}) must be positive and finite, got {depth:g}")
        pixel.append(number)
        potential.append(value)
    return np.array(pixel, dtype=np.int32), np.array(potential)
