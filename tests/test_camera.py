"""Cameras: rays, potentials, points, and what they refuse."""

import numpy as np
import pytest

from quotientgraph import Orthographic, Pinhole, RayMap
from quotientgraph.geometry.camera import as_camera

SHAPE = (6, 9)
CAMERAS = [Pinhole(40, 50, 4.2, 2.5), Orthographic(0.1), RayMap.fisheye(120, SHAPE)]


def test_a_ray_projects_to_its_pixel():
    """fx·x/z + cx = u and fy·y/z + cy = v for the ray of pixel (u, v): centres are at integers."""
    rays = CAMERAS[0].rays(SHAPE)
    v, u = np.indices(SHAPE)
    np.testing.assert_allclose(40 * rays[..., 0] / rays[..., 2] + 4.2, u, atol=1e-12)
    np.testing.assert_allclose(50 * rays[..., 1] / rays[..., 2] + 2.5, v, atol=1e-12)


@pytest.mark.parametrize("camera", CAMERAS, ids=lambda c: type(c).__name__)
def test_depth_and_potential_are_inverse(camera):
    """depth(potential(z)) = z, and NaN stays NaN."""
    depth = np.full(SHAPE, np.nan)
    depth[1:4, 2:6] = np.linspace(0.5, 30, 12).reshape(3, 4)
    np.testing.assert_allclose(camera.depth(camera.potential(depth)), depth, rtol=1e-14)


@pytest.mark.parametrize("camera", CAMERAS, ids=lambda c: type(c).__name__)
def test_points_have_the_depth_as_z_and_lie_on_their_rays(camera):
    """points(z)_z = z; a central camera's point is parallel to its ray; NaN outside."""
    depth = np.full(SHAPE, 3.0)
    depth[0, 0] = np.nan
    points = camera.points(depth)
    np.testing.assert_array_equal(points[..., 2], depth)
    assert np.isnan(points[0, 0]).all()
    if camera.central:
        cross = np.cross(points, camera.rays(SHAPE))
        assert np.nanmax(np.abs(cross)) < 1e-12
    else:
        np.testing.assert_allclose(points[2, 5, :2], [0.5, 0.2])


def test_a_depth_that_no_central_camera_sees_has_no_potential():
    """log z exists for z > 0 only; without a warning."""
    found = CAMERAS[0].potential(np.array([[1.0, 0.0, -2.0, np.nan]]))
    assert found[0, 0] == 0
    assert np.isnan(found[0, 1:]).all()


def test_matrix_and_its_inverse():
    """from_matrix(K).matrix = K / K[2, 2]."""
    k = CAMERAS[0].matrix
    assert Pinhole.from_matrix(2 * k) == CAMERAS[0]
    assert as_camera(k.tolist()) == CAMERAS[0]


def test_field_of_view():
    """The border pixels' outer edges are seen at half the field of view."""
    camera = Pinhole.from_fov(60, (100, 200))
    edge = (-0.5 - camera.cx) / camera.fx
    assert np.degrees(np.arctan(-edge)) == pytest.approx(30)


def test_fisheye_angles_grow_linearly():
    """Equidistant: the angle of a ray to the axis is proportional to the distance from the centre; NaN beyond 90°."""
    camera = RayMap.fisheye(160, (81, 121))
    rays = camera.rays((81, 121))
    angle = np.degrees(np.arctan(np.hypot(rays[40, :, 0], rays[40, :, 1])))
    inside = np.isfinite(angle)
    np.testing.assert_allclose(angle[inside], np.abs(np.arange(121) - 60)[inside] * 160 / 81, atol=1e-9)
    assert not np.isfinite(rays[0, 0, 0])
    assert not RayMap.fisheye(180, (9, 60)).rays((9, 60))[0, 0, 0] > -np.inf


def test_the_same_rays_have_the_same_focal_length():
    """A `RayMap` of a pinhole's rays has that pinhole's focal length to rounding, whatever the rays' lengths."""
    pinhole = Pinhole(37.0, 37.0, 4.1, 2.2)
    rays = pinhole.rays(SHAPE) * np.random.default_rng(0).uniform(0.1, 9, SHAPE)[..., None]
    assert RayMap(rays).focal(SHAPE) == pytest.approx(37, rel=1e-12)


@pytest.mark.parametrize("hole", [np.s_[:, 0], np.s_[2:4, -1], np.s_[:, 1:8], np.s_[1:, :]])
def test_missing_rays_leave_the_focal_length_finite(hole):
    """Where some rays are missing the focal length is that of the others."""
    rays = Pinhole(37.0, 37.0, 4.1, 2.2).rays(SHAPE)
    rays[hole] = np.nan
    focal = np.asarray(RayMap(rays).focal(SHAPE))
    assert np.isfinite(focal).all()
    if np.isfinite(rays[:, 2:5, 0]).any():
        np.testing.assert_allclose(focal, 37, rtol=1e-9)


def test_orthographic_is_the_default():
    """None means parallel rays and pixels of size 1."""
    assert as_camera(None) == Orthographic(1.0)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Pinhole(0, 10, 0, 0), "fx=0.0"),
        (lambda: Pinhole(10, -1, 0, 0), "fy=-1.0"),
        (lambda: Pinhole(10, 10, np.nan, 0), "cx=nan"),
        (lambda: as_camera([[0, 0, 5], [0, 10, 5], [0, 0, 1]]), "fx=0.0"),
        (lambda: as_camera(np.eye(4)), "3×3"),
        (lambda: as_camera(np.full((3, 3), np.nan)), "finite"),
        (lambda: as_camera(np.array([[9.0, 0, 0], [0, 9, 0], [4, 4, 1]])), "transposed"),
        (lambda: as_camera(np.array([[9.0, 1, 4], [0, 9, 4], [0, 0, 1]])), "skew"),
        (lambda: as_camera("perspective"), "Pinhole"),
        (lambda: Pinhole.from_fov(180, SHAPE), "field of view"),
        (lambda: RayMap.fisheye(-3, SHAPE), "field of view"),
        (lambda: Orthographic(0), "pixel_size"),
        (lambda: Orthographic(np.nan), "pixel_size"),
        (lambda: RayMap(np.ones((3, 4))), r"\(H, W, 3\)"),
        (lambda: RayMap(np.zeros((3, 4, 3))), "zero"),
        (lambda: RayMap(np.full((3, 4, 3), np.nan)), "finite"),
        (lambda: RayMap.equirectangular((4, 8), longitude=(0, 400)), "longitude"),
        (lambda: RayMap.equirectangular((4, 8), latitude=(20, -20)), "latitude"),
        (lambda: RayMap(np.ones((3, 4, 3))).slopes((4, 3)), "sizes must agree"),
    ],
)
def test_a_camera_that_cannot_be_is_refused(make, named):
    """The error is a `ValueError` that names the camera and what is wrong with it."""
    with pytest.raises(ValueError, match=named) as caught:
        make()
    assert any(word in str(caught.value) for word in ("camera", "longitude", "latitude"))
