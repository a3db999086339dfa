"""Models of discontinuity: how much each cut edge counts.

A cut edge (a, b) of jump j has, at potentials φ, the residual χ = φ_a − φ_b − j. Its weight is the sum of its two
equations', times the outlier weight:

- uniform: 1 for each equation;
- bilateral (BiNI): γ_a² σ_k(γ_a²((φ_−b − φ_a)² − (φ_b − φ_a)²)) for the equation of a, where −b is the pixel beyond a as
  seen from b, and likewise for b; ½γ² where there is no such pixel;
- outlier reweighting, soft: 1/(1 + (|χ|/√(LU))^q) with q such that |χ| = L gives σ(4) ≈ 0.98 and |χ| = U σ(−4) ≈ 0.02;
  hard: 1 below U, else 0; none: 1;
- slack: where two planes meet in a crease, its place between the two pixels is unknown, and with it χ, within an
  interval (`quotientgraph.beyond.contacts`). Only what χ exceeds it by counts in full; inside, a tenth.

`CutEdges` holds what these formulas need per cut edge, grouped by pair of components, so that each iteration is one pass
over consecutive memory. `pair_terms` is that pass; it exists as a Numba kernel for the CPU and as expressions over an
array namespace (numpy or cupy) for the GPU, which the tests hold equal.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from laplacians.core.arrays import array_namespace, sums, to_device
from laplacians.core.jit import kernel, prange
from laplacians.system import Pattern

from ..graph.quotient import QuotientGraph
from .weights import add_pairs, edge_blocks

SHARPNESS = 2.0  # k of the bilateral sigmoid
INSIDE = 0.1  # how much a residual counts within the slack of its edge
_FEW_EDGES = 10_000  # up to which array expressions take a millisecond, and the kernel would have to be compiled first
SOFT, HARD, NONE = 0, 1, 2
KINDS = {"soft": SOFT, "hard": HARD, "none": NONE}

# The thresholds L and U of the paper are log-depths at its benchmark's focal length. Times f they are lengths in pixels
# (at the surface), which mean the same for every camera; dividing by this focal length again keeps the familiar numbers.
REFERENCE_FOCAL = 3770.0


@dataclass(frozen=True)
class Outliers:
    """Outlier reweighting: its kind and thresholds.

    Attributes
    ----------
    kind : "soft", "hard" or "none"
    lower, upper : float
        L and U: a residual of L or less is an inlier, of U or more an outlier.
    natural : bool
        Thresholds scaled by 3770/f, so that they are lengths in pixels; else absolute log-depths as in the paper.
    """

    kind: str = "soft"
    lower: float = 1e-5
    upper: float = 1e-3
    natural: bool = True

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"reweighting={self.kind!r} is not known; use {', '.join(map(repr, KINDS))}")
        if not 0 < self.lower < self.upper < np.inf:
            raise ValueError(f"lower={self.lower} and upper={self.upper} must satisfy 0 < lower < upper")

    @property
    def centre(self) -> float:
        """Residual of weight ½."""
        return float(np.sqrt(self.lower * self.upper))

    @property
    def power(self) -> float:
        """q of the soft weight 1/(1 + (|χ|/centre)^q)."""
        return float(8 / np.log(self.upper / self.lower))

    def weight(self, residual: Any, xp: Any = np) -> Any:
        """Outlier weight of residuals in units of the thresholds."""
        size = xp.abs(residual)
        if self.kind == "none":
            return xp.ones_like(size)
        if self.kind == "hard":
            return (size < self.upper).astype(size.dtype)
        return 1 / (1 + (size / self.centre) ** self.power)


@dataclass(frozen=True)
class CutEdges:
    """The cut edges of a Qm, grouped by pair and all turned in the direction of their pair (tail < head).

    All but `pattern` are arrays of one namespace, numpy or cupy. Values are those at the potential the object was made
    for; a later shift s of the components enters the formulas as s[tail] − s[head].

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
        Residuals ≤ 0 and ≥ 0 between which an edge is content; None: at 0 only, as in the paper.
    share : (n_pairs,) float64 or None
        What the weights of each pair's edges are multiplied by; None: nothing, as in the paper.
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
    share: Any = None

    @classmethod
    def from_graph(cls, graph: QuotientGraph, potential: np.ndarray, natural: bool = True) -> CutEdges:
        """Gather what the weights of a graph's cut edges need, at a potential (n_pixels,)."""
        pixels = graph.pixels
        pattern, order, start = Pattern.from_edges(graph.n_components, graph.tail, graph.head)
        number = graph.cut[order]
        n_cut, one_sided = len(number), graph.jump.ndim == 2
        difference, residual = np.empty(n_cut), np.empty(n_cut)
        residual_back = np.empty(n_cut) if one_sided else residual
        beyond, component = np.empty((2, n_cut)), np.empty((2, n_cut), dtype=np.int32)
        gamma_squared, unit = np.empty((2, n_cut)), np.empty(n_cut)
        scale = np.ravel(pixels.focal / REFERENCE_FOCAL if natural or not pixels.map.camera.central else 1.0)
        _gather(
            pixels.tail, pixels.head, pixels.map.index, pixels.map.position, graph.labels, number, potential,
            np.broadcast_to(graph.jump[..., number], (2, n_cut)), pixels.gamma_squared, scale,
            difference, residual, residual_back, beyond, component, gamma_squared, unit,
        )  # fmt: skip
        return cls(pattern, start, number, difference, residual, residual_back, beyond, component, gamma_squared, unit)

    @cached_property
    def pair(self) -> Any:
        """(n_cut,) int32 pair of each edge."""
        xp = array_namespace(self.start)
        begins = xp.zeros(len(self.number), dtype=np.int32)
        begins[self.start[1:-1]] = 1
        return xp.cumsum(begins, dtype=np.int32)

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
            share=None,
        )


