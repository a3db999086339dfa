"""What stands where a run in tiles writes: only results of earlier runs are replaced, and no failure leaves litter."""

import json
import os
import sys

import numpy as np
import pytest

from quotientgraph.cli import main

dask = pytest.importorskip("dask.array")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
zarr = pytest.importorskip("zarr")

from quotientgraph import scale  # noqa: E402

RESULTS = ("depth.zarr", "components.zarr", "nodes.parquet", "edges.parquet", "report.json")


def flat(shape=(64, 70)):
    return np.tile(np.float32([0, 0, 1]), (*shape, 1))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder to stand in, with an input and a file that has nothing to do with it."""
    folder = tmp_path / "place"
    folder.mkdir()
    monkeypatch.chdir(folder)
    np.save("normals.npy", flat())
    (folder / "mine.txt").write_text("mine")
    return folder


def integrate(out="depth.zarr", normals="normals.npy", **options):
    return scale.integrate(normals, out=out, **{"tile": 64, "workers": 1, "angle": 20.0, "preset": "paper", **options})


def contents(folder):
    """The bytes of every file in a folder and those below."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("overwrite", [False, True], ids=["", "overwrite"])
@pytest.mark.parametrize("out", [".", "..", "theirs", "normals.npy", "in.zarr", "theirs.zarr"])
def test_what_others_wrote_is_never_replaced(place, out, overwrite):
    """The working directory, what holds it, an input, folders and Zarr arrays of others."""
    (place / "theirs").mkdir()
    (place / "theirs" / "mine.txt").write_text("mine")
    for name in ("in.zarr", "theirs.zarr"):
        zarr.create_array(name, data=flat(), chunks=(32, 32, 3))
    before = contents(place.parent)
    with pytest.raises(OSError, match=r"choose another name for the Zarr store \(out, -o\)") as failure:
        integrate(out, normals="in.zarr" if out == "in.zarr" else "normals.npy", overwrite=overwrite)
    assert str((place / out).resolve()) in str(failure.value)
    assert contents(place.parent) == before


