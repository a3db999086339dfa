"""`quotientgraph integrate`: inputs, outputs, configuration, batches, and that nothing half-written stays behind."""

import csv
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
import trimesh

import quotientgraph.io as qio
from quotientgraph import QuotientGraph, scenes
from quotientgraph.cli import main, workers
from quotientgraph.cli.file_lists import expand, names
from quotientgraph.metrics import relative_error

# The tests stand in other folders, and the package need not be installed.
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])}


def write_map(path, scene):
    """A 16-bit PNG in the OpenGL frame with the mask as alpha."""
    normals = np.nan_to_num(scene.normals) * [1, -1, -1]
    image = np.rint((normals + 1) * 32767.5).astype(np.uint16)
    qio.write_image(path, np.dstack([image, (scene.mask * 65535).astype(np.uint16)]))


@pytest.fixture(scope="module")
def ball():
    return scenes.make("sphere", shape=(40, 50))


@pytest.fixture
def work(tmp_path, monkeypatch, ball):
    """An empty folder to stand in, with ball.png and its K.txt."""
    monkeypatch.chdir(tmp_path)
    write_map(tmp_path / "ball.png", ball)
    np.savetxt("K.txt", ball.camera.matrix)
    return tmp_path


def run(*argv, code=0):
    assert main([str(word) for word in argv]) == code


def lines_of(text):
    """The lines on stderr, but for the one that the first run on a machine prints while it compiles."""
    return [line for line in text.splitlines() if "compiling (once" not in line]


def failure(capsys, *argv, code=1):
    capsys.readouterr()
    run(*argv, code=code)
    captured = capsys.readouterr()
    (line,) = lines_of(captured.err)
    assert line.startswith("quotientgraph: error: ")
    return line


def left_behind(folder):
    """Everything in a folder that a finished run should not leave."""
    return [str(p) for p in Path(folder).rglob("*") if p.name.startswith(".")]


def test_one_file(work, ball, capsys):
    """Depth and mesh go straight into -o; the depth is that of the scene."""
    run("integrate", "ball.png", "--camera", "K.txt", "-o", "out")
    assert sorted(os.listdir("out")) == ["depth.npy", "manifest.json", "mesh.ply"]
    assert relative_error(np.load("out/depth.npy"), ball.depth) < 2e-3
    captured = capsys.readouterr()
    assert "ball: 50 × 40" in captured.out
    assert "out: depth.npy, mesh.ply" in captured.out
    mesh = trimesh.load("out/mesh.ply")
    assert len(mesh.vertices) > 0.9 * ball.mask.sum()
    assert np.isfinite(mesh.vertices).all()
    assert left_behind(work) == []


def test_every_output(work, capsys):
    """All formats at once, each readable again; JSON tells what was made."""
    run("integrate", "ball.png", "--camera", "K.txt", "-o", "out", "--format", "npy,exr,tiff,png", "--mesh",
        "ply,obj,glb,stl", "--points", "--labels", "--graphml", "--tables", "--decomposition", "--picture", "--report",
        "--json")  # fmt: skip
    document = json.loads(capsys.readouterr().out)
    assert (document["ok"], document["failed"], document["skipped"]) == (1, 0, 0)
    (record,) = document["results"]
    assert [*record["files"], "manifest.json"] == sorted(
        os.listdir("out"), key=lambda name: (name == "manifest.json", name)
    )
    assert {"components.graphml", "labels.png", "points.ply", "picture.png", "report.html"} <= set(record["files"])
    depth = np.load("out/depth.npy")
    for kind, tolerance in (("exr", 1e-6), ("tiff", 1e-6), ("png", 1e-4)):
        np.testing.assert_allclose(qio.read_depth(f"out/depth.{kind}"), depth, rtol=tolerance)
    assert qio.read_labels("out/labels.png").max() + 1 == record["components"]
    tables, loaded = qio.read_tables("out/components.csv"), QuotientGraph.load("out/decomposition.qg")
    assert tables.n_nodes == loaded.n_components == record["components"]
    counts = {len(trimesh.load(f"out/mesh.{kind}", force="mesh").faces) for kind in ("ply", "obj", "glb", "stl")}
    assert len(counts) == 1
    assert (record["frame"], record["converged"], record["pieces"]) == ("opengl", True, 1)


def test_criteria_of_components(work, capsys):
    """A label image, a photograph and drawn lines decide where components end."""
    labels = np.zeros((40, 50), dtype=np.int32)
    labels[:, 25:] = 1
    qio.write_labels("parts.png", labels)
    qio.write_image("photo.png", np.where(labels[..., None], [200, 30, 10], [10, 30, 200]).astype(np.uint8))
    drawn = np.zeros((40, 50), dtype=np.uint8)
    drawn[:, 25] = 255
    qio.write_image("drawn.png", drawn)
    common = ("integrate", "ball.png", "--camera", "K.txt", "--angle", "60", "--json", "-o")
    found = {}
    for name, options in {
        "plain": (),
        "labels": ("--segments", "parts.png"),
        "image": ("--split-image", "photo.png"),
        "lines": ("--lines", "drawn.png"),
    }.items():
        run(*common, name, *options)
        (found[name],) = json.loads(capsys.readouterr().out)["results"]
    assert found["plain"]["components"] == 1
    assert found["labels"]["components"] == found["image"]["components"] == found["lines"]["pieces"] == 2
    qio.write_labels("small.png", labels[:9])
    run("integrate", "ball.png", "--camera", "K.txt", "--segments", "small.png", "-o", "bad", code=1)
    assert "small.png" in capsys.readouterr().err
    run("integrate", "ball.png", "--method", "bini", "--segments", "parts.png", "-o", "bad", code=2)
    assert "--segments" in capsys.readouterr().err


def test_a_texture(work):
    """A photograph of any size is laid over the mesh."""
    qio.write_image("photo.png", np.full((80, 100, 3), [200, 30, 10], dtype=np.uint8))
    run("integrate", "ball.png", "--fov", 40, "-o", "out", "--texture", "photo.png", "--mesh", "ply,glb")
    colours = trimesh.load("out/mesh.ply").visual.vertex_colors
    assert (colours[:, :3] == [200, 30, 10]).all()


