"""Depth, labels, meshes, clouds and graphs as files; and that a write happens entirely or not at all."""

import errno
import os
import stat
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
import trimesh

import quotientgraph.io as qio
from quotientgraph.geometry.camera import Pinhole
from quotientgraph.geometry.mesh import triangulate

SHAPES = [(1, 1), (1, 7), (7, 1), (3, 5), (20, 31)]


def depth_map(shape=(20, 31), seed=0):
    v, u = np.indices(shape)
    depth = 5 + 0.01 * u + 0.02 * v + 0.01 * np.random.default_rng(seed).random(shape)
    depth.flat[0] = np.nan if depth.size > 1 else depth.flat[0]
    return depth


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".mat", ".exr", ".tiff", ".png"])
def test_depth_round_trip(tmp_path, shape, suffix):
    depth = depth_map(shape)
    qio.write_depth(tmp_path / f"d{suffix}", depth)
    back = qio.read_depth(tmp_path / f"d{suffix}").reshape(shape)
    np.testing.assert_array_equal(np.isnan(back), np.isnan(depth))
    if suffix in (".exr", ".tiff"):
        np.testing.assert_array_equal(back, depth.astype(np.float32))
    else:
        step = (np.nanmax(depth) - np.nanmin(depth)) / 65533
        np.testing.assert_allclose(back, depth, atol=0.5001 * step + 1e-14 if suffix == ".png" else 0, rtol=0)


def test_depth_png_needs_its_sidecar(tmp_path):
    qio.write_depth(tmp_path / "d.png", np.full((3, 4), np.nan))
    assert np.isnan(qio.read_depth(tmp_path / "d.png")).all()
    (tmp_path / "d.png.json").write_text("{}")
    with pytest.raises(qio.InputError, match=r"d\.png\.json"):
        qio.read_depth(tmp_path / "d.png")
    (tmp_path / "d.png.json").unlink()
    with pytest.raises(qio.InputError, match="offset and scale"):
        qio.read_depth(tmp_path / "d.png")


@pytest.mark.parametrize("suffix", [".png", ".npy", ".tiff"])
def test_labels_round_trip(tmp_path, suffix):
    labels = np.arange(-1, 14, dtype=np.int32).reshape(3, 5)
    qio.write_labels(tmp_path / f"l{suffix}", labels)
    np.testing.assert_array_equal(qio.read_labels(tmp_path / f"l{suffix}"), labels)


def test_too_many_labels_for_a_png(tmp_path):
    labels = np.arange(70000).reshape(280, 250)
    with pytest.raises(qio.OutputError, match=r"70000 labels.*\.tiff"):
        qio.write_labels(tmp_path / "l.png", labels)
    assert list(tmp_path.iterdir()) == []


def test_graphml(tmp_path):
    graph = nx.MultiGraph(angle=np.float64(3.5))
    graph.add_node(0, size=np.int64(7), centre=np.array([1.0, 2.0]))
    graph.add_edge(0, 1, weight=np.float32(0.5), cut=np.True_, note=None)
    qio.write_graphml(tmp_path / "g.graphml", graph)
    back = nx.read_graphml(tmp_path / "g.graphml", force_multigraph=True)
    assert back.nodes["0"]["size"] == 7
    assert back.nodes["0"]["centre"] == "[1.0, 2.0]"
    assert next(iter(back.edges(data=True)))[2]["weight"] == 0.5
    assert back.graph["angle"] == 3.5


def mesh():
    return triangulate(depth_map(), Pinhole(40, 40, 15, 10))


