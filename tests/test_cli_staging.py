"""Folders are published as one: old or new, never a mixture, whatever happens, and nothing is left behind."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from quotientgraph.cli import manifest, staging
from quotientgraph.io import OutputError

ROOT = Path(__file__).parents[1]
ENV = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "solvers"), os.environ.get("PYTHONPATH", "")]),
}
NAMES = [f"{letter}.txt" for letter in "abcdef"]


@pytest.fixture(autouse=True)
def _forget():
    staging._tidied.clear()


@pytest.fixture(params=["exchange", "one by one"])
def way(request, monkeypatch):
    """Both ways to publish."""
    if request.param == "one by one":
        monkeypatch.setattr(staging, "_exchange", lambda a, b: False)
    elif not sys.platform.startswith(("linux", "darwin")):
        pytest.skip("this system cannot exchange names")
    return request.param


def publish(target, text, names=NAMES, ours=(*NAMES, "g.txt")):
    with staging.staged(target, staging.staging_for(target), lambda file: file.name in ours) as place:
        for name in names:
            (place / name).write_text(text)


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def hidden(folder):
    return [str(path) for path in folder.rglob(".*")]


def test_files_are_replaced_and_others_stay(tmp_path, way):
    """What an earlier run wrote and this one does not goes; what somebody else put there stays."""
    target = tmp_path / "out"
    publish(target, "old")
    (target / "notes.txt").write_text("mine")
    (target / "link").symlink_to("notes.txt")
    publish(target, "new", NAMES[:3], ours=NAMES)
    assert contents(target) == {**dict.fromkeys(NAMES[:3], "new"), "notes.txt": "mine", "link": "mine"}
    assert (target / "link").is_symlink()
    assert hidden(tmp_path) == []


def test_a_file_in_the_way_is_not_replaced(tmp_path, way):
    """What no earlier run wrote stays, and so does all else; if the name is known before, the block does not begin."""
    target = tmp_path / "out"
    publish(target, "old")
    (target / "g.txt").write_text("mine")
    with pytest.raises(
        OutputError, match=r"out/g.txt: was not written by an earlier run, or was changed since; choose another"
    ):
        publish(target, "new", [*NAMES, "g.txt"], ours=NAMES)
    with (
        pytest.raises(OutputError, match=r"g\.txt"),
        staging.staged(target, staging.staging_for(target), lambda file: file.name in NAMES, ["g.txt"]),
    ):
        raise ZeroDivisionError
    assert contents(target) == {**dict.fromkeys(NAMES, "old"), "g.txt": "mine"}
    assert hidden(tmp_path) == []


def test_an_input_is_neither_replaced_nor_removed(tmp_path, way):
    """Not even one that an earlier run wrote, also through a link."""
    target = tmp_path / "out"
    publish(target, "old")
    (tmp_path / "prior").symlink_to(target / "a.txt")

    def again(names):
        place = staging.staging_for(target)
        with staging.staged(target, place, lambda file: True, inputs=[tmp_path / "prior", tmp_path / "none"]) as folder:
            for name in names:
                (folder / name).write_text("new")

    with pytest.raises(OutputError, match=r"a.txt: is an input of this run"):
        again(["a.txt", "b.txt"])
    assert contents(target) == dict.fromkeys(NAMES, "old")
    again(["b.txt"])
    assert contents(target) == {"a.txt": "old", "b.txt": "new"}


@pytest.mark.parametrize("inside", ["a folder", "the working directory"])
def test_where_names_cannot_be_exchanged(tmp_path, monkeypatch, inside):
    target = tmp_path / "out"
    publish(target, "old")
    if inside == "a folder":
        (target / "sub").mkdir()
        (target / "sub" / "x").write_text("x")
    else:
        monkeypatch.chdir(target)
    before = target.stat().st_ino
    publish(target, "new", NAMES[:3], ours=NAMES)
    assert target.stat().st_ino == before
    assert contents(target) == dict.fromkeys(NAMES[:3], "new")
    assert hidden(tmp_path) == []


def test_through_a_symbolic_link(tmp_path, way):
    publish(tmp_path / "real", "old")
    (tmp_path / "link").symlink_to("real")
    publish(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert contents(tmp_path / "real") == dict.fromkeys(NAMES, "new")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("at", range(12))
def test_a_failure_while_publishing_changes_nothing(tmp_path, monkeypatch, at, error):
    """The n-th step fails: all files are the old ones. This failed with 12 of 15 files new."""
    target = tmp_path / "out"
    publish(target, "old")
    monkeypatch.setattr(staging, "_exchange", lambda a, b: False)
    steps, rename = [], os.rename

    def fail(a, b):
        steps.append(b)
        if len(steps) == at + 2:  # the first makes the hidden folder
            raise error
        rename(a, b)

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises((OutputError, KeyboardInterrupt)):
        publish(target, "new", [*NAMES, "g.txt"])
    assert contents(target) == dict.fromkeys(NAMES, "old")
    assert hidden(tmp_path) == []


INTERRUPTED = """
import os, signal, sys
from pathlib import Path
from quotientgraph.cli import staging
signal.signal(signal.SIGINT, signal.default_int_handler)
at, steps = int(sys.argv[2]), []
def watch(event, args):
    named = event in ("os.rename", "os.mkdir", "os.link", "open") and "out" in str(args[0])
    if named or event in ("os.remove", "os.rmdir", "os.scandir"):  # which get names inside of an open folder
        steps.append(event)
        if len(steps) == at:
            os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(watch)
