"""The scenes are exact: depth and normals belong to one surface, and it jumps where promised."""

import inspect
from dataclasses import replace

import numpy as np
import pytest

from quotientgraph import scenes
from quotientgraph.geometry.camera import Orthographic, Pinhole, RayMap
from quotientgraph.scenes.solids import Torus, along

SHAPE = (96, 120)
CAMERAS = ["perspective", "orthographic"]
SMOOTH = ["plane", "sphere", "bumps"]
PLANAR = ["plane", "boxes", "room", "stairs"]
HIDDEN = ["step", "ramp", "tube", "torus"]  # depth jumps inside one connected surface


def pairs(scene, down, right):
    """Both pixels of all pairs of valid neighbours, `down` rows and `right` columns apart."""
    valid = scene.mask[: scene.shape[0] - down, : scene.shape[1] - right] & scene.mask[down:, right:]
    v, u = np.nonzero(valid)
    return (v, u), (v + down, u + right)


def residuals(scene, down=0, right=1):
    """What the potential does between neighbours, minus what the planar model expects of the two normals."""
    tail, head = pairs(scene, down, right)
    n_a, n_b = scene.normals[tail], scene.normals[head]
    potential = scene.camera.potential(scene.depth)
    if scene.camera.central:
        t = scene.camera.rays(scene.shape)
        t_a, t_b = t[tail], t[head]
        t_m = (t_a + t_b) / 2

        def dot(n, t):
            return (n * t).sum(axis=-1)

        with np.errstate(invalid="ignore", divide="ignore"):
            jump = np.log(dot(n_a, t_m) * dot(n_b, t_b) / (dot(n_a, t_a) * dot(n_b, t_m)))
    else:
        half = np.array([right / 2, down / 2])
        jump = n_a[:, :2] @ half / n_a[:, 2] + n_b[:, :2] @ half / n_b[:, 2]
    return potential[tail] - potential[head] - jump


def all_residuals(scene):
    return np.concatenate([residuals(scene, 0, 1), residuals(scene, 1, 0)])


def jump_size(scene):
    """Largest disagreement with the planar model, as a fraction of the depth."""
    scale = 1 if scene.camera.central else scene.camera.pixel_size / np.nanmean(scene.depth)
    found = np.abs(all_residuals(scene)) * scale
    return np.nanmax(np.where(np.isfinite(found), found, 0))


def angles(a, b):
    """Angle in degrees between unit vectors, accurate when it is small."""
    return np.degrees(2 * np.arcsin(np.clip(np.linalg.norm(a - b, axis=-1) / 2, 0, 1)))


@pytest.fixture(params=CAMERAS)
def camera(request):
    return request.param


@pytest.mark.parametrize("name", scenes.names())
def test_is_well_formed(name, camera):
    """Unit normals that face the camera at the mask's pixels, and NaN elsewhere."""
    scene = scenes.make(name, SHAPE, camera)
    inside = scene.mask
    assert scene.name == name
    assert scene.normals.shape == (*SHAPE, 3)
    assert scene.shape == SHAPE
    np.testing.assert_allclose(np.linalg.norm(scene.normals[inside], axis=-1), 1, atol=1e-12)
    assert np.isfinite(scene.depth[inside]).all()
    assert (scene.depth[inside] > 0).all()
    assert np.isnan(scene.depth[~inside]).all()
    assert np.isnan(scene.normals[~inside]).all()
    assert ((scene.normals * scene.camera.rays(SHAPE)).sum(axis=-1)[inside] < 0).all()
    assert scene.description


@pytest.mark.parametrize("name", scenes.names())
def test_normals_and_depth_belong_to_one_surface(name, camera):
    """Between most neighbours the planar model holds, the better the finer the image."""
    coarse = {"grain": 0.6} if name == "textured_room" else {}  # facets larger than pixels
    scene = scenes.make(name, (256, 320), camera, **coarse)
    found = np.abs(all_residuals(scene))
    slope = 1 / scene.camera.focal(scene.shape)  # a pixel, in the unit of the potential
    assert np.nanmedian(found) < 0.006 * slope
    if name in PLANAR:
        assert np.nanmedian(found) < 1e-12


@pytest.mark.parametrize("name", ["bumps", "step", "ramp", "tube", "sphere", "torus"])
def test_planar_model_converges_on_smooth_surfaces(name, camera):
    """The error is of third order in the pixel size, and nothing for a quadratic and parallel rays."""
    coarse = np.nanmedian(np.abs(all_residuals(scenes.make(name, (64, 80), camera))))
    fine = np.nanmedian(np.abs(all_residuals(scenes.make(name, (256, 320), camera))))
    order = np.log(coarse / fine) / np.log(4) + (camera == "orthographic")  # there φ is in pixels
    assert 2.6 < order < 3.6 or (name == "step" and coarse < 1e-12)


