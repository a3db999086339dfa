"""Models of discontinuity: how much each cut edge counts.

A cut edge (a, b) of jump j has, at potentials φ, the residual χ = φ_a − φ_b − j. Its weight is the sum of the weights of
its two equations, times the outlier weight:

- uniform: 1 for each equation;
- bilateral (BiNI): γ_a² σ_k(γ_a²((φ_−b − φ_a)² − (φ_b − φ_a)²)) for the equation of a, where −b is the pixel beyond a as
  seen from b, and likewise for b; ½γ² where there is no such pixel;
- outlier reweighting: soft, 1/(1 + (|χ|/√(LU))^q) with q such that |χ| = L gives σ(4) ≈ 0.98 and |χ| = U gives
  σ(−4) ≈ 0.02; hard, 1 below U and 0 from there on; none, 1;
- slack, an addition to the paper: where two planes meet in a crease, the place of the crease between the two pixels is
  unknown, and with it χ, within an interval (`quotientgraph.beyond.creases`). Inside it a residual counts a tenth.

`pair_terms` adds the weights up by pair of components. It exists as a Numba kernel for the CPU and as expressions over an
array namespace (numpy or cupy) for small systems and for the GPU; the tests hold the two equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from laplacians.core.arrays import array_namespace, sums
from laplacians.core.jit import WHOLE, kernel, portion

from ..geometry.camera import REFERENCE_FOCAL
from ..geometry.normals import NormalMap
from ..settings import PAPER, Settings
from .cutedges import CutEdges
from .vectormath import exp, log

SHARPNESS = 2.0  # k of the bilateral sigmoid
INSIDE = 0.1  # the factor by which a residual counts within the slack of its edge
KINDS = {"soft": 0, "hard": 1, "none": 2}

_FEW_EDGES = 10_000  # array expressions take a millisecond up to here, and the kernel would have to be compiled first

# The paper's thresholds as lengths in pixels. An edge whose residual is `DOUBT` long is as likely a contact as not; from
# `TEAR` on it is a discontinuity.
DOUBT = float(np.sqrt(PAPER.lower * PAPER.upper)) * REFERENCE_FOCAL
TEAR = PAPER.upper * REFERENCE_FOCAL


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

    @classmethod
    def from_settings(cls, settings: Settings) -> Outliers:
        return cls(settings.reweighting, settings.lower, settings.upper, settings.thresholds == "natural")

    def scale(self, normal_map: NormalMap) -> float | np.ndarray:
        """Factor, a number or (n_pixels,), of a residual before it is compared with the thresholds."""
        return (normal_map.focal if self.natural else normal_map.camera.threshold_focal) / REFERENCE_FOCAL

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


def bilateral_share(gamma_squared: Any, contrast: Any, xp: Any = np) -> Any:
    """σ_k(γ²·contrast) with contrast = (φ_−b − φ_a)² − (φ_b − φ_a)²: the bilateral weight of a's equation without its γ²."""
    x = SHARPNESS * gamma_squared * contrast
    small = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1.0, small) / (1 + small)


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
    _add_pairs(
        cut.blocks, cut.pattern.tail, cut.pattern.head, cut.start, cut.difference,
        np.stack([cut.residual, cut.residual_back]) if one_sided else cut.residual[None],
        cut.beyond, cut.beyond_component, cut.gamma_squared, cut.unit,
        np.zeros((2, 0)) if cut.slack is None else cut.slack, shift, bilateral, SHARPNESS, INSIDE,
        KINDS[outliers.kind], outliers.upper, outliers.centre, outliers.power, out,
    )  # fmt: skip
    return out


def pair_terms_over(xp: Any, cut: CutEdges, shift: Any, bilateral: bool, outliers: Outliers) -> Any:
    """`pair_terms` as expressions over the array namespace `xp`; runs where the arrays of `cut` live."""
    ends = [shift[end] for end in (cut.pattern.tail, cut.pattern.head)]
    step = (ends[0] - ends[1])[cut.pair]
    # A symmetric model has one residual for both equations of an edge.
    symmetric = cut.residual is cut.residual_back
    chi = [residual + step for residual in ((cut.residual,) if symmetric else (cut.residual, cut.residual_back))]
    outlier = [_outlier_weight(xp, cut, one, outliers) for one in chi]
    between = (cut.difference + step) ** 2 if bilateral else None
    total = xp.zeros((3, cut.pattern.n_pairs))
    for side in range(2):
        own, weight = (values[0 if symmetric else side] for values in (chi, outlier))
        if bilateral:
            gamma, component = cut.gamma_squared[side], cut.beyond_component[side]
            moved = cut.beyond[side] + shift[component] - ends[side][cut.pair]
            contrast = xp.where(component >= 0, moved**2 - between, 0.0)
            weight = weight * gamma * bilateral_share(gamma, contrast, xp)
        flow = weight * own
        for row, value in enumerate((weight, -flow, flow * own)):
            total[row] += sums(cut.pair, value, cut.pattern.n_pairs)
    return total