def test_a_photograph_as_texture(work):
    import imagecodecs

    Path("photo.jpg").write_bytes(imagecodecs.jpeg8_encode(np.full((80, 100, 3), [200, 30, 10], dtype=np.uint8)))
    run("integrate", "ball.png", "-o", "out", "--texture", "photo.jpg", "-q")
    colours = trimesh.load("out/mesh.ply").visual.vertex_colors
    assert np.abs(colours[:, :3].astype(int) - [200, 30, 10]).max() <= 3


def test_the_orientation_of_a_texture(work, capsys):
    """A photograph that was taken sideways is turned if only then it has the shape of the map; else a warning says so."""
    from PIL import Image

    exif = Image.Exif()
    exif[274] = 6  # to be turned clockwise when it is shown
    upright = np.zeros((80, 100, 3), dtype=np.uint8)
    upright[:40] = 200
    Image.fromarray(np.ascontiguousarray(np.rot90(upright))).save("photo.png", exif=exif)
    run("integrate", "ball.png", "-o", "out", "--texture", "photo.png", "--json")
    captured = capsys.readouterr()
    assert "photo.png: turned by 90° clockwise, as it states" in json.loads(captured.out)["results"][0]["notes"]
    assert "photo.png" not in captured.err
    mesh = trimesh.load("out/mesh.ply")
    assert (mesh.visual.vertex_colors[mesh.vertices[:, 1] < -0.1, 0] == 200).all()
    Image.fromarray(upright).save("photo.png", exif=exif)
    run("integrate", "ball.png", "-o", "out", "--texture", "photo.png")
    assert "photo.png: states that it is to be shown turned by 90° clockwise" in capsys.readouterr().err


@pytest.mark.parametrize("terminal", [False, True])
def test_compiling_is_announced(work, capsys, monkeypatch, terminal):
    """Once, on stderr, where no bar shows it; not in quiet runs."""
    import laplacians
    from quotientgraph import integration
    from quotientgraph.cli import progress

    monkeypatch.setattr(laplacians, "on_compile", [], raising=False)
    real = integration.integrate

    def compile_first(*args, **settings):
        for callback in laplacians.on_compile:
            for name in ("one", "two"):
                callback(name, None)
                callback(name, 0.1)
        return real(*args, **settings)

    class Bar:
        def __init__(self):
            self.stages = []

        def set_description(self, text, **_):
            self.stages.append(text)

        def __getattr__(self, name):
            return lambda *_, **__: None

    bar = Bar()
    monkeypatch.setattr(integration, "integrate", compile_first)
    if terminal:
        monkeypatch.setattr(progress, "_bar", lambda *_: bar)
    run("integrate", "ball.png", "-o", "out", "--mesh", "none")
    said = capsys.readouterr().err.count("compiling (once")
    assert said == (0 if terminal else 1)
    assert ("ball: compiling (once)" in bar.stages) == terminal
    assert laplacians.on_compile == []
    run("integrate", "ball.png", "-o", "out", "--mesh", "none", "-q")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "options",
    [
        ["--fov", "40"],
        ["--orthographic"],
        ["--orthographic", "0.5"],
        ["--rays", "rays.npy"],
        ["--fisheye", "60"],
        ["--camera", "K.txt"],
        ["--no-beside"],
        [],
    ],
)
def test_cameras(work, ball, options, capsys):
    """Every way to state the camera, also with the file right after --orthographic."""
    np.save("rays.npy", ball.camera.rays(ball.shape))
    run("integrate", "--mesh", "none", "--frame", "opengl", "--json", "-o", "out", *options, "ball.png")
    (record,) = json.loads(capsys.readouterr().out)["results"]
    expected = {
        "--fov": "pinhole",
        "--orthographic": "orthographic, pixel",
        "--rays": "one ray",
        "--fisheye": "one ray",
        "--camera": "pinhole",
        "--no-beside": "orthographic (assumed)",
    }
    assert record["camera"].startswith(expected[options[0]] if options else "pinhole")
    sources = {"--no-beside": "", "--rays": "rays.npy", "--camera": "K.txt", "": "K.txt"}
    assert record["camera_from"] == sources.get((options or [""])[0], "given")


def test_frame_camera_and_mask_are_printed(work, capsys, ball):
    """One line says what was used and where it came from."""
    Path("cow").mkdir()
    shutil.copy("ball.png", "cow/normal_map.png")
    shutil.copy("K.txt", "cow/K.txt")
    mask = np.zeros(ball.shape, dtype=np.uint8)
    mask[10:30, 15:35] = 255
    qio.write_image("cow/mask.png", mask)
    run("integrate", "cow/normal_map.png", "-o", "out", "--mesh", "none")
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("  frame "))
    assert line.startswith("  frame opengl (")
    assert "camera pinhole, fx 53.6" in line
    assert line.endswith("from K.txt; mask 20.0% of the image from mask.png")
    assert np.isfinite(np.load("out/depth.npy")).sum() == 400
    run(
        "integrate",
        "cow/normal_map.png",
        "-o",
        "out",
        "--mesh",
        "none",
        "--no-beside",
        "--mask",
        "none",
        "--frame",
        "opengl",
    )
    assert "  frame opengl (given); camera orthographic (assumed); mask none" in capsys.readouterr().out.splitlines()


def test_a_wrong_frame_is_a_warning(work, capsys):
    """The better one is named; the right one gives no warning; in Python and for `info` it is the same function."""
    run("integrate", "ball.png", "--frame", "dsine", "-o", "out", "--mesh", "none")
    (line,) = (line for line in capsys.readouterr().err.splitlines() if "contradict" in line)
    assert line.startswith("quotientgraph: warning: ball: the normals contradict the frame dsine")
    assert line.endswith("in opengl, which fits better")
    run("integrate", "ball.png", "--frame", "opengl", "-o", "out", "--mesh", "none")
    assert "contradict" not in capsys.readouterr().err
    run("info", "ball.png", "--frame", "dsine")
    assert "contradict the frame dsine" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["integrate", "info"])
@pytest.mark.parametrize(
    ("frame", "says"),
    [
        ("opengl", "in the frame opengl; most of them face it in opencv, which is probably the frame"),
        ("right,up,viewer", "in the frame right,up,viewer; most of them face it in opencv, which"),
    ],
)
def test_a_frame_in_which_nothing_faces_the_camera(work, capsys, ball, command, frame, says):
    """The message named the frame opencv, which nobody had stated, and proposed the stated one."""
    np.save("cv.npy", ball.normals)
    assert says in failure(capsys, command, "cv.npy", "--frame", frame)


