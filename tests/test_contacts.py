"""Contact: gaps, support, confidence, and the doubts that become warnings."""

import numpy as np
import pytest

from quotientgraph import Pinhole, QuotientGraph, integrate, scenes
from quotientgraph.bench.certainty_fit import area
from quotientgraph.beyond.certainty import certainty, certainty_cues
from quotientgraph.beyond.confidence import confidence
from quotientgraph.beyond.contacts import gaps, resting, support
from quotientgraph.beyond.doubts import doubt
from quotientgraph.metrics import aligned

FLIGHT = {"perspective": ("stairs", {"view": "front"}), "orthographic": ("stairs", {"view": "side"})}


@pytest.fixture(scope="module", params=FLIGHT)
def true_stairs(request):
    """Stairs, which touch nearly everywhere: graph and true potential."""
    name, params = FLIGHT[request.param]
    scene = scenes.make(name, (128, 160), request.param, **params)
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=2.0)
    return graph, scene.camera.potential(scene.depth).ravel()[graph.pixels.map.position]


def test_surfaces_that_touch_lie_in_the_interval(true_stairs):
    """At the true depth nearly all edges between stairs have no gap, though their residuals are far from zero."""
    graph, potential = true_stairs
    assert np.mean(gaps(graph, potential) < 0.02) > 0.85
    assert np.mean(np.abs(graph.residual(potential)) * graph.pixels.focal_at(graph.cut) < 0.02) < 0.5


def test_a_gap_is_what_the_residual_exceeds_the_interval_by(true_stairs):
    """Far from contact the gap and the residual differ by at most the width of the interval."""
    graph, potential = true_stairs
    moved = potential + 0.5 * np.ptp(potential) * (graph.labels % 2)
    apart = graph.labels[graph.pixels.tail] % 2 != graph.labels[graph.pixels.head] % 2
    edges = np.flatnonzero(apart)
    gap = gaps(graph, moved, edges)
    size = np.abs(graph.residual(moved, edges)) * graph.pixels.focal_at(edges)
    assert (gap <= size + 1e-9).all()
    assert np.median(gap / size) > 0.9


def test_confidence_is_high_where_many_edges_fit_and_low_where_none_do(true_stairs):
    """At the truth all large components are held; one that is moved off by itself is not."""
    graph, potential = true_stairs
    large = np.bincount(graph.labels) > 200
    held = confidence(graph, potential)
    assert ((held >= 0) & (held <= 1)).all()
    assert np.median(held[large]) > 0.7
    one = np.flatnonzero(large)[np.argmax(held[large])]
    off = confidence(graph, potential + np.where(graph.labels == one, 0.3 * np.ptp(potential), 0))
    assert off[one] < 0.5 * held[one]


def test_one_component_is_sure(toy):
    """Where there is nothing to align, the confidence is 1."""
    result = integrate(**toy("plane").arguments)
    assert np.nanmin(result.confidence) == 1.0
    assert result.confidence.shape == result.depth.shape


def test_support_falls_with_the_gap():
    """No gap: 1; a third of a pixel: ½; many pixels: nothing."""
    s = support(np.array([0.0, 0.377, 40.0]))
    np.testing.assert_allclose(s, [1, 0.5, 0], atol=1e-4)


def test_what_hangs_on_too_little_is_said(true_stairs):
    """A component without confidence gives a sentence with its share, its place and what it hangs on; none gives None."""
    graph, potential = true_stairs
    assert doubt(graph, potential, np.ones(len(potential)), 0.5) is None
    size = np.bincount(graph.labels)
    largest = graph.labels == size.argmax()
    text = doubt(graph, potential, np.where(largest, 0.0, 1.0), 0.5)
    n_borders, length = resting(graph, potential, largest)
    assert n_borders >= 1
    assert f"{100 * size.max() / size.sum():.0f} % of the pixels" in text
    assert f"border{'s' if n_borders > 1 else ''} of {length} px" in text


def test_a_part_rests_on_the_borders_that_touch(true_stairs):
    """At the truth a component rests on most of its outline; moved off by itself, on hardly anything."""
    graph, potential = true_stairs
    inside = graph.labels == np.bincount(graph.labels).argmax()
    labels = graph.label_image()
    image = labels == labels.ravel()[graph.pixels.map.position[inside][0]]
    outline = np.count_nonzero(image[1:] != image[:-1]) + np.count_nonzero(image[:, 1:] != image[:, :-1])
    _, length = resting(graph, potential, inside)
    _, off = resting(graph, potential + np.where(inside, 0.5 * np.ptp(potential), 0), inside)
    assert 0.4 * outline < length <= outline
    assert off < 0.1 * length


