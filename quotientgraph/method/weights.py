"""The pass over the cut edges that every iteration makes, as Numba kernels: weights of edges, added up by pair.

Nearly all of its time went into powers and exponentials, one edge after the other. Here the edges are taken in blocks:
first what the functions are applied to, then the functions, in loops without a branch that compilers turn into vector
instructions, then the sums. `exp` and `log` are written out because a call of the library's ends a vector loop; they are
right to the last digit but one.
"""

from __future__ import annotations

import numpy as np

from laplacians.core.jit import kernel, prange

_BLOCK = 2048  # edges

# Adding this to a number below 2^51 rounds it, and leaves it as an integer in the lowest bits.
_ROUNDER = 6755399441055744.0
_ROUNDER_BITS = 0x4338000000000000
_ROOT_HALF_BITS = 0x3FE6A09E667F3BCD


def edge_blocks(start: np.ndarray) -> np.ndarray:
    """Pairs at which blocks of edges begin, and the end: of some 2000 edges each, or of one pair that has more."""
    n_pairs, n_cut = len(start) - 1, int(start[-1])
    return np.unique(np.append(np.searchsorted(start, np.arange(0, n_cut, _BLOCK)), n_pairs))


@kernel(error_model="numpy", fastmath={"contract"})
def exp(x):
    """eˣ for x between −700 and 700, and of these beyond."""
    x = min(max(x, -700.0), 700.0)
    rounded = x * 1.4426950408889634 + _ROUNDER
    k = rounded - _ROUNDER
    r = x - k * 0.6931471803691238 - k * 1.9082149292705877e-10
    p = 1.6059043836821613e-10 * r + 2.08767569878681e-09
    p = (p * r + 2.505210838544172e-08) * r + 2.755731922398589e-07
    p = (p * r + 2.7557319223985893e-06) * r + 2.48015873015873e-05
    p = (p * r + 0.0001984126984126984) * r + 0.001388888888888889
    p = (p * r + 0.008333333333333333) * r + 0.041666666666666664
    p = (p * r + 0.16666666666666666) * r + 0.5
    p = (p * r + 1.0) * r + 1.0
    return p * np.int64((np.float64(rounded).view(np.int64) << 52) + 0x3FF0000000000000).view(np.float64)


@kernel(error_model="numpy", fastmath={"contract"})
def log(x):
    """Natural logarithm of a positive number."""
    bits = np.float64(x).view(np.int64)
    exponent = (bits - _ROOT_HALF_BITS) >> 52
    m = np.int64(bits - (exponent << 52)).view(np.float64)  # between √½ and √2
    f = (m - 1.0) / (m + 1.0)
    s = f * f
    p = (s / 21 + 1 / 19) * s + 1 / 17
    p = (p * s + 1 / 15) * s + 1 / 13
    p = (p * s + 1 / 11) * s + 1 / 9
    p = (p * s + 1 / 7) * s + 1 / 5
    p = (p * s + 1 / 3) * s + 1.0
    return 2.0 * f * p + (np.int64(exponent + _ROUNDER_BITS).view(np.float64) - _ROUNDER) * 0.6931471805599453


@kernel(error_model="numpy", fastmath={"contract"})
def _outlier_weights(chi, unit, slack, at, inside, kind, upper, centre, power, gap, w):
    """Weights of what χ exceeds its slack by, the gap; what it does not exceed it by counts a part only."""
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


@kernel(error_model="numpy", fastmath={"contract"})
def _add(begin, end, start, at, chi, w, out):
    """Add to the sums of the pairs begin:end, whose edges begin at `at`; w is zero afterwards."""
    for p in range(begin, end):
        total, flow, curve = 0.0, 0.0, 0.0
        for k in range(start[p] - at, start[p + 1] - at):
            total += w[k]
            flow -= w[k] * chi[k]
            curve += w[k] * chi[k] * chi[k]
            w[k] = 0.0
        out[0, p] += total
        out[1, p] += flow
        out[2, p] += curve


@kernel(parallel=True, parallel_from=2**15, error_model="numpy", fastmath={"contract"})
def add_pairs(
    blocks, tail, head, start, difference, residual, beyond, beyond_component, gamma_squared, unit, slack, shift,
    bilateral, inside, kind, upper, centre, power, out,
):  # fmt: skip
    """out[:, p] += Σ W, −Σ Wχ, Σ Wχ² of the edges of each pair; arguments as in `quotientgraph.method.cutedges`.

    `residual` (n_sides, n_cut): of the equations of both sides together, or of each.
    """
    n_sides = len(residual)
    for b in prange(len(blocks) - 1):
        begin, end = blocks[b], blocks[b + 1]
        at, stop = start[begin], start[end]
        chi, w, outlier = np.empty(stop - at), np.empty(stop - at), np.empty(stop - at)
        x = np.empty(stop - at)
        for k in range(stop - at):
            w[k] = 0.0
        for side in range(2):
            if side < n_sides:
                for p in range(begin, end):
                    step = shift[tail[p]] - shift[head[p]]
                    for e in range(start[p], start[p + 1]):
                        chi[e - at] = residual[side, e] + step
                _outlier_weights(chi, unit[at:stop], slack, at, inside, kind, upper, centre, power, x, outlier)
            if bilateral:
                gamma = gamma_squared[side, at:stop]
                for p in range(begin, end):
                    i = tail[p] if side == 0 else head[p]
                    step = shift[tail[p]] - shift[head[p]]
                    for e in range(start[p], start[p + 1]):
                        between = difference[e] + step
                        c = beyond_component[side, e]
                        away = beyond[side, e] + shift[c] - shift[i]
                        x[e - at] = away * away - between * between if c >= 0 else 0.0
                for k in range(stop - at):
                    w[k] += outlier[k] * gamma[k] / (1.0 + exp(-2.0 * gamma[k] * x[k]))
            else:
                for k in range(stop - at):
                    w[k] += outlier[k]
            if side == 1 or n_sides == 2:
                _add(begin, end, start, at, chi, w, out)