def test_rays_with_which_nothing_faces_the_camera(work, capsys, ball):
    np.save("rays.npy", -ball.camera.rays(ball.shape))
    line = failure(capsys, "integrate", "ball.png", "--frame", "opengl", "--rays", "rays.npy")
    assert "in the frame opengl; most rays of the camera have z < 0" in line


def test_folders_of_a_dataset_have_its_frame(work, capsys):
    """Where the evidence does not decide, a folder in the layout of BiNI is in its frame, and the line says why."""
    scene = scenes.make("stairs", shape=(60, 80))
    Path("tent").mkdir()
    image = np.rint((np.nan_to_num(scene.normals) * [1, -1, -1] + 1) * 32767.5).astype(np.uint16)
    qio.write_image("tent/normal_map.png", image)
    qio.write_image("tent/mask.png", (scene.mask * 255).astype(np.uint8))
    np.savetxt("tent/K.txt", scene.camera.matrix)
    run("integrate", "tent", "-o", "out", "--mesh", "none")
    assert "frame opengl (usual for such a folder; the evidence does not separate" in capsys.readouterr().out
    Path("tent/mask.png").unlink()
    shutil.move("tent/normal_map.png", "tent/tent.png")
    assert "pass --frame with one of" in failure(capsys, "integrate", "tent/tent.png", "-o", "out")


def test_normals_between_0_and_1_are_a_warning(work, capsys, ball):
    np.save("unit.npy", (np.nan_to_num(ball.normals) * [1, -1, -1] + 1) / 2)
    run("integrate", "unit.npy", "-o", "out", "--mesh", "none", "--frame", "opengl")
    assert "warning: unit: normals: all values lie in [0, 1]" in capsys.readouterr().err


@pytest.mark.parametrize("frame", ["opencv", "dsine", "directx", "up,right,viewer"])
def test_frames(work, ball, frame):
    """The same surface in any frame, by its name and by evidence, gives the same depth."""
    axes = qio.frame_axes(frame)
    np.save("turned.npy", ball.normals @ axes)
    run("integrate", "turned.npy", "--camera", "K.txt", "--frame", frame, "-o", "named", "-q", "--mesh", "none")
    run("integrate", "turned.npy", "--camera", "K.txt", "-o", "auto", "-q", "--mesh", "none")
    assert relative_error(np.load("named/depth.npy"), ball.depth) < 2e-3
    np.testing.assert_array_equal(np.load("named/depth.npy"), np.load("auto/depth.npy"))


def test_settings_reach_the_library(work, capsys):
    """Method, angle, connectivity, iterations and solver are those asked for."""
    options = ["--angle", "none", "--connectivity", "4", "--max-iterations", "2", "--solver", "scipy", "--reweighting",
               "none", "--energy-tol", "1e-12"]  # fmt: skip
    run("integrate", "ball.png", "--fov", 40, "--json", "-o", "out", "--mesh", "none", *options)
    captured = capsys.readouterr()
    (record,) = json.loads(captured.out)["results"]
    assert record["components"] == record["valid_pixels"]
    assert record["iterations"] == 2
    assert not record["converged"]
    assert lines_of(captured.err)[0].startswith("quotientgraph: warning: ball: not converged after 2 iterations")
    run("integrate", "ball.png", "--fov", 40, "--json", "-o", "out", "--mesh", "none", "--method", "poisson")
    assert json.loads(capsys.readouterr().out)["results"][0]["method"] == "poisson"


def test_a_setting_that_the_method_does_not_know(work, capsys):
    line = failure(capsys, "integrate", "ball.png", "--method", "fft", "--merge-every", 3, "-o", "out", code=2)
    assert "argument --merge-every: --method fft does not take it" in line
    line = failure(capsys, "integrate", "ball.png", "--lower", 3, "-o", "out", code=2)
    assert "lower=3.0 and upper=0.001" in line
    assert not Path("out").exists()


def test_warnings_are_shown(work, capsys, ball):
    """Separate pieces are a warning on stderr, one line; --quiet hides it."""
    mask = ball.mask.copy()
    mask[:, 25] = False
    qio.write_image("mask.png", (mask * 255).astype(np.uint8))
    run("integrate", "ball.png", "--fov", 40, "--mask", "mask.png", "-o", "out")
    (line,) = lines_of(capsys.readouterr().err)
    assert line.startswith("quotientgraph: warning: ball: the valid pixels form 2 separate pieces")
    run("integrate", "ball.png", "--fov", 40, "--mask", "mask.png", "-o", "out", "--quiet")
    assert capsys.readouterr() == ("", "")


def test_a_configuration(work, capsys):
    """Options from a file; the command line wins, also over another camera and a switch."""
    Path("s.toml").write_text(
        'format = ["npy", "tiff"]\nmesh = "none"\nfov = 40\nmax_iterations = 3\nlabels = true\n'
        'json = true\nangle = "none"\n'
    )
    run("integrate", "ball.png", "--config", "s.toml", "-o", "out")
    (record,) = json.loads(capsys.readouterr().out)["results"]
    assert record["files"] == ["depth.npy", "depth.tiff", "labels.png"]
    assert record["camera"].startswith("pinhole")
    assert record["components"] == record["valid_pixels"]
    run("integrate", "ball.png", "--config=s.toml", "-o", "out2", "--no-labels", "--orthographic", "--format", "exr")
    (record,) = json.loads(capsys.readouterr().out)["results"]
    assert record["files"] == ["depth.exr"]
    assert record["camera"].startswith("orthographic")


def test_a_switch_with_an_optional_value_in_a_configuration(work, capsys):
    Path("s.toml").write_text("orthographic = true")
    run("integrate", "ball.png", "--config", "s.toml", "-o", "out", "--frame", "opengl", "--json")
    assert json.loads(capsys.readouterr().out)["results"][0]["camera"] == "orthographic, pixel size 1"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("anlge = 2", "unknown key 'anlge'; did you mean 'angle'?"),
        ("zzz = 2", "unknown key 'zzz'; known are alternatives, anchor, angle"),
        ("angle = [", "not a TOML file"),
        ("angle = 'wide'", "s.toml: argument --angle: 'wide' is not a number"),
        ("labels = 3", "labels is true or false, not 3"),
        ("fov = true", "fov needs a value, not true"),
        ("fov = 30\nfisheye = 90", "not allowed with argument"),
        ("[angle]\nx = 1", "angle is a table"),
    ],
)
def test_a_wrong_configuration(work, capsys, text, says):
    Path("s.toml").write_text(text)
    assert says in failure(capsys, "integrate", "ball.png", "--config", "s.toml", code=2)


