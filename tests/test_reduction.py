"""Meshes of the wanted size: they stay on the surface, have no cracks, and no triangle crosses a tear."""

import contextlib
import json
import re
import struct

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

from quotientgraph import integrate, scenes
from quotientgraph.cli import main
from quotientgraph.geometry.camera import Orthographic, Pinhole, RayMap
from quotientgraph.geometry.mesh import Cuts, triangulate
from quotientgraph.geometry.reduction import reduce_mesh
from quotientgraph.geometry.wrapping import Wrap
from quotientgraph.io import OutputError, write_image, write_mesh

SHAPE = (61, 90)
CAMERAS = [Orthographic(0.5), Pinhole(80, 80, 44.5, 30), RayMap.fisheye(100, SHAPE)]


def hills(shape=SHAPE, size=1.0):
    v, u = np.indices(shape)
    return 20 + size * (np.sin(u / 7) + np.cos(v / 9 + u / 20))


def image_corners(mesh):
    """(n_faces, 3, 2) corners in the image, (u, v)."""
    place = np.stack([mesh.pixels % mesh.shape[1], mesh.pixels // mesh.shape[1]], axis=-1)
    return place[mesh.faces].astype(float)


def image_area(mesh):
    a, b, c = image_corners(mesh).transpose(1, 0, 2)
    return -0.5 * ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0])


def measured(mesh, depth, camera):
    """Largest distance along the rays at any pixel, by intersecting each triangle with the rays of its pixels."""
    points, worst = camera.points(depth), 0.0
    focal = np.broadcast_to(camera.focal(depth.shape), depth.shape)
    for corners, face in zip(image_corners(mesh), mesh.vertices[mesh.faces]):
        (u0, v0), (u1, v1) = corners.min(axis=0).astype(int), corners.max(axis=0).astype(int)
        v, u = (x.ravel() for x in np.mgrid[v0 : v1 + 1, u0 : u1 + 1])
        inverse = np.linalg.inv(np.vstack([corners.T, np.ones(3)]))
        inside = (inverse @ np.stack([u, v, np.ones_like(u)]) >= -1e-9).all(axis=0)
        v, u = v[inside], u[inside]
        normal = np.cross(face[1] - face[0], face[2] - face[0])
        p = points[v, u]
        if camera.central:
            far = np.abs(np.log((normal @ face[0]) / (p @ normal))) * focal[v, u]
        else:
            far = np.abs((face[0] - p) @ normal / normal[2]) / camera.pixel_size
        worst = max(worst, far.max(initial=0))
    return worst


def sides(mesh):
    pairs = np.sort(np.concatenate([mesh.faces[:, [0, 1]], mesh.faces[:, [1, 2]], mesh.faces[:, [2, 0]]]), axis=1)
    return np.unique(pairs, axis=0, return_counts=True)


@pytest.mark.parametrize("camera", CAMERAS)
@pytest.mark.parametrize("error", [0.02, 0.2, 1.0])
def test_the_surface_is_met_at_every_pixel(camera, error):
    """The distance is measured here by another route; the whole sheet stays covered, once, without a crack."""
    depth = hills(size=1.0 if camera.central else 3.0)
    full = triangulate(depth, camera, cuts=Cuts.none(SHAPE))
    mesh = reduce_mesh(full, camera, max_error=error)
    worst = measured(mesh, depth, camera)
    assert worst <= error * (1 + 1e-5)
    assert worst <= mesh.deviation * (1 + 1e-5) + 1e-9
    assert len(mesh.faces) < len(full.faces)
    assert (image_area(mesh) > 0).all()
    assert image_area(mesh).sum() == (SHAPE[0] - 1) * (SHAPE[1] - 1)
    pairs, count = sides(mesh)
    assert count.max() == 2
    assert len(mesh.vertices) - len(pairs) + len(mesh.faces) == 1  # a disc
    border = mesh.pixels[pairs[count == 1]]
    v, u = border // SHAPE[1], border % SHAPE[1]
    on = (v == 0).all(1) | (v == SHAPE[0] - 1).all(1) | (u == 0).all(1) | (u == SHAPE[1] - 1).all(1)
    assert on.all()


