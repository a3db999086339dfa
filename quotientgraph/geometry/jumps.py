"""Jumps: how the potential changes along an edge of the pixel graph, as predicted by the two normals at its ends.

An edge joins two neighbouring pixels a (its tail) and b (its head). The two tangent planes predict φ_a − φ_b, once it is
known where between the two pixels the planes meet. The *planar* model lets them meet midway. Wherever they meet, the jump
lies in an *interval*: at one extreme the plane of b reaches all the way to a, at the other the plane of a reaches to b.

A model of continuity is a function ``model(normal_map, tail, head)`` that returns the jumps of edges. Each edge stands for
two equations, one written for its tail and one for its head. A symmetric model (`planar`) predicts the same jump in both
and returns it once, (n_edges,). A one-sided model (`bini`) returns both, (2, n_edges), the tail's equation first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from laplacians.core.jit import WHOLE, kernel, portion

from .normals import NormalMap, row_and_column

Continuity = Callable[[NormalMap, np.ndarray, np.ndarray], np.ndarray]

# A jump steeper than this, in pixel widths per pixel, comes from a normal at grazing incidence and predicts nothing; 0 is
# used instead. At the focal length of the paper's benchmark (3772 pixels) the bound equals its bound on the depth ratio,
# 1.1. A bound on the ratio itself would cut true surfaces in small or wide images.
_STEEPEST = 3772 * np.log(1.1)

_NEAR = 0.06  # |a − b| / (a + b) up to which seven terms of the series of log(a / b) are exact to rounding
_AT_ONCE = 256  # edges whose ratios are kept until their logarithms are taken


def planar(normal_map: NormalMap, tail: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Jumps of edges when the two tangent planes meet midway between the two pixels.

    For a central camera with rays τ and τ_m midway, the jump is log[(n_a·τ_m)(n_b·τ_b) / ((n_a·τ_a)(n_b·τ_m))]. For an
    orthographic camera with d = a − b in pixels, the short way around in an image that wraps, it is
    −½(n_a·d/n_az + n_b·d/n_bz), less the slope that was taken out of the map.

    Parameters
    ----------
    normal_map : NormalMap
    tail, head : (n,) int32
        Valid pixels at the two ends of each edge.

    Returns
    -------
    (n,) float64
        Predicted φ_tail − φ_head.

    Examples
    --------
    >>> flat = NormalMap.from_array(np.tile([0.0, 0.0, 1.0], (1, 2, 1)))
    >>> planar(flat, np.array([0]), np.array([1])).tolist()
    [0.0]
    """
    return crease_jump(normal_map, tail, head, 0.5)


def crease_jump(normal_map: NormalMap, tail: np.ndarray, head: np.ndarray, position: float) -> np.ndarray:
    """Jumps of edges when the two planes meet at `position` along each edge: 0 is the tail, 1 the head.

    Returns
    -------
    (n,) float64
        At 0 the plane of the head alone reaches the tail, at 1 that of the tail reaches the head; 0.5 is `planar`.
    """
    return crease_jumps(normal_map, tail, head, position)[0]


def crease_jumps(normal_map: NormalMap, tail: np.ndarray, head: np.ndarray, *positions: float) -> np.ndarray:
    """(n_positions, n) jumps of edges for creases at several positions, in one pass over the edges."""
    out, camera = np.empty((len(positions), len(tail))), normal_map.camera
    x, y, z = camera.coordinates(normal_map.shape)
    limit = _STEEPEST / float(np.min(normal_map.focal))
    _planar(
        normal_map.normals, normal_map.position, x, y, z, tail, head, camera.central, normal_map.wrap.flags,
        normal_map.slope, np.array(positions), limit, out,
    )  # fmt: skip
    return out


def interval(normal_map: NormalMap, tail: np.ndarray, head: np.ndarray) -> np.ndarray:
    """The range of jumps of two planes that meet anywhere between the two pixels of each edge.

    Returns
    -------
    (2, n) float64
        Least and largest jump. The planar jump lies between them.
    """
    jumps = crease_jumps(normal_map, tail, head, 0.0, 0.5, 1.0)
    return np.stack([jumps.min(axis=0), jumps.max(axis=0)])


def bini(normal_map: NormalMap, tail: np.ndarray, head: np.ndarray) -> np.ndarray:
    """BiNI's model: each equation uses the tangent plane at its own pixel only, linearised.

    The equation of pixel a predicts n_a·(τ_b − τ_a)/(n_a·τ_a); for an orthographic camera −n_a·d/n_az with d = a − b.

    Returns
    -------
    (2, n) float64
        The jump in the equation of the tail, and in that of the head.
    """
    out = np.empty((2, len(tail)))
    x, y, z = normal_map.camera.coordinates(normal_map.shape)
    _bini(
        normal_map.normals, normal_map.position, x, y, z, tail, head, normal_map.camera.central, normal_map.wrap.flags,
        normal_map.slope, out,
    )  # fmt: skip
    return out


class PlanarJumps:
    """The planar jumps of a graph's edges, computed when asked for, which saves eight bytes per edge on large maps.

    The object can be indexed by edge numbers and converted to an array, like the array of jumps that it stands for.
    """

    ndim = 1

    def __init__(self, normal_map: NormalMap, tail: np.ndarray, head: np.ndarray) -> None:
        self.map, self.tail, self.head = normal_map, tail, head
        self.shape = tail.shape

    def __getitem__(self, key: Any) -> np.ndarray:
        edges = key[-1] if isinstance(key, tuple) else key
        return planar(self.map, self.tail[edges], self.head[edges])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return planar(self.map, self.tail, self.head).astype(dtype or np.float64, copy=False)


