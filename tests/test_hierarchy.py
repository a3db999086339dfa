"""The merge tree: cut at each level it gives that level, and it goes to SciPy, Newick and higra."""

import re

import numpy as np
import pytest
import scipy.cluster.hierarchy as sch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quotientgraph import QuotientGraph, scenes
from quotientgraph.analysis import Hierarchy
from quotientgraph.analysis.dendrograms import parents_and_altitudes

lawful = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
seeds = st.integers(0, 2**31)


@pytest.fixture(scope="module")
def merged():
    scene = scenes.make("spheres", shape=(40, 50))
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=3.5)
    return graph.optimize(merge_every=5)


def partition(labels):
    return np.unique(labels, return_inverse=True)[1]


def test_cut_at_a_level_is_that_level(merged):
    """Exactly the labels of every level that the optimisation left."""
    tree = merged.hierarchy
    assert len(merged.levels) > 3
    for m, level in enumerate(merged.levels):
        cut = tree.cut(level=m)
        np.testing.assert_array_equal(cut.labels, level.labels)
        np.testing.assert_array_equal(cut.cut, level.cut)
        assert cut.level == level.level


@lawful
@given(seeds, st.floats(0.05, 0.4), st.floats(0.05, 0.4), st.booleans())
def test_cuts_of_any_nested_levels(noisy_graph, seed, first, second, linked):
    """The same for contractions by hand, also where the levels do not know each other (as read from label images)."""
    random = np.random.default_rng(seed)
    levels = [noisy_graph(seed)]
    for share in (first, second):
        edges = np.flatnonzero(random.random(levels[-1].pixels.n_edges) < share)
        levels.append(levels[-1].contract(edges))
    if not linked:
        levels = [g.from_labels(g.pixels, g.jump, g.labels) for g in levels]
    tree = Hierarchy.from_levels(levels, random.normal(size=levels[0].pixels.n_pixels))
    for m, level in enumerate(levels):
        np.testing.assert_array_equal(tree.cut(level=m).labels, level.labels)
    assert tree.n_leaves - tree.n_merges == levels[0].pixels.n_pieces
    for count in range(levels[0].pixels.n_pieces, tree.n_leaves + 1, 7):
        assert tree.cut(n_components=count).n_components == count


def test_merges_tell_the_contracted_edge_and_its_residual(merged):
    """A merge of the optimisation names an edge that was contracted on its level, between its two clusters."""
    tree = merged.hierarchy
    for m in range(1, len(merged.levels)):
        chosen = np.flatnonzero(tree.level == m)
        level = merged.levels[m]
        assert set(tree.edge[chosen]) <= set(level.contracted)
        at = dict(zip(level.contracted.tolist(), np.abs(level.contracted_at * level.pixels.focal_at(level.contracted))))
        np.testing.assert_allclose(tree.residual[chosen], [at[e] for e in tree.edge[chosen].tolist()])
        assert len(chosen) == merged.levels[m - 1].n_components - level.n_components


def test_cut_at_a_residual(merged):
    """Clusters above the residual are taken apart; more residual, fewer components; infinity leaves the pieces."""
    tree = merged.hierarchy
    counts = [tree.cut(residual=r).n_components for r in (-1.0, 1e-3, 0.1, 1.0, np.inf)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == tree.n_leaves
    assert counts[-1] == merged.n_pieces
    fine, coarse = tree.cut(residual=0.1).labels, tree.cut(residual=1.0).labels
    assert len(set(zip(fine.tolist(), coarse.tolist()))) == fine.max() + 1


def test_without_merging_the_tree_is_single_linkage():
    """Above the last level clusters merge in the order of the mean residuals: SciPy's fcluster agrees with `cut`."""
    scene = scenes.make("torus", shape=(40, 50))
    result = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=3.5).optimize()
    tree = result.hierarchy
    assert (tree.n_levels, len(result.levels)) == (1, 1)
    z = tree.linkage()
    assert sch.is_valid_linkage(z, throw=True)
    for height in (0.01, 0.1, 1.0):
        flat = sch.fcluster(z, height, criterion="distance")[result.graph.labels]
        np.testing.assert_array_equal(_first(flat), tree.cut(residual=height).labels)


def _first(labels):
    """Labels renumbered by first appearance."""
    names, first, place = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(names), int)
    rank[np.argsort(first)] = np.arange(len(names))
    return rank[place]


