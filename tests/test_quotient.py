"""`QuotientGraph`: the laws of contraction, and the exports."""

import igraph
import networkx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quotientgraph import QuotientGraph, analysis, integrate, scenes

lawful = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
seeds = st.integers(0, 2**31)
angles = st.sampled_from([None, 4.0, 12.0, 30.0])
connectivities = st.sampled_from([4, 8])


def some_edges(graph, random, share):
    """A random part of all edges of G0, those inside components included."""
    return np.flatnonzero(random.random(graph.pixels.n_edges) < share).astype(np.int32)


def pixel_pairs(graph):
    return zip(graph.pixels.tail.tolist(), graph.pixels.head.tolist())


def same(a, b):
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(a.cut, b.cut)


def is_sound(graph):
    """Labels are 0 … n−1 by first pixel; `cut` holds exactly the edges between components, in order."""
    first = np.unique(graph.labels, return_index=True)[1]
    assert len(first) == graph.n_components
    assert (np.diff(first) > 0).all()
    between = graph.labels[graph.pixels.tail] != graph.labels[graph.pixels.head]
    np.testing.assert_array_equal(graph.cut, np.flatnonzero(between))
    assert graph.labels.dtype == graph.cut.dtype == np.int32


def parts(labels):
    return {frozenset(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels)}


@lawful
@given(seeds, angles, connectivities)
def test_contracting_nothing_is_identity(noisy_graph, seed, angle, connectivity):
    """contract(∅) keeps the labels and the cut edges, and is one level up."""
    graph = noisy_graph(seed, angle=angle, connectivity=connectivity)
    for nothing in ([], np.zeros(0, int), np.zeros(len(graph.cut), bool)):
        same(graph.contract(nothing), graph)
        assert graph.contract(nothing).level == graph.level + 1


@lawful
@given(seeds, angles, connectivities, st.floats(0, 0.6))
def test_partitions_only_coarsen(noisy_graph, seed, angle, connectivity, share):
    """Every component of Q is inside one of contract(Q); ends of contracted edges come together; all stays sound."""
    graph = noisy_graph(seed, angle=angle, connectivity=connectivity)
    edges = some_edges(graph, np.random.default_rng(seed), share)
    merged = graph.contract(edges)
    is_sound(graph)
    is_sound(merged)
    pairs = set(zip(graph.labels.tolist(), merged.labels.tolist()))
    assert len(pairs) == graph.n_components
    np.testing.assert_array_equal(merged.labels[graph.pixels.tail[edges]], merged.labels[graph.pixels.head[edges]])
    assert set(merged.cut.tolist()) <= set(graph.cut.tolist())


@lawful
@given(seeds, angles, st.floats(0, 0.4), st.floats(0, 0.4))
def test_contractions_compose(noisy_graph, seed, angle, first, second):
    """contract(A).contract(B) = contract(B).contract(A) = contract(A ∪ B)."""
    graph = noisy_graph(seed, angle=angle)
    random = np.random.default_rng(seed)
    a, b = some_edges(graph, random, first), some_edges(graph, random, second)
    both = graph.contract(np.union1d(a, b))
    same(graph.contract(a).contract(b), both)
    same(graph.contract(b).contract(a), both)


@lawful
@given(seeds, st.floats(0, 0.5), st.floats(0, 0.5))
def test_labels_compose(noisy_graph, seed, first, second):
    """π_2 = σ ∘ π_1 for a map σ of components to components: labels of labels are labels."""
    graph = noisy_graph(seed)
    random = np.random.default_rng(seed)
    once = graph.contract(some_edges(graph, random, first))
    twice = once.contract(some_edges(graph, random, second))
    sigma = np.full(once.n_components, -1)
    sigma[once.labels] = twice.labels
    np.testing.assert_array_equal(sigma[once.labels], twice.labels)
    assert (sigma >= 0).all()


@lawful
@given(seeds, angles)
def test_contracting_all_leaves_the_pieces(noisy_graph, seed, angle):
    """The coarsest quotient has one component per connected piece of G0, and no edge."""
    graph = noisy_graph(seed, angle=angle, hole=0.5)
    last = graph.contract(graph.cut)
    np.testing.assert_array_equal(last.labels, graph.pixels.pieces)
    assert len(last.cut) == 0


@lawful
@given(seeds, angles, connectivities)
def test_formation_is_contraction(noisy_graph, seed, angle, connectivity):
    """Q0 at an angle is G0 (one component a pixel) with the similar edges contracted."""
    from quotientgraph.graph.selection import similar_edges

    finest = noisy_graph(seed, angle=None, connectivity=connectivity)
    formed = noisy_graph(seed, angle=angle, connectivity=connectivity)
    assert finest.n_components == finest.pixels.n_pixels
    same(finest.contract(np.flatnonzero(similar_edges(finest.pixels, angle))), formed)


