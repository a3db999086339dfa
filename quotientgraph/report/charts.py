"""Charts as inline SVG: lines over iterations, bars of time, colour bars. page.css gives the colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from .color import Scale, brief, color_ramp

WIDTH, HEIGHT = 400, 250
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 12, 42
MAX_DOTS = 300


def line_chart(
    name: str,
    x: Sequence[float],
    y: Sequence[float],
    *,
    x_label: str,
    y_label: str,
    marks: Sequence[tuple[float, str]] = (),
    counts: bool = False,
) -> str:
    """Return one curve with axes as SVG; the y axis is logarithmic if the values span a large factor.

    Parameters
    ----------
    name : str
        Class of the element.
    x, y : sequences of numbers
        Points whose y is None or not finite are left out.
    x_label, y_label : str
    marks : sequence of (x, label)
        Vertical lines.
    counts : bool
        Whether the values are whole numbers that hold until they change; they are drawn as a staircase.
    """
    pairs = [(float(a), float(b)) for a, b in zip(x, y) if b is not None and math.isfinite(b)]
    if not pairs:
        return '<p class="nothing">No iteration was run, so there is no curve.</p>'
    xs, ys = np.array(pairs).T
    across = Scale(float(xs.min()), max(float(xs.max()), float(xs.min()) + 1))
    up = _y_scale(ys, counts)
    px = LEFT + across(xs) * (WIDTH - LEFT - RIGHT)
    py = HEIGHT - BOTTOM - up(ys) * (HEIGHT - TOP - BOTTOM)
    parts = [_grid(across, up, counts)]
    for at, label in marks:
        u = LEFT + float(across(at)) * (WIDTH - LEFT - RIGHT)
        parts.append(
            f'<line class="mark" x1="{u:.1f}" x2="{u:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}">'
            f"<title>{escape(label)}</title></line>"
        )
    curve = list(zip(px, py))
    if counts:  # a count holds until it changes
        curve = [p for (a, b), (_, before) in zip(curve, [curve[0], *curve]) for p in ((a, before), (a, b))]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in curve)
    parts.append(f'<polyline class="curve" points="{path}"/>')
    # One hover target per shown point; the last point always is one.
    shown = sorted({*range(0, len(xs), math.ceil(len(xs) / MAX_DOTS)), len(xs) - 1})
    for i in shown:
        label = escape(f"{x_label} {brief(xs[i])} · {brief(ys[i])}")
        last = " last" if i == len(xs) - 1 else ""
        parts.append(
            f'<circle class="dot{last}" cx="{px[i]:.1f}" cy="{py[i]:.1f}" r="3.5" data-label="{label}">'
            f"<title>{label}</title></circle>"
        )
    parts.append(f'<text class="label" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}">{escape(x_label)}</text>')
    parts.append('<g class="reading"><rect height="22" rx="4"/><text></text></g>')
    told = f"{y_label} against {x_label}: from {brief(ys[0])} to {brief(ys[-1])} in {len(ys)} points"
    return _svg(f"chart {name}", WIDTH, HEIGHT, told, parts)


def _y_scale(ys: np.ndarray, whole: bool) -> Scale:
    low, high = float(ys.min()), float(ys.max())
    if low > 0 and high > 20 * low:
        return Scale(low / 1.15, high * 1.15, True)
    if whole or 0 < low < 0.5 * high:
        low = 0.0
    pad = 0.06 * (high - low) or 0.05 * abs(high) or 0.5
    return Scale(low if low == 0 else low - pad, high + pad)


def _grid(across: Scale, up: Scale, whole: bool) -> str:
    parts = []
    for tick in across.ticks(6):
        if tick == int(tick):
            u = LEFT + float(across(tick)) * (WIDTH - LEFT - RIGHT)
            parts.append(f'<text class="tick below" x="{u:.1f}" y="{HEIGHT - BOTTOM + 17}">{brief(tick)}</text>')
    for tick in up.ticks(5):
        if whole and tick != int(tick):
            continue
        v = HEIGHT - BOTTOM - float(up(tick)) * (HEIGHT - TOP - BOTTOM)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{v:.1f}" y2="{v:.1f}"/>')
        parts.append(f'<text class="tick left" x="{LEFT - 7}" y="{v + 4:.1f}">{brief(tick)}</text>')
    base = HEIGHT - BOTTOM
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>')
    return "".join(parts)


def bar_chart(name: str, seconds: dict[str, float]) -> str:
    """Return horizontal bars of the seconds of each stage as SVG."""
    if not seconds:
        return '<p class="nothing">No times were recorded.</p>'
    total = sum(seconds.values()) or 1.0
    longest = max(max(seconds.values()), 1e-12)
    room = min(40, max(26, (HEIGHT - 20) // len(seconds)))
    parts = []
    for i, (stage, value) in enumerate(seconds.items()):
        y = 8 + i * room
        width = max(2.0, value / longest * (WIDTH - 100 - 110))
        told = f"{clock(value)} · {100 * value / total:.0f} %"
        parts.append(
            f'<text class="stage" x="92" y="{y + room / 2 + 4:.1f}">{escape(stage)}</text>'
            f'<rect class="bar" x="100" y="{y + 5}" width="{width:.1f}" height="{room - 10}" rx="3"/>'
            f'<text class="amount" x="{107 + width:.1f}" y="{y + room / 2 + 4:.1f}">{told}</text>'
        )
    told = ", ".join(f"{stage} {clock(value)}" for stage, value in seconds.items())
    return _svg(f"chart {name}", WIDTH, 16 + room * len(seconds), f"Time per stage: {told}", parts)


def color_bar(name: str, scale: Scale, unit: str = "", key: str | None = None) -> str:
    """Return the colour ramp `name` with the values of `scale` underneath as SVG; `key` is unique in a page."""
    key = key or name
    width, pad = 320, 14
    table = color_ramp(name)
    stops = "".join(
        f'<stop offset="{i / 12:.4f}" stop-color="#{bytes(table[round(i * 255 / 12)]).hex()}"/>' for i in range(13)
    )
    parts = [
        f'<defs><linearGradient id="ramp-{key}">{stops}</linearGradient></defs>'
        f'<rect x="{pad}" y="2" width="{width - 2 * pad}" height="9" rx="2" fill="url(#ramp-{key})"/>'
    ]
    for tick in scale.ticks(5):
        u = pad + float(scale(tick)) * (width - 2 * pad)
        parts.append(f'<line class="axis" x1="{u:.1f}" x2="{u:.1f}" y1="11" y2="15"/>')
        parts.append(f'<text class="tick below" x="{u:.1f}" y="27">{brief(tick)}</text>')
    told = f"Colours from {brief(scale.low)} to {brief(scale.high)}{unit}"
    return _svg("colorbar", width, 32, told, parts)


def clock(seconds: float) -> str:
    """Return a time as people write it.

    >>> clock(0.0123), clock(2.5), clock(200)
    ('12 ms', '2.50 s', '3 min 20 s')
    """
    if not math.isfinite(seconds):
        return "–"
    if seconds < 0.9995:
        return f"{1e3 * seconds:.0f} ms" if seconds >= 0.0095 else f"{1e3 * seconds:.1f} ms"
    return f"{seconds:.2f} s" if seconds < 120 else f"{int(seconds // 60)} min {int(seconds % 60)} s"


def _svg(kind: str, width: int, height: int, told: str, parts: list[str]) -> str:
    start = f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(told)}">'
    return "".join([start, *parts, "</svg>"])
