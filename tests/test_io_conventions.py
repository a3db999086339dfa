"""Frames found from the normals themselves, under all sixteen exchanges and reversals of the axes."""

import os
from pathlib import Path

import numpy as np
import pytest

import quotientgraph.io as qio
from quotientgraph import scenes
from quotientgraph.geometry.camera import Orthographic, Pinhole
from quotientgraph.geometry.normals import FRAMES
from quotientgraph.io.conventions import candidates
from quotientgraph.io.evidence import NormalSample, change_axes

DATA = Path(os.environ.get("QUOTIENTGRAPH_DATA") or Path(__file__).parents[2] / "shared" / "data")
SHARED = ["diligent/" + name for name in ("bear", "buddha", "cat", "goblet", "harvest")]
SHARED += ["scenes/bedroom", "scenes/wedding_cake"]


def shared(name):
    if not (DATA / name).is_dir():
        pytest.skip(f"{DATA / name} is not there; set QUOTIENTGRAPH_DATA to the shared data")
    return qio.read_normals(DATA / name)


def in_frame(opencv, frame):
    return change_axes(opencv, qio.frame_axes(frame).T)


def sphere(size=80, radius=0.45):
    """Normals of a ball in the OpenCV frame and its mask, seen in parallel."""
    v, u = np.mgrid[:size, :size]
    x, y = (u - (size - 1) / 2) / (radius * size), (v - (size - 1) / 2) / (radius * size)
    inside = x**2 + y**2 < 0.99
    z = np.sqrt(np.where(inside, 1 - x**2 - y**2, 1))
    return np.where(inside[..., None], np.stack([x, y, -z], axis=-1), 0.0), inside


def relief(size=96):
    """A smooth height field that fills the frame."""
    v, u = np.mgrid[:size, :size] / 9.0
    p, q = 0.5 * np.cos(u + 0.4 * v) + 0.1, 0.2 * np.cos(u + 0.4 * v) - 0.4 * np.sin(v)
    n = np.stack([p, q, -np.ones_like(p)], axis=-1)
    return n / np.linalg.norm(n, axis=-1, keepdims=True)


def room(shape=(96, 128)):
    """The inside of a box, wide angle: floor, ceiling, walls, seen from a little off the middle."""
    camera = Pinhole.from_fov(80, shape)
    rays = camera.rays(shape)
    planes = np.array([[0, -1, 0, 1.0], [0, 1, 0, 1.3], [1, 0, 0, 1.2], [-1, 0, 0, 1.6], [0, 0, -1, 3.0]])
    with np.errstate(divide="ignore"):
        reach = planes[:, 3] / -(rays @ planes[:, :3].T)
    nearest = np.where(reach > 0, reach, np.inf).argmin(axis=-1)
    return planes[nearest, :3], camera


def test_names_and_axes_are_inverse():
    names = candidates()
    assert len(names) == 16
    assert len({qio.frame_axes(name).tobytes() for name in names}) == 16
    assert [qio.frame_name(qio.frame_axes(name)) for name in names] == names
    assert names[: len(FRAMES)] == list(FRAMES)
    with pytest.raises(ValueError, match="right,up,viewer"):
        qio.frame_axes("right,left,viewer")
    n = np.array([[[0.1, 0.2, -0.9]]])
    np.testing.assert_allclose(qio.to_opencv(in_frame(n, "up,left,viewer"), "up,left,viewer"), n)


@pytest.mark.usefixtures("data_dir")
@pytest.mark.parametrize("name", SHARED)
def test_shared_data_in_all_frames(name):
    """Every map is opengl; turned into any of the sixteen frames, that one is found."""
    found = shared(name)
    opencv = qio.to_opencv(found.normals, "opengl")
    assert qio.detect_frame(found.normals, found.mask, found.camera).require() == "opengl"
    answers = [qio.detect_frame(in_frame(opencv, f), found.mask, found.camera).frame for f in candidates()]
    assert answers == candidates()


@pytest.mark.usefixtures("data_dir")
@pytest.mark.parametrize("name", SHARED)
def test_without_the_camera_never_wrong(name):
    """Read as orthographic the room has no evidence left, and says so; all others are still right."""
    found = shared(name)
    evidence = qio.detect_frame(found.normals, found.mask)
    assert evidence.frame in (None, "opengl") if name.endswith("bedroom") else evidence.frame == "opengl"


@pytest.mark.usefixtures("data_dir")
@pytest.mark.parametrize("name", SHARED)
def test_crops_without_silhouette_are_never_wrong(name):
    found = shared(name)
    height, width = found.normals.shape[:2]
    v, u = height // 2, width // 2
    for dv, du in ((0, 0), (-40, 0), (40, 0), (0, 30)):
        crop = np.s_[v + dv - 32 : v + dv + 32, u + du - 32 : u + du + 32]
        mask = None if found.mask is None else found.mask[crop]
        assert qio.detect_frame(found.normals[crop], mask).frame in (None, "opengl")


@pytest.mark.parametrize("bits", [8, 16, None])
@pytest.mark.parametrize("frame", candidates())
def test_ball_by_its_silhouette(frame, bits):
    n, mask = sphere()
    n = in_frame(n, frame)
    if bits:
        n = np.rint((n + 1) / 2 * (2**bits - 1)) / (2**bits - 1) * 2 - 1
    assert qio.detect_frame(n, mask).require() == frame


