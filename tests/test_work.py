"""How much work is done, counted instead of timed: what grows here makes everything slower, on any machine.

The bounds are what was counted when they were written, and a tenth more.
"""

import threading
import time
import tracemalloc
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import quotientgraph.graph.quotient
from laplacians.core.jit import Kernel
from laplacians.core.sharing import at_most
from laplacians.direct.cholesky import analyse
from laplacians.multigrid.hierarchy import Hierarchy
from quotientgraph import QuotientGraph, integrate, scenes, solvers
from quotientgraph.analysis.resistance import resistances
from quotientgraph.beyond import absorbing, automatic_angle, joining
from quotientgraph.beyond.border_facts import PieceFacts
from quotientgraph.beyond.border_pieces import BorderPieces
from quotientgraph.beyond.face_planes import Plane
from quotientgraph.beyond.hidden_faces import hidden_faces
from quotientgraph.beyond.joining import Judgement
from quotientgraph.beyond.steadiness import unsteadiness
from quotientgraph.beyond.turned_parts import _starts
from quotientgraph.io import evidence
from quotientgraph.io.evidence import NormalSample
from quotientgraph.method import filling
from quotientgraph.method.cutedges import CutEdges
from quotientgraph.method.scales import Scales
from quotientgraph.method.weights import Outliers, pair_terms_over
from quotientgraph.settings import PAPER


def graph_of(name, shape, **settings):
    scene = scenes.make(name, shape=shape)
    return QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", **settings)


@pytest.fixture(scope="module")
def crowd():
    """A scene with many components, and their graph."""
    return graph_of("occlusions", (160, 200), angle=2.0)


@pytest.fixture
def calls(monkeypatch):
    """Counts the calls of every kernel, and the entries that the largest arguments of all calls have.

    The test's own thread does all of its work: a helper may still be busy for the test before it.
    """
    count, own = Counter(), threading.get_ident()
    call = Kernel.__call__

    def counted(self, *args):
        if threading.get_ident() == own:
            count[self.__name__] += 1
            count["entries"] += max(a.size for a in args if isinstance(a, np.ndarray))
        return call(self, *args)

    monkeypatch.setattr(Kernel, "__call__", counted)
    with at_most(1):
        yield count


def grid_pattern(height, width, diagonal=True):
    """Pixels joined to their four or eight neighbours."""
    node = np.arange(height * width, dtype=np.int32).reshape(height, width)
    steps = [(node[:, :-1], node[:, 1:]), (node[:-1], node[1:])]
    if diagonal:
        steps += [(node[:-1, :-1], node[1:, 1:]), (node[:-1, 1:], node[1:, :-1])]
    tail, head = (np.concatenate([step[i].ravel() for step in steps]) for i in range(2))
    return solvers.Pattern.from_edges(height * width, tail, head)[0]


# Joining -----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def room():
    """The graph of a scene with flat faces, at a fine angle."""
    scene = scenes.random("open_room", 2, shape=(150, 200), camera="pinhole").with_noise(0.3)
    return QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=1.0)


def test_jumps_of_borders_are_computed_once(room, calls):
    """The facts of all pieces of borders take one pass over their sides, and tracing them one walk."""
    borders = BorderPieces.from_graph(room)
    assert calls["_trace"] == calls["_divide"] == 1
    calls.clear()
    PieceFacts.measure(room, np.zeros(room.pixels.n_pixels), borders)
    assert calls["_planar"] == calls["_insert"] == 1  # jumps, and sorting for the medians of their offsets
    assert sum(calls.values()) - calls["entries"] == 2
    assert calls["entries"] <= 3 * len(borders.row) + 3 * room.pixels.n_pixels


def test_no_thread_works_beside_the_caller(monkeypatch):
    """Matrices are multiplied without the threads of BLAS: each would keep a core busy for long after its work is done."""
    monkeypatch.setattr("laplacians.core.sharing.n_threads", lambda: 1)
    scene = scenes.random("tabletop", 7)
    integrate(scene.normals, scene.mask, scene.camera, "opencv")  # compiles, which a second process helps with
    time.sleep(0.3)
    everyone, own = time.process_time(), time.thread_time()
    integrate(scene.normals, scene.mask, scene.camera, "opencv")
    assert (time.process_time() - everyone) - (time.thread_time() - own) < 0.01


