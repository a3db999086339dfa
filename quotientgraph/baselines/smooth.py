"""The fast, smooth references: plain least squares, and projection by Fourier transform."""

from __future__ import annotations

from typing import Any

import numpy as np

import laplacians
from laplacians.checked import solve_checked

from ..graph.quotient import Quotient
from ..method.outcome import Outcome, Step
from ..method.torus import project
from .grazing import believable
from .outcome import needs_pixels, outcome


def poisson(graph: Quotient, *, solver: Any = "auto", progress: Any = None) -> Outcome:
    """Integrate by plain least squares: every equation counts the same, and one solve does; discontinuities are smoothed.

    Parameters
    ----------
    graph : Quotient
        With one component for each pixel (``angle=None``).
    solver : "auto", a backend's name or an object with ``solve(system)``
    progress : callable, optional
        Is given the one `Step`.

    Returns
    -------
    Outcome

    Examples
    --------
    >>> import numpy as np
    >>> from quotientgraph import integrate
    >>> integrate(np.tile([0.0, 0.0, 1.0], (4, 5, 1)), method="poisson").converged
    True
    """
    needs_pixels(graph)
    began = laplacians.working_clock()
    pixels = graph.pixels
    jump = np.atleast_2d(np.asarray(graph.jump)).mean(axis=0)
    energy = float(jump @ jump) * 2
    pattern = laplacians.Pattern(pixels.n_pixels, pixels.tail, pixels.head)
    system = laplacians.LaplacianSystem(pattern, np.full(pixels.n_edges, 2.0), 2 * jump, energy)
    solution = solve_checked(laplacians.get(solver) if isinstance(solver, str) else solver, system, energy, 0)
    left = 2 * float(np.sum(np.square(graph.residual(solution.x, np.arange(pixels.n_edges)))))
    seconds = laplacians.working_clock() - began
    step = Step(1, 0, graph.n_components, left, solution.iterations, seconds)
    if callable(progress):
        progress(step)
    return outcome(graph, solution.x, [step], seconds, solution.converged, not solution.converged)


def fft(graph: Quotient, *, boundary: str | None = None, progress: Any = None) -> Outcome:
    """Integrate by Frankot and Chellappa's projection of the gradient field onto integrable ones, by Fourier transform.

    Parameters
    ----------
    graph : Quotient
        Outside its valid pixels the gradient is taken to be zero.
    boundary : "mirror" or "periodic", optional
        With "mirror" the image is continued by its mirror images, so that opposite borders need not agree. "periodic" is
        the original method, a quarter of the work. By default periodic in the directions in which the image wraps, and
        mirrored in the others.
    progress : callable, optional
        Is given the one `Step`.

    Returns
    -------
    Outcome
    """
    if boundary not in (None, "mirror", "periodic"):
        raise ValueError(f'boundary={boundary!r} is not known; use "mirror" or "periodic"')
    began = laplacians.working_clock()
    p, q = gradients(graph)
    wrap = graph.pixels.map.wrap
    periodic = (wrap.x, wrap.y) if boundary is None else (boundary == "periodic",) * 2
    phi = surface_of(p, q, *periodic).ravel()[graph.pixels.map.position]
    seconds = laplacians.working_clock() - began
    energy = 2 * float(np.sum(np.square(graph.residual(phi, np.arange(graph.pixels.n_edges)))))
    step = Step(1, 0, graph.n_components, energy, 1, seconds)
    if callable(progress):
        progress(step)
    return outcome(graph, phi, [step], seconds, True, 0)


def surface_of(p: np.ndarray, q: np.ndarray, around_x: bool = False, around_y: bool = False) -> np.ndarray:
    """(H, W) the surface whose derivatives by u and v are nearest to (p, q), by Fourier transform, of mean 0.

    It is periodic in the directions that go around. In the others the image is continued by its mirror image.

    Examples
    --------
    >>> v, u = np.mgrid[:16, :16]
    >>> surface_of(0.5 * np.ones((16, 16)), np.zeros((16, 16)))[0, 3:6].round(2).tolist()
    [-2.23, -1.76, -1.24]
    """
    height, width = p.shape
    if not around_x:
        p, q = np.hstack([p, -p[:, ::-1]]), np.hstack([q, q[:, ::-1]])
    if not around_y:
        p, q = np.vstack([p, p[::-1]]), np.vstack([q, -q[::-1]])
    return project(p, q)[:height, :width]


def gradients(graph: Quotient) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivatives of the potential by u and by v that the normals state, two (H, W) arrays, 0 outside.

    For a central camera it is −n·∂τ/(n·τ), with the derivative ∂τ of the ray; for an orthographic one −n_x/n_z and −n_y/n_z.
    Derivatives that no surface has, from normals at a right angle to the ray, are 0.
    """
    m, facing = graph.pixels.map, graph.pixels.map.facing
    if m.camera.central:
        rays = m.camera.coordinates(m.shape)
        out = []
        for axis in (1, 0):
            if m.shape[axis] < 2:
                out.append(np.zeros(m.n_pixels))
                continue
            parts = [rays[0], rays[1], rays[2]] if m.camera.spherical else [rays[0], rays[1]]
            changes = (np.gradient(part, axis=axis).ravel()[m.position] for part in parts)
            out.append(np.sum([m.normals[:, k] * change for k, change in enumerate(changes)], axis=0))
    else:
        out = [m.normals[:, 0], m.normals[:, 1]]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        p, q = (m.image(believable(-rise / facing, m.camera) - s, 0.0) for rise, s in zip(out, m.slope, strict=True))
    return p, q
