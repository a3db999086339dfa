"""Parts of a turned body that hide one another are placed by the axis that they share; nothing else is moved."""

import numpy as np
import pytest

from quotientgraph import Pinhole, QuotientGraph, RayMap, integrate, scenes
from quotientgraph.bench.coarse_depths import coarse_depth
from quotientgraph.beyond.coaxial import SharedAxis
from quotientgraph.beyond.confidence import confidence
from quotientgraph.beyond.prior.bodies import Bodies
from quotientgraph.beyond.turned_parts import TurnedParts, n_sample
from quotientgraph.metrics import made
from quotientgraph.scenes.render import Solids, render
from quotientgraph.scenes.round_solids import Frustum, Rounded
from quotientgraph.scenes.scene import Scene
from quotientgraph.scenes.solids import Ball, turned
from quotientgraph.settings import BEST, PAPER

SHAPE = (200, 200)


def goblet(camera="perspective", beside=0.0, lean=0.0, fov=25.0, bowl=(0.8, 0.8, 0.55), before=0.0):
    """A bowl on a stem on a foot, seen from above.

    The bowl may stand `beside` the axis or `before` it, as seen from the camera, or `lean` by some degrees.
    """
    parts = [
        Rounded((beside, -before, 2.0), bowl, 2.0, turned(lean, "y")),
        Frustum((0.0, 0.0, 1.0), 0.16, 0.1, 1.5),
        Rounded((0.0, 0.0, 0.2), (0.6, 0.6, 0.25), 2.0),
    ]
    model = Solids(parts, eye=(0.0, -3.4, 3.9), target=(0.0, 0.0, 1.3))
    normals, mask, depth, seen_by = render(model, SHAPE, camera, fov)
    return Scene("goblet", normals, mask, depth, seen_by, "a goblet")


def integrated(scene, **settings):
    return integrate(scene.normals, scene.mask, scene.camera, "opencv", check=False, **settings)


def error(result, scene):
    """Mean absolute error in parts of the height of the goblet."""
    return made(result.depth, scene.depth, offset=not scene.camera.central) / 2.5


def was_moved(result):
    return any("axis of revolution" in text for text in result.warnings)


def sample(surface, n, seed=0):
    """Points and normals of n parts, each drawn at random from a surface given as a function of two numbers in 0 … 1."""
    random = np.random.default_rng(seed)
    points, normals = surface(*random.random((2, n, n_sample())))
    return np.stack(points, axis=-1), np.stack(normals, axis=-1)


def barrel(u, v, axis=(0.3, -0.2, 9.0)):
    """The front half of a barrel with a vertical axis, bulging by a quarter of its radius."""
    angle, height = np.pi * (u - 0.5), 2 * v - 1
    radius, slope = 1.0 - 0.25 * height**2, -0.5 * height
    out = np.sin(angle), -np.cos(angle)
    points = axis[0] + radius * out[0], axis[1] + height, axis[2] + radius * out[1]
    length = np.hypot(1.0, slope)
    return points, (out[0] / length, -slope / length, out[1] / length)


def fitted(*surfaces, noise=0.0):
    """The axes of parts, all of the same component."""
    found = [sample(surface, 1, seed) for seed, surface in enumerate(surfaces)]
    points, normals = (np.concatenate(one) for one in zip(*found))
    normals = normals + np.random.default_rng(9).normal(0, noise, normals.shape)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    return TurnedParts.fit(points, normals, np.zeros(points.shape[:2], dtype=np.int32))


class TestAxis:
    @pytest.mark.parametrize(("noise", "degrees"), [(0.0, 1e-3), (0.02, 1.0)])
    def test_a_barrel_has_the_axis_that_it_was_turned_about(self, noise, degrees):
        parts = fitted(barrel, noise=noise)
        direction, moment = parts.line[0, :3], parts.line[0, 3:]
        assert np.degrees(np.arccos(min(abs(direction[1]), 1.0))) < degrees
        point = np.cross(direction, moment) * parts.size[0] + parts.centre[0]
        off = np.array([0.3, 9.0]) - point[[0, 2]]
        assert np.abs(off).max() < np.radians(degrees)
        assert parts.share[0] > (0.99 if noise == 0 else 0.6)

    @pytest.mark.parametrize("noise", [0.0, 0.01, 0.03])
    def test_a_plane_has_none(self, noise):
        """Noise bends a plane in all directions alike, and that is not taken for a shape."""
        parts = fitted(lambda u, v: ((u, v, 5 + 0 * u), (0 * u, 0 * u, 0 * u - 1)), noise=noise)
        assert parts.share[0] == 0

    def test_handles_do_not_matter(self):
        """A quarter of the pixels belongs to another component, which is not turned about the axis."""
        points, normals = sample(barrel, 1)
        labels = (np.arange(n_sample()) % 4 == 0).astype(np.int32)[None]
        other = np.array([0.6, 0.0, -0.8])
        normals[labels == 1] = other
        parts = TurnedParts.fit(points, normals, labels)
        assert abs(parts.line[0, 1]) > 0.9999
        assert 0.7 < parts.share[0] < 0.9


