"""Common planes in the descent: ties that keep faces in the plane that they were joined in.

Joining puts faces into one plane that border on nothing but what hides them. No edge holds them there, and in the descent
the many edges of torn borders, small as their weights are, would pull them apart again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from laplacians import LaplacianSystem
from laplacians.core.arrays import array_namespace, to_device, to_host
from laplacians.pattern import Pattern

if TYPE_CHECKING:
    from ..graph.quotient import Quotient
    from .joining import Witnesses

_STRENGTH = 30.0  # a tie against one cut edge


@dataclass(frozen=True, eq=False)
class HeldPlanes:
    """Pairs of faces that are in one plane.

    Attributes
    ----------
    left, right : (n,) integers
        Components, the left one with the smaller number. No pair occurs twice.
    offset : (n,) float64
        Shift of left minus shift of right that is wanted.
    """

    left: np.ndarray
    right: np.ndarray
    offset: np.ndarray

    @classmethod
    def of(cls, told: Witnesses, shift: np.ndarray, moved: bool) -> HeldPlanes | None:
        """The pairs of faces that shifts (n_components,) put into one plane; None if there are none.

        Offsets are those of shifts to come if the components have `moved` by the given ones already.
        """
        n = len(told.piece)
        left, right, offset, tolerance = (v[n:] for v in (told.left, told.right, told.offset, told.tolerance))
        apart = shift[left] - shift[right]
        kept = np.abs(apart - offset) <= tolerance
        if not kept.any():
            return None
        offset = np.where(left < right, 1, -1) * (offset - apart if moved else offset)
        return cls(np.minimum(left, right)[kept], np.maximum(left, right)[kept], offset[kept])

    def ties(self, graph: Quotient, potential: Any, pattern: Pattern) -> PlaneTies:
        """The same beside the borders of a graph of these components."""
        return PlaneTies.from_pattern(self, pattern)


@dataclass(frozen=True, eq=False)
class PlaneTies:
    """Ties beside the borders of one graph; arrays of numpy or cupy.

    Attributes
    ----------
    pattern : Pattern
        That of the borders with the pairs of faces added.
    border : (n_pairs,) int64
        Where the pattern has the borders.
    tie : (n,) int64
        Where it has the pairs of faces.
    left, right, offset : (n,)
        As in `HeldPlanes`.
    """

    pattern: Pattern
    border: Any
    tie: Any
    left: Any
    right: Any
    offset: Any

    @classmethod
    def from_pattern(cls, held: HeldPlanes, pattern: Pattern) -> PlaneTies:
        xp = array_namespace(pattern.tail)
        tail, head = to_host(pattern.tail), to_host(pattern.head)
        ends = (np.append(one, other).astype(np.int32) for one, other in ((tail, held.left), (head, held.right)))
        extended, order, start = Pattern.from_edges(pattern.n, *ends)
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.repeat(np.arange(extended.n_pairs), np.diff(start))
        made = place[: len(tail)], place[len(tail) :], held.left, held.right, held.offset
        return cls(extended.to(xp), *(to_device(array, xp) for array in made))

    def system(self, weight: Any, flow: Any, shift: Any, first: bool, unit: float) -> LaplacianSystem:
        """The borders' system (weight and flow per pair) with the ties, whose weights are in units of `unit`."""
        xp, own = array_namespace(weight), unit * _STRENGTH
        pull = own * (self.offset - (shift[self.left] - shift[self.right]))
        weights, flows = xp.zeros((2, self.pattern.n_pairs))
        weights[self.border], flows[self.border] = weight, flow
        weights[self.tie] += own
        flows[self.tie] += pull
        return LaplacianSystem(self.pattern, weights, flows)

    def components(self, x: Any) -> Any:
        """The shift of the components in a solution, which is all of it."""
        return x