def test_normals_are_added_up_without_copies(calls, monkeypatch):
    """The angle takes one pass along rows and one along columns; flat faces take one pass for each graph that has any."""
    located = []
    locate = Plane.locate
    monkeypatch.setattr(Plane, "locate", lambda *args: located.append(args) or locate(*args))
    scene = scenes.random("tabletop", 0, camera="pinhole")
    integrate(scene.normals, scene.mask, scene.camera, "opencv", check=False)
    assert calls["_write_bends"] == calls["_add_normals"] == 2
    assert 1 <= calls["mark_inside"] <= len(located) <= calls["mark_inside"] + 5  # some outlines enclose nothing


def test_edges_that_cannot_be_absorbed_are_not_visited(monkeypatch):
    """Of the cut edges only those are sorted and visited whose smaller component is small enough for their angle."""
    scene = scenes.random("curved", 2, shape=(150, 200), camera="pinhole")
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=2.0)
    visited = []

    def absorb(order, *args):
        visited.append(len(order))
        call(order, *args)

    call = absorbing._absorb
    monkeypatch.setattr(absorbing, "_absorb", absorb)
    assert absorbing.absorbed(graph).n_components < 0.3 * graph.n_components
    assert visited[0] <= 0.15 * len(graph.cut)


def test_normals_are_sampled_once_for_all_cameras(monkeypatch):
    """The frame and the camera are compared with others on one sample of the normals, and no frame is judged twice."""
    sampled, summed = [], Counter()
    sample, loops = NormalSample.from_map, evidence._loop_sums
    monkeypatch.setattr(NormalSample, "from_map", lambda *args: sampled.append(args) or sample(*args))

    def counted(sample, axes):
        summed[sample.focal, axes.tobytes()] += 1
        return loops(sample, axes)

    monkeypatch.setattr(evidence, "_loop_sums", counted)
    graph_of("bumps", (96, 120))
    assert len(sampled) == 1
    assert summed.total() == len(summed) > 4


def test_hidden_faces_take_few_passes(calls):
    """Components are divided in one pass over the edges, which are not copied; fragments are looked for twice at most."""
    scene = scenes.random("tabletop", 0)
    graph = absorbing.absorbed(
        QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", check=False)
    )
    judged = Judgement.of(graph, np.zeros(graph.pixels.n_pixels))
    calls.clear()
    faces = hidden_faces(graph, judged.borders, judged.facts, judged.contact, judged.front, judged.tolerance)
    assert faces is not None
    assert calls["_unite_equal"] <= 2
    calls.clear()
    faces.divide(graph)
    tracemalloc.start()
    try:
        faces.divide(graph)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert calls["_unite_equal"] == calls["_list_cut"] == 2  # once each time
    assert peak < 40 * graph.pixels.n_pixels  # the edges alone have 32 bytes a pixel


# Factorisation -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("side", "entries", "work"), [(40, 14.4, 410), (120, 23.8, 1830)])
def test_the_ordering_fills_in_little(side, entries, work):
    """Non-zeros of the factor and multiplications, both per unknown, of a grid of four neighbours."""
    a = analyse(grid_pattern(side, side, diagonal=False))
    count = np.diff(a.start)
    assert a.n_nonzeros / side**2 < entries
    assert np.sum(count.astype(float) ** 2) / side**2 < work


def test_joining_is_compiled_in_one_form(monkeypatch):
    # Arrays with gaps between their values would be another type, for which the largest kernels are compiled once more.
    forms = []
    monkeypatch.setattr(
        joining,
        "join_groups",
        lambda *args: forms.append(tuple((a.dtype, a.flags.c_contiguous) for a in args if isinstance(a, np.ndarray))),
    )
    room = graph_of("room", (120, 160))
    judged = Judgement.of(room, filling.fill(room).potential)
    joining.places(judged)
    unsteadiness(judged, judged.witnesses)
    assert len(forms) > 10
    assert len(set(forms)) == 1
    assert all(in_a_row for _, in_a_row in forms[0])


def test_no_axis_is_sought_twice():
    labels = np.array([[7] * 9, [1] * 5 + [2] * 4])
    part, weight = _starts(labels)
    tried = [tuple(weight[part == k].sum(axis=1).astype(int)) for k in range(2)]
    assert tried == [(9,), (9, 5, 4)]  # one component alone is the whole part


def test_the_ordering_of_a_quotient_graph(crowd):
    """Components have some six neighbours, a few have hundreds; these come last and cost little."""
    tail, head = crowd.tail, crowd.head
    pattern = solvers.Pattern.from_edges(crowd.n_components, tail, head)[0]
    a = analyse(pattern)
    assert a.n_nonzeros < 5 * pattern.n_pairs
    assert a.n_updates < 0.27 * a.n_nonzeros  # working memory, beside the factor
    assert len(a.front) < 0.64 * pattern.n  # columns are eliminated together


