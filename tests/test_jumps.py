"""Models of continuity: what two normals predict of the step between them."""

import numpy as np
import pytest

from quotientgraph import Orthographic, Pinhole, QuotientGraph, RayMap
from quotientgraph.geometry.jumps import bini, crease_jump, interval, planar
from quotientgraph.geometry.normals import NormalMap
from quotientgraph.graph.pixels import PixelGraph

SHAPE = (9, 12)
CAMERAS = [Pinhole(60.0, 55.0, 5.0, 4.0), Orthographic(0.5), RayMap.fisheye(15, SHAPE)]


def graph_of(scene):
    return PixelGraph.from_map(NormalMap.from_array(scene.normals, scene.mask, scene.camera, "opencv"))


def edges_of(graph):
    """The arguments of a model of continuity: all edges of a pixel graph."""
    return graph.map, graph.tail, graph.head


def true_jumps(graph, scene):
    potential = scene.camera.potential(scene.depth).ravel()[graph.map.position]
    return potential[graph.tail] - potential[graph.head]


@pytest.mark.parametrize("camera", CAMERAS, ids=lambda c: type(c).__name__)
def test_the_planar_model_is_exact_on_planes(camera, plane_of):
    """On a plane the predicted jump φ_a − φ_b is the true one, for every camera, whichever way the edge runs."""
    scene = plane_of(SHAPE, camera)
    graph = graph_of(scene)
    np.testing.assert_allclose(planar(*edges_of(graph)), true_jumps(graph, scene), atol=1e-13)


@pytest.mark.parametrize("camera", CAMERAS, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("position", [0.0, 0.3, 1.0])
def test_a_crease_anywhere_on_a_plane_is_no_crease(camera, position, plane_of):
    """Where both planes are one, it does not matter at which point of the edge they meet."""
    graph = graph_of(plane_of(SHAPE, camera))
    np.testing.assert_allclose(crease_jump(*edges_of(graph), position), planar(*edges_of(graph)), atol=1e-13)


def test_a_crease_at_an_end_uses_one_plane(toy):
    """At 0 the head's plane alone reaches the tail, at 1 the tail's plane alone reaches the head (eq. 3 halved)."""
    graph = graph_of(toy("step"))
    du = (graph.map.position[graph.tail] % 30) - (graph.map.position[graph.head] % 30)
    dv = graph.map.position[graph.tail] // 30 - graph.map.position[graph.head] // 30
    for position, end in ((0.0, graph.head), (1.0, graph.tail)):
        n = graph.map.normals[end]
        np.testing.assert_allclose(
            crease_jump(*edges_of(graph), position), -(n[:, 0] * du + n[:, 1] * dv) / n[:, 2], atol=1e-13
        )
    some = np.array([5, 2, 40])
    np.testing.assert_array_equal(
        crease_jump(graph.map, graph.tail[some], graph.head[some], 0.5), planar(*edges_of(graph))[some]
    )


def test_the_planar_model_is_second_order_on_a_sphere(toy):
    """On a curved surface the prediction differs from the truth by far less than the jump itself."""
    scene = toy("sphere")
    graph = graph_of(scene)
    true = true_jumps(graph, scene)
    assert np.abs(planar(*edges_of(graph)) - true).max() < 0.05 * np.abs(true).max()
    assert np.sqrt(np.mean((planar(*edges_of(graph)) - true) ** 2)) < 0.01 * np.sqrt(np.mean(true**2))


@pytest.mark.parametrize("camera", CAMERAS[::2], ids=lambda c: type(c).__name__)
def test_bini_is_planar_to_first_order(camera, plane_of):
    """BiNI's equation is the planar one linearised in the step: they differ by its square; signs agree."""
    graph = graph_of(plane_of(SHAPE, camera))
    exact, linear = planar(*edges_of(graph)), bini(*edges_of(graph))
    assert linear.shape == (2, graph.n_edges)
    assert np.abs(linear - exact).max() < 2 * np.abs(exact).max() ** 2
    assert np.abs(linear - exact).max() > 0


def test_bini_is_exact_on_orthographic_planes(plane_of):
    """Without perspective there is nothing to linearise."""
    scene = plane_of(SHAPE, Orthographic(0.5))
    graph = graph_of(scene)
    np.testing.assert_allclose(bini(*edges_of(graph)), np.tile(true_jumps(graph, scene), (2, 1)), atol=1e-13)


@pytest.mark.parametrize("camera", [Orthographic(), Pinhole(4000.0, 4000.0, 1.5, 1)], ids=lambda c: type(c).__name__)
def test_grazing_normals_predict_nothing(camera):
    """A step beyond 360 pixel widths (a ratio of 1.1 at f = 3772) is not a surface: the jump is 0, never infinite."""
    normals = np.tile([0.0, 0.0, -1.0], (3, 4, 1))
    normals[1, 2] = [1.0, 0.0, -1e-3]
    jump = planar(*edges_of(PixelGraph.from_map(NormalMap.from_array(normals, None, camera, "opencv"))))
    assert np.isfinite(jump).all()
    assert np.abs(jump).max() == 0
    normals[1, 2] = [1.0, 0.0, -0.2]
    jump = planar(*edges_of(PixelGraph.from_map(NormalMap.from_array(normals, None, camera, "opencv"))))
    assert np.abs(jump).max() * camera.focal((3, 4)) == pytest.approx(2.5, rel=0.01)


def test_pinhole_and_equal_rays_predict_the_same(toy):
    """The model sees rays, not cameras."""
    scene = toy("sphere")
    rays = RayMap(scene.camera.rays(scene.mask.shape) * 3.7)
    np.testing.assert_allclose(
        planar(*edges_of(graph_of(scene._replace(camera=rays)))), planar(*edges_of(graph_of(scene))), atol=1e-14
    )


def test_a_graph_takes_any_model(toy):
    """The continuity of a quotient graph is the function it is given."""
    arguments = toy("plane").arguments
    graph = QuotientGraph.from_normals(**arguments, continuity=bini)
    assert graph.jump.shape == (2, graph.pixels.n_edges)
    zero = QuotientGraph.from_normals(**arguments, continuity=lambda normal_map, tail, head: np.zeros(len(tail)))
    np.testing.assert_allclose(zero.optimize().depth, 1.0, atol=1e-12)


@pytest.mark.parametrize("camera", CAMERAS, ids=lambda c: type(c).__name__)
def test_the_interval_holds_every_crease(camera, plane_of):
    """Wherever between the two pixels the planes meet, the jump lies in the interval; its ends are reached."""
    scene = plane_of(SHAPE, camera)
    bent = scene.normals + 0.2 * np.random.default_rng(0).normal(size=scene.normals.shape)
    graph = graph_of(scene._replace(normals=bent))
    low, high = interval(*edges_of(graph))
    jumps = np.stack([crease_jump(*edges_of(graph), position) for position in np.linspace(0, 1, 9)])
    assert (jumps >= low - 1e-12).all()
    assert (jumps <= high + 1e-12).all()
    np.testing.assert_allclose(low, jumps.min(axis=0), atol=1e-12)
    np.testing.assert_allclose(high, jumps.max(axis=0), atol=1e-12)
