"""Readers and writers by suffix: exact round trips, and one-line errors for whatever is not right."""

import io
import pickle
import struct
import zipfile
import zlib

import imagecodecs
import numpy as np
import pytest
import tifffile
from scipy.io import savemat

import quotientgraph.io as qio
from quotientgraph.io.formats import _READERS

SHAPES = [(1, 1), (1, 9), (9, 1), (3, 5), (17, 33)]
FLOAT = [".npy", ".npz", ".mat", ".tiff", ".tif", ".exr"]


def values(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def only(path):
    (array,) = qio.read_arrays(path).values()
    return array


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("suffix", FLOAT)
@pytest.mark.parametrize("channels", [(), (3,)])
def test_float_round_trip_is_exact_and_keeps_nan(tmp_path, suffix, shape, channels):
    array = values(shape + channels)
    array.flat[0] = np.nan
    array.flat[-1] = np.inf if array.size > 1 else np.nan
    qio.write_image(tmp_path / f"a{suffix}", array)
    back = only(tmp_path / f"a{suffix}")
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back.reshape(array.shape), array)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [(), (2,), (3,), (4,)])
def test_png_round_trip_is_exact(tmp_path, shape, kind, channels):
    array = np.random.default_rng(1).integers(0, np.iinfo(kind).max + 1, shape + channels).astype(kind)
    qio.write_image(tmp_path / "a.png", array)
    back = only(tmp_path / "a.png")
    assert back.dtype == kind
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int32, np.float64])
def test_tiff_reads_other_types_and_planes(tmp_path, kind):
    array = (values((4, 5, 3)) * 50).astype(kind)
    tifffile.imwrite(tmp_path / "a.tif", array, photometric="rgb")
    np.testing.assert_array_equal(only(tmp_path / "a.tif"), array)


def test_exr_layers_and_half_floats(tmp_path):
    import OpenEXR

    z = values((3, 5)).astype(np.float16)
    names = ("ViewLayer.Normal.X", "ViewLayer.Normal.Y", "ViewLayer.Normal.Z", "ViewLayer.Depth.V")
    planes = {name: (z * (i + 1)).astype(np.float16) for i, name in enumerate(names)}
    OpenEXR.File({"type": OpenEXR.scanlineimage}, dict(planes)).write(str(tmp_path / "a.exr"))
    back = only(tmp_path / "a.exr")
    assert back.shape == (3, 5, 3)
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back[..., 1], planes[names[1]])


def test_plug_in_adds_a_suffix(tmp_path):
    @qio.reader(".demo")
    def read_demo(path):
        return np.full((2, 2), float(path.read_text()))

    try:
        (tmp_path / "a.demo").write_text("3")
        assert only(tmp_path / "a.demo").sum() == 12
        (tmp_path / "a.demo").write_text("three")
        with pytest.raises(qio.InputError, match="not a readable DEMO file"):
            qio.read_arrays(tmp_path / "a.demo")
    finally:
        _READERS.pop(".demo")


def png_with_header(width, height):
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"0" * 99)) + chunk(b"IEND", b"")


def saved(save, *args, **kwargs):
    file = io.BytesIO()
    save(file, *args, **kwargs)
    return file.getvalue()


def bomb():
    """An archive whose only array claims, and would expand to, eight gigabytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("normals.npy", npy_of_shape((2**30,)) + b"\0" * 2**20)
    return file.getvalue()


def npy_of_shape(shape):
    return saved(np.lib.format.write_array_header_1_0, {"descr": "<f4", "fortran_order": False, "shape": shape})


GOOD_PNG = imagecodecs.png_encode(np.arange(3000, dtype=np.uint16).reshape(20, 50, 3))
BAD_FILES = {
    "empty.png": (b"", "empty"),
    "text.png": (b"this is a text file, not a picture\n" * 9, "holds text"),
    "jpeg.png": (b"\xff\xd8\xff\xe0" + b"\0" * 200, "another format"),
    "cut.png": (GOOD_PNG[:-40], "cut off"),
    "flipped.png": (GOOD_PNG[:60] + bytes([GOOD_PNG[60] ^ 1]) + GOOD_PNG[61:], "checksum"),
    "absurd.png": (png_with_header(2**30, 2**30), "limit"),
    "large.png": (png_with_header(20000, 20000), "damaged or cut"),
    "lying.png": (png_with_header(40, 40), "not a readable PNG"),
    "pickle.npy": (saved(np.save, np.array([{}], dtype=object), allow_pickle=True), "pickled"),
    "pickle.npz": (saved(np.savez, np.array([{}], dtype=object)), "pickled"),
    "raw.npy": (pickle.dumps([1, 2, 3]), "not a readable NPY"),
    "cut.npy": (saved(np.save, values((9, 9, 3)))[:-5], "cut off"),
    "complex.npy": (saved(np.save, np.ones((2, 2), dtype=complex)), "real numbers"),
    "absurd.npy": (npy_of_shape((2**40, 3)), "limit"),
    "negative.npy": (npy_of_shape((-5, 3)), "limit"),
    "bomb.npz": (bomb(), "limit|damaged"),
    "none.npz": (saved(np.savez), "no array|not a readable"),
    "text.npz": (b"PK but not really", "not a readable NPZ"),
    "text.mat": (b"MATLAB? no. " * 40, "not a readable MAT"),
    "v73.mat": (b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(128) + b"\x89HDF", "-v7"),
    "text.tiff": (b"II*\0 no tags here", "not a readable TIFF"),
    "text.exr": (b"v/1 nothing", "not an OpenEXR"),
    "cut.exr": (b"v/1\x01\x02\0\0\0channels\0chlist\0\xff\0\0\0", "cut off"),
    "void.npy": (npy_of_shape((0, 5, 3)), "empty"),
    "file.jpg": (b"123", "suffix '.jpg' is not known"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_give_one_line_that_names_them(tmp_path, name):
    content, words = BAD_FILES[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(qio.InputError, match=words) as caught:
        qio.read_arrays(tmp_path / name)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_absent_folder_and_no_numbers(tmp_path):
    with pytest.raises(qio.InputError, match="no such file"):
        qio.read_arrays(tmp_path / "absent.npy")
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(qio.InputError, match="folder"):
        qio.read_arrays(tmp_path / "folder.npy")
    savemat(tmp_path / "s.mat", {"text": "abc"})
    with pytest.raises(qio.InputError, match="no numeric variable"):
        qio.read_arrays(tmp_path / "s.mat")


def test_colour_profile_of_a_png_changes_nothing(tmp_path):
    """A gAMA or broken text chunk neither alters the values nor stops the reader."""
    body = b"gAMA" + struct.pack(">I", 45455)
    gamma = struct.pack(">I", 4) + body + struct.pack(">I", zlib.crc32(body))
    broken = struct.pack(">I", 4) + b"tEXtabcd" + b"\0\0\0\0"
    (tmp_path / "a.png").write_bytes(GOOD_PNG[:33] + gamma + broken + GOOD_PNG[33:])
    np.testing.assert_array_equal(only(tmp_path / "a.png").ravel(), np.arange(3000))