def test_more_accuracy_takes_more_faces():
    full = triangulate(hills(), CAMERAS[1])
    counts = [len(reduce_mesh(full, CAMERAS[1], max_error=e).faces) for e in (3.0, 1.0, 0.3, 0.1, 0.0)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] / 10


@pytest.mark.parametrize("most", [2, 10, 100, 1000, 5000])
def test_the_number_of_faces_is_a_limit_that_is_used(most):
    full = triangulate(hills(), CAMERAS[1])
    mesh = reduce_mesh(full, CAMERAS[1], max_faces=most)
    assert (0.9 if most > 100 else 0.2) * most <= len(mesh.faces) <= most
    assert len(reduce_mesh(full, CAMERAS[1], max_faces=most, max_error=1e6).faces) == 2


def torn_surface(seed, shape):
    """A surface with random holes and cracks: depth, cuts, and the middle of each broken or missing edge."""
    random = np.random.default_rng(seed)
    depth = hills(shape) + (random.random(shape) < 0.02) * random.random(shape)
    for _ in range(random.integers(4)):
        v, u = random.integers(0, shape[0]), random.integers(0, shape[1])
        depth[v : v + random.integers(1, 9), u : u + random.integers(1, 9)] = np.nan
    cuts = Cuts.none(shape)
    for array in vars(cuts).values():
        if array.size:
            v, u = random.integers(0, array.shape[0]), random.integers(0, array.shape[1])
            array[v : v + random.integers(1, 6), u : u + random.integers(1, 6)] = random.random() < 0.5
    middles = []
    for array, dv, du in ((cuts.right, 0, 0.5), (cuts.down, 0.5, 0), (cuts.diagonal, 0.5, 0.5)):
        v, u = np.nonzero(array)
        middles.append(np.stack([u + du, v + dv], axis=-1))
    v, u = np.nonzero(np.isnan(depth))
    return depth, cuts, np.concatenate([*middles, np.stack([u, v], axis=-1)])


def covered(mesh, points):
    """Which points of the image lie in a triangle, its sides included."""
    hit = np.zeros(len(points), dtype=bool)
    for corners in image_corners(mesh):
        weights = np.linalg.inv(np.vstack([corners.T, np.ones(3)])) @ np.vstack([points.T, np.ones(len(points))])
        hit |= (weights >= -1e-9).all(axis=0)
    return hit


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 10**6), st.integers(2, 41), st.integers(2, 41), st.sampled_from([None, 4, 30, 300]), st.booleans()
)
def test_no_triangle_crosses_a_tear(seed, height, width, most, central):
    """Cracks and holes of any form: nothing is laid over them, and nothing that held together is lost."""
    depth, cuts, middles = torn_surface(seed, (height, width))
    camera = Pinhole(40, 40, width / 2, height / 2) if central else Orthographic()
    full = triangulate(depth, camera, cuts=cuts)
    torn = cuts.diagonal | cuts.antidiagonal
    limits = {"max_error": 0.3} if most is None else {"max_faces": most}
    if most == 4:  # perhaps fewer than the pieces that the surface falls into
        with contextlib.suppress(ValueError):
            assert len(reduce_mesh(full, camera, torn=torn, **limits).faces) <= 4
        return
    mesh = reduce_mesh(full, camera, torn=torn, **limits)
    if len(mesh.faces) == 0:
        assert len(full.faces) == 0
        return
    # A square whose diagonal alone is broken is whole in the full mesh, along its other diagonal.
    outside = ~covered(full, middles)
    assert not covered(mesh, middles[outside]).any()
    assert (image_area(mesh) > 0).all()
    assert sides(mesh)[1].max() <= 2
    if most is None:
        assert image_area(mesh).sum() == image_area(full).sum()
        assert measured(mesh, depth, camera) <= 0.3 * (1 + 1e-5)
    else:
        assert len(mesh.faces) <= most
        assert image_area(mesh).sum() <= image_area(full).sum()