@pytest.mark.parametrize("suffix", [".ply", ".glb", ".obj", ".stl"])
@pytest.mark.parametrize("textured", [False, True])
def test_meshes_load_back(tmp_path, suffix, textured):
    surface = mesh()
    path = tmp_path / f"m{suffix}"
    texture = np.random.default_rng(0).integers(0, 255, (40, 62, 3)).astype(np.uint8) if textured else None
    if textured and suffix == ".stl":
        with pytest.raises(qio.OutputError, match="no texture"):
            qio.write_mesh(path, surface, texture=texture)
        return
    qio.write_mesh(path, surface, texture=texture)
    back = trimesh.load(path, process=False)
    if isinstance(back, trimesh.Scene):
        (back,) = back.geometry.values()
    assert len(back.faces) == len(surface.faces)
    assert np.isfinite(back.vertices).all()
    turn = np.array([1, 1, 1] if suffix == ".ply" else [1, -1, -1])
    corners = back.vertices[back.faces]
    np.testing.assert_allclose(corners, (surface.vertices * turn)[surface.faces], rtol=1e-6)
    if suffix != ".stl":
        assert len(back.vertices) == len(surface.vertices)
        np.testing.assert_allclose(back.vertex_normals, surface.normals * turn, atol=1e-5)
    if textured and suffix == ".ply":
        v, u = np.divmod(surface.pixels, 31)
        np.testing.assert_array_equal(back.visual.vertex_colors[:, :3], texture[2 * v + 1, 2 * u + 1])
    elif textured:
        expected = surface.uv * [1, -1] + [0, 1]  # trimesh counts from the bottom, as OBJ does
        np.testing.assert_allclose(back.visual.uv, expected, atol=1e-6)


def test_mesh_frame_can_be_chosen(tmp_path):
    surface = mesh()
    qio.write_mesh(tmp_path / "m.ply", surface, frame="opengl")
    back = trimesh.load(tmp_path / "m.ply", process=False)
    np.testing.assert_allclose(back.vertices, surface.vertices * [1, -1, -1], rtol=1e-6)
    with pytest.raises(qio.OutputError, match="frame="):
        qio.write_mesh(tmp_path / "m.ply", surface, frame="up")
    with pytest.raises(qio.OutputError, match="suffix"):
        qio.write_mesh(tmp_path / "m.fbx", surface)
    with pytest.raises(qio.OutputError, match="no triangle"):
        qio.write_mesh(tmp_path / "m.glb", triangulate(np.full((3, 3), np.nan)))


@pytest.mark.parametrize("suffix", [".ply", ".xyz"])
def test_point_cloud_leaves_out_what_is_not_finite(tmp_path, suffix):
    depth = depth_map()
    points = Pinhole(40, 40, 15, 10).points(depth)
    normals = np.broadcast_to([0.0, 0, -1], points.shape)
    colours = np.full(points.shape, 9, dtype=np.uint8)
    qio.write_points(tmp_path / f"p{suffix}", points, normals=normals, colours=colours)
    finite = points[np.isfinite(depth)]
    if suffix == ".ply":
        back = trimesh.load(tmp_path / "p.ply", process=False).vertices
    else:
        back = np.loadtxt(tmp_path / "p.xyz")[:, :3]
    np.testing.assert_allclose(back, finite, rtol=1e-6)


