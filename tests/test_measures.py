"""Measures of decompositions: effective resistances against dense algebra, bridges against igraph and by hand, closures."""

import igraph
import networkx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laplacians import Direct, LaplacianSystem
from laplacians.direct.inverse import inverse_entries
from quotientgraph import QuotientGraph, RayMap, scenes
from quotientgraph.analysis import (
    articulation,
    bridges,
    component_tables,
    connection,
    cycle_residuals,
    face_residuals,
    resistances,
    strengths,
)  # fmt: skip

lawful = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
seeds = st.integers(0, 2**31)


@lawful
@given(seeds, st.integers(2, 250), st.floats(1.0, 5.0))
def test_inverse_entries_are_those_of_the_dense_inverse(seed, n, density):
    """Diagonal and pairs of (L + ground)⁻¹, for dense and for sparse factors, also of several pieces."""
    random = np.random.default_rng(seed)
    m = int(density * n)
    tail, head = random.integers(0, n, (2, m))
    system = LaplacianSystem.from_edges(n, tail, head, random.lognormal(0, 1, m), np.zeros(m))
    found = inverse_entries(Direct().factor(system), system.pattern.tail, system.pattern.head)
    dense = np.linalg.inv(system.matrix.toarray() + np.diag(system.ground))
    np.testing.assert_allclose(found.diagonal, dense.diagonal(), rtol=1e-8)
    np.testing.assert_allclose(found.pairs, dense[system.pattern.tail, system.pattern.head], rtol=1e-8, atol=1e-10)


@lawful
@given(seeds, st.sampled_from([None, 12.0, 30.0]))
def test_resistances_agree_with_the_pseudo_inverse(noisy_graph, seed, angle):
    """R_ab = L⁺_aa + L⁺_bb − 2 L⁺_ab to 1e-8, and the variance is that of x_i less the mean over its piece."""
    graph = noisy_graph(seed, (14, 17), angle=angle)
    random = np.random.default_rng(seed)
    n_pairs = strengths(graph, graph.filled())[0].n_pairs
    strength = random.lognormal(0, 1.5, n_pairs)
    found = resistances(graph, graph.filled(), strength)
    tables = component_tables(graph, graph.filled())
    pinv = np.linalg.pinv(tables.laplacian(strength).toarray())
    expected = pinv.diagonal()[found.tail] + pinv.diagonal()[found.head] - 2 * pinv[found.tail, found.head]
    np.testing.assert_allclose(found.resistance, expected, rtol=1e-8)
    # The mean over each piece is weighted by sizes.
    piece = np.zeros(graph.n_components, int)
    piece[graph.labels] = graph.pixels.pieces
    size = np.bincount(graph.labels)
    share = np.where(piece[:, None] == piece, size / np.bincount(piece, size)[piece], 0)
    centring = np.eye(graph.n_components) - share
    np.testing.assert_allclose(found.variance, np.diag(centring @ pinv @ centring.T), rtol=1e-7, atol=1e-9)
    assert found.leverage.sum() == pytest.approx(graph.n_components - graph.pixels.n_pieces)


@pytest.fixture(params=["fisheye", "cubemap"])
def uneven_graph(request):
    """A graph before a camera whose focal length varies, of several components, with noise that no scales make fit."""
    shape = (32, 64)
    camera = RayMap.fisheye(150, shape) if request.param == "fisheye" else RayMap.cubemap(16, shape)
    scene = scenes.make("room", shape=shape, camera=camera).with_noise(0.5)
    return QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=5)


