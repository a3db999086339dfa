"""Contact: intervals of jumps, evidence, slack and confidence."""

from dataclasses import replace

import numpy as np
import pytest

from quotientgraph import QuotientGraph, integrate, scenes
from quotientgraph.beyond.confidence import confidence
from quotientgraph.beyond.contacts import crease_slack, evidence, gaps, residual_range, support
from quotientgraph.geometry.camera import REFERENCE_FOCAL
from quotientgraph.method.cutedges import CutEdges
from quotientgraph.method.weights import Outliers, pair_terms, pair_terms_by_kernel, pair_terms_over

FLIGHT = {"perspective": ("stairs", {"view": "front"}), "orthographic": ("stairs", {"view": "side"})}


@pytest.fixture(scope="module", params=FLIGHT)
def true_stairs(request):
    """Stairs, which touch nearly everywhere: graph, cut edges at the true potential, ranges of their residuals."""
    name, params = FLIGHT[request.param]
    scene = scenes.make(name, (128, 160), request.param, **params)
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=2.0)
    potential = scene.camera.potential(scene.depth).ravel()[graph.pixels.map.position]
    cut = CutEdges.from_graph(graph, potential, Outliers().scale(graph.pixels.map))
    return graph, potential, cut, residual_range(graph, cut)


def test_surfaces_that_touch_lie_in_the_interval(true_stairs):
    """At the true depth nearly all edges between stairs have no gap, though their residuals are far from zero."""
    graph, _, cut, contact = true_stairs
    at_rest = np.zeros(graph.n_components)
    pixel = cut.unit * REFERENCE_FOCAL
    gap = gaps(cut, contact, at_rest) * pixel
    assert np.mean(gap < 0.02) > 0.85
    assert np.mean(np.abs(cut.residuals(at_rest)) * pixel < 0.02) < 0.5
    assert (contact[0] <= 0).all()
    assert (contact[1] >= 0).all()


def test_the_interval_turns_with_its_edge(true_stairs):
    """Numbering the components the other way round mirrors every interval."""
    graph, potential, cut, contact = true_stairs
    mirrored = replace(graph, labels=(graph.n_components - 1 - graph.labels).astype(np.int32))
    other = CutEdges.from_graph(mirrored, potential, Outliers().scale(mirrored.pixels.map))
    turned = residual_range(mirrored, other)
    by_edge, back = np.argsort(cut.number), np.argsort(other.number)
    np.testing.assert_allclose(contact[:, by_edge], -turned[::-1, back], atol=1e-12)


def test_the_truth_has_more_evidence_than_what_is_off(true_stairs):
    """Moving components away from their places lowers the evidence."""
    graph, _, cut, contact = true_stairs
    pixel = cut.unit * REFERENCE_FOCAL
    random = np.random.default_rng(0)
    right = evidence(cut.start, gaps(cut, contact, np.zeros(graph.n_components)) * pixel)
    for size in (1e-3, 1e-2, 1e-1):
        moved = random.normal(0, size * graph.pixels.map.shape[1] / np.mean(pixel), graph.n_components)
        assert evidence(cut.start, gaps(cut, contact, moved) * pixel) < right
    assert evidence(np.zeros(1, dtype=int), np.zeros(0)) == evidence(np.array([0, 1, 3]), np.zeros(3)) == 1.0


def test_a_long_border_counts_for_sixty_four_edges():
    """One border of a thousand edges that fit, one of sixty-four that do not: half of the evidence."""
    gap = np.repeat([0.0, 1e6], [1000, 64])
    assert evidence(np.array([0, 1000, 1064]), gap) == pytest.approx(0.5, abs=1e-6)


def test_slack_bodies_agree(true_stairs):
    """The Numba kernel and the array expressions give the same terms with slack; without it, the paper's."""
    graph, _, cut, contact = true_stairs
    shift = np.random.default_rng(1).normal(0, 1e-3, graph.n_components)
    slack = crease_slack(graph, cut, contact)
    assert (slack[0] >= contact[0]).all()
    assert (slack[1] <= contact[1]).all()
    for outliers in (Outliers(), Outliers("hard"), Outliers("none")):
        for bilateral in (False, True):
            loose = replace(cut, slack=slack)
            terms = pair_terms_by_kernel(loose, shift, bilateral, outliers)
            np.testing.assert_allclose(terms, pair_terms_over(np, loose, shift, bilateral, outliers), rtol=1e-9)
            none = replace(cut, slack=np.zeros_like(slack))
            np.testing.assert_allclose(
                pair_terms(none, shift, bilateral, outliers), pair_terms(cut, shift, bilateral, outliers), rtol=1e-12
            )


def test_inside_the_slack_an_edge_pulls_a_tenth(true_stairs):
    """An edge within its slack has a tenth of its weight and no outlier weight."""
    graph, _, cut, _ = true_stairs
    at_rest = np.zeros(graph.n_components)
    wide = np.full((2, len(cut.number)), np.inf) * np.array([[-1.0], [1.0]])
    inside = pair_terms(replace(cut, slack=wide), at_rest, False, Outliers())
    np.testing.assert_allclose(inside[0], 0.2 * np.diff(cut.start))


def test_confidence_is_high_where_many_edges_fit_and_low_where_none_do(true_stairs):
    """At the truth all large components are held; one that is moved off by itself is not."""
    graph, potential, _, _ = true_stairs
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


def test_only_doubtful_reconstructions_get_a_second_start():
    """A smooth ball is explained by the first start; a room is not, and the best is kept."""
    ball, room = (scenes.make(name, (96, 120)) for name in ("sphere", "room"))
    first = integrate(ball.normals, ball.mask, ball.camera, "opencv", angle=2.0)
    assert list(first.evidence) == ["uniform"]
    second = integrate(room.normals, room.mask, room.camera, "opencv", angle=2.0)
    assert len(second.evidence) > 1
    graph = second.graph
    cut = CutEdges.from_graph(graph, second.potential, Outliers().scale(graph.pixels.map))
    gap = gaps(cut, residual_range(graph, cut), np.zeros(graph.n_components)) * cut.unit * REFERENCE_FOCAL
    assert evidence(cut.start, gap) == pytest.approx(max(second.evidence.values()), abs=0.003)


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