def _outlier_weight(xp: Any, cut: CutEdges, chi: Any, outliers: Outliers) -> Any:
    """(n_cut,) outlier weight of residuals χ (n_cut,), by the factor `INSIDE` less within the slack of their edges."""
    if cut.slack is None:
        return outliers.weight(chi * cut.unit, xp)
    gap = xp.maximum(xp.maximum(cut.slack[0] - chi, chi - cut.slack[1]), 0.0)
    size = xp.maximum(xp.abs(chi), 1e-300)
    return outliers.weight(gap * cut.unit, xp) * (INSIDE + (1 - INSIDE) * gap / size)


@kernel(inline="always", error_model="numpy", fastmath={"contract"})
def _outlier_weights(chi, unit, slack, at, inside, kind, upper, centre, power, gap, w):
    """Write the outlier weight of each residual χ to `w`, and its gap to `gap`.

    The gap is the distance of χ from its slack (0 inside, |χ| where there is no slack). Inside the slack a residual counts
    by the factor `inside`. `slack` is (2, n_cut) and read from `at` on, or (2, 0).
    """
    for k in range(len(w)):
        gap[k] = abs(chi[k])
    if slack.shape[1] > 0:
        for k in range(len(w)):
            gap[k] = max(max(0.0, slack[0, at + k] - chi[k]), chi[k] - slack[1, at + k])
    if kind == 0:
        for k in range(len(w)):
            w[k] = 1.0 / (1.0 + exp(power * log(max(gap[k] * unit[k] / centre, 1e-300))))
    else:
        for k in range(len(w)):
            w[k] = 0.0 if kind == 1 and gap[k] * unit[k] >= upper else 1.0
    if slack.shape[1] > 0:
        for k in range(len(w)):
            w[k] *= inside + (1.0 - inside) * gap[k] / max(abs(chi[k]), 1e-300)


@kernel(inline="always", error_model="numpy", fastmath={"contract"})
def _add(begin, end, start, at, chi, w, out):
    """Add to the sums of the pairs begin:end, whose edges begin at `at`; w is zero afterwards."""
    for p in range(begin, end):
        total, flow, curve = 0.0, 0.0, 0.0
        for k in range(np.uint64(start[p] - at), np.uint64(start[p + 1] - at)):
            total += w[k]
            flow -= w[k] * chi[k]
            curve += w[k] * chi[k] * chi[k]
            w[k] = 0.0
        out[0, p] += total
        out[1, p] += flow
        out[2, p] += curve


@kernel(parallel_from=2**15, error_model="numpy", fastmath={"contract"})
def _add_pairs(
    blocks, tail, head, start, difference, residual, beyond, beyond_component, gamma_squared, unit, slack, shift,
    bilateral, sharpness, inside, kind, upper, centre, power, out, share=WHOLE,
):  # fmt: skip
    """out[:, p] += Σ W, −Σ Wχ, Σ Wχ² over the edges of each pair p; the arguments are the fields of `CutEdges`.

    `residual` is (1, n_cut) if both equations of an edge have the same residual, else (2, n_cut). The edges are taken in
    blocks: first the arguments of the functions, then the functions in loops without a branch, then the sums.
    """
    n_sides = len(residual)
    for b in portion(len(blocks) - 1, share):
        begin, end = blocks[b], blocks[b + 1]
        at, stop = start[begin], start[end]
        chi, w, outlier = np.empty(stop - at), np.empty(stop - at), np.empty(stop - at)
        x = np.empty(stop - at)
        for k in range(stop - at):
            w[k] = 0.0
        for side in range(2):
            if side < n_sides:
                for p in range(begin, end):
                    step = shift[np.uint32(tail[p])] - shift[np.uint32(head[p])]
                    for e in range(np.uint64(start[p]), np.uint64(start[p + 1])):
                        chi[e - np.uint64(at)] = residual[side, e] + step
                _outlier_weights(chi, unit[at:stop], slack, at, inside, kind, upper, centre, power, x, outlier)
            if bilateral:
                gamma = gamma_squared[side, at:stop]
                for p in range(begin, end):
                    i, j = np.uint32(tail[p]), np.uint32(head[p])
                    step, own = shift[i] - shift[j], shift[i] if side == 0 else shift[j]
                    for e in range(np.uint64(start[p]), np.uint64(start[p + 1])):
                        between = difference[e] + step
                        c = beyond_component[side, e]
                        away = beyond[side, e] + shift[np.uint32(max(c, 0))] - own
                        x[e - np.uint64(at)] = away * away - between * between if c >= 0 else 0.0
                for k in range(stop - at):
                    w[k] += outlier[k] * gamma[k] / (1.0 + exp(-sharpness * gamma[k] * x[k]))
            else:
                for k in range(stop - at):
                    w[k] += outlier[k]
            if side == 1 or n_sides == 2:
                _add(begin, end, start, at, chi, w, out)
