"""The orientation that picture files state: normal maps are never turned in silence, masks follow their map."""

import struct

import numpy as np
import pytest

import quotientgraph.io as qio
from quotientgraph import integrate

Image = pytest.importorskip("PIL.Image")
ImageOps = pytest.importorskip("PIL.ImageOps")
SUFFIXES = [".jpg", ".png", ".webp", ".tiff"]


def save(path, image, orientation):
    if path.suffix == ".tiff":
        Image.fromarray(image).save(path, tiffinfo={274: orientation})
        return
    exif = Image.Exif()
    exif[274] = orientation
    options = {"lossless": True} if path.suffix == ".webp" else {}
    Image.fromarray(image).save(path, exif=exif, **options)


def normal_map(shape=(24, 40)):
    rows, columns = np.indices(shape)
    n = np.stack([0.3 * np.sin(columns / 5), 0.3 * np.cos(rows / 4), np.ones(shape)], axis=-1)
    return np.rint((n / np.linalg.norm(n, axis=-1, keepdims=True) + 1) * 127.5).astype(np.uint8)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("orientation", range(1, 9))
def test_what_is_stated_is_found_and_applied_as_pillow_does(tmp_path, suffix, orientation):
    path = tmp_path / f"a{suffix}"
    image = np.random.default_rng(0).integers(0, 255, (5, 8, 3), dtype=np.uint8)
    save(path, image, orientation)
    assert qio.stated_orientation(path) == orientation
    stored = next(iter(qio.read_arrays(path).values()))
    with Image.open(path) as opened:
        np.testing.assert_array_equal(qio.oriented(stored, orientation), np.asarray(ImageOps.exif_transpose(opened)))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_normal_map_is_not_turned_and_that_is_a_warning(tmp_path, suffix):
    path = tmp_path / f"normals{suffix}"
    save(path, normal_map(), 6)
    found = qio.read_normals(path)
    assert found.normals.shape == (24, 40, 3)
    (warning,) = (text for text in found.warnings if "orientation" in text or "shown" in text)
    assert warning.startswith(
        f"{path.name}: states that it is to be shown turned by 90° clockwise, which was not applied"
    )
    assert warning in integrate(path).warnings
    save(path, normal_map(), 1)
    assert not qio.read_normals(path).warnings


def test_an_opened_picture_says_the_same():
    picture = Image.fromarray(normal_map())
    picture.getexif()[274] = 3
    assert any("turned by 180°" in text for text in integrate(picture).warnings)


@pytest.mark.parametrize("way", ["path", "picture", "beside"])
def test_a_mask_is_turned_as_its_map_is(tmp_path, way):
    """A mask of 40×24 that is to be turned belongs to a map of 24×40; one that fits both ways is used as it is stored."""
    mask = np.zeros((24, 40), dtype=np.uint8)
    mask[3:20, 5:30] = 255
    qio.write_image(tmp_path / "normals.png", normal_map())
    path = tmp_path / ("mask.png" if way == "beside" else "other.png")

    def used(stored, orientation):
        save(path, np.ascontiguousarray(stored), orientation)
        if way == "beside":
            result = integrate(tmp_path / "normals.png")
        elif way == "path":
            result = integrate(tmp_path / "normals.png", path)
        else:
            with Image.open(path) as picture:
                result = integrate(tmp_path / "normals.png", picture)
        return np.isfinite(result.depth), [text for text in result.warnings if "shown" in text]

    valid, warnings = used(np.rot90(mask), 6)
    np.testing.assert_array_equal(valid, mask > 0)
    assert warnings == []
    valid, warnings = used(mask, 3)
    np.testing.assert_array_equal(valid, mask > 0)
    assert len(warnings) == 1
    assert "turned by 180°, which was not applied" in warnings[0]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_files_state_nothing_and_raise_nothing(tmp_path, suffix):
    """Whatever is in a file, looking for its orientation ends, and returns one of the eight."""
    path = tmp_path / f"a{suffix}"
    save(path, normal_map(), 8)
    good = path.read_bytes()
    random = np.random.default_rng(1)
    for _ in range(300):
        data = bytearray(good[: random.integers(1, len(good) + 1)])
        for _ in range(random.integers(0, 6)):
            data[random.integers(min(len(data), 200))] = random.integers(256)
        path.write_bytes(data)
        assert qio.stated_orientation(path) in range(1, 9)


def test_a_directory_far_behind_in_a_tiff_file(tmp_path):
    """The directory may stand after the pixels, in either order of bytes."""
    for order, magic in (("<", b"II*\0"), (">", b"MM\0*")):
        entry = struct.pack(order + "HHIHH", 274, 3, 1, 5, 0)
        data = magic + struct.pack(order + "I", 300_000) + bytes(300_000 - 8) + struct.pack(order + "H", 1) + entry
        (tmp_path / "a.tiff").write_bytes(data)
        assert qio.stated_orientation(tmp_path / "a.tiff") == 5
