"""The analysis on benchmark data: what docs/analysis.md says of harvest and buddha."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from quotientgraph import QuotientGraph, io, metrics
from quotientgraph.analysis import absorb_small, resistances


@pytest.fixture(scope="module")
def solved(data_dir):
    """``solved(name)``: Q0 at 3.5° of an object, its result and the true depth; each is solved once."""
    known = {}

    def make(name):
        if name not in known:
            folder = data_dir / ("scenes" if name == "bedroom" else "diligent") / name
            graph = QuotientGraph.from_normals(folder, angle=3.5)
            known[name] = graph, graph.optimize(), io.read_depth(folder / "depth_gt.npz")
        return known[name]

    return make


def test_resistances_of_harvest_add_up(solved):
    """18,145 components; the leverages of a connected graph sum to their number less one (Foster's theorem)."""
    graph, result, _ = solved("harvest")
    assert graph.n_components == 18145
    found = resistances(graph, result.potential)
    assert found.leverage.sum() == pytest.approx(graph.n_components - graph.pixels.n_pieces, rel=1e-6)
    assert (found.variance > 0).all()


@pytest.mark.parametrize(("name", "least"), [("harvest", 0.37), ("bedroom", 0.40), ("buddha", 0.45)])
def test_uncertainty_ranks_errors(solved, name, least):
    """Spearman correlation between the uncertainty of components and the error of their mean log-depth."""
    graph, result, truth = solved(name)
    off = result.potential - np.log(truth.ravel()[graph.pixels.map.position])
    off -= np.median(off)
    error = np.abs(np.bincount(graph.labels, off) / np.bincount(graph.labels))
    assert spearmanr(resistances(graph, result.potential).uncertainty, error)[0] > least


@pytest.mark.parametrize("name", ["harvest", "buddha"])
def test_absorbing_tiny_components(solved, name):
    """A third of the components or fewer are left, and the error grows by 3 % at most."""
    graph, result, truth = solved(name)
    absorbed = absorb_small(graph)
    assert 3 * absorbed.n_components <= graph.n_components
    assert metrics.made(absorbed.optimize().depth, truth) <= 1.03 * metrics.made(result.depth, truth)
