"""What a user names: files and folders, and what is understood of them."""

import json
import os
from pathlib import Path

import imagecodecs
import numpy as np
import pytest
from scipy.io import savemat

import quotientgraph.io as qio
from quotientgraph.geometry.camera import Orthographic, Pinhole, RayMap

DATA = Path(os.environ.get("QUOTIENTGRAPH_DATA") or Path(__file__).parents[2] / "shared" / "data")
H, W = 6, 9
K = np.array([[500.0, 0, 4.0], [0, 510.0, 2.5], [0, 0, 1]])


def unit(seed=0, shape=(H, W)):
    n = np.random.default_rng(seed).normal(size=(*shape, 3))
    n[..., 2] = np.abs(n[..., 2]) + 0.2
    return n / np.linalg.norm(n, axis=-1, keepdims=True)


def encoded(n, bits):
    top = 2**bits - 1
    return np.rint((n + 1) / 2 * top).astype(np.uint8 if bits == 8 else np.uint16)


def has(notes, word):
    return any(word in note for note in notes)


@pytest.mark.parametrize("bits", [8, 16])
def test_png_decodes_to_its_precision(tmp_path, bits):
    n = unit()
    qio.write_image(tmp_path / "a.png", encoded(n, bits))
    found = qio.read_normals(tmp_path / "a.png")
    assert found.bits == bits
    assert found.normals.dtype == np.float64
    assert np.abs(found.normals - n).max() <= 1.0001 / (2**bits - 1)
    assert found.mask is None
    assert found.camera is None
    assert has(found.notes, "orthographic")


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".mat", ".tiff", ".exr"])
def test_float_files_stay_as_they_are(tmp_path, suffix):
    n = unit().astype(np.float32)
    n[0, 0] = np.nan
    qio.write_image(tmp_path / f"a{suffix}", n)
    found = qio.read_normals(tmp_path / f"a{suffix}")
    assert found.bits == 32
    assert found.precision == "32-bit floats"
    np.testing.assert_array_equal(found.normals, n)


def test_floats_in_the_unit_interval(tmp_path):
    """Decoded when that makes unit vectors of them; a flat map (0, 0, 1) is left alone."""
    n = unit()
    np.save(tmp_path / "a.npy", (n + 1) / 2)
    found = qio.read_normals(tmp_path / "a.npy")
    np.testing.assert_allclose(found.normals, n, atol=1e-12)
    assert has(found.warnings, "[0, 1]")
    flat = np.zeros((4, 5, 3))
    flat[..., 2] = 1
    np.save(tmp_path / "b.npy", flat)
    np.testing.assert_array_equal(qio.read_normals(tmp_path / "b.npy").normals, flat)


@pytest.mark.parametrize("top", [1, 255])
@pytest.mark.parametrize("background", [0.0, 0.5, 1.0])
def test_image_values_as_floats(top, background):
    """`np.array(image) / 255`: decoded, with a warning that says how; the painted background has no normal."""
    n = unit(shape=(20, 20))
    image = (n + 1) / 2
    image[:14] = background  # most of the image
    found = qio.as_normals(image * top)
    np.testing.assert_allclose(found.normals[14:], n[14:], atol=1e-12)
    length = np.nan_to_num(np.linalg.norm(found.normals[:14], axis=-1))
    assert (length < 0.01).all()
    (text,) = found.warnings
    assert f"[0, {top}]" in text
    assert ("2*n - 1" if top == 1 else "2*n/255 - 1") in text


class Tensor:
    """What a PyTorch tensor that requires a gradient looks like from outside."""

    def __init__(self, array, free=False):
        self.array, self.free, self.dtype = array, free, "torch.float32"

    def detach(self):
        return Tensor(self.array, True)

    def cpu(self):
        return self

    def numpy(self):
        if not self.free:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        return self.array

    def __array__(self, dtype=None, copy=None):
        return self.numpy()


class Picture:
    """What an image of PIL looks like from outside."""

    mode, info = "RGB", {}

    def __init__(self, array):
        self.__array_interface__ = array.__array_interface__
        self.array = array

    def getbands(self):
        return ("R", "G", "B")

    def convert(self, mode):
        raise AssertionError


