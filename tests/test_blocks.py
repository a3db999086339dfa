"""Gathers and sums over many pixels, made by kernels: the same numbers, to the bit, as NumPy's."""

import numpy as np
import pytest

from laplacians.core import arrays, edges, lookups
from quotientgraph import QuotientGraph
from quotientgraph.beyond.face_fragments import divided_components, settle_fragments
from quotientgraph.graph.selection import connected_components


@pytest.fixture
def kernels_always(monkeypatch):
    monkeypatch.setattr(lookups, "LONG", 0)


@pytest.mark.parametrize("in_runs", [False, True])
@pytest.mark.parametrize("n", [1, 3, 40])
def test_sums_and_counts(kernels_always, n, in_runs):
    """Runs carry their sums on, so that each sum is made in the order of the values."""
    random = np.random.default_rng(n)
    index, values = random.integers(0, n, 500).astype(np.int32), random.normal(size=(500, 3))
    index = np.repeat(index[:100], 5) if in_runs else index
    for column in values.T:
        assert np.array_equal(arrays.sums(index, column, n), np.bincount(index, column, n))
    assert np.array_equal(arrays.sums(index, values[:, 0] > 0, n), np.bincount(index, values[:, 0] > 0, n))
    assert np.array_equal(arrays.counts(index, n), np.bincount(index, minlength=n))


def test_a_kernel_is_compiled_for_a_long_list_only(monkeypatch):
    """That another one is in use already is no reason to have one compiled for less."""
    index = np.zeros(10_000, dtype=np.int32)
    monkeypatch.setattr(lookups._take, "_compiled", lookups._take.compiled())
    for kernel in (lookups._add, lookups._count, lookups._find_first, edges.sort_by_count):
        monkeypatch.setattr(kernel, "_compiled", None)
    assert arrays.sums(index, np.ones(len(index)), 1) == arrays.counts(index, 1) == len(index)
    assert lookups.first_places(index, 1) == 0
    assert edges.sorted_by_key(index, 1)[1] == len(index)
    assert not any(
        kernel.is_loaded for kernel in (lookups._add, lookups._count, lookups._find_first, edges.sort_by_count)
    )
    assert lookups.suits(lookups._take, index)


def test_gathers(kernels_always):
    """Through one list and through two, of values of every type."""
    random = np.random.default_rng(0)
    one, other = random.integers(0, 20, 300).astype(np.int32), random.integers(0, 300, 700).astype(np.int32)
    for values in (random.normal(size=20), np.arange(20, dtype=np.int32), random.random(20) < 0.5):
        found = arrays.gathered(values, one, other)
        assert found.dtype == values.dtype
        assert np.array_equal(found, values[one[other]])
        assert np.array_equal(arrays.gathered(values, one), values[one])


def test_centred(kernels_always):
    random = np.random.default_rng(0)
    labels, x = random.permutation(np.repeat(np.arange(10, dtype=np.int32), 50)), random.normal(size=500)
    mean = np.bincount(labels, x) / np.bincount(labels)
    assert np.array_equal(arrays.centred(x, labels), x - mean[labels])


def striped(shape, width):
    """A graph whose components are columns of the image."""
    normals = np.dstack([np.where(np.arange(shape[1]) // width % 2, 0.3, -0.3) * np.ones(shape), *np.ones((2, *shape))])
    return QuotientGraph.from_normals(normals, angle=5.0, check=False)


def test_sizes_and_first_pixels():
    graph = striped((30, 40), 4)
    label, first, count = np.unique(graph.labels, return_index=True, return_counts=True)
    assert len(label) == graph.n_components == 10
    assert np.array_equal(graph.first_pixels, first)
    assert np.array_equal(graph.sizes, count)


def test_components_are_divided_by_faces():
    """Two pixels stay together if a path of their component and their face joins them."""
    graph, random = striped((30, 40), 8), np.random.default_rng(1)
    face = random.integers(0, 3, graph.pixels.n_pixels).astype(np.int32)
    tail, head = graph.pixels.tail, graph.pixels.head
    same = (face[tail] == face[head]) & (graph.labels[tail] == graph.labels[head])
    expected = connected_components(graph.pixels.n_pixels, tail[same], head[same])
    assert np.array_equal(divided_components(graph, face), expected)


@pytest.mark.parametrize("seed", range(3))
def test_fragments_go_to_what_surrounds_them(seed):
    """No part of less than 20 pixels is left beside a large one of the same component, and large parts stay."""
    graph = striped((40, 48), 24)
    random, image = np.random.default_rng(seed), np.zeros((40, 48), dtype=np.int32)
    image[5:35, 4:20] = 1
    image[10:30, 30:44] = 2
    crumbs = random.random(image.shape) < 0.02
    image[crumbs] = random.integers(0, 3, np.count_nonzero(crumbs))
    number = image.ravel().copy()
    settle_fragments(graph, number)
    part = divided_components(graph, number)
    size, tail, head = np.bincount(part), graph.pixels.tail, graph.pixels.head
    beside = (part[tail] != part[head]) & (graph.labels[tail] == graph.labels[head])
    assert np.minimum(size[part[tail]], size[part[head]])[beside].min() >= 20
    assert (number != image.ravel()).sum() <= np.count_nonzero(crumbs)
    assert set(np.unique(number)) == {0, 1, 2}
