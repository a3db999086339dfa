"""Which edges to contract at the start and when merging, and connected components."""

import igraph
import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quotientgraph.geometry.normals import NormalMap
from quotientgraph.graph.pixels import PixelGraph
from quotientgraph.graph.selection import connected_components, similar_edges
from quotientgraph.method.merging import least_residual_edges


@st.composite
def edge_lists(draw, max_nodes=14, max_edges=30):
    n = draw(st.integers(1, max_nodes))
    ends = st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=max_edges)
    edges = np.array(draw(ends), dtype=np.int32).reshape(-1, 2)
    return n, edges[:, 0].copy(), edges[:, 1].copy()


@settings(max_examples=150, deadline=None)
@given(edge_lists())
def test_engines_agree(graph):
    """igraph and union-find give identical labels, numbered by first node, and networkx the same sets."""
    n, tail, head = graph
    labels = connected_components(n, tail, head, engine="igraph")
    np.testing.assert_array_equal(labels, connected_components(n, tail, head, engine="union-find"))
    np.testing.assert_array_equal(labels, connected_components(n, tail, head))
    assert labels.dtype == np.int32
    first = np.unique(labels, return_index=True)[1]
    assert (np.diff(first) > 0).all()
    reference = networkx.Graph()
    reference.add_nodes_from(range(n))
    reference.add_edges_from(zip(tail.tolist(), head.tolist()))
    found = {frozenset(np.flatnonzero(labels == c).tolist()) for c in range(labels.max() + 1)}
    assert found == {frozenset(c) for c in networkx.connected_components(reference)}


@pytest.mark.parametrize("connectivity", [4, 8])
def test_engines_agree_on_random_masks(connectivity, noisy_graph):
    """At pixel scale too, over many random masks."""
    for seed in range(8):
        pixels = noisy_graph(seed, (30, 40), 0.4, connectivity=connectivity).pixels
        similar = similar_edges(pixels, 15.0)
        arguments = (pixels.n_pixels, pixels.tail[similar], pixels.head[similar])
        np.testing.assert_array_equal(
            connected_components(*arguments, engine="igraph"), connected_components(*arguments, engine="union-find")
        )


def test_an_unknown_engine_is_refused():
    """The error names the argument and what may be used."""
    with pytest.raises(ValueError, match=r'engine=.magic. is not known; use "auto", "igraph" or "union-find"'):
        connected_components(2, np.array([0]), np.array([1]), engine="magic")


def test_similar_means_a_smaller_angle():
    """An edge is similar when its normals differ by less than the angle; None joins nothing."""
    turn = np.radians([0.0, 1.0, 3.0, 3.0, 9.0])
    normals = np.stack([np.sin(turn), 0 * turn, -np.cos(turn)], axis=-1)[None]
    graph = PixelGraph.from_map(NormalMap.from_array(normals, frame="opencv"))
    assert similar_edges(graph, 1.5).tolist() == [True, False, True, False]
    assert similar_edges(graph, 2.5).tolist() == [True, True, True, False]
    assert similar_edges(graph, 180).all()
    assert not similar_edges(graph, None).any()


@settings(max_examples=150, deadline=None)
@given(edge_lists(), st.integers(0, 2**31))
def test_least_residual_edges_are_the_least(graph, seed):
    """Each component with an incident edge contributes the one of least |residual|, the first among equals."""
    n, tail, head = graph
    keep = tail != head
    tail, head = tail[keep], head[keep]
    residual = np.random.default_rng(seed).integers(-4, 5, len(tail)).astype(float)
    expected = set()
    for c in range(n):
        incident = np.flatnonzero((tail == c) | (head == c))
        if len(incident):
            expected.add(int(incident[np.argmin(np.abs(residual[incident]))]))
    found = least_residual_edges(n, tail, head, residual)
    assert found.tolist() == sorted(expected)


def test_merging_by_least_residual_halves_the_count(noisy_graph):
    """Every component takes part in a merge: at most half as many remain, pieces apart."""
    graph = noisy_graph(3, (20, 20), 0.0)
    residual = np.random.default_rng(0).normal(size=len(graph.cut))
    chosen = least_residual_edges(graph.n_components, graph.tail, graph.head, residual)
    merged = graph.contract(graph.cut[chosen])
    assert merged.n_components <= graph.n_components // 2
    reference = igraph.Graph(graph.n_components, edges=np.column_stack([graph.tail, graph.head])[chosen])
    assert merged.n_components == len(reference.connected_components())