def test_sums_over_pairs_are_made_once_a_solve(crowd, calls):
    """Diagonal, right-hand side and its size take one pass; so do the product for the residual and that for the check."""
    result = crowd.optimize(max_iterations=4, preset="paper")
    assert 0 < calls["_add_up"] <= len(result.history) + 1  # one is for the coarsest level of filling
    assert calls["_apply"] <= 2 * len(result.history) + 40  # the rest is filling


def test_merging_looks_at_each_cut_edge_once(crowd, calls):
    """The edges of least residual are found border by border, and the edges that stay cut in one pass."""
    scales = Scales(
        crowd,
        CutEdges.from_graph(crowd, crowd.filled(), 1.0),
        crowd.filled(),
        PAPER,
        solvers.get("auto"),
        lambda step: None,
        np,
    )
    cut = scales.cut
    calls.clear()
    scales.merge()
    assert calls["_least"] == calls["_list_cut"] == 1
    assert "pair" not in vars(cut)


def test_a_pattern_is_analysed_once(crowd, calls):
    """Ordering and pattern are found once for each level; an iteration makes one pass over the edges and one factor."""
    result = crowd.optimize(max_iterations=11, merge_every=5)
    levels, iterations = len(result.levels), len(result.history)
    assert iterations == 11
    assert 1 < levels < iterations
    # One is for the coarsest level of filling; the last level is small, and the confidence has that of the first level.
    assert 0 < calls["_minimum_degree"] <= levels
    assert 0 < calls["_factor_fronts"] <= 2 * (iterations + 2)  # independent fronts and the others; filling, confidence
    assert 0 < calls["_add_pairs"] <= iterations
    assert calls["_solve"] <= iterations + 12  # the rest is filling
    assert calls["_solve_four"] == 3  # twelve right-hand sides for the confidence


def test_borders_are_sorted_once_for_resistances(crowd, monkeypatch):
    """The focal length of a border is found along with its strength."""
    made, made_of = [], solvers.Pattern.from_edges
    monkeypatch.setattr(solvers.Pattern, "from_edges", lambda *edges: made.append(edges) or made_of(*edges))
    resistances(crowd, crowd.filled())
    assert len(made) == 1


# Filling -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(60, 80), (240, 320), (480, 640)])
def test_filling_takes_as_many_iterations_at_any_size(shape):
    """Conjugate-gradient iterations; each costs a fixed multiple of the unknowns."""
    assert 0 < filling.fill(graph_of("bumps", shape)).iterations <= 6


def test_the_last_cycle_is_not_wasted(monkeypatch):
    """That enough was gained is foreseen from how the residual shrinks, instead of measured by one more cycle."""
    depths = []
    cycle = Hierarchy.cycle
    monkeypatch.setattr(Hierarchy, "cycle", lambda self, depth, r: depths.append(depth) or cycle(self, depth, r))
    scene = scenes.make("bumps", shape=(240, 320)).with_noise(0.5)
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv")
    assert depths.count(0) == 0
    assert filling.fill(graph).iterations == depths.count(0) > 3


def test_small_components_take_no_iterations(calls, monkeypatch):
    """Crumbs are solved one by one in one call. Multigrid is given the pixels of large components only."""
    left = given_to_multigrid(monkeypatch)
    crumbs, mixed = graph_of("textured_room", (96, 120), angle=2.0), graph_of("textured_room", (200, 240), angle=2.0)
    assert filling.fill(crumbs).iterations == 0
    assert filling.fill(mixed).iterations > 0
    assert calls["_solve_pieces"] == 2
    assert left[0].n == 0
    assert 0 < left[1].n < 0.02 * mixed.pixels.n_pixels


def test_planes_take_no_iterations(calls, monkeypatch):
    """The exact planes of a scene are done with the spanning tree. Multigrid is given the other pixels only."""
    left = given_to_multigrid(monkeypatch)
    graph = graph_of("occlusions", (512, 512), angle=2.0)
    calls.clear()
    assert filling.fill(graph).iterations > 0
    assert calls["_leave_out"] == 1
    assert left[0].n < 0.085 * graph.pixels.n_pixels
    assert calls["entries"] < 68 * graph.pixels.n_pixels  # 315 with the planes


