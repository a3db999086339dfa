"""Blurred edges are made sharp in scenes with faces; maps with sharp edges stay as they are, to the bit."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from quotientgraph import QuotientGraph, integrate, scenes
from quotientgraph.bench.degrade import degraded
from quotientgraph.beyond.plugging import prepared
from quotientgraph.beyond.sharpening import calm_if_blurred, sharpened, windows
from quotientgraph.metrics import relative_error
from quotientgraph.settings import BEST, PAPER


def graph_of(scene, **settings):
    return QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", check=False, **settings)


def error_of(scene, result):
    return 100 * relative_error(result.depth, scene.depth, offset=not scene.camera.central)


def two_faces(turn=0.0):
    """Normals of two planes on two sides of an edge across the image, turned by so many degrees from that of a crease."""
    v, u = np.mgrid[0:60, 0:80] - np.array([30.0, 40.0])[:, None, None]
    left = u * np.cos(np.radians(turn)) + v * np.sin(np.radians(turn)) < 0.5
    normals = np.where(left[..., None], [0.6, 0.0, -0.8], [-0.6, 0.0, -0.8])
    return scenes.Scene("edge", normals, np.ones(left.shape, bool), np.zeros(left.shape), None, "")


class TestBlurredMaps:
    @pytest.mark.parametrize("turn", [20, 45, 90])
    @pytest.mark.parametrize("pixels", [0.8, 1.5, 2.5])
    def test_an_edge_comes_back_where_it_was(self, turn, pixels):
        """Every pixel gets the normal of its own face, except for few on the very edge, and at its ends."""
        scene = two_faces(turn)
        graph = QuotientGraph.from_normals(scene.blurred(pixels).normals, frame="opencv")
        found = sharpened(graph)
        seen = found.pixels.map
        right = np.abs(seen.normals - scene.normals.reshape(-1, 3)[seen.position]).max(axis=1) < 0.02
        assert right.mean() > 0.98
        assert found.n_components == 2
        assert found.formed_by_preset
        assert seen.sharpened > 0.02

    @pytest.mark.parametrize(("kind", "seed"), [("heap", 0), ("figures", 0), ("curved", 1), ("closed_room", 1)])
    def test_depth_is_nearly_that_of_sharp_normals(self, kind, seed):
        """Scenes of *tune* whose error grew by two thirds and more with the edges left blurred."""
        scene = scenes.random(kind, seed)
        soft = scene.blurred(1.0)
        how = (soft.normals, soft.mask, soft.camera, "opencv")
        found, left = integrate(*how, check=False), integrate(*how, check=False, sharpening="none")
        assert error_of(scene, found) < 0.6 * error_of(scene, left)
        assert any("blurred or rounded" in text and 'sharpening="none"' in text for text in found.warnings)
        assert left.graph.pixels.map.sharpened == 0

    def test_a_saved_graph_remembers(self, tmp_path):
        graph = sharpened(graph_of(scenes.random("heap", 0, shape=(120, 160)).blurred(1.5)))
        graph.save(tmp_path / "sharp.qg")
        again = QuotientGraph.load(tmp_path / "sharp.qg")
        assert again.pixels.map.sharpened == graph.pixels.map.sharpened > 0

    def test_components_of_ones_own_are_left_alone(self):
        soft = scenes.random("heap", 0, shape=(120, 160)).blurred(1.5)
        for graph in (graph_of(soft, angle=2.0), graph_of(soft).contract([0, 1])):
            assert prepared(graph, BEST)[0] is graph
        assert prepared(graph_of(soft), PAPER)[0].pixels.map.sharpened == 0
        assert prepared(graph_of(soft), replace(BEST, sharpening="none"))[0].pixels.map.sharpened == 0
        assert prepared(graph_of(soft), BEST)[0].pixels.map.sharpened > 0

    def test_normals_face_the_camera(self):
        soft = scenes.random("figures", 0, shape=(150, 200)).blurred(2.0)
        assert (sharpened(graph_of(soft)).pixels.map.facing < 0).all()


class TestSharpMaps:
    @pytest.mark.parametrize("kind", scenes.KINDS)
    @pytest.mark.parametrize("degradation", ["", "bits=8", "noise=1", "noise=2", "bias=3"])
    def test_sharp_edges_are_known(self, kind, degradation):
        scene = degraded(scenes.random(kind, 0, shape=(150, 200)), degradation)
        assert sharpened(graph_of(scene)) is None

    @pytest.mark.parametrize("name", ["sphere", "torus", "bumps", "tube", "plane"])
    def test_smooth_surfaces_have_no_edges_to_sharpen(self, name):
        """Where nothing is flat it is not asked; the edges of a limb would not count as blurred either."""
        graph = graph_of(scenes.make(name, shape=(96, 128)))
        assert prepared(graph, BEST)[0] is graph

    @pytest.mark.parametrize("bevel", [2, 4, 10])
    def test_edges_of_one_surface_may_be_rounded(self, bevel):
        """Bricks with rounded edges: jumps add up to zero around all loops, so the ramps are part of the surface."""
        v, u = np.mgrid[:160, :240].astype(float)
        x, y = (u + 20 * (v // 40 % 2)) % 80, v % 40
        inside = np.minimum(np.minimum(x - 4, 76 - x), np.minimum(y - 4, 36 - y))
        height = gaussian_filter(6 * np.clip(inside / bevel, 0, 1), 1.0)
        down, right = np.gradient(height)
        normals = np.stack([-right, -down, np.ones_like(height)], axis=-1)
        graph = QuotientGraph.from_normals(normals, frame="directx")
        assert prepared(graph, BEST)[0] is graph

    def test_too_little_to_tell(self):
        for shape in ((1, 1), (1, 30), (30, 1), (3, 3)):
            graph = QuotientGraph.from_normals(np.tile([0.0, 0.0, -1.0], (*shape, 1)), frame="opencv")
            assert sharpened(graph) is None
        assert calm_if_blurred([]) is None
        assert calm_if_blurred([(graph.pixels.map, np.full((4, 5), -1, np.int32))]) is None


@pytest.mark.parametrize("shape", [(300, 400), (1000, 1200), (40, 20000), (4096, 4096)])
def test_windows_lie_inside(shape):
    found = windows(shape)
    assert 1 <= len(found) <= 9
    for rows, columns in found:
        assert 0 <= rows.start < rows.stop
        assert 0 <= columns.start < columns.stop <= shape[1]


def test_maps_in_tiles_say_that_they_are_not_sharpened(tmp_path):
    """In tiles edges stay blurred; where memory would make them sharp, the report says so, unless the user wants it so."""
    pytest.importorskip("zarr")
    from quotientgraph import scale

    soft = scenes.random("heap", 0, shape=(150, 200), camera="pinhole").blurred(1.5)
    how = {"camera": soft.camera, "frame": "opencv", "tile": 64, "workers": 1}
    _, report = scale.integrate(soft.normals, soft.mask, out=tmp_path / "a.zarr", **how)
    assert not report.as_in_memory
    assert any('sharpening="none"' in text for text in report.warnings)
    _, report = scale.integrate(soft.normals, soft.mask, out=tmp_path / "b.zarr", sharpening="none", **how)
    assert not any("sharpening" in text for text in report.warnings)
