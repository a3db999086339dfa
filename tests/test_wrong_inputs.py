"""What users pass by mistake works, or gives a warning or an error that names the argument and the remedy."""

import re
import subprocess
import sys

import numpy as np
import pytest
from scipy import ndimage

import quotientgraph.io as qio
from quotientgraph import Orthographic, Pinhole, RayMap, integrate, scenes
from quotientgraph.geometry.sphere import cube_to_panorama
from quotientgraph.settings import Settings

SHAPE = (48, 64)


class Tensor:
    """What a PyTorch tensor that requires a gradient looks like from outside."""

    dtype = "torch.float32"

    def __init__(self, array, free=False):
        self.array, self.free = array, free

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


@pytest.fixture(scope="module")
def room():
    return scenes.make("room", shape=SHAPE)


@pytest.fixture(scope="module")
def stripes():
    return (np.arange(SHAPE[1]) // 16)[None] + np.zeros((SHAPE[0], 1), dtype=int)


def solved(scene, **settings):
    camera, frame = settings.pop("camera", scene.camera), settings.pop("frame", "opencv")
    return integrate(scene.normals, scene.mask, camera, frame, **settings)


def test_whatever_holds_a_prior(room, tmp_path):
    """Paths, tensors, further dimensions of 1, and depth in millimetres as cameras write it."""
    known = solved(room, prior=room.depth).depth
    np.save(tmp_path / "prior.npy", room.depth)
    for thing in (
        tmp_path / "prior.npy",
        str(tmp_path / "prior.npy"),
        Tensor(room.depth[None, None]),
        room.depth[..., None],
    ):
        np.testing.assert_array_equal(solved(room, prior=thing).depth, known)
    millimetres = np.rint(1000 * room.depth).astype(np.uint16)
    millimetres[:9] = 0  # nothing was measured
    lengths = np.where(millimetres > 0, millimetres.astype(float), np.nan)
    np.testing.assert_array_equal(solved(room, prior=millimetres).depth, solved(room, prior=lengths).depth)


def test_whatever_holds_a_confidence(room):
    half = np.full(SHAPE, 51, dtype=np.uint8)
    known = solved(room, prior=room.depth, prior_confidence=np.full(SHAPE, 0.2)).depth
    np.testing.assert_array_equal(solved(room, prior=room.depth, prior_confidence=Tensor(half[None])).depth, known)
    with pytest.raises(ValueError, match="prior_confidence: values must lie between 0 and 1, got 2 to 2; divide"):
        solved(room, prior=room.depth, prior_confidence=np.full(SHAPE, 2.0))


def test_whatever_holds_labels(room, stripes, tmp_path):
    qio.write_labels(tmp_path / "labels.png", stripes)
    known = solved(room, labels=stripes).depth
    for thing in (
        Tensor(stripes),
        stripes[None],
        stripes[..., None],
        stripes.astype(float),
        stripes.tolist(),
        tmp_path / "labels.png",
    ):
        np.testing.assert_array_equal(solved(room, labels=thing).depth, known)


def test_whatever_holds_a_photograph(room, tmp_path):
    photo = np.random.default_rng(0).integers(0, 255, (*SHAPE, 3), dtype=np.uint8)
    qio.write_image(tmp_path / "photo.png", photo)
    known = solved(room, image=photo)
    assert known.graph.n_components > solved(room).graph.n_components
    for thing in (Tensor(photo), photo.transpose(2, 0, 1), photo.transpose(2, 0, 1)[None], tmp_path / "photo.png"):
        np.testing.assert_array_equal(solved(room, image=thing).depth, known.depth)


def test_whatever_holds_anchors(room):
    anchors = [(10, 20, 2.0), (40, 30, 2.5)]
    known = solved(room, anchors=anchors).depth
    for thing in (np.array(anchors), Tensor(np.array(anchors)), tuple(anchors)):
        np.testing.assert_array_equal(solved(room, anchors=thing).depth, known)


def test_cameras_as_tensors_and_batches(room):
    known = solved(room).depth
    for thing in (Tensor(room.camera.matrix), room.camera.matrix[None]):
        np.testing.assert_array_equal(solved(room, camera=thing).depth, known)
    rays = RayMap(Tensor(room.camera.rays(SHAPE)))
    np.testing.assert_allclose(solved(room, camera=rays).depth, known, rtol=1e-9)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"prior": np.ones(SHAPE[::-1])}, r"prior: its shape \(64, 48\) .* transposed"),
        ({"prior": np.ones((24, 32))}, "prior: its shape .* resized"),
        ({"prior": np.ones(SHAPE, dtype=complex)}, "prior: values of type complex128"),
        ({"prior": "missing.npy"}, "missing.npy: no such file"),
        ({"prior_kind": "depth"}, "prior_kind: there is no prior"),
        ({"prior_weight": 2.0}, "prior_weight: there is no prior"),
        ({"labels": np.ones(SHAPE[::-1], dtype=int)}, "labels: its shape .* transposed"),
        ({"labels": np.full(SHAPE, 0.5)}, "labels: some are not whole numbers; pass integers"),
        ({"labels": np.full(SHAPE, np.nan)}, "labels: some are not whole numbers; pass integers"),
        ({"labels": "missing.png"}, "missing.png: no such file"),
        ({"image": np.ones((*SHAPE[::-1], 3))}, "image: expected"),
        ({"image": "missing.png"}, "missing.png: no such file"),
        ({"prior": np.ones(SHAPE, dtype=bool)}, "prior: truth values are no depth"),
        ({"contacts": 5}, "contacts: expected a sequence of pairs of pixels .* got 5"),
        ({"contacts": [(3, 4)]}, "contacts: expected two pixels"),
        ({"forbidden": 5}, "forbidden: expected an image of truth values or a list of polylines, got 5"),
        ({"anchors": {(1, 1): 2.0}}, "anchors: expected a sequence .* got a dict"),
        ({"anchors": "1,1,2"}, "anchors: expected a sequence .* got a str"),
        ({"anchors": np.ones(3)}, r"anchors: .* shape \(3,\)"),
        ({"prior": np.ones(SHAPE), "prior_confidence": np.zeros(SHAPE)}, "prior_confidence: it is 0 at all pixels"),
        ({"prior": np.ones(SHAPE), "prior_confidence": np.full(SHAPE, 2, np.uint8)}, "prior_confidence: .* got 2 to 2"),
        ({"camera": 60}, r"camera: got one number, 60; .*Pinhole.from_fov"),
        ({"camera": RayMap}, "camera: got the class RayMap; make a camera"),
        ({"frame": "dsine"}, "in the frame dsine; most of them face it in opencv, which is probably the frame"),
    ],
)
def test_errors_name_the_argument_and_the_remedy(room, settings, says):
    with pytest.raises(ValueError, match=says) as caught:
        solved(room, **settings)
    assert "\n" not in str(caught.value)


