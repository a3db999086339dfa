"""Filling a tile that wraps in both directions and has no jumps, by Fourier transforms.

Everything here is the same wherever the image begins: shifting the normals of a tile shifts its surface, to rounding. The
surface whose gradient is nearest to the stated one is projected in the frequency domain, which is exact for waves. What no
surface explains of the normals is then fitted under the weights of the filling, by conjugate gradients with the uniformly
weighted problem, which Fourier transforms solve, as the preconditioner. No list of edges is needed.
"""

from __future__ import annotations

import numpy as np
import scipy

from laplacians.core.jit import WHOLE, kernel, portion

from ..geometry.normals import NormalMap
from ..graph.pixels import PixelGraph

_MAX_ITERATIONS = 60
_ENERGY_TOL = 1e-6  # share of the energy that may be left to gain
_LARGEST = 1e3  # a slope above this is a normal at grazing incidence and says nothing
_EXPLAINED = 3.0  # degrees; a depth jump of a twentieth of a pixel turns the normals of a smooth surface more


def is_continuous(pixels: PixelGraph) -> bool:
    """Whether one surface without any jump has all normals of a whole tile, to a few degrees.

    False for an image that does not wrap in both directions, has invalid pixels, or in which edges were taken out.
    """
    m = pixels.map
    if not (m.wrap.x and m.wrap.y) or m.camera.central or m.n_pixels != m.index.size or len(pixels.removed):
        return False
    stated = stated_slopes(m)
    return explains(*stated, *slopes_of(project(*stated)), m.slope)


def explains(p: np.ndarray, q: np.ndarray, along: np.ndarray, down: np.ndarray, slope: tuple[float, float]) -> bool:
    """Whether slopes (p, q) and those of a surface, all (H, W) and less the net slope, are of the same normals."""
    cosine = np.empty(len(p))
    _least_cosine(p, q, along, down, slope, cosine)
    return bool(cosine.min() > np.cos(np.radians(_EXPLAINED)))


def fill_torus(pixels: PixelGraph) -> tuple[np.ndarray, bool, int]:
    """Minimise Σ W (φ_a − φ_b − jump)² over the edges of a tile, the jumps corrected for the curvature between pixels.

    Parameters
    ----------
    pixels : PixelGraph
        For which `is_continuous` holds.

    Returns
    -------
    potential : (n_pixels,) float64
    converged : bool
    iterations : int
    """
    m = pixels.map
    p, q = stated_slopes(m)
    potential = project(p, q)
    along, down = slopes_of(potential)
    p -= along
    q -= down
    del along, down
    gamma = 0.5 * np.square(m.normals[:, 2]).reshape(m.shape)
    r, energy = np.empty(m.shape), np.empty(m.shape[0])
    _unexplained(p, q, gamma, pixels.connectivity == 8, r, energy)
    del p, q
    symbol = _laplacian(m.shape, pixels.connectivity) * float(2 * gamma.mean())
    x, converged, iterations = _solve(gamma, pixels.connectivity == 8, symbol, r, _ENERGY_TOL * float(energy.sum()))
    potential += x
    return potential.ravel(), converged, iterations


def _solve(
    gamma: np.ndarray, diagonal: bool, symbol: np.ndarray, r: np.ndarray, goal: float
) -> tuple[np.ndarray, bool, int]:
    """Solve L x = r by conjugate gradients until the energy left to gain is `goal`; r is overwritten."""

    def preconditioned(values: np.ndarray) -> np.ndarray:
        spectrum = scipy.fft.rfft2(values)
        spectrum /= symbol
        spectrum[0, 0] = 0
        return scipy.fft.irfft2(spectrum, values.shape, overwrite_x=True)

    x, q = np.zeros_like(r), np.empty_like(r)
    p = preconditioned(r)
    product = float(np.vdot(r, p))
    iterations = 0
    while product > goal and iterations < _MAX_ITERATIONS:
        _apply(gamma, diagonal, p, q)
        step = product / float(np.vdot(p, q))
        _add(step, p, x)
        _add(-step, q, r)
        z = preconditioned(r)
        before, product = product, float(np.vdot(r, z))
        p *= product / before
        p += z
        iterations += 1
    return x, product <= goal, iterations


def stated_slopes(normal_map: NormalMap) -> tuple[np.ndarray, np.ndarray]:
    """The derivatives by u and v that the normals of a whole orthographic image state, two (H, W) arrays."""
    n, slope = normal_map.normals, normal_map.slope
    out = []
    for k in (0, 1):
        rise = n[:, k] / n[:, 2]
        rise[np.abs(rise) > _LARGEST] = 0
        np.subtract(-slope[k], rise, out=rise)
        out.append(rise.reshape(normal_map.shape))
    return out[0], out[1]