def test_linkage_by_levels(merged):
    """With levels for heights, SciPy cuts the dendrogram into the levels."""
    z = merged.hierarchy.linkage("level")
    assert sch.is_valid_linkage(z, throw=True)
    for m, level in enumerate(merged.levels[1:], start=1):
        flat = sch.fcluster(z, m + 0.5, criterion="distance")[merged.levels[0].labels]
        np.testing.assert_array_equal(_first(flat), level.labels)


def test_pieces_are_joined_in_the_linkage_only(toy):
    """Three islands: SciPy is given one tree, joined at the height asked for; the hierarchy keeps three."""
    result = QuotientGraph.from_normals(**toy("disconnected").arguments, angle=None).optimize()
    tree = result.hierarchy
    assert (tree.parent < 0).sum() == 3
    z = tree.linkage(apart=99.0)
    assert sch.is_valid_linkage(z)
    assert (z[-2:, 2] == 99).all()
    assert z[-1, 3] == tree.n_leaves
    text = tree.newick()
    assert sorted(map(int, re.findall(r"(?<![\d.:e+-])\d+(?=[:,)])", re.sub(r":[\d.e+-]+", "", text)))) == list(
        range(tree.n_leaves)
    )


def test_newick_is_the_tree(merged):
    """Parsed again, every leaf is as deep as the altitude of its root, and brackets hold the merges."""
    tree, text = merged.hierarchy, merged.hierarchy.newick()
    assert text.endswith(";")
    assert text.count("(") == text.count(")") == tree.n_merges
    stack, depth, leaves = [], {}, []
    for token in re.findall(r"[(),]|:[^,()]+|\d+", text[:-1]):
        if token == "(":
            stack.append([])
        elif token == ")":
            leaves = stack.pop()
        elif token.startswith(":"):
            for leaf in leaves:
                depth[leaf] = depth.get(leaf, 0.0) + float(token[1:])
            (stack[-1] if stack else []).extend(leaves)
        elif token != ",":
            leaves = [int(token)]
    np.testing.assert_allclose([depth[c] for c in range(tree.n_leaves)], tree.altitude[-1], rtol=1e-6)


def test_sizes_and_table(merged):
    """The last cluster holds everything, and the table has a row per merge."""
    tree = merged.hierarchy
    assert tree.size[-1] == merged.graph.pixels.n_pixels
    assert tree.n_leaves_of[-1] == tree.n_leaves
    assert {len(column) for column in tree.table().values()} == {tree.n_merges}
    assert (np.diff(tree.altitude[[tree.first, tree.n_leaves + np.arange(tree.n_merges)]], axis=0) >= 0).all()


@pytest.mark.parametrize("leaves", ["components", "pixels"])
@pytest.mark.parametrize("name", ["disconnected", "plane", "step", "single_pixel"])
def test_parents_come_after_their_children(toy, name, leaves):
    """What higra asks for: parents have larger numbers, the root is its own parent and last, altitudes never fall."""
    result = QuotientGraph.from_normals(**toy(name).arguments, angle=None).optimize()
    parents, altitudes = parents_and_altitudes(result.hierarchy, leaves)
    last = len(parents) - 1
    assert parents[last] == last
    assert (parents[:last] > np.arange(last)).all()
    assert (altitudes[parents] >= altitudes).all()


@pytest.mark.parametrize(
    "where",
    [{}, {"level": 0, "residual": 1.0}, {"n_components": 0}, {"n_components": 10**6}, {"level": -1}, {"level": 99}],
)
def test_cuts_that_cannot_be_are_refused(merged, where):
    """`ValueError` names the argument."""
    with pytest.raises(ValueError, match=r"cut|n_components|level"):
        merged.hierarchy.cut(**where)


def test_unknown_words_are_refused(merged):
    with pytest.raises(ValueError, match="height"):
        merged.hierarchy.linkage("depth")
    with pytest.raises(ValueError, match="leaves"):
        parents_and_altitudes(merged.hierarchy, "edges")


@pytest.mark.parametrize("where", [{"residual": np.nan}, {"n_components": 0.5}], ids=["nan", "half"])
def test_a_cut_at_no_number_is_refused(merged, where):
    least = merged.hierarchy.n_leaves - merged.hierarchy.n_merges
    where = {name: value + least for name, value in where.items()}
    with pytest.raises(ValueError, match=f"{next(iter(where))}=.* must be a"):
        merged.hierarchy.cut(**where)
