"""The pixel-level peers: exact where the normals are, right about each other, and true to their authors' figures."""

import numpy as np
import pytest

from quotientgraph import Orthographic, Pinhole, QuotientGraph, RayMap, baselines, integrate, metrics, scenes, solvers
from quotientgraph.baselines import irls as peers
from quotientgraph.integration import METHODS

PEERS = [name for name in METHODS if name != "components"]
REWEIGHTED = ["pixels", "logdepth", "logdepth-d", "bini"]


def _error(result, scene):
    return metrics.made(result.depth, scene.depth, offset=not scene.camera.central)


def _run(scene, method, **settings):
    return integrate(scene.normals, scene.mask, scene.camera, frame="opencv", method=method, **settings)


@pytest.mark.parametrize("camera", ["perspective", "orthographic"])
@pytest.mark.parametrize("method", PEERS)
def test_smooth_surface_is_recovered(method, camera):
    """On a smooth surface without discontinuities every method is right to a fraction of its relief."""
    scene = scenes.make("bumps", shape=(40, 48), camera=camera)
    result = _run(scene, method)
    assert result.converged
    assert _error(result, scene) < 0.01 * np.nanmax(np.abs(scene.depth - np.nanmedian(scene.depth)))


@pytest.mark.parametrize("camera", ["perspective", "orthographic"])
@pytest.mark.parametrize("method", [name for name in PEERS if name not in ("fft", "bini")])
def test_plane_is_exact(method, camera):
    """The planar model is exact on a plane."""
    scene = scenes.make("plane", shape=(24, 30), camera=camera)
    assert _error(_run(scene, method, **({"solver": "direct"} if method != "poisson" else {})), scene) < 1e-8


@pytest.mark.parametrize("method", REWEIGHTED)
def test_reweighting_beats_least_squares_at_discontinuities(method):
    scene = scenes.make("boxes", shape=(48, 60))
    smooth = _error(_run(scene, "poisson"), scene)
    for kind in ("soft", "none"):
        assert _error(_run(scene, method, reweighting=kind), scene) < 0.75 * smooth


def test_pixels_is_the_component_method_without_components():
    scene = scenes.make("boxes", shape=(20, 24))
    same = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=None).optimize()
    np.testing.assert_allclose(_run(scene, "pixels").potential, same.potential, atol=1e-12)


def test_exact_logdepth_is_the_pixel_level_component_method():
    """With exact solves the two differ in nothing: both minimise the same energies, one for φ, one for shifts of it."""
    scene = scenes.make("boxes", shape=(20, 24))
    a = _run(scene, "logdepth", solver="direct", max_iterations=6)
    b = _run(scene, "pixels", solver="direct", max_iterations=6)
    np.testing.assert_allclose([s.energy for s in a.history], [s.energy for s in b.history], rtol=1e-6)
    np.testing.assert_allclose(a.potential, b.potential, atol=1e-8)


def test_a_ray_map_is_the_pinhole_it_was_made_from():
    scene = scenes.make("boxes", shape=(20, 24))
    rays = RayMap(scene.camera.rays(scene.shape))
    for method in ("logdepth", "poisson", "fft"):
        a = _run(scene, method)
        b = integrate(scene.normals, scene.mask, rays, frame="opencv", method=method)
        np.testing.assert_allclose(a.depth, b.depth, rtol=1e-5)