def test_a_step_is_kept_to_the_pixel():
    """Both sides of a straight tear reach it, although almost all faces are gone."""
    depth = np.full(SHAPE, 20.0)
    depth[:, 41:] = 60
    full = triangulate(depth)
    mesh = reduce_mesh(full, Orthographic(), max_error=0.1)
    assert len(mesh.faces) < 0.2 * len(full.faces)
    assert image_area(mesh).sum() == image_area(full).sum()
    columns = mesh.pixels % SHAPE[1]
    assert {40, 41} <= set(columns.tolist())
    corners = columns[mesh.faces]
    assert ((corners <= 40).all(axis=1) | (corners >= 41).all(axis=1)).all()


def test_vertices_keep_what_they_had():
    random = np.random.default_rng(3)
    full = triangulate(hills(), CAMERAS[1], normals=random.normal(size=(*SHAPE, 3)))
    mesh = reduce_mesh(full, CAMERAS[1], max_faces=500)
    place = np.searchsorted(full.pixels, mesh.pixels)
    np.testing.assert_array_equal(mesh.vertices, full.vertices[place])
    np.testing.assert_array_equal(mesh.normals, full.normals[place])
    np.testing.assert_array_equal(mesh.uv, full.uv[place])


def test_results_give_meshes_of_a_size(tmp_path):
    scene = scenes.make("stairs", shape=(96, 120))
    result = integrate(scene.normals, scene.mask, scene.camera, "opencv")
    assert len(result.mesh(max_faces=1500).faces) <= 1500 < len(result.mesh().faces)
    assert result.mesh(max_error=0.5).deviation <= 0.5
    for most in (1500.0, np.float32(1500), 0.1 * 15000 + 0.7):
        np.testing.assert_array_equal(result.mesh(max_faces=most).faces, result.mesh(max_faces=1500).faces)
    result.save(tmp_path / "small.ply", max_faces=1500)
    for several in ((500, 1500), np.array([500, 1500]), (500.0 * k for k in (1, 3))):
        result.save(tmp_path / "levels.glb", max_faces=several)
    result.save(tmp_path / "one.glb", max_faces=np.array(500))
    assert len(trimesh.load(tmp_path / "small.ply", process=False).faces) <= 1500
    with pytest.raises(ValueError, match="max_faces=0"):
        result.mesh(max_faces=0)
    with pytest.raises(ValueError, match="max_error=-1"):
        result.save(tmp_path / "small.ply", max_error=-1)


def test_levels_of_detail_in_one_file(tmp_path):
    """The scene shows the finest level; the extension names the others, which are scenes of their own as well."""
    full = triangulate(hills(), CAMERAS[1])
    levels = [reduce_mesh(full, CAMERAS[1], max_faces=n) for n in (2000, 300, 40)]
    image = np.random.default_rng(0).integers(0, 255, (*SHAPE, 3), dtype=np.uint8)
    path = tmp_path / "levels.glb"
    write_mesh(path, levels[0], texture=image, coarser=levels[1:])
    data = path.read_bytes()
    text = json.loads(data[20 : 20 + struct.unpack("<I", data[12:16])[0]])
    assert text["extensionsUsed"] == ["MSFT_lod"]
    assert text["nodes"][0]["extensions"]["MSFT_lod"]["ids"] == [1, 2]
    shares = text["nodes"][0]["extras"]["MSFT_screencoverage"]
    assert shares == sorted(shares, reverse=True)
    for k, level in enumerate(levels):
        node = text["scenes"][k]["nodes"][0]
        primitive = text["meshes"][text["nodes"][node]["mesh"]]["primitives"][0]
        assert text["accessors"][primitive["indices"]]["count"] == 3 * len(level.faces)
        assert "TEXCOORD_0" in primitive["attributes"]
    shown = trimesh.load(path, process=False).geometry.values()
    assert {len(m.faces) for m in shown} >= {len(levels[0].faces)}
    assert next(iter(shown)).visual.material.baseColorTexture.size == SHAPE[::-1]
    with pytest.raises(OutputError, match="coarser"):
        write_mesh(tmp_path / "levels.ply", levels[0], coarser=levels[1:])