def project(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """(H, W) the periodic surface whose gradient is nearest to (p, q), by Frankot and Chellappa's projection."""
    spectrum = project_spectrum(scipy.fft.rfft2(p), scipy.fft.rfft2(q), *derivatives(p.shape))
    return scipy.fft.irfft2(spectrum, p.shape, overwrite_x=True)


def project_spectrum(p: np.ndarray, q: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The same for spectra, or columns of them: that of the surface. Both are overwritten; u and v are the `derivatives`."""
    p *= u
    q *= v
    p += q
    power = np.square(u.imag) + np.square(v.imag)
    power[power == 0] = np.inf  # the mean is not determined
    p /= -power
    return p


def slopes_of(surface: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The derivatives of a periodic surface by u and v, two (H, W) arrays."""
    spectrum = scipy.fft.rfft2(surface)
    u, v = derivatives(surface.shape)
    along = scipy.fft.irfft2(u * spectrum, surface.shape, overwrite_x=True)
    spectrum *= v
    return along, scipy.fft.irfft2(spectrum, surface.shape, overwrite_x=True)


def derivatives(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """What a derivative by u and by v is in the spectrum of a real image."""
    return 2j * np.pi * scipy.fft.rfftfreq(shape[1])[None, :], 2j * np.pi * scipy.fft.fftfreq(shape[0])[:, None]


def _laplacian(shape: tuple[int, int], connectivity: int) -> np.ndarray:
    """Symbol of the Laplacian of a tile with unit weights, (H, W // 2 + 1), 1 in place of its zero."""
    u = np.cos(2 * np.pi * scipy.fft.rfftfreq(shape[1]))[None, :]
    v = np.cos(2 * np.pi * scipy.fft.fftfreq(shape[0]))[:, None]
    out = 4 - 2 * u - 2 * v if connectivity == 4 else 8 - 2 * u - 2 * v - 4 * u * v
    out[0, 0] = 1
    return out


@kernel(parallel_from=2**19)
def _least_cosine(p, q, s, t, slope, least, share=WHOLE):
    """Write the least cosine, in each row, of the angle between normals of slopes (p, q) and (s, t), all plus `slope`."""
    for v in portion(len(p), share):
        least[v] = 1.0
        for u in range(p.shape[1]):
            a, b, c, d = p[v, u] + slope[0], q[v, u] + slope[1], s[v, u] + slope[0], t[v, u] + slope[1]
            cosine = (1 + a * c + b * d) / np.sqrt((1 + a * a + b * b) * (1 + c * c + d * d))
            least[v] = min(least[v], cosine)


@kernel(parallel_from=2**19)
def _unexplained(p, q, gamma, diagonal, rhs, energy, share=WHOLE):
    """Write Bᵀ W j, where j is the change of a surface with slopes p and q by the trapezoid rule, and jᵀ W j of each row."""
    height, width = p.shape
    for v in portion(height, share):
        energy[v] = 0.0
        for u in range(width):
            total = 0.0
            for dv in range(-1, 2):
                for du in range(-1, 2):
                    if (dv == 0 and du == 0) or (dv != 0 and du != 0 and not diagonal):
                        continue
                    y, x = (v + dv) % height, (u + du) % width
                    jump = -0.5 * ((p[v, u] + p[y, x]) * du + (q[v, u] + q[y, x]) * dv)
                    flow = (gamma[v, u] + gamma[y, x]) * jump
                    total += flow
                    energy[v] += 0.5 * flow * jump
            rhs[v, u] = total


@kernel(parallel_from=2**19)
def _apply(gamma, diagonal, x, out, share=WHOLE):
    """out = L x, the weight of an edge being the sum of `gamma` at its ends."""
    height, width = x.shape
    for v in portion(height, share):
        above, below = (v - 1) % height, (v + 1) % height
        for u in range(width):
            left, right = (u - 1) % width, (u + 1) % width
            g, c = gamma[v, u], x[v, u]
            total = (g + gamma[v, left]) * (c - x[v, left]) + (g + gamma[v, right]) * (c - x[v, right])
            total += (g + gamma[above, u]) * (c - x[above, u]) + (g + gamma[below, u]) * (c - x[below, u])
            if diagonal:
                total += (g + gamma[above, left]) * (c - x[above, left]) + (g + gamma[above, right]) * (
                    c - x[above, right]
                )
                total += (g + gamma[below, left]) * (c - x[below, left]) + (g + gamma[below, right]) * (
                    c - x[below, right]
                )
            out[v, u] = total


@kernel(parallel_from=2**19)
def _add(factor, x, out, share=WHOLE):
    """out += factor · x."""
    for v in portion(len(x), share):
        for u in range(x.shape[1]):
            out[v, u] += factor * x[v, u]
