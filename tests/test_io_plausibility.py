"""Statements that the normals contradict are noticed, and correct statements never are."""

import imagecodecs
import numpy as np
import pytest

import quotientgraph.io as qio
from quotientgraph import scenes
from quotientgraph.geometry.camera import Orthographic, Pinhole
from quotientgraph.geometry.normals import FRAMES


def in_frame(opencv, frame):
    return opencv @ qio.frame_axes(frame)


@pytest.mark.parametrize("noise", [0, 5])
@pytest.mark.parametrize("camera", ["perspective", "orthographic"])
@pytest.mark.parametrize("name", scenes.names())
def test_what_is_right_gives_no_warning(name, camera, noise):
    scene = scenes.make(name, shape=(72, 96), camera=camera)
    scene = scene.with_noise(noise) if noise else scene
    for frame in FRAMES:
        assert qio.check_conventions(in_frame(scene.normals, frame), scene.mask, scene.camera, frame) == []


@pytest.mark.parametrize("quality", [60, 90])
@pytest.mark.parametrize("name", ["sphere", "torus", "tube", "islands", "room"])
def test_what_jpeg_does_to_normals_is_no_contradiction(tmp_path, name, quality):
    """It mixes normals with the black of the background, which is what marks the background here."""
    scene = scenes.make(name, shape=(144, 192))
    for frame in FRAMES:
        values = np.where(scene.mask[..., None], (in_frame(np.nan_to_num(scene.normals), frame) + 1) * 127.5, 0)
        path = tmp_path / "a.jpg"
        path.write_bytes(imagecodecs.jpeg8_encode(np.rint(values).astype(np.uint8), level=quality))
        found = qio.read_normals(path)
        seen = np.isfinite(found.normals).all(axis=-1)
        assert (seen & scene.mask).sum() > 0.8 * scene.mask.sum()
        assert (seen & ~scene.mask).sum() < 0.05 * scene.mask.sum()
        assert qio.check_conventions(found.normals, found.mask, scene.camera, frame) == []
        assert qio.detect_frame(found.normals, found.mask, scene.camera).frame in (frame, None)


@pytest.mark.parametrize("stated", FRAMES)
@pytest.mark.parametrize("true", FRAMES)
@pytest.mark.parametrize("name", ["sphere", "torus", "tube", "islands"])
def test_a_wrong_frame_is_named_with_the_right_one(name, true, stated):
    scene = scenes.make(name, shape=(72, 96)).with_noise(1)
    found = qio.check_conventions(in_frame(scene.normals, true), scene.mask, scene.camera, stated)
    if stated == true:
        assert found == []
    else:
        (text,) = found
        assert f"contradict the frame {stated}" in text
        assert f"in {true}" in text or f"or {true}" in text
        assert "\n" not in text


@pytest.mark.parametrize("name", ["bear", "buddha", "cat", "goblet", "harvest"])
def test_a_wrong_frame_of_an_object_with_fine_structure(data_dir, name):
    """Two of them were looked at too coarsely for their folds, and any frame was accepted."""
    found = qio.read_normals(data_dir / "diligent" / name)
    for stated in FRAMES:
        texts = qio.check_conventions(found.normals, found.mask, found.camera, stated)
        assert bool(texts) == (stated != "opengl")
        assert all("opengl, which fits better" in text for text in texts)


def test_a_frame_by_its_directions():
    scene = scenes.make("sphere", shape=(72, 96))
    normals = in_frame(scene.normals, "up,right,viewer")
    assert qio.check_conventions(normals, scene.mask, scene.camera, "up,right,viewer") == []
    normals = in_frame(scene.normals, "opengl")
    (text,) = qio.check_conventions(normals, scene.mask, scene.camera, "up,left,viewer")
    assert "contradict the frame up,left,viewer" in text


def test_a_perspective_view_read_as_orthographic():
    scene = scenes.make("stairs", shape=(72, 96))
    (text,) = qio.check_conventions(scene.normals, scene.mask, None, "opencv")
    assert "contradict the orthographic camera" in text
    assert "perspective camera" in text


@pytest.mark.parametrize("degrees", [50, 70, 100])
def test_no_field_of_view_is_stated_that_is_not_known(degrees):
    """Several fields of view leave no pixel facing away, so none of them is named."""
    scene = scenes.make("stairs", shape=(96, 120), fov=degrees)
    (text,) = qio.check_conventions(scene.normals, scene.mask, None, "opencv")
    assert "perspective camera, of a field of view that this does not tell" in text
    assert "35°" not in text


def test_an_orthographic_view_read_as_perspective():
    scene = scenes.make("sphere", shape=(72, 96), camera="orthographic")
    (text,) = qio.check_conventions(scene.normals, scene.mask, Pinhole.from_fov(60, scene.shape), "opencv")
    assert "contradict the perspective of the camera" in text
    assert "orthographic camera" in text
    assert qio.check_conventions(scene.normals, scene.mask, Orthographic(), "opencv") == []


@pytest.mark.parametrize("name", ["room", "stairs", "torus"])
def test_world_coordinates(name):
    """A camera that looks 60° down, and normals that were not rotated into it."""
    scene = scenes.make(name, shape=(72, 96))
    c, s = np.cos(np.radians(60)), np.sin(np.radians(60))
    world = in_frame(scene.normals, "opengl") @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    (text,) = qio.check_conventions(world, scene.mask, scene.camera, "opengl")
    assert "world coordinates" in text


def test_a_row_first_matrix():
    scene = scenes.make("sphere", shape=(60, 96))
    fx, fy, cx, cy = (getattr(scene.camera, key) for key in ("fx", "fy", "cx", "cy"))
    texts = qio.check_conventions(scene.normals, scene.mask, Pinhole(fy, fx, cy, cx), "opencv")
    assert any("rows come first" in text for text in texts)


def test_too_little_to_judge():
    assert qio.check_conventions(np.full((3, 3, 3), np.nan)) == []
    assert qio.check_conventions(np.ones((1, 40, 3))) == []
    assert qio.check_conventions(np.zeros((9, 9, 3)), np.zeros((9, 9), dtype=bool)) == []