THINGS = {
    "list": (lambda n, path: n.tolist(), 1e-12),
    "float16": (lambda n, path: n.astype(np.float16), 1e-3),
    "longdouble": (lambda n, path: n.astype(np.longdouble), 1e-12),
    "uint8": (lambda n, path: encoded(n, 8), 0.005),
    "uint16": (lambda n, path: encoded(n, 16), 2e-5),
    "tensor": (lambda n, path: Tensor(n.transpose(2, 0, 1)[None]), 1e-12),
    "picture": (lambda n, path: Picture(encoded(n, 8)), 0.005),
    "channels first": (lambda n, path: np.moveaxis(n, -1, 0), 1e-12),
    "batch of one": (lambda n, path: n[None], 1e-12),
    "path": (lambda n, path: path, 2e-5),
    "text": (lambda n, path: str(path), 2e-5),
    "x and y": (lambda n, path: n[..., :2], 1e-9),
    "x and y first": (lambda n, path: n[..., :2].transpose(2, 0, 1), 1e-9),
    "unused blue": (lambda n, path: np.dstack([encoded(n, 16)[..., :2], np.zeros((H, W), np.uint16)]), 1e-3),
}


@pytest.mark.parametrize("kind", THINGS)
def test_whatever_holds_normals(tmp_path, kind):
    make, tolerance = THINGS[kind]
    n = unit(3)
    qio.write_image(tmp_path / "a.png", encoded(n, 16))
    found = qio.as_normals(make(n, tmp_path / "a.png"), "opengl")
    assert found.normals.dtype in (np.float32, np.float64)
    np.testing.assert_allclose(found.normals, n, atol=tolerance)
    assert found.warnings == ()


def test_two_channels_in_a_frame_whose_z_points_forward():
    n = unit(3) * [1, -1, -1]
    np.testing.assert_allclose(qio.as_normals(n[..., :2], "opencv").normals, n, atol=1e-9)


@pytest.mark.parametrize(
    ("thing", "says"),
    [
        (np.zeros((4, 5, 6, 3)), "batch of 4 normal maps"),
        (np.zeros((4, 5)), "one channel"),
        (np.zeros((4, 5, 3), dtype=complex), "complex128 are not real numbers"),
        (np.zeros((4, 5, 3), dtype=np.int64), "int64 are not understood"),
        ([[1, 2], [3]], "cannot be made a NumPy array"),
        ("no/such/file.png", "no such file"),
        (None, "object are not real numbers"),
        (np.zeros((0, 5, 3)), "empty"),
    ],
)
def test_what_holds_no_normals(thing, says):
    with pytest.raises(qio.InputError, match=says) as caught:
        qio.as_normals(thing)
    assert "\n" not in str(caught.value)


def test_masks_of_every_kind(tmp_path):
    mask = np.arange(W) > 2 * np.ones((H, 1))
    grey = (mask * 200).astype(np.uint8)
    qio.write_image(tmp_path / "m.png", grey)
    for thing in (
        mask,
        grey,
        mask.astype(float),
        tmp_path / "m.png",
        Picture(grey),
        Tensor(mask[None]),
        mask[..., None],
    ):
        np.testing.assert_array_equal(qio.as_mask(thing, (H, W)), mask)
    assert qio.as_mask(None, (H, W)) is None
    with pytest.raises(qio.InputError, match="differs from the normals"):
        qio.as_mask(mask.T, (H, W))


def disc(size=(96, 128), radius=30):
    row, column = np.indices(size)
    return (row - size[0] / 2) ** 2 + (column - size[1] / 2) ** 2 < radius**2


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int64, np.float32])
def test_a_picture_of_a_mask_means_the_same_as_an_array(tmp_path, kind):
    """Compression leaves dim pixels around a mask; they are outside, whoever reads the file."""
    mask = disc()
    data = imagecodecs.jpeg8_encode(np.uint8(255 * mask), level=60)
    (tmp_path / "m.jpg").write_bytes(data)
    array = imagecodecs.jpeg8_decode(data)
    assert np.count_nonzero(array) > 1.1 * mask.sum()
    scale = 257 if kind == np.uint16 else 1
    found = qio.as_mask(array.astype(kind) * kind(scale), mask.shape)
    np.testing.assert_array_equal(found, qio.as_mask(tmp_path / "m.jpg", mask.shape))
    assert abs(int(found.sum()) - int(mask.sum())) < 0.01 * mask.sum()


