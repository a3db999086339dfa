"""`integrate`: the whole way from normals to depth in one call."""

import numpy as np
import pytest

from quotientgraph import Orthographic, Pinhole, QuotientGraph, RayMap, integrate, metrics, scenes


def relative_error(estimate, truth):
    """Largest relative error after the median scale."""
    return float(np.nanmax(np.abs(metrics.aligned(estimate, truth) / truth - 1)))


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("shape", [(48, 64), (131, 97)])
@pytest.mark.parametrize("normal", [(0.0, 0.0, -1.0), (0.4, 0.3, -0.8), (-0.7, 0.1, -0.5)])
def test_a_tilted_plane_through_a_pinhole_is_exact(normal, shape, connectivity, plane_of):
    """Relative depth error below 1e-9, whatever the tilt."""
    scene = plane_of(shape, Pinhole(1.1 * shape[1], 1.0 * shape[1], 0.4 * shape[1], 0.6 * shape[0]), normal)
    result = integrate(**scene.arguments, connectivity=connectivity)
    assert relative_error(result.depth, scene.depth) < 1e-9


@pytest.mark.parametrize("angle", [3.5, None])
def test_the_orthographic_plane_is_exact(angle, plane_of):
    """Depth error below 1e-9 of a pixel, in the unit of the pixel size, up to the mean."""
    scene = plane_of((40, 50), Orthographic(0.03), (0.5, -0.4, -0.7))
    result = integrate(**scene.arguments, angle=angle)
    assert np.ptp(result.depth - scene.depth) < 1e-9 * 0.03


@pytest.mark.parametrize("angle", [3.5, None])
@pytest.mark.parametrize("name", ["plane", "sphere"])
def test_pinhole_and_equal_rays_are_identical(name, angle, toy):
    """The same surface through `Pinhole` and through a `RayMap` of its rays: the same depth to 1e-12."""
    scene = toy(name)
    rays = RayMap(scene.camera.rays(scene.mask.shape) * 2.5)
    pinhole = integrate(**scene.arguments, angle=angle)
    mapped = integrate(**{**scene.arguments, "camera": rays}, angle=angle)
    np.testing.assert_allclose(mapped.depth, pinhole.depth, rtol=1e-12)
    np.testing.assert_allclose(mapped.points, pinhole.points, rtol=1e-11, atol=1e-12)


def test_a_plane_through_a_fisheye_is_exact(plane_of):
    """Any central camera will do: planes are exact through an equidistant fisheye as well."""
    shape = (90, 100)
    camera = RayMap.fisheye(120, shape)
    scene = plane_of(shape, camera, (0.2, 0.1, -1.0))
    seen = np.isfinite(scene.depth) & (scene.depth > 0)
    scene = scene._replace(mask=seen, depth=np.where(seen, scene.depth, np.nan))
    assert relative_error(integrate(**scene.arguments, angle=180).depth, scene.depth) < 1e-9


def test_a_smooth_surface_converges_with_its_pixels():
    """Halving the pixels of a smooth scene reduces the error: the planar model is consistent."""
    errors = []
    for height in (32, 64, 128):
        scene = scenes.make("bumps", shape=(height, height * 5 // 4))
        depth = integrate(scene.normals, scene.mask, scene.camera, "opencv", angle=180).depth
        errors.append(metrics.relative_error(depth, scene.depth))
    assert errors[2] < errors[1] < errors[0]
    assert errors[2] < 0.4 * errors[0]


@pytest.mark.parametrize("name", ["single_pixel", "one_row", "one_column"])
@pytest.mark.parametrize("camera", [None, Pinhole(30, 30, 1, 1)], ids=["orthographic", "pinhole"])
def test_thin_images(name, camera, toy):
    """One pixel, one row and one column are images like any other."""
    scene = toy(name)
    for angle in (3.5, None):
        result = integrate(scene.normals, camera=camera, frame="opencv", angle=angle)
        assert np.isfinite(result.depth).all()
        assert result.converged
        assert result.n_pieces == 1
    rays = RayMap((camera or Pinhole(9, 9, 0, 0)).rays(scene.mask.shape))
    assert np.isfinite(integrate(scene.normals, camera=rays, frame="opencv").depth).all()


def test_a_matrix_is_a_camera(toy):
    """K, given as an array or lists, means `Pinhole.from_matrix(K)`."""
    scene = toy("sphere")
    expected = integrate(**scene.arguments).depth
    for k in (scene.camera.matrix, scene.camera.matrix.tolist(), 3 * scene.camera.matrix):
        np.testing.assert_allclose(integrate(**{**scene.arguments, "camera": k}).depth, expected, rtol=1e-12)


def test_one_call_is_two(toy):
    """integrate(...) is from_normals(...).optimize(...)."""
    arguments = toy("sphere").arguments
    one = integrate(**arguments, angle=5.0, connectivity=4, reweighting="hard", merge_every=2)
    two = QuotientGraph.from_normals(**arguments, angle=5.0, connectivity=4).optimize(reweighting="hard", merge_every=2)
    np.testing.assert_array_equal(one.potential, two.potential)


def test_an_unknown_method_or_setting_is_refused(toy):
    """A method is named with those there are; a keyword that does not exist is a `TypeError` naming it."""
    arguments = toy("plane").arguments
    with pytest.raises(ValueError, match="method='magic' is not known; use one of components"):
        integrate(**arguments, method="magic")
    with pytest.raises(TypeError, match="iterations"):
        integrate(**arguments, iterations=5)


@pytest.mark.parametrize("name", ["room", "boxes", "stairs", "spheres"])
@pytest.mark.parametrize("camera", ["perspective", "orthographic"])
def test_scenes_with_discontinuities_come_out(name, camera):
    """Scenes with tears integrate: finite depth at exactly the valid pixels, a mean error of at most a tenth."""
    scene = scenes.make(name, shape=(96, 120), camera=camera)
    result = integrate(scene.normals, scene.mask, scene.camera, "opencv")
    np.testing.assert_array_equal(np.isfinite(result.depth), scene.mask)
    assert metrics.relative_error(result.depth, scene.depth, offset=camera == "orthographic") < 0.1