def test_a_missing_configuration(work, capsys):
    assert "--config no.toml" in failure(capsys, "integrate", "ball.png", "--config", "no.toml", code=2)


def _cut(path):
    path.write_bytes(Path("ball.png").read_bytes()[:500])


BAD = {
    "missing": (lambda path: None, [], "no such file"),
    "cut": (_cut, [], "cut off"),
    "text": (lambda path: path.write_text("hello"), [], "it holds text"),
    "empty": (lambda path: path.touch(), [], "the file is empty"),
    "two numbers": (lambda path: shutil.copy("ball.png", path), ["--camera", "two.txt"], "it holds 2 numbers"),
    "other mask": (lambda path: shutil.copy("ball.png", path), ["--mask", "small.png"], "sizes must agree"),
    "bad texture": (lambda path: shutil.copy("ball.png", path), ["--texture", "two.txt"], "'.txt' is not known"),
    "other prior": (lambda path: shutil.copy("ball.png", path), ["--depth-prior", "prior.npy"], "is not the normals'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files(work, capsys, case):
    """A one-line message with the file's name, exit code 1, and no trace on the disk."""
    make, options, says = BAD[case]
    Path("two.txt").write_text("500 500")
    qio.write_image("small.png", np.full((5, 6), 255, dtype=np.uint8))
    np.save("prior.npy", np.ones((5, 6)))
    make(work / "bad.png")
    line = failure(capsys, "integrate", "bad.png", *options, "-o", "deep/out")
    assert "bad.png: " in line
    assert says in line
    assert not Path("deep").exists()


def test_no_match_and_empty_folders(work, capsys):
    assert "ballet: no such file or folder" in failure(capsys, "integrate", "ballet")
    assert "no file matches" in failure(capsys, "integrate", "no/*.png")
    Path("empty").mkdir()
    assert "no normal map in this folder" in failure(capsys, "integrate", "empty")
    assert not Path("quotientgraph-output").exists()


def test_places_where_nothing_can_be_written(work, capsys):
    """-o names a file, or lies under one (this stops root, too, whom permissions do not)."""
    for place in ("K.txt", "K.txt/out"):
        assert "choose another place with -o" in failure(capsys, "integrate", "ball.png", "--fov", 40, "-o", place)


RIGHTS = """\
import os, sys
from quotientgraph.cli import main
words = ["integrate", "ball.png", "--fov", "40", "--frame", "opengl", "-q", "-o"]
assert main([*words, "warm"]) == 0  # everything is loaded while it may still be read
if os.geteuid() == 0:
    os.chown("locked/mine", 65534, 65534)
    os.setgid(65534)
    os.setuid(65534)
print([main([*words, place]) for place in ("locked", "locked/out", "locked/mine", "locked/mine/out")])
"""


def test_a_folder_without_rights(work):
    """One line and exit code 1; a folder of one's own is good enough, whatever the one around it allows."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to others
        place = Path(name)
        place.chmod(0o755)
        shutil.copy("ball.png", place)
        (place / "locked/mine").mkdir(parents=True)
        (place / "locked").chmod(0o555)
        command = [sys.executable, "-c", RIGHTS]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=ENV, cwd=place)
        (place / "locked").chmod(0o755)
        assert done.stdout == "[1, 1, 0, 0]\n", done.stderr
        lines = lines_of(done.stderr)
        assert len(lines) == 2
        assert all(line.startswith("quotientgraph: error: locked: cannot be written to (Permission") for line in lines)
        assert sorted(os.listdir(place / "locked/mine")) == ["depth.npy", "manifest.json", "mesh.ply", "out"]
        assert os.listdir(place / "locked") == ["mine"]


def test_an_earlier_result_survives_a_failure(work, capsys):
    """If the new files cannot be made, the old ones stay as they were."""
    run("integrate", "ball.png", "--fov", 40, "-o", "out", "-q")
    before = Path("out/depth.npy").read_bytes()
    failure(capsys, "integrate", "ball.png", "--fov", 30, "-o", "out", "--anchor", "999,999,1")
    assert Path("out/depth.npy").read_bytes() == before
    assert sorted(os.listdir("out")) == ["depth.npy", "manifest.json", "mesh.ply"]
    run("integrate", "ball.png", "--fov", 30, "-o", "out", "-q")
    assert Path("out/depth.npy").read_bytes() != before


def test_a_rerun_leaves_nothing_stale(work, capsys):
    """--mesh none after a run with a mesh removes the mesh, and --skip-existing does not call the folder complete."""
    common = ["integrate", "ball.png", "--frame", "opengl", "-o", "out"]
    run(*common, "-q")
    Path("out/notes.txt").write_text("mine")
    run(*common, "-q", "--mesh", "none")
    assert sorted(os.listdir("out")) == ["depth.npy", "manifest.json", "notes.txt"]
    for words, status in (
        [["--mesh", "none"], "skipped"],
        [[], "ok"],
        [["--angle", "5"], "ok"],
        [["--angle", "5"], "skipped"],
    ):
        run(*common, *words, "--skip-existing", "--json")
        (record,) = json.loads(capsys.readouterr().out)["results"]
        assert record["status"] == status, words
    Path("out/manifest.json").unlink()
    line = failure(capsys, *common, "--angle", "5", "--skip-existing")
    assert "out/depth.npy: was not written by an earlier run, or was changed since" in line


def test_files_of_others_are_not_replaced(work, capsys, ball):
    """A depth prior, a label image and a picture in -o were overwritten by the results."""
    Path("shot").mkdir()
    shutil.copy("ball.png", "shot/normal.png")
    np.save("shot/depth.npy", ball.depth)
    before = Path("shot/depth.npy").read_bytes()
    common = ["integrate", "shot/normal.png", "--fov", 50, "--frame", "opengl", "--mesh", "none", "-o", "shot"]
    for options in (["--depth-prior", "shot/depth.npy"], []):
        line = failure(capsys, *common, *options)
        assert (
            f"shot/depth.npy: {'is an input of this run' if options else 'was not written by an earlier run'}" in line
        )
        assert "choose another folder" in line
    run(*common, "--format", "exr", "--depth-prior", "shot/depth.npy", "-q")
    run(*common, "--format", "npz", "-q")
    assert Path("shot/depth.npy").read_bytes() == before
    assert sorted(os.listdir("shot")) == ["depth.npy", "depth.npz", "manifest.json", "normal.png"]
    Path("shot/picture.png").write_text("mine")
    assert "shot/picture.png" in failure(capsys, *common, "--format", "npz", "--picture")
    qio.write_labels("shot/labels.png", np.zeros((40, 50), dtype=np.int32))
    line = failure(capsys, *common, "--format", "npz", "--labels", "--segments", "shot/labels.png")
    assert "shot/labels.png: is an input of this run" in line
    Path("app").mkdir()
    Path("app/manifest.json").write_text('{"name": "mine", "files": {"depth.npy": {}}}')
    assert "app/manifest.json" in failure(capsys, *common[:-1], "app")


def test_an_earlier_result_as_an_input_stays(work):
    """A prior that an earlier run wrote into -o was removed as stale."""
    common = ["integrate", "ball.png", "--fov", 50, "--frame", "opengl", "--mesh", "none", "-q", "-o", "out"]
    run(*common)
    before = Path("out/depth.npy").read_bytes()
    run(*common, "--format", "exr", "--depth-prior", "out/depth.npy")
    assert sorted(os.listdir("out")) == ["depth.exr", "depth.npy", "manifest.json"]
    assert Path("out/depth.npy").read_bytes() == before


@pytest.mark.parametrize(
    ("shape", "valid"), [((1, 9), ...), ((9, 1), ...), ((1, 1), ...), ((9, 9), (slice(None, None, 3),) * 2)]
)
def test_maps_without_a_triangle(work, capsys, shape, valid):
    """They failed because of a mesh that nobody had asked for; all else is written, and a warning says why it is not."""
    normals = np.full((*shape, 3), np.nan)
    normals[valid] = [0.0, 0, 1]
    np.save("line.npy", normals)
    common = ["integrate", "line.npy", "--frame", "opengl", "--orthographic", "-o", "out"]
    run(*common, "--picture", "--labels", "--points", "--report", "--json")
    captured = capsys.readouterr()
    (record,) = json.loads(captured.out)["results"]
    assert record["files"] == ["depth.npy", "labels.png", "picture.png", "points.ply", "report.html"]
    assert "warning: line: there is no mesh.ply: the surface has no triangle, because nowhere three" in captured.err
    assert np.isfinite(np.load("out/depth.npy")).sum() == np.isfinite(normals[..., 0]).sum()
    run(*common, "--skip-existing", "--json")
    assert json.loads(capsys.readouterr().out)["skipped"] == 1
    run(*common, "-q", "--faces", 10)
    for options in (["--mesh", "ply"], ["--format", "none"]):
        line = failure(capsys, *common, *options, "--skip-existing", "-q")
        assert "argument --mesh: the surface has no triangle" in line
        assert "use --mesh none" in line


def spawn(*argv, **options):
    command = [sys.executable, "-m", "quotientgraph", *map(str, argv)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **{"env": ENV, **options}
    )


def test_a_full_disk(work):
    """Writes that stop at 4 kB, as on a full disk: one line, exit code 1, nothing left."""
    # The JIT cache would be hit by the limit as well: it is filled before, and files are only read then.
    run("integrate", "ball.png", "--fov", 40, "--frame", "opengl", "-o", "warm", "-q")
    code = (
        "import resource, sys; from quotientgraph.cli import main;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY));"
        "sys.exit(main(sys.argv[1:]))"
    )
    words = ["integrate", "ball.png", "--fov", "40", "--frame", "opengl", "-o", "full/out"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=300, env=ENV)
    assert done.returncode == 1
    (line,) = lines_of(done.stderr)
    assert line.startswith("quotientgraph: error: ball.png: full/out/")
    assert "free some space or write to another disk" in line
    assert not Path("full").exists()
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 4096


SLOW = """\
import sys, time
import quotientgraph.cli.reconstruct as r
def slow(*args):
    (args[0] / "depth.npy").write_bytes(b"half")
    open("started", "w").close()
    time.sleep(600)
r.write_all = slow
from quotientgraph.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_an_interrupt_in_the_middle(work, number, code):
    """Ctrl-C, kill and a closed terminal while files are written: the exit code says so, nothing is left behind."""
    words = ["integrate", "ball.png", "--fov", "40", "--frame", "opengl", "-o", "cut/out"]
    process = subprocess.Popen([sys.executable, "-c", SLOW, *words], stderr=subprocess.PIPE, text=True, env=ENV)
    _wait_for(Path("started"), process)
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    assert process.returncode == code
    assert lines_of(err) == (
        ["quotientgraph: error: interrupted; unfinished outputs were removed"] if code == 130 else []
    )
    assert not Path("cut").exists()


def _wait_for(path, process, seconds=500):
    end = time.monotonic() + seconds
    while not path.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    assert path.exists(), process.communicate()


@pytest.fixture
def many(work):
    """Seven maps, the fourth of them damaged, and a place for results."""
    Path("maps").mkdir()
    for i in range(7):
        write_map(work / "maps" / f"m{i}.png", scenes.make("sphere", shape=(24 + i, 30)))
    _cut(work / "maps" / "m3.png")
    return work


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_batch_with_a_corrupt_file(many, jobs, capsys):
    """One bad file fails alone; the summary and the exit code say so; the results do not depend on --jobs."""
    run("integrate", "maps", "--fov", 40, "--frame", "opengl", "-o", "out", "--jobs", jobs, code=1)
    captured = capsys.readouterr()
    assert re.fullmatch(r"7 inputs: 6 done, 1 failed; [\d.]+ s, [\d.]+ a second", captured.err.splitlines()[-1])
    assert captured.err.count("quotientgraph: error: ") == 1
    assert "maps/m3.png" in captured.err
    assert captured.out.count("→ out/m") == 6
    assert sorted(os.listdir("out")) == [f"m{i}" for i in (0, 1, 2, 4, 5, 6)]
    assert left_behind("out") == []
    run("integrate", "maps/m5.png", "--fov", 40, "--frame", "opengl", "-o", "alone", "-q")
    np.testing.assert_allclose(np.load("out/m5/depth.npy"), np.load("alone/depth.npy"), rtol=1e-9)


def test_skip_existing(many, capsys):
    """What is complete is left alone; what lacks a file is done again."""
    options = [
        "integrate",
        "maps/m0.png",
        "maps/m1.png",
        "--fov",
        40,
        "--frame",
        "opengl",
        "-o",
        "out",
        "--skip-existing",
    ]
    run(*options, "-q")
    Path("out/m1/mesh.ply").unlink()
    stamp = Path("out/m0/depth.npy").stat().st_mtime_ns
    run(*options, "--json")
    document = json.loads(capsys.readouterr().out)
    assert [record["status"] for record in document["results"]] == ["skipped", "ok"]
    assert (document["ok"], document["skipped"]) == (1, 1)
    assert Path("out/m0/depth.npy").stat().st_mtime_ns == stamp


def test_what_has_changed_is_not_skipped(work, capsys, ball):
    """Another map, camera, mask or prior is worked on again; results of earlier inputs were kept."""
    Path("shot").mkdir()
    shutil.move("K.txt", "shot/K.txt")
    shutil.move("ball.png", "shot/normal.png")
    np.save("prior.npy", ball.depth)
    common = ["integrate", "shot", "--frame", "opengl", "--mesh", "none", "-o", "out", "--depth-prior", "prior.npy"]
    np.save("sure.npy", np.ones(ball.mask.shape))
    common += ["--prior-confidence", "sure.npy"]

    def status():
        run(*common, "--skip-existing", "--json")
        return json.loads(capsys.readouterr().out)["results"][0]["status"]

    assert [status(), status()] == ["ok", "skipped"]
    changes = {
        "map": lambda: os.utime("shot/normal.png", ns=(0, 10**18)),
        "camera": lambda: np.savetxt("shot/K.txt", ball.camera.matrix + np.diag([7, 7, 0])),
        "new mask": lambda: qio.write_image("shot/mask.png", (ball.mask * 255).astype(np.uint8)),
        "mask": lambda: qio.write_image("shot/mask.png", (ball.mask * 255 * (np.arange(50) < 25)).astype(np.uint8)),
        "prior": lambda: np.save("prior.npy", 2 * ball.depth),
        "no camera": Path("shot/K.txt").unlink,
    }
    for name, change in changes.items():
        change()
        assert [status(), status()] == ["ok", "skipped"], name
    np.save("unrelated.npy", ball.depth)
    Path("sure.npy.json").write_text("{}")  # only depth has offset and scale beside it
    assert status() == "skipped"


def test_files_by_name(many, capsys):
    """{name} in --mask is the name of each input."""
    Path("masks").mkdir()
    for i in (0, 1):
        mask = np.zeros((24 + i, 30), dtype=np.uint8)
        mask[8:16, 10:20] = 255
        qio.write_image(f"masks/m{i}_mask.png", mask)
    run("integrate", "maps/m[01].png", "--fov", 40, "--frame", "opengl", "--mask", "masks/{name}_mask.png", "--json")
    records = json.loads(capsys.readouterr().out)["results"]
    assert [record["valid_pixels"] for record in records] == [80, 80]
    assert [record["output"] for record in records] == ["quotientgraph-output/m0", "quotientgraph-output/m1"]


ENDLESS = """\
import os, time
from quotientgraph.io import reader

@reader(".endless")
def read(path):
    path.with_suffix(".part").write_text(str(os.getpid()))
    path.with_suffix(".part").rename(path.with_suffix(".begun"))
    while os.getppid() > 1:  # until the interrupt, or until there is nobody left to send one
        time.sleep(0.1)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_interrupting_a_batch(many, number, code):
    """Ctrl-C and the end of a terminal reach the whole group: workers end, finished results stay, nothing half-written does.

    Two inputs take forever, in a reader that comes as a plug-in, so that the interrupt always finds both workers busy.
    """
    Path("plug/endless-1.dist-info").mkdir(parents=True)
    Path("plug/endless.py").write_text(ENDLESS)
    Path("plug/endless-1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: endless\nVersion: 1\n")
    Path("plug/endless-1.dist-info/entry_points.txt").write_text("[quotientgraph.io]\nendless = endless\n")
    for name in ("y", "z"):
        Path(f"maps/{name}.endless").write_text("x")
    words = [
        "integrate",
        "maps/m*.png",
        "maps/y.endless",
        "maps/z.endless",
        "--fov",
        "40",
        "--frame",
        "opengl",
        "-o",
        "out",
    ]
    environment = {**ENV, "PYTHONPATH": os.pathsep.join([str(Path("plug").resolve()), ENV["PYTHONPATH"]])}
    process = spawn(*words, "--jobs", "2", start_new_session=True, env=environment)
    for name in ("y", "z"):
        _wait_for(Path(f"maps/{name}.begun"), process)
    os.killpg(process.pid, number)
    _, err = process.communicate(timeout=300)
    assert process.returncode == code
    if code == 130:
        assert err.splitlines()[-1] == "quotientgraph: error: interrupted; unfinished outputs were removed"
    assert "Traceback" not in err
    for name in ("y", "z"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(Path(f"maps/{name}.begun").read_text()), 0)
    assert left_behind("out") == []
    assert sorted(os.listdir("out")) == [f"m{i}" for i in (0, 1, 2, 4, 5, 6)]
    assert all(
        sorted(os.listdir(folder)) == ["depth.npy", "manifest.json", "mesh.ply"] for folder in Path("out").iterdir()
    )


def test_a_closed_terminal_does_not_stop_what_ignores_it(work):
    """As `nohup` starts it."""
    command = (
        f"trap '' HUP; exec {sys.executable} -c 'import os, signal, sys; from quotientgraph.cli import main, COMMANDS; "
    )
    command += 'sys.argv[1:] = ["solvers"]; code = main(); os.kill(os.getpid(), signal.SIGHUP); sys.exit(code)\''
    assert subprocess.run(["sh", "-c", command], env=ENV, stdout=subprocess.DEVNULL, timeout=300).returncode == 0


def test_interrupting_a_batch_that_begins(many):
    """A worker that is only starting when Ctrl-C comes does not answer it with a traceback."""
    code = (
        "import os, signal, sys\n"
        "from quotientgraph.cli import main, workers\n"
        "real = workers._without_main\n"
        "def interrupted():\n"
        "    os.killpg(0, signal.SIGINT)  # before the worker can have said that it ignores it\n"
        "    return real()\n"
        "start = workers._interrupts_held\n"
        "import contextlib\n"
        "@contextlib.contextmanager\n"
        "def held():\n"
        "    with start():\n"
        "        yield\n"
        "        os.killpg(0, signal.SIGINT)\n"
        "workers._interrupts_held = held\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", code, "integrate", "maps", "--fov", "40", "--frame", "opengl", "--jobs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, env=ENV, timeout=300, start_new_session=True)
    assert done.returncode == 130
    assert lines_of(done.stderr) == ["quotientgraph: error: interrupted; unfinished outputs were removed"]


def test_a_worker_that_dies(many, monkeypatch):
    """A worker killed by the system takes only its own input along, and its traces are removed."""
    from quotientgraph.cli.reconstruct import InputTask

    task = InputTask(Path("maps/m0.png"), "m0", Path("out"), Path(".out.part"), None, None, None)
    Path(".out.part").mkdir()
    record = workers._lost(task, -signal.SIGKILL)
    assert record["status"] == "failed"
    assert "SIGKILL" in record["error"]
    assert not Path(".out.part").exists()


def test_workers_do_not_run_the_main_script(many):
    """`main` may be called from a script that does not ask whether it is the main one."""
    words = ["integrate", "maps/m0.png", "maps/m1.png", "--fov", "40", "--frame", "opengl", "--jobs", "2", "-q"]
    Path("script.py").write_text(f"from quotientgraph.cli import main\nprint(main({words}))\n")
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, timeout=300, env=ENV)
    assert (done.stdout, done.stderr) == ("0\n", "")
    assert sorted(os.listdir("quotientgraph-output")) == ["m0", "m1"]


def test_threads_are_shared(monkeypatch):
    """With two workers each gets half of the cores, or less where the user said so; the environment is restored."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with workers._thread_share(2):
        assert os.environ["NUMBA_NUM_THREADS"] == "3"
        assert os.environ["OMP_NUM_THREADS"] == "4"
    assert "OMP_NUM_THREADS" not in os.environ


def test_inputs_and_names(tmp_path, monkeypatch):
    """Files, layout folders, folders of either, patterns; two of the same name get longer ones."""
    monkeypatch.chdir(tmp_path)
    for name in ("a/bear", "a/cat", "b"):
        Path(name).mkdir(parents=True)
    for name in ("a/bear/normal_map.png", "a/cat/normals.npz", "b/bear.png", "b/bear.exr", "b/note.txt"):
        Path(name).touch()
    assert expand(["a"]) == ([Path("a/bear"), Path("a/cat")], False)
    assert expand(["a/bear"]) == ([Path("a/bear")], True)
    assert expand(["b"]) == ([Path("b/bear.exr"), Path("b/bear.png")], False)
    assert expand(["b/*.png", "a/bear"]) == ([Path("b/bear.png"), Path("a/bear")], False)
    assert expand(["nothing.png"]) == ([Path("nothing.png")], True)
    everything = [Path("a/bear"), Path("a/cat/normals.npz"), Path("b/bear.png"), Path("b/bear.exr")]
    found = names(everything)
    assert len(set(found)) == 4
    assert found[1] == "cat"


def test_masks_in_a_folder_are_no_inputs(work, capsys):
    """A mask was used with its map, and then reported as an input that cannot be read."""
    Path("bt").mkdir()
    shutil.copy("ball.png", "bt/b.png")
    shutil.copy("ball.png", "bt/c_normal.png")
    shutil.copy("K.txt", "bt/K.txt")
    for name in ("b_mask", "c_mask", "mask"):
        qio.write_image(f"bt/{name}.png", np.full((40, 50), 255, dtype=np.uint8))
    assert expand(["bt"]) == ([Path("bt/b.png"), Path("bt/c_normal.png")], False)
    run("integrate", "bt", "--frame", "opengl", "--json")
    assert json.loads(capsys.readouterr().out)["ok"] == 2
    Path("alone").mkdir()
    for name in ("other_mask.png", "mask.png"):  # of nothing else: they are told as inputs that fail
        shutil.copy("bt/mask.png", f"alone/{name}")
    assert expand(["alone"]) == ([Path("alone/other_mask.png")], False)
    Path("alone/other_mask.png").unlink()
    assert expand(["alone"]) == ([Path("alone/mask.png")], False)


@pytest.mark.parametrize("words", [["integrate", ""], ["info", ""], ["integrate", "ball.png", "-o", ""], ["demo", "-o", ""],
                                   ["integrate", "--tile", "64", ""], ["demo", "--save-input", ""],
                                   ["height", ""], ["height", "ball.png", "-o", ""], ["bench", "--out", ""],
                                   ["bench", ""], ["integrate", "ball.png", "--dump-systems", ""],
                                   ["integrate", "ball.png", "--tile", "64", "--mask", ""],
                                   ["data", "check", ""]])  # fmt: skip
def test_an_empty_word_is_not_the_current_folder(work, capsys, words):
    """A shell variable that is not set was taken for the folder that one stands in."""
    before = sorted(os.listdir())
    assert "is empty; is a shell variable not set?" in failure(capsys, *words, code=2)
    assert sorted(os.listdir()) == before


def test_odd_names_stay_in_the_folder(work, ball):
    """A file "...npy" wrote above -o; a name in bytes that are no text failed the report."""
    Path("maps").mkdir()
    for name in (b"...npy", b"a\xff.npy", b"b.npy"):
        np.save(Path("maps") / os.fsdecode(name), ball.normals)
    odd = ["maps/...npy", os.fsdecode(b"maps/a\xff.npy"), "maps/b.npy"]
    run("integrate", *odd, "--frame", "opencv", "--fov", 40, "--report", "--mesh", "none", "-q", "-o", "top/out")
    assert sorted(os.listdir(b"top/out")) == [b"__", b"a\xff", b"b"]
    assert os.listdir("top") == ["out"]


def test_the_report_tells_what_was_understood(work):
    run(
        "integrate",
        "ball.png",
        "--camera",
        "K.txt",
        "--frame",
        "opengl",
        "--report",
        "--mesh",
        "none",
        "-o",
        "out",
        "-q",
    )
    text = Path("out/report.html").read_text(encoding="utf-8")
    for said in ("ball.png", "opengl (given)", "16-bit integers", "mask: alpha channel of ball.png"):
        assert said in text


def test_truth_in_the_folder(work, ball, capsys):
    """A folder with the true depth has its error reported."""
    Path("scene").mkdir()
    np.savez("scene/normals.npz", normals=ball.normals)
    np.savez("scene/depth_gt.npz", depth=7 * ball.depth)
    shutil.copy("K.txt", "scene/K.txt")
    run("integrate", "scene", "-o", "out", "--json", "--mesh", "none")
    assert json.loads(capsys.readouterr().out)["results"][0]["relative_error"] < 2e-3
    run("integrate", "scene", "-o", "out", "--mesh", "none")
    assert "MADE" in capsys.readouterr().out


def test_saving_from_python(work, ball):
    """`result.save` goes by suffix; the mesh is that of the command line."""
    from quotientgraph import integrate

    result = integrate(ball.normals, ball.mask, ball.camera, "opencv")
    result.save("z.exr")
    result.save("z.glb")
    result.save("z.html")
    np.testing.assert_allclose(qio.read_depth("z.exr"), result.depth, rtol=1e-6)
    assert len(trimesh.load("z.glb", force="mesh").faces) == len(result.mesh().faces)
    assert "<img" in result._repr_html_()
    with pytest.raises(qio.OutputError, match="not known"):
        result.save("z.docx")


@pytest.mark.parametrize("size", [(24, 80), (40, 100), (0, 0), (0, 100)])
def test_progress_on_a_terminal(work, size):
    """On a terminal there are bars with stage, components and energy; the last line is the result."""
    import fcntl
    import pty
    import struct
    import termios

    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        words = ["integrate", "ball.png", "--fov", "40", "--frame", "opengl", "--angle", "1", "-o", "out"]
        os.execve(sys.executable, [sys.executable, "-m", "quotientgraph", *words], ENV)
    shown = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not part:
            break
        shown += part
    assert os.waitpid(pid, 0)[1] == 0
    text = shown.decode()
    for word in ("ball: reading", "ball: components", "ball: scales", "components=", "energy=", "ball: writing"):
        assert word in text
    assert re.search(r"[█#|▏▎▍▌▋▊▉ ]{16}", text)  # the bar keeps its width
    assert "→ out: depth.npy, mesh.ply" in text.splitlines()[-1]


def test_priors_and_anchors(work, ball):
    """A coarse depth and a pixel of known depth set the absolute scale."""
    v, u = (int(i) for i in np.argwhere(ball.mask)[ball.mask.sum() // 2])
    common = ["integrate", "ball.png", "--camera", "K.txt", "--frame", "opengl", "--mesh", "none", "-q"]
    run(*common, "--anchor", f"{u},{v},{3 * ball.depth[v, u]}", "-o", "anchored")
    np.testing.assert_allclose(np.load("anchored/depth.npy")[ball.mask], 3 * ball.depth[ball.mask], rtol=0.02)
    np.save("prior.npy", 5 * ball.depth)
    run(*common, "--depth-prior", "prior.npy", "--prior-weight", "1", "-o", "guided")
    assert relative_error(np.load("guided/depth.npy"), ball.depth) < 2e-3
    millimetres = np.nan_to_num(1000 * ball.depth).astype(np.uint16)  # as depth cameras write it: 0 is unknown
    qio.write_image("camera.png", millimetres)
    run(*common, "--depth-prior", "camera.png", "-o", "sensed")
    sensed = np.load("sensed/depth.npy")
    assert np.nanmedian(sensed / ball.depth) == pytest.approx(1000, rel=1e-3)
    assert relative_error(sensed, ball.depth) < 2e-3


def test_alternatives_are_listed_and_taken(work, capsys):
    """A table and an image of numbers say what could sit elsewhere; --take moves one of them, --contact makes it touch."""
    scene = scenes.random("curved", 0)
    np.save("scene.npy", scene.normals)
    np.savetxt("K2.txt", scene.camera.matrix)
    common = ["integrate", "scene.npy", "--camera", "K2.txt", "--frame", "opencv", "--mesh", "none"]
    run(*common, "--alternatives", "-o", "out")
    said = capsys.readouterr().out
    rows = list(csv.DictReader(Path("out/alternatives.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["number"] for row in rows] == [str(k + 1) for k in range(len(rows))]
    assert all(row["text"] in said for row in rows)
    numbers = qio.read_arrays("out/alternatives.png")
    image = next(iter(numbers.values())).squeeze()
    assert (image == 1).sum() == int(rows[0]["pixels"])
    run(*common, "--take", 1, "--json", "-o", "taken")
    record = json.loads(capsys.readouterr().out)["results"][0]
    assert record["taken"] == [rows[0]["text"]]
    before, after = np.load("out/depth.npy"), np.load("taken/depth.npy")
    ratio = np.log(after / before)
    moved = np.median(ratio[image == 1]) - np.median(ratio[(image != 1) & np.isfinite(ratio)])
    assert moved == pytest.approx(float(rows[0]["offset"]), abs=0.01)
    run(*common, "--contact", rows[0]["contact"], "-q", "-o", "touching")
    np.testing.assert_allclose(np.load("touching/depth.npy"), after, rtol=0.01)
    failure(capsys, *common, "--take", 99, "-o", "none")


@pytest.mark.parametrize("name", ["result.glb", "depth.exr", "depth.PNG", "out.zip", "st.zarr"])
def test_an_output_that_looks_like_a_file_is_refused(work, capsys, name):
    """A folder of that name is not what was meant; one that exists is."""
    text = failure(capsys, "integrate", "ball.png", "--frame", "opengl", "-o", name, "-q", code=2)
    assert name in text
    assert {"result.glb": "--mesh glb", "st.zarr": "--workers"}.get(name, "-o") in text
    assert not Path(name).exists()
    Path(name).mkdir()
    run("integrate", "ball.png", "--frame", "opengl", "-o", name, "-q")
    run("integrate", "ball.png", "--frame", "opengl", "-o", "version.1", "-q")


@pytest.mark.parametrize("option", ["--overwrite", "--resume"])
def test_options_for_results_in_tiles_do_not_ask_for_tiles(work, capsys, option):
    """In memory results of an earlier run are replaced without them."""
    text = failure(capsys, "integrate", "ball.png", option, "-o", "out", "-q", code=2)
    assert f"{option}: is for a map in tiles" in text