@lawful
@given(seeds, angles, st.floats(0, 0.4))
def test_agreement_with_networkx(noisy_graph, seed, angle, share):
    """The quotient is networkx.quotient_graph of G0 by the same partition: same nodes, same adjacency, same weights."""
    graph = noisy_graph(seed, (6, 7), angle=angle)
    graph = graph.contract(some_edges(graph, np.random.default_rng(seed), share))
    g0 = networkx.Graph()
    g0.add_nodes_from(range(graph.pixels.n_pixels))
    g0.add_edges_from(pixel_pairs(graph))
    reference = networkx.quotient_graph(g0, [set(p) for p in parts(graph.labels)], relabel=False)
    ours = graph.to_networkx()
    name = {frozenset(block): int(graph.labels[next(iter(block))]) for block in reference.nodes}
    assert sorted(name.values()) == sorted(ours.nodes)
    expected = {frozenset((name[a], name[b])): d["weight"] for a, b, d in reference.edges(data=True)}
    assert {frozenset((a, b)): d["n_edges"] for a, b, d in ours.edges(data=True)} == expected


@lawful
@given(seeds, angles, st.floats(0, 0.4))
def test_agreement_with_igraph(noisy_graph, seed, angle, share):
    """The quotient is igraph's contract_vertices of G0 by the labels, simplified: same pairs, same multiplicities."""
    graph = noisy_graph(seed, angle=angle)
    graph = graph.contract(some_edges(graph, np.random.default_rng(seed), share))
    reference = igraph.Graph(graph.pixels.n_pixels, edges=list(pixel_pairs(graph)))
    reference.es["count"] = 1
    reference.contract_vertices(graph.labels.tolist())
    reference.simplify(combine_edges="sum")
    expected = {tuple(sorted(e.tuple)): e["count"] for e in reference.es}
    ours = graph.to_igraph()
    assert reference.vcount() == ours.vcount() == graph.n_components
    assert {tuple(sorted(e.tuple)): e["n_edges"] for e in ours.es} == expected


def test_edges_may_be_numbers_or_a_mask(noisy_graph):
    """A boolean per cut edge means the same as the numbers of the edges in `cut`."""
    graph = noisy_graph(2)
    mask = np.random.default_rng(0).random(len(graph.cut)) < 0.3
    same(graph.contract(mask), graph.contract(graph.cut[mask]))
    same(graph.contract(graph.cut[mask].tolist()), graph.contract(mask))
    same(graph.contract(int(graph.cut[0])), graph.contract([graph.cut[0]]))


@pytest.mark.parametrize("edges", [[True], [0.5], [-1], [10**6], [[0, 1]], ["a"]])
def test_edges_that_cannot_be_are_refused(edges, noisy_graph):
    """A `ValueError` names `edges` and what it may be."""
    with pytest.raises(ValueError, match="edges"):
        noisy_graph().contract(edges)


def test_label_image(toy):
    """label_image() holds each pixel's component, −1 outside."""
    scene = toy("disconnected")
    graph = QuotientGraph.from_normals(**scene.arguments)
    image = graph.label_image()
    assert image.dtype == np.int32
    np.testing.assert_array_equal(image >= 0, scene.mask)
    np.testing.assert_array_equal(image[scene.mask], graph.labels)


def test_a_step_has_two_components(toy):
    """Two planes of different slope are two components whatever their distance; the cut runs between them."""
    graph = QuotientGraph.from_normals(**toy("step").arguments)
    assert graph.n_components == 2
    image = graph.label_image()
    assert (image[:, :15] == 0).all()
    assert (image[:, 15:] == 1).all()
    assert len(graph.cut) == 20 + 2 * 19


def test_node_attributes(noisy_graph):
    """Each node knows its size and its bounding box; sizes add up to the number of pixels."""
    graph = noisy_graph(5)
    nodes = graph.to_networkx().nodes
    image = graph.label_image()
    assert sum(d["size"] for _, d in nodes(data=True)) == graph.pixels.n_pixels
    for c, d in nodes(data=True):
        v, u = np.nonzero(image == c)
        box = {"size": len(v), "top": v.min(), "left": u.min(), "bottom": v.max(), "right": u.max()}
        assert {name: d[name] for name in box} == box


