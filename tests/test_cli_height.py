"""The command `height`: what it writes, refuses and says of textures that are not as they should be."""

import json
import os

import numpy as np
import pytest

import quotientgraph.height
import quotientgraph.io as qio
from quotientgraph import height_map, scenes
from quotientgraph.cli import main
from quotientgraph.height import Size
from quotientgraph.height.tangent import detect_tile, is_normal_map

OPENGL = np.array([1.0, -1.0, -1.0])


def stored(normals, axes=OPENGL):
    """Normals of the OpenCV frame as 8 bits; black where there is none."""
    values = np.rint((np.nan_to_num(normals, nan=-1) * axes + 1) * 127.5)
    values[~np.isfinite(normals).all(axis=-1)] = 0
    return values.astype(np.uint8)


WAVES = scenes.texture("waves", shape=(48, 64), relief=0.15).normals
BALL = scenes.make("sphere", (96, 96)).normals


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The working directory, empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(name, normals=WAVES, axes=OPENGL):
    """Write a normal map, and return the bytes of its file."""
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    qio.write_image(name, stored(normals, axes))
    with open(name, "rb") as file:
        return file.read()


def files(folder):
    """The files in a folder and below it, by their place in it."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "words",
    [
        ["n.png", "-o", "n.png"],
        ["n.png", "-o", "link.png"],
        ["n.png", "n_height.png"],
        ["n.png", "n_ao.png", "--ao"],
        ["n.png", "n_curvature.png", "--curvature", "-o", "."],
        ["n.png", "-o", "n.tiff", "--format", "png"],
    ],
)
def test_an_input_is_never_overwritten(here, words, capsys):
    """Whatever the target is called, and whether it is the height map or a picture beside it: nothing is written."""
    names = ["n.png", "n_height.png", "n_ao.png", "n_curvature.png"]
    before = {name: put(name) for name in names}
    (here / "link.png").symlink_to("n.png")
    assert main(["height", *words, "--smooth"]) == 2
    said = capsys.readouterr().err
    assert "-o" in said
    assert "is an input" in said
    assert {name: (here / name).read_bytes() for name in names} == before
    assert files(here) == sorted([*names, "link.png"])


def test_results_of_an_earlier_run_are_replaced(here):
    """They lie among the inputs of a folder, but are none of them."""
    put("textures/n.png")
    assert main(["height", "textures", "--smooth", "--ao", "--quiet"]) == 0
    assert main(["height", "textures", "--smooth", "--ao", "--quiet"]) == 0
    assert files(here) == ["textures/n.png", "textures/n_ao.png", "textures/n_height.png"]


def test_results_that_a_pattern_names_are_no_inputs(here, capsys):
    """As the shell expands `*.png` when the command is run for the second time."""
    put("n.png")
    assert main(["height", "n.png", "--smooth", "--quiet"]) == 0
    assert main(["height", *files(here), "--smooth"]) == 0
    assert "n_height.png: grey, and results of other inputs" in capsys.readouterr().err
    assert files(here) == ["n.png", "n_height.png"]


def test_an_input_that_is_its_own_target_is_told_as_such(here, capsys):
    """A grey picture is left out only where another input would write it."""
    qio.write_image("grey.png", np.full((8, 9), 100, dtype=np.uint8))
    assert main(["height", "grey.png", "-o", "grey.png"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "argument -o: grey.png is an input and would be overwritten" in line


@pytest.mark.parametrize(
    ("words", "n_files"),
    [
        (["a/n.png", "b/n.png", "-o", "out"], 2),
        (["a/n.png", "a/n.tiff"], 2),
        (["a", "b", "-o", "out"], 3),
        (["a/deep", "b/deep", "-o", "out"], 2),
        (["a/n.png", "./a/../a/n.png", "-o", "out"], 1),
        (["b", "b/n.png", "-o", "out"], 2),
    ],
)
def test_every_input_has_a_file_of_its_own(here, words, n_files, capsys):
    """Of two inputs of one name neither is lost; an input that is named twice is worked on once."""
    for name in ("a/n.png", "a/n.tiff", "b/n.png"):
        put(name)
    if "a/deep" in words:
        for name in ("a/deep/rock.png", "b/deep/rock.png"):
            put(name)
    if words[0] == "b":
        put("b/deep/n.png")
    before = set(files(here))
    assert main(["height", *words, "--smooth", "--json"]) == 0
    told = [os.path.normpath(name) for record in json.loads(capsys.readouterr().out) for name in record["files"]]
    new = set(files(here)) - before
    assert set(told) == new
    assert len(told) == len(new) == n_files


@pytest.mark.parametrize("green", ["opengl", "directx"])
def test_a_stated_green_that_the_normals_contradict(here, green, capsys):
    """It is used, with a warning; the right one gives none, nor do normals that do not tell."""
    other = {"opengl": "directx", "directx": "opengl"}[green]
    put("right.png", WAVES, OPENGL * [1, 1 if green == "opengl" else -1, 1])
    put("wrong.png", WAVES, OPENGL * [1, -1 if green == "opengl" else 1, 1])
    put("flat.png", np.tile([0.0, 0.0, -1.0], (48, 64, 1)))
    assert main(["height", "right.png", "wrong.png", "flat.png", "--green", green, "--smooth", "-o", "out"]) == 0
    (said,) = capsys.readouterr().err.splitlines()
    assert f"wrong.png: green: the normals contradict {green}" in said
    assert f"for {other}, which fits better" in said


@pytest.mark.parametrize("paint", [0, 128, 255, np.nan])
def test_a_background_is_not_judged(paint):
    """An object on black, grey, white or NaN is a normal map, in whatever form it is stored."""
    outside = ~np.isfinite(BALL).all(axis=-1)
    assert outside.mean() > 0.5
    images = [np.where(outside[..., None], paint, BALL * OPENGL)]
    if paint == paint:
        images = [stored(BALL).astype(np.uint16) * 257, stored(BALL), stored(BALL) / 255]
        for image in images:
            image[outside] = paint * (image.max() / 255)
    for image in images:
        assert is_normal_map(image)


def test_pictures_on_a_background_are_no_normal_maps():
    """An icon in light blue, whose values are not far from unit vectors, a mask, and nothing at all."""
    icon = np.full((64, 64, 3), 255, dtype=np.uint8)
    icon[16:48, 16:48] = (98, 160, 234)
    icon[16:32, 20:40] = (85, 150, 235)
    mask = np.zeros((64, 64, 3), dtype=np.uint8)
    mask[20:40, 20:40] = 255
    for picture in (icon, mask, mask[:10], np.full((8, 8, 3), np.nan)):
        assert not is_normal_map(picture)


def test_a_folder_says_what_it_skips(here, capsys):
    """Objects on black are found; colour images are named, and grey ones, which cannot be meant, are not."""
    put("maps/ball.png", BALL)
    colour = np.random.default_rng(0).integers(0, 255, (32, 32, 3)).astype(np.uint8)
    (here / "maps" / "deep").mkdir()
    for k in range(12):
        qio.write_image(here / "maps" / "deep" / f"colour{k:02}.png", colour)
    qio.write_image(here / "maps" / "rough.png", colour[..., 0])
    assert main(["height", "maps", "-o", "out", "--smooth"]) == 0
    assert files(here / "out") == ["ball_height.png"]
    said = capsys.readouterr().err
    assert said.startswith(
        "maps: skipped, as their values are not those of a tangent-space normal map: deep/colour00.png,"
    )
    assert "deep/colour09.png and 2 more" in said
    assert "rough.png" not in said
    assert main(["height", "maps/deep", "-q"]) == 1
    assert capsys.readouterr().err == "quotientgraph: error: maps/deep: no normal map was found\n"


def test_a_fault_of_the_program_does_not_stop_the_others(here, monkeypatch, capsys):
    """It becomes one line that asks for a report; with the variable for it, a traceback."""
    put("a.png")
    put("b.png")
    real = height_map

    def faulty(source, **keywords):
        if source.name == "a.png":
            raise ZeroDivisionError("of nothing")
        return real(source, **keywords)

    monkeypatch.setattr(quotientgraph.height, "height_map", faulty)
    assert main(["height", "a.png", "b.png", "--smooth", "-q"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("quotientgraph: error: a.png: internal error, ZeroDivisionError: of nothing; please report")
    assert files(here) == ["a.png", "b.png", "b_height.png"]
    monkeypatch.setenv("QUOTIENTGRAPH_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main(["height", "a.png", "--smooth"])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("words", [["--strength", "1e308"], ["--strength=-1e40"], ["--size", "1e300m"]])
@pytest.mark.parametrize("smooth", [False, True])
def test_heights_beyond_what_a_file_holds(here, words, smooth, capsys):
    """They are refused with the name of the argument, and nothing is written."""
    put("n.png")
    assert main(["height", "n.png", "-o", "z.exr", "--values", "height", *words, *["--smooth"] * smooth]) == 1
    (said,) = capsys.readouterr().err.splitlines()
    assert "strength=" in said
    assert "use a smaller strength or size" in said
    assert files(here) == ["n.png"]


@pytest.mark.parametrize("text", ["1e400m", "1e-13m", "1m x 1e-20m"])
def test_sizes_beyond_numbers(text):
    """A length that is infinite, or is rounded to nothing, is refused."""
    with pytest.raises(ValueError, match="size="):
        Size.from_text(text, (10, 20))


@pytest.mark.parametrize("words", [["nope.png"], ["nope.png", "neither.png"], ["empty"]])
def test_no_folder_is_left_where_nothing_is_written(here, words, capsys):
    """Neither the one that was named, nor those above it."""
    (here / "empty").mkdir()
    assert main(["height", *words, "-o", "new/deep"]) == 1
    assert not (here / "new").exists()
    assert words[0] in capsys.readouterr().err


def test_a_file_where_a_folder_is_needed(here, capsys):
    """It is told for each input, and stays."""
    put("a.png")
    before = put("b.png")
    put("c.png")
    assert main(["height", "a.png", "c.png", "-o", "b.png"]) == 1
    assert "b.png: exists and is not a folder" in capsys.readouterr().err
    assert (here / "b.png").read_bytes() == before


def test_seams_that_cannot_be_judged():
    """No figure is given of a seam without normals, be it one of them or both."""
    word, reason = detect_tile(BALL)
    assert (word, reason) == ("no", "assumed; there are too few normals at the seams")
    normals = WAVES.copy()
    normals[0] = np.nan
    word, reason = detect_tile(normals)
    assert word == "x"
    assert "times as much at the left and right seam as at" in reason
    assert reason.endswith("; there are too few normals at the upper and lower seam")
    word, reason = detect_tile(normals.swapaxes(0, 1))
    assert word == "y"
    assert "at the upper and lower seam as at" in reason
    assert reason.endswith("at the left and right seam")


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("green", ["auto", "opengl", "directx"])
def test_normals_that_face_away(here, smooth, green, capsys):
    """The message speaks of the map and of green, and of no frame that nobody stated."""
    put("n.png", WAVES, np.array([1.0, 1.0, 1.0]))
    assert main(["height", "n.png", "--green", green, *["--smooth"] * smooth]) == 1
    (said,) = capsys.readouterr().err.splitlines()
    assert "n.png: normals: 3072 of 3072 face away from the viewer, whichever way green points" in said
    assert "opencv" not in said
    mixed = WAVES * OPENGL
    mixed[:20, :, 2] *= -1
    assert height_map(mixed, tile="no", smooth=smooth).height.shape == (48, 64)
    mixed[20:25, :, 2] *= -1
    with pytest.raises(ValueError, match="normals: 1600 of 3072 face away"):
        height_map(mixed, smooth=smooth)
