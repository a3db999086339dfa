"""The command line as such: help, version, usage errors, demo, info, solvers, completion."""

import json
import os
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest

import quotientgraph.io as qio
from quotientgraph import __version__, scenes
from quotientgraph.cli import COMMANDS, build_parser, main

HEAVY = ["numpy", "numba", "igraph", "networkx", "scipy", "matplotlib", "trimesh", "imagecodecs", "tqdm"]


@pytest.fixture
def ball(tmp_path):
    """A folder in the layout of BiNI: a ball, 16-bit normals in the OpenGL frame."""
    scene = scenes.make("sphere", shape=(40, 50))
    folder = tmp_path / "ball"
    folder.mkdir()
    normals = np.nan_to_num(scene.normals) * [1, -1, -1]
    image = np.rint((normals + 1) * 32767.5).astype(np.uint16)
    qio.write_image(folder / "normal_map.png", image)
    qio.write_image(folder / "mask.png", (scene.mask * 255).astype(np.uint8))
    np.savetxt(folder / "K.txt", scene.camera.matrix)
    return folder


def fails(capsys, code, *argv):
    """The one line that a failing command prints."""
    assert main([str(word) for word in argv]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("quotientgraph: error: ")
    return lines[0]


def shell(*argv, **options):
    return subprocess.run(
        [sys.executable, "-m", "quotientgraph", *map(str, argv)], capture_output=True, text=True, timeout=300, **options
    )


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["integrate", "--help"], ["bench", "--help"], ["completion", "bash"]]
)
def test_help_loads_nothing_heavy(words):
    """Help and version come at once: no arrays, no compiler, no image formats, no graphs."""
    code = (
        "import sys\nfrom quotientgraph.cli import main\ntry:\n    main(sys.argv[1:])\nexcept SystemExit: pass\n"
        f"print([m for m in {HEAVY} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60)
    assert done.stderr.strip() == "[]"
    assert done.stdout


def test_names_of_the_package():
    """They are loaded when asked for, are listed, and a wrong one is an AttributeError; so are the modules."""
    code = (
        "import sys, quotientgraph as q\n"
        "assert 'numpy' not in sys.modules\n"
        "assert {'Pinhole', 'integrate', *q.__all__} <= set(dir(q))\n"
        "assert [getattr(q, name) for name in q.__all__] == [getattr(q, name) for name in q.__all__]\n"
        "assert q.metrics.made and q.scenes.names() and not hasattr(q, 'magic') and not hasattr(q, '_magic')\n"
        "from quotientgraph import *\n"
        "assert Pinhole is q.Pinhole and solvers is q.solvers\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"quotientgraph {__version__}\n"


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help(command, capsys):
    """Help fits 80 columns where it is not an example, and names every option."""
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    for option in build_parser(command)[1][command]._option_string_actions:
        assert option in text


def test_help_names_every_option_with_a_name_in_it(capsys):
    """The options whose files may be another for each input."""
    from quotientgraph.cli.understand import FILES

    with pytest.raises(SystemExit):
        main(["integrate", "--help"])
    told = capsys.readouterr().out.split("In the names of ")[1].split("{name}")[0]
    assert [word.strip(",\n") for word in told.split() if word.startswith("--")] == [
        f"--{name.replace('_', '-')}" for name in FILES
    ]


def test_no_command_prints_help(capsys):
    assert main([]) == 2
    text = capsys.readouterr().err
    assert all(name in text for name in COMMANDS)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["frobnicate"], "invalid choice: 'frobnicate'"),
        (["integrate"], "required: INPUT"),
        (["integrate", "x.png", "--fov", "200"], "--fov: 200 must be between 0 and 180"),
        (["integrate", "x.png", "--angle", "wide"], "--angle: 'wide' is not a number"),
        (["integrate", "x.png", "--frame", "vulkan"], "--frame: 'vulkan' is not known; use one of opencv, opengl"),
        (["integrate", "x.png", "--solver", "magic"], "'magic' is not known; available here:"),
        (["integrate", "x.png", "--method", "magic"], "--method: 'magic' is not known; use one of components"),
        (["integrate", "x.png", "--fov", "9", "--orthographic"], "not allowed with argument"),
        (["integrate", "x.png", "--camera", "no.txt"], "--camera: no.txt: no such file"),
        (["integrate", "x.png", "--mask", "."], "--mask: .: is a folder"),
        (["integrate", "x.png", "--merg", "3"], "unrecognized arguments: --merg 3 (see quotientgraph integrate"),
        (["integrate", "x.png", "--jobs", "0"], "--jobs: 0 must be at least 1"),
        (["integrate", "x.png", "--format", "npy,gif"], "--format: 'gif' is not known; use npy"),
        (["integrate", "x.png", "--format", "none", "--mesh", "none"], "nothing to write"),
        (["integrate", "x.png", "--preset", "magic"], "--preset: 'magic' is not known; use one of best, paper"),
        (["integrate", "x.png", "--anchor", "1,2"], "is not U,V,DEPTH"),
        (["integrate", "x.png", "--anchor", "1,2,inf"], "is not U,V,DEPTH"),
        (["integrate", "x.png", "--contact", "1,2,3"], "is not U,V,U,V"),
        (["integrate", "x.png", "--take", "0"], "--take: 0 must be at least 1"),
        (
            ["integrate", "x.png", "--method", "bini", "--contact", "1,2,2,2"],
            "--contact: --method bini does not take it",
        ),
        (["integrate", "x.png", "--prior-weight", "2"], "no --depth-prior"),
        (["demo", "--scene", "moon"], "'moon' is not a scene; use one of boxes"),
        (["solvers", "--solver", "magic", "--bench", "x.npz"], "'magic' cannot be used here; use one of auto"),
        (["solvers", "--solver", "direct"], "argument --solver: it does nothing without --bench FILE"),
        (["solvers", "--repeat", "0"], "argument --repeat: it does nothing without --bench FILE"),
        (["solvers", "--repeat", "0", "--bench", "x.npz"], "--repeat: 0 must be at least 1"),
        (["completion", "tcsh"], "invalid choice: 'tcsh'"),
    ],
)
def test_usage_errors(words, says, capsys, tmp_path, monkeypatch):
    """What is wrong with the command line is said in one line, with exit code 2, before anything is read."""
    monkeypatch.chdir(tmp_path)
    assert says in fails(capsys, 2, *words)
    assert list(tmp_path.iterdir()) == []


