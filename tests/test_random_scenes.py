"""Random scenes: drawn from their seeds alone, exact in every pixel, of all kinds, and divided once."""

import inspect

import numpy as np
import pytest

from quotientgraph import scenes
from quotientgraph.geometry.camera import Orthographic, Pinhole, RayMap
from quotientgraph.scenes.drawn.things import Floor, Thing, corners_of, overlap
from quotientgraph.scenes.drawn.view import Lens, in_one_piece

SHAPE = (60, 80)
CAMERAS = ("pinhole", "fisheye", "orthographic")
SEEDS = range(2)


@pytest.fixture(params=scenes.KINDS)
def kind(request):
    return request.param


def neighbours(scene):
    """Index pairs of all horizontal and vertical pairs of valid neighbours."""
    for down, right in ((0, 1), (1, 0)):
        both = scene.mask[: scene.shape[0] - down, : scene.shape[1] - right] & scene.mask[down:, right:]
        v, u = np.nonzero(both)
        yield (v, u), (v + down, u + right)


def test_the_seed_decides(kind):
    one, again, other = (scenes.random(kind, seed, SHAPE) for seed in (5, 5, 6))
    np.testing.assert_array_equal(one.normals, again.normals)
    np.testing.assert_array_equal(one.depth, again.depth)
    assert one.name == f"{kind}-5"
    assert not np.array_equal(one.depth, other.depth, equal_nan=True)


def test_a_finer_image_shows_the_same_view(kind):
    coarse, fine = scenes.random(kind, 1, SHAPE), scenes.random(kind, 1, tuple(3 * n for n in SHAPE))
    again = fine.depth[1::3, 1::3]  # the centres of the coarse pixels
    both = coarse.mask & np.isfinite(again)
    assert both.sum() > 0.999 * coarse.mask.sum()
    assert (np.abs(again - coarse.depth)[both] < 1e-9).mean() > 0.999  # a ray along an edge may fall to either side


@pytest.mark.parametrize("camera", CAMERAS)
def test_is_well_formed(kind, camera):
    """Unit normals that face the camera, positive depths, NaN outside the mask."""
    for seed in SEEDS:
        scene = scenes.random(kind, seed, SHAPE, camera)
        inside = scene.mask
        assert inside.mean() > 0.25
        np.testing.assert_allclose(np.linalg.norm(scene.normals[inside], axis=-1), 1, atol=1e-12)
        assert (scene.depth[inside] > 0).all()
        assert np.isnan(scene.depth[~inside]).all()
        assert np.isnan(scene.normals[~inside]).all()
        assert ((scene.normals * scene.camera.rays(SHAPE)).sum(axis=-1)[inside] < 0).all()
        assert kind in scene.description
        assert camera in scene.description


def test_pixels_of_one_face_lie_in_one_plane(kind):
    """Neighbours with equal normals lie in one plane to rounding, or clearly in two."""
    for seed in SEEDS:
        scene = scenes.random(kind, seed, (120, 160))
        offset = (scene.normals * scene.camera.points(scene.depth)).sum(axis=-1)
        planar = 0
        for a, b in neighbours(scene):
            same = np.abs(scene.normals[a] - scene.normals[b]).max(axis=-1) < 1e-12
            gap = np.abs(offset[a] - offset[b])[same]
            assert ((gap < 1e-9) | (gap > 1e-5)).all()
            planar += (gap < 1e-9).sum()
        assert planar > 0.2 * scene.mask.sum()


@pytest.mark.parametrize("camera", CAMERAS)
def test_normals_are_derivatives_of_the_depth(kind, camera):
    """The chord of two neighbours on one smooth surface is perpendicular to the mean normal, to second order."""
    scene = scenes.random(kind, 2, (240, 320), camera)
    points = scene.camera.points(scene.depth)
    wrong, count = 0, 0
    for a, b in neighbours(scene):
        n_a, n_b, chord = scene.normals[a], scene.normals[b], points[b] - points[a]
        turn = np.linalg.norm(n_a - n_b, axis=-1)
        slope = (chord * (n_a + n_b)).sum(axis=-1) / (2 * np.linalg.norm(chord, axis=-1))
        smooth = turn < np.radians(3)
        wrong += (np.abs(slope[smooth]) > 1e-12 + 0.3 * turn[smooth]).sum()  # also jumps between parallel faces
        count += smooth.sum()
    assert count > 0.7 * scene.mask.sum()
    assert wrong < 0.04 * count


def test_the_camera_can_be_forced(kind):
    """The same place, seen by another camera."""
    types = {"pinhole": Pinhole, "fisheye": RayMap, "orthographic": Orthographic}
    for camera, its_type in types.items():
        assert type(scenes.random(kind, 3, SHAPE, camera).camera) is its_type
    drawn = scenes.random(kind, 3, SHAPE)
    name = next(name for name, its_type in types.items() if type(drawn.camera) is its_type)
    np.testing.assert_array_equal(scenes.random(kind, 3, SHAPE, name).depth, drawn.depth)