class TestPairs:
    @pytest.mark.parametrize("central", [True, False])
    @pytest.mark.parametrize("shift", [-0.3, 0.0, 0.2])
    def test_two_barrels_on_one_axis_are_brought_together(self, central, shift):
        """The second one is a smaller barrel higher up; moved along its rays by any amount, it is moved back."""

        def upper(u, v):
            (x, y, z), normals = barrel(u, v, (0.6, -0.4, 18.0))
            points = np.array([0.5 * x, 0.5 * y - 1.6, 0.5 * z])
            return (points * np.exp(-shift) if central else points - [[[0]], [[0]], [[shift]]]), normals

        found = SharedAxis.of(fitted(barrel, upper), 0, 1, central)
        assert found.certain
        assert found.shift == pytest.approx(shift, abs=1e-6)

    @pytest.mark.parametrize("change", ["beside", "leaning"])
    @pytest.mark.parametrize("central", [True, False])
    def test_axes_that_differ_are_not_made_one(self, change, central):
        def other(u, v):
            (x, y, z), (a, b, c) = barrel(u, v)
            if change == "beside":
                return (x + 0.2, y - 2, z + 0.5), (a, b, c)
            cos, sin = np.cos(0.15), np.sin(0.15)
            return (cos * x - sin * y, sin * x + cos * y - 2, z), (cos * a - sin * b, sin * a + cos * b, c)

        found = SharedAxis.of(fitted(barrel, other), 0, 1, central)
        assert not found.certain
        assert found.misfit > 0.01

    def test_a_sphere_says_too_little(self):
        """Any line through its centre is an axis of it, so that one more axis goes through it is likely by chance."""

        def ball(u, v):
            angle, height = np.pi * (u - 0.5), 1.6 * v - 0.8
            out = np.sin(angle) * np.sqrt(1 - height**2), height, -np.cos(angle) * np.sqrt(1 - height**2)
            return (0.3 + out[0], out[1] - 2.2, 9 + out[2]), out

        found = SharedAxis.of(fitted(barrel, ball), 0, 1, True)
        assert found.misfit < 0.01
        assert found.chance > 1e-3
        assert not found.certain


