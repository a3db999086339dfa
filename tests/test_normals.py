"""`NormalMap`: which pixels are valid, in which frame, and what is refused."""

import numpy as np
import pytest

from quotientgraph import Orthographic, Pinhole, QuotientGraph, RayMap, integrate
from quotientgraph.geometry.frames import FRAMES
from quotientgraph.geometry.normals import NormalMap

SHAPE = (5, 7)
FLAT = np.tile([0.0, 0.0, -1.0], (*SHAPE, 1))  # faces the camera, OpenCV frame


def of(normals, **arguments):
    return NormalMap.from_array(normals, frame="opencv", **arguments)


@pytest.mark.parametrize("frame", sorted(FRAMES))
def test_every_frame_describes_the_same_surface(frame, toy):
    """A normal written in any frame's axes becomes the same OpenCV normal."""
    plane = toy("plane")
    written = plane.normals @ FRAMES[frame]
    found = NormalMap.from_array(written, camera=plane.camera, frame=frame)
    np.testing.assert_allclose(found.normals, plane.normals.reshape(-1, 3), atol=1e-15)


def test_frames_as_documented():
    """A surface whose right side is farther away has a normal to the right, whichever way y and z point."""
    right = {"opengl": [0.6, 0, 0.8], "opencv": [0.6, 0, -0.8], "dsine": [-0.6, 0, 0.8], "directx": [0.6, 0, 0.8]}
    for frame, normal in right.items():
        depth = integrate(np.tile(normal, (4, 6, 1)), frame=frame).depth
        np.testing.assert_allclose(np.diff(depth, axis=1), 0.75, atol=1e-12)
    up = {"opengl": [0, 0.6, 0.8], "opencv": [0, -0.6, -0.8], "dsine": [0, 0.6, 0.8], "directx": [0, -0.6, 0.8]}
    for frame, normal in up.items():  # an upward normal: a floor, whose lower part is nearer
        depth = integrate(np.tile(normal, (4, 6, 1)), frame=frame).depth
        np.testing.assert_allclose(np.diff(depth, axis=0), -0.75, atol=1e-12)


def test_numbering():
    """Valid pixels are numbered in row-major order; `index` and `position` are inverse."""
    mask = np.random.default_rng(1).random(SHAPE) > 0.4
    found = of(FLAT, mask=mask)
    np.testing.assert_array_equal(found.position, np.flatnonzero(mask))
    np.testing.assert_array_equal(found.index.ravel()[found.position], np.arange(found.n_pixels))
    assert (found.index[~mask] == -1).all()
    assert (found.index.dtype, found.position.dtype, found.normals.dtype) == (np.int32, np.int32, np.float64)


def test_image_scatters_values():
    """image(values) holds them at their pixels and `fill` elsewhere."""
    mask = np.zeros(SHAPE, dtype=bool)
    mask[1, 2:5] = True
    image = of(FLAT, mask=mask).image(np.array([4.0, 5.0, 6.0]))
    np.testing.assert_array_equal(image[1, 2:5], [4, 5, 6])
    assert np.isnan(image).sum() == mask.size - 3


def test_pixels_are_left_out_for_a_counted_reason():
    """NaN, infinite and zero normals, pixels without a ray and pixels facing away are left out and counted."""
    normals = FLAT.copy()
    normals[0, 0] = np.nan
    normals[0, 1] = [np.inf, 0, -1]
    normals[0, 2] = 0
    normals[1, 0] = [0, 0, 1]
    normals[1, 1] = [1, 0, 0]  # grazing: n·ray = 0 is not facing
    mask = np.ones(SHAPE, dtype=bool)
    mask[4] = False
    rays = np.tile([0.0, 0.0, 1.0], (*SHAPE, 1))
    rays[2, 3] = 0
    found = of(normals, mask=mask, camera=RayMap(rays))
    assert found.dropped == {"no_normal": 3, "no_ray": 1, "faces_away": 2}
    assert found.n_pixels == 4 * 7 - 6


def test_dropped_pixels_are_reported(toy):
    """The reconstruction's warnings say how many pixels face away, and their depth is NaN."""
    plane = toy("plane")
    plane.normals[3, 4] *= -1
    plane.normals[9, 9] = np.nan
    result = integrate(**plane.arguments)
    text = " ".join(result.warnings)
    assert "1 pixels face away" in text
    assert "1 pixels have no normal" in text
    assert np.isnan(result.depth[3, 4])
    assert np.isnan(result.depth).sum() == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda n: np.asfortranarray(n),
        lambda n: np.repeat(np.repeat(n, 2, axis=0), 3, axis=1)[::2, ::3],
        lambda n: n[::-1, ::-1].copy()[::-1, ::-1],
        lambda n: np.moveaxis(np.ascontiguousarray(np.moveaxis(n, -1, 0)), 0, -1),
        lambda n: n.astype(">f8"),
        lambda n: n * np.random.default_rng(0).uniform(0.01, 100, n.shape[:2])[..., None],
        lambda n: np.broadcast_to(n[:1, :1], n.shape),
        lambda n: n.tolist(),
        lambda n: n.astype(np.longdouble),
    ],
    ids=["fortran", "strided", "reversed", "planes", "big-endian", "non-unit", "read-only", "list", "longdouble"],
)
def test_storage_does_not_matter(change, toy):
    """Memory order, strides, byte order and the length of normals do not change the result."""
    plane = toy("plane")
    found = integrate(**{**plane.arguments, "normals": change(plane.normals)})
    np.testing.assert_allclose(found.depth, integrate(**plane.arguments).depth, rtol=1e-12)


