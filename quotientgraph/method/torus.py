"""Filling a tile that wraps in both directions and is one component, by Fourier transforms.

Everything here is the same wherever the image begins: shifting the normals of a tile shifts its surface, to rounding. The
surface whose gradient is nearest to the stated one is projected in the frequency domain, which is exact for waves. What no
surface explains of the normals is then fitted under the weights of the filling, by conjugate gradients with the uniformly
weighted problem, which Fourier transforms solve, as the preconditioner.
"""

from __future__ import annotations

import numpy as np
from scipy import fft

from laplacians.core.jit import kernel

from ..geometry.normals import NormalMap
from ..graph.pixels import PixelGraph

_MAX_ITERATIONS = 60
_ENERGY_TOL = 1e-6  # share of the energy that may be left to gain
_LARGEST = 1e3  # a slope above this is a normal at grazing incidence and says nothing
_EXPLAINED = 3.0  # degrees; a depth jump of a twentieth of a pixel turns the normals of a smooth surface more


def is_tile(pixels: PixelGraph) -> bool:
    """Whether the graph is a whole tile that wraps in both directions."""
    m = pixels.map
    return m.wrap.x and m.wrap.y and not m.camera.central and m.n_pixels == m.index.size


def is_continuous(pixels: PixelGraph) -> bool:
    """Whether one surface without any jump has all normals of a tile, to a few degrees; False for what is no tile."""
    if not is_tile(pixels):
        return False
    stated = stated_slopes(pixels.map)
    (p, q), (s, t) = stated, slopes_of(project(*stated))
    right, down = pixels.map.slope
    p, q, s, t = p + right, q + down, s + right, t + down
    cosine = (1 + p * s + q * t) / np.sqrt((1 + p * p + q * q) * (1 + s * s + t * t))
    return bool(cosine.min() > np.cos(np.radians(_EXPLAINED)))


def fill_torus(pixels: PixelGraph, weight: np.ndarray, jump: np.ndarray) -> tuple[np.ndarray, bool, int]:
    """Minimise Σ W (φ_a − φ_b − jump)² over the edges of a tile, the jumps corrected for the curvature between pixels.

    Parameters
    ----------
    pixels : PixelGraph
        For which `is_tile` holds.
    weight, jump : (n_edges,)

    Returns
    -------
    potential : (n_pixels,) float64
    converged : bool
    iterations : int
    """
    shape = pixels.map.shape
    potential = project(*stated_slopes(pixels.map))
    along = slopes_of(potential)
    symbol = _laplacian(shape, pixels.connectivity) * float(weight.mean(dtype=np.float64))
    down, right = pixels.steps()
    r = np.zeros(shape)
    energy = _unexplained(pixels.tail, pixels.head, weight, jump, down, right, *(a.ravel() for a in along), r.ravel())
    del along, down, right

    def preconditioned(values: np.ndarray) -> np.ndarray:
        spectrum = fft.rfft2(values)
        spectrum /= symbol
        spectrum[0, 0] = 0
        return fft.irfft2(spectrum, shape)

    x, z = np.zeros(shape), preconditioned(r)
    p, product = z.copy(), float(np.vdot(r, z))
    iterations = 0
    while product > _ENERGY_TOL * energy and iterations < _MAX_ITERATIONS:
        q = np.zeros(shape)
        _apply(pixels.tail, pixels.head, weight, p.ravel(), q.ravel())
        step = product / float(np.vdot(p, q))
        x += step * p
        r -= step * q
        z = preconditioned(r)
        before, product = product, float(np.vdot(r, z))
        p *= product / before
        p += z
        iterations += 1
    return (potential + x).ravel(), bool(product <= _ENERGY_TOL * energy), iterations


def stated_slopes(normal_map: NormalMap) -> tuple[np.ndarray, np.ndarray]:
    """The derivatives by u and v that the normals of a whole orthographic image state, two (H, W) arrays."""
    n, slope = normal_map.normals, normal_map.slope
    out = []
    for k in (0, 1):
        rise = -n[:, k] / n[:, 2]
        rise[np.abs(rise) > _LARGEST] = 0
        out.append((rise - slope[k]).reshape(normal_map.shape))
    return out[0], out[1]


def project(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """(H, W) the periodic surface whose gradient is nearest to (p, q), by Frankot and Chellappa's projection."""
    u, v = _derivatives(p.shape)
    power = (u * u + v * v).real
    power[0, 0] = -1.0
    spectrum = u * fft.rfft2(p)
    spectrum += v * fft.rfft2(q)
    spectrum /= power
    spectrum[0, 0] = 0
    return fft.irfft2(spectrum, p.shape)


def slopes_of(surface: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The derivatives of a periodic surface by u and v, two (H, W) arrays."""
    spectrum = fft.rfft2(surface)
    u, v = _derivatives(surface.shape)
    return fft.irfft2(u * spectrum, surface.shape), fft.irfft2(v * spectrum, surface.shape)


def _derivatives(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """What a derivative by u and by v is in the spectrum of a real image."""
    return 2j * np.pi * fft.rfftfreq(shape[1])[None, :], 2j * np.pi * fft.fftfreq(shape[0])[:, None]


def _laplacian(shape: tuple[int, int], connectivity: int) -> np.ndarray:
    """Symbol of the Laplacian of a tile with unit weights, (H, W // 2 + 1), 1 in place of its zero."""
    u = 2 * np.pi * fft.rfftfreq(shape[1])[None, :]
    v = 2 * np.pi * fft.fftfreq(shape[0])[:, None]
    out = 4 - 2 * np.cos(u) - 2 * np.cos(v)
    if connectivity == 8:
        out += 4 - 4 * np.cos(u) * np.cos(v)
    out[0, 0] = 1
    return out


@kernel
def _unexplained(tail, head, weight, jump, down, right, p, q, rhs):
    """rhs += Bᵀ W (jump − the change of a surface with slopes p and q by the trapezoid rule). Return the energy."""
    energy = 0.0
    for e in range(len(tail)):
        a, b = tail[e], head[e]
        change = -0.5 * ((p[a] + p[b]) * right[e] + (q[a] + q[b]) * down[e])
        left = jump[e] - change
        flow = weight[e] * left
        rhs[a] += flow
        rhs[b] -= flow
        energy += flow * left
    return energy


@kernel
def _apply(tail, head, weight, x, out):
    """out += L x."""
    for e in range(len(tail)):
        flow = weight[e] * (x[tail[e]] - x[head[e]])
        out[tail[e]] += flow
        out[head[e]] -= flow
