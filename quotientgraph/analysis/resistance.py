"""How firmly components are held to each other: effective resistances, and how well each scale is known.

A border between two components is a spring, or a conductor. Each of its edges states the offset of the two, and how far the
edge can be trusted shows in the residual r that the reconstruction leaves it, as a length in pixels:

    strength = Σ over its edges of  1/noise² · (1 + (r/noise)²)⁻²

which is the weight of Geman and McClure: an edge that fits tells the offset with a variance of noise², one that does not
tells nothing.

Scales add up along a path as potentials do, and as lengths in pixels only where the focal length f is the same everywhere.
So the Laplacian L is that of the conductances strength·f², and it is the inverse covariance of the scales. Its
pseudo-inverse tells the variance of each scale against the mean of its piece, and the *effective resistance*
R_ab = L⁺_aa + L⁺_bb − 2 L⁺_ab the variance of the offset between any two components, all ways between them taken together.
For the pairs of the graph and for the diagonal all are computed exactly at the price of one factorisation
(`laplacians.direct.inverse`). They are given in pixels: times f² of the border, or of the component.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

import laplacians
from laplacians import Direct, LaplacianSystem, Pattern
from laplacians.core.arrays import centred
from laplacians.direct.inverse import inverse_entries

from ..graph.quotient import Quotient


@dataclass(frozen=True)
class _Constants:
    """`noise` was chosen on harvest among 0.001 … 0.3; from 0.005 to 0.02 the ranking of errors hardly changes."""

    noise: float = 0.01  # pixels: what a residual is off by where everything fits
    weakest: float = 1e-9  # relative to the mean strength; what is weaker would leave the factorisation no digits
    most_factorised: int = 300_000  # components; beyond that the numbers are estimated by random solves
    n_probes: int = 64


_CHOSEN = _Constants()


@dataclass(frozen=True, eq=False)
class Resistances:
    """Effective resistances of the pairs of adjacent components, and the variance of each component's scale.

    Attributes
    ----------
    tail, head : (n_pairs,) int32
        The pairs, in the order of `QuotientGraph.edge_table`.
    strength : (n_pairs,) float64
        Conductance of each border by itself, in 1/pixel² at the mean focal length of its edges.
    resistance : (n_pairs,) float64
        Variance of the offset between the two, all ways taken together, in pixel² at the mean focal length of the border.
    variance : (n_components,) float64
        Of the scale of each component against the mean of its connected piece, weighted by sizes, in pixel² at the mean
        focal length of the component.
    """

    tail: np.ndarray
    head: np.ndarray
    strength: np.ndarray
    resistance: np.ndarray
    variance: np.ndarray

    @property
    def leverage(self) -> np.ndarray:
        """(n_pairs,) share, 0 … 1, of the connection between two components that their own border carries.

        1 is a bridge. The shares of a connected graph add up to the number of components less one.
        """
        return np.minimum(self.strength * self.resistance, 1.0)

    @property
    def uncertainty(self) -> np.ndarray:
        """(n_components,) standard deviation of each scale, as a length in pixels at the surface.

        Over the mean focal length of the component's pixels it is a standard deviation of log-depth.
        """
        return np.sqrt(np.maximum(self.variance, 0.0))


def strengths(graph: Quotient, potential: np.ndarray, noise: float = _CHOSEN.noise) -> tuple[Pattern, np.ndarray]:
    """The pairs of adjacent components and the strength of the border between the two, in 1/pixel² at its mean focal length.

    Parameters
    ----------
    graph : Quotient
    potential : (n_pixels,) float64
        A reconstruction, whose residuals tell how well each border fits.
    noise : float
        What a residual is off by where everything fits, in pixels.

    Returns
    -------
    pattern : Pattern
    strength : (n_pairs,) float64
    """
    return _springs(graph, potential, noise)[:2]


def resistances(
    graph: Quotient, potential: np.ndarray, strength: np.ndarray | None = None, *, method: str = "auto"
) -> Resistances:
    """Effective resistances of all borders and the variance of all scales.

    Parameters
    ----------
    graph : Quotient
    potential : (n_pixels,) float64
    strength : (n_pairs,) float64, optional
        Positive conductances in the order of `QuotientGraph.edge_table`; by default those of `strengths`.
    method : "auto", "exact" or "sampled"
        "exact" factorises; "sampled" estimates from 64 random right-hand sides, within about 20 %; "auto" is exact up to
        300,000 components.

    Returns
    -------
    Resistances

    Examples
    --------
    >>> from quotientgraph import QuotientGraph, scenes
    >>> scene = scenes.make("spheres", shape=(40, 50))
    >>> graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv")
    >>> found = resistances(graph, graph.optimize().potential)
    >>> bool(np.isclose(found.leverage.sum(), graph.n_components - graph.pixels.n_pieces))
    True
    """
    if method not in ("auto", "exact", "sampled"):
        raise ValueError(f'method={method!r} is not known; use "auto", "exact" or "sampled"')
    if strength is None:
        pattern, strength, middle = _springs(graph, potential)
    else:
        pattern, _, _, middle = _borders(graph)
        strength = np.asarray(strength, dtype=np.float64)
        if strength.shape != (pattern.n_pairs,) or not (strength > 0).all():
            raise ValueError(
                f"strength: expected {pattern.n_pairs} positive numbers, one per pair, got {strength.shape}"
            )
    system = LaplacianSystem(pattern, strength * np.square(middle), np.zeros_like(strength))
    exact = graph.n_components <= _CHOSEN.most_factorised if method == "auto" else method == "exact"
    resistance, variance = (_exact if exact else _sampled)(system, graph.sizes)
    focal = np.bincount(graph.labels, _pixel_focal(graph)) / graph.sizes
    return Resistances(
        pattern.tail, pattern.head, strength, resistance * np.square(middle), variance * np.square(focal)
    )


def _springs(
    graph: Quotient, potential: np.ndarray, noise: float = _CHOSEN.noise
) -> tuple[Pattern, np.ndarray, np.ndarray]:
    """What `strengths` returns, and the mean focal length of each border, (n_pairs,)."""
    pattern, order, start, middle = _borders(graph)
    if not len(order):
        return pattern, np.zeros(0), middle
    focal = graph.pixels.focal_at(graph.cut)
    size = np.abs(graph.residual(potential)) * focal
    edge = np.square(focal) / np.square(noise + size**2 / noise)
    strength = np.add.reduceat(edge[order], start[:-1]) / np.square(middle)
    return pattern, np.maximum(strength, _CHOSEN.weakest * strength.mean()), middle


def _borders(graph: Quotient) -> tuple[Pattern, np.ndarray, np.ndarray, np.ndarray]:
    """The cut edges by pair, as `Pattern.from_edges` returns them, and the mean focal length of each border, (n_pairs,)."""
    pattern, order, start = Pattern.from_edges(graph.n_components, graph.tail, graph.head)
    if not len(order):
        return pattern, order, start, np.zeros(0)
    total = np.add.reduceat(graph.pixels.focal_at(graph.cut)[order], start[:-1])
    return pattern, order, start, total / np.diff(start)


def _pixel_focal(graph: Quotient) -> np.ndarray:
    return np.broadcast_to(graph.pixels.map.focal, graph.pixels.n_pixels)


def _exact(system: LaplacianSystem, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Resistance of each pair and variance of each node, from entries of the inverse of the grounded Laplacian G.

    The variance of x_i − Σ_j s_j x_j / S is G_ii − 2 (G s)_i / S + sᵀ G s / S² over each piece. What grounds a piece adds
    the same number to all entries of its block of G, which cancels.
    """
    pattern, piece = system.pattern, system.pattern.pieces
    if not pattern.n_pairs:
        return np.zeros(0), np.zeros(pattern.n)
    factor = Direct().factor(system)
    inverse = inverse_entries(factor, pattern.tail, pattern.head)
    total = np.bincount(piece, size)
    pulled = factor.solve(size.astype(np.float64))  # the blocks of G are separate: this is G s for each piece
    spread = np.bincount(piece, size * pulled) / total**2
    variance = inverse.diagonal - 2 * pulled / total[piece] + spread[piece]
    resistance = inverse.diagonal[pattern.tail] + inverse.diagonal[pattern.head] - 2 * inverse.pairs
    return resistance, np.maximum(variance, 0.0)


