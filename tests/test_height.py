"""Height maps of textures: green, tiling, sizes, files, shading, and the command `height`."""

import json
import struct
import warnings
import zlib

import numpy as np
import pytest

import quotientgraph.io as qio
from quotientgraph import height_map, scenes
from quotientgraph.cli import main
from quotientgraph.height import Size, TangentMap, ambient_occlusion, curvature
from quotientgraph.height.tangent import detect_green, detect_tile, is_normal_map

OPENGL = np.array([1.0, -1.0, -1.0])


def tile(kind="waves", shape=(96, 128), relief=0.15):
    return scenes.texture(kind, shape=shape, relief=relief)


def stored(scene, dtype=np.uint8, green=1):
    """The normals of a scene as a texture stores them; green=-1 for DirectX."""
    top = np.iinfo(dtype).max
    return np.rint((scene.normals * OPENGL * [1, green, 1] + 1) * (top / 2)).astype(dtype)


def png_texts(path):
    """The texts and the resolution in a PNG, read chunk by chunk, with their checksums."""
    data, at, out = path.read_bytes(), 8, {}
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        assert zlib.crc32(name + body) == int.from_bytes(data[at + 8 + length : at + 12 + length], "big")
        if name == b"iTXt":
            key, _, rest = body.partition(b"\0")
            out[key.decode()] = rest[4:].decode()
        if name == b"pHYs":
            out["pHYs"] = struct.unpack(">IIB", body)
        at += 12 + length
    return out


def test_what_is_no_normal_map_is_a_warning():
    """Random colours have lengths of all sizes; the warning of the reader reaches the result."""
    noise = np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8)
    noise[..., 2] |= 128
    assert any("have a length near 1" in text for text in height_map(noise).warnings)
    assert not any("have a length near 1" in text for text in height_map(stored(tile())).warnings)


@pytest.mark.parametrize("kind", ["waves", "fractal", "bricks"])
@pytest.mark.parametrize("green", ["opengl", "directx"])
def test_green_is_detected(kind, green):
    """By the sums around loops, from 8-bit files of both kinds; the heights are then the same."""
    scene = tile(kind, shape=(128, 128))
    found = TangentMap.from_source(stored(scene, green=1 if green == "opengl" else -1))
    assert found.green == green
    assert "loops" in found.green_reason