def test_edge_attributes(noisy_graph):
    """Each edge knows how many pixel edges it stands for and their mean residual φ_tail − φ_head − jump."""
    graph = noisy_graph(6)
    potential = np.random.default_rng(1).normal(size=graph.pixels.n_pixels)
    exported = graph.to_networkx(potential)
    tail, head = graph.tail, graph.head
    residual = graph.residual(potential)
    assert sum(d["n_edges"] for *_, d in exported.edges(data=True)) == len(graph.cut)
    for a, b, d in exported.edges(data=True):
        a, b = min(a, b), max(a, b)
        forth, back = (tail == a) & (head == b), (tail == b) & (head == a)
        values = np.concatenate([residual[forth], -residual[back]])
        assert d["n_edges"] == len(values)
        assert d["residual"] == pytest.approx(values.mean())
    same_edges = {tuple(e.tuple): e["residual"] for e in graph.to_igraph(potential).es}
    assert same_edges == {(a, b): d["residual"] for a, b, d in exported.edges(data=True)}


def test_the_default_residual_is_minus_the_offset_between_components(toy):
    """Exported without a potential, an edge's residual is what aligning the two filled components undoes."""
    graph = QuotientGraph.from_normals(**toy("step").arguments)
    potential = graph.filled()
    ((_, _, d),) = graph.to_networkx().edges(data=True)
    shifted = potential - d["residual"] * (graph.labels == 0)
    assert graph.residual(shifted).mean() == pytest.approx(0, abs=1e-12)


def test_exports_of_a_single_component(toy):
    """A graph without edges exports as one."""
    graph = QuotientGraph.from_normals(**toy("single_pixel").arguments)
    assert (graph.to_igraph().vcount(), graph.to_igraph().ecount()) == (1, 0)
    assert (len(graph.to_networkx()), graph.to_networkx().size()) == (1, 0)


def test_quotients_by_ones_own_labels(noisy_graph):
    """from_labels takes any integer segmentation: numbers are made consecutive, parts that are apart are split."""
    graph = noisy_graph(4)
    again = QuotientGraph.from_labels(graph.pixels, graph.jump, graph.labels)
    same(again, graph)
    same(QuotientGraph.from_labels(graph.pixels, graph.jump, 7 * graph.labels.astype(np.int64) + 3), graph)
    one = QuotientGraph.from_labels(graph.pixels, graph.jump, np.zeros(graph.pixels.n_pixels, int))
    np.testing.assert_array_equal(one.labels, graph.pixels.pieces)
    for wrong in (graph.labels[:-1], graph.labels.astype(float), graph.label_image()):
        with pytest.raises(ValueError, match="labels: expected one whole number per valid pixel"):
            QuotientGraph.from_labels(graph.pixels, graph.jump, wrong)


def test_stages_are_timed(toy):
    """from_normals says how long graph and components took."""
    seconds = QuotientGraph.from_normals(**toy("plane").arguments).seconds
    assert set(seconds) == {"graph", "components"}
    assert all(value >= 0 for value in seconds.values())


@pytest.fixture(scope="module")
def room():
    return scenes.make("room", shape=(48, 64))


def test_a_graph_keeps_the_preset_that_it_was_made_with(room):
    """With an angle of the user's own too; and only components that a preset formed are formed anew for another one."""
    maps = room.normals, room.mask, room.camera, "opencv"
    graph = QuotientGraph.from_normals(*maps, angle=3.5, preset="paper")
    np.testing.assert_array_equal(graph.optimize().depth, integrate(*maps, angle=3.5, preset="paper").depth)
    untouched = QuotientGraph.from_normals(*maps)
    known = QuotientGraph.from_normals(*maps, preset="paper")
    np.testing.assert_array_equal(untouched.optimize(preset="paper").levels[0].labels, known.labels)
    joined = untouched.contract(untouched.cut[:5])
    for own in (joined, analysis.absorb_small(untouched), untouched.divided(joined.labels)):
        assert own.preset == "best"
        assert own.optimize(preset="paper").levels[0].n_components == own.n_components


def test_components_formed_anew_are_those_of_their_preset():
    """A preset formed them as well, so that another one forms them anew again."""
    scene = scenes.make("spheres", shape=(72, 96))
    maps = scene.normals, scene.mask, scene.camera, "opencv"
    formed = QuotientGraph.from_normals(*maps).optimize(preset="paper").levels[0]
    assert (formed.preset, formed.formed_by_preset) == ("paper", True)
    again, known = formed.optimize(preset="best").levels[0], QuotientGraph.from_normals(*maps)
    assert (again.preset, again.angle) == ("best", known.angle)
    np.testing.assert_array_equal(again.labels, known.optimize().levels[0].labels)


def test_components_of_another_map_are_refused(room):
    graph = QuotientGraph.from_normals(room.normals, room.mask, room.camera, "opencv")
    with pytest.raises(ValueError, match="labels: expected one for each of"):
        graph.divided(np.zeros(7, dtype=np.int32))
