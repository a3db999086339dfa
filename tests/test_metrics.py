"""Metrics: MADE, relative error, least achievable MADE, normal error."""

import numpy as np
import pytest

from quotientgraph import QuotientGraph, integrate, metrics

TRUTH = np.array([[1.0, 2.0, 4.0], [8.0, 16.0, np.nan]])


def test_scale_does_not_count():
    """MADE and relative error of s·truth are zero for a factor, and of truth + c for an offset."""
    for scale in (0.01, 1.0, 300.0):
        assert metrics.made(scale * TRUTH, TRUTH) == pytest.approx(0, abs=1e-14)
        assert metrics.relative_error(scale * TRUTH, TRUTH) == pytest.approx(0, abs=1e-14)
    assert metrics.made(TRUTH - 7, TRUTH, offset=True) == pytest.approx(0, abs=1e-14)


def test_by_hand():
    """One wrong pixel of five: the median ratio is that of the others; MADE is its error over five."""
    estimate = TRUTH.copy()
    estimate[1, 1] = 20.0
    assert metrics.made(estimate, TRUTH) == pytest.approx(4 / 5)
    assert metrics.relative_error(estimate, TRUTH) == pytest.approx(0.25 / 5)
    assert metrics.made(estimate, TRUTH, offset=True) == pytest.approx(4 / 5)
    assert metrics.relative_error(estimate, TRUTH, offset=True) == pytest.approx(4 / 5 / 15)


def test_pixels_without_depth_do_not_count():
    """NaN in either is left out; nothing in common gives NaN, without a crash."""
    estimate = np.where(TRUTH > 2, np.nan, 3 * TRUTH)
    assert metrics.made(estimate, TRUTH) == 0
    assert np.isnan(metrics.made(np.full_like(TRUTH, np.nan), TRUTH))


def test_least_made_by_hand():
    """Each component is brought to the truth by its own median ratio, the mean of the two middle ones if even."""
    truth = np.array([[2.0, 2.0, 9.0, 9.0, 9.0]])
    filled = np.array([[1.0, 2.0, 1.0, 1.0, 3.0]])
    labels = np.array([[0, 0, 1, 1, 1]])
    # component 0: ratios 1, 2, median 1.5 -> 1.5, 3 ; component 1: ratios 9, 9, 3, median 9 -> 9, 9, 27
    assert metrics.least_made(filled, truth, labels) == pytest.approx((0.5 + 1 + 0 + 0 + 18) / 5)
    labels[0, 4] = -1
    assert metrics.least_made(filled, truth, labels) == pytest.approx((0.5 + 1) / 4)
    assert metrics.least_made(filled - 5, truth, labels, offset=True) == pytest.approx(0.5 * 2 / 4)


def test_least_made_is_a_bound(toy):
    """No scales reached less than the least MADE; with a single component the two are the same."""
    scene = toy("sphere")
    graph = QuotientGraph.from_normals(**scene.arguments, angle=4.0)
    filled = graph.pixels.map.image(np.exp(graph.filled()))
    least = metrics.least_made(filled, scene.depth, graph.label_image())
    assert least <= metrics.made(graph.optimize().depth, scene.depth)
    whole = np.where(scene.mask, 0, -1)
    estimate = integrate(**scene.arguments).depth
    assert metrics.least_made(estimate, scene.depth, whole) == pytest.approx(metrics.made(estimate, scene.depth))


def test_finer_decompositions_allow_less_error(toy):
    """One component per pixel allows no error at all."""
    scene = toy("sphere")
    graph = QuotientGraph.from_normals(**scene.arguments, angle=None)
    filled = graph.pixels.map.image(np.exp(graph.filled()))
    assert metrics.least_made(filled, scene.depth, graph.label_image()) == pytest.approx(0, abs=1e-12)


def test_normal_error(toy):
    """The normals of a plane's points are its normals; turned by ten degrees they differ by ten."""
    scene = toy("plane")
    points = scene.camera.points(scene.depth)
    assert metrics.normal_error(points, scene.normals) < 1e-5
    n = scene.normals[0, 0]
    tangent = np.cross(n, [1.0, 0, 0])
    turned = np.cos(np.radians(10)) * n + np.sin(np.radians(10)) * tangent / np.linalg.norm(tangent)
    assert metrics.normal_error(points, np.broadcast_to(turned, points.shape)) == pytest.approx(10)
    assert np.isnan(metrics.normal_error(points[:1], scene.normals[:1]))


@pytest.mark.parametrize("function", [metrics.made, metrics.relative_error, metrics.aligned])
def test_shapes_must_agree(function):
    """A `ValueError` names the truth and both shapes."""
    with pytest.raises(ValueError, match=r"truth: its shape \(2, 3\) differs from the estimate's \(3, 2\)"):
        function(TRUTH.T, TRUTH)


def test_what_is_no_depth_does_not_count():
    """Sky at infinity, and zeros that mean that there is nothing, in the estimate or in the truth."""
    estimate, truth = np.array([[1.0, 2.0, 3.0, 0.0]]), np.array([[10.0, 20.0, np.inf, 0.0]])
    assert metrics.made(estimate, truth) == metrics.made(truth, estimate) == 0
    assert metrics.relative_error(estimate, truth) == metrics.relative_error(truth, estimate) == 0
    assert np.isnan(metrics.relative_error(estimate, np.zeros((1, 4))))
    heights = np.array([[-1.0, 0.0, 2.0, 5.0]])
    assert metrics.made(heights + 3, heights, offset=True) == 0
