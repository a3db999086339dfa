"""Readers and writers by suffix: exact round trips, and one-line errors for whatever is not right."""

import contextlib
import io
import logging
import os
import pickle
import struct
import sys
import threading
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor

import imagecodecs
import numpy as np
import pytest
import tifffile
from scipy.io import loadmat, savemat

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
    assert back.dtype == np.float16
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


def archive_of_many():
    """An archive of 3,000 entries, which is more than a normal map ever needs."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(3000):
            archive.writestr(f"a{i}.npy", b"")
    return file.getvalue()


def npy_of_shape(shape):
    return saved(np.lib.format.write_array_header_1_0, {"descr": "<f4", "fortran_order": False, "shape": shape})


GOOD_PNG = imagecodecs.png_encode(np.arange(3000, dtype=np.uint16).reshape(20, 50, 3))
JPEG = imagecodecs.jpeg8_encode(np.random.default_rng(0).integers(0, 256, (64, 48, 3), dtype=np.uint8))
# A smaller picture with an end of its own stands before the picture, as cameras write it.
WITH_PREVIEW = b"\xff\xd8\xff\xe1" + struct.pack(">H", len(JPEG) + 2) + JPEG + JPEG[2:]

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
    "file.gif": (b"123", "suffix '.gif' is not known"),
    "text.jpg": (b"this is no picture", "not a JPEG"),
    "cut.jpg": (b"\xff\xd8\xff\xe0\0\x10", "states no size"),
    "half.jpg": (JPEG[: len(JPEG) // 2], "cut off after"),
    "preview.jpg": (WITH_PREVIEW[:-2], "cut off after"),
    "text.webp": (b"this is no picture" * 3, "not a WebP"),
    "cut.webp": (imagecodecs.webp_encode(np.zeros((9, 9, 3), dtype=np.uint8))[:30], "cut off"),
    "text.bmp": (b"this is no picture" * 9, "not a BMP"),
    "cut.bmp": (imagecodecs.bmp_encode(np.zeros((9, 9, 3), dtype=np.uint8))[:-20], "cut off"),
    "many.npz": (archive_of_many(), "3000 arrays|damaged"),
    "sparse.mat": (saved(savemat, {"a": np.array([1 + 2j])}), "no numeric variable"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_give_one_line_that_names_them(tmp_path, name):
    content, words = BAD_FILES[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(qio.InputError, match=words) as caught:
        qio.read_arrays(tmp_path / name)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("more", [b"", b"\0" * 300, b"\xff\xd8 and a film", b"\xff"])
@pytest.mark.parametrize("kind", ["plain", "preview", "progressive", "restarts"])
def test_a_whole_jpeg_is_read_whatever_follows_it(tmp_path, kind, more):
    """Telephones put films and further pictures behind the end of a JPEG."""
    data = {"plain": JPEG, "preview": WITH_PREVIEW}.get(kind)
    if data is None:
        written = io.BytesIO()
        options = {"progressive": True} if kind == "progressive" else {"restart_marker_blocks": 2}
        image = pytest.importorskip("PIL.Image")
        image.fromarray(imagecodecs.jpeg8_decode(JPEG)).save(written, "JPEG", **options)
        data = written.getvalue()
    (tmp_path / "a.jpg").write_bytes(data + more)
    np.testing.assert_array_equal(only(tmp_path / "a.jpg"), imagecodecs.jpeg8_decode(data))


EXR = ["NO", "RLE", "ZIPS", "ZIP", "PIZ", "PXR24", "B44", "DWAA"]


@pytest.mark.parametrize("compression", EXR)
@pytest.mark.parametrize("kind", [np.float16, np.float32])
@pytest.mark.parametrize("tiled", [False, True])
def test_exr_of_every_compression(tmp_path, compression, kind, tiled):
    """The project's own decoder gives the numbers that the OpenEXR library gives; the library does the rest."""
    import OpenEXR

    ramp = np.add.outer(np.arange(70), np.arange(41)) / 110
    planes = {name: (ramp * (i + 1)).astype(kind) for i, name in enumerate("RGB")}
    header = {"compression": getattr(OpenEXR, f"{compression}_COMPRESSION"), "type": OpenEXR.scanlineimage}
    if tiled:
        header |= {"type": OpenEXR.tiledimage, "tiles": OpenEXR.TileDescription()}
    OpenEXR.File(header, dict(planes)).write(str(tmp_path / "a.exr"))
    with OpenEXR.File(str(tmp_path / "a.exr"), separate_channels=True) as file:
        known = np.stack([file.channels()[name].pixels for name in "RGB"], axis=-1)
    back = only(tmp_path / "a.exr")
    assert back.dtype == kind
    np.testing.assert_array_equal(back, known)