def test_numbers_of_a_mask_that_are_no_grey_values():
    """Truth values of any size, labels and depths select all pixels but those of 0."""
    mask, rng = disc(), np.random.default_rng(0)
    labels = rng.integers(1, 256, mask.shape)
    for values in (
        1,
        255,
        3,
        200,
        rng.integers(1, 9, mask.shape),
        labels,
        np.where(labels < 20, 255, 1),
        1 + 200 * labels,
    ):
        for kind in (np.uint8, np.uint16, np.int32, np.float64):
            if np.max(values) <= np.iinfo(np.uint8).max or kind != np.uint8:
                array = np.where(mask, values, 0).astype(kind)
                np.testing.assert_array_equal(qio.as_mask(array, mask.shape), array != 0)


def test_negative_values_of_a_mask_are_noted():
    mask = disc()
    for array in (np.where(mask, 1, -1), np.where(mask, 3.0, -2.0)):
        found, warnings = qio.understand_mask(array, mask.shape)
        assert found.all()
        assert has(warnings, "mask: 77% of its values are negative")
    assert not qio.understand_mask(mask.astype(int), mask.shape)[1]


def test_a_map_finds_the_mask_and_the_camera_beside_it(tmp_path):
    """For a map of a usual name; another map finds the camera, and its own mask."""
    mask = np.zeros((H, W), dtype=np.uint8)
    mask[1:4, 2:7] = 255
    for name in ("normal_map.png", "bear_normal.png"):
        qio.write_image(tmp_path / name, encoded(unit(), 16))
    qio.write_image(tmp_path / "mask.png", mask)
    np.savetxt(tmp_path / "K.txt", K)
    found = qio.read_normals(tmp_path / "normal_map.png")
    assert (found.mask_from, found.camera_from, found.usual_frame) == ("mask.png", "K.txt", "opengl")
    assert found.mask.sum() == 15
    assert found.camera == Pinhole(500, 510, 4, 2.5)
    other = qio.read_normals(tmp_path / "bear_normal.png")
    assert (other.mask, other.camera_from, other.usual_frame) == (None, "K.txt", None)
    assert has(other.notes, "mask.png beside the map was not used")
    qio.write_image(tmp_path / "bear_mask.png", mask)
    assert qio.read_normals(tmp_path / "bear_normal.png").mask_from == "bear_mask.png"
    alone = qio.read_normals(tmp_path / "normal_map.png", beside=False)
    assert (alone.mask, alone.camera) == (None, None)
    assert qio.read_normals(tmp_path / "normal_map.png", mask=False).mask is None


def test_half_floats_are_called_so(tmp_path):
    np.save(tmp_path / "a.npy", unit().astype(np.float16))
    found = qio.read_normals(tmp_path / "a.npy")
    assert (found.bits, found.dtype, found.precision) == (16, "float16", "16-bit floats")
    assert found.normals.dtype == np.float32


def test_channels_first(tmp_path):
    n = unit()
    for array in (np.moveaxis(n, -1, 0), np.moveaxis(n, -1, 0)[None], n[None]):
        np.save(tmp_path / "a.npy", array)
        found = qio.read_normals(tmp_path / "a.npy")
        np.testing.assert_array_equal(found.normals, n)
        assert has(found.notes, "shape (")