def test_uncertainty_is_that_of_log_depth_where_the_focal_length_varies(uneven_graph):
    """Springs of strength·f² hold log-depths; over focal lengths, all results are those of their pseudo-inverse."""
    graph, pixels = uneven_graph, uneven_graph.pixels
    potential = graph.optimize().potential
    focal = pixels.focal_at(graph.cut)
    assert np.ptp(focal) > 0.2 * focal.mean()
    own = np.square(focal / (0.01 + np.square(graph.residual(potential) * focal) / 0.01))
    n, size = graph.n_components, graph.sizes
    laplacian = np.zeros((n, n))
    for a, b in ((graph.tail, graph.head), (graph.head, graph.tail)):
        np.add.at(laplacian, (a, a), own)
        np.add.at(laplacian, (a, b), -own)
    found = resistances(graph, potential)
    pinv = np.linalg.pinv(laplacian, hermitian=True)
    assert pixels.n_pieces == 1
    centring = np.eye(n) - size / size.sum()
    mean = np.bincount(graph.labels, pixels.map.focal) / size
    np.testing.assert_allclose(found.uncertainty / mean, np.sqrt(np.diag(centring @ pinv @ centring.T)), rtol=1e-5)
    apart = pinv.diagonal()[found.tail] + pinv.diagonal()[found.head] - 2 * pinv[found.tail, found.head]
    border = np.array([focal[(graph.tail == b) & (graph.head == a) | (graph.tail == a) & (graph.head == b)].mean()
                       for a, b in zip(found.tail, found.head)])  # fmt: skip
    np.testing.assert_allclose(found.resistance, apart * border**2, rtol=1e-5)
    assert found.leverage.sum() == pytest.approx(n - 1)
    a, b = int(found.tail[0]), int(found.head[-1])
    between = pinv[a, a] + pinv[b, b] - 2 * pinv[a, b]
    both = pixels.map.focal[np.isin(graph.labels, [a, b])].mean()
    assert connection(graph, potential, a, b) == pytest.approx(1 / (between * both**2), rel=1e-5)


def test_sampled_resistances_estimate_the_exact_ones(noisy_graph):
    """Random solves come within the error that 64 of them leave."""
    graph = noisy_graph(3, (20, 24))
    potential = graph.optimize().potential
    exact, sampled = (resistances(graph, potential, method=method) for method in ("exact", "sampled"))
    assert abs(np.median(sampled.resistance / exact.resistance) - 1) < 0.1
    held = exact.variance > 0  # a component that nothing touches has none
    assert abs(np.median(sampled.variance[held] / exact.variance[held]) - 1) < 0.35
    with pytest.raises(ValueError, match="method"):
        resistances(graph, potential, method="guess")
    with pytest.raises(ValueError, match="strength"):
        resistances(graph, potential, np.zeros(3))


def test_connection_is_the_inverse_of_the_resistance(noisy_graph):
    """Between adjacent components it is 1/R; between regions it is more than between any two of their parts."""
    graph = noisy_graph(5, hole=0.0)
    potential = graph.optimize().potential
    found = resistances(graph, potential)
    a, b = int(found.tail[0]), int(found.head[0])
    assert connection(graph, potential, a, b) == pytest.approx(1 / found.resistance[0])
    third = next(c for c in range(graph.n_components) if c not in (a, b))
    assert connection(graph, potential, [a, third], b) >= connection(graph, potential, a, b) * (1 - 1e-9)
    for here, there in ((a, a), ([], b), (a, graph.n_components), (0.5, b)):
        with pytest.raises(ValueError, match=r"here|there"):
            connection(graph, potential, here, there)


def test_separate_pieces_are_not_connected(toy):
    """Nothing connects two islands."""
    graph = QuotientGraph.from_normals(**toy("disconnected").arguments)
    assert connection(graph, graph.filled(), 0, 1) == 0


def test_a_weak_border_makes_a_scale_uncertain(toy):
    """Of two halves that touch at one end only, the smaller one is the less certain."""
    result = QuotientGraph.from_normals(**toy("step").arguments).optimize()
    image = result.uncertainty
    assert np.isfinite(image).all()
    assert np.unique(image.round(9)).size <= 2