def test_maps_of_a_quarter_megapixel_are_filled_on_a_grid(calls, monkeypatch):
    """The finest levels have no neighbour lists. Small components are solved before, so that few nodes have no cell."""
    left = given_to_multigrid(monkeypatch)
    scene = scenes.make("occlusions", shape=(512, 520)).with_noise(0.3)
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=2.0)
    calls.clear()
    assert 0 < filling.fill(graph).iterations <= 6
    assert calls["_leave_out"] == 0
    assert calls["_solve_pieces"] == 1
    assert isinstance(left[0], solvers.GridGraph)
    hierarchy = Hierarchy.from_graph(left[0], 6000)
    assert hierarchy.n_entries < 6.0 * graph.pixels.n_pixels
    assert hierarchy.levels[1].n < 0.28 * graph.pixels.n_pixels


def test_precise_filling_uses_a_grid_sooner(monkeypatch):
    """It makes twice as many iterations, so that the kernels of a grid pay on smaller maps."""
    left = given_to_multigrid(monkeypatch)
    graph = graph_of("bumps", (300, 400))
    usual, precise = (filling.fill(graph, precise=precise).iterations for precise in (False, True))
    assert usual < precise <= 2.5 * usual
    assert [type(one) for one in left] == [solvers.NeighbourLists, solvers.GridGraph]


def test_empty_parts_of_a_grid_are_passed_over():
    """Where components are solved already, a grid has no nodes. Its runs and spans leave these cells out on every level."""
    shape, cell = (258, 514), np.flatnonzero(np.pad(np.ones((256, 512), dtype=bool), 1)).astype(np.int32)
    node = np.arange(256 * 512, dtype=np.int32).reshape(256, 512)
    tail, head = node[:, :-1].ravel(), node[:, 1:].ravel()
    held = (tail % 512 < 100) | (tail % 512 > 460)  # an empty strip of three fifths
    graph = solvers.GridGraph.from_edges(shape, cell, tail, head, held.astype(np.float32))
    levels = [level for level in Hierarchy.from_graph(graph, 100).levels if isinstance(level, solvers.GridGraph)]
    assert len(levels) > 1
    for level in levels:
        runs, spans = level.runs, level.spans
        assert (runs.end - runs.begin).sum() < 0.31 * level.n_cells
        assert (spans.end - spans.begin).sum() == (runs.end - runs.begin).sum() + level.n - level.n_cells


def given_to_multigrid(monkeypatch):
    """A list that receives the graph of each problem that multigrid is given."""
    given = []
    improve = solvers.Multigrid.improve
    monkeypatch.setattr(
        solvers.Multigrid, "improve", lambda self, graph, *rest: given.append(graph) or improve(self, graph, *rest)
    )
    return given


def test_multigrid_levels_are_small():
    """Entries of all levels and of the factor, against those of the finest level; unknowns of the second level."""
    pattern = grid_pattern(300, 300)
    weight = np.random.default_rng(0).uniform(0.5, 1, pattern.n_pairs).astype(np.float32)
    lists = solvers.NeighbourLists.from_edges(pattern.n, pattern.tail, pattern.head, weight)
    hierarchy = Hierarchy.from_graph(lists, 4000)
    assert hierarchy.n_entries < 1.48 * len(lists.neighbour)
    assert hierarchy.levels[1].n < 0.28 * pattern.n


def test_vectors_are_kept_from_cycle_to_cycle():
    """A second cycle finds all vectors that the first one needed, and gives them back."""
    pattern = grid_pattern(200, 200)
    lists = solvers.NeighbourLists.from_edges(pattern.n, pattern.tail, pattern.head, np.ones(pattern.n_pairs))
    hierarchy, r = Hierarchy.from_graph(lists, 1000), np.random.default_rng(0).normal(size=pattern.n)
    kept = []
    for _ in range(3):
        hierarchy.give_back(0, hierarchy.cycle(0, r))
        kept.append({key: len(vectors) for key, vectors in hierarchy.spare.items()})
    assert len(hierarchy.levels) > 1
    assert kept[0] == kept[1] == kept[2]
    assert sum(kept[0].values()) <= 6 * (len(hierarchy.levels) + 1)


def test_levels_on_a_grid_are_small():
    """Values that a cycle reads for each pixel, half of those of neighbour lists; other nodes than cells are at borders."""
    graph = graph_of("occlusions", (300, 300), angle=2.0)
    shape, cell = graph.pixels.cells()
    weight = np.ones(graph.pixels.n_edges, dtype=np.float32)
    weight[graph.cut] = 0
    lattice = solvers.GridGraph.from_edges(shape, cell, graph.pixels.tail, graph.pixels.head, weight)
    hierarchy = Hierarchy.from_graph(lattice, 4000)
    assert hierarchy.n_entries < 6.6 * graph.pixels.n_pixels
    assert hierarchy.levels[1].n < 0.31 * graph.pixels.n_pixels


# Small things that come often ---------------------------------------------------------------------------------------------