def test_exr_that_is_written_is_what_the_library_reads(tmp_path):
    import OpenEXR

    array = values((37, 29, 4))
    qio.write_image(tmp_path / "a.exr", array)
    with OpenEXR.File(str(tmp_path / "a.exr"), separate_channels=True) as file:
        known = np.stack([file.channels()[name].pixels for name in "RGBA"], axis=-1)
    np.testing.assert_array_equal(known, array)


@pytest.mark.parametrize("suffix", [".exr", ".tiff", ".mat", ".png"])
def test_reading_in_threads_leaves_the_process_alone(tmp_path, suffix):
    """stdout, stderr and the loggers are afterwards what they were, also if files were damaged."""
    array = np.zeros((9, 9, 3), dtype=np.uint16) if suffix == ".png" else values((9, 9, 3))
    qio.write_image(tmp_path / f"a{suffix}", array)
    good = (tmp_path / f"a{suffix}").read_bytes()
    (tmp_path / f"b{suffix}").write_bytes(good[: len(good) // 2])
    before = (sys.stdout, sys.stderr, os.fstat(1), os.fstat(2), logging.getLogger("tifffile").disabled)
    barrier = threading.Barrier(4)

    def read(i):
        barrier.wait()
        for _ in range(20):
            with contextlib.suppress(qio.InputError):
                qio.read_arrays(tmp_path / f"{'ab'[i % 2]}{suffix}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(read, range(4)))
    after = (sys.stdout, sys.stderr, os.fstat(1), os.fstat(2), logging.getLogger("tifffile").disabled)
    assert [getattr(s, "st_ino", s) for s in after] == [getattr(s, "st_ino", s) for s in before]


@pytest.mark.parametrize("suffix", [".jpg", ".jpeg", ".webp", ".bmp"])
def test_photographs(tmp_path, suffix):
    """A smooth picture of 8 bits comes back, to the loss of the format."""
    ramp = np.add.outer(np.arange(40), np.arange(50)).astype(np.uint8)
    image = np.stack([ramp, ramp + 50, 255 - ramp], axis=-1)
    encode = {".bmp": imagecodecs.bmp_encode, ".webp": imagecodecs.webp_encode}.get(suffix, imagecodecs.jpeg8_encode)
    (tmp_path / f"a{suffix}").write_bytes(encode(image))
    back = only(tmp_path / f"a{suffix}")
    assert back.shape == image.shape
    assert back.dtype == np.uint8
    assert np.abs(back.astype(int) - image).max() <= (0 if suffix == ".bmp" else 12)


def test_what_does_not_fit_into_memory_is_refused_with_the_figure(tmp_path, monkeypatch):
    qio.write_image(tmp_path / "a.png", np.zeros((4200, 4200), dtype=np.uint8))
    monkeypatch.setattr("quotientgraph.io.memory.available_memory", lambda: 10**8)
    with pytest.raises(qio.InputError, match=r"needs about 0\.4 GB of memory and 0\.1 GB are free; .* tiles"):
        qio.read_arrays(tmp_path / "a.png")


def test_the_free_memory_is_a_figure():
    from quotientgraph.io.memory import available_memory

    assert 10**6 < available_memory() < 2**63


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.png")
    with pytest.raises(qio.InputError, match="neither a file nor a folder"):
        qio.read_arrays(tmp_path / "a.png")


def test_a_damaged_mat_file_does_not_end_the_process(tmp_path):
    """Every single-bit flip of a small file gives an array or an error."""
    savemat(tmp_path / "a.mat", {"n": values((2, 2, 3)), "k": np.eye(3)})
    good = (tmp_path / "a.mat").read_bytes()
    for bit in range(8 * 124, 8 * len(good), 7):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        (tmp_path / "b.mat").write_bytes(bad)
        with contextlib.suppress(qio.InputError):
            qio.read_arrays(tmp_path / "b.mat")


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("kind", ["f8", "f4", "u1", "u2", "i2", "i4", "u4", "b1"])
def test_mat_files_are_read_as_scipy_reads_them(tmp_path, kind, compressed):
    arrays = {"n": (values((4, 5, 3)) * 50).astype(kind), "row": np.arange(3.0), "text": "abc", "z": np.array([1j])}
    savemat(tmp_path / "a.mat", arrays, do_compression=compressed)
    known, found = loadmat(tmp_path / "a.mat"), qio.read_arrays(tmp_path / "a.mat")
    assert set(found) == {"n", "row"}
    for name, array in found.items():
        np.testing.assert_array_equal(array, known[name])


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