def test_a_disc_in_front_of_a_wall_is_doubted():
    """A tilted disc whose border fits nowhere for long: the result warns. The paper's preset says nothing of it."""
    v, u = np.indices((96, 120))
    disc = (u - 60) ** 2 + (v - 48) ** 2 < 30**2
    tilted = np.array([0.6, 0.3, -np.sqrt(1 - 0.45)])
    normals = np.where(disc[..., None], tilted, [0.0, 0.0, -1.0])
    view = {"camera": Pinhole.from_fov(50, disc.shape), "frame": "opencv", "check": False}
    result = integrate(normals, joining="none", **view)
    (text,) = [text for text in result.warnings if "is a guess" in text]
    assert "the part in the middle, 24 % of the pixels, hangs on" in text
    assert np.median(result.confidence[disc]) < 0.05
    assert not any("is a guess" in text for text in integrate(normals, preset="paper", **view).warnings)
    settled = result.settle(contacts=[((60, 18), (60, 19))])
    assert np.median(settled.confidence[disc]) > 0.5
    assert not any("is a guess" in text for text in settled.warnings)


@pytest.fixture(scope="module")
def heap():
    scene = scenes.random("heap", 1)
    return integrate(scene.normals, scene.mask, scene.camera, "opencv", check=False), scene


class TestCertainty:
    def test_it_is_a_probability_of_each_pixel(self, heap):
        result, scene = heap
        sure = result.confidence[scene.mask]
        assert ((sure >= 0) & (sure <= 1)).all()

    def test_it_tells_wrong_pixels_from_right_ones(self, heap):
        result, scene = heap
        wrong = np.abs(aligned(result.depth, scene.depth) / scene.depth - 1) > 0.02
        sure, off = result.confidence[scene.mask], wrong[scene.mask]
        assert area(sure, off) > 0.8

    def test_what_is_moved_off_its_place_is_less_sure(self, heap):
        """The largest face but one, moved off by a fifth of its depth, tears borders that look like contacts."""
        result, _ = heap
        judged = result.judged.at(result.potential)
        graph = judged.graph
        face = graph.labels == np.argsort(np.bincount(graph.labels))[-2]
        before = certainty(judged)
        after = certainty(judged.at(result.potential + 0.2 * face))
        assert after[face].mean() < before[face].mean() - 0.1

    def test_pixels_beside_a_contradiction_are_the_least_sure(self, heap):
        result, _ = heap
        near = certainty_cues(result.judged.at(result.potential))["contradicted_near"]
        assert near.max() > 0.1
        assert (near >= 0).all()


def test_the_area_under_the_curve():
    """One if all wrong pixels have less confidence than all right ones, one half if all are alike."""
    off = np.array([True, True, False, False, False])
    assert area(np.array([0.1, 0.2, 0.3, 0.4, 0.5]), off) == 1
    assert area(np.ones(5), off) == 0.5
    assert area(np.array([0.1, 0.9, 0.3, 0.4, 0.5]), off) == pytest.approx(0.5)


def test_filling_by_contraction_keeps_a_jump():
    """Across a step that grows from nothing the filled component jumps as the surface does."""
    scene = scenes.make("step", (128, 160))
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=2.0)
    assert graph.n_components == 1
    truth = scene.camera.potential(scene.depth).ravel()[graph.pixels.map.position]
    error = {}
    for filling in ("contracted", "induced"):
        off = graph.filled(filling=filling) - truth
        error[filling] = np.abs(off - np.median(off)).mean()
    assert error["contracted"] < 1e-3 < 10 * error["contracted"] < error["induced"]


@pytest.mark.parametrize("shape", [(1, 50), (2, 300), (3, 300)])
def test_a_long_strip_that_fits_is_not_doubted(shape):
    """Where each pixel is a component, those at the ends are far from the middle; but no border of the plane is torn."""
    plane = np.tile([0.3, 0.2, -1.0], (*shape, 1))
    assert integrate(plane, frame="opencv", angle=None).warnings == []


def test_a_strip_whose_borders_are_torn_is_doubted():
    noise = np.random.default_rng(0).normal(size=(6, 300, 2))
    rough = np.concatenate([0.6 * noise, np.full((6, 300, 1), -1.0)], axis=-1)
    assert any("is a guess" in text for text in integrate(rough, frame="opencv", angle=None).warnings)