class TestGoblets:
    @pytest.mark.parametrize(
        "camera",
        ["perspective", "orthographic", RayMap(Pinhole(450, 450, 99.5, 99.5).rays(SHAPE)), Pinhole(430, 460, 90, 110)],
    )
    def test_stem_and_foot_are_placed_under_the_bowl(self, camera):
        scene = goblet(camera)
        glued, found = integrated(scene, axes="none"), integrated(scene)
        assert error(glued, scene) > 0.02
        assert error(found, scene) < 0.1 * error(glued, scene)
        assert was_moved(found)
        assert not was_moved(glued)
        assert any('axes="none"' in text for text in found.warnings)

    def test_what_an_axis_placed_is_held(self):
        """The pairs of pixels that an axis ties count in the confidence, as known depths do."""
        scene = goblet()
        found = integrated(scene)
        assert len(found.settled) >= 1
        first = found.levels[0]
        a, b = np.array(found.settled).T
        assert (first.labels[a] != first.labels[b]).all()
        held, loose = (confidence(first, found.potential, settled=ties) for ties in (found.settled, ()))
        assert held[first.labels[b[0]]] > 2 * loose[first.labels[b[0]]]

    def test_noise_is_survived(self):
        scene = goblet().with_noise(1, seed=3)
        assert error(integrated(scene), scene) < 0.3 * error(integrated(scene, axes="none"), scene)

    @pytest.mark.parametrize("scene", [goblet(beside=0.15), goblet(lean=8), goblet(bowl=(0.8, 0.55, 0.55))])
    def test_bowls_that_are_not_on_the_axis_are_left_alone(self, scene):
        """A bowl that stands beside the axis, leans, or is not turned: nothing is moved, to the last bit."""
        found, plain = integrated(scene), integrated(scene, axes="none")
        assert not was_moved(found)
        assert np.array_equal(found.potential, plain.potential)
        assert found.settled == ()

    def test_the_published_method_knows_no_axes(self):
        assert (BEST.axes, PAPER.axes) == ("shared", "none")
        scene = goblet()
        assert not was_moved(integrated(scene, preset="paper"))
        assert not was_moved(integrated(scene, merge_every=5))

    def test_anchors_come_first(self):
        """With anchors on a body without faces nothing is moved by axes."""
        scene = goblet()
        row, column = (int(one[len(one) // 2]) for one in np.nonzero(scene.mask))
        assert not was_moved(integrated(scene, anchors=[(column, row, float(scene.depth[row, column]))]))

    def test_two_of_them_side_by_side(self):
        """Two goblets in one picture, in two pieces: each is put together, and the pieces stay apart."""
        one = goblet("orthographic")
        normals, mask = (np.concatenate([image] * 2, axis=1) for image in (one.normals, one.mask))
        found = integrate(normals, mask, one.camera, "opencv", check=False)
        assert found.n_pieces == 2
        assert was_moved(found)
        for half in (slice(0, 200), slice(200, 400)):
            assert made(found.depth[:, half], one.depth, offset=True) < 0.01


class TestPriors:
    @pytest.mark.parametrize("fov", [25.0, 10.0])
    @pytest.mark.parametrize("seed", [0, 1])
    def test_a_bent_prior_does_not_take_a_body_apart(self, fov, seed):
        """From afar a smooth error of 5 % is more than a goblet is deep; its parts stay where their axis puts them."""
        scene = goblet(fov=fov)
        prior = scene.coarse_depth(seed=seed)
        found, plain = integrated(scene, prior=prior), integrated(scene, prior=prior, axes="none")
        assert error(found, scene) < 0.1 * min(error(plain, scene), made(prior, scene.depth) / 2.5)
        assert error(found, scene) < 0.004
        assert was_moved(found)
        assert found.settled == integrated(scene).settled

    def test_points_do_not_take_it_apart_either(self):
        scene = goblet(fov=10.0)
        points = np.where(np.random.default_rng(0).random(SHAPE) < 0.02, scene.coarse_depth(blur=0, bend=0), np.nan)
        found, plain = integrated(scene, prior=points), integrated(scene, prior=points, axes="none")
        assert error(found, scene) < 0.1 * error(plain, scene)

    def test_a_precise_prior_is_not_held_back(self):
        scene = goblet()
        prior = scene.coarse_depth(blur=0, bend=0, noise=0.01)
        assert error(integrated(scene, prior=prior), scene) < 1.05 * error(integrated(scene), scene)

    def test_a_prior_that_plainly_says_otherwise_wins(self):
        """A bowl that hangs before a stem on the same line of sight looks like a goblet; the prior knows better."""
        scene = goblet(before=1.0)
        alone = integrated(scene)
        found = integrated(scene, prior=scene.coarse_depth(blur=0, bend=0, noise=0.01))
        assert was_moved(alone)
        assert error(found, scene) < 0.05 * error(alone, scene)
        assert not was_moved(found)
        assert found.settled == ()

    @pytest.mark.parametrize("make", ["realistic", "lidar"])
    def test_nothing_changes_where_nothing_is_coaxial(self, make):
        scene = goblet(lean=8)
        prior = coarse_depth(scene, make)
        one, other = (integrated(scene, prior=prior, axes=axes) for axes in ("shared", "none"))
        assert np.array_equal(one.potential, other.potential)

    def test_parts_are_tied_and_leave_as_a_whole(self):
        """Two parts of two components each make a body; when one part leaves, its components stay together."""
        bodies = Bodies(np.array([7, 8, 2, 7, 8]), np.array([20, 20, 2, 20, 20]))
        none = np.zeros(0, dtype=np.int32)
        assert bodies.united(none, none).tolist() == [0, 0, 1, 0, 0]
        left = bodies.without(np.array([True, False, False, True, False]))
        assert left.united(none, none).tolist() == [0, 1, 2, 0, 1]
        assert left.united(np.array([1]), np.array([2])).tolist() == [0, 1, 1, 0, 1]


class TestElsewhere:
    @pytest.mark.parametrize(
        "name", ["room", "stairs", "boxes", "torus", "sphere", "spheres", "plane", "occlusions", "tube"]
    )
    @pytest.mark.parametrize("camera", ["perspective", "orthographic"])
    def test_nothing_changes(self, name, camera):
        scene = scenes.make(name, shape=(120, 160), camera=camera)
        assert np.array_equal(integrated(scene).potential, integrated(scene, axes="none").potential)

    def test_balls_one_before_the_other(self):
        model = Solids([Ball((0, 0, 0), 1.0), Ball((0.3, 3.0, 0.6), 1.4)], eye=(0, -7, 1.0), target=(0, 0, 0.3))
        normals, mask, depth, camera = render(model, SHAPE, "perspective", 40)
        scene = Scene("balls", normals, mask, depth, camera, "two balls")
        assert not was_moved(integrated(scene))

    @pytest.mark.parametrize("shape", [(1, 1), (1, 40), (3, 3), (20, 20)])
    def test_small_maps(self, shape):
        random = np.random.default_rng(1)
        normals = random.normal(size=(*shape, 3)) * [1, 1, 0.2] - [0, 0, 1]
        found = QuotientGraph.from_normals(normals, frame="opencv", check=False).optimize()
        assert np.isfinite(found.potential).all()

    def test_tiles_that_wrap_and_panoramas(self):
        texture = scenes.texture("waves", (64, 64))
        assert not was_moved(integrate(texture.normals, None, texture.camera, "opencv", wrap="both", check=False))
        panorama = scenes.make("room", shape=(64, 128), camera=RayMap.equirectangular((64, 128)))
        assert not was_moved(integrated(panorama))


class TestTiles:
    def integrated(self, scene, folder, **settings):
        scale = pytest.importorskip("quotientgraph.scale")
        pytest.importorskip("pyarrow.parquet")
        pytest.importorskip("zarr")
        how = {"frame": "opencv", "tile": 104, "workers": 1, "out": folder / "depth.zarr", **settings}
        depth, report = scale.integrate(scene.normals, scene.mask, scene.camera, **how)
        return depth.compute(), report, [text for text in report.warnings if 'axes="none"' in text]

    @pytest.mark.parametrize("camera", ["perspective", "orthographic"])
    def test_what_memory_would_place_by_an_axis_is_told(self, tmp_path, camera):
        """Tiles do not look for axes; a warning says so and how to ask for that."""
        scene = goblet(camera)
        depth, report, told = self.integrated(scene, tmp_path)
        assert made(depth, scene.depth, offset=not scene.camera.central) / 2.5 > 10 * error(integrated(scene), scene)
        assert not report.as_in_memory
        assert len(told) == 1
        depth, report, told = self.integrated(scene, tmp_path, axes="none", overwrite=True)
        assert np.allclose(depth, integrated(scene, axes="none").depth, rtol=1e-3, atol=0.1, equal_nan=True)
        assert report.as_in_memory
        assert not told

    def test_a_part_of_a_picture_is_enough(self, tmp_path):
        """Islands, of which two lie on one axis."""
        scene = scenes.make("islands", (150, 210))
        assert was_moved(integrated(scene))
        _, report, told = self.integrated(scene, tmp_path)
        assert (report.as_in_memory, len(told)) == (False, 1)

    @pytest.mark.parametrize(
        "scene",
        [
            goblet(beside=0.15),
            goblet(lean=8),
            goblet(bowl=(0.8, 0.55, 0.55)),
            *(scenes.make(name, (120, 160)) for name in ("boxes", "torus", "spheres", "tube")),
        ],
        ids=["beside", "lean", "elliptic", "boxes", "torus", "spheres", "tube"],
    )
    def test_nothing_is_told_where_memory_moves_nothing(self, tmp_path, scene):
        """Bowls that are not on the axis, and scenes without a turned body that hides a part of itself."""
        assert not was_moved(integrated(scene))
        _, report, told = self.integrated(scene, tmp_path)
        assert report.as_in_memory
        assert not told

    @pytest.mark.parametrize("settings", [{"preset": "paper"}, {"merge_every": 5}], ids=["paper", "merging"])
    def test_nothing_is_told_where_memory_does_not_look(self, tmp_path, settings):
        assert not was_moved(integrated(goblet(), **settings))
        _, report, told = self.integrated(goblet(), tmp_path, **settings)
        assert report.as_in_memory
        assert not told