def test_the_command_line_takes_sizes(tmp_path, capsys):
    """--faces and --error, with units; levels of detail go into the .glb alone."""
    scene = scenes.make("stairs", shape=(64, 80))
    map_file = str(tmp_path / "stairs.png")
    write_image(map_file, np.rint((np.nan_to_num(scene.normals) * [1, -1, -1] + 1) * 32767.5).astype(np.uint16))
    command = ["integrate", map_file, "--frame", "opengl", "--fov", "60", "-o", str(tmp_path / "out")]
    assert main([*command, "--mesh", "ply,glb", "--faces", "0.2k,1.5K", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)["results"][0]
    assert 750 < record["faces"] <= 1500
    assert len(trimesh.load(tmp_path / "out" / "mesh.ply", process=False).faces) == record["faces"]
    assert b"MSFT_lod" in (tmp_path / "out" / "mesh.glb").read_bytes()
    assert main([*command, "--error", "0.5px"]) == 0
    assert re.search(r"within 0\.\d+ pixels", capsys.readouterr().out)
    for words, told in (
        (["--faces", "many"], "200k"),
        (["--error", "half"], "0.5px"),
        (["--faces", "9", "--mesh", "none"], "no --mesh"),
        (["--faces", "9,3", "--mesh", "ply"], "glb"),
    ):
        assert main([*command, *words]) == 2
        assert told in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["glb", "ply", "obj"])
def test_open3d_reads_the_same_triangles(tmp_path, suffix):
    open3d = pytest.importorskip("open3d", exc_type=ImportError)
    mesh = reduce_mesh(triangulate(hills(), CAMERAS[1]), CAMERAS[1], max_faces=500)
    write_mesh(tmp_path / f"mesh.{suffix}", mesh)
    read = open3d.io.read_triangle_mesh(str(tmp_path / f"mesh.{suffix}"))
    assert len(read.triangles) == len(mesh.faces)


@pytest.mark.parametrize(("shape", "limits"), [
    ((48, 96), {"max_error": 0.3}), ((48, 96), {"max_faces": 700}), ((37, 74), {"max_error": 0.5}),
])  # fmt: skip
def test_a_panorama_stays_closed(shape, limits):
    """Seam and poles: every side of a triangle has two triangles, and the whole is a sphere."""
    camera = RayMap.equirectangular(shape)
    wrap = Wrap.from_name("auto", camera, shape)
    v, u = np.indices(shape)
    distance = 3 + 0.3 * np.sin(2 * np.pi * u / shape[1] * 3) * np.sin(np.pi * (v + 0.5) / shape[0]) ** 2
    depth = distance
    full = triangulate(depth, camera, cuts=Cuts.none(wrap.padded(shape)), wrap=wrap)
    mesh = reduce_mesh(full, camera, wrap=wrap, **limits)
    assert len(mesh.faces) < 0.6 * len(full.faces)
    assert len(mesh.faces) <= limits.get("max_faces", np.inf)
    assert mesh.deviation <= limits.get("max_error", np.inf)
    pairs, count = sides(mesh)
    assert (count == 2).all()
    assert len(mesh.vertices) - len(pairs) + len(mesh.faces) == 2
    assert trimesh.Trimesh(mesh.vertices, mesh.faces, process=False).is_watertight


