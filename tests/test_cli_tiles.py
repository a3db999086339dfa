"""`quotientgraph integrate` in tiles understands its input as in memory, and refuses what tiles do not write."""

import json
import os

import numpy as np
import pytest

import quotientgraph.io as qio
from quotientgraph import scenes
from quotientgraph.cli import main

pytest.importorskip("dask.array")
pytest.importorskip("pyarrow.parquet")
zarr = pytest.importorskip("zarr")

TILES = ("--frame", "opencv", "--tile", "64", "--workers", "1")


@pytest.fixture(scope="module")
def room():
    return scenes.make("sphere", shape=(64, 80))


@pytest.fixture
def place(tmp_path, monkeypatch, room):
    """A folder to stand in, with a map and the camera and mask of it."""
    monkeypatch.chdir(tmp_path)
    np.save("normals.npy", np.where(np.isfinite(room.normals), room.normals, [0, 0, -1]))
    np.savetxt("K.txt", room.camera.matrix)
    qio.write_image("mask.png", room.mask.astype(np.uint8) * 255)
    return tmp_path


def run(*argv, code=0):
    assert main(["integrate", *map(str, argv)]) == code


def depth():
    return zarr.open_array("depth.zarr", mode="r")[:]


def test_the_camera_and_the_mask_beside_the_map_are_used(place, room, capsys):
    """As in memory, and the same line says so; the depths agree."""
    run("normals.npy", *TILES)
    in_tiles = capsys.readouterr().out.splitlines()
    run("normals.npy", "--frame", "opencv", "-o", "memory", "--mesh", "none")
    in_memory = capsys.readouterr().out.splitlines()
    assert in_tiles[1] == in_memory[1]
    assert "pinhole" in in_tiles[1]
    assert f"from K.txt; mask {room.mask.mean():.1%} of the image from mask.png" in in_tiles[1]
    expected = np.load("memory/depth.npy")
    assert np.array_equal(np.isfinite(expected), room.mask)
    assert np.allclose(depth(), expected, rtol=1e-3, equal_nan=True)


@pytest.mark.parametrize(
    ("options", "camera", "mask"),
    [
        (("--no-beside",), "orthographic (assumed)", "none"),
        (("--mask", "none", "--orthographic=2"), "orthographic, pixel size 2", "none"),
        (("--mask", "own.png", "--camera", "own.json"), "pinhole, fx 90, fy 90", "50.0% of the image from own.png"),
        (("--mask", "own.zarr", "--fov", "60"), "pinhole, fx 69.", "from own.zarr"),
        (("--fisheye", "90"), "fisheye of 90 degrees", "of the image from mask.png"),
    ],
    ids=["no beside", "none", "given", "store", "fisheye"],
)
def test_what_is_given_goes_before_what_is_beside(place, capsys, options, camera, mask):
    """The line names the files that were used."""
    own = np.zeros((64, 80), dtype=np.uint8)
    own[:, 20:60] = 255
    qio.write_image("own.png", own)
    zarr.create_array("own.zarr", data=own)
    (place / "own.json").write_text(json.dumps({"K": [[90, 0, 40], [0, 90, 32], [0, 0, 1]]}))
    zarr.open_group("normals.zarr", mode="w").create_array("normals", data=np.load("normals.npy"))
    run("normals.zarr", *TILES, *options, "--json")
    document = json.loads(capsys.readouterr().out)
    assert document["understood"].startswith(f"frame opencv (given); camera {camera}")
    assert document["understood"].endswith(mask)
    if "own" in mask:
        assert not np.isfinite(depth()[own == 0]).any()
        assert np.isfinite(depth()[own > 0]).any()


