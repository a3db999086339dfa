"""The pixel-level peers: exact where the normals are, right about each other, and true to their authors' figures."""

import numpy as np
import pytest

from quotientgraph import Orthographic, Pinhole, QuotientGraph, RayMap, baselines, integrate, metrics, scenes, solvers
from quotientgraph.baselines.grid_cg import PixelGrid
from quotientgraph.baselines.schemes import Equations, bini_terms
from quotientgraph.integration import METHODS
from quotientgraph.method.weights import Outliers
from quotientgraph.result import Reconstruction

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


def test_terms_match_the_formulas():
    """The terms of the equations against the formulas written out, with and without the discontinuity term."""
    scene = scenes.make("boxes", shape=(12, 14))
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=None)
    pixels, jump = graph.pixels, graph.jump
    outliers = Outliers("soft")
    phi = np.random.default_rng(0).normal(scale=1e-2, size=pixels.n_pixels)
    for scheme in (baselines.LOGDEPTH, baselines.LOGDEPTH_D):
        equations = Equations(graph, scheme, outliers)
        difference = phi[pixels.tail] - phi[pixels.head]
        expected = np.zeros((4, pixels.n_edges))
        for side, (end, sign) in enumerate(((pixels.tail, 1), (pixels.head, -1))):
            beyond = equations.beyond[side]
            gamma = pixels.gamma_squared[end]
            away = np.where(beyond >= 0, phi[beyond] - phi[end], difference)
            share = 1 / (1 + np.exp(np.clip(-2 * gamma * (away**2 - difference**2), -700, 700)))
            size = np.abs((difference - jump) * equations.unit[end])
            soft = 1 / (1 + (size / 1e-4) ** (8 / np.log(100)))
            w = soft * gamma * share
            j = jump
            if scheme.discontinuity:
                beta = np.maximum(0, 1 - 2 * share)
                omega = np.exp(sign * jump)
                j = sign * np.log(omega + beta * (np.exp(sign * difference) - omega))
            chi = difference - j
            expected += [w, -w * chi, w * chi**2, w * j]
        np.testing.assert_allclose(equations.terms(phi, first=False), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("connectivity", [4, 8])
def test_conjugate_gradients_on_the_grid(connectivity):
    """The grid solves the same Laplacian as a dense solver, around a hole and at the border; edges may have no weight."""
    random = np.random.default_rng(1)
    normals = np.tile([0.0, 0.0, 1.0], (9, 12, 1))
    mask = np.ones((9, 12), dtype=bool)
    mask[3:5, 4:7] = mask[0, :3] = False
    graph = QuotientGraph.from_normals(normals, mask, angle=None, connectivity=connectivity)
    pixels = graph.pixels
    weight = random.uniform(0.1, 10, pixels.n_edges) * (random.random(pixels.n_edges) > 0.1)
    system = solvers.LaplacianSystem.from_edges(
        pixels.n_pixels, pixels.tail, pixels.head, weight, random.normal(size=pixels.n_edges)
    )
    x, used = PixelGrid.from_pixels(pixels).solve(weight, system.rhs, 1e-12, 5000)
    assert 0 < used < 5000
    np.testing.assert_allclose(system.matrix @ x, system.rhs, atol=1e-9 * np.abs(system.rhs).max())


def test_the_grid_stops_where_it_is_told():
    """The residual that stops the iteration is the true one, relative to the right-hand side."""
    scene = scenes.make("boxes", shape=(30, 40))
    pixels = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=None).pixels
    grid = PixelGrid.from_pixels(pixels)
    ones = np.ones(pixels.n_edges)
    target = np.random.default_rng(0).normal(size=pixels.n_edges)
    system = solvers.LaplacianSystem.from_edges(pixels.n_pixels, pixels.tail, pixels.head, ones, target)
    counts = []
    for rtol in (1e-1, 1e-3, 1e-5):
        x, used = grid.solve(ones, system.rhs, rtol, 5000)
        assert np.linalg.norm(system.matrix @ x - system.rhs) <= rtol * (1 + 1e-6) * np.linalg.norm(system.rhs)
        before, fewer = grid.solve(ones, system.rhs, rtol, used - 1)
        assert fewer == used - 1
        assert np.linalg.norm(system.matrix @ before - system.rhs) > rtol * np.linalg.norm(system.rhs)
        counts.append(used)
    assert counts == sorted(set(counts))


@pytest.mark.parametrize("method", ["bini", "fft", "logdepth", "logdepth-d", "poisson"])
@pytest.mark.parametrize("focal", [2.5, 0.5, 40.0])
def test_grazing_normals_give_finite_depth(method, focal):
    """A plane whose horizon crosses the image: some normals are perpendicular to their rays, one of them to rounding."""
    camera = Pinhole(focal, focal, 4.5, 6)
    normals = np.tile([0.3, -0.2, 0.9], (13, 10, 1))
    result = integrate(normals, camera=camera, method=method)
    valid = result.graph.pixels.map.index >= 0
    assert np.isfinite(result.depth[valid]).all()
    assert (result.depth[valid] > 0).all()


def test_a_depth_beyond_all_numbers_is_limited_and_said():
    """Jumps that are each believable may add up to a depth that overflows."""
    shape = (1, 700)
    camera = Pinhole(1.0, 1.0, 0.0, 0.0)
    x = np.arange(700.0)
    normals = np.stack([1.0 + 0 * x, 0 * x, -x - 0.45], axis=-1)[None]
    result = integrate(normals, camera=camera, frame="opencv", method="fft")
    assert result.graph.pixels.map.shape == shape
    assert np.isfinite(result.depth).all()
    assert any("was limited" in text for text in result.warnings)


def test_bini_terms_are_equation_2():
    """With unequal focal lengths each direction has its own denominator; with equal ones it is f·n·τ."""
    scene = scenes.make("bumps", shape=(9, 11))
    normals, shape = scene.normals, scene.shape
    for fy in (210.0, 200.0):
        camera = Pinhole(200.0, fy, 5.0, 4.0)
        graph = QuotientGraph.from_normals(normals, None, camera, "opencv", angle=None, connectivity=4)
        jump, gamma = bini_terms(graph.pixels)
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
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=None)
    mirror, periodic = (
        _error(Reconstruction.from_outcome(baselines.fft(graph, boundary=name)), scene)
        for name in ("mirror", "periodic")
    )
    assert mirror < 0.3 * periodic
    with pytest.raises(ValueError, match="boundary='none' is not known"):
        baselines.fft(graph, boundary="none")


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


@pytest.mark.parametrize("method", ["bini", "logdepth", "logdepth-d"])
@pytest.mark.parametrize("rtol", [float("nan"), -1.0, 0.0, 5.0])
def test_a_tolerance_must_lie_between_0_and_1(method, rtol):
    with pytest.raises(ValueError, match=rf"rtol={rtol} must lie between 0 and 1"):
        _run(scenes.make("plane", shape=(8, 9)), method, rtol=rtol)