def test_a_confidence_means_the_same_as_array_and_as_file(room, tmp_path):
    """Also where it is nowhere sure, and as levels 0 and 1."""
    weak, levels = np.full(SHAPE, 25, np.uint8), np.ones(SHAPE, np.uint8)
    qio.write_image(tmp_path / "weak.png", weak)
    read = qio.as_confidence(tmp_path / "weak.png", SHAPE)
    np.testing.assert_array_equal(read, qio.as_confidence(weak, SHAPE))
    np.testing.assert_allclose(read, 25 / 255)
    np.testing.assert_array_equal(qio.as_confidence(levels, SHAPE), 1.0)
    np.save(tmp_path / "percent.npy", np.full(SHAPE, 60.0))
    with pytest.raises(ValueError, match="prior_confidence: values must lie between 0 and 1, got 60 to 60"):
        solved(room, prior=room.depth, prior_confidence=tmp_path / "percent.npy")


@pytest.mark.parametrize("dtype", ["u1", "i4", "i8", "f4", "?"])
def test_masked_arrays_of_every_type_keep_their_mask(dtype):
    """What is hidden is not selected, has no confidence, no depth and no label, whatever the values are."""
    hidden = np.zeros((4, 5), dtype=bool)
    hidden[:2] = True
    ones = np.ma.masked_array(np.ones((4, 5), dtype), mask=hidden)
    assert np.array_equal(qio.as_mask(ones, (4, 5)), ~hidden)
    assert np.array_equal(qio.as_confidence(ones, (4, 5)), ~hidden)
    if dtype != "?":
        assert np.array_equal(np.isnan(qio.as_depth(ones, (4, 5))), hidden)
        assert np.array_equal(qio.as_labels(ones, (4, 5)), np.where(hidden, -1, 1))