def test_edge_terms_match_the_formulas():
    """The kernel against the formulas written out, with and without the discontinuity term."""
    scene = scenes.make("boxes", shape=(12, 14))
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=None)
    pixels, jump = graph.pixels, graph.jump
    from quotientgraph.method.weights import Outliers

    outliers = Outliers("soft")
    for scheme in (baselines.LOGDEPTH, baselines.LOGDEPTH_D):
        loop = peers._Loop(graph, scheme, outliers, "auto", 1e-3)
        loop.step()
        loop.phi = np.random.default_rng(0).normal(scale=1e-2, size=pixels.n_pixels)
        weight, flow, curve, push = loop.terms()
        difference = loop.phi[pixels.tail] - loop.phi[pixels.head]
        expected = np.zeros((4, pixels.n_edges))
        for side, (end, sign) in enumerate(((pixels.tail, 1), (pixels.head, -1))):
            beyond = loop.beyond[side]
            gamma = pixels.gamma_squared[end]
            away = np.where(beyond >= 0, loop.phi[beyond] - loop.phi[end], difference)
            share = 1 / (1 + np.exp(np.clip(-2 * gamma * (away**2 - difference**2), -700, 700)))
            w = outliers.weight((difference - jump) * loop.unit[end]) * gamma * share
            j = jump
            if scheme.discontinuity:
                beta = np.maximum(0, 1 - 2 * share)
                omega = np.exp(sign * jump)
                j = sign * np.log(omega + beta * (np.exp(sign * difference) - omega))
            chi = difference - j
            expected += [w, -w * chi, w * chi**2, w * j]
        np.testing.assert_allclose([weight, flow, curve, push], expected, rtol=1e-9, atol=1e-12)


def test_bini_terms_are_equation_2():
    """With unequal focal lengths each direction has its own denominator; with equal ones it is f·n·τ."""
    scene = scenes.make("bumps", shape=(9, 11))
    normals, shape = scene.normals, scene.shape
    for fy in (210.0, 200.0):
        camera = Pinhole(200.0, fy, 5.0, 4.0)
        graph = QuotientGraph.from_normals(normals, None, camera, "opencv", angle=None, connectivity=4)
        jump, gamma = peers.bini_terms(graph.pixels)
        for e in range(0, graph.pixels.n_edges, 7):
            a, b = graph.pixels.tail[e], graph.pixels.head[e]
            (v, u), (vb, _) = divmod(a, shape[1]), divmod(b, shape[1])
            n = graph.pixels.map.normals[a]
            f, delta = (200.0, n[0]) if v == vb else (fy, n[1])
            denominator = n[0] * (u - 5.0) + n[1] * (v - 4.0) + n[2] * f
            assert jump[0, e] == pytest.approx(delta / denominator, rel=1e-9)
            assert gamma[0, e] == pytest.approx(denominator**2, rel=1e-9)


def test_good_enough_is_left_alone():
    """When the residual is below the tolerance of the whole problem, an iteration changes nothing."""
    scene = scenes.make("bumps", shape=(24, 30))
    result = _run(scene, "logdepth", rtol=0.9)
    assert result.converged
    assert result.history[-1].solver_iterations == 0


def test_any_backend_serves():
    scene = scenes.make("bumps", shape=(24, 30))
    reference = _run(scene, "logdepth", solver="direct").potential
    for name in solvers.available():
        np.testing.assert_allclose(_run(scene, "logdepth", solver=name).potential, reference, atol=1e-4)


def test_fft_boundaries():
    """A tilted plane is not periodic: mirrored it is recovered but for the border, periodic it is not."""
    scene = scenes.make("plane", shape=(32, 40), camera="orthographic")
    assert _error(_run(scene, "fft"), scene) < 0.3 * _error(_run(scene, "fft", boundary="periodic"), scene)
    with pytest.raises(ValueError, match="boundary='none' is not known"):
        _run(scene, "fft", boundary="none")


def test_disconnected_pieces_and_a_single_pixel():
    normals = np.tile([0.0, 0.0, 1.0], (6, 9, 1))
    mask = np.ones((6, 9), dtype=bool)
    mask[:, 4] = False
    one = np.zeros((6, 9), dtype=bool)
    one[2, 3] = True
    for method in PEERS:
        assert integrate(normals, mask, method=method).n_pieces == 2
        assert np.isfinite(integrate(normals, one, method=method).depth[2, 3])


def test_a_graph_of_components_is_refused():
    graph = QuotientGraph.from_normals(np.tile([0.0, 0.0, 1.0], (4, 5, 1)), camera=Orthographic())
    with pytest.raises(ValueError, match="one component a pixel"):
        baselines.logdepth(graph)


def test_progress_is_reported():
    scene = scenes.make("bumps", shape=(16, 20))
    for method in PEERS:
        seen = []
        result = _run(scene, method, progress=seen.append)
        assert [step.iteration for step in seen] == [step.iteration for step in result.history]
