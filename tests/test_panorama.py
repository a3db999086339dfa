"""Panoramas: rays all around, depth as distance, the seam, the poles, the faces of a cube."""

import numpy as np
import pytest

from quotientgraph import Orthographic, Pinhole, RayMap, integrate, scenes
from quotientgraph.geometry.jumps import bini, interval, planar
from quotientgraph.geometry.normals import NormalMap
from quotientgraph.geometry.sphere import FACES, cube_to_panorama, face_rays, panorama_to_cube
from quotientgraph.geometry.wrapping import Wrap
from quotientgraph.graph.pixels import PixelGraph

SHAPE = (48, 96)


def room(camera, shape, low=(-2.0, -1.3, -3.0), high=(2.0, 1.2, 2.5)):
    """Normals and depth of a box around the camera."""
    rays = camera.rays(shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(rays > 0, high / rays, np.where(rays < 0, low / rays, np.inf))
    wall = reach.argmin(axis=-1)[..., None]
    normals = np.zeros_like(rays)
    np.put_along_axis(normals, wall, -np.sign(np.take_along_axis(rays, wall, -1)), -1)
    return normals, reach.min(axis=-1)


def log_error(result, depth):
    """|log depth| error of each pixel, after the free factor."""
    left = np.log(result.depth) - np.log(depth)
    return np.abs(left - np.nanmedian(left))


def test_directions():
    """The middle looks forward, the quarters right and left, the borders backwards; rows go from up to down."""
    rays = RayMap.equirectangular((180, 360)).rays((180, 360))
    np.testing.assert_allclose(np.linalg.norm(rays, axis=-1), 1)
    for (v, u), axis in {(90, 180): (0, 0, 1), (90, 270): (1, 0, 0), (90, 90): (-1, 0, 0), (90, 0): (0, 0, -1)}.items():
        np.testing.assert_allclose(rays[v, u], axis, atol=0.02)
    np.testing.assert_allclose(rays[0, 5], (0, -1, 0), atol=0.02)
    np.testing.assert_allclose(rays[-1, 5], (0, 1, 0), atol=0.02)


def test_part_of_a_sphere():
    """A part has the rays of the same pixels of the whole, and does not wrap."""
    whole = RayMap.equirectangular((18, 36)).rays((18, 36))
    part = RayMap.equirectangular((9, 18), longitude=(-90, 90), latitude=(-45, 45))
    finer = RayMap.equirectangular((18, 36), longitude=(-180, 180), latitude=(-90, 90)).rays((18, 36))
    np.testing.assert_allclose(finer, whole)
    assert not part.spherical  # everything it sees lies in front, so depth is z as for any camera
    assert not Wrap.from_name("auto", part, (9, 18))
    back = RayMap.equirectangular((9, 18), longitude=(90, 270))
    assert back.spherical
    assert not Wrap.from_name("auto", back, (9, 18))
    ring = RayMap.equirectangular((9, 72), latitude=(-20, 20))
    assert Wrap.from_name("auto", ring, (9, 72)) == Wrap(x=True)


def test_distance_and_points():
    """Points lie on their rays at the distance, in front and behind; a pinhole's distance is z times the ray's length."""
    camera = RayMap.equirectangular(SHAPE)
    depth = np.random.default_rng(0).uniform(1, 4, SHAPE)
    np.testing.assert_allclose(np.linalg.norm(camera.points(depth), axis=-1), depth)
    assert (camera.points(depth)[..., 2] < 0).any()
    np.testing.assert_array_equal(camera.distance(depth), depth)
    pinhole = Pinhole.from_fov(90, SHAPE)
    np.testing.assert_allclose(pinhole.distance(depth), np.linalg.norm(pinhole.points(depth), axis=-1))
    np.testing.assert_array_equal(Orthographic().distance(depth), depth)


def test_jumps_behind_the_camera():
    """The jumps of a plane are exact in every direction: the formulas hold for rays with z ≤ 0."""
    camera = RayMap.equirectangular(SHAPE)
    normal = np.array([0.3, -0.2, 0.9])
    normal /= np.linalg.norm(normal)
    towards = camera.rays(SHAPE) @ normal
    mask = towards < -0.1
    assert (camera.rays(SHAPE)[mask][:, 2] < 0).mean() > 0.5
    map_ = NormalMap.from_array(np.tile(normal, (*SHAPE, 1)), mask, camera, "opencv", "auto")
    graph = PixelGraph.from_map(map_)
    potential = np.log(-1 / towards.ravel()[map_.position])
    exact = potential[graph.tail] - potential[graph.head]
    np.testing.assert_allclose(planar(map_, graph.tail, graph.head), exact, atol=1e-12)
    low, high = interval(map_, graph.tail, graph.head)
    assert (low - 1e-12 <= exact).all()
    assert (exact <= high + 1e-12).all()
    np.testing.assert_allclose(bini(map_, graph.tail, graph.head).mean(axis=0), exact, atol=0.2)


def test_a_forward_panorama_is_the_same_as_by_z():
    """Distance and z describe the same surface: a panorama of the front alone gives the points of its ray map."""
    shape = (40, 40)
    camera = RayMap.equirectangular(shape, (-40, 40), (-40, 40))
    rays = camera.directions.copy()
    rays[0, 0] = [0, 0, -1]  # one ray backwards makes it spherical; its pixel faces away
    normals, depth = room(camera, shape)
    by_z = integrate(normals, camera=camera, frame="opencv")
    by_distance = integrate(normals, camera=RayMap(rays), frame="opencv")
    assert (camera.spherical, RayMap(rays).spherical) == (False, True)
    for result in (by_z, by_distance):
        ratio = (result.points / camera.points(depth))[1:, 1:, 2]
        assert np.ptp(ratio) < 0.03 * np.median(ratio)  # half a pixel at a crease


def test_neighbours_across_the_poles():
    """A pixel of the first row is the neighbour of that half a turn away, and so in the last; the ball is connected."""
    camera = RayMap.equirectangular((4, 16))
    normals = -camera.rays((4, 16))
    graph = PixelGraph.from_map(NormalMap.from_array(normals, None, camera, "opencv", "auto"), 4)
    pairs = {frozenset(pair) for pair in zip(graph.tail.tolist(), graph.head.tolist())}
    assert len(pairs) == graph.n_edges == 4 * 16 + 3 * 16 + 2 * 8
    for row in (0, 3):
        for u in range(8):
            assert frozenset((row * 16 + u, row * 16 + u + 8)) in pairs
    edge = next(e for e in range(graph.n_edges) if {graph.tail[e], graph.head[e]} == {0, 8})
    beyond = graph.opposites(np.array([edge]))
    assert sorted(int(one[0]) for one in beyond) == [16, 24]  # one row further down on both sides


def test_a_room_has_no_seam():
    """From inside a box: the error is small everywhere, also at ±180° and at the poles; the camera turns freely."""
    camera = RayMap.equirectangular((96, 192))
    normals, depth = room(camera, (96, 192))
    result = integrate(normals, camera=camera, frame="opencv")
    assert result.graph.pixels.map.wrap == Wrap(True, False, True, True)
    assert result.graph.n_components == 6
    wrong = log_error(result, depth)
    assert wrong.max() < 5e-3
    assert np.abs(np.log(result.depth / depth)[:, [0, -1]] @ [1, -1]).max() < 5e-3
    turned = integrate(np.roll(normals, 61, 1), camera=RayMap(np.roll(camera.directions, 61, 1)), frame="opencv")
    np.testing.assert_allclose(np.log(turned.depth), np.log(np.roll(result.depth, 61, 1)), atol=5e-3)


def test_no_worse_than_a_pinhole():
    """The furnished room as a panorama: the mean error is no larger than through a pinhole of 90°."""
    shape = (128, 256)
    panorama = scenes.make("room", shape, RayMap.equirectangular(shape))
    assert panorama.mask.all()
    pinhole = scenes.make("room", (128, 128), Pinhole.from_fov(90, (128, 128)))
    wrong = [
        np.nanmean(log_error(integrate(s.normals, s.mask, s.camera, "opencv"), s.depth)) for s in (panorama, pinhole)
    ]
    assert wrong[0] <= wrong[1]


def test_the_mesh_of_a_panorama_is_closed():
    """Each edge of the mesh has two triangles, and it encloses the volume of the room."""
    shape = (64, 128)
    camera = RayMap.equirectangular(shape)
    normals, depth = room(camera, shape)
    result = integrate(normals, camera=camera, frame="opencv")
    mesh = result.mesh()
    assert len(mesh.vertices) == shape[0] * shape[1]
    edges = np.sort(mesh.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    volume = -np.einsum("ij,ij->", a, np.cross(b, c)) / 6  # the triangles face the camera inside
    scale = np.exp(np.mean(np.log(depth)))
    assert volume * scale**3 == pytest.approx(4 * 2.5 * 5.5, rel=0.02)


def test_faces_of_a_cube():
    """Faces go to the panorama and back; vectors are turned into its frame."""
    rays = face_rays(32)
    assert all(
        np.allclose(np.linalg.inv(axes), axes.T) and np.linalg.det(axes) == pytest.approx(1) for axes in FACES.values()
    )
    camera = RayMap.cubemap(32)
    np.testing.assert_array_equal(camera.directions, cube_to_panorama(rays))
    ideal = RayMap.equirectangular((64, 128)).directions
    cosine = (ideal * camera.rays((64, 128))).sum(axis=-1)
    assert np.degrees(np.arccos(cosine.min())) < 90 / 32  # the nearest pixel of a face
    own = {name: np.tile([0.0, 0.0, -1.0], (32, 32, 1)) for name in FACES}
    turned = cube_to_panorama(own, turn_vectors=True)
    assert ((turned * ideal).sum(axis=-1) < -0.5).all()
    back = panorama_to_cube(cube_to_panorama({name: np.full((32, 32), i) for i, name in enumerate(FACES)}), 32)
    assert [int(np.median(back[name])) for name in FACES] == list(range(6))


def test_a_room_from_six_faces():
    """The faces of a cube map integrate like a panorama, across the edges of the cube."""
    faces = {}
    for name, axes in FACES.items():
        pinhole = Pinhole.from_fov(90, (40, 40))
        normals, _ = room(RayMap(pinhole.rays((40, 40)) @ axes), (40, 40))
        faces[name] = normals @ axes.T  # in the frame of the face's own camera
    camera = RayMap.cubemap(40)
    normals = cube_to_panorama(faces, turn_vectors=True)
    expected, depth = room(camera, camera.directions.shape[:2])
    np.testing.assert_allclose(normals, expected, atol=1e-9)
    result = integrate(normals, camera=camera, frame="opencv")
    assert result.graph.pixels.map.wrap.x
    assert log_error(result, depth).mean() < 0.02  # half a pixel at a crease is 2 % here


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cube_to_panorama({"front": np.zeros((4, 4))}), "expected front"),
        (lambda: cube_to_panorama({name: np.zeros((4, 5)) for name in FACES}), "square"),
        (lambda: cube_to_panorama({name: np.zeros((4, 4)) for name in FACES}, turn_vectors=True), "three channels"),
        (lambda: panorama_to_cube(np.zeros((4, 4)), 2), "twice as wide"),
        (lambda: face_rays(0), "size=0"),
        (lambda: scenes.make("bumps", (8, 16), RayMap.equirectangular((8, 16))), "panorama"),
        (lambda: scenes.make("textured_room", (8, 16), RayMap.equirectangular((8, 16))), "panorama"),
    ],
)
def test_what_cannot_be_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_wide_fisheye_sees_behind():
    """Beyond 180° the fisheye is spherical and valid up to its own border."""
    camera = RayMap.fisheye(240, (41, 41))
    assert camera.spherical
    normals, depth = room(camera, (41, 41))
    result = integrate(normals, np.isfinite(depth), camera, "opencv")
    assert np.isfinite(result.depth[20, 0])
    assert np.nanmean(log_error(result, depth)) < 0.02


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_colours_of_a_cube_are_not_turned(kind):
    """Encoded normals are no vectors; whole numbers with a sign may be."""
    faces = {name: np.full((4, 4, 3), 128, dtype=kind) for name in FACES}
    with pytest.raises(ValueError, match=f"turn_vectors: the face 'front' holds {np.dtype(kind)}.*decode"):
        cube_to_panorama(faces, turn_vectors=True)
    assert cube_to_panorama(faces).dtype == kind
    whole = {name: np.tile([0, 0, -1], (4, 4, 1)) for name in FACES}
    assert cube_to_panorama(whole, turn_vectors=True).shape == (8, 16, 3)


def test_a_whole_panorama_of_another_aspect_is_a_warning():
    """It may be a crop, which is right where longitude and latitude say so."""

    def warnings(shape, **part):
        camera = RayMap.equirectangular(shape, **part)
        inside = -camera.directions
        return [text for text in integrate(inside, None, camera, "opencv").warnings if "twice as wide as high" in text]

    assert len(warnings((50, 20))) == 1
    assert "state its longitude and latitude" in warnings((30, 40))[0]
    assert not warnings((20, 40))
    assert not warnings((20, 60), latitude=(-60, 60))
    assert not warnings((30, 30), longitude=(-90, 90))