def test_masked_arrays_keep_their_mask(room):
    """What they hide is no normal and no depth, whatever lies underneath."""
    hidden = np.zeros(SHAPE, dtype=bool)
    hidden[:20, :30] = True
    toward = np.where(hidden[..., None], [0.0, 0.0, -1.0], room.normals)
    masked = np.ma.masked_array(toward, mask=np.repeat(hidden[..., None], 3, axis=2))
    result = integrate(masked, None, room.camera, "opencv")
    np.testing.assert_array_equal(np.isfinite(result.depth), ~hidden & np.isfinite(room.normals).all(axis=2))
    known = solved(room, prior=np.where(hidden, np.nan, room.depth)).depth
    junk = np.ma.masked_array(np.where(hidden, 77.0, room.depth), mask=hidden)
    np.testing.assert_array_equal(solved(room, prior=junk).depth, known)


def test_masks_of_floats():
    """NaN selects nothing, and probabilities are cut at half of their largest, as in files."""
    select = qio.as_mask
    assert select(np.array([[np.nan, 1.0], [0.0, 1.0]]), (2, 2)).tolist() == [[False, True], [False, True]]
    assert select(np.array([[1e-6, 0.98], [0.2, 0.6]]), (2, 2)).tolist() == [[False, True], [False, True]]
    assert select(np.array([[1.0, 7.0], [0.0, 3.0]]), (2, 2)).tolist() == [[True, True], [False, True]]


def test_intrinsics_for_another_size_in_a_camera(room):
    """As noticed in a matrix."""
    matrix = room.camera.matrix.copy()
    matrix[:2] *= 4
    (text,) = [t for t in solved(room, camera=Pinhole.from_matrix(matrix)).warnings if t.startswith("camera")]
    assert "times as large" in text
    assert text in solved(room, camera=matrix).warnings


def test_a_photograph_is_noticed():
    """Its vectors have all lengths, those of a normal map one; a painted or masked background does not count."""
    rng = np.random.default_rng(0)
    row, column = np.indices((60, 80)) / 80
    sky = np.stack([0.35 + 0.2 * row, 0.4 + 0.2 * row, 0.55 + 0.2 * column], axis=-1) + rng.normal(0, 0.03, (60, 80, 3))

    def noticed(image, mask=None, **options):
        return any("photograph" in text for text in integrate(image, mask, preset="paper", **options).warnings)

    photograph = np.rint(255 * sky).astype(np.uint8)
    assert noticed(photograph)
    assert noticed(photograph, np.arange(80) < np.full((60, 1), 70))
    assert not noticed(photograph, check=False)
    normals = scenes.make("sphere", shape=(60, 80)).normals
    image = np.rint(127.5 * (np.nan_to_num(normals) * [1, -1, -1] + 1)).astype(np.uint8)
    image[:, :60] = (10, 200, 60)
    assert not noticed(image)
    image[::2, :60] = (60, 10, 200)  # of two colours, which alpha or a mask hides
    used = np.broadcast_to(column[:1] >= 0.75, (60, 80))
    assert not noticed(image, used)
    assert not noticed(np.dstack([image, np.uint8(255) * used]))
    assert noticed(image)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda result: result.save(None), "path: expected the name of a file, got None"),
        (lambda result: result.save("surface.ply", max_faces=np.nan), "max_faces=nan: .* a number from 1 on"),
        (lambda result: result.save("surface.ply", max_faces="200k"), "max_faces='200k': .* a number from 1 on"),
        (lambda result: result.save("surface.glb", max_faces=["a", 3]), "max_faces='a': .* a number from 1 on"),
        (lambda result: result.save("surface.glb", max_faces=np.array(0)), "max_faces=0: .* a number from 1 on"),
        (lambda result: result.mesh(max_error="1"), "max_error='1': expected a number of pixels"),
        (lambda result: result.save("surface.glb", max_faces=[]), "max_faces: got no number"),
        (lambda result: result.save("depth.npy", max_faces=10), "they limit a mesh, and 'depth.npy' is none"),
        (lambda _: Pinhole.from_fov(60, 10), r"camera: shape=10 must be \(height, width\)"),
        (lambda _: Pinhole.from_fov(60, (10, 10, 3)), "camera: shape=.* for instance normals.shape"),
        (lambda _: Orthographic("1"), "camera: pixel_size='1' must be a positive length"),
    ],
)
def test_errors_of_results_and_cameras(room, call, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=says):
        call(solved(room))
    assert not list(tmp_path.iterdir())


