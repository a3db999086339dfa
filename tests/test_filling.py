"""Filling: each component integrated on its own."""

import numpy as np
import pytest

from quotientgraph import QuotientGraph, solvers
from quotientgraph.geometry.jumps import bini
from quotientgraph.method.filling import fill

ALL = ["direct", "multigrid", "numba", "scipy"]


def energy(graph, potential):
    """Σ W (φ_a − φ_b − jump)² over the edges inside components, W = ½γ_a² + ½γ_b²."""
    inside = np.setdiff1d(np.arange(graph.pixels.n_edges), graph.cut)
    gamma = graph.pixels.gamma_squared
    weight = 0.5 * (gamma[graph.pixels.tail[inside]] + gamma[graph.pixels.head[inside]])
    return float(weight @ graph.residual(potential, inside) ** 2)


@pytest.mark.parametrize("name", ["plane", "plane_orthographic", "one_row", "one_column", "disconnected"])
def test_planes_are_filled_exactly(name, toy):
    """A plane's potential is its true one, up to a constant per component, to rounding."""
    scene = toy(name)
    graph = QuotientGraph.from_normals(**scene.arguments)
    error = graph.filled() - scene.camera.potential(scene.depth).ravel()[graph.pixels.map.position]
    for c in range(graph.n_components):
        assert np.ptp(error[graph.labels == c]) < 1e-12


def test_the_mean_over_each_component_is_zero(noisy_graph):
    """Each component is centred: the choice of its constant is left to the scales."""
    graph = noisy_graph(1, (20, 20))
    mean = np.bincount(graph.labels, graph.filled()) / np.bincount(graph.labels)
    assert np.abs(mean).max() < 1e-10


@pytest.mark.parametrize("solver", ["auto", *ALL])
def test_filling_is_a_minimum(solver, noisy_graph):
    """No small change of the potential lowers the energy, whichever backend solved."""
    graph = noisy_graph(2, (20, 24), 0.1, angle=20.0)
    options = {} if solver in ("auto", "direct") else {"rtol": 1e-10}
    filling = fill(graph, solver if solver == "auto" else solvers.get(solver, **options))
    assert filling.converged
    least = energy(graph, filling.potential)
    random = np.random.default_rng(0)
    for size in (1e-3, 1e-1):
        assert energy(graph, filling.potential + random.normal(0, size, graph.pixels.n_pixels)) > least
    exact = energy(graph, fill(graph, solvers.get("direct")).potential)
    assert least <= exact * (1 + 2e-6)


def test_components_do_not_touch_each_other(toy):
    """Filling a component alone gives the same potential as filling all at once."""
    scene = toy("sphere")
    graph = QuotientGraph.from_normals(**scene.arguments, angle=6.0)
    potential = fill(graph, solvers.get("direct")).potential
    image = graph.pixels.map.image(potential)
    for c in np.argsort(-np.bincount(graph.labels))[:3]:
        mask = graph.label_image() == c
        alone = QuotientGraph.from_normals(**{**scene.arguments, "mask": mask}, angle=180)
        assert alone.n_components == 1
        np.testing.assert_allclose(fill(alone, solvers.get("direct")).potential, image[mask], atol=1e-9)


def test_a_component_per_pixel_needs_no_filling(noisy_graph):
    """With angle None there is no edge inside a component and every potential is zero."""
    filling = fill(noisy_graph(angle=None))
    assert (filling.potential == 0).all()
    assert (filling.converged, filling.iterations) == (True, 0)


def test_two_sided_jumps_are_weighted_by_confidence(toy):
    """BiNI's two equations of an edge act like one with the mean of their jumps, weighted by γ²."""
    graph = QuotientGraph.from_normals(**toy("sphere").arguments, angle=180, continuity=bini)
    filled = fill(graph, solvers.get("direct")).potential
    g, p = graph.pixels.gamma_squared, graph.pixels
    mean = (g[p.tail] * graph.jump[0] + g[p.head] * graph.jump[1]) / (g[p.tail] + g[p.head])
    merged = QuotientGraph(p, mean, graph.labels, graph.cut)
    np.testing.assert_allclose(fill(merged, solvers.get("direct")).potential, filled, atol=1e-10)


def test_a_sphere_is_filled_to_its_shape(toy):
    """A smooth surface filled as one component has a relative depth error of the order of a pixel squared."""
    scene = toy("sphere")
    graph = QuotientGraph.from_normals(**scene.arguments, angle=180)
    ratio = np.exp(graph.filled()) / scene.depth[scene.mask]
    assert np.std(ratio) / np.mean(ratio) < 2e-4


class Bad:
    def __init__(self, answer):
        self.answer = answer

    def solve(self, system):
        return self.answer(system)


@pytest.mark.parametrize(
    "answer",
    [
        lambda s: solvers.Solution(np.full(s.n, np.nan), True, 1, 0.0),
        lambda s: solvers.Solution(np.zeros(s.n + 1), True, 1, 0.0),
        lambda s: 1 / 0,
    ],
    ids=["nan", "length", "raises"],
)
def test_a_fill_backend_that_fails_is_named(answer, noisy_graph):
    """What cannot be a solution of the filling is refused with the backend's name."""
    with pytest.raises(solvers.SolverError, match="Bad"):
        noisy_graph(2, (20, 24), 0.1, angle=20.0).optimize(fill_solver=Bad(answer))