@kernel(inline="always")
def _apart(a, b, period, wraps):
    """a − b, the short way around if the image wraps after `period` pixels."""
    d = a - b
    if wraps and d == period - 1:
        d = -1
    elif wraps and d == 1 - period:
        d = 1
    return d


@kernel(no_cpython_wrapper=True, error_model="numpy")
def _log_ratios(above, below, limit, out):
    """Write log(above / below) to `out`, or 0 where one of them is not positive or the result is beyond ±limit.

    Near 1 a short series is as exact as the logarithm, and takes several ratios at once. The few others come after it.
    """
    n_far = 0
    for i in range(len(out)):
        s = (above[i] - below[i]) / (above[i] + below[i])
        t = s * s
        jump = 2 * s * (1 + t * (1 / 3 + t * (1 / 5 + t * (1 / 7 + t * (1 / 9 + t * (1 / 11 + t * (1 / 13)))))))
        facing = (above[i] > 0.0) & (below[i] > 0.0)
        out[i] = jump if facing & (-limit < jump) & (jump < limit) else 0.0
        n_far += facing & (abs(s) > _NEAR)
    if n_far:
        for i in range(len(out)):
            s = (above[i] - below[i]) / (above[i] + below[i])
            if above[i] > 0.0 and below[i] > 0.0 and abs(s) > _NEAR:
                jump = np.log(above[i] / below[i])
                out[i] = jump if -limit < jump < limit else 0.0


@kernel(parallel_from=2**19, error_model="numpy")
def _planar(normals, position, x, y, z, tail, head, central, wraps, slope, places, limit, out, share=WHOLE):
    """Write the jump of each edge for a crease at each of the places, or 0 beyond ±limit, to `out` (n_places, n_edges).

    Assumes valid pixel numbers and positions inside x, y and z. What belongs to a tail is read once for the edges in a
    row that have it. Logarithms are taken of some edges at a time.
    """
    height, width = x.shape
    last, va, ua = -1, 0, 0
    xa, ya, za, ax, ay, az, facing = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    above, below = np.empty((len(places), _AT_ONCE)), np.empty((len(places), _AT_ONCE))
    edges = portion(out.shape[1], share)
    for begin in range(edges.start, edges.stop, _AT_ONCE):
        end = min(begin + _AT_ONCE, edges.stop)
        for e in range(begin, end):
            if tail[e] != last:
                last = tail[e]
                a = np.uint32(last)  # unsigned: Numba need not look for negative ones
                va, ua = row_and_column(position[a], width)
                v, u = np.uint32(va), np.uint32(ua)
                xa, ya, za = x[v, u], y[v, u], z[v, u]
                ax, ay, az = normals[a, 0], normals[a, 1], normals[a, 2]
                facing = ax * xa + ay * ya + az * za
            b = np.uint32(head[e])
            vb, ub = row_and_column(position[b], width)
            v, u = np.uint32(vb), np.uint32(ub)
            xb, yb, zb = x[v, u], y[v, u], z[v, u]
            bx, by, bz = normals[b, 0], normals[b, 1], normals[b, 2]
            for k in range(len(places)):
                at = places[k]
                if central:
                    mx, my, mz = (1.0 - at) * xa + at * xb, (1.0 - at) * ya + at * yb, (1.0 - at) * za + at * zb
                    above[k, e - begin] = (ax * mx + ay * my + az * mz) * (bx * xb + by * yb + bz * zb)
                    below[k, e - begin] = facing * (bx * mx + by * my + bz * mz)
                else:
                    du, dv = _apart(ua, ub, width, wraps[0]), _apart(va, vb, height, wraps[1])
                    jump = -at * (ax * du + ay * dv) / az - (1.0 - at) * (bx * du + by * dv) / bz
                    out[k, e] = (jump if -limit < jump < limit else 0.0) - (slope[0] * du + slope[1] * dv)
        if central:
            for k in range(len(places)):
                _log_ratios(above[k], below[k], limit, out[k, begin:end])


@kernel(parallel_from=2**19, error_model="numpy")
def _bini(normals, position, x, y, z, tail, head, central, wraps, slope, out, share=WHOLE):
    """Write both jumps of each edge to `out` (2, n_edges). Assumes valid pixel numbers and positions inside x, y and z."""
    height, width = x.shape
    for e in portion(out.shape[1], share):
        a, b = np.uint32(tail[e]), np.uint32(head[e])  # unsigned: Numba need not look for negative ones
        va, ua = row_and_column(position[a], width)
        vb, ub = row_and_column(position[b], width)
        for side in range(2):
            i = a if side == 0 else b
            v, u = (va, ua) if side == 0 else (vb, ub)
            nx, ny, nz = normals[i, 0], normals[i, 1], normals[i, 2]
            if central:
                rise = nx * (x[vb, ub] - x[va, ua]) + ny * (y[vb, ub] - y[va, ua]) + nz * (z[vb, ub] - z[va, ua])
                out[side, e] = rise / (nx * x[v, u] + ny * y[v, u] + nz * z[v, u])
            else:
                du, dv = _apart(ua, ub, width, wraps[0]), _apart(va, vb, height, wraps[1])
                out[side, e] = -(nx * du + ny * dv) / nz - (slope[0] * du + slope[1] * dv)