def test_a_mask_that_is_no_image(room):
    with pytest.raises(ValueError, match=r"mask: expected an image of 48×64, got shape \(\)"):
        integrate(room.normals, True, room.camera, "opencv")


def test_an_empty_path_is_not_the_current_folder():
    for read in (integrate, qio.read_normals, qio.as_normals):
        with pytest.raises(ValueError, match="normals: the path is empty; pass"):
            read("")


def coarse(depth, seed=0):
    """A prior with 5 % of smooth error and 2 % of noise."""
    rng = np.random.default_rng(seed)
    row, column = (index / max(depth.shape) for index in np.indices(depth.shape))
    bend = 0.05 * np.sin(2 * np.pi * (0.9 * column + 0.5 * row) + rng.uniform(0, 6))
    return 2.7 * ndimage.gaussian_filter(depth, 2) * (1 + bend) * (1 + 0.02 * rng.standard_normal(depth.shape))


ABOUT_PRIOR = "prior"


@pytest.mark.parametrize("name", ["boxes", "stairs", "occlusions", "bumps", "room"])
def test_a_prior_that_contradicts_the_normals_is_noticed(name):
    """One of the other kind, and one of another picture; but not one with offset, noise and holes, nor a sparse one."""
    scene = scenes.make(name, shape=(72, 96))
    depth, rng = scene.depth, np.random.default_rng(0)

    def about(prior, **settings):
        return [text for text in solved(scene, prior=prior, **settings).warnings if text.startswith(ABOUT_PRIOR)]

    (text,) = about(depth, prior_kind="disparity")
    assert 'probably "depth"' in text
    (text,) = about(1 / depth, prior_kind="depth")
    assert 'probably "disparity"' in text
    (text,) = about(1 / depth + 0.05, prior_kind="affine")
    assert 'probably "affine-disparity"' in text
    (text,) = about(rng.uniform(1, 9, depth.shape))
    assert "knows nothing of the relief" in text
    sparse = np.where(rng.random(depth.shape) < 0.02, coarse(depth), np.nan)
    for prior in (depth, 1 / depth, coarse(depth), sparse, 1000 * depth, depth + 5 * np.median(depth)):
        assert about(prior) == []


def test_an_orthographic_prior_of_heights_is_noticed():
    scene = scenes.make("bumps", shape=(72, 96), camera="orthographic")
    assert not [text for text in solved(scene, prior=scene.depth).warnings if text.startswith(ABOUT_PRIOR)]
    assert any("negate" in text for text in solved(scene, prior=-scene.depth).warnings)


@pytest.mark.parametrize("camera", [None, "orthographic"])
def test_a_prior_that_tears_what_normals_join_is_noticed(camera):
    """A curved object has little relief within its components, but their borders meet."""
    scene = scenes.make("sphere", shape=(96, 128), **({"camera": camera} if camera else {}))
    rng, depth = np.random.default_rng(0), scene.depth
    other = scenes.make("room", shape=depth.shape).depth
    for prior in [other, rng.uniform(1, 6, depth.shape)] if camera is None else [other, 1000 * depth]:
        texts = [
            text for text in solved(scene, prior=prior).warnings if text.startswith("prior: with it surfaces meet")
        ]
        assert len(texts) == 1, prior
        assert ("unit" in texts[0]) == (camera is not None)
    sparse = np.where(rng.random(depth.shape) < 0.02, depth, np.nan)
    for prior in (depth, sparse, depth * (1 + 0.02 * rng.standard_normal(depth.shape))):
        assert not [text for text in solved(scene, prior=prior).warnings if text.startswith(ABOUT_PRIOR)]


@pytest.mark.parametrize("stored", ["array", "file"])
def test_a_code_for_no_depth_in_a_prior(tmp_path, stored):
    """Depth cameras write 65535 where they see nothing; it is not a surface far behind all others."""
    scene = scenes.make("stairs", shape=(72, 96))
    millimetres = np.uint16(1000 * np.nan_to_num(scene.depth))
    coded = millimetres.copy()
    coded[20:40, 20:60] = 65535
    prior = coded
    if stored == "file":
        prior = tmp_path / "depth.png"
        qio.write_image(prior, coded)
    result = solved(scene, prior=prior)
    assert [text for text in result.warnings if "65535" in text and "read as unknown" in text]
    coded[20:40, 20:60] = 0
    np.testing.assert_array_equal(result.depth, solved(scene, prior=coded).depth)


