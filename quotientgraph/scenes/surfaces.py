"""Single surfaces: smooth ones, and ones whose normals (nearly) agree across a jump in depth."""

from __future__ import annotations

import numpy as np

from .render import Model, Sheet, Solids
from .scene import scene
from .solids import Array, Ball, Plane, Torus

# One smooth surface -------------------------------------------------------------------------------------


@scene
def plane(*, tilt: float = 30.0, towards: float = 60.0) -> Model:
    """A plane, turned `tilt` degrees away from the image about an axis at `towards` degrees."""
    lean, turn = np.radians(tilt), np.radians(towards)
    across = np.sin(lean)
    up = (across * np.sin(turn), -np.cos(lean), across * np.cos(turn))
    return Solids([Plane(up=up)], eye=(0, -4, 0), target=(0, 0, 0))


@scene
def sphere(*, radius: float = 1.2) -> Model:
    """A ball on an empty background."""
    return Solids([Ball((0, 0, 0), radius)], eye=(0, -4, 0), target=(0, 0, 0))


@scene
def bumps(*, height: float = 0.05) -> Model:
    """Hills and waves without any discontinuity."""
    # x, y, width, size; and wave numbers along x and y, phase, size
    hills = [(-0.2, -0.12, 0.1, -2.0), (0.18, 0.1, 0.13, -2.2), (0.1, -0.2, 0.08, 1.2), (-0.15, 0.2, 0.07, 1)]
    waves = [(9.0, 4.0, 0.3, 0.5), (-7.0, 11.0, 1.1, 0.4), (21.0, 13.0, 2.0, 0.12)]

    def surface(x: Array, y: Array) -> tuple[Array, Array, Array]:
        f, fx, fy = 0.3 * x + 0.1 * y, np.full_like(x, 0.3), np.full_like(x, 0.1)
        for cx, cy, width, size in hills:
            dx, dy = x - cx, y - cy
            g = height * size * np.exp(-(dx**2 + dy**2) / (2 * width**2))
            f, fx, fy = f + g, fx - g * dx / width**2, fy - g * dy / width**2
        for kx, ky, phase, size in waves:
            at = kx * x + ky * y + phase
            slope = height * size * np.cos(at)
            f, fx, fy = f + height * size * np.sin(at), fx + kx * slope, fy + ky * slope
        return f, fx, fy

    return Sheet(surface)


# Surfaces whose normals (nearly) agree across a depth jump ----------------------------------------------


@scene
def step(*, height: float = 0.15, closed: float = 0.35, growth: float = 2.0) -> Model:
    """A step that grows from nothing: its depth is found by going round the closed end.

    The jump in log-depth is ``height * t**growth``, t from 0 at a fraction `closed` of the way down the image
    to 1 at its lower end. Normals differ across the jump only by the slope with which it grows.
    """

    def surface(x: Array, y: Array) -> tuple[Array, Array, Array]:
        top = 0.373 * (2 * closed - 1)  # slopes of a 4:5 image end at ±0.373
        t = np.maximum(y - top, 0) / (0.373 - top)
        right = x > 0.06 * np.sin(9 * y)  # where the jump runs
        lift = np.where(right, -height * t**growth, 0)
        rise = np.where(right & (t > 0), -height * growth * t ** (growth - 1), 0) / (0.373 - top)
        f = 0.25 * x + 0.15 * y + 0.5 * x * x + 0.3 * x * y
        return f + lift, 0.25 + x + 0.3 * y, 0.15 + 0.3 * x + rise

    return Sheet(surface)


@scene
def ramp(*, turns: float = 3.0, rise: float = 0.08, dish: float = 2.5) -> Model:
    """A ramp that winds down a spiral, each turn `rise` nearer in log-depth than the turn inside it.

    Along the border of two turns the normals differ by about `dish` degrees, because the road is slightly
    hollow; the jump does not show otherwise.
    """
    if not 0 < turns < np.inf:
        raise ValueError(f"turns={turns} must be a positive number")
    pitch = 0.37 / (turns + 1)
    hollow = np.tan(np.radians(dish)) * pitch / 2

    def surface(x: Array, y: Array) -> tuple[Array, Array, Array]:
        r = np.maximum(np.hypot(x, y), 1e-12)
        turned_by = np.arctan2(y, x) / (2 * np.pi) % 1.0  # turns
        turn = np.floor(r / pitch - turned_by)
        wound = turned_by + turn
        inside = (wound >= 0.6) & (wound <= 0.6 + turns)
        across = r / pitch - wound - 0.5  # −½ … ½ over the width of the road
        turned_x, turned_y = -y / (2 * np.pi * r * r), x / (2 * np.pi * r * r)
        f = -rise * wound + hollow * across**2
        fx = -rise * turned_x + 2 * hollow * across * (x / (r * pitch) - turned_x)
        fy = -rise * turned_y + 2 * hollow * across * (y / (r * pitch) - turned_y)
        return np.where(inside, f, np.nan), fx, fy

    return Sheet(surface)


@scene
def tube(*, apart: float = 0.12, width: float = 0.07, roundness: float = 0.9) -> Model:
    """A tube with one loop, which passes in front of itself; its depth is found by going round the loop.

    `apart` is the log-depth between the two strands where the hind one ends behind the front one. The sides
    turn away up to an angle that grows with `roundness`: small for a flat band, towards 1 for a full tube.
    """
    # A circle around (0, top), and two of its tangents, which cross at right angles.
    loop, top, half = 0.16, -0.11, np.sqrt(0.5)

    def profile(w: Array, h: Array | float, inside: Array) -> tuple[Array, Array]:
        """Log-depth at offset w from the centre line with log-depth h, and its derivative by w."""
        arch = np.sqrt(np.maximum(1 - (roundness * w / width) ** 2, 0))
        f = np.where(inside & (np.abs(w) < width), h - width * arch, np.inf)
        return f, roundness**2 * w / (width * arch)

    def surface(x: Array, y: Array) -> tuple[Array, Array, Array]:
        y = y - top
        strands = []
        # The straight strands: one comes up from the left; the other ends behind it, so that nothing of the
        # tube is cut off from the rest.
        for side, h, end in ((1.0, 0.0, np.inf), (-1.0, apart, loop)):
            w = half * (side * x + y) - loop
            s = half * (y - side * x)
            f, fw = profile(w, h, (s > 0) & (s < end))
            strands.append((f, half * side * fw, half * fw))
        # The loop between them, three quarters of a turn: its depth changes smoothly, and not at its ends.
        r = np.maximum(np.hypot(x, y), 1e-12)
        t = (np.arctan2(y, x) - np.pi / 4) / (-1.5 * np.pi) % (4 / 3)  # 0 … 1 along the loop
        f, fw = profile(r - loop, apart * t * t * (3 - 2 * t), t <= 1)
        ft = apart * 6 * t * (1 - t) / (-1.5 * np.pi)
        strands.append((f, fw * x / r - ft * y / r**2, fw * y / r + ft * x / r**2))
        first = np.argmin([s[0] for s in strands], axis=0)[None]
        f, fx, fy = (np.take_along_axis(np.stack(part), first, axis=0)[0] for part in zip(*strands))
        return f, fx, fy

    return Sheet(surface)


@scene
def torus(*, elevation: float = 20.0, ring: float = 1.1, thickness: float = 0.42) -> Model:
    """A ring seen at `elevation` degrees above its plane: the near side hides a part of the far side."""
    up = np.radians(elevation)
    return Solids([Torus((0, 0, 0), ring, thickness)], eye=(0.0, -4.2 * np.cos(up), 4.2 * np.sin(up)), target=(0, 0, 0))