def test_faces_close_on_surfaces_and_not_at_jumps(toy, plane_of):
    """Around squares of pixels the jumps of a plane add up to zero; those at the crease of two planes do, too."""
    for name in ("plane", "plane_orthographic"):
        assert np.nanmax(np.abs(face_residuals(QuotientGraph.from_normals(**toy(name).arguments)))) < 1e-9
    scene = scenes.make("spheres", shape=(60, 80))
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv")
    closing = np.abs(face_residuals(graph))
    assert closing.shape == (59, 79)
    assert np.nanmax(closing) > 100 * np.nanmedian(closing)


def test_faces_close_where_any_potential_made_the_jumps(noisy_graph):
    """The sum around a face is that of the jumps of G0 along its four edges."""
    graph = noisy_graph(2, hole=0.0, connectivity=4)
    edge = {(a, b): j for a, b, j in zip(graph.pixels.tail.tolist(), graph.pixels.head.tolist(), graph.jump)}
    width = graph.pixels.map.shape[1]
    closing = face_residuals(graph)
    for v in range(closing.shape[0]):
        for u in range(closing.shape[1]):
            a, b, d, c = v * width + u, v * width + u + 1, (v + 1) * width + u, (v + 1) * width + u + 1
            assert closing[v, u] == pytest.approx(edge[a, b] + edge[b, c] - edge[d, c] - edge[a, d], abs=1e-12)


@lawful
@given(seeds)
def test_closing_errors_do_not_depend_on_scales(noisy_graph, seed):
    """Shifting components changes no sum around a cycle; a forest has none; there are m − n + pieces of them at most."""
    graph = noisy_graph(seed, angle=8.0)
    random = np.random.default_rng(seed)
    potential = random.normal(size=graph.pixels.n_pixels)
    shifted = potential + random.normal(size=graph.n_components)[graph.labels]
    found = cycle_residuals(graph, potential)
    np.testing.assert_allclose(cycle_residuals(graph, shifted), found, atol=1e-9)
    assert (found != 0).sum() <= len(found) - graph.n_components + graph.pixels.n_pieces


def test_closing_errors_do_not_depend_on_scales_where_the_focal_length_varies(uneven_graph):
    """The same before a fisheye and a panorama, whose pixels are not of one size."""
    random, potential = np.random.default_rng(0), uneven_graph.filled()
    shifted = potential + random.normal(size=uneven_graph.n_components)[uneven_graph.labels]
    found = cycle_residuals(uneven_graph, potential)
    assert np.abs(found).max() > 0.01
    np.testing.assert_allclose(cycle_residuals(uneven_graph, shifted), found, atol=1e-9)


@lawful
@given(seeds, st.floats(0.3, 0.5))
def test_bridges_are_those_of_igraph_and_carry_their_lighter_side(noisy_graph, seed, hole):
    """With all borders counted: the pairs are igraph's bridges, and each carries what it would cut off."""
    graph = noisy_graph(seed, hole=hole, angle=6.0)
    potential = graph.filled()
    found = bridges(graph, potential, least=0.0)
    tables = component_tables(graph, potential)
    net = igraph.Graph(tables.n_nodes, edges=np.column_stack([tables.tail, tables.head]))
    assert sorted(found.pair.tolist()) == sorted(net.bridges())
    assert articulation(graph, potential, least=0.0).tolist() == sorted(net.articulation_points())
    size = tables.nodes["size"]
    plain = tables.to_networkx()
    for pair, carries in zip(found.pair.tolist(), found.carries.tolist()):
        cut = networkx.Graph(plain)
        ends = int(tables.tail[pair]), int(tables.head[pair])
        cut.remove_edge(*ends)
        sides = [sum(size[c] for c in networkx.node_connected_component(cut, end)) for end in ends]
        assert carries == min(sides)
    assert (np.diff(found.carries) <= 0).all()
    with pytest.raises(ValueError, match="least"):
        bridges(graph, potential, least=2.0)