target = Path(sys.argv[1])
try:
    with staging.staged(target, staging.staging_for(target), lambda file: file.name.endswith(".txt")) as place:
        for name in "abcdeg":
            (place / f"{name}.txt").write_text("new")
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_an_interrupt_at_any_step(tmp_path):
    """Ctrl-C at each step in turn, also while the old files are deleted: all old or all new, and nothing is left behind."""
    target = tmp_path / "out"
    n_interrupted, at = 0, 0
    while n_interrupted == at:
        at += 1
        publish(target, "old", ["a.txt", "b.txt", "c.txt"], ours=[f"{letter}.txt" for letter in "abcdeg"])
        done = subprocess.run([sys.executable, "-c", INTERRUPTED, target, str(at)], env=ENV, capture_output=True)
        assert done.returncode in (0, 130), done.stderr
        n_interrupted += done.returncode == 130
        found = contents(target)
        assert found in ({f"{x}.txt": "old" for x in "abc"}, {f"{x}.txt": "new" for x in "abcdeg"}), at
        assert hidden(tmp_path) == [], at
    assert n_interrupted > 15


KILLED = """
import os, sys
from pathlib import Path
from quotientgraph.cli import staging
at, way = int(sys.argv[2]), sys.argv[3]
if way == "one by one":
    staging._exchange = lambda a, b: False
steps = []
def watch(event, args):
    if event in ("os.rename", "os.remove", "os.mkdir", "os.link", "os.rmdir", "open") and "out" in str(args[0]):
        steps.append(event)
        if len(steps) == at:
            os.kill(os.getpid(), 9)
sys.addaudithook(watch)
target = Path(sys.argv[1])
with staging.staged(target, staging.staging_for(target), lambda file: file.name.endswith(".txt")) as place:
    for name in "abcdeg":
        (place / f"{name}.txt").write_text("new")
"""


@pytest.mark.parametrize("kind", ["exchange", "one by one"])
def test_a_kill_at_any_step(tmp_path, kind):
    """After each step in turn the process is killed. All old or all new, at once or after the next run; no litter."""
    new = dict.fromkeys([f"{letter}.txt" for letter in "abcdeg"], "new")
    target, mixed = tmp_path / "out", 0
    for at in range(1, 60):
        publish(target, "old", ours=[*NAMES, "g.txt"])
        done = subprocess.run([sys.executable, "-c", KILLED, target, str(at), kind], env=ENV, capture_output=True)
        found = contents(target)
        found.pop(".quotientgraph-journal", None)
        if kind == "exchange":
            assert found in (dict.fromkeys(NAMES, "old"), new), at
        mixed += found not in (dict.fromkeys(NAMES, "old"), new)
        with pytest.raises(ZeroDivisionError), staging.staged(target, staging.staging_for(target)):
            raise ZeroDivisionError  # another run, which fails: it puts in order what it finds
        assert contents(target) in (dict.fromkeys(NAMES, "old"), new), at
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
    assert done.returncode == 0
    assert at > 10
    assert bool(mixed) == (kind == "one by one")
    staging._tidied.clear()
    staging.remove_litter(target)
    assert [name for name in hidden(tmp_path) if not name.endswith(".new")] == []


def test_a_living_process_keeps_its_folder(tmp_path):
    """Only what nobody holds any more is litter."""
    target = tmp_path / "out"
    with staging.staged(target, staging.staging_for(target)) as place:
        staging.remove_litter(target)
        (place / "a").write_text("a")
        abandoned = tmp_path / ".out.0123456789ab.part"
        abandoned.mkdir()
        (abandoned / "large").write_text("x")
        (tmp_path / ".other.part").mkdir()  # not one of ours
        staging._tidied.clear()
        staging.remove_litter(target)
        assert not abandoned.exists()
        assert place.exists()
    assert contents(target) == {"a": "a"}
    assert (tmp_path / ".other.part").exists()


def test_an_error_without_a_text(tmp_path):
    """It was reported as "cannot be written (None)"."""
    target = tmp_path / "out"
    with pytest.raises(OutputError, match="OSError"), staging.staged(target, staging.staging_for(target)):
        raise OSError


def arguments(**changes):
    return argparse.Namespace(
        **{"frame": "auto", "fov": None, "format": ("npy",), "jobs": 1, "anchor": [(1, 2, 3.0)]} | changes
    )


