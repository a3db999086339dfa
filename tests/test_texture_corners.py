"""Textures on surfaces that go on beyond the border of their picture: tiles and panoramas."""

import json
import struct

import numpy as np
import pytest
import trimesh

from quotientgraph.geometry.camera import Orthographic, RayMap
from quotientgraph.geometry.mesh import Cuts, triangulate
from quotientgraph.geometry.reduction import reduce_mesh
from quotientgraph.geometry.wrapping import Wrap
from quotientgraph.io import write_mesh
from quotientgraph.io.texture_corners import texture_corners

SHAPE = (48, 96)


def panorama(max_faces=None, shape=SHAPE):
    camera = RayMap.equirectangular(shape)
    wrap = Wrap.from_name("auto", camera, shape)
    v, u = np.indices(shape)
    depth = 3 + 0.3 * np.sin(6 * np.pi * u / shape[1]) * np.sin(np.pi * (v + 0.5) / shape[0]) ** 2
    full = triangulate(depth, camera, cuts=Cuts.none(wrap.padded(shape)), wrap=wrap)
    return reduce_mesh(full, camera, max_faces=max_faces, wrap=wrap)


def picture_area(uv):
    """Area of triangles (n, 3, 2) in the picture, positive where they are seen as the camera sees them."""
    a, b, c = uv.transpose(1, 0, 2)
    return -0.5 * ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0])


def glb_corners(path):
    """(n, 3, 3) positions and (n, 3, 2) places in the picture."""
    data = path.read_bytes()
    size = struct.unpack("<I", data[12:16])[0]
    text = json.loads(data[20 : 20 + size])
    primitive = text["meshes"][0]["primitives"][0]

    def array(number, kind, width):
        accessor = text["accessors"][number]
        start = 28 + size + text["bufferViews"][accessor["bufferView"]]["byteOffset"]
        return np.frombuffer(data, kind, accessor["count"] * width, start).reshape(-1, width)

    faces = array(primitive["indices"], "<u4", 1).reshape(-1, 3)
    position, place = (array(primitive["attributes"][k], "<f4", n) for k, n in (("POSITION", 3), ("TEXCOORD_0", 2)))
    return position[faces], place[faces]


def obj_corners(path):
    rows = [line.split() for line in path.read_text().splitlines()]
    positions, places = (np.array([r[1:] for r in rows if r[0] == k], float) for k in ("v", "vt"))
    index = np.array([[c.split("/")[:2] for c in r[1:]] for r in rows if r[0] == "f"], int) - 1
    return positions[index[..., 0]], places[index[..., 1]] * [1, -1] + [0, 1]


def test_a_tile_has_the_colours_of_its_picture(tmp_path):
    """The far borders of a textured .ply repeat the colours of the near ones."""
    shape = (20, 30)
    wrap = Wrap(x=True, y=True)
    v, u = (2 * np.pi * x / n for x, n in zip(np.indices(shape), shape))
    mesh = triangulate(np.sin(u) + np.cos(v), Orthographic(), cuts=Cuts.none(wrap.padded(shape)), wrap=wrap)
    picture = np.random.default_rng(0).integers(0, 255, (*shape, 3), dtype=np.uint8)
    write_mesh(tmp_path / "tile.ply", mesh, texture=picture)
    read = trimesh.load(tmp_path / "tile.ply", process=False)
    np.testing.assert_array_equal(read.visual.vertex_colors[:, :3], picture.reshape(-1, 3)[mesh.pixels])
    assert mesh.uv.max() > 1


@pytest.mark.parametrize("max_faces", [None, 1500, 200, 40])
@pytest.mark.parametrize("suffix", [".glb", ".obj"])
def test_no_triangle_of_a_panorama_shows_the_picture_backwards(tmp_path, max_faces, suffix):
    """The triangles cover the picture once; each keeps its corners, and their places but for whole pictures."""
    mesh = panorama(max_faces)
    path = tmp_path / f"panorama{suffix}"
    write_mesh(path, mesh, texture=np.zeros((*SHAPE, 3), np.uint8))
    corners, places = (glb_corners if suffix == ".glb" else obj_corners)(path)
    np.testing.assert_allclose(corners, (mesh.vertices * [1, -1, -1])[mesh.faces], rtol=1e-6, atol=1e-6)
    turns = places - mesh.uv[mesh.faces]
    np.testing.assert_allclose(turns, np.rint(turns), atol=1e-6)
    area = picture_area(places)
    cap = np.ptp(mesh.pixels[mesh.faces] // SHAPE[1], axis=1) == 0
    assert cap.any()
    assert (area[~cap] > 0).all()
    assert area.sum() == pytest.approx((SHAPE[0] - 1) / SHAPE[0], rel=1e-5)
    assert np.ptp(places[..., 0], axis=1).max() < 0.6


def test_places_are_doubled_at_the_seam_alone():
    """One more for each vertex of the first column, and for those of the caps that take the way across it."""
    mesh = panorama()
    uv, vertex, faces = texture_corners(mesh)
    np.testing.assert_array_equal(vertex[faces], mesh.faces)
    np.testing.assert_array_equal(uv[: len(mesh.vertices)], mesh.uv)
    added = mesh.pixels[vertex[len(mesh.vertices) :]]
    assert set(range(0, SHAPE[0] * SHAPE[1], SHAPE[1])) <= set(added.tolist())
    inner = added[(added % SHAPE[1]) > 0]
    assert set((inner // SHAPE[1]).tolist()) <= {0, SHAPE[0] - 1}


def test_two_triangles_over_a_whole_image_stay_as_they_are():
    """Without a seam no corner moves, however wide a triangle is."""
    mesh = reduce_mesh(triangulate(np.ones((65, 65))), Orthographic(), max_faces=2)
    uv, _, faces = texture_corners(mesh)
    np.testing.assert_array_equal(uv, mesh.uv)
    np.testing.assert_array_equal(faces, mesh.faces)