def test_large_values_of_a_prior_that_are_depths():
    """What was scaled to the whole range of its type reaches the largest value, and some things have all of it."""
    shape = (40, 50)
    ramp = np.linspace(0, 65530, 2000).reshape(shape).astype(np.uint16)
    flat = ramp.copy()
    flat[-4:] = 65535
    for values in (
        ramp,
        flat,
        np.full(shape, 65535, np.uint16),
        np.uint8([[0, 9], [255, 255]]),
        np.uint16([[9, 65535]]),
    ):
        found, warnings = qio.understand_depth(values, values.shape)
        assert not warnings
        np.testing.assert_array_equal(np.isnan(found), values == 0)


def test_negative_values_of_a_prior():
    """They are left out with a warning, and are as good as others where the offset is said to be unknown."""
    scene = scenes.make("bumps", shape=(72, 96))
    depth = scene.depth
    scaled = 2 * (depth - np.nanmin(depth)) / np.ptp(depth[np.isfinite(depth)]) - 1  # as some networks give it
    assert any("values are negative" in text for text in solved(scene, prior=scaled).warnings)
    known = np.where(scaled < 0, 0.0, 1.0)
    assert not any("negative" in text for text in solved(scene, prior=scaled, prior_confidence=known).warnings)
    result = solved(scene, prior=scaled, prior_kind="affine")
    assert not [text for text in result.warnings if text.startswith(ABOUT_PRIOR)]
    ratio = result.depth / depth
    np.testing.assert_allclose(ratio / np.nanmedian(ratio), 1, atol=5e-3)


def test_anchors_that_exclude_each_other_are_noticed():
    """Two pixels of one smooth surface whose depths are known otherwise; metres mixed with millimetres."""
    scene = scenes.make("bumps", shape=(72, 96))
    right = [(20, 30, scene.depth[30, 20]), (70, 50, scene.depth[50, 70])]
    assert not [text for text in solved(scene, anchors=right).warnings if text.startswith("anchors")]
    (text,) = solved(scene, anchors=[right[0], (70, 50, 1000 * scene.depth[50, 70])]).warnings
    assert text.startswith("anchors: the surface misses 2 of 2 of them")
    assert "check their unit" in text


@pytest.mark.parametrize("name", ["plane", "room", "spheres"])
def test_anchors_in_scenes_with_faces_are_noticed_only_if_they_exclude_each_other(name):
    """There the surface is moved to them after it was integrated."""
    scene = scenes.make(name, shape=(96, 128))
    places = [(64, 48), (100, 80)]
    right = [(column, row, scene.depth[row, column]) for column, row in places]
    for anchors in (right[:1], right):
        result = solved(scene, anchors=anchors)
        assert result.depth[48, 64] == pytest.approx(scene.depth[48, 64], rel=0.05)
        assert not [text for text in result.warnings if text.startswith("anchors")]
    plane = scenes.make("plane", shape=(96, 128))
    wrong = [(64, 48, plane.depth[48, 64]), (100, 80, 1000 * plane.depth[80, 100])]
    for result in (solved(plane, anchors=wrong), solved(plane).settle(anchors=wrong)):
        assert any(text.startswith("anchors: the surface misses") for text in result.warnings)


def test_a_warning_of_anchors_is_about_where_the_surface_is_now():
    """It goes when the surface is moved, and the same anchors give it once."""
    scene = scenes.make("plane", shape=(48, 64))
    right, wrong = (20, 30, scene.depth[30, 20]), (50, 40, 1000 * scene.depth[40, 50])

    def about(result):
        return [text for text in result.warnings if text.startswith("anchors")]

    missed = solved(scene, anchors=[right, wrong])
    assert len(about(missed)) == len(about(missed.settle(anchors=[right, wrong]))) == 1
    assert about(missed.settle(anchors=[right])) == []


