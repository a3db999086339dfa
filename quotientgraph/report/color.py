"""Colours: ramps that are even to the eye, a palette for labels, and the scale from a value to a colour.

Ramps are drawn in OKLab, where equal steps look equal: lightness falls (or rises) at a constant rate, so a
ramp survives grey printing and colour blindness; hue only helps to name a value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

# OKLab (Björn Ottosson, 2020): L, a, b → cone responses (cubed) → linear sRGB.
_CONES = np.array(
    [
        [1.0, 0.3963377774, 0.2158037573],
        [1.0, -0.1055613458, -0.0638541728],
        [1.0, -0.0894841775, -1.2914855480],
    ]
)
_LINEAR = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)

# name: (lightness, chroma, hue in degrees) at equally spaced knots
_RAMPS: dict[str, tuple[list[float], list[float], list[float]]] = {
    "depth": ([0.965, 0.25], [0.07, 0.10, 0.085, 0.09, 0.11, 0.08], [104, 138, 180, 222, 262, 285]),
    "residual": ([0.955, 0.30], [0.012, 0.07, 0.13, 0.175, 0.16, 0.09], [95, 78, 60, 40, 22, 5]),
    "confidence": ([0.38, 0.95], [0.10, 0.125, 0.11, 0.10, 0.06], [20, 45, 85, 130, 160]),
}


def rgb_from_oklch(lightness: np.ndarray, chroma: np.ndarray, hue: np.ndarray) -> np.ndarray:
    """Return sRGB colours, (n, 3) uint8; colours outside sRGB lose chroma, but keep lightness and hue."""
    direction = np.stack([np.zeros_like(hue), np.cos(np.radians(hue)), np.sin(np.radians(hue))], axis=-1)
    grey = np.stack([lightness, np.zeros_like(hue), np.zeros_like(hue)], axis=-1)

    def linear(c: np.ndarray) -> np.ndarray:
        return ((grey + c[..., None] * direction) @ _CONES.T) ** 3 @ _LINEAR.T

    def fits(c: np.ndarray) -> np.ndarray:
        rgb = linear(c)
        return np.asarray(((rgb >= -1e-4) & (rgb <= 1 + 1e-4)).all(axis=-1))

    inside, outside = np.where(fits(chroma), chroma, 0.0), chroma
    for _ in range(10):  # bisection: a ramp must not jump where it meets the border of sRGB
        middle = (inside + outside) / 2
        good = fits(middle)
        inside, outside = np.where(good, middle, inside), np.where(good, outside, middle)
    out = np.clip(linear(inside), 0, 1)
    encoded = np.where(out <= 0.0031308, 12.92 * out, 1.055 * out ** (1 / 2.4) - 0.055)
    return np.round(255 * encoded).astype(np.uint8)


@lru_cache
def color_ramp(name: str) -> np.ndarray:
    """Return the 256 colours of a ramp, (256, 3) uint8 and read-only: "depth", "residual" or "confidence"."""
    t = np.linspace(0, 1, 256)
    # Cubics through the knots in the mean: a kink would show as a false contour.
    light, chroma, hue = (
        np.polynomial.Polynomial.fit(np.linspace(0, 1, len(k)), k, min(3, len(k) - 1))(t) for k in _RAMPS[name]
    )
    table = rgb_from_oklch(light, chroma, hue)
    table.flags.writeable = False
    return table


def label_colors(identity: np.ndarray) -> np.ndarray:
    """Return colours for integers, (n, 3) uint8; the golden angle keeps consecutive numbers far apart in hue."""
    i = np.asarray(identity, dtype=np.float64)
    hue = (235 + i * 137.50776405) % 360
    light = 0.58 + 0.26 * ((0.35 + i * 0.7548776662) % 1)
    chroma = 0.085 + 0.05 * ((i * 0.5698402910) % 1)
    return rgb_from_oklch(light, chroma, hue)


@dataclass(frozen=True)
class Scale:
    """A map from values to [0, 1], linear or logarithmic; values beyond the ends are clipped."""

    low: float
    high: float
    log: bool = False

    @classmethod
    def of(cls, values: np.ndarray, *, log: bool | None = None, trim: float = 0.0) -> Scale:
        """Return the scale of the finite values, without the `trim` per cent at either end.

        `log=None` takes logarithms when positive values span more than a factor of 50.
        """
        v = np.asarray(values, dtype=np.float64)
        v = v[np.isfinite(v)]
        if log:
            v = v[v > 0]
        if v.size == 0:
            return cls(0.1, 1.0, True) if log else cls(0.0, 1.0)
        low, high = (float(q) for q in np.percentile(v, [trim, 100 - trim]))
        if log is None:
            log = low > 0 and high > 50 * low
        if not high - low > 1e-12 * max(abs(low), abs(high)):
            # A constant: centre it. Zero has no size of its own.
            pad = 0.05 * abs(low) or 0.5
            low, high = (low / 2, high * 2) if log else (low - pad, high + pad)
        return cls(low, high, bool(log))

    def __call__(self, values: np.ndarray | float) -> np.ndarray:
        v = np.asarray(values, dtype=np.float64)
        low, high = self.low, self.high
        if self.log:
            v, low, high = np.log(np.maximum(v, low)), math.log(low), math.log(high)
        # Half the values first: the span of the largest floats does not overflow that way.
        return np.clip((0.5 * v - 0.5 * low) / (0.5 * high - 0.5 * low), 0, 1)

    def ticks(self, wanted: int = 5) -> list[float]:
        """Return about `wanted` round numbers inside the scale."""
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            steps = [10.0**k for k in range(first, last + 1, max(1, round((last - first) / wanted)))]
            found = [s for s in steps if self.low <= s * (1 + 1e-9) and s <= self.high * (1 + 1e-9)]
            if len(found) >= 3:
                return found
            fine = [m * 10.0**k for k in range(first, last + 1) for m in (1, 2, 5)]
            return [s for s in fine if self.low <= s <= self.high] or [self.low, self.high]
        raw = self.high / wanted - self.low / wanted
        unit = 10.0 ** math.floor(math.log10(raw))
        step = next(m * unit for m in (1, 2, 2.5, 5, 10) if m * unit >= raw * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [k * step + 0.0 for k in range(first, last + 1)]


def brief(value: float) -> str:
    """Return a number as people write it: four significant digits, thousands grouped, a real minus sign and exponent.

    >>> brief(1234567), brief(0.000012), brief(-2.50)
    ('1,234,567', '1.2·10⁻⁵', '−2.5')
    """
    if not math.isfinite(value):
        return "–"
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}".replace("-", "−")
    if value and not 1e-3 <= abs(value) < 1e6:
        digits, exponent = f"{value:.2e}".split("e")
        digits = digits.rstrip("0").rstrip(".")
        power = "10" + str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return {"1": power, "-1": "−" + power}.get(digits, f"{digits}·{power}").replace("-", "−")
    return f"{value:,.4g}".replace("-", "−")


def colorize(values: np.ndarray, scale: Scale, name: str) -> np.ndarray:
    """Return the colours of an image of values, (H, W, 3) uint8; NaN gets the colour of the low end."""
    place = np.nan_to_num(scale(values), nan=0.0)
    return color_ramp(name)[np.round(255 * place).astype(np.uint8)]