def test_demo(tmp_path, monkeypatch, capsys):
    """The demo writes depth, mesh and picture into ./quotientgraph-demo and says how good it is."""
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--size", "80"]) == 0
    out = capsys.readouterr().out
    assert "error against the exact depth" in out
    folder = tmp_path / "quotientgraph-demo"
    assert sorted(os.listdir(folder)) == ["depth.npy", "manifest.json", "mesh.ply", "picture.png"]
    assert np.load(folder / "depth.npy").shape == (64, 80)
    assert os.listdir(tmp_path) == ["quotientgraph-demo"]


def test_the_list_of_the_demo(capsys):
    """Each scene in one line, with the values of its parameters instead of their names."""
    assert main(["demo", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == scenes.names()
    words = " ".join(lines).replace(".", " ").split()
    assert not {"`", "elevation", "tilt", "towards", "rise"} & set(words)
    assert scenes.make("torus", shape=(20, 24), elevation=20).description.startswith("A ring seen at 20 degrees")


def test_the_input_of_the_demo(tmp_path, monkeypatch, capsys):
    """A folder as users have them, with which `integrate` finds what the demo found."""
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--scene", "sphere", "--size", "100", "--save-input", "in", "--json"]) == 0
    direct = json.loads(capsys.readouterr().out)
    assert sorted(os.listdir("in")) == ["K.txt", "depth_gt.npz", "mask.png", "normal_map.png"]
    assert main(["integrate", "in", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (read,) = document["results"]
    assert document["seconds"] >= read["total_seconds"]
    assert (read["frame"], read["bits"], read["valid_pixels"]) == ("opengl", 16, direct["valid_pixels"])
    assert read["relative_error"] == pytest.approx(direct["relative_error"], abs=1e-3)


def test_the_demo_leaves_files_of_others_alone(tmp_path, monkeypatch, capsys):
    """The same input may be drawn again; another one, or results, do not replace what is there."""
    monkeypatch.chdir(tmp_path)
    words = ["demo", "--scene", "sphere", "--size", "60", "-q"]
    for name in ("depth.npy", "mesh.ply"):
        (tmp_path / "own").mkdir(exist_ok=True)
        (tmp_path / "own" / name).write_text("mine")
        assert f"own/{name}: was not written by an earlier run" in fails(capsys, 1, *words, "-o", "own")
        assert (tmp_path / "own" / name).read_text() == "mine"
        (tmp_path / "own" / name).unlink()
    for _ in range(2):
        assert main([*words, "-o", "out", "--save-input", "in"]) == 0
    other = ["demo", "--size", "60", "-o", "out", "--save-input", "in"]
    assert "in/depth_gt.npz: was not written" in fails(capsys, 1, *other)


@pytest.mark.parametrize("name", ["own/manifest.json", "own/picture.png", "in/K.txt"])
def test_the_demo_looks_at_its_places_before_the_work(tmp_path, monkeypatch, capsys, name):
    """Nothing is integrated where a file of somebody else is in the way."""

    def integrate(*_, **options):
        raise AssertionError("the scene was integrated in vain")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("quotientgraph.integration.integrate", integrate)
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text("mine")
    words = ["demo", "--scene", "sphere", "--size", "60", "-q", "-o", "own", "--save-input", "in"]
    assert f"{name}: was not written by an earlier run" in fails(capsys, 1, *words)
    assert (tmp_path / name).read_text() == "mine"


def test_demo_of_a_sphere_with_report(tmp_path, capsys):
    """Another scene, the report, and the same facts as JSON."""
    assert main(["demo", "--scene", "sphere", "--size", "60", "--report", "--json", "-o", str(tmp_path / "d")]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["files"] == ["depth.npy", "mesh.ply", "picture.png", "report.html"]
    assert record["relative_error"] < 0.01
    assert main(["demo", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == scenes.names()


def test_info(ball, capsys):
    """What is understood: size, bits, frame by evidence, camera, valid pixels, pieces, components."""
    assert main(["info", str(ball)]) == 0
    out = capsys.readouterr().out
    for text in (
        "50 × 40, 16-bit integers",
        "pinhole, fx",
        "opengl (decided by",
        "facing away",
        "pieces      1",
        "at 3.5°",
    ):
        assert text in out
    assert main(["info", str(ball), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["width"], record["height"], record["bits"], record["frame"]) == (50, 40, 16, "opengl")
    assert list(record["components"]) == ["2.0", "3.5", "5.0"]
    assert record["valid_pixels"] + sum(record["left_out"].values()) == record["mask_pixels"]
    assert record["frame_scores"]["opengl"]["outward"] > 0


def test_info_where_the_evidence_is_weak(tmp_path, capsys):
    """A relief that fills the frame could as well be inside out: info says so, integrate stops and names the flag."""
    scene = scenes.make("bumps", shape=(40, 50), camera="orthographic")
    path = tmp_path / "bumps.npy"
    np.save(path, scene.normals @ qio.frame_axes("directx"))
    assert main(["info", str(path)]) == 0
    out = capsys.readouterr().out
    assert "undecided; pass --frame" in out
    assert "components" not in out
    line = fails(capsys, 1, "integrate", path, "-o", tmp_path / "out")
    assert "pass --frame with one of directx, dsine" in line
    assert "residual" in line
    assert main(["info", str(path), "--frame", "right,down,viewer"]) == 0
    assert not (tmp_path / "out").exists()


def test_info_of_a_large_map(ball, capsys, monkeypatch):
    """Components are not counted where that would take gigabytes."""
    monkeypatch.setattr("quotientgraph.cli.info.MAX_PIXELS", 100)
    assert main(["info", str(ball)]) == 0
    out = capsys.readouterr().out
    assert "not counted, the map has more than 100 pixels" in out
    assert "pieces" not in out


def test_info_continues_past_a_bad_file(ball, tmp_path, capsys):
    (tmp_path / "bad.png").write_text("not an image")
    assert main(["info", str(tmp_path / "bad.png"), str(ball), "--json"]) == 1
    captured = capsys.readouterr()
    assert [("error" in record) for record in json.loads(captured.out)] == [True, False]
    assert captured.err.count("\n") == 1


def test_solvers(capsys, ball, tmp_path):
    """The table of backends, and timings of real systems that `--dump-systems` saved."""
    assert main(["solvers"]) == 0
    out = capsys.readouterr().out
    assert "direct" in out
    assert "cupy" in out
    assert main(["solvers", "--json"]) == 0
    assert {"name", "available", "version", "reason"} <= set(json.loads(capsys.readouterr().out)[0])
    arguments = ["integrate", ball, "-o", tmp_path / "out", "--dump-systems", tmp_path / "sys", "--angle", "1", "-q"]
    assert main([*map(str, arguments)]) == 0
    systems = sorted((tmp_path / "sys").iterdir())
    assert systems[0].name == "0000.npz"
    assert main(["solvers", "--bench", str(systems[0]), "--solver", "scipy", "--repeat", "1", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["backend"] == "scipy"
    assert row["residual"] < 1e-3
    assert "no such file" in fails(capsys, 1, "solvers", "--bench", tmp_path / "none.npz").lower()
    assert "mask.png: not a dumped system" in fails(capsys, 1, "solvers", "--bench", ball / "mask.png")
    damaged = bytearray(systems[0].read_bytes())
    damaged[len(damaged) // 3] ^= 255
    (tmp_path / "damaged.npz").write_bytes(damaged)
    assert "damaged.npz: not a dumped system" in fails(capsys, 1, "solvers", "--bench", tmp_path / "damaged.npz")


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_knows_all_options(name, capsys):
    """The scripts are made from the parsers: every option of `integrate` is in them."""
    assert main(["completion", name]) == 0
    script = capsys.readouterr().out
    for option in ("merge-every", "depth-prior", "skip-existing", "soft hard none", "auto cpu cuda"):
        assert option in script
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed: its script is generated but not parsed")
    assert subprocess.run([program, "-n"], input=script, text=True, timeout=20).returncode == 0


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("inte", ["integrate"]),
        ("integrate --merge", ["--merge-every"]),
        ("integrate --reweighting ha", ["hard"]),
        ("integrate --connectivity ", ["4", "8"]),
        ("integrate --frame o", ["opencv", "opengl"]),
        ("info --frame ds", ["dsine"]),
        ("integrate --method bi", ["bini"]),
        ("integrate --mesh g", ["glb"]),
        ("completion ", ["bash", "fish", "zsh"]),
    ],
)
def test_completion_in_bash(words, expected, capsys):
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    line = ["quotientgraph", *words.split(" ")]
    script += f"COMP_WORDS=({shlex.join(line)}); COMP_CWORD={len(line) - 1}\n"
    script += "_quotientgraph; printf '%s\\n' \"${COMPREPLY[@]}\"\n"
    done = subprocess.run(["bash"], input=script, capture_output=True, text=True, timeout=20)
    assert done.stderr == ""
    assert sorted(done.stdout.split()) == expected


def test_every_setting_is_an_option():
    """The options come from the fields of `Settings`: names, choices and help."""
    from quotientgraph.settings import FIELDS

    options = build_parser("integrate")[1]["integrate"]._option_string_actions
    for name, field in FIELDS.items():
        action = options[f"--{name.replace('_', '-')}"]
        assert field.metadata["help"].replace("%", "%%") in action.help
        assert tuple(action.choices or ()) == tuple(field.metadata.get("choices", ()))


def test_suggestions_are_those_of_the_library():
    import laplacians
    from quotientgraph.cli import arguments
    from quotientgraph.geometry.normals import FRAMES
    from quotientgraph.integration import METHODS

    assert set(arguments.FRAMES) == {"auto", *FRAMES}
    assert set(arguments.METHODS) == set(METHODS)
    assert {"auto", *laplacians.available()} <= set(arguments.SOLVERS)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.parametrize("words", [["--help"], ["integrate", "--help"], ["info", "{}"], ["info", "{}", "--json"],
                                   ["completion", "zsh"], ["demo", "--list"], ["integrate", "{}", "-o", "out"]])  # fmt: skip
def test_streams_that_cannot_express_everything(ball, tmp_path, encoding, words):
    """On an ASCII terminal arrows become "->" and nothing fails; this stopped a batch after its first result."""
    odd = tmp_path / os.fsdecode(b"n\xc3\xa9 \xff")
    shutil.copytree(ball, odd)
    words = [os.fsencode(word.format(odd)) for word in words]
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run(
        [sys.executable, "-m", "quotientgraph", *words], capture_output=True, env=environment, timeout=300, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if b"compiling (once" not in line] == []
    text = done.stdout.decode(encoding)
    if words[-1] == b"--json":
        assert json.loads(text)["width"] == 50
    if words[-1] == b"out":
        assert ("->" if encoding != "utf-8" else "→") in text


@pytest.mark.parametrize("stream", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full"])
def test_closed_and_full_streams(stream, tmp_path):
    """No traceback, and the results are there."""
    command = f"{sys.executable} -m quotientgraph demo --scene sphere --size 40 -o out {stream}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert done.returncode == (1 if "full" in stream else 0)
    if "full" in stream:
        says = "quotientgraph: error: stdout: cannot be written (No space left on device); send it to another place"
        assert done.stderr.splitlines()[-1] == says
    assert (tmp_path / "out" / "depth.npy").exists()


@pytest.mark.parametrize("words", [["demo"], ["info", "x.npy"], ["bench"]])
def test_a_folder_that_was_removed(tmp_path, monkeypatch, words, capsys):
    """It said "No such file or directory", and not of what."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert "the current folder does not exist any more; change to" in fails(capsys, 1, *words)


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_benchmarks_need_a_folder(tmp_path, monkeypatch, place, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert "argument --out: file is a file, a folder was" in fails(capsys, 2, "bench", "scene:stairs", "--out", place)


def test_without_docstrings():
    done = subprocess.run(
        [sys.executable, "-OO", "-m", "quotientgraph", "demo", "--list"], capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == scenes.names()


def test_a_reader_that_goes_away(ball):
    """`quotientgraph info … | true` ends quietly."""
    command = f"{sys.executable} -m quotientgraph info {ball} | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""


def test_as_a_module():
    done = shell("--version")
    assert (done.returncode, done.stdout) == (0, f"quotientgraph {__version__}\n")