@pytest.mark.parametrize(("dtype", "error"), [(np.float16, 2e-2), (np.float32, 1e-5)])
def test_short_floats_are_as_good_as_their_digits(dtype, error, toy):
    """float16 and float32 normals integrate to the depth that their rounding allows."""
    plane = toy("plane")
    found = integrate(**{**plane.arguments, "normals": plane.normals.astype(dtype)})
    ratio = found.depth / plane.depth
    assert np.ptp(ratio) / ratio.mean() < error


def test_masks_of_any_kind():
    """Boolean, 0/255, float and non-contiguous masks select where they are not zero."""
    mask = np.zeros((10, 14), dtype=np.uint8)
    mask[::2, ::2][1:4, 2:6] = 255
    view = mask[::2, ::2]
    expected = of(FLAT, mask=view > 0).position
    for kind in (view, view.astype(bool), view / 255.0, np.asfortranarray(view), (view > 0).tolist()):
        np.testing.assert_array_equal(of(FLAT, mask=kind).position, expected)


def test_inputs_are_not_written_to(toy):
    """Integration leaves the arrays it is given as they were, read-only ones included."""
    sphere = toy("sphere")
    copy = sphere.normals.copy()
    sphere.normals.setflags(write=False)
    sphere.mask.setflags(write=False)
    integrate(**sphere.arguments)
    np.testing.assert_array_equal(sphere.normals, copy)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"normals": np.ones(SHAPE)}, ["normals", "one channel", "x, y, z"]),
        ({"normals": np.ones((5, *SHAPE))}, ["normals", "(5, 5, 7)"]),
        ({"normals": np.ones((0, 5, 3))}, ["normals", "empty"]),
        ({"normals": np.full((*SHAPE, 3), 128, np.int64)}, ["normals", "int64", "uint8"]),
        ({"normals": np.full((*SHAPE, 3), np.nan)}, ["normals", "NaN"]),
        ({"normals": np.zeros((*SHAPE, 3))}, ["normals", "zero"]),
        (
            {"normals": -FLAT},
            ["normals", "face away", "in the frame opencv", "most of them face it in opengl or dsine or dir"],
        ),
        ({"normals": -FLAT, "frame": "right,down,forward"}, ["in the frame right,down,forward; most"]),
        ({"camera": RayMap(np.tile([0.0, 0.0, -1.0], (*SHAPE, 1))), "normals": FLAT}, ["face away", "z < 0"]),
        ({"mask": np.ones((7, 5), dtype=bool)}, ["mask", "(7, 5)", "(5, 7)"]),
        ({"mask": np.zeros(SHAPE, dtype=bool)}, ["mask", "no pixel", "True"]),
        ({"frame": "blender"}, ["frame", "blender", "opencv"]),
        ({"frame": None}, ["frame", "opencv"]),
        ({"camera": np.diag([0.0, 9, 1])}, ["camera", "fx=0.0", "intrinsic matrix"]),
        ({"camera": np.eye(4)}, ["camera", "3×3"]),
        ({"camera": RayMap.fisheye(90, (7, 5))}, ["camera", "sizes must agree"]),
        ({"connectivity": 6}, ["connectivity", "4 or 8"]),
        ({"connectivity": "8"}, ["connectivity", "4 or 8"]),
        ({"angle": -1.0}, ["angle", "0 and 180", "None"]),
        ({"angle": 0.0}, ["angle", "0 and 180"]),
        ({"angle": 181}, ["angle", "0 and 180"]),
        ({"angle": np.nan}, ["angle", "0 and 180"]),
        ({"angle": "3.5"}, ["angle", "0 and 180"]),
    ],
)
def test_bad_input_is_refused(arguments, names):
    """A `ValueError` names the argument, what was received and the remedy."""
    given = {"normals": FLAT, "frame": "opencv", "camera": Orthographic(), **arguments}
    with pytest.raises(ValueError, match=names[0]) as caught:
        QuotientGraph.from_normals(**given)
    for name in names:
        assert name in str(caught.value)


def test_empty_scene_is_an_error(toy):
    """A mask that leaves no pixel is refused, not integrated to nothing."""
    with pytest.raises(ValueError, match="mask: it selects no pixel"):
        integrate(**toy("empty").arguments)


def test_everything_else_wrong_is_told_apart_from_the_mask():
    """Where the mask selects pixels but none has a normal, the normals are named."""
    normals = np.full((*SHAPE, 3), np.nan)
    normals[0, 0] = [0, 0, -1]
    mask = np.ones(SHAPE, dtype=bool)
    mask[0, 0] = False
    with pytest.raises(ValueError, match="normals: no valid pixel"):
        of(normals, mask=mask, camera=Pinhole(9, 9, 3, 2))


def test_of_several_frames_one_is_probably_right():
    """Normals that all face the camera in three frames tell what it is not."""
    with pytest.raises(ValueError, match="in opengl or dsine or directx, one of which is probably the frame"):
        NormalMap.from_array(np.tile([0.0, 0.0, 1.0], (4, 5, 1)), frame="opencv")