def test_a_frame_by_its_directions(room):
    """As on the command line; what is no frame is an error that names them."""
    given = room.normals @ qio.frame_axes("up,right,viewer")
    known = integrate(room.normals, room.mask, room.camera, "opencv")
    result = integrate(given, room.mask, room.camera, "up,right,viewer")
    np.testing.assert_array_equal(result.depth, known.depth)
    assert result.warnings == known.warnings
    for frame in ("blender", "up,up,viewer", None, "OpenGL"):
        with pytest.raises(
            ValueError, match="is not known; use one of opencv, opengl, dsine, directx, or the directions"
        ):
            integrate(room.normals, room.mask, room.camera, frame)


@pytest.mark.parametrize("camera", ["perspective", "orthographic"])
@pytest.mark.parametrize("name", ["sphere", "bumps", "torus"])
def test_exchanged_axes_are_noticed(name, camera):
    """x and y exchanged, or the vectors turned by 90° in the image: no frame that has a name is like that."""
    scene = scenes.make(name, shape=(72, 96), camera=camera)
    for axes in ([[0, 1, 0], [1, 0, 0], [0, 0, 1]], [[0, -1, 0], [1, 0, 0], [0, 0, 1]]):
        given = np.nan_to_num(scene.normals) @ np.array(axes, dtype=float)
        (text,) = qio.check_conventions(given, scene.mask, scene.camera, "opencv")
        assert "x and y exchanged" in text
        directions = re.findall(r"'(\w+,\w+,\w+)'", text)
        assert any(
            np.allclose(qio.to_opencv(given, words)[scene.mask], scene.normals[scene.mask]) for words in directions
        )


def test_a_matrix_for_another_size_says_so(room):
    """K in parts of the image, and K of the image before it was halved."""
    height, width = SHAPE
    k = room.camera.matrix
    _, (text,) = qio.understand_camera(k / [[width], [height], [1]], SHAPE)
    assert "multiply its first row by the width" in text
    _, (text,) = qio.understand_camera(k * [[2], [2], [1]], SHAPE)
    assert "an image 1.9" in text
    assert "divide its first two rows" in text


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: RayMap.equirectangular(10), "shape=10"),
        (lambda: RayMap.equirectangular((0, 10)), r"shape=\(0, 10\) must be"),
        (lambda: cube_to_panorama(np.zeros((6, 8, 8, 3))), "got ndarray"),
    ],
)
def test_panoramas(call, says):
    with pytest.raises(ValueError, match=says) as caught:
        call()
    assert len(str(caught.value)) < 300


class TestTiles:
    """The same of maps in tiles."""

    @pytest.fixture(autouse=True)
    def _needs(self):
        pytest.importorskip("zarr")
        pytest.importorskip("dask")

    @staticmethod
    def integrate(folder, scene, **settings):
        from quotientgraph import scale

        given = {"normals": scene.normals, "camera": scene.camera, "frame": "opencv", **settings}
        return scale.integrate(given.pop("normals"), out=folder / "depth.zarr", workers=1, overwrite=True, **given)[1]

    def test_a_wrong_frame_is_named(self, room, tmp_path):
        assert self.integrate(tmp_path, room, joining="none").warnings == []
        texts = self.integrate(tmp_path, room, frame="directx").warnings
        assert any("contradict the frame directx" in text and "opencv" in text for text in texts)

    def test_a_camera_is_corrected_as_elsewhere(self, room, tmp_path):
        report = self.integrate(tmp_path, room, camera=room.camera.matrix.T)
        assert any("was transposed" in text for text in report.warnings)

    @pytest.mark.parametrize(
        ("settings", "says"),
        [
            ({"tile": "big"}, "tile='big' must be a whole number"),
            ({"tile": 64.0}, "tile=64.0 must be a whole number"),
            ({"mask": np.ones((3, 3), dtype=bool)}, "mask: its shape"),
            ({"camera": "missing.json"}, "missing.json: no such file"),
            ({"normals": "missing.npy"}, "missing.npy"),
        ],
    )
    def test_errors(self, room, tmp_path, settings, says):
        with pytest.raises((ValueError, OSError), match=says):
            self.integrate(tmp_path, room, **settings)
        assert list(tmp_path.iterdir()) == []

    def test_image_values_are_not_taken_for_vectors(self, room, tmp_path):
        image = (room.normals * [1, -1, -1] + 1) / 2
        with pytest.raises(ValueError, match=r"all values lie in \[0, 1\].*pass vectors"):
            self.integrate(tmp_path, room, normals=image, frame="opengl")

    def test_a_place_that_cannot_be_written(self, room):
        from quotientgraph import scale

        with pytest.raises(OSError, match="cannot be written there"):
            scale.integrate(room.normals, camera=room.camera, frame="opencv", out="/proc/depth.zarr", workers=1)

    def test_a_damaged_chunk_is_named(self, room, tmp_path):
        import zarr

        store = zarr.open(str(tmp_path / "n.zarr"), mode="w", shape=room.normals.shape, chunks=(16, 16, 3), dtype="f4")
        store[:] = room.normals
        chunks = [f for f in sorted((tmp_path / "n.zarr").rglob("*")) if f.is_file() and f.name[0] not in "z."]
        chunks[-1].write_bytes(chunks[-1].read_bytes()[:20])
        with pytest.raises(ValueError, match=r"n\.zarr: rows .* cannot be read .* copy or write it again"):
            self.integrate(tmp_path, room, normals=str(tmp_path / "n.zarr"))

    def test_a_missing_package_is_named_before_anything_is_written(self, room, tmp_path, monkeypatch):
        from quotientgraph import scale

        monkeypatch.setitem(sys.modules, "distributed", None)
        with pytest.raises(ImportError, match=r"quotientgraph\[scale\]"):
            scale.integrate(room.normals, camera=room.camera, frame="opencv", out=tmp_path / "depth.zarr", workers=2)
        assert list(tmp_path.iterdir()) == []

    def test_a_script_without_a_guard_says_what_to_do(self, tmp_path):
        """Workers import the script that started them, and must not start the work again."""
        pytest.importorskip("distributed")
        script = tmp_path / "script.py"
        script.write_text(
            "import multiprocessing\n"
            "multiprocessing.current_process()._inheriting = True  # as it is while a worker imports the script\n"
            "import numpy as np\nfrom quotientgraph import scale\n"
            "scale.integrate(np.tile([0.0, 0.0, 1.0], (64, 64, 1)), workers=2)\n"
        )
        done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True)
        assert '`if __name__ == "__main__":`' in done.stderr
        assert [file.name for file in tmp_path.iterdir()] == ["script.py"]


