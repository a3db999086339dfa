"""A smooth error of the normals is found by the faces that it bends, and taken out; exact maps stay as they are."""

from dataclasses import replace

import numpy as np
import pytest

from quotientgraph import Orthographic, QuotientGraph, integrate, scenes
from quotientgraph.beyond.certainty import certainty
from quotientgraph.beyond.crease_lines import CreaseLines
from quotientgraph.beyond.flatness import Faces
from quotientgraph.beyond.plugging import prepared
from quotientgraph.beyond.straightening import _applied, _response, _Spline, straightened
from quotientgraph.metrics import relative_error
from quotientgraph.settings import BEST, PAPER


def graph_of(scene, **settings):
    return QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", check=False, **settings)


def degrees_off(graph, scene):
    """Root mean square of the angle between the normals of a graph and those of a scene."""
    seen = graph.pixels.map
    cosine = np.einsum("ij,ij->i", seen.normals, scene.normals.reshape(-1, 3)[seen.position])
    return np.degrees(np.sqrt(np.mean(np.arccos(np.clip(cosine, -1, 1)) ** 2)))


def bowed(bulge):
    """Normals and depth of a pyramid with its tip to the viewer, whose four faces are bowed outwards."""
    v, u = np.mgrid[0:240, 0:320] / 80.0
    v, u = v - 1.4, u - 2.1
    nearest = np.argmax(np.stack([u, -u, v, -v]), axis=0)
    out = np.take(np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]), nearest, axis=0)
    along = u * out[..., 0] + v * out[..., 1]
    slope = (0.8 + bulge * along)[..., None] * out
    normals = np.concatenate([slope, -np.ones((*u.shape, 1))], axis=-1)
    return normals / np.linalg.norm(normals, axis=-1, keepdims=True), 80 * (0.8 * along + 0.5 * bulge * along**2)


class TestField:
    def test_splines_add_up_to_one_everywhere(self):
        field = _Spline((30, 70))
        v, u = np.mgrid[0:30, 0:70]
        np.testing.assert_allclose(field.at(v.ravel(), u.ravel()).sum(axis=1), 1.0, atol=1e-14)

    def test_straight_fields_are_not_rough(self):
        """Coefficients that grow linearly make a linear field, which has no second differences."""
        field = _Spline((48, 64))
        rows, columns = (np.arange(k + 3.0) for k in field.intervals)
        linear = (2 * rows[:, None] - columns).ravel()
        assert abs(linear @ field.roughness() @ linear) < 1e-9

    def test_response_is_a_pull_and_a_turn_at_right_angles_to_the_normal(self):
        random = np.random.default_rng(0)
        n = random.normal(size=(20, 3))
        n /= np.linalg.norm(n, axis=1)[:, None]
        p, t = random.normal(size=(2, 3))
        moved = np.einsum("mij,j->mi", _response(n), np.concatenate([p, t]))
        np.testing.assert_allclose(moved, p - (n @ p)[:, None] * n + np.cross(t, n), atol=1e-12)

    def test_a_normal_that_would_face_away_stays(self):
        seen = graph_of(scenes.make("sphere", shape=(40, 50))).pixels.map
        field = _Spline(seen.shape)
        values = np.zeros((field.n, 6))
        values[:, 0] = 0.3  # everything to the right, by up to 17°
        moved = _applied(seen, field, values.ravel())
        assert (moved.facing < 0).all()
        np.testing.assert_allclose(np.linalg.norm(moved.normals, axis=1), 1.0)
        kept = (moved.normals == seen.normals).all(axis=1)
        assert 0 < kept.sum() < 0.2 * seen.n_pixels


