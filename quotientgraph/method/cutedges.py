"""`CutEdges`: the cut edges of one Qm, grouped by pair of components, with all that the formulas of the weights need.

The grouping makes every iteration one pass over consecutive memory.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from laplacians.checked import prepare_checked
from laplacians.core.arrays import array_namespace, to_device
from laplacians.core.jit import WHOLE, kernel, portion
from laplacians.system import Pattern

from ..geometry.normals import row_and_column
from ..graph.quotient import Quotient

_FEW = 2**14  # edges whose pairs are numbered by eight bytes each
_BLOCK = 2048  # edges that the kernel of the weights works on at a time


@dataclass(frozen=True)
class Borders:
    """The cut edges of a graph grouped by pair of components: what of `CutEdges` depends on the graph alone.

    Attributes
    ----------
    pattern : Pattern
        Pairs of adjacent components.
    start : (n_pairs + 1,) int64
        The edges of pair p are start[p]:start[p+1].
    number : (n_cut,) int32
        Which edge of G0 it is.
    """

    pattern: Pattern
    start: Any
    number: Any

    @classmethod
    def from_graph(cls, graph: Quotient) -> Borders:
        """Group the cut edges of a graph."""
        pattern, order, start = Pattern.from_edges(graph.n_components, graph.tail, graph.head)
        return cls(pattern, start, graph.cut[order])

    @classmethod
    def prepared(cls, graph: Quotient, solver: Any, iteration: int) -> Borders:
        """Group the cut edges of a graph, and let a solver that can begin with the pattern alone do so."""
        borders = cls.from_graph(graph)
        prepare_checked(solver, borders.pattern, iteration)
        return borders


@dataclass(frozen=True)
class CutEdges:
    """The cut edges of a Qm, grouped by pair and all turned in the direction of their pair (tail < head).

    All fields but `pattern` are arrays of one namespace, numpy or cupy. They hold values at the potential that the object
    was made for; a later shift s of the components enters the formulas as s[tail] − s[head].

    Attributes
    ----------
    pattern : Pattern
        Pairs of adjacent components.
    start : (n_pairs + 1,) int64
        The edges of pair p are start[p]:start[p+1].
    number : (n_cut,) int32
        Which edge of G0 it is.
    difference : (n_cut,) float64
        φ_a − φ_b.
    residual, residual_back : (n_cut,) float64
        φ_a − φ_b − jump of the equation of a and of b; one and the same array for a symmetric model.
    beyond : (2, n_cut) float64
        φ_−b − φ_a and φ_−a − φ_b.
    beyond_component : (2, n_cut) int32
        Components of −b and −a; −1 where there is no such pixel.
    gamma_squared : (2, n_cut) float64
        γ² of a and of b.
    unit : (n_cut,) float64
        What a residual is multiplied by before it is compared with the outlier thresholds.
    slack : (2, n_cut) float64 or None
        Residuals ≤ 0 and ≥ 0 between which an edge is content; None means at 0 only, as in the paper.
    """

    pattern: Pattern
    start: Any
    number: Any
    difference: Any
    residual: Any
    residual_back: Any
    beyond: Any
    beyond_component: Any
    gamma_squared: Any
    unit: Any
    slack: Any = None

    @classmethod
    def from_graph(
        cls,
        graph: Quotient,
        potential: np.ndarray,
        scale: float | np.ndarray,
        borders: Borders | None = None,
        given_up: CutEdges | None = None,
    ) -> CutEdges:
        """Gather what the weights of a graph's cut edges need.

        Parameters
        ----------
        graph : Quotient
        potential : (n_pixels,) float64
        scale : float or (n_pixels,) float64
            Factor of a residual before it is compared with the outlier thresholds; see `Outliers.scale`.
        borders : Borders, optional
            Those of the graph, if they are known.
        given_up : CutEdges, optional
            Those of a finer graph, on the host, that nobody needs any more: their memory is used again. A system takes
            longer to hand out new memory than it takes to fill it.
        """
        pixels, borders = graph.pixels, borders or Borders.from_graph(graph)
        pattern, start, number = borders.pattern, borders.start, borders.number
        n_cut, one_sided = len(number), graph.jump.ndim == 2

        def room(name: str, *shape: int) -> np.ndarray:
            old = np.empty(0) if given_up is None else getattr(given_up, name).reshape(-1)
            size = int(np.prod(shape))
            if len(old) < size or len(old) == 0:
                return np.empty(shape, dtype=np.int32 if name == "beyond_component" else np.float64)
            return old[:size].reshape(shape)

        # The pixels beyond the edges are found from their places, except where the image wraps.
        around = np.stack(pixels.opposites(number)) if pixels.map.wrap else np.empty((2, 0), dtype=np.int32)
        difference, residual = room("difference", n_cut), room("residual", n_cut)
        residual_back = room("residual_back", n_cut) if one_sided else residual
        beyond, component = room("beyond", 2, n_cut), room("beyond_component", 2, n_cut)
        gamma_squared, unit = room("gamma_squared", 2, n_cut), room("unit", n_cut)
        # Jumps that are stored are read where they are; others are computed for these edges only.
        stored = isinstance(graph.jump, np.ndarray)
        jump = graph.jump if stored else graph.jump[..., number]
        _gather(
            pixels.tail, pixels.head, pixels.map.index, pixels.map.position, around, graph.labels, number, potential,
            np.broadcast_to(jump, (2, jump.shape[-1])), stored, pixels.gamma_squared, np.ravel(scale), difference, residual,
            residual_back, beyond, component, gamma_squared, unit,
        )  # fmt: skip
        return cls(pattern, start, number, difference, residual, residual_back, beyond, component, gamma_squared, unit)

    @cached_property
    def mean_gamma_squared(self) -> float:
        """What an equation with bilateral weights counts where nothing is torn, in the mean."""
        return float(self.gamma_squared.mean())

    @cached_property
    def pair(self) -> Any:
        """(n_cut,) pair of each edge: int32, or int64 if they are few, which NumPy need not convert at each use."""
        xp = array_namespace(self.start)
        begins = xp.zeros(len(self.number), dtype=np.int64 if len(self.number) <= _FEW else np.int32)
        begins[self.start[1:-1]] = 1
        return xp.cumsum(begins, dtype=begins.dtype)

    @cached_property
    def blocks(self) -> np.ndarray:
        """The pairs at which blocks of about 2000 edges begin, and the end; a longer pair is a block of its own."""
        n_pairs, n_cut = len(self.start) - 1, int(self.start[-1])
        return np.unique(np.append(np.searchsorted(self.start, np.arange(0, n_cut, _BLOCK)), n_pairs))

    def to(self, xp: Any) -> CutEdges:
        """The same with all arrays in the namespace `xp`."""
        if xp is array_namespace(self.start):
            return self
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "pattern"}
        arrays = {name: None if value is None else to_device(value, xp) for name, value in given.items()}
        if self.residual is self.residual_back:
            arrays["residual_back"] = arrays["residual"]
        return CutEdges(self.pattern.to(xp), **arrays)

    def residuals(self, shift: Any) -> Any:
        """(n_cut,) residuals after a shift (n_components,); of the two equations' the mean, if they differ."""
        step = (shift[self.pattern.tail] - shift[self.pattern.head])[self.pair]
        return 0.5 * (self.residual + self.residual_back) + step

    def contracted(self, merged: Any, n: int, shift: Any) -> CutEdges:
        """The cut edges of the graph one level up, at the potential after `shift`.

        Parameters
        ----------
        merged : (n_components,) int32
            Which of the `n` components of the new graph each component became part of.
        shift : (n_components,) float64
        """
        xp = array_namespace(shift)
        tail, head = self.pattern.tail[self.pair], self.pattern.head[self.pair]
        kept = xp.flatnonzero(merged[tail] != merged[head])
        tail, head = tail[kept], head[kept]
        pattern, order, start = Pattern.from_edges(n, merged[tail], merged[head])
        kept, tail, head = kept[order], tail[order], head[order]
        turned = merged[tail] > merged[head]
        sign = xp.where(turned, -1.0, 1.0)
        step = shift[tail] - shift[head]

        def ends(values: Any) -> Any:
            """(2, n_kept) values of a and b, exchanged where the edge is turned."""
            return xp.where(turned, values[::-1], values)

        component = self.beyond_component[:, kept]
        moved = self.beyond[:, kept] + shift[component] - xp.stack([shift[tail], shift[head]])
        both = ends(xp.stack([self.residual[kept], self.residual_back[kept]]) + step) * sign
        return replace(
            self,
            pattern=pattern,
            start=start,
            number=self.number[kept],
            difference=sign * (self.difference[kept] + step),
            residual=both[0],
            residual_back=both[0] if self.residual is self.residual_back else both[1],
            beyond=ends(xp.where(component < 0, 0.0, moved)),
            beyond_component=ends(xp.where(component < 0, -1, merged[component])),
            gamma_squared=ends(self.gamma_squared[:, kept]),
            unit=self.unit[kept],
            slack=None if self.slack is None else xp.where(turned, -self.slack[::-1, kept], self.slack[:, kept]),
        )