@pytest.mark.parametrize("bits", [8, 16])
def test_painted_background_has_no_normal(tmp_path, bits):
    image = encoded(unit(), bits)
    top = 2**bits - 1
    for column, value in enumerate((0, top // 2, top // 2 + 1, top)):
        image[:, column] = value
    qio.write_image(tmp_path / "a.png", image)
    found = qio.read_normals(tmp_path / "a.png")
    np.testing.assert_array_equal(np.isnan(found.normals).all(axis=-1), np.arange(W) < 4 * np.ones((H, 1)))
    assert has(found.notes, f"{4 * H} pixels")


def test_alpha_is_the_mask_unless_constant(tmp_path):
    image = np.dstack([encoded(unit(), 16), np.full((H, W), 65535, dtype=np.uint16)])
    qio.write_image(tmp_path / "a.png", image)
    assert qio.read_normals(tmp_path / "a.png").mask is None
    image[:, :3, 3] = 0
    qio.write_image(tmp_path / "a.png", image)
    found = qio.read_normals(tmp_path / "a.png")
    np.testing.assert_array_equal(found.mask, np.arange(W) >= 3 * np.ones((H, 1)))
    assert found.normals.shape == (H, W, 3)


def test_archive_with_mask_and_camera(tmp_path):
    mask = np.arange(W) > 2 * np.ones((H, 1))
    np.savez(tmp_path / "a.npz", Normals=unit(), mask=mask, K=K, other=np.ones(3))
    found = qio.read_normals(tmp_path / "a.npz")
    np.testing.assert_array_equal(found.mask, mask)
    assert found.camera == Pinhole(500, 510, 4, 2.5)
    np.savez(tmp_path / "b.npz", a=unit(), b=unit())
    with pytest.raises(qio.InputError, match="among a, b"):
        qio.read_normals(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", weird=unit(), size=np.ones((H, W)))
    np.testing.assert_array_equal(qio.read_normals(tmp_path / "c.npz").normals, unit())


def test_bini_folder(tmp_path):
    mask = np.zeros((H, W), dtype=np.uint8)
    mask[1:4, 2:7] = 255
    qio.write_image(tmp_path / "normal_map.png", encoded(unit(), 16))
    qio.write_image(tmp_path / "mask.png", mask)
    np.savetxt(tmp_path / "K.txt", K)
    np.savez(tmp_path / "depth_gt.npz", depth_gt=np.ones((H, W), dtype=np.float32))
    found = qio.read_normals(tmp_path)
    assert found.mask.sum() == 15
    assert found.camera == Pinhole(500, 510, 4, 2.5)
    assert found.read_truth().sum() == H * W
    assert qio.read_normals(tmp_path, camera=Orthographic()).camera == Orthographic()
    assert qio.read_normals(tmp_path, mask=np.ones((H, W), dtype=bool)).mask.all()


def test_diligent_folder(tmp_path):
    savemat(tmp_path / "Normal_gt.mat", {"Normal_gt": unit()})
    qio.write_image(tmp_path / "Normal_gt.png", encoded(unit(1), 8))
    qio.write_image(tmp_path / "mask.png", np.full((H, W, 3), 1, dtype=np.uint8))
    found = qio.read_normals(tmp_path)
    np.testing.assert_array_equal(found.normals, unit())
    assert found.mask.all()
    assert found.camera is None
    assert found.read_truth() is None


@pytest.mark.usefixtures("data_dir")
@pytest.mark.parametrize("name", ["diligent/bear", "diligent/goblet", "scenes/bedroom", "scenes/wedding_cake"])
def test_shared_folders(name):
    if not (DATA / name).is_dir():
        pytest.skip(f"{DATA / name} is not there; set QUOTIENTGRAPH_DATA to the shared data")
    found = qio.read_normals(DATA / name)
    assert found.bits == (16 if "diligent" in name else 32)
    assert isinstance(found.camera, Pinhole)
    assert found.camera.cx > found.camera.cy
    assert np.isfinite(found.normals[found.mask]).all()
    np.testing.assert_allclose(np.linalg.norm(found.normals[found.mask], axis=-1), 1, atol=1e-3)
    truth = found.read_truth()
    assert truth is None or np.isfinite(truth[found.mask]).mean() > 0.99


MATRIX = "500 0 4\n0 510 2.5\n0 0 1\n"
CAMERAS = {
    "K.txt": MATRIX,
    "comma.txt": "# camera\n[[500, 0, 4],\n [0, 510, 2.5], [0, 0, 1]]",
    "four.txt": "500 510 4 2.5",
    "list.json": json.dumps(K.tolist()),
    "matrix.json": json.dumps({"camera_matrix": K.tolist()}),
    "four.json": json.dumps({"fx": 500, "fy": 510, "cx": 4, "cy": 2.5, "width": 9, "height": 6}),
    "opencv.yaml": "%YAML:1.0\n---\ncamera_matrix: !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n"
    "   data: [ 500., 0., 4., 0.,\n       5.1e+02, 2.5, 0., 0., 1. ]\ndistortion_coefficients: !!opencv-matrix\n"
    "   rows: 1\n   cols: 5\n   dt: d\n   data: [ 0., 0., 0., 0., 0. ]\n",
    "ros.yaml": "image_width: 9\nimage_height: 6\ncamera_name: left\ncamera_matrix:\n  rows: 3\n  cols: 3\n"
    "  data: [500, 0, 4, 0, 510, 2.5, 0, 0, 1]\ndistortion_model: plumb_bob\ndistortion_coefficients:\n  rows: 1\n"
    "  cols: 5\n  data: [0, 0, 0, 0, 0]\nrectification_matrix:\n  data: [1, 0, 0, 0, 1, 0, 0, 0, 1]\n",
    "kalibr.yml": "cam0:\n  camera_model: pinhole\n  intrinsics: [500, 510, 4, 2.5]\n  resolution: [9, 6]\n",
    "plain.yaml": "fx: 500\nfy: 510\ncx: 4\ncy: 2.5\n",
    "nested.yaml": "K: [[500, 0, 4], [0, 510, 2.5], [0, 0, 1]]\n",
    "rows.txt": "510 0 2.5\n0 500 4\n0 0 1",
    "transposed.txt": "500 0 0\n0 510 0\n4 2.5 1",
}


@pytest.mark.parametrize("name", CAMERAS)
def test_camera_files(tmp_path, name):
    (tmp_path / name).write_text(CAMERAS[name])
    camera, notes = qio.read_camera(tmp_path / name, (H, W))
    assert camera == Pinhole(500, 510, 4, 2.5)
    assert bool(notes) == (name in ("rows.txt", "transposed.txt"))


def test_a_camera_for_another_size_is_scaled(tmp_path):
    """Rays through the same points of the image: pixel centres are whole numbers, so half a pixel moves along."""
    (tmp_path / "k.json").write_text(
        json.dumps({"fx": 1000, "fy": 1020, "cx": 8.5, "cy": 5.5, "width": 18, "height": 12})
    )
    camera, notes = qio.read_camera(tmp_path / "k.json", (H, W))
    assert camera == Pinhole(500, 510, 4, 2.5)
    assert has(notes, "scaled by 0.5")


def test_cameras_of_every_kind(tmp_path):
    known = Pinhole(500, 510, 4, 2.5)
    (tmp_path / "K.txt").write_text(MATRIX)
    for thing in (K, K.tolist(), K.T, [500, 510, 4, 2.5], Tensor(K), tmp_path / "K.txt", known):
        camera, warnings = qio.understand_camera(thing, (H, W))
        assert camera == known
        assert bool(warnings) == (thing is not K and getattr(thing, "shape", 0) == (3, 3))
    assert qio.understand_camera(None, (H, W)) == (None, [])
    assert isinstance(qio.understand_camera(known.rays((H, W)), (H, W))[0], RayMap)
    rows = [[510, 0, 2.5], [0, 500, 4], [0, 0, 1]]
    camera, (text,) = qio.understand_camera(rows, (H, W))
    assert camera == known
    assert "row-first" in text
    with pytest.raises(qio.InputError, match="complex128 are not real numbers"):
        qio.understand_camera(K.astype(complex), (H, W))


def test_lens_distortion_is_noted(tmp_path):
    (tmp_path / "k.yaml").write_text("fx: 500\nfy: 510\ncx: 4\ncy: 2.5\ndistortion_coeffs: [0.1, 0, 0, 0]\n")
    assert has(qio.read_camera(tmp_path / "k.yaml", (H, W))[1], "undistort")


@pytest.mark.parametrize("shape", [(480, 640), (640, 480), (512, 612)])
def test_row_first_order_is_recognised_and_reported(tmp_path, shape):
    rows = f"700 0 {shape[0] / 2 + 7}\n0 720 {shape[1] / 2 - 9}\n0 0 1"
    (tmp_path / "K.txt").write_text(rows)
    camera, notes = qio.read_camera(tmp_path / "K.txt", shape)
    assert camera == Pinhole(720, 700, shape[1] / 2 - 9, shape[0] / 2 + 7)
    assert "row-first" in notes[0]


def test_square_images_are_taken_as_opencv(tmp_path):
    (tmp_path / "K.txt").write_text("700 0 240\n0 720 260\n0 0 1")
    assert qio.read_camera(tmp_path / "K.txt", (500, 500))[0] == Pinhole(700, 720, 240, 260)


def test_arrays_as_cameras(tmp_path):
    np.save(tmp_path / "k.npy", K)
    assert qio.read_camera(tmp_path / "k.npy", (H, W))[0] == Pinhole(500, 510, 4, 2.5)
    rays = Pinhole.from_matrix(K).rays((H, W))
    np.save(tmp_path / "rays.npy", rays)
    camera, _ = qio.read_camera(tmp_path / "rays.npy", (H, W))
    assert isinstance(camera, RayMap)
    with pytest.raises(qio.InputError, match="does not fit"):
        qio.read_camera(tmp_path / "rays.npy", (W, H))


BAD_CAMERAS = {
    "two.txt": ("500 500", "2 numbers.*fx fy cx cy"),
    "words.txt": ("focal length 35 mm", "not a camera file"),
    "nan.txt": ("nan 0 4 0 510 2.5 0 0 1", "not finite"),
    "zero.txt": ("0 0 4 0 510 2.5 0 0 1", "positive"),
    "skew.txt": ("500 90 4 0 510 2.5 0 0 1", "skew"),
    "empty.txt": ("", "empty"),
    "none.json": ("{}", "fx"),
    "ragged.json": ("[[1,2],[3]]", "equal rows"),
    "deep.json": ("[" * 100000, "not a camera file"),
    "other.json": ('{"fx": 9, "fy": 9, "cx": 4, "cy": 3, "width": 7, "height": 60}', "image of 7×60.*normals are 9×6"),
    "empty.yaml": ("a: 3", "neither camera_matrix"),
    "strange.xml": ("<K/>", r"'\.xml' is not known for a camera.*\.yaml"),
    "photo.png": ("x", r"'\.png' is not known for a camera.*\.exr .*\.npy .*\.yaml"),
    "bytes.txt": ("\x00\x01", "not a camera file"),
}


@pytest.mark.parametrize("name", BAD_CAMERAS)
def test_bad_camera_files(tmp_path, name):
    text, words = BAD_CAMERAS[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(qio.InputError, match=words) as caught:
        qio.read_camera(tmp_path / name, (H, W))
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_wrong_inputs(tmp_path):
    np.save(tmp_path / "n.npy", unit())
    qio.write_image(tmp_path / "m.png", np.full((W, H), 255, dtype=np.uint8))
    with pytest.raises(qio.InputError, match=r"m\.png.*6×9.*9×6"):
        qio.read_normals(tmp_path / "n.npy", mask=tmp_path / "m.png")
    with pytest.raises(qio.InputError, match="selects no pixel"):
        qio.read_normals(tmp_path / "n.npy", mask=np.zeros((H, W)))
    np.save(tmp_path / "grey.npy", np.ones((H, W)))
    with pytest.raises(qio.InputError, match="one channel"):
        qio.read_normals(tmp_path / "grey.npy")
    np.save(tmp_path / "int.npy", np.ones((H, W, 3), dtype=np.int32))
    with pytest.raises(qio.InputError, match="int32"):
        qio.read_normals(tmp_path / "int.npy")
    (tmp_path / "folder").mkdir()
    with pytest.raises(qio.InputError, match="no normal map in this folder"):
        qio.read_normals(tmp_path / "folder")
    with pytest.raises(qio.InputError, match="no such file"):
        qio.read_normals(tmp_path / "absent.png")