def pair_terms(cut: CutEdges, shift: Any, bilateral: bool, outliers: Outliers) -> Any:
    """(3, n_pairs): per pair Σ W, Σ W·(−χ) and Σ W·χ², the quadratic that a solve minimises and its energy.

    Parameters
    ----------
    shift : (n_components,) float64
        What was added to each component since `cut` was made; where the arrays of `cut` are.
    bilateral : bool
        Bilateral weights if true, else uniform.
    """
    xp = array_namespace(shift)
    if xp is not np or len(cut.number) <= _FEW_EDGES:
        return pair_terms_over(xp, cut, shift, bilateral, outliers)
    return pair_terms_by_kernel(cut, shift, bilateral, outliers)


def pair_terms_by_kernel(cut: CutEdges, shift: np.ndarray, bilateral: bool, outliers: Outliers) -> np.ndarray:
    """`pair_terms` in one pass over the edges, on the CPU."""
    out = np.zeros((3, cut.pattern.n_pairs))
    one_sided = cut.residual is not cut.residual_back
    add_pairs(
        edge_blocks(cut.start), cut.pattern.tail, cut.pattern.head, cut.start, cut.difference,
        np.stack([cut.residual, cut.residual_back]) if one_sided else cut.residual[None],
        cut.beyond, cut.beyond_component, cut.gamma_squared, cut.unit,
        np.zeros((2, 0)) if cut.slack is None else cut.slack, shift, bilateral, INSIDE,
        KINDS[outliers.kind], outliers.upper, outliers.centre, outliers.power, out,
    )  # fmt: skip
    return out if cut.share is None else out * cut.share


def pair_terms_over(xp: Any, cut: CutEdges, shift: Any, bilateral: bool, outliers: Outliers) -> Any:
    """`pair_terms` as expressions over the array namespace `xp`; runs where the arrays of `cut` live."""
    tail, head = cut.pattern.tail[cut.pair], cut.pattern.head[cut.pair]
    step = shift[tail] - shift[head]
    total = xp.zeros((3, cut.pattern.n_pairs))
    for side, (residual, end) in enumerate(((cut.residual, tail), (cut.residual_back, head))):
        chi = residual + step
        if cut.slack is None:
            weight = outliers.weight(chi * cut.unit, xp)
        else:
            gap = xp.maximum(xp.maximum(cut.slack[0] - chi, chi - cut.slack[1]), 0.0)
            size = xp.maximum(xp.abs(chi), 1e-300)
            weight = outliers.weight(gap * cut.unit, xp) * (INSIDE + (1 - INSIDE) * gap / size)
        if bilateral:
            gamma, component = cut.gamma_squared[side], cut.beyond_component[side]
            moved = cut.beyond[side] + shift[component] - shift[end]
            contrast = xp.where(component >= 0, moved**2 - (cut.difference + step) ** 2, 0.0)
            weight = weight * gamma * _sigmoid(SHARPNESS * gamma * contrast, xp)
        for row, value in enumerate((weight, -weight * chi, weight * chi * chi)):
            total[row] += sums(cut.pair, value, cut.pattern.n_pairs)
    return total if cut.share is None else total * cut.share


def _sigmoid(x: Any, xp: Any) -> Any:
    small = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1 / (1 + small), small / (1 + small))


@kernel(parallel=True, parallel_from=2**19)
def _gather(
    tail, head, index, position, labels, number, potential, jump, gamma, scale,
    difference, residual, residual_back, beyond, component, gamma_squared, unit,
):  # fmt: skip
    """The fields of `CutEdges`, each edge turned so that its tail lies in the component of the smaller number."""
    height, width = index.shape
    for k in prange(len(number)):
        e = number[k]
        turned = labels[tail[e]] > labels[head[e]]
        a, b = (head[e], tail[e]) if turned else (tail[e], head[e])
        va, ua = position[a] // width, position[a] % width
        vb, ub = position[b] // width, position[b] % width
        difference[k] = potential[a] - potential[b]
        residual[k] = difference[k] + jump[1, k] if turned else difference[k] - jump[0, k]
        residual_back[k] = difference[k] + jump[0, k] if turned else difference[k] - jump[1, k]
        unit[k] = scale[a] if len(scale) > 1 else scale[0]
        for side in range(2):
            here = a if side == 0 else b
            v = 2 * va - vb if side == 0 else 2 * vb - va
            u = 2 * ua - ub if side == 0 else 2 * ub - ua
            other = index[v, u] if 0 <= v < height and 0 <= u < width else -1
            gamma_squared[side, k] = gamma[here]
            beyond[side, k] = potential[other] - potential[here] if other >= 0 else 0.0
            component[side, k] = labels[other] if other >= 0 else -1