def test_the_command_line_leaves_the_working_directory_alone(place, capsys):
    """One line says which folder it is, and what could be given instead."""
    before = contents(place)
    command = ["integrate", "normals.npy", "--frame", "opengl", "--tile", "64", "--workers", "1", "-o", "."]
    assert main([*command, "--overwrite"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{place}: is or holds the working directory" in line
    assert line.endswith(f"such as {place / 'depth.zarr'}")
    assert contents(place) == before


@pytest.mark.parametrize("overwrite", [False, True], ids=["", "overwrite"])
@pytest.mark.parametrize("name", [*RESULTS, "depth.work/mine.txt", "depth.work/journal.jsonl"])
def test_every_output_is_looked_at_before_the_work(place, name, overwrite):
    """A file of the user stands where one of the outputs goes, or in the folder of intermediate files."""
    (place / name).parent.mkdir(exist_ok=True)
    if name.endswith(".parquet"):
        parquet.write_table(pyarrow.table({"tail": [0, 1]}), place / name)
    else:
        (place / name).write_text('{"quotientgraph": 1}\n')
    before, stages = contents(place), []
    with pytest.raises(OSError, match=r"depth\.work: |does not say that tiles wrote it") as failure:
        integrate(overwrite=overwrite, progress=lambda *one: stages.append(one))
    assert str(place / name.partition("/")[0]) in str(failure.value)
    assert contents(place) == before
    assert not stages


def test_each_result_of_an_earlier_run_asks_for_overwrite(place):
    """Also where the others have been moved away."""
    integrate()
    for name in RESULTS:
        with pytest.raises(OSError, match=rf"{name}: exists; pass .*--overwrite"):
            integrate()
        (place / name).rename(place / f"old {name}")
    integrate()


def test_overwrite_replaces_what_an_earlier_run_wrote(place):
    """All five results and an interrupted run; files that others put beside or among them stay."""

    def stop(stage, done, total):
        if stage == "labels" and done == total:
            raise KeyboardInterrupt

    integrate()
    (place / "depth.zarr" / "mine.txt").write_text("mine")
    np.save("other.npy", flat((80, 66)))
    with pytest.raises(KeyboardInterrupt):
        integrate(overwrite=True, progress=stop)
    (place / "depth.work" / "notes").mkdir()
    for name in ("mine.txt", "mine.npy", "notes/mine.npz"):
        (place / "depth.work" / name).write_text("mine")
    depth, _ = integrate(normals="other.npy", overwrite=True)
    assert depth.shape == (80, 66)
    assert json.loads((place / "report.json").read_text())["shape"] == [80, 66]
    assert contents(place / "depth.work") == dict.fromkeys(["mine.txt", "mine.npy", "notes/mine.npz"], b"mine")
    assert (place / "depth.zarr" / "mine.txt").read_text() == "mine"
    assert sorted(os.listdir(place)) == sorted([*RESULTS, "depth.work", "mine.txt", "normals.npy", "other.npy"])


@pytest.mark.parametrize("name", ["mine.npy", "notes/mine.npy", "notes/3.npy"])
def test_resume_leaves_a_folder_alone_that_no_run_made(place, name):
    """Results are complete and are returned; what stands where intermediate files would go is the user's."""
    _, report = integrate()
    (place / "depth.work" / name).parent.mkdir(parents=True)
    (place / "depth.work" / name).write_text("mine")
    before = contents(place)
    assert integrate(resume=True)[1] == report
    assert contents(place) == before


@pytest.mark.parametrize("name", ["components.zarr", "nodes.parquet", "edges.parquet", "report.json"])
def test_an_empty_folder_is_in_the_way_of_a_file_only(place, name):
    """A table cannot replace a folder, so that is said before the work; an array is written into it."""
    (place / name).mkdir()
    stages = []
    if name.endswith(".zarr"):
        integrate(overwrite=True)
        return
    with pytest.raises(OSError, match=f"{name}: exists and does not say that tiles wrote it"):
        integrate(overwrite=True, progress=lambda *one: stages.append(one))
    assert not stages


@pytest.mark.parametrize("begun", [None, b"", b'{"quotientgr'], ids=["no journal", "empty", "half a line"])
def test_a_run_that_was_killed_at_once_can_be_resumed(place, begun):
    """It may leave an empty folder, a journal without a whole line, or a Zarr array before its description is written."""
    (place / "depth.work").mkdir()
    if begun is not None:
        (place / "depth.work" / "journal.jsonl").write_bytes(begun)
        (place / "depth.zarr").mkdir()
        (place / "depth.zarr" / "zarr.0123.partial").write_bytes(b"{")
    integrate(resume=True)
    assert json.loads((place / "report.json").read_text())["shape"] == [64, 70]


def test_nothing_stays_of_a_run_that_did_nothing(place, monkeypatch, capsys):
    """The scheduler cannot be reached; an input cannot be read: the next run finds everything as it was."""
    distributed = pytest.importorskip("distributed")

    def unreachable(*_):
        raise OSError("Timed out trying to connect to tcp://127.0.0.1:9 after 30 s")

    before = contents(place)
    monkeypatch.setattr(distributed, "Client", unreachable)
    command = ["integrate", "normals.npy", "--frame", "opengl", "--scheduler", "tcp://127.0.0.1:9"]
    assert main([*command, "-o", "new/folder/depth.zarr"]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("quotientgraph: error: Timed out")
    with pytest.raises(OSError, match="Timed out"):
        integrate(client="tcp://127.0.0.1:9", workers=None)
    assert contents(place) == before
    assert sorted(os.listdir(place)) == ["mine.txt", "normals.npy"]
    store = zarr.create_array("in.zarr", data=flat((1600, 1600)), chunks=(64, 64, 3))
    (place / "in.zarr" / "c" / "0" / "0" / "0").write_bytes(b"damaged")
    before = contents(place)
    with pytest.raises(ValueError, match=r"in\.zarr: rows"):
        integrate(normals="in.zarr", tile=320)
    assert store.shape == (1600, 1600, 3)
    assert contents(place) == before
    assert not (place / "depth.work").exists()


@pytest.mark.parametrize("package", ["zarr", "dask", "pyarrow"])
def test_a_missing_package_is_one_line(place, monkeypatch, capsys, package):
    """The command says what to install, before it has done anything."""
    monkeypatch.setitem(sys.modules, package, None)
    command = ["integrate", "normals.npy", "-o", "oz", "--tile", "32", "--workers", "1", "--frame", "opengl"]
    assert main(command) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("quotientgraph: error: ")
    assert 'is not installed; install it with: pip install "quotientgraph[scale]"' in line
    assert sorted(os.listdir(place)) == ["mine.txt", "normals.npy"]
