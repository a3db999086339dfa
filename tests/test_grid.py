"""Graphs on a grid: the same graphs as neighbour lists, smoothed and contracted in another way."""

import numpy as np
import pytest

from laplacians import GridGraph, Multigrid, NeighbourLists
from laplacians.core.arrays import centred
from laplacians.core.edges import connected_labels
from laplacians.core.jit import WHOLE, Kernel
from laplacians.multigrid import grid, grid_smoothing, hierarchy
from laplacians.multigrid.grid_contraction import Squares, as_lists, contracted_grid
from laplacians.multigrid.hierarchy import Hierarchy
from quotientgraph import QuotientGraph, scenes
from quotientgraph.graph.pixels import PixelGraph
from quotientgraph.method import filling

_STEPS = [(0, 1), (1, -1), (1, 0), (1, 1)]


def patchwork(height, width, n_labels, connectivity=8, seed=0):
    """Pixels with holes, joined to neighbours of the same label: shape, cell, tail, head, weight."""
    random = np.random.default_rng(seed)
    label = random.integers(0, n_labels, (height, width)) if n_labels > 3 else np.zeros((height, width), dtype=int)
    if 1 < n_labels <= 3:
        coarse = random.integers(0, n_labels, (height // 5 + 1, width // 5 + 1))
        label = coarse.repeat(5, 0).repeat(5, 1)[:height, :width]
    index = np.full((height + 2, width + 2), -1, dtype=np.int32)
    inside = random.random((height, width)) < 0.95
    index[1:-1, 1:-1][inside] = np.arange(inside.sum())
    v, u = np.nonzero(index >= 0)
    tail, head = [], []
    for a, (y, x) in enumerate(zip(v, u)):
        for dv, du in _STEPS if connectivity == 8 else [(0, 1), (1, 0)]:
            b = index[y + dv, x + du]
            if b >= 0 and label[y - 1, x - 1] == label[y + dv - 1, x + du - 1]:
                tail.append(a)
                head.append(b)
    shape = height + height % 2 + 2, width + width % 2 + 2
    weight = random.uniform(0.2, 1, len(tail)).astype(np.float32)
    cell = (v * shape[1] + u).astype(np.int32)
    return shape, cell, np.array(tail, dtype=np.int32), np.array(head, dtype=np.int32), weight


CASES = {
    "one piece": (41, 37, 1),
    "few pieces": (60, 71, 3),
    "crumbs": (40, 50, 5),
    "four neighbours": (50, 44, 2, 4),
    "one row": (1, 90, 1),
    "one column": (90, 1, 1),
}


@pytest.fixture(params=CASES)
def case(request, monkeypatch):
    """The graph on a grid, the same graph as lists, and the cells of its nodes; several blocks of rows."""
    monkeypatch.setattr(grid, "_BLOCK_ROWS", 8)
    shape, cell, tail, head, weight = patchwork(*CASES[request.param])
    lists = NeighbourLists.from_edges(len(cell), tail, head, weight)
    return GridGraph.from_edges(shape, cell, tail, head, weight), lists, cell


def on_grid(graph, cell, values):
    out = np.zeros(graph.n, dtype=values.dtype)
    out[cell] = values
    return out


def groups(squares, cell):
    """(n,) the group of each cell, a node of the contracted graph."""
    v, u = np.divmod(cell, squares.part.shape[1])
    row, column, part = (v - 1) // 2, (u - 1) // 2, squares.part[v, u]
    return np.where(part == 0, (row + 1) * squares.shape[1] + column + 1, squares.first[row, column] + part - 1)


def matrix(lists, group, n):
    """(n, n) weights between groups of the nodes of a graph, added up."""
    out = np.zeros((n, n))
    row = np.repeat(np.arange(lists.n), np.diff(lists.start))
    np.add.at(out, (group[row], group[lists.neighbour]), lists.weight)
    np.fill_diagonal(out, 0)
    return out


def test_the_product_is_that_of_the_lists(case):
    """L x and x·L x; cells that hold no node stay zero, the frame among them."""
    graph, lists, cell = case
    x = np.random.default_rng(0).normal(size=len(cell)).astype(np.float32)
    out, expected = np.zeros(graph.n), np.empty(len(cell))
    out[cell[np.diff(lists.start) > 0]] = np.nan  # must be written
    form = graph.apply(on_grid(graph, cell, x), out)
    assert form == pytest.approx(lists.apply(x, expected))
    np.testing.assert_allclose(out[cell], expected, atol=1e-12)
    assert not np.delete(out, cell).any()


def test_contraction_adds_up_weights(case):
    """The contracted graph has every weight between two groups, and contracting it again does so too."""
    graph, lists, cell = case
    squares = Squares.from_graph(graph)
    coarse = contracted_grid(graph, squares)
    group = groups(squares, cell)
    expected = matrix(lists, group, coarse.n)
    found = as_lists(coarse)
    np.testing.assert_allclose(matrix(found, np.arange(coarse.n), coarse.n), expected, rtol=1e-6)
    for i in range(found.n):
        assert (np.diff(found.neighbour[found.start[i] : found.start[i + 1]]) > 0).all()

    again = Squares.from_graph(coarse)
    cells = np.arange(coarse.n_cells).reshape(coarse.weight.shape[1:])[1:-1, 1:-1].ravel()
    kept = again.n_groups - (coarse.n - coarse.n_cells)
    next_group = np.zeros(coarse.n, dtype=int)
    next_group[cells] = groups(again, cells)
    next_group[coarse.n_cells :] = np.arange(kept, again.n_groups)
    twice = as_lists(contracted_grid(coarse, again))
    expected = matrix(found, next_group, again.n_groups)
    np.testing.assert_allclose(matrix(twice, np.arange(twice.n), twice.n), expected, rtol=1e-5)


def test_groups_are_connected_inside_their_square(case):
    """Cells of one group are joined by edges between cells of that group; cells of two groups of a square are not."""
    graph, lists, cell = case
    squares = Squares.from_graph(graph)
    group = groups(squares, cell)
    joined = np.flatnonzero(lists.inverse > 0)
    v, u = np.divmod(cell, graph.weight.shape[2])
    square = (v - 1) // 2 * graph.weight.shape[2] + (u - 1) // 2
    row = np.repeat(np.arange(lists.n), np.diff(lists.start))
    inside = square[row] == square[lists.neighbour]
    piece = connected_labels(lists.n, row[inside], lists.neighbour[inside])
    pairs = {(int(group[i]), int(piece[i])) for i in joined}
    assert len(pairs) == len({g for g, _ in pairs}) == len({p for _, p in pairs})


def test_the_residual_is_restricted(case):
    """What a sweep hands to the contracted graph is r − L z added up over the groups."""
    graph, lists, cell = case
    squares = Squares.from_graph(graph)
    r = np.random.default_rng(1).normal(size=lists.n) * (lists.inverse > 0)
    z, coarse = np.zeros(graph.n, dtype=np.float32), np.ones(squares.n_groups, dtype=np.float32)
    grid_smoothing.smooth_and_restrict(graph, on_grid(graph, cell, r.astype(np.float32)), squares, z, coarse)
    product = np.empty(lists.n)
    lists.apply(z[cell], product)
    joined = lists.inverse > 0
    expected = np.bincount(groups(squares, cell)[joined], (r - product)[joined], squares.n_groups)
    np.testing.assert_allclose(coarse, expected, atol=1e-5)


def test_a_cycle_is_symmetric_and_lowers_the_error(case):
    """The preconditioner M is symmetric, and M L has eigenvalues in (0, 1] on what is not constant."""
    graph, lists, cell = case
    levels = Hierarchy.from_graph(graph, 10_000)  # the contracted graph is solved exactly
    random = np.random.default_rng(2)
    product = np.empty((3, lists.n))
    for row in product:
        lists.apply(random.normal(size=lists.n).astype(np.float32), row)
    z = [levels.cycle(0, on_grid(graph, cell, r))[cell].astype(np.float64) for r in product]
    assert z[0] @ product[1] == pytest.approx(z[1] @ product[0], abs=1e-4 * abs(z[0] @ product[0]))
    for r, answer in zip(product, z):
        image = np.empty(lists.n)
        form = lists.apply(answer.astype(np.float32), image)
        assert 0 < form <= answer @ r * (1 + 1e-5)


@pytest.mark.parametrize("smallest", [100, 10**9])
def test_the_solution_is_that_of_the_lists(case, smallest, monkeypatch):
    """Both solve the same equations; the number of iterations is about the same, with one level on a grid or several."""
    monkeypatch.setattr(hierarchy, "_SMALLEST_GRID", smallest)
    graph, lists, cell = case
    rhs = np.empty(lists.n)
    lists.apply(np.random.default_rng(3).normal(size=lists.n).astype(np.float32), rhs)
    solver = Multigrid(rtol=1e-12, coarsest=50)
    found = solver.improve(graph, np.zeros(graph.n), on_grid(graph, cell, rhs))
    expected = solver.improve(lists, np.zeros(lists.n), rhs)
    assert found.converged
    assert found.iterations <= expected.iterations + 6
    row = np.repeat(np.arange(lists.n), np.diff(lists.start))
    pieces = connected_labels(lists.n, row, lists.neighbour)
    np.testing.assert_allclose(centred(found.x[cell], pieces), centred(expected.x, pieces), atol=1e-9)


@pytest.mark.parametrize(("name", "noise"), [("bumps", 0.0), ("occlusions", 0.5), ("textured_room", 0.0)])
def test_filling_is_the_same_on_a_grid(name, noise, monkeypatch):
    """Solved to the end, the potential is that of neighbour lists; at the usual tolerance it is as near to it."""
    scene = scenes.make(name, shape=(96, 120))
    scene = scene.with_noise(noise) if noise else scene
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=2.0)
    monkeypatch.setattr(filling, "GRID_FROM", dict.fromkeys(filling.GRID_FROM, 0))
    usual = filling.fill(graph)
    assert usual.iterations <= 7
    monkeypatch.setattr(filling, "_MULTIGRID", Multigrid(rtol=1e-13, energy_tol=1e-18, maxiter=60))
    exact = filling.fill(graph).potential
    monkeypatch.setattr(PixelGraph, "cells", lambda self: None)
    listed = filling.fill(graph).potential
    np.testing.assert_allclose(exact, listed, atol=1e-9)
    monkeypatch.setattr(filling, "_MULTIGRID", Multigrid(rtol=1e-9, energy_tol=1e-5))
    before = np.sqrt(np.mean((filling.fill(graph).potential - listed) ** 2))
    assert np.sqrt(np.mean((usual.potential - listed) ** 2)) <= 4 * before + 1e-12


def test_threads_do_not_change_the_result(case, monkeypatch):
    """Shares of a kernel's work can be done in any order: contraction and a whole solution are the same to the bit."""
    graph, lists, cell = case
    rhs = np.empty(lists.n)
    lists.apply(np.random.default_rng(3).normal(size=lists.n).astype(np.float32), rhs)
    monkeypatch.setattr(hierarchy, "_SMALLEST_GRID", 100)
    solver = Multigrid(rtol=1e-6, coarsest=50)
    expected = solver.improve(graph, np.zeros(graph.n), on_grid(graph, cell, rhs)).x
    call = Kernel.__call__

    def scattered(self, *args):
        if not self.shared or args[-1] is WHOLE:
            return call(self, *args)
        for k in (2, 0, 3, 1):
            self.compiled()(*args, (k, 2))
        return None

    monkeypatch.setattr(Kernel, "__call__", scattered)
    found = solver.improve(GridGraph.from_weights(graph.weight), np.zeros(graph.n), on_grid(graph, cell, rhs)).x
    np.testing.assert_array_equal(found, expected)


def test_a_sparse_or_wrapped_graph_has_no_grid(toy):
    """Two pixels far apart are not worth a grid; others are placed inside a frame, row by row."""
    pixels = QuotientGraph.from_normals(**toy("sphere").arguments).pixels
    shape, cell = pixels.cells()
    assert shape[0] % 2 == shape[1] % 2 == 0
    v, u = np.divmod(cell, shape[1])
    y, x = np.divmod(pixels.map.position, pixels.map.shape[1])
    assert np.ptp(v - y) == np.ptp(u - x) == 0
    assert v.min() == u.min() == 1
    assert v.max() < shape[0] - 1
    assert u.max() < shape[1] - 1
    far = np.zeros((400, 400), dtype=bool)
    far[0, 0] = far[-1, -1] = True
    flat = np.tile([0.0, 0.0, 1.0], (400, 400, 1))
    assert QuotientGraph.from_normals(flat, far).pixels.cells() is None
