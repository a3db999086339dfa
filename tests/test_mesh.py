"""Triangles over a depth map: counts, orientation, and none across a discontinuity."""

import numpy as np
import pytest
import trimesh

from quotientgraph import integrate, scenes
from quotientgraph.geometry.camera import Orthographic, Pinhole, RayMap
from quotientgraph.geometry.mesh import Cuts, triangulate
from quotientgraph.io import write_mesh
from quotientgraph.method.weights import TEAR

CAMERAS = [Orthographic(0.5), Pinhole(30, 30, 9.5, 7.5), RayMap.fisheye(100, (16, 20))]


def wavy(shape=(16, 20)):
    v, u = np.indices(shape)
    return 5 + 0.1 * np.sin(u / 3) + 0.2 * np.cos(v / 4)


def step(shape=(16, 20)):
    depth = wavy(shape)
    depth[:, 8:] += 40
    return depth


@pytest.mark.parametrize("camera", CAMERAS)
def test_full_sheet(camera):
    depth = wavy()
    mesh = triangulate(depth, camera, cuts=Cuts.none(depth.shape))
    assert len(mesh.vertices) == depth.size
    assert len(mesh.faces) == 2 * 15 * 19
    np.testing.assert_array_equal(mesh.vertices, camera.points(depth).reshape(-1, 3))
    edges = np.sort(np.concatenate([mesh.faces[:, [0, 1]], mesh.faces[:, [1, 2]], mesh.faces[:, [2, 0]]]), axis=1)
    n_edges = len(np.unique(edges, axis=0))
    assert len(mesh.vertices) - n_edges + len(mesh.faces) == 1  # Euler characteristic of a disc


@pytest.mark.parametrize("camera", CAMERAS)
def test_faces_and_normals_look_at_the_camera(camera):
    depth = wavy()
    mesh = triangulate(depth, camera)
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    ray = (a + b + c) / 3 if camera.central else np.array([0, 0, 1.0])
    assert ((np.cross(b - a, c - a) * ray).sum(axis=-1) < 0).all()
    ray = mesh.vertices if camera.central else np.array([0, 0, 1.0])
    assert ((mesh.normals * ray).sum(axis=-1) < 0).all()
    np.testing.assert_allclose(np.linalg.norm(mesh.normals, axis=-1), 1)


def across(mesh, column):
    side = mesh.pixels % mesh.shape[1] < column
    corners = side[mesh.faces]
    return (corners.any(axis=1) & ~corners.all(axis=1)).sum()


@pytest.mark.parametrize("camera", CAMERAS[:2])
def test_no_triangle_bridges_a_step(camera):
    """By slope, and by edges given as a list; the two sides are otherwise complete."""
    depth = step()
    index = np.arange(depth.size).reshape(depth.shape)
    pairs = [
        (index[:, :-1], index[:, 1:]),
        (index[:-1], index[1:]),
        (index[:-1, :-1], index[1:, 1:]),
        (index[:-1, 1:], index[1:, :-1]),
    ]
    tail, head = (np.concatenate([pair[k].ravel() for pair in pairs]) for k in range(2))
    broken = (tail % 20 < 8) != (head % 20 < 8)
    for cuts in (None, Cuts.from_edges(depth.shape, head, tail, broken)):
        mesh = triangulate(depth, camera, cuts=cuts)
        assert across(mesh, 8) == 0
        assert len(mesh.faces) == 2 * 15 * (7 + 11)
    four = len(pairs[0][0].ravel()) + len(pairs[1][0].ravel())
    mesh = triangulate(depth, camera, cuts=Cuts.from_edges(depth.shape, tail[:four], head[:four], broken[:four]))
    assert across(mesh, 8) == 0


def test_residual_cuts_what_depth_does_not_show():
    """A crack without a step in depth is cut when the edges say so, and only there."""
    depth = wavy()
    index = np.arange(depth.size).reshape(depth.shape)
    tail, head = index[4:9, 10], index[4:9, 11]
    mesh = triangulate(depth, cuts=Cuts.from_edges(depth.shape, tail, head, np.ones(5, dtype=bool)))
    sides = np.stack([mesh.faces, np.roll(mesh.faces, 1, axis=1)], axis=-1).reshape(-1, 2)
    sides = {tuple(sorted(pair)) for pair in mesh.pixels[sides].tolist()}
    assert not sides & set(zip(tail.tolist(), head.tolist(), strict=True))
    assert len(mesh.faces) == 2 * 15 * 19 - 2 * 5