@pytest.mark.parametrize("name", PLANAR)
def test_pixels_of_one_plane_agree_exactly(name, camera):
    """Equal normals and equal distance of the plane: the planar model is exact to rounding."""
    scene = scenes.make(name, SHAPE, camera)
    for step in ((0, 1), (1, 0), (1, 1)):
        tail, head = pairs(scene, *step)
        points = scene.camera.points(scene.depth)
        distance = (scene.normals * points).sum(axis=-1)
        same = (np.abs(scene.normals[tail] - scene.normals[head]).max(axis=-1) < 1e-12) & (
            np.abs(distance[tail] - distance[head]) < 1e-9
        )
        assert same.mean() > 0.8
        assert np.abs(residuals(scene, *step)[same]).max() < 1e-9


def test_plane_is_a_plane(camera):
    scene = scenes.plane(SHAPE, camera, tilt=25)
    offset = (scene.normals * scene.camera.points(scene.depth)).sum(axis=-1)
    np.testing.assert_allclose(offset, offset[0, 0], rtol=1e-12)
    np.testing.assert_allclose(scene.normals[..., 2], -np.cos(np.radians(25)), rtol=1e-12)


def test_sphere_is_a_sphere(camera):
    """All points lie one radius behind their normal's foot: the centre is the same for all."""
    scene = scenes.sphere(SHAPE, camera, radius=1.1)
    centre = (scene.camera.points(scene.depth) - 1.1 * scene.normals)[scene.mask]
    assert np.ptp(centre, axis=0).max() < 1e-12


def test_torus_is_solved_to_rounding(camera):
    scene = scenes.torus(SHAPE, camera, elevation=90, ring=1.0, thickness=0.3)
    points = scene.camera.points(scene.depth)[scene.mask] - 0.3 * scene.normals[scene.mask]
    centre = (points.max(axis=0) + points.min(axis=0)) / 2
    assert np.abs(points[:, 2] - centre[2]).max() < 1e-11
    if camera == "perspective":
        np.testing.assert_allclose(np.linalg.norm(points[:, :2], axis=-1), 1.0, atol=1e-11)


def test_torus_first_crossing_is_the_least_root():
    """The closed form agrees with the eigenvalues of the companion matrix."""
    random = np.random.default_rng(1)
    ring, thick = 1.1, 0.42
    q = random.normal(size=(3, 300))
    q /= np.sqrt(along(q, q))
    p = random.normal(size=(3, 300)) * 0.6
    p -= along(p, q) * q
    with np.errstate(invalid="ignore"):
        found = Torus((0, 0, 0), ring, thick)._first_crossing(p, q)
    for i in range(300):
        size = p[:, i] @ p[:, i]
        inner = size + ring**2 - thick**2
        a = 2 * inner - 4 * ring**2 * (1 - q[2, i] ** 2)
        c = inner**2 - 4 * ring**2 * (size - p[2, i] ** 2)
        roots = np.roots([1, 0, a, 8 * ring**2 * p[2, i] * q[2, i], c])
        real = roots.real[np.abs(roots.imag) < 1e-7]
        assert np.isnan(found[i]) if not real.size else abs(found[i] - real.min()) < 1e-7


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_scenes_have_no_jump(name, camera):
    scene = scenes.make(name, (256, 320), camera)
    facing = np.abs((scene.normals * scene.camera.rays(scene.shape)).sum(axis=-1))
    away_from_the_limb = replace(scene, mask=scene.mask & (facing > 0.3))
    assert jump_size(away_from_the_limb) < 1e-3


@pytest.mark.parametrize("name", sorted(set(scenes.names()) - set(SMOOTH) - {"islands"}))
def test_other_scenes_have_jumps(name, camera):
    assert jump_size(scenes.make(name, SHAPE, camera)) > 0.03


def test_step_grows_from_nothing(camera):
    """Above the closed end there is no jump; below, it grows to the stated height, and normals stay close."""
    scene = scenes.step((200, 250), camera, height=0.15)
    unit = 1 if camera == "perspective" else scene.camera.pixel_size / 4
    jumps = np.abs(residuals(scene)).reshape(200, 249).max(axis=1) * unit
    assert jumps[:68].max() < 1e-4
    assert (np.diff(jumps[80:]) > 0).all()
    assert jumps[-1] == pytest.approx(0.15, rel=0.05)
    tail, head = pairs(scene, 0, 1)
    turned = angles(scene.normals[tail], scene.normals[head]).reshape(200, 249).max(axis=1)
    assert turned[90] < 8
    assert jumps[90] > 20 * jumps[:68].max()