WRITES = {
    "d.npy": lambda p: qio.write_depth(p, depth_map()),
    "d.exr": lambda p: qio.write_depth(p, depth_map()),
    "d.tiff": lambda p: qio.write_depth(p, depth_map()),
    "d.png": lambda p: qio.write_depth(p, depth_map()),
    "l.png": lambda p: qio.write_labels(p, np.zeros((3, 4), dtype=np.int32)),
    "m.ply": lambda p: qio.write_mesh(p, mesh()),
    "m.obj": lambda p: qio.write_mesh(p, mesh()),
    "m.glb": lambda p: qio.write_mesh(p, mesh()),
    "m.stl": lambda p: qio.write_mesh(p, mesh()),
    "g.graphml": lambda p: qio.write_graphml(p, nx.path_graph(4)),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_interrupted_write_leaves_what_was_there(tmp_path, monkeypatch, name, error):
    (tmp_path / name).write_bytes(b"old")
    mesh()  # compiled before: the cache of the compiler replaces files, too

    def fail(*_):
        raise error

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(qio.OutputError if isinstance(error, OSError) else KeyboardInterrupt) as caught:
        WRITES[name](tmp_path / name)
    if isinstance(error, OSError):
        assert "free some space" in str(caught.value)
        assert name in str(caught.value)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == b"old"


FULL = """
import resource, signal, sys, numpy as np, quotientgraph.io as qio
import imagecodecs, tifffile, OpenEXR
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
depth = np.random.default_rng(0).random((200, 200)) + 1
try:
    qio.write_depth(sys.argv[1], depth)
except qio.OutputError as error:
    print(error)
"""


@pytest.mark.parametrize("suffix", [".npy", ".exr", ".tiff", ".png"])
@pytest.mark.parametrize("limit", [4096, 61440])
def test_disk_that_fills_up(tmp_path, suffix, limit):
    """A real failing write, from the operating system's limit on file size."""
    command = [sys.executable, "-c", FULL, tmp_path / f"d{suffix}", str(limit)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    assert run.stdout.count("\n") == 1
    assert f"d{suffix}" in run.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_rights(tmp_path):
    tmp_path.chmod(stat.S_IREAD | stat.S_IEXEC)
    try:
        with pytest.raises(qio.OutputError, match="in which you may write"):
            qio.write_depth(tmp_path / "d.npy", depth_map())
    finally:
        tmp_path.chmod(0o700)


def test_rights_as_the_system_reports_them(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with pytest.raises(qio.OutputError, match=r"Permission denied.*in which you may write"):
            qio.write_depth(tmp_path / "d.npy", depth_map())


def test_odd_targets(tmp_path):
    with pytest.raises(qio.OutputError, match="does not exist"):
        qio.write_depth(tmp_path / "no" / "d.npy", depth_map())
    (tmp_path / "d.npy").mkdir()
    with pytest.raises(qio.OutputError, match="not a file"):
        qio.write_depth(tmp_path / "d.npy", depth_map())
    (tmp_path / "link.npy").symlink_to(tmp_path / "real.npy")
    qio.write_depth(tmp_path / "link.npy", depth_map())
    assert (tmp_path / "link.npy").is_symlink()
    assert (tmp_path / "real.npy").is_file()
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "real.npy").stat().st_mode) == 0o666 & ~umask
    with pytest.raises(qio.OutputError, match="suffix"):
        qio.write_depth(tmp_path / "d.jpg", depth_map())
    with pytest.raises(qio.OutputError, match="uint8 or uint16"):
        qio.write_image(tmp_path / "d.png", depth_map())


def test_what_a_killed_process_left_is_removed(tmp_path):
    """A living process keeps its temporary file; the others go with the next write into the folder, in a new process."""
    code = (
        "import os, sys, numpy as np, quotientgraph.io as qio\n"
        "with qio.atomic(sys.argv[1]) as part:\n    part.write_text('half')\n    os.kill(os.getpid(), 9)\n"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code, tmp_path / "d.npy"])
        assert sum(name.startswith(".d.") for name in os.listdir(tmp_path)) == 1
    with qio.atomic(tmp_path / "alive.npy") as part:
        part.write_text("half")
        code = "import sys, numpy as np, quotientgraph.io as qio\nqio.write_image(sys.argv[1], np.zeros((2, 2)))"
        subprocess.run([sys.executable, "-c", code, tmp_path / "e.npy"], check=True)
    assert sorted(os.listdir(tmp_path)) == ["alive.npy", "e.npy"]


def test_a_planted_link_is_refused(tmp_path, monkeypatch):
    """In a folder where everybody may write, a link of another user is not followed."""
    tmp_path.chmod(0o777)
    (tmp_path / "r.npy").symlink_to(tmp_path / "victim")
    qio.write_depth(tmp_path / "r.npy", depth_map())  # one's own link is
    (tmp_path / "victim").unlink()
    try:
        os.lchown(tmp_path / "r.npy", 12345, 12345)
    except PermissionError:
        pytest.skip("only root may give a link to another user")
    with pytest.raises(qio.OutputError, match="another user made"):
        qio.write_depth(tmp_path / "r.npy", depth_map())
    assert not (tmp_path / "victim").exists()


def test_no_decoder_is_loaded_before_it_is_needed():
    code = "import sys, quotientgraph.io; print([m for m in sys.modules if m in set(sys.argv[1:])])"
    heavy = ["imagecodecs", "tifffile", "OpenEXR", "trimesh", "scipy", "networkx", "numba"]
    run = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