def test_green_that_cannot_be_told():
    """Ridges along one axis look the same both ways: the name decides, and else "opengl" is assumed, and said to be."""
    u = np.mgrid[:64, :64][1]
    normals = np.stack([0.3 * np.cos(u / 5), np.zeros(u.shape), np.ones(u.shape)], axis=-1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    assert detect_green(normals) == ("opengl", "assumed; the sums around loops do not tell")
    assert detect_green(normals, "wall_nor_dx_4k")[0] == "directx"
    assert detect_green(normals, "wall_NormalGL")[0] == "opengl"
    assert detect_green(normals, "adx_glow")[0] == "opengl"


@pytest.mark.parametrize("kind", ["waves", "fractal", "bricks"])
def test_tiling_is_detected(kind):
    """A tile tiles; a part of it does not in the direction in which it was cut."""
    normals = tile(kind, shape=(128, 128)).normals
    assert detect_tile(normals)[0] == "both"
    assert detect_tile(np.roll(normals, (31, 64), (0, 1)))[0] == "both"
    if kind != "bricks":  # cut in the middle of a brick it is no rougher than at the next joint
        assert detect_tile(normals[:, :90])[0] == "y"
        assert detect_tile(normals[:90])[0] == "x"
        assert detect_tile(normals[:90, :90])[0] == "no"


@pytest.mark.parametrize("smooth", [False, True])
def test_heights_are_right(smooth):
    """Height is minus depth, in the unit of the size; levels, range and mid-level fit together; the strength multiplies."""
    scene = tile()
    found = height_map(stored(scene, np.uint16), size="2m", smooth=smooth)
    pixel = 2 / 128
    np.testing.assert_allclose(found.height, -pixel * scene.depth, atol=2e-4 * pixel * np.ptp(scene.depth))
    np.testing.assert_allclose(found.low + found.range * found.levels, found.height, atol=1e-12)
    assert (found.levels.min(), found.levels.max()) == (0, 1)
    np.testing.assert_allclose((found.levels - found.mid_level) * found.range, found.height, atol=1e-12)
    double = height_map(stored(scene, np.uint16), size="2m", smooth=smooth, strength=-2.5)
    np.testing.assert_allclose(double.height, -2.5 * found.height, atol=1e-12)


@pytest.mark.parametrize("smooth", [False, True])
def test_pixels_that_are_not_square(smooth):
    """With both sides given, slopes are by length: a texture twice as high has the heights of its true shape."""
    v, u = np.mgrid[:64, :64] * 2 * np.pi / 64
    across, down = -0.3 * np.sin(u + v) * 64, -0.3 * np.sin(u + v) * 32  # slopes of 0.6/2π·cos on 1 m × 2 m
    normals = np.stack([-across / 64, down / 64, np.ones(u.shape)], axis=-1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    found = height_map(normals, size="1m x 2m", green="opengl", tile="both", smooth=smooth)
    expected = 0.3 * np.cos(u + v) / (2 * np.pi)
    np.testing.assert_allclose(found.height, expected, atol=1e-6)


def test_a_net_slope_is_told():
    """It is removed from a tile and reported as height by length, to the right and upwards, by both ways alike."""
    scene = tile()
    normals = scene.normals / -scene.normals[..., 2:] + [0.05, 0.02, 0]
    normals = normals / np.linalg.norm(normals, axis=-1, keepdims=True) * OPENGL
    for smooth in (False, True):
        found = height_map(normals, tile="both", smooth=smooth)
        assert found.slope == pytest.approx((-0.05, 0.02), abs=1e-9)
        assert any("slope was removed" in text for text in found.warnings)
        np.testing.assert_allclose(found.height, -scene.depth, atol=1e-6)
        kept = height_map(normals, tile="both", smooth=smooth, slope="keep")
        np.testing.assert_allclose(np.diff((kept.height - found.height)[0]), -0.05, atol=1e-9)


def test_two_channels():
    """z from x and y: in two channels, with a constant blue channel, or with x in alpha."""
    image = stored(tile(), np.uint16)
    whole = height_map(image).height
    blue, swapped = image.copy(), np.full((*image.shape[:2], 4), 65535, dtype=np.uint16)
    blue[..., 2] = 65535
    swapped[..., 1], swapped[..., 3] = image[..., 1], image[..., 0]
    for given in (image[..., :2], blue, swapped):
        np.testing.assert_allclose(height_map(given).height, whole, atol=1e-3 * np.ptp(whole))


def test_flat_parts_of_8_bit_maps_are_flat():
    """128 is zero where it is the most frequent value: no slope builds up over a map that does not tile."""
    image = np.full((64, 64, 3), (128, 128, 255), dtype=np.uint8)
    image[30:34, 30:32, 0], image[30:34, 32:34, 0] = 160, 96  # a small groove
    found = height_map(image, tile="no", smooth=True)
    assert abs(found.height[5, 5] - found.height[5, 58]) < 0.02  # a slope of 1/255 would make it 0.2


@pytest.mark.parametrize("suffix", [".png", ".exr", ".tiff", ".npy"])
def test_files_hold_the_values_and_what_they_mean(tmp_path, suffix):
    """Values 0 … 1 to the precision of the format; unit, range, mid-level and size as JSON; resolution."""
    found = height_map(stored(tile()), size="50cm")
    path = tmp_path / f"h{suffix}"
    found.save(path)
    values = qio.read_arrays(path)[""]
    scale = 65535 if suffix == ".png" else 1
    np.testing.assert_allclose(values / scale, found.levels, atol=0.6 / 65535)
    if suffix == ".npy":
        return
    if suffix == ".png":
        texts = png_texts(path)
        assert values.dtype == np.uint16
        assert texts["pHYs"] == (256, 256, 1)
        text = texts["height"]
    elif suffix == ".exr":
        data = path.read_bytes()
        start = data.index(b"height\0string\0") + len(b"height\0string\0")
        text = data[start + 4 : start + 4 + struct.unpack("<I", data[start : start + 4])[0]].decode()
        assert values.dtype == np.float32
    else:
        import tifffile

        with tifffile.TiffFile(path) as file:
            text = file.pages[0].description
            assert file.pages[0].tags["XResolution"].value[0] / file.pages[0].tags["XResolution"].value[
                1
            ] == pytest.approx(2.56)
    facts = json.loads(text)
    assert facts["unit"] == "cm"
    assert facts["width"] == 50
    assert facts["range"] == pytest.approx(found.range)
    assert facts["mid_level"] == pytest.approx(found.mid_level)


def test_heights_themselves_in_a_file(tmp_path):
    """values="height" writes them in their unit, which a PNG cannot."""
    found = height_map(stored(tile()), size="2m")
    found.save(tmp_path / "h.exr", values="height")
    np.testing.assert_allclose(qio.read_arrays(tmp_path / "h.exr")[""], found.height, atol=1e-6)
    with pytest.raises(OSError, match="PNG"):
        found.save(tmp_path / "h.png", values="height")
    with pytest.raises(OSError, match="suffix"):
        found.save(tmp_path / "h.docx")


def test_sizes():
    """Lengths with units; one is the width; numbers are metres."""
    assert Size.from_text(2, (10, 20)) == Size(2.0, 1.0, "m")
    assert Size.from_text((2, 3), (10, 20)) == Size(2.0, 3.0, "m")
    assert Size.from_text("10cm × 200 mm", (10, 20)) == Size(10.0, 20.0, "cm")
    assert Size.from_text(None, (10, 20)) == Size(20.0, 10.0, "px")
    assert Size(2.0, 2.0, "m").text(0.0021) == "2.1 mm"
    for wrong in ("", "2 yards", "-1m", "1m x 2m x 3m", "0"):
        with pytest.raises(ValueError, match="size="):
            Size.from_text(wrong, (10, 20))


def test_ambient_occlusion():
    """1 on a plane and on a top, less in a groove, 0 … 1; the same wherever a tile begins."""
    height = np.zeros((40, 60))
    height[:, 20:30] = -8.0
    light = ambient_occlusion(height, wrap=(True, True), radius=12)
    assert light[:, 40].min() == 1
    assert 0 < light[20, 25] < 0.8
    assert (light >= 0).all()
    assert (light <= 1).all()
    moved = ambient_occlusion(np.roll(height, (7, 33), (0, 1)), wrap=(True, True), radius=12)
    np.testing.assert_allclose(moved, np.roll(light, (7, 33), (0, 1)), atol=1e-6)
    assert ambient_occlusion(height, (100.0, 100.0), radius=12)[20, 25] > light[20, 25]


def test_curvature():
    """½ on a slope, brighter on a ridge, darker in a groove."""
    u = np.arange(64)
    height = np.tile(np.abs(u - 32) * 1.0, (16, 1))
    seen = curvature(height)
    assert seen[8, 32] < 0.3
    assert curvature(-height)[8, 32] > 0.7
    np.testing.assert_allclose(seen[:, 5:20], 0.5, atol=1e-6)


def test_normal_maps_are_told_from_other_images():
    """By their values: colours, grey images and noise are none."""
    assert is_normal_map(stored(tile()))
    random = np.random.default_rng(0)
    assert not is_normal_map(random.integers(0, 255, (32, 32, 3)).astype(np.uint8))
    assert not is_normal_map(np.full((32, 32, 3), 128, dtype=np.uint8))
    assert not is_normal_map(np.zeros((32, 32), dtype=np.uint8))


def test_the_command(tmp_path, capsys):
    """One file: the named output and its companions, what was understood on the terminal."""
    qio.write_image(tmp_path / "wall_normal.png", stored(tile(), green=-1))
    words = ["height", tmp_path / "wall_normal.png", "-o", tmp_path / "wall.exr", "--size", "2m", "--ao", "--curvature"]
    assert main([str(word) for word in words]) == 0
    said = capsys.readouterr().out
    assert "green directx" in said
    assert "tiles: both" in said
    assert "mid-level" in said
    assert sorted(file.name for file in tmp_path.glob("*.exr")) == ["wall.exr", "wall_ao.exr", "wall_curvature.exr"]


def test_a_folder_of_textures(tmp_path, capsys):
    """Normal maps are found among other images, in folders below, too; a damaged file does not stop the others."""
    folder = tmp_path / "textures"
    (folder / "deep").mkdir(parents=True)
    qio.write_image(folder / "a_normal.png", stored(tile()))
    qio.write_image(folder / "deep" / "b_normal.png", stored(tile("fractal")))
    qio.write_image(folder / "a_colour.png", np.random.default_rng(0).integers(0, 255, (32, 32, 3)).astype(np.uint8))
    out = tmp_path / "out"
    command = ["height", str(folder), "-o", str(out), "--format", "tiff", "--smooth", "--json"]
    assert main(command) == 0
    records = json.loads(capsys.readouterr().out)
    assert [record["status"] for record in records] == ["ok", "ok"]
    assert (out / "a_normal_height.tiff").is_file()
    assert (out / "deep" / "b_normal_height.tiff").is_file()
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert main(command) == 1
    assert [record["status"] for record in json.loads(capsys.readouterr().out)] == ["ok", "failed", "ok"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--size", "big"], "--size"),
        (["--values", "height"], "--values"),
        (["--ao-radius", "3"], "--ao-radius"),
        (["--strength", "0"], "--strength"),
        (["--tile", "maybe"], "--tile"),
    ],
)
def test_wrong_options(words, says, tmp_path, capsys):
    """They are told in one line before any work."""
    qio.write_image(tmp_path / "n.png", stored(tile(shape=(16, 16))))
    assert main(["height", str(tmp_path / "n.png"), *words]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("given", [{"green": "blue"}, {"tile": "maybe"}, {"strength": 0}, {"slope": "up"}])
def test_wrong_arguments(given):
    """The error names the argument."""
    with pytest.raises(ValueError, match=next(iter(given))):
        height_map(stored(tile(shape=(16, 16))), **given)
    with pytest.raises(ValueError, match="angle"):
        height_map(stored(tile(shape=(16, 16))), smooth=True, angle=3)


def test_panorama_and_wrap_on_the_command_line(tmp_path, capsys):
    """`integrate --wrap both` and `--panorama` reach the graph."""
    from quotientgraph import RayMap

    qio.write_image(tmp_path / "tile.png", stored(tile(shape=(48, 48)), np.uint16))
    command = [
        "integrate",
        str(tmp_path / "tile.png"),
        "--frame",
        "opengl",
        "--wrap",
        "both",
        "-o",
        str(tmp_path / "o"),
    ]
    assert main([*command, "--format", "npy", "--mesh", "none"]) == 0
    depth = qio.read_depth(tmp_path / "o" / "depth.npy")
    scene = tile(shape=(48, 48))
    assert np.std(depth - scene.depth) < 1e-3 * np.ptp(scene.depth)
    shape = (32, 64)
    room = scenes.make("room", shape, RayMap.equirectangular(shape))
    np.save(tmp_path / "pano.npy", room.normals)
    command = ["integrate", str(tmp_path / "pano.npy"), "--panorama", "--frame", "opencv", "-o", str(tmp_path / "p")]
    assert main([*command, "--format", "npy", "--mesh", "none"]) == 0
    assert "distance" in capsys.readouterr().out
    ratio = qio.read_depth(tmp_path / "p" / "depth.npy") / room.depth
    assert np.median(np.abs(ratio / np.median(ratio) - 1)) < 0.02


@pytest.mark.parametrize(
    ("hidden", "across"), [(np.s_[:, 3:6], True), (np.s_[2:9], True), (np.s_[:, 0], False), (np.s_[:, 1:], False)]
)
def test_lines_without_a_normal_give_no_foreign_warning(hidden, across):
    """Whole rows or columns without normals; where the seam cannot be seen, nothing says that the map tiles."""
    normals = np.tile([0.0, 0.0, 1.0], (12, 14, 1))
    normals[..., 0] = 0.3 * np.cos(2 * np.pi * np.arange(14) / 14)
    normals[hidden] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        word, _ = detect_tile(normals)
    assert (word in ("x", "both")) == across
