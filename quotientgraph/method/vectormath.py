"""Exponential and logarithm written out, so that loops which use them compile to vector instructions.

A call of the mathematical library would end such a loop. Both functions are accurate to the last digit but one.
"""

from __future__ import annotations

import numpy as np

from laplacians.core.jit import kernel

# Adding this to a number below 2^51 rounds it, and leaves it as an integer in the lowest bits.
_ROUNDER = 6755399441055744.0
_ROUNDER_BITS = 0x4338000000000000
_ROOT_HALF_BITS = 0x3FE6A09E667F3BCD


@kernel(inline="always", error_model="numpy", fastmath={"contract"})
def exp(x):
    """eˣ; an argument outside [−700, 700] is moved to the nearer end of that range."""
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


@kernel(inline="always", error_model="numpy", fastmath={"contract"})
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
