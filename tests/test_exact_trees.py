"""Components that a spanning tree integrates exactly are left out of the rest of filling."""

import numpy as np
import pytest

from laplacians import Multigrid
from quotientgraph import Orthographic, QuotientGraph, scenes
from quotientgraph.method import filling
from quotientgraph.method.exact_trees import leave_out_exact
from quotientgraph.method.filling import along_trees, equations, fill, mismatch


def problem(graph):
    """The arguments of `leave_out_exact` for a graph whose components are integrated along trees."""
    pixels = graph.pixels
    weight, jump = equations(graph, None)
    x, root = along_trees(pixels.n_pixels, pixels.tail, pixels.head, weight, jump)
    rhs = np.zeros(pixels.n_pixels)
    mismatch(pixels.tail, pixels.head, weight, jump, x, rhs)
    return pixels.tail, pixels.head, weight, jump, x, root, rhs


def mixed(camera="perspective", noise=0.0):
    """A graph with large planes, curved components and crumbs."""
    scene = scenes.make("occlusions", shape=(150, 200), camera=camera)
    scene = scene.with_noise(noise) if noise else scene
    return QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=5.0, check=False)


@pytest.fixture(scope="module")
def graph():
    return mixed()


def off(graph, potential):
    """The largest difference between the jump of an edge and that of a potential, over the edges of each component."""
    pixels, worst = graph.pixels, np.zeros(graph.n_components)
    inside = np.setdiff1d(np.arange(pixels.n_edges), graph.cut)
    np.maximum.at(worst, graph.labels[pixels.tail[inside]], np.abs(graph.residual(potential, inside)))
    return worst


def test_exactly_the_trees_that_fit_are_left_out(graph):
    """Of these the weights and what is left become zero, and their nodes stand alone; the rest stays as it was."""
    tail, head, weight, jump, x, root, rhs = problem(graph)
    given = weight.copy(), root.copy(), rhs.copy()
    worst = off(graph, x)
    exact = (worst <= 1e-12 * np.abs(x).max())[graph.labels]
    assert 0.3 < exact.mean() < 0.99
    assert worst[worst > 1e-12].min() > 1e-9  # nothing is exact by a hair
    assert leave_out_exact(tail, head, weight, jump, x, root, rhs) == np.count_nonzero(exact)
    np.testing.assert_array_equal(weight, np.where(exact[tail], 0, given[0]))
    np.testing.assert_array_equal(root, np.where(exact, np.arange(len(x)), given[1]))
    np.testing.assert_array_equal(rhs, np.where(exact, 0, given[2]))


@pytest.mark.parametrize("camera", ["perspective", "orthographic"])
@pytest.mark.parametrize("precise", [False, True])
def test_planes_beside_other_components_are_exact(camera, precise):
    """Their potential fits each of their edges to rounding, however early multigrid stops with the others."""
    graph = mixed(camera)
    potential = fill(graph, precise=precise).potential
    start = problem(graph)[4]
    plane = off(graph, start) <= 1e-12 * np.abs(start).max()
    assert np.isin(graph.labels, np.flatnonzero(plane)).mean() > 0.3
    assert off(graph, potential)[plane].max() <= 2e-12 * np.abs(start).max()
    assert off(graph, potential)[~plane].max() > 1e-6


@pytest.mark.parametrize("name", ["occlusions", "boxes", "curved 1", "figures 0", "street 1"])
def test_filling_comes_as_near_to_the_solution(name, monkeypatch):
    """Without the planes, multigrid leaves no larger error than it does with them, up to where its steps happen to end."""
    kind, _, seed = name.partition(" ")
    shape = (150, 200)
    scene = scenes.random(kind, int(seed), shape=shape) if seed else scenes.make(kind, shape=shape)
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=2.0, check=False)
    found = fill(graph).potential
    monkeypatch.setattr(filling, "leave_out_exact", lambda *args: 0)
    before = fill(graph).potential
    monkeypatch.setattr(filling, "_MULTIGRID", Multigrid(rtol=1e-13, energy_tol=1e-20, maxiter=80))
    exact = fill(graph).potential
    error, usual = (np.sqrt(np.mean((potential - exact) ** 2)) for potential in (found, before))
    assert error <= 2.5 * usual + 1e-12 * np.abs(exact).max()


def test_nothing_is_left_out_under_noise():
    """Crumbs whose edges make no loop fit, but they are not worth a pass; nothing is changed."""
    tail, head, weight, jump, x, root, rhs = problem(mixed(noise=1.0))
    given = weight.copy(), root.copy(), rhs.copy()
    assert leave_out_exact(tail, head, weight, jump, x, root, rhs) == 0
    for array, before in zip((weight, root, rhs), given):
        np.testing.assert_array_equal(array, before)


def test_one_edge_that_does_not_fit_keeps_its_component(toy):
    """A plane in which one jump is wrong, too rare to be among the edges that are looked at first, is solved for."""
    graph = QuotientGraph.from_normals(**toy("plane").arguments)
    graph.jump[1234] += 1e-3
    tail, head, weight, jump, x, root, rhs = problem(graph)
    assert leave_out_exact(tail, head, weight, jump, x, root, rhs) == 0
    assert weight.all()
    assert rhs.any()


@pytest.mark.parametrize("n_edges", [0, 3])
def test_no_edges_and_no_weights(n_edges):
    """Nodes that nothing joins are no reason to do anything."""
    tail, head = np.zeros(n_edges, dtype=np.int32), np.ones(n_edges, dtype=np.int32)
    weight, root = np.zeros(n_edges, dtype=np.float32), np.arange(4, dtype=np.int32)
    assert leave_out_exact(tail, head, weight, np.ones(n_edges), np.zeros(4), root, np.zeros(4)) == 0
    assert root.tolist() == [0, 1, 2, 3]


def test_a_map_of_planes_alone_takes_no_iterations(plane_of):
    """Where rounding is all that is left, nothing is solved for, also where the sums are large."""
    scene = plane_of(shape=(300, 400), camera=Orthographic(1.0), normal=(0.9, 0.9, -0.01))
    filled = fill(QuotientGraph.from_normals(**scene.arguments))
    assert (filled.converged, filled.iterations) == (True, 0)
    error = filled.potential - (scene.depth - scene.depth.mean()).ravel()
    assert np.abs(error).max() <= 1e-12 * np.ptp(scene.depth)