def test_ramp_hides_its_jumps(camera):
    """The jump between turns is 8 %, the normals across it differ by about the 2.5° asked for."""
    scene = scenes.ramp((256, 320), camera, dish=2.5)
    unit = 1 if camera == "perspective" else scene.camera.pixel_size / 4
    across = np.abs(all_residuals(scene)) * unit > 0.04
    turned = np.concatenate(
        [angles(scene.normals[a], scene.normals[b]) for a, b in (pairs(scene, 0, 1), pairs(scene, 1, 0))]
    )
    assert np.median(np.abs(all_residuals(scene))[across] * unit) == pytest.approx(0.08, rel=0.02)
    assert np.median(turned[across]) == pytest.approx(2.5, rel=0.15)
    assert turned[across].max() < 3.5
    assert np.median(turned[~across]) < 0.2


def test_hidden_jumps_lie_in_one_connected_surface(camera):
    """Round every hidden jump there is a way without jumps: cutting the edges that jump leaves one piece."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    for name in HIDDEN:
        scene = scenes.make(name, (128, 160), camera)
        number = np.cumsum(scene.mask.ravel()).reshape(scene.shape) - 1
        unit = 1 if camera == "perspective" else scene.camera.pixel_size / 4
        tails, heads = [], []
        for step in ((0, 1), (1, 0)):
            tail, head = pairs(scene, *step)
            joined = np.abs(residuals(scene, *step)) * unit < 0.01
            tails.append(number[tail][joined])
            heads.append(number[head][joined])
        i, j = np.concatenate(tails), np.concatenate(heads)
        graph = coo_matrix((np.ones(len(i)), (i, j)), shape=(scene.mask.sum(),) * 2)
        _, labels = connected_components(graph, directed=False)
        assert np.bincount(labels).max() > 0.97 * scene.mask.sum(), name


def test_islands_are_six(camera):
    from scipy.ndimage import label

    assert label(scenes.islands(SHAPE, camera).mask, np.ones((3, 3)))[1] == 6


def test_stairs_from_above_show_treads_of_equal_normals(camera):
    scene = scenes.stairs(SHAPE, camera, view="above")
    tail, head = pairs(scene, 1, 0)
    equal = angles(scene.normals[tail], scene.normals[head]) < 1e-6
    assert (np.abs(residuals(scene, 1, 0)[equal]) > 0.01).sum() > 100
    with pytest.raises(ValueError, match="front, above, side"):
        scenes.stairs(view="below")


def test_textured_room_keeps_contact(camera):
    """The relief belongs to space: it moves every depth by less than its height and tears nothing open."""
    bare, rough = scenes.room(SHAPE, camera), scenes.textured_room(SHAPE, camera, tilt=8, grain=1.5)
    assert np.nanmax(np.abs(rough.depth - bare.depth)) < 4 * 0.5 * np.tan(np.radians(8)) * 1.5 / 0.7
    assert np.median(np.abs(all_residuals(rough))) < (1e-5 if camera == "perspective" else 1e-12)
    assert np.median(angles(rough.normals, bare.normals)[rough.mask & bare.mask]) > 1


def test_noise_has_the_stated_size():
    clean = scenes.sphere((256, 320))
    for degrees in (0.5, 2.0):
        noisy = clean.with_noise(degrees, seed=3)
        turned = angles(clean.normals, noisy.normals)[clean.mask]
        assert np.sqrt(np.mean(turned**2)) == pytest.approx(degrees, rel=0.02)
        drift = (noisy.normals - clean.normals)[clean.mask].mean(axis=0)
        assert np.linalg.norm(drift) < 0.02 * np.radians(degrees) + np.radians(degrees) ** 2
        np.testing.assert_allclose(np.linalg.norm(noisy.normals[clean.mask], axis=-1), 1, atol=1e-12)
        assert noisy.depth is clean.depth
    np.testing.assert_array_equal(noisy.normals, clean.with_noise(2.0, seed=3).normals)
    assert not np.array_equal(noisy.normals, clean.with_noise(2.0, seed=4).normals, equal_nan=True)
    np.testing.assert_allclose(clean.with_noise(0).normals, clean.normals, atol=1e-15)
    with pytest.raises(ValueError, match="degrees=-1"):
        clean.with_noise(-1)


@pytest.mark.parametrize("bits", [8, 16])
def test_quantised_error_is_bounded(bits):
    """Each channel is off by at most half a level, so the vector by √3/(2^bits − 1)."""
    clean = scenes.bumps(SHAPE)
    coarse = clean.quantised(bits)
    error = np.radians(angles(clean.normals, coarse.normals))
    assert 0 < error.max() < 1.01 * np.sqrt(3) / (2**bits - 1)
    np.testing.assert_allclose(np.linalg.norm(coarse.normals, axis=-1), 1, atol=1e-12)
    with pytest.raises(ValueError, match="bits=1"):
        clean.quantised(1)


@pytest.mark.parametrize("name", ["room", "occlusions", "tube"])
def test_is_deterministic_and_resolution_keeps_the_view(name, camera):
    scene, again = (scenes.make(name, SHAPE, camera) for _ in range(2))
    np.testing.assert_array_equal(scene.normals, again.normals)
    np.testing.assert_array_equal(scene.depth, again.depth)
    fine = scenes.make(name, (SHAPE[0] * 3, SHAPE[1] * 3), camera)  # centres of the coarse pixels are in it
    np.testing.assert_array_equal(fine.mask[1::3, 1::3], scene.mask)
    near = np.abs(fine.depth[1::3, 1::3] - scene.depth)[scene.mask] < 1e-9
    assert near.mean() > 0.999  # a ray along an edge may fall to either side


def test_cameras_are_interchangeable():
    """A pinhole, the same as a matrix, and the same as a ray map see the same."""
    pinhole = Pinhole.from_fov(50, SHAPE)
    seen = scenes.room(SHAPE, pinhole)
    assert seen.camera is pinhole
    np.testing.assert_allclose(scenes.room(SHAPE).depth, seen.depth, rtol=1e-12)
    np.testing.assert_allclose(scenes.room(SHAPE, RayMap(pinhole.rays(SHAPE))).depth, seen.depth, rtol=1e-12)
    fisheye = scenes.boxes(SHAPE, RayMap.fisheye(200, SHAPE))
    assert 0.3 < fisheye.mask.mean() < 1


def test_pixel_size_sets_the_unit():
    one, two = (scenes.step(SHAPE, Orthographic(size)) for size in (1.0, 2.0))
    np.testing.assert_allclose(two.depth, 2 * one.depth, rtol=1e-12)
    np.testing.assert_allclose(two.normals, one.normals)
    np.testing.assert_allclose(one.camera.potential(one.depth), two.camera.potential(two.depth), rtol=1e-12)


@pytest.mark.parametrize("name", ["bumps", "room", "torus"])
def test_small_field_of_view_tends_to_orthographic(name):
    far, parallel = scenes.make(name, SHAPE, fov=1), scenes.make(name, SHAPE, "orthographic")
    assert far.camera.fx == pytest.approx(SHAPE[1] / 2 / np.tan(np.radians(0.5)))
    both = far.mask & parallel.mask
    assert both.sum() > 0.97 * parallel.mask.sum()
    assert np.median(angles(far.normals, parallel.normals)[both]) < 1


@pytest.mark.parametrize("name", scenes.names())
@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (3, 2), (200, 7)])
def test_odd_shapes_work_or_say_why_not(name, shape, camera):
    try:
        scene = scenes.make(name, shape, camera)
    except ValueError as error:
        assert "shape=" in str(error)  # noqa: PT017
        assert name in str(error)  # noqa: PT017
    else:
        assert scene.mask.shape == shape
        assert scene.mask.any()


def test_errors_name_the_remedy():
    with pytest.raises(ValueError, match=r"'rooom' is not a scene; use one of .*room.*tube"):
        scenes.make("rooom")
    with pytest.raises(ValueError, match="it understands shape, camera, fov, radius"):
        scenes.make("sphere", size=3)
    with pytest.raises(ValueError, match="'perspective', 'orthographic'"):
        scenes.make("plane", camera="pinhole")
    with pytest.raises(ValueError, match="fov=0"):
        scenes.make("plane", fov=0)
    for shape in ((0, 3), 7, (3, 4, 5), "no"):
        with pytest.raises(ValueError, match="shape="):
            scenes.make("plane", shape)
    for name, wrong in (
        ("stairs", {"steps": 0}),
        ("stairs", {"steps": 2.5}),
        ("ramp", {"turns": -1}),
        ("ramp", {"turns": 0}),
    ):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}={next(iter(wrong.values()))} must be"):
            scenes.make(name, (12, 16), **wrong)


@pytest.mark.parametrize("kind", scenes.TEXTURES)
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (3, 3), (6, 6), (8, 8)])
def test_textures_of_few_pixels_work_or_say_why_not(kind, shape):
    try:
        scene = scenes.texture(kind, shape=shape)
    except ValueError as error:
        assert "shape=" in str(error)  # noqa: PT017
        assert kind in str(error)  # noqa: PT017
        assert min(shape) < 8
    else:
        assert np.isfinite(scene.normals).all()
        assert np.ptp(scene.depth) == pytest.approx(0.05 * min(shape))


def test_registry_holds_the_public_functions():
    for name in scenes.names():
        assert getattr(scenes, name) is scenes.SCENES[name]
        assert list(inspect.signature(scenes.SCENES[name]).parameters)[:3] == ["shape", "camera", "fov"]
        assert name in scenes.__all__