class TestBentRooms:
    @pytest.mark.parametrize("kind", ["pull", "turn"])
    @pytest.mark.parametrize("camera", ["pinhole", "fisheye", "orthographic"])
    def test_most_of_the_error_is_taken_out(self, kind, camera):
        exact = scenes.random("closed_room", 8, shape=(240, 320), camera=camera)
        graph = graph_of(exact.with_bias(3, seed=2, kind=kind))
        found = straightened(graph)
        assert degrees_off(graph, exact) == pytest.approx(3.0, abs=0.01)
        assert degrees_off(found, exact) < 1.5
        assert Faces.of_graph(found).notable
        assert np.array_equal(found.labels, graph.labels)
        assert 2.0 < found.pixels.map.straightened < 4.0
        assert graph.pixels.map.straightened == 0.0

    def test_depth_is_better_and_the_user_is_told(self):
        exact = scenes.random("stairwell", 4, shape=(240, 320), camera="pinhole")
        bent = exact.with_bias(3, seed=2)
        graph = graph_of(bent)
        found, plain = graph.optimize(), graph.optimize(straightening="none")
        off = [relative_error(one.depth, exact.depth) for one in (found, plain)]
        assert off[0] < 0.3 * off[1]
        assert any("smooth error of about" in text and 'straightening="none"' in text for text in found.warnings)
        assert not any("smooth error" in text for text in plain.warnings)
        assert np.array_equal(plain.graph.pixels.map.normals, graph.pixels.map.normals)
        assert np.array_equal(found.potential, graph.optimize().potential)

    def test_the_graph_of_the_result_can_be_kept(self, tmp_path):
        """A saved graph has the straightened normals, and remembers that they are."""
        scene = scenes.random("stairwell", 4, shape=(240, 320), camera="pinhole").with_bias(3, seed=2)
        graph = straightened(graph_of(scene))
        graph.save(tmp_path / "graph.npz")
        again = QuotientGraph.load(tmp_path / "graph.npz")
        assert np.array_equal(again.pixels.map.normals, graph.pixels.map.normals)
        assert again.pixels.map.straightened == graph.pixels.map.straightened > 2

    def test_own_components_stay(self):
        """Labels that a user gives are not formed anew with the straightened normals."""
        bent = scenes.random("closed_room", 8, shape=(240, 320), camera="pinhole").with_bias(3, seed=2)
        labels = graph_of(bent).label_image()
        own = graph_of(bent, labels=np.where(labels < 0, 0, labels))
        straight, joins = prepared(own, BEST)
        assert joins
        assert straight is not own
        assert np.array_equal(straight.labels, own.labels)

    def test_the_published_method_takes_normals_as_they_are(self):
        graph = graph_of(scenes.random("closed_room", 8, shape=(240, 320), camera="pinhole").with_bias(3, seed=2))
        assert prepared(graph, PAPER) == (graph, None)
        assert prepared(graph, replace(BEST, merge_every=5)) == (graph, None)


class TestExactMaps:
    @pytest.mark.parametrize("name", ["room", "stairs", "boxes", "torus", "spheres", "plane", "occlusions", "bumps"])
    def test_nothing_changes(self, name):
        graph = graph_of(scenes.make(name, shape=(120, 160)))
        assert prepared(graph, BEST)[0] is graph

    @pytest.mark.parametrize("worse", [lambda s: s, lambda s: s.with_noise(2, 1), lambda s: s.quantised(8)])
    def test_noise_and_eight_bits_are_no_bend(self, worse):
        graph = graph_of(worse(scenes.random("open_room", 3, shape=(150, 200))))
        assert not Faces.of_graph(graph).bent
        assert prepared(graph, BEST)[0] is graph

    @pytest.mark.parametrize("bulge", [0.1, 0.2, -0.1])
    def test_curved_faces_that_meet_stay_curved(self, bulge):
        """All faces are gently bent and none is flat, and one field would flatten all, but no ridge asks for it."""
        normals, depth = bowed(bulge)
        graph = QuotientGraph.from_normals(normals, None, Orthographic(), "opencv", check=False)
        assert Faces.of_graph(graph).bent
        assert straightened(graph) is None
        result = integrate(normals, None, Orthographic(), "opencv", check=False)
        assert not any("smooth error" in text for text in result.warnings)
        assert relative_error(result.depth, depth, offset=True) < 0.01

    def test_ridges_of_exact_maps_run_where_their_normals_say(self):
        graph = graph_of(scenes.make("boxes", shape=(240, 320)))
        lines = CreaseLines.from_graph(graph)
        assert lines.ridge.sum() >= 5
        assert np.degrees(np.median(np.abs(lines.misses[lines.ridge]))) < 0.3
        bent = scenes.make("boxes", shape=(240, 320)).with_bias(3, seed=1, kind="turn")
        lines = CreaseLines.from_graph(graph_of(bent))
        assert np.degrees(np.median(np.abs(lines.misses[lines.ridge]))) > 0.6


def test_less_is_believed_of_straightened_maps():
    """The same reconstruction is rated with lower confidence if its normals had to be straightened."""
    result = graph_of(scenes.random("stairwell", 4, shape=(120, 160), camera="pinhole")).optimize()
    judged = result.judged
    pixels = judged.graph.pixels
    moved = replace(judged.graph, pixels=replace(pixels, map=replace(pixels.map, straightened=2.0)))
    assert (certainty(replace(judged, graph=moved)) < certainty(judged)).all()


def test_maps_in_tiles_say_that_they_are_not_straightened(tmp_path):
    """In tiles no smooth error is looked for; where memory would, the report says so, unless the user wants it so."""
    pytest.importorskip("zarr")
    from quotientgraph import scale

    bent = scenes.random("stairwell", 4, shape=(96, 128), camera="pinhole").with_bias(3, seed=2)
    how = {"camera": bent.camera, "frame": "opencv", "tile": 64, "workers": 1}
    _, report = scale.integrate(bent.normals, bent.mask, out=tmp_path / "a.zarr", **how)
    assert not report.as_in_memory
    assert any('straightening="none"' in text for text in report.warnings)
    _, report = scale.integrate(bent.normals, bent.mask, out=tmp_path / "b.zarr", straightening="none", **how)
    assert report.as_in_memory