@pytest.mark.parametrize("name", ["prior_weight", "energy_tol", "lower", "upper"])
@pytest.mark.parametrize("value", ["1", [1], object()])
def test_settings_that_are_no_numbers_are_named(name, value):
    with pytest.raises(ValueError, match=f"{name}=.* must be a positive number"):
        Settings(**{name: value})
    assert getattr(Settings(**{name: np.float32(1e-4)}), name) == np.float32(1e-4)


def test_arguments_of_a_field_of_view_that_are_exchanged_are_named():
    with pytest.raises(ValueError, match="camera: shape=60 must be"):
        Pinhole.from_fov(SHAPE, 60)


def test_forbidden_lines_may_be_a_path_and_are_named(tmp_path):
    """An image of lines is read like any other image, and messages say what it is."""
    scene = scenes.make("sphere", shape=SHAPE)
    drawn = np.zeros(SHAPE, dtype=np.uint8)
    drawn[:, 30] = 255
    qio.write_image(tmp_path / "lines.png", drawn)
    qio.write_image(tmp_path / "small.png", drawn[:10])
    found = solved(scene, forbidden=str(tmp_path / "lines.png"))
    np.testing.assert_array_equal(found.depth, solved(scene, forbidden=drawn > 0).depth)
    for lines, says in {
        str(tmp_path / "small.png"): "forbidden: .*small.png: the image of lines is 64×10",
        "x.png": "forbidden: .*x.png",
        (((0, 0), (np.nan, 5)),): "numbers, got .*nan.*leave out",
        (("a", "b"),): "forbidden: a polyline is .* got",
    }.items():
        with pytest.raises(ValueError, match=says):
            solved(scene, forbidden=lines)


@pytest.mark.parametrize("scale", [1e-10, 1e-20, 1e200])
def test_normals_of_extreme_lengths_are_not_called_zero(scale):
    scene = scenes.make("sphere", shape=SHAPE)
    with pytest.raises(ValueError, match="far from length 1"):
        integrate(scene.normals * scale, scene.mask, scene.camera, "opencv")


def test_tables_of_something_else_are_named(tmp_path):
    with pytest.raises(TypeError, match=r"tables: expected GraphTables, got a int.*graph.tables\(\)"):
        qio.write_tables(tmp_path / "g.csv", 3)