def test_a_clean_map_needs_no_percentiles(monkeypatch):
    """Counting bends below two bounds tells that a map is clean; another gets the angle that its percentiles ask for."""
    asked = []
    angle_for = automatic_angle.angle_for
    monkeypatch.setattr(automatic_angle, "angle_for", lambda bend: asked.append(len(bend)) or angle_for(bend))
    scene = scenes.make("occlusions", shape=(96, 120))
    for noisy in (scene, scene.with_noise(2.0)):
        graph = QuotientGraph.from_normals(noisy.normals, noisy.mask, noisy.camera, "opencv", angle=2.0, check=False)
        found = automatic_angle.suitable_angle(graph.pixels)
        across, down = (automatic_angle.bends(graph.pixels.map.normals, graph.pixels.map.index, way) for way in (0, 1))
        assert found == angle_for(np.concatenate([across, down]))
        assert len(asked) == (noisy is not scene)


def test_outliers_are_weighed_once_for_both_equations(monkeypatch):
    """The two equations of an edge have one residual in a symmetric model, and so one outlier weight."""
    asked = []
    weight = Outliers.weight
    monkeypatch.setattr(Outliers, "weight", lambda self, *rest: asked.append(1) or weight(self, *rest))
    for model, times in (("planar", 1), ("bini", 2)):
        graph = graph_of("occlusions", (40, 50), angle=2.0)
        jump = getattr(quotientgraph.geometry.jumps, model)(graph.pixels.map, graph.pixels.tail, graph.pixels.head)
        cut = CutEdges.from_graph(replace(graph, jump=jump), np.zeros(graph.pixels.n_pixels), 1.0)
        asked.clear()
        pair_terms_over(np, cut, np.zeros(graph.n_components), True, Outliers())
        assert len(asked) == times


# Passes and memory ---------------------------------------------------------------------------------------------------


def test_the_graph_is_made_in_one_pass(calls):
    """Each stage before filling visits each pixel or each edge once."""
    graph_of("room", (96, 120), angle=2.0)
    assert calls.pop("entries") < 25 * 96 * 120
    stages = ["_judge", "_compact", "_list_edges", "_planar", "_unite_similar", "_number", "_list_cut"]
    assert calls == dict.fromkeys(stages, 1)


def test_entries_visited_by_a_whole_run(calls, monkeypatch):
    """The sizes of what kernels are given, added up over a run without cut edges: some passes over the neighbours each."""
    on_a_grid(monkeypatch)
    shape = 240, 320
    scene = scenes.make("bumps", shape=shape)
    integrate(scene.normals, scene.mask, scene.camera, "opencv")
    assert calls["entries"] < 326 * shape[0] * shape[1]


def on_a_grid(monkeypatch):
    monkeypatch.setattr(filling, "GRID_FROM", dict.fromkeys(filling.GRID_FROM, 0))


def lean(monkeypatch):
    monkeypatch.setattr(quotientgraph.graph.quotient, "LEAN_EDGES", 0)


@pytest.mark.parametrize("settings", [{}, {"merge_every": 3, "max_iterations": 8}])
def test_lean_results_are_the_same(monkeypatch, settings):
    """Jumps that are computed when needed give the depth that stored ones give."""
    scene = scenes.make("occlusions", shape=(96, 120)).with_noise(0.5)
    depth = []
    for _ in range(2):
        result = integrate(scene.normals, scene.mask, scene.camera, "opencv", **settings)
        depth.append(result.depth)
        lean(monkeypatch)
    assert isinstance(result.graph.jump, quotientgraph.geometry.jumps.PlanarJumps)
    np.testing.assert_allclose(depth[1], depth[0], rtol=1e-9)


@pytest.mark.parametrize(("name", "most"), [("bumps", 163), ("occlusions", 209)])
def test_memory_of_a_large_map(monkeypatch, name, most):
    """Peak bytes a pixel in the lean mode, of all arrays made on the way from normals to depth.

    The second of two equal calls is measured: the first one of a process also loads or compiles kernels, which takes
    memory that has nothing to do with the size of the map.
    """
    lean(monkeypatch)
    on_a_grid(monkeypatch)
    shape = 500, 525
    scene = scenes.make(name, shape=shape)
    normals = scene.normals.astype(np.float32)
    settings = {"angle": 2.0, "max_iterations": 3}
    integrate(normals, scene.mask, scene.camera, "opencv", **settings)  # loads the kernels, whose memory does not count
    tracemalloc.start()
    try:
        integrate(normals, scene.mask, scene.camera, "opencv", **settings)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak / (shape[0] * shape[1]) < most