def test_cameras_vary():
    """All three kinds of camera are drawn, and pinholes of narrow and wide views."""
    draw = np.random.default_rng(0)
    seen = [Lens.drawn(draw, None).camera((12, 16), 4.0) for _ in range(300)]
    kinds = [type(camera) for camera in seen]
    assert 180 < kinds.count(Pinhole) < 240
    assert 25 < kinds.count(RayMap) < 65
    assert 25 < kinds.count(Orthographic) < 65
    degrees = [2 * np.degrees(np.arctan(8 / c.fx)) for c in seen if isinstance(c, Pinhole)]
    assert 35 <= min(degrees) < 40
    assert 85 < max(degrees) <= 90
    assert {type(scenes.random("heap", seed, (12, 16)).camera) for seed in range(20)} == {Pinhole, RayMap, Orthographic}


def test_scenes_vary(kind):
    """No two seeds give the same share of jumps, depths or faces; objects hide others in most of them."""
    jumps, spans = [], []
    for seed in range(5):
        scene = scenes.random(kind, seed, SHAPE, "pinhole")
        steps = np.concatenate([np.log(scene.depth[b] / scene.depth[a]) for a, b in neighbours(scene)])
        jumps.append(float((np.abs(steps) > 0.1).mean()))
        spans.append(float(np.nanmax(scene.depth) / np.nanmin(scene.depth)))
    assert len(set(np.round(spans, 6))) == 5
    assert np.median(jumps) > 0.005
    assert np.std(jumps) > 0.001


def test_most_of_a_view_hangs_together(kind):
    """Contacts in the image join most of what is seen, so that normals determine most depths."""
    views = [scenes.random(kind, seed, (150, 200)) for seed in range(4)]
    shares = [in_one_piece(view.normals, view.mask, view.depth, view.camera) for view in views]
    assert np.mean(shares) > 0.7


def test_in_one_piece_counts_the_largest():
    assert in_one_piece(*_seen(scenes.plane(SHAPE))) == 1
    assert in_one_piece(*_seen(scenes.boxes(SHAPE))) > 0.95
    islands = scenes.islands(SHAPE)
    assert in_one_piece(*_seen(islands)) < 0.4
    assert in_one_piece(*_seen(scenes.islands(SHAPE, "orthographic"))) < 0.4


def _seen(scene):
    return scene.normals, scene.mask, scene.depth, scene.camera


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (3, 2), (7, 90)])
@pytest.mark.parametrize("camera", CAMERAS)
@pytest.mark.parametrize("kind", ["closed_room", "heap"])
def test_odd_shapes_work(kind, shape, camera):
    scene = scenes.random(kind, 4, shape, camera)
    assert scene.shape == shape
    assert scene.mask.any()


def test_errors_name_the_remedy():
    with pytest.raises(ValueError, match=r"kind='rooom'.*closed_room"):
        scenes.random("rooom", 0)
    for seed in (-1, 1.5, "x", None, True):
        with pytest.raises(ValueError, match="seed="):
            scenes.random("heap", seed)
    with pytest.raises(ValueError, match=r"camera='perspective'.*pinhole"):
        scenes.random("heap", 0, camera="perspective")
    for shape in ((0, 3), 7, (3, 4, 5), "no"):
        with pytest.raises(ValueError, match="shape="):
            scenes.random("heap", 0, shape)


def test_splits_are_disjoint_and_have_all_kinds():
    """Every seed belongs to one split at most; a part of a split has every kind as often."""
    seeds = [seed for split in scenes.SPLITS.values() for seed in split]
    assert len(set(seeds)) == len(seeds)
    assert set(scenes.SPLITS) == {"tune", "validate", "test"}
    for split, its_seeds in scenes.SPLITS.items():
        found = list(scenes.cases(split, 3))
        assert len(found) == 3 * len(scenes.KINDS)
        assert {kind for kind, _ in found[: len(scenes.KINDS)]} == set(scenes.KINDS)
        assert all(seed in its_seeds for _, seed in found)
    with pytest.raises(ValueError, match=r"split='all'.*tune, validate, test"):
        scenes.cases("all")
    with pytest.raises(ValueError, match="per_kind=0"):
        scenes.cases("test", 0)
    with pytest.raises(ValueError, match="'rooms' is not a kind"):
        scenes.cases("test", 1, ("rooms",))