def test_a_manifest_says_whether_a_folder_is_complete(tmp_path):
    (tmp_path / "depth.npy").write_text("z")
    args = arguments()
    manifest.write_manifest(tmp_path, "in.png", args)
    assert manifest.is_complete(tmp_path, ["depth.npy"], args)
    assert manifest.is_complete(tmp_path, ["depth.npy"], arguments(jobs=2, format=("npy", "exr")))
    assert not manifest.is_complete(tmp_path, ["depth.npy"], arguments(fov=40.0))
    assert not manifest.is_complete(tmp_path, ["depth.npy", "mesh.ply"], args)
    (tmp_path / "mesh.ply").write_text("stale")
    assert not manifest.is_complete(tmp_path, ["depth.npy", "mesh.ply"], args)
    assert manifest.is_ours(tmp_path / "depth.npy")
    assert not manifest.is_ours(tmp_path / "mesh.ply")
    (tmp_path / "depth.npy").write_text("changed by hand")
    assert not manifest.is_complete(tmp_path, ["depth.npy"], args)
    assert not manifest.is_ours(tmp_path / "depth.npy")


def test_a_manifest_knows_the_inputs(tmp_path):
    """Another size, time or name of an input makes the folder incomplete; a manifest that does not tell is old."""
    (tmp_path / "depth.npy").write_text("z")
    source = tmp_path / "in.png"
    source.write_text("normals")
    args, facts = arguments(), manifest.facts_of([source, tmp_path / "none"])
    manifest.write_manifest(tmp_path, "in.png", args, facts)
    assert manifest.is_complete(tmp_path, ["depth.npy"], args, manifest.facts_of([source, tmp_path / "none"]))
    assert not manifest.is_complete(tmp_path, ["depth.npy"], args, manifest.facts_of([source]))
    os.utime(source, ns=(0, 10**18))
    assert not manifest.is_complete(tmp_path, ["depth.npy"], args, manifest.facts_of([source, tmp_path / "none"]))
    document = json.loads((tmp_path / "manifest.json").read_text())
    del document["inputs"]
    (tmp_path / "manifest.json").write_text(json.dumps(document))
    assert not manifest.is_complete(tmp_path, ["depth.npy"], args)
    assert manifest.is_ours(tmp_path / "depth.npy")  # it may be replaced


def test_a_mesh_that_could_not_be_made_is_not_missed(tmp_path):
    """Unless it is asked for."""
    (tmp_path / "depth.npy").write_text("z")
    manifest.write_manifest(tmp_path, "in.png", arguments(), left_out=["mesh.ply"])
    assert manifest.is_complete(tmp_path, ["depth.npy", "mesh.ply"], arguments())
    assert not manifest.is_complete(tmp_path, ["depth.npy", "mesh.ply"], arguments(mesh=("ply",)))
    assert not manifest.is_complete(tmp_path, ["depth.npy", "mesh.obj"], arguments())


def test_only_dumped_systems_are_taken_for_them(tmp_path):
    """A file 0000.npz of somebody else was removed."""
    from laplacians import LaplacianSystem

    LaplacianSystem.from_edges(2, [0], [1], [1.0], [2.0]).save(tmp_path / "0000.npz")
    np.savez(tmp_path / "0001.npz", normals=np.zeros(3))
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "array.npy").rename(tmp_path / "0002.npz")
    (tmp_path / "0003.npz").write_text("PK")
    found = [file.name for file in sorted(tmp_path.iterdir()) if manifest.is_dumped_system(file)]
    assert found == ["0000.npz"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"files": 3}', '{"files": {"a": {}}}', '{"files": {"a": 1}}', "[" * 100000]
)
def test_a_damaged_manifest_is_none(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    assert manifest.read_manifest(tmp_path) == {}
    assert not manifest.is_complete(tmp_path, ["a"], arguments())


@pytest.mark.parametrize("text", ["", "{", "[]", '{"before": ["../x"], "new": [], "staging": "s"}'])
def test_a_damaged_journal_does_no_harm(tmp_path, text):
    target = tmp_path / "out"
    publish(target, "old")
    (tmp_path / "x").write_text("mine")
    (target / ".quotientgraph-journal").write_text(text)
    publish(target, "new")
    assert contents(target) == dict.fromkeys(NAMES, "new")
    assert (tmp_path / "x").read_text() == "mine"


def test_manifest_of_a_run(tmp_path):
    """Two runs at once into the same folder, one of them killed: the folder is that of one run."""
    words = [
        sys.executable,
        "-m",
        "quotientgraph",
        "demo",
        "--scene",
        "sphere",
        "--size",
        "40",
        "-q",
        "-o",
        str(tmp_path / "d"),
    ]
    runs = [subprocess.Popen(words, env=ENV) for _ in range(3)]
    time.sleep(0.5)
    runs[0].kill()
    assert [run.wait() for run in runs[1:]] == [0, 0]
    document = json.loads((tmp_path / "d" / "manifest.json").read_text())
    assert sorted(document["files"]) == ["depth.npy", "mesh.ply", "picture.png"]
    assert all((tmp_path / "d" / name).stat().st_size == facts["bytes"] for name, facts in document["files"].items())