@pytest.mark.parametrize("frame", candidates())
def test_room_by_facing(frame):
    n, camera = room()
    assert qio.detect_frame(in_frame(n, frame), None, camera).require() == frame


DECIDED = {
    "perspective": {"bumps", "islands", "room", "sphere", "spheres", "textured_room", "torus", "tube"},
    "orthographic": {"islands", "sphere", "spheres", "torus", "tube"},
}


@pytest.mark.parametrize("camera", DECIDED)
@pytest.mark.parametrize("name", scenes.names())
def test_built_in_scenes_in_all_frames(name, camera):
    """The right one, or that the evidence does not decide, or a usual frame instead of one that nobody uses.

    In every case the right one is among those that the evidence leaves.
    """
    scene = scenes.make(name, shape=(96, 120), camera=camera)
    found = {f: qio.detect_frame(in_frame(scene.normals, f), scene.mask, scene.camera) for f in candidates()}
    if name in DECIDED[camera]:
        assert {f: evidence.frame for f, evidence in found.items()} == {f: f for f in candidates()}
    else:
        for frame, evidence in found.items():
            assert frame in evidence.possible
            if frame in FRAMES:
                assert evidence.frame in (None, frame)
            else:
                assert evidence.frame in (None, frame) or "more usual than" in evidence.reason


@pytest.mark.parametrize("camera", ["perspective", "orthographic"])
def test_noisy_scenes_are_never_wrong(camera):
    """Planes, steps and boxes hold too little evidence and say so; the others are found."""
    decided = set()
    for name in scenes.names():
        scene = scenes.make(name, shape=(128, 160), camera=camera).with_noise(3)
        frame = candidates()[len(name) % 16]
        evidence = qio.detect_frame(in_frame(scene.normals, frame), scene.mask, scene.camera)
        assert evidence.frame in (None, frame) or (frame not in FRAMES and "more usual" in evidence.reason), name
        assert frame in evidence.possible, name
        decided |= {name} if evidence.frame == frame else set()
    assert decided >= {"islands", "sphere", "spheres", "torus", "tube"}


def test_relief_without_silhouette_is_undecided_between_two():
    """Inside out is the same surface to an orthographic camera. Where both frames have a name, the error shows both."""
    evidence = qio.detect_frame(in_frame(relief(), "directx"))
    assert evidence.frame is None
    assert set(evidence.reason.split("separate ")[1].split(" from ")) == {"dsine", "directx"}
    with pytest.raises(ValueError, match="--frame with one of d") as caught:
        evidence.require()
    assert "residual" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_usual_frame_is_preferred():
    """The twin of opengl has no name: where the evidence leaves both, opengl is taken, and the reason says so."""
    evidence = qio.detect_frame(in_frame(relief(), "opengl"))
    assert evidence.frame == "opengl"
    assert set(evidence.possible) == {"opengl", "left,down,viewer"}
    assert "more usual than left,down,viewer" in evidence.reason


def test_flat_map_has_only_a_z():
    """Where x and y are zero their direction does not matter, and the usual frame is returned."""
    n = np.zeros((20, 20, 3))
    n[..., 2] = 1
    assert qio.detect_frame(n).frame == "opengl"
    assert qio.detect_frame(-n).frame == "opencv"


@pytest.mark.parametrize("kind", ["tilted plane", "noise", "few", "sideways"])
def test_no_evidence_is_an_answer(kind):
    rng = np.random.default_rng(0)
    n = np.broadcast_to(np.array([0.3, -0.2, 0.93]), (40, 40, 3))
    mask = None
    if kind == "noise":
        n = rng.normal(size=(40, 40, 3)) * [1, 1, 0.5] + [0, 0, 2]
    elif kind == "few":
        mask = np.zeros((40, 40), dtype=bool)
        mask[3, 4:8] = True
    elif kind == "sideways":
        n = rng.normal(size=(40, 40, 3))
    evidence = qio.detect_frame(n, mask, Orthographic())
    assert evidence.frame is None
    assert evidence.reason


def test_masked_rectangle_is_no_silhouette():
    """A crop or a frame of masked pixels around a relief says nothing about its outline."""
    n = in_frame(relief(), "directx")
    mask = np.zeros(n.shape[:2], dtype=bool)
    mask[12:-9, 7:-15] = True
    assert qio.detect_frame(n, mask).frame is None


@pytest.mark.parametrize("n_samples", [300, 10**6])
def test_a_sample_seen_by_another_camera(n_samples):
    """The rays of another camera for the pixels of a sample are those of a sample made with that camera."""
    ball = scenes.make("sphere", shape=(61, 83))
    mask, other = ball.mask & (np.arange(83) > 9), Pinhole.from_fov(60, (61, 83))
    expected = NormalSample.from_map(ball.normals, mask, other, n_samples)
    found = NormalSample.from_map(ball.normals, mask, Orthographic(), n_samples).seen_by(other)
    for name in ("normals", "valid", "x", "y", "z"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert (found.focal, found.central, found.taken) == (expected.focal, expected.central, expected.taken)


def test_large_maps_are_thinned():
    n, mask = sphere(1400)
    assert qio.detect_frame(in_frame(n, "dsine"), mask).require() == "dsine"
