"""What a user names: files and folders, and what is understood of them."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

import quotientgraph.io as qio
from quotientgraph.geometry.camera import Orthographic, Pinhole, RayMap

DATA = Path(os.environ.get("QUOTIENTGRAPH_DATA", Path(__file__).parents[2] / "shared" / "data"))
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
    np.testing.assert_array_equal(found.normals, n)


def test_floats_in_the_unit_interval(tmp_path):
    """Decoded when that makes unit vectors of them; a flat map (0, 0, 1) is left alone."""
    n = unit()
    np.save(tmp_path / "a.npy", (n + 1) / 2)
    found = qio.read_normals(tmp_path / "a.npy")
    np.testing.assert_allclose(found.normals, n, atol=1e-12)
    assert has(found.notes, "[0, 1]")
    flat = np.zeros((4, 5, 3))
    flat[..., 2] = 1
    np.save(tmp_path / "b.npy", flat)
    np.testing.assert_array_equal(qio.read_normals(tmp_path / "b.npy").normals, flat)


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
    "four.json": json.dumps({"fx": 500, "fy": 510, "cx": 4, "cy": 2.5, "width": 9}),
    "rows.txt": "510 0 2.5\n0 500 4\n0 0 1",
    "transposed.txt": "500 0 0\n0 510 0\n4 2.5 1",
}


@pytest.mark.parametrize("name", CAMERAS)
def test_camera_files(tmp_path, name):
    (tmp_path / name).write_text(CAMERAS[name])
    camera, notes = qio.read_camera(tmp_path / name, (H, W))
    assert camera == Pinhole(500, 510, 4, 2.5)
    assert bool(notes) == (name in ("rows.txt", "transposed.txt"))


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
