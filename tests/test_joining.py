"""Joining: crumbs are absorbed, borders traced, measured and judged, and components placed by their most certain borders."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import ndimage

from quotientgraph import Orthographic, QuotientGraph, scenes
from quotientgraph.bench.context_fit import descend, together
from quotientgraph.beyond.absorbing import absorbed
from quotientgraph.beyond.border_context import fitted_networks, placing_odds
from quotientgraph.beyond.border_cues import log_odds
from quotientgraph.beyond.border_facts import PieceFacts
from quotientgraph.beyond.border_pieces import BorderPieces
from quotientgraph.beyond.flatness import Faces
from quotientgraph.beyond.joining import Judgement, Witnesses, join, joined
from quotientgraph.beyond.offsets import best_offsets
from quotientgraph.metrics import relative_error


def graph_of(scene, **settings):
    return QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", check=False, **settings)


def error(result, scene):
    return relative_error(result.depth, scene.depth, offset=isinstance(scene.camera, Orthographic))


@pytest.fixture(scope="module")
def room():
    return scenes.random("heap", 0)


class TestAbsorbing:
    def test_crumbs_go_and_faces_stay(self):
        graph = graph_of(scenes.make("spheres", shape=(120, 160)))
        coarse = absorbed(graph)
        size, size_after = np.bincount(graph.labels), np.bincount(coarse.labels)
        assert coarse.n_components < 0.1 * graph.n_components
        large = size > 200
        assert len(np.unique(coarse.labels[large[graph.labels]])) == large.sum(), "no two large faces became one"
        assert size_after.min() > 1

    def test_each_component_of_the_coarser_graph_is_a_union(self, room):
        graph = graph_of(room)
        coarse = absorbed(graph)
        into = np.zeros(graph.n_components, dtype=int)
        into[graph.labels] = coarse.labels
        assert np.array_equal(into[graph.labels], coarse.labels)
        assert coarse.level == graph.level + 1

    def test_crumbs_join_the_more_similar_side(self):
        normals = np.zeros((20, 21, 3))
        for u, tilt in enumerate([0.0] * 10 + [20.0] + [80.0] * 10):
            normals[:, u] = [np.sin(np.radians(tilt)), 0, np.cos(np.radians(tilt))]
        normals[:10, 10] = normals[10:, 9]  # ten pixels stay of the strip between the two faces
        normals[14:, 10] = normals[14:, 9]
        coarse = absorbed(QuotientGraph.from_normals(normals, check=False))
        labels = coarse.label_image()
        assert coarse.n_components == 2
        assert (labels[10:14, 10] == labels[0, 0]).all()

    @pytest.mark.parametrize(("name", "faces"), [("torus", False), ("tube", False), ("room", True), ("stairs", True)])
    def test_objects_have_no_faces_and_rooms_have(self, name, faces):
        assert Faces.of_graph(graph_of(scenes.make(name, shape=(120, 160)))).notable is faces

    @pytest.mark.parametrize("noise", [0.0, 1.0])
    @pytest.mark.parametrize(("rows", "forgiven"), [(1, True), (12, True), (60, False)])
    def test_a_face_that_leaks_over_few_pixels_is_flat(self, leaking, rows, forgiven, noise):
        """One in 300 pixels of the floor, one in 30, and one in 6, which is too many; some tenths are other faces."""
        graph = graph_of(leaking(rows, noise))
        assert graph.sizes.max() > 0.75 * len(graph.labels), "the floor does not leak"
        faces = Faces.of_graph(graph)
        assert faces.notable is forgiven
        assert faces.flat == pytest.approx(0.97 if forgiven else 0.17, abs=0.03)
        assert faces.noisy is (noise > 0)


class TestBorders:
    def test_every_side_between_two_components_is_listed_once(self, room):
        graph = absorbed(graph_of(room))
        labels, borders = graph.label_image(), BorderPieces.from_graph(graph)
        n = np.count_nonzero(labels[1:] != labels[:-1]) + np.count_nonzero(labels[:, 1:] != labels[:, :-1])
        places = np.column_stack([borders.row, borders.column])
        assert len(borders.row) == n == len(np.unique(places, axis=0))

    def test_a_piece_divides_the_same_two_components_all_along(self, room):
        graph = absorbed(graph_of(room))
        borders = BorderPieces.from_graph(graph)
        labels = np.append(graph.labels, -1)
        pair = np.column_stack([labels[borders.left], labels[borders.right]])
        assert (pair == pair[borders.start[:-1]][borders.piece]).all()

    def test_pieces_are_straight(self, room):
        borders = BorderPieces.from_graph(graph_of(room))
        for first, last in itertools.pairwise(borders.start):
            y, x = borders.row[first:last], borders.column[first:last]
            dy, dx = y[-1] - y[0], x[-1] - x[0]
            length = np.hypot(dy, dx)
            if length > 0:
                assert np.abs((y - y[0]) * dx - (x - x[0]) * dy).max() / length <= 1.5, (
                    "one pixel from the line to the next piece"
                )


class TestCues:
    def roof(self, angle, shape=(60, 80)):
        """Two planes that meet in the middle column: a ridge for positive angles, a valley for negative ones."""
        normals = np.zeros((*shape, 3))
        side = np.where(np.arange(shape[1]) < shape[1] // 2, -1.0, 1.0)
        normals[..., 0] = np.sin(np.radians(angle)) * side
        normals[..., 2] = np.cos(np.radians(angle))
        return QuotientGraph.from_normals(normals, check=False)

    @pytest.mark.parametrize("angle", [30, -30])
    def test_a_crease_asks_for_one_offset_all_along(self, angle):
        graph = self.roof(angle)
        potential = graph.filled()
        facts = PieceFacts.measure(graph, potential, BorderPieces.from_graph(graph))
        assert facts.n.tolist() == [60.0]
        assert abs(facts.drift[0]) < 1e-9
        assert facts.angle[0] == pytest.approx(60)
        shift = np.array([0.0, 0.0])
        shift[facts.left[0]] = facts.offset[0]
        moved = potential + shift[graph.labels]
        assert np.abs(graph.residual(moved)).max() < 0.6, "within half a pixel at a slope of one"

    def test_a_ridge_is_a_contact(self):
        graph = self.roof(30)
        facts = PieceFacts.measure(graph, graph.filled(), BorderPieces.from_graph(graph))
        assert log_odds(graph, facts)[0][0] > 2

    def test_what_is_known_is_the_same_from_both_sides(self, room):
        graph = absorbed(graph_of(room))
        facts = PieceFacts.measure(graph, graph.filled(), BorderPieces.from_graph(graph))
        names = {"left": "right", "lean_left": "lean_right", "facing_left": "facing_right"}
        swapped = {a: getattr(facts, b) for one in names.items() for a, b in (one, one[::-1])}
        other = PieceFacts(**{**vars(facts), **swapped})
        contact, front = log_odds(graph, facts)
        contact_back, front_back = log_odds(graph, other)
        assert np.allclose(contact, contact_back)
        assert np.allclose(front, -front_back)


class TestContext:
    def context(self, room):
        graph = absorbed(graph_of(room))
        return Judgement.of(graph, graph.filled()).context

    def test_the_networks_know_every_cue(self, room):
        context = self.context(room)
        names, cues, turned = context.cues()
        assert cues.shape == turned.shape == (len(context.facts.n), len(names))
        for network in fitted_networks():
            assert len(names) == len(set(names)) == len(network.mean) == len(network.inner) - 1

    def test_exchanging_the_sides_turns_the_odds(self, room):
        context = self.context(room)
        names = {"left": "right", "lean_left": "lean_right", "facing_left": "facing_right"}
        swapped = {a: getattr(context.facts, b) for one in names.items() for a, b in (one, one[::-1])}
        facts = replace(context.facts, **swapped, offset=-context.facts.offset)
        other = replace(context, facts=facts, front=-context.front)
        _, cues, turned = context.cues()
        _, back, forth = other.cues()
        assert np.allclose(cues, forth)
        assert np.allclose(turned, back)
        (right, nearer), (right_back, nearer_back) = placing_odds(context), placing_odds(other)
        assert np.allclose(right, right_back)
        assert np.allclose(nearer, -nearer_back)

    def test_other_pieces_of_a_pair_are_summed_up(self, room):
        context = self.context(room)
        facts = context.facts
        names, cues, _ = context.cues()
        offset = np.where(facts.left < facts.right, facts.offset, -facts.offset)
        for p in range(0, len(facts.n), 17):
            mine = (facts.pair == facts.pair[p]) & (np.abs(offset - offset[p]) <= 3 * context.tolerance[p])
            assert cues[p, names.index("same_sides")] == pytest.approx(np.log1p(facts.n[mine].sum() - facts.n[p]))

    def test_what_is_known_of_unseen_edges_stays(self, room):
        context = self.context(room)
        unseen = np.arange(len(context.facts.n)) % 5 == 0
        right, nearer = placing_odds(replace(context, unseen=unseen))
        assert np.array_equal(right[unseen], context.contact[unseen])
        assert np.array_equal(nearer[unseen], context.front[unseen])
        assert not np.array_equal(right[~unseen], context.contact[~unseen])

    def test_a_lone_ridge_is_believed(self):
        graph = TestCues().roof(30)
        assert placing_odds(Judgement.of(graph, graph.filled()).context)[0][0] > 0


class TestContextFit:
    def test_a_network_learns_what_its_cues_tell_and_both_sides_are_alike(self):
        random = np.random.default_rng(0)
        cues = random.normal(size=(3000, 3))  # one is the same from both sides, two and three are exchanged
        turned = cues[:, [0, 2, 1]]
        truth = np.where(cues[:, 0] > 0, 0, np.where(cues[:, 1] > cues[:, 2], 1, 2))
        network = descend(cues, turned, truth, np.ones(len(truth)), hidden=6, epochs=60, seed=0)
        right, nearer = network.odds(cues, turned)
        found = np.where(right > 0, 0, np.where(nearer > 0, 1, 2))
        assert (found == truth).mean() > 0.93
        both = together([network, network])
        assert np.allclose(both.odds(cues, turned)[0], right)


class TestOffsets:
    @pytest.mark.parametrize("seed", range(8))
    def test_the_best_offset_is_the_most_likely_one(self, seed):
        random = np.random.default_rng(seed)
        n = int(random.integers(1, 9))
        offset, tolerance, weight = random.normal(size=n), random.uniform(0.01, 0.3, n), random.uniform(0.1, 3, n)
        touch, low, high = np.log(random.dirichlet([1, 1, 1], n)).T

        def likelihood(at):
            miss = at[:, None] - offset
            state = np.where(np.abs(miss) <= tolerance, touch, np.where(miss < 0, low, high))
            return (weight * state).sum(axis=1), (np.abs(miss) <= tolerance).any(axis=1)

        delta, lead = np.empty(1), np.empty(1)
        pull = weight / tolerance**2 / (1 + np.exp(np.maximum(low, high) - touch))
        given = offset, tolerance, weight, touch, low, high, pull
        best_offsets(np.array([0, n]), *given, 1e-3, np.ones(1, dtype=bool), delta, lead)
        grid = np.sort(np.concatenate([np.linspace(-5, 5, 20001), offset]))
        value, touching = likelihood(grid)
        found, touches = likelihood(delta)
        assert touches[0]
        assert found[0] >= value[touching].max() - 1e-9

    def test_a_long_border_decides_before_a_short_one(self):
        """Two large components and a small one between them that two borders place differently."""
        log = np.log
        sure, side = log(0.9), log(0.05)
        witnesses = Witnesses(
            left=np.array([0, 0, 1]),
            right=np.array([1, 2, 2]),
            offset=np.array([1.0, 3.0, 5.0]),
            tolerance=np.full(3, 0.1),
            weight=np.array([5.0, 3.0, 1.0]),
            touch=np.full(3, sure),
            left_front=np.full(3, side),
            right_front=np.full(3, side),
        )
        shift = join(3, witnesses, np.array([1000, 1000, 10]))
        assert shift[0] - shift[1] == pytest.approx(1.0)
        assert shift[0] - shift[2] == pytest.approx(3.0)

    def test_offsets_that_are_no_numbers_end_the_joining(self):
        ends, ones = np.array([0]), np.ones(1)
        witnesses = Witnesses(ends, ends + 1, ones * np.nan, ones, ones, -ones, -ones, -ones)
        assert len(join(2, witnesses, np.array([5, 5]))) == 2


class TestJoined:
    def test_a_room_is_put_together(self, room):
        graph = graph_of(room)
        assert error(graph.optimize(), room) < 0.01 < error(graph.optimize(joining="none"), room)

    def test_levels_are_nested_and_numbered(self, room):
        levels = graph_of(room).optimize().levels
        assert [level.level for level in levels] == list(range(len(levels)))
        for fine, coarse in itertools.pairwise(levels):
            into = np.zeros(fine.n_components, dtype=int)
            into[fine.labels] = coarse.labels
            assert np.array_equal(into[fine.labels], coarse.labels)

    def test_shapes_inside_components_are_kept(self, room):
        graph = absorbed(graph_of(room))
        filled = graph.filled()
        found = joined(graph, filled)
        divided, step = found.graph, found.potential - filled
        first = np.unique(divided.labels, return_index=True)[1]
        assert np.allclose(step, step[first][divided.labels])

    @pytest.mark.parametrize("name", ["torus", "tube"])
    def test_objects_are_left_to_the_descent(self, name):
        graph = graph_of(scenes.make(name, shape=(96, 128)))
        assert np.array_equal(graph.optimize().potential, graph.optimize(joining="none").potential)

    def test_the_paper_preset_does_not_join(self, room):
        assert len(graph_of(room).optimize(preset="paper").levels) == 1

    def test_one_component_and_no_borders(self):
        graph = QuotientGraph.from_normals(np.tile([0.0, 0.1, 1.0], (9, 7, 1)), check=False)
        assert not joined(graph, graph.filled()).placed
        assert graph.optimize().converged


@pytest.mark.parametrize("seed", range(6))
def test_pieces_of_a_flipped_picture_are_the_flipped_pieces(seed):
    """Chains that are walked the other way, loops that begin elsewhere, and points that are equally far divide alike."""
    noise = ndimage.gaussian_filter(np.random.default_rng(seed).standard_normal((40, 52)), 2 + seed % 3)
    blobs = np.digitize(noise, np.quantile(noise, [0.3, 0.6, 0.8]))
    blobs[5:12, 30:41] = 4  # a rectangle, all of whose corners are equally far from its middle

    def pieces(labels, number):
        """The pairs of pixels, by their numbers in the picture as it was, of each piece."""
        normals = np.tile([0.0, 0.0, 1.0], (*labels.shape, 1))
        borders = BorderPieces.from_graph(QuotientGraph.from_normals(normals, labels=labels, check=False))
        pairs = [
            frozenset(pair) for pair in zip(number[borders.left].tolist(), number[borders.right].tolist(), strict=True)
        ]
        return {frozenset(pairs[a:b]) for a, b in zip(borders.start[:-1], borders.start[1:], strict=True)}

    number = np.arange(blobs.size).reshape(blobs.shape)
    usual = pieces(blobs, number.ravel())
    assert len(usual) > 20
    for flip in (lambda a: a[::-1], lambda a: a[:, ::-1], lambda a: a[::-1, ::-1], lambda a: a.T, lambda a: a.T[::-1]):
        assert pieces(np.ascontiguousarray(flip(blobs)), flip(number).ravel()) == usual