def test_steep_slope_is_kept_when_edges_are_given():
    depth = 100 + 20.0 * np.arange(6)[None, :] + np.zeros((5, 1))
    assert len(triangulate(depth).faces) == 0
    assert len(triangulate(depth, cuts=Cuts.none(depth.shape)).faces) == 40
    both = Cuts.none(depth.shape) | Cuts.from_slope(depth, Orthographic())
    assert len(triangulate(depth, cuts=both).faces) == 0


def test_three_corners_give_one_triangle():
    for corner in range(4):
        depth = np.ones((2, 2))
        depth.flat[corner] = np.nan
        mesh = triangulate(depth)
        assert len(mesh.faces) == 1
        assert len(mesh.vertices) == 3
        assert corner not in mesh.pixels
        a, b, c = mesh.vertices[mesh.faces[0]]
        assert np.cross(b - a, c - a)[2] < 0


def test_diagonal_follows_the_smaller_difference():
    ridge = triangulate(np.array([[1.0, 2.0], [3.0, 1.1]]))
    assert {0, 3} <= set(ridge.faces[0]) & set(ridge.faces[1])
    valley = triangulate(np.array([[1.0, 2.0], [2.1, 3.5]]))
    assert {1, 2} <= set(valley.faces[0]) & set(valley.faces[1])


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1)])
def test_lines_have_no_triangle(shape):
    mesh = triangulate(np.ones(shape))
    assert mesh.faces.shape == (0, 3)
    assert mesh.vertices.shape == (0, 3)


def test_only_valid_pixels_with_positive_depth():
    depth = wavy()
    depth[3, 3] = -1
    depth[5, 5] = np.inf
    valid = np.ones(depth.shape, dtype=bool)
    valid[:, 15:] = False
    mesh = triangulate(depth, Pinhole(30, 30, 9.5, 7.5), valid=valid)
    assert np.isfinite(mesh.vertices).all()
    assert not np.isin([3 * 20 + 3, 5 * 20 + 5, 16], mesh.pixels).any()


def test_given_normals_and_uv():
    normals = np.broadcast_to([0.0, 0, -2.0], (16, 20, 3)).copy()
    normals[0, 0] = np.nan
    mesh = triangulate(wavy(), normals=normals)
    np.testing.assert_array_equal(mesh.normals, np.broadcast_to([0, 0, -1.0], mesh.normals.shape))
    assert mesh.uv[0].tolist() == [0.5 / 20, 0.5 / 16]
    assert mesh.uv[-1].tolist() == [19.5 / 20, 15.5 / 16]


def test_errors_name_the_argument():
    depth = wavy()
    with pytest.raises(ValueError, match="depth"):
        triangulate(depth[0])
    with pytest.raises(ValueError, match="valid"):
        triangulate(depth, valid=np.ones((2, 2), dtype=bool))
    with pytest.raises(ValueError, match="cuts"):
        triangulate(depth, cuts=Cuts.none((4, 4)))
    with pytest.raises(ValueError, match="normals"):
        triangulate(depth, normals=np.ones((4, 4, 3)))
    with pytest.raises(ValueError, match="neighbours"):
        Cuts.from_edges((16, 20), [0], [2], [True])


@pytest.mark.parametrize("camera", ["perspective", "orthographic"])
def test_the_mesh_of_the_step_scene_is_torn_where_the_step_is(camera, tmp_path):
    """From normals to a file: no side of a triangle, read back by another program, crosses the discontinuity."""
    scene = scenes.make("step", shape=(128, 160), camera=camera)
    result = integrate(scene.normals, scene.mask, scene.camera, "opencv")
    pixels = result.graph.pixels
    true = scene.camera.potential(scene.depth.ravel()[pixels.map.position])
    torn = np.abs(result.levels[0].residual(true, np.arange(pixels.n_edges)))
    torn = torn * pixels.focal_at() > 1.05 * TEAR
    assert torn.sum() > 100
    ends = np.sort(pixels.map.position[np.stack([pixels.tail[torn], pixels.head[torn]], axis=-1)], axis=-1)
    mesh = result.mesh()
    write_mesh(tmp_path / "step.ply", mesh)
    faces = mesh.pixels[trimesh.load(tmp_path / "step.ply", process=False).faces]
    sides = np.sort(np.stack([faces, np.roll(faces, 1, axis=1)], axis=-1).reshape(-1, 2), axis=-1)
    assert not set(map(tuple, sides.tolist())) & set(map(tuple, ends.tolist()))
    assert len(mesh.faces) > 1.9 * scene.mask.sum() - 4 * torn.sum()