@kernel(parallel_from=2**19)
def _gather(
    tail, head, index, position, around, labels, number, potential, jump, stored, gamma, scale,
    difference, residual, residual_back, beyond, component, gamma_squared, unit, share=WHOLE,
):  # fmt: skip
    """Write the fields of `CutEdges`, each edge turned so that its tail lies in the component of the smaller number.

    `number` (n_cut,) lists the edges. To these belong `around` (2, n_cut), the pixels beyond tail and head, or (2, 0) if
    the image does not wrap, and `jump` (2, n_cut) unless it is `stored` for all edges. The other inputs are per pixel or
    per edge of G0.
    """
    height, width = index.shape
    for k in portion(len(number), share):
        e = np.uint32(number[k])
        i, j = np.uint32(tail[e]), np.uint32(head[e])
        turned = labels[i] > labels[j]
        a, b = (j, i) if turned else (i, j)
        at_a, at_b = row_and_column(position[a], width), row_and_column(position[b], width)
        difference[k] = potential[a] - potential[b]
        at = np.uint64(e) if stored else np.uint64(k)
        residual[k] = difference[k] + jump[1, at] if turned else difference[k] - jump[0, at]
        residual_back[k] = difference[k] + jump[0, at] if turned else difference[k] - jump[1, at]
        unit[k] = 0.5 * (scale[a] + scale[b]) if len(scale) > 1 else scale[0]
        for side in range(2):
            here = a if side == 0 else b
            near, far = (at_a, at_b) if side == 0 else (at_b, at_a)
            if around.shape[1] > 0:
                other = around[1 - side if turned else side, k]
            else:
                v, u = 2 * near[0] - far[0], 2 * near[1] - far[1]
                other = index[v, u] if 0 <= v < height and 0 <= u < width else -1
            gamma_squared[side, k] = gamma[here]
            beyond[side, k] = potential[np.uint32(other)] - potential[here] if other >= 0 else 0.0
            component[side, k] = labels[np.uint32(other)] if other >= 0 else -1