def test_bias_is_smooth_and_of_the_stated_size():
    """It turns normals by the stated angle in root mean square, and neighbours alike."""
    scene = scenes.random("tabletop", 0, (120, 160))
    biased = scene.with_bias(3, seed=1)
    inside = scene.mask
    turn = np.arccos(np.clip((scene.normals * biased.normals).sum(axis=-1)[inside], -1, 1))
    assert np.degrees(np.sqrt(np.mean(turn**2))) == pytest.approx(3, rel=1e-6)
    np.testing.assert_allclose(np.linalg.norm(biased.normals[inside], axis=-1), 1, atol=1e-12)
    moved = biased.normals - scene.normals
    for a, b in neighbours(scene):
        same = np.abs(scene.normals[a] - scene.normals[b]).max(axis=-1) < 1e-12
        assert np.degrees(np.linalg.norm((moved[a] - moved[b])[same], axis=-1)).max() < 0.5
    assert np.isnan(biased.normals[~inside]).all()
    assert biased.depth is scene.depth
    np.testing.assert_array_equal(biased.normals, scene.with_bias(3, seed=1).normals)
    assert not np.array_equal(biased.normals, scene.with_bias(3, seed=2).normals, equal_nan=True)
    np.testing.assert_allclose(scene.with_bias(0).normals, scene.normals, atol=1e-15)
    with pytest.raises(ValueError, match="degrees=-1"):
        scene.with_bias(-1)


def test_coarse_depth_has_each_of_its_errors():
    """Scale, noise, bend and blur, each as large as stated when it is the only one."""
    scene = scenes.random("street", 0, (120, 160))
    inside = scene.mask
    scaled = (scene.coarse_depth(1, blur=0, bend=0, noise=0) / scene.depth)[inside]
    np.testing.assert_allclose(scaled, scaled[0], rtol=1e-12)
    assert 0.5 <= scaled[0] <= 2
    assert scaled[0] != pytest.approx((scene.coarse_depth(2, 0, 0, 0) / scene.depth)[inside][0])
    noisy = (scene.coarse_depth(1, blur=0, bend=0) / scene.depth)[inside] / scaled[0]
    assert np.std(noisy) == pytest.approx(0.02, rel=0.05)
    bent = (scene.coarse_depth(1, blur=0, noise=0) / scene.depth) / scaled[0] - 1
    assert 0.02 < np.nanmax(np.abs(bent)) <= 0.05 + 1e-12
    for a, b in neighbours(scene):
        assert np.abs(bent[a] - bent[b]).max() < 0.01
    blurred = scene.coarse_depth(1, bend=0, noise=0) / scaled[0]
    assert np.nanmin(blurred) >= np.nanmin(scene.depth) - 1e-9  # means over the mask only
    assert np.nanmax(blurred) <= np.nanmax(scene.depth) + 1e-9
    steps = [np.abs(z[:, 1:] - z[:, :-1]) for z in (blurred, scene.depth)]
    assert np.nanmax(steps[0]) < 0.3 * np.nanmax(steps[1])
    prior = scene.coarse_depth(1)
    np.testing.assert_array_equal(np.isfinite(prior), inside)
    np.testing.assert_array_equal(prior, scene.coarse_depth(1))
    for name in ("blur", "bend", "noise"):
        with pytest.raises(ValueError, match=f"{name}=-1"):
            scene.coarse_depth(0, **{name: -1})


def test_coarse_depth_of_a_plane_is_its_depth():
    """A constant depth is not changed by averaging over the mask, however the mask ends."""
    scene = scenes.plane(SHAPE, "orthographic", tilt=0)
    ratio = scene.coarse_depth(0, bend=0, noise=0) / scene.depth
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-12)


def test_rectangles_overlap_only_if_they_do():
    one = corners_of((1.0, 0.5), 0, 0, 0)
    assert overlap(one, corners_of((1.0, 0.5), 1.9, 0, 0))
    assert not overlap(one, corners_of((1.0, 0.5), 2.0, 0, 0))
    assert not overlap(one, corners_of((0.5, 0.5), 1.4, 0.95, 45))  # corner to corner, apart only along the diagonal
    assert overlap(one, corners_of((0.5, 0.5), 1.2, 0.7, 45))


def test_things_on_a_floor_do_not_overlap():
    draw = np.random.default_rng(0)
    floor = Floor((-2, -1), (2, 1))
    floor.scatter(draw, [Thing((), tuple(draw.uniform(0.1, 0.5, size=2)), 1.0) for _ in range(30)])
    assert len(floor.taken) > 8
    for i, one in enumerate(floor.taken):
        assert (np.abs(one) <= (2 + 1e-9, 1 + 1e-9)).all()
        assert not any(overlap(one, other) for other in floor.taken[:i])


def test_public_names():
    assert set(inspect.signature(scenes.random).parameters) == {"kind", "seed", "shape", "camera"}
    for name in ("KINDS", "SPLITS", "cases", "random"):
        assert name in scenes.__all__
