"""Models of discontinuity: the weights of the cut edges."""

from dataclasses import replace

import numpy as np
import pytest

from quotientgraph.geometry.jumps import bini
from quotientgraph.method.cutedges import CutEdges
from quotientgraph.method.weights import KINDS, Outliers, pair_terms, pair_terms_by_kernel, pair_terms_over
from quotientgraph.settings import Settings


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def one_sided(graph):
    """The same graph with BiNI's two-sided jumps."""
    return replace(graph, jump=bini(graph.pixels.map, graph.pixels.tail, graph.pixels.head))


def plainly(graph, potential, bilateral, outliers):
    """Per pair Σ W, Σ W·(−χ) and Σ W·χ², straight from the formulas, an equation at a time."""
    pixels, labels = graph.pixels, graph.labels
    beyond_tail, beyond_head = pixels.opposites(graph.cut)
    jump = np.broadcast_to(graph.jump, (2, pixels.n_edges))
    sums = {}
    for k, e in enumerate(graph.cut):
        a, b = int(pixels.tail[e]), int(pixels.head[e])
        for row, i, j, opposite in ((0, a, b, beyond_tail[k]), (1, b, a, beyond_head[k])):
            chi = potential[a] - potential[b] - jump[row, e]
            weight = float(outliers.weight(np.float64(chi / 3770)))
            if bilateral:
                gamma = pixels.gamma_squared[i]
                far = potential[opposite] - potential[i] if opposite >= 0 else potential[j] - potential[i]
                weight *= gamma * sigmoid(2.0 * gamma * (far**2 - (potential[j] - potential[i]) ** 2))
            pair = tuple(sorted((labels[a], labels[b])))
            sign = 1.0 if labels[a] < labels[b] else -1.0
            sums[pair] = sums.get(pair, 0) + np.array([weight, -weight * chi * sign, weight * chi**2])
    return np.array([sums[pair] for pair in sorted(sums)]).T


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("bilateral", [False, True])
@pytest.mark.parametrize("sides", ["planar", "bini"])
def test_weights_are_their_formulas(kind, bilateral, sides, noisy_graph):
    """Kernel, array expressions and the plain formulas agree at shifted components, for both kinds of model."""
    graph = noisy_graph(7)
    graph = one_sided(graph) if sides == "bini" else graph
    random = np.random.default_rng(0)
    potential = graph.filled() + 0.0
    shift = random.normal(0, 0.7, graph.n_components)
    outliers = Outliers(kind, lower=1e-5, upper=4e-4)
    cut = CutEdges.from_graph(graph, potential, Outliers().scale(graph.pixels.map))
    expected = plainly(graph, potential + shift[graph.labels], bilateral, outliers)
    np.testing.assert_allclose(pair_terms_by_kernel(cut, shift, bilateral, outliers), expected, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(pair_terms_over(np, cut, shift, bilateral, outliers), expected, rtol=1e-9, atol=1e-13)


def test_soft_weights_at_their_thresholds():
    """|χ| = L gives σ(4), |χ| = U gives σ(−4), the geometric mean ½; the weight falls with |χ| and is even."""
    soft = Outliers("soft", 1e-5, 1e-3)
    np.testing.assert_allclose(soft.weight(np.array([1e-5, 1e-4, 1e-3])), [sigmoid(4), 0.5, sigmoid(-4)], rtol=1e-12)
    sizes = np.geomspace(1e-9, 1, 200)
    assert (np.diff(soft.weight(sizes)) < 0).all()
    np.testing.assert_array_equal(soft.weight(-sizes), soft.weight(sizes))
    assert soft.weight(np.zeros(1)) == 1


def test_hard_and_no_weights():
    """Hard: 1 below U, else 0; none: 1."""
    chi = np.array([0.0, 9e-4, -2e-3, 5.0])
    assert Outliers("hard").weight(chi).tolist() == [1, 1, 0, 0]
    assert Outliers("none").weight(chi).tolist() == [1, 1, 1, 1]


def test_uniform_weights_count_equations(noisy_graph):
    """Without outliers and bilateral weights, a pair's weight is twice its number of edges."""
    graph = noisy_graph(8)
    cut = CutEdges.from_graph(graph, graph.filled(), Outliers().scale(graph.pixels.map))
    weights = pair_terms(cut, np.zeros(graph.n_components), False, Outliers("none"))[0]
    np.testing.assert_array_equal(weights, 2 * graph.edge_table()[2]["n_edges"])


def test_residuals_follow_the_components(noisy_graph):
    """Residuals after a shift are those of the shifted potential, in the direction of the pair."""
    graph = noisy_graph(9)
    potential = graph.filled()
    cut = CutEdges.from_graph(graph, potential, Outliers().scale(graph.pixels.map))
    shift = np.random.default_rng(2).normal(size=graph.n_components)
    expected = graph.residual(potential + shift[graph.labels], cut.number)
    sign = np.where(graph.labels[graph.pixels.tail[cut.number]] < graph.labels[graph.pixels.head[cut.number]], 1, -1)
    np.testing.assert_allclose(cut.residuals(shift), sign * expected, atol=1e-12)


def test_extreme_potentials_do_not_overflow(noisy_graph):
    """Weights stay finite and ≥ 0 when components are absurdly far apart."""
    graph = noisy_graph(10)
    cut = CutEdges.from_graph(graph, graph.filled(), Outliers().scale(graph.pixels.map))
    shift = np.random.default_rng(3).normal(0, 1e6, graph.n_components)
    with np.errstate(all="raise", under="ignore"):
        for terms in (
            pair_terms(cut, shift, True, Outliers("soft")),
            pair_terms_by_kernel(cut, shift, True, Outliers("soft")),
        ):
            assert np.isfinite(terms).all()
            assert (terms[0] >= 0).all()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"reweighting": "firm"}, "reweighting='firm'"),
        ({"lower": 0}, "0 < lower < upper"),
        ({"lower": 2e-3}, "0 < lower < upper"),
        ({"upper": np.inf}, "0 < lower < upper"),
        ({"upper": np.nan}, "0 < lower < upper"),
    ],
)
def test_thresholds_that_cannot_be_are_refused(arguments, named):
    """A `ValueError` names the argument and what it must satisfy."""
    with pytest.raises(ValueError, match=named):
        Settings(**arguments)
