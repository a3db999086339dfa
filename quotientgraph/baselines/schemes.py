"""What tells one reweighted pixel-level method from another, and the terms of its equations.

Every edge (a, b) of the pixel graph stands for two equations φ_a − φ_b = jump, one written for each of its pixels. A scheme
says what the jumps and the weights of these equations are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..geometry.camera import Pinhole
from ..geometry.jumps import bini as one_sided
from ..graph.pixels import PixelGraph
from ..graph.quotient import Quotient
from ..method.weights import Outliers, bilateral_share
from .grazing import believable


def planar_gamma(pixels: PixelGraph) -> np.ndarray:
    """Return γ² of the pixels at the two ends of each edge, (2, n_edges)."""
    return pixels.gamma_squared[np.stack([pixels.tail, pixels.head])]


def bini_terms(pixels: PixelGraph) -> tuple[np.ndarray, np.ndarray]:
    """Return jumps and γ² of BiNI's equations, two (2, n_edges) arrays; row 0 is the equation of the tail.

    The denominator of equation 2, n_x(u − c_x) + n_y(v − c_y) + n_z f, is also γ, with f = f_x along rows and f_y along
    columns. Where these differ it is not quite f·n·τ, and the path of BiNI is sensitive to that: on bear of DiLiGenT, with
    f_y = 0.9965 f_x, MADE is 0.334 mm this way, as its authors have it, and 0.391 mm with one f. The difference exists for
    pinhole cameras with unequal focal lengths and four neighbours only; all others use f·n·τ.
    """
    camera = pixels.map.camera
    gamma, jump = planar_gamma(pixels), one_sided(pixels.map, pixels.tail, pixels.head)
    if isinstance(camera, Pinhole) and camera.fx != camera.fy and pixels.connectivity == 4:
        v, u = np.divmod(pixels.map.position, pixels.map.shape[1])
        n = pixels.map.normals
        lateral = n[:, 0] * (u - camera.cx) + n[:, 1] * (v - camera.cy)
        along_row = pixels.map.position[pixels.head] - pixels.map.position[pixels.tail] == 1
        for side, end in enumerate((pixels.tail, pixels.head)):
            across = np.where(along_row, n[end, 0], n[end, 1])
            g = lateral[end] + n[end, 2] * np.where(along_row, camera.fx, camera.fy)
            with np.errstate(divide="ignore", invalid="ignore"):
                jump[side], gamma[side] = across / g, g * g
    return believable(jump, pixels.map.camera), gamma


@dataclass(frozen=True)
class Scheme:
    """What tells one reweighted pixel-level method from another.

    Attributes
    ----------
    uniform_first : bool
        Whether the first iteration uses uniform weights; if not, it uses bilateral ones at φ = 0, which are ½γ².
    discontinuity : bool
        Whether the jump of each equation is moved towards the present difference, by the fraction β = max(0, 1 − 2w) of
        its bilateral weight w without γ².
    beyond_is_level : bool
        What holds if there is no pixel on the other side of a: if true, the potential is level there; if not, w = ½.
    renewed_energy : bool
        Whether convergence is judged by the energy with weights renewed after the solve; if not, with those of the solve.
    gamma : callable
        Takes the pixel graph and returns γ² of the tail's and the head's equation of each edge, (2, n_edges).
    """

    uniform_first: bool = True
    discontinuity: bool = False
    beyond_is_level: bool = False
    renewed_energy: bool = False
    gamma: Callable[[PixelGraph], np.ndarray] = planar_gamma


LOGDEPTH, LOGDEPTH_D = Scheme(), Scheme(discontinuity=True)
BINI = Scheme(
    uniform_first=False, beyond_is_level=True, renewed_energy=True, gamma=lambda pixels: bini_terms(pixels)[1]
)


class Equations:
    """The two equations of each edge of a graph under a scheme; their weights depend on the potential.

    Parameters
    ----------
    graph : Quotient
        With one component for each pixel.
    scheme : Scheme
    outliers : Outliers
        The outlier reweighting, which begins with the second iteration.
    """

    def __init__(self, graph: Quotient, scheme: Scheme, outliers: Outliers) -> None:
        self.scheme, self.outliers, self.pixels = scheme, outliers, graph.pixels
        pixels = graph.pixels
        self.jump = np.atleast_2d(np.asarray(graph.jump))
        self.gamma = scheme.gamma(pixels)
        self.beyond = pixels.opposites(np.arange(pixels.n_edges))
        self.unit = np.broadcast_to(outliers.scale(pixels.map), (pixels.n_pixels,))

    def terms(self, phi: np.ndarray, first: bool) -> np.ndarray:
        """Return Σ W, −Σ W·χ, Σ W·χ² and Σ W·jump over the two equations of each edge, (4, n_edges).

        Parameters
        ----------
        phi : (n_pixels,) float64
            The potential from which residuals χ = φ_a − φ_b − jump and weights W are computed.
        first : bool
            Whether this is the first iteration, which has no outlier weights.
        """
        scheme, pixels = self.scheme, self.pixels
        outliers = replace(self.outliers, kind="none") if first else self.outliers
        difference = phi[pixels.tail] - phi[pixels.head]
        out = np.zeros((4, len(difference)))
        for side, (end, sign) in enumerate(((pixels.tail, 1.0), (pixels.head, -1.0))):
            jump = self.jump[side if len(self.jump) == 2 else 0]
            chi = difference - jump
            weight = outliers.weight(chi * self.unit[end])
            if not (first and scheme.uniform_first):
                gamma = self.gamma[side]
                share = bilateral_share(gamma, self._contrast(phi, difference, side, end))
                weight *= gamma * share
                if scheme.discontinuity:
                    jump = self._moved(jump, difference, share, sign)
                    chi = difference - jump
            out[0] += weight
            out[1] -= weight * chi
            out[2] += weight * chi * chi
            out[3] += weight * jump
        return out

    def _contrast(self, phi: np.ndarray, difference: np.ndarray, side: int, end: np.ndarray) -> np.ndarray:
        """Return (φ_−b − φ_a)² − (φ_b − φ_a)² for the equations of one side; 0 makes the weight ½γ²."""
        beyond = self.beyond[side]
        away = phi[beyond] - phi[end]
        if self.scheme.beyond_is_level:
            away[beyond < 0] = 0.0
            return away * away - difference * difference
        return np.where(beyond >= 0, away * away - difference * difference, 0.0)

    def _moved(self, jump: np.ndarray, difference: np.ndarray, share: np.ndarray, sign: float) -> np.ndarray:
        """Return jumps moved towards the present difference by β = max(0, 1 − 2·share), for central cameras in depth."""
        beta = np.maximum(0.0, 1.0 - 2.0 * share)
        if not self.pixels.map.camera.central:
            return jump + beta * (difference - jump)
        present = np.exp(np.clip(sign * difference, -700.0, 700.0))
        ahead = sign * np.log((1.0 - beta) * np.exp(sign * jump) + beta * present)
        return np.where(beta > 0, ahead, jump)