@pytest.mark.parametrize("source", ["bear.npy", "bear.zarr"])
def test_the_name_of_the_input_stands_in_those_of_other_files(place, capsys, source):
    """`{name}`, as in memory; that of a store is without its ending."""
    for name, file in (("normals.npy", "bear.npy"), ("mask.png", "of_bear.png"), ("K.txt", "of_bear.txt")):
        (place / name).rename(place / file)
    if source.endswith(".zarr"):
        zarr.open_group(source, mode="w").create_array("normals", data=np.load("bear.npy"))
    run(source, *TILES, "--mask", "of_{name}.png", "--camera", "of_{name}.txt", "--json")
    understood = json.loads(capsys.readouterr().out)["understood"]
    assert "from of_bear.txt" in understood
    assert understood.endswith("from of_bear.png")


def test_a_camera_that_was_corrected_is_worth_a_warning(place, room, capsys):
    """A transposed K.txt beside the map."""
    np.savetxt("K.txt", room.camera.matrix.T)
    run("normals.npy", *TILES)
    captured = capsys.readouterr()
    assert "quotientgraph: warning: camera: K.txt was transposed" in captured.err


@pytest.mark.parametrize("suffix", [".png", ".tif", ".npy"])
def test_a_mask_selects_the_same_however_it_is_stored(place, suffix):
    """What is brighter than half, as in memory; 20 of 255 is the edge of a soft mask."""
    soft = np.full((64, 80), 255, dtype=np.uint8)
    soft[:, :30] = 20
    if suffix == ".npy":
        np.save("soft.npy", soft)
    else:
        qio.write_image(f"soft{suffix}", soft)
    run("normals.npy", *TILES, "--mask", f"soft{suffix}", "--orthographic", "-q")
    assert np.array_equal(np.isfinite(depth()), soft == 255)


def test_a_warning_about_the_camera_is_said_once(place, capsys):
    """The file and the camera that was read from it say the same."""
    np.savetxt("K.txt", [[100, 0, 4], [0, 100, 4], [0, 0, 1]])
    run("normals.npy", *TILES, "--json")
    warnings = json.loads(capsys.readouterr().out)["warnings"]
    assert sum("far from the middle" in text for text in warnings) == 1


@pytest.mark.parametrize("mask", ["nowhere.png", "nowhere.zarr", "K.txt", "small.png"])
def test_a_mask_that_cannot_be_used_is_one_line(place, capsys, mask):
    """It names the file, and nothing is written."""
    qio.write_image("small.png", np.full((4, 5), 255, dtype=np.uint8))
    before = sorted(os.listdir(place))
    run("normals.npy", *TILES, "--mask", mask, code=1)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("quotientgraph: error: ")
    assert mask in line
    assert "StorePath" not in line
    assert sorted(os.listdir(place)) == before


@pytest.mark.parametrize(
    "option",
    [
        "--format=exr", "--format=npy", "--mesh=obj", "--mesh=ply", "--points", "--labels", "--graphml", "--tables",
        "--decomposition", "--picture", "--report", "--alternatives", "--skip-existing", "--prior-weight=2",
    ],
)  # fmt: skip
def test_what_tiles_do_not_write_is_refused(place, capsys, option):
    """Also the value that is the default in memory, since tiles do not write it either."""
    before = sorted(os.listdir(place))
    run("normals.npy", *TILES, option, code=2)
    (line,) = capsys.readouterr().err.splitlines()
    assert f"argument {option.partition('=')[0]}: does not go with tiles; leave it out" in line
    assert sorted(os.listdir(place)) == before


def test_outputs_that_are_declined_are_no_obstacle(place):
    """`--mesh none` and the like ask for nothing."""
    run("normals.npy", *TILES, "--mesh", "none", "--format", "none", "--no-report", "-q")
    assert np.isfinite(depth()).any()


def test_info_says_what_a_store_holds(place, capsys):
    """It is no folder without a map, and the message says what to do with it."""
    normals = np.load("normals.npy")
    zarr.create_group("n.zarr").create_array("normals", data=normals, chunks=(32, 32, 3))
    assert main(["info", "n.zarr"]) == 1
    text = capsys.readouterr().err
    assert "a Zarr store with normals of 80×64" in text
    assert "quotientgraph integrate n.zarr" in text
