"""Models of continuity: the jump of the potential that two neighbouring normals predict.

A model is a function of a `PixelGraph` that returns the jumps φ_tail − φ_head of its edges. Each edge stands for two
equations, one written for its tail and one for its head. A symmetric model (`planar`) predicts the same jump in both
and returns it once, (n_edges,); a one-sided one (`bini`) returns both, (2, n_edges): row 0 is the tail's, row 1 the
head's. After this module no code knows which camera it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from laplacians.core.jit import kernel, prange

from ..graph.pixels import PixelGraph

Continuity = Callable[[PixelGraph], np.ndarray]

# A jump as steep as this, in pixel widths a pixel, is a normal at grazing incidence, not a surface: it predicts
# nothing, and 0 is used instead. At the focal length of the benchmark (3772 px) it is the paper's depth ratio of 1.1;
# a bound on the ratio itself would cut true surfaces of small or wide images.
_MAX_JUMP = 3772 * np.log(1.1)


def planar(graph: PixelGraph) -> np.ndarray:
    """Two half-steps on the two tangent planes, which meet over the point m midway between the pixels.

    Central camera (rays τ): log[(n_a·τ_m)(n_b·τ_b) / ((n_a·τ_a)(n_b·τ_m))]. Orthographic, d = a − b in pixels:
    −½(n_a·d/n_az + n_b·d/n_bz).

    Returns
    -------
    (n_edges,) float64
    """
    return crease_jump(graph, 0.5)


def crease_jump(graph: PixelGraph, position: float, edges: np.ndarray | None = None) -> np.ndarray:
    """The planar jump when the two planes meet at `position` along the edge: 0 at the tail, 1 at the head.

    At 0 the head's plane reaches all the way to the tail; at 1 the tail's plane to the head; `planar` is 0.5.
    """
    tail, head = (graph.tail, graph.head) if edges is None else (graph.tail[edges], graph.head[edges])
    out = np.empty(len(tail))
    camera = graph.map.camera
    x, y = camera.slopes(graph.map.shape)
    limit = _MAX_JUMP / float(np.min(graph.focal))
    _planar(graph.map.normals, graph.map.position, x, y, tail, head, camera.central, position, limit, out)
    return out


def bini(graph: PixelGraph) -> np.ndarray:
    """BiNI's model, each equation on one tangent plane, linearised: n_a·(τ_b − τ_a)/(n_a·τ_a) for the pixel a.

    Orthographic: −n_a·d/n_az with d = a − b.

    Returns
    -------
    (2, n_edges) float64
    """
    out = np.empty((2, graph.n_edges))
    camera = graph.map.camera
    x, y = camera.slopes(graph.map.shape)
    _bini(graph.map.normals, graph.map.position, x, y, graph.tail, graph.head, camera.central, out)
    return out


class PlanarJumps:
    """`planar` computed when asked for instead of stored: eight bytes an edge that a large map does not have.

    Stands where an array of jumps does: it can be indexed by edges and turned into an array.
    """

    ndim = 1

    def __init__(self, graph: PixelGraph) -> None:
        self.graph = graph
        self.shape = (graph.n_edges,)

    def __getitem__(self, key: Any) -> np.ndarray:
        edges = key[-1] if isinstance(key, tuple) else key
        return crease_jump(self.graph, 0.5, np.arange(self.graph.n_edges)[edges] if isinstance(edges, slice) else edges)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return planar(self.graph).astype(dtype or np.float64, copy=False)


@kernel(parallel=True, parallel_from=2**19)
def _planar(normals, position, x, y, tail, head, central, at, limit, out):
    width = x.shape[1]
    for e in prange(len(out)):
        a, b = tail[e], head[e]
        va, ua = position[a] // width, position[a] % width
        vb, ub = position[b] // width, position[b] % width
        ax, ay, az = normals[a, 0], normals[a, 1], normals[a, 2]
        bx, by, bz = normals[b, 0], normals[b, 1], normals[b, 2]
        if central:
            mx = (1.0 - at) * x[va, ua] + at * x[vb, ub]
            my = (1.0 - at) * y[va, ua] + at * y[vb, ub]
            above = (ax * mx + ay * my + az) * (bx * x[vb, ub] + by * y[vb, ub] + bz)
            below = (ax * x[va, ua] + ay * y[va, ua] + az) * (bx * mx + by * my + bz)
            jump = np.log(above / below) if above > 0.0 and below > 0.0 else np.inf
        else:
            du, dv = ua - ub, va - vb
            jump = -at * (ax * du + ay * dv) / az - (1.0 - at) * (bx * du + by * dv) / bz
        out[e] = jump if -limit < jump < limit else 0.0


@kernel(parallel=True, parallel_from=2**19)
def _bini(normals, position, x, y, tail, head, central, out):
    width = x.shape[1]
    for e in prange(out.shape[1]):
        a, b = tail[e], head[e]
        va, ua = position[a] // width, position[a] % width
        vb, ub = position[b] // width, position[b] % width
        for side in range(2):
            i = a if side == 0 else b
            v, u = (va, ua) if side == 0 else (vb, ub)
            nx, ny, nz = normals[i, 0], normals[i, 1], normals[i, 2]
            if central:
                rise = nx * (x[vb, ub] - x[va, ua]) + ny * (y[vb, ub] - y[va, ua])
                out[side, e] = rise / (nx * x[v, u] + ny * y[v, u] + nz)
            else:
                out[side, e] = -(nx * (ua - ub) + ny * (va - vb)) / nz