def ellipsoid_in_a_cube_map(size):
    """An ellipsoid seen from inside, off its centre: the distance of each pixel of a panorama made of six faces."""
    camera = RayMap.cubemap(size)
    rays = camera.directions / np.linalg.norm(camera.directions, axis=-1, keepdims=True)
    centre, axes = np.array([0.2, -0.1, 0.3]), np.array([2.0, 1.5, 1.2])
    a, b = ((rays / axes) ** 2).sum(axis=-1), (rays * centre / axes**2).sum(axis=-1)
    return (b + np.sqrt(b**2 - a * (((centre / axes) ** 2).sum() - 1))) / a, camera


def along_rays(mesh, points, focal):
    """Largest distance in pixels between points and the nearest triangle in their direction; infinite where none is."""
    a, b, c = mesh.vertices[mesh.faces].transpose(1, 0, 2)
    worst = 0.0
    for point, pixels in zip(points, focal):
        with np.errstate(all="ignore"):
            h = np.cross(point, c - a)
            over = 1 / ((b - a) * h).sum(axis=1)
            q = np.cross(-a, b - a)
            u, v, t = over * (-a * h).sum(axis=1), over * (q @ point), over * ((c - a) * q).sum(axis=1)
            hit = (u > -1e-9) & (v > -1e-9) & (u + v < 1 + 1e-9) & (t > 0)
        worst = max(worst, (np.exp(np.abs(np.log(t[hit])).min(initial=np.inf)) - 1) * pixels)
    return worst


@pytest.mark.parametrize("size", [20, 32])
@pytest.mark.parametrize(
    "limits", [{"max_error": 0.1}, {"max_error": 0.5}, *({"max_faces": n} for n in (3000, 1000, 300, 100))]
)
def test_a_cube_map_stays_closed(size, limits):
    """Several of its pixels have the same ray, so triangles are flat or seen from the edge, and hide no crack."""
    depth, camera = ellipsoid_in_a_cube_map(size)
    wrap = Wrap.from_name("auto", camera, depth.shape)
    full = triangulate(depth, camera, cuts=Cuts.none(wrap.padded(depth.shape)), wrap=wrap)
    mesh = reduce_mesh(full, camera, wrap=wrap, **limits)
    most = limits.get("max_faces", len(full.faces))
    assert (0.7 * most if most < len(full.faces) else 1) <= len(mesh.faces) <= most
    assert mesh.deviation <= limits.get("max_error", 8)
    assert (sides(mesh)[1] == 2).all()
    chosen = np.random.default_rng(0).choice(depth.size, 300, replace=False)
    focal = np.broadcast_to(camera.focal(depth.shape), depth.shape).ravel()[chosen]
    assert along_rays(mesh, camera.points(depth).reshape(-1, 3)[chosen], focal) <= mesh.deviation * (1 + 1e-6) + 1e-6


@pytest.mark.parametrize("limits", [{"max_error": 0.2}, {"max_faces": 900}])
def test_tiles_meet_without_a_gap(limits):
    """The far borders have the vertices of the near ones, one tile further."""
    shape = (50, 70)
    v, u = (2 * np.pi * x / n for x, n in zip(np.indices(shape), shape))
    depth = 2 * np.sin(u) * np.cos(2 * v) + np.sin(3 * u + v)
    wrap = Wrap(x=True, y=True)
    full = triangulate(depth, cuts=Cuts.none(wrap.padded(shape)), wrap=wrap)
    mesh = reduce_mesh(full, Orthographic(), wrap=wrap, **limits)
    assert len(mesh.faces) < 0.6 * len(full.faces)
    assert image_area_of(mesh.vertices[mesh.faces]) == pytest.approx(50 * 70)
    x, y, z = mesh.vertices.T
    for near, far, along in ((x == 0, x == 70, y), (y == 0, y == 50, x)):
        one, other = (sorted(zip(along[side], z[side])) for side in (near, far))
        np.testing.assert_allclose(one, other, atol=1e-12)
    assert mesh.uv.max() > 1


def image_area_of(corners):
    """Area of triangles seen along z."""
    a, b, c = corners.transpose(1, 0, 2)[..., :2]
    return float(np.abs((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]).sum() / 2)