def _sampled(system: LaplacianSystem, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same, as means over random pulls at the springs."""
    pattern, piece = system.pattern, system.pattern.pieces
    random, solver = np.random.default_rng(0), laplacians.get("auto")
    resistance, variance = np.zeros(pattern.n_pairs), np.zeros(pattern.n)
    total = np.bincount(piece, size)
    for _ in range(_CHOSEN.n_probes):
        pull = random.choice([-1.0, 1.0], pattern.n_pairs) * np.sqrt(system.weight)
        x = solver.solve(replace(system, flow=pull)).x
        resistance += (x[pattern.tail] - x[pattern.head]) ** 2 / _CHOSEN.n_probes
        variance += (x - (np.bincount(piece, size * x) / total)[piece]) ** 2 / _CHOSEN.n_probes
    return resistance, variance


def connection(graph: Quotient, potential: np.ndarray, here: ArrayLike, there: ArrayLike) -> float:
    """Strength of the connection between two regions, all ways between them taken together, in 1/pixel².

    Its inverse square root is the standard deviation, in pixels at the mean focal length of the two regions, of the offset
    between the two.

    Parameters
    ----------
    graph : Quotient
    potential : (n_pixels,) float64
    here, there : integer or integers
        Components of the two regions. Those of one region count as one rigid body.

    Returns
    -------
    float
        0 if nothing connects them.
    """
    a, b = (np.unique(np.atleast_1d(np.asarray(region))) for region in (here, there))
    for name, region in (("here", a), ("there", b)):
        if not len(region) or region.dtype.kind not in "iu" or region[0] < 0 or region[-1] >= graph.n_components:
            raise ValueError(
                f"{name}: expected numbers of components in [0, {graph.n_components}), got {region.tolist()}"
            )
    if len(np.intersect1d(a, b)):
        raise ValueError("here and there share components; the connection is between two separate regions")
    pattern, strength, middle = _springs(graph, potential)
    node = np.arange(graph.n_components)
    node[a], node[b] = a[0], b[0]
    system = LaplacianSystem.from_edges(
        graph.n_components,
        node[pattern.tail],
        node[pattern.head],
        strength * np.square(middle),
        np.zeros(len(strength)),
    )
    if system.pieces[a[0]] != system.pieces[b[0]]:
        return 0.0
    current = np.zeros(graph.n_components)
    current[a[0]], current[b[0]] = 1.0, -1.0
    x = centred(Direct().factor(system).solve(current), system.pieces)
    focal = _pixel_focal(graph)[np.isin(graph.labels, [*a, *b])].mean()
    return float(1 / (x[a[0]] - x[b[0]]) / focal**2)
