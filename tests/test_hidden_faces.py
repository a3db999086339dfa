"""Hidden faces: ridges are put together to chains, outlines are completed, and parallel faces become components."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from quotientgraph import Orthographic, QuotientGraph, scenes
from quotientgraph.beyond.absorbing import absorbed
from quotientgraph.beyond.face_outlines import hull_area, signed_area, whole_outline
from quotientgraph.beyond.hidden_faces import hidden_faces
from quotientgraph.beyond.joining import Judgement
from quotientgraph.beyond.ridges import _runs, ridge_chains
from quotientgraph.metrics import relative_error

SEEN = (False, False)


@pytest.mark.parametrize("n", [3, 4, 30])
def test_the_area_of_a_convex_hull_is_that_of_scipy(n):
    """For points in any position; on a line there is none."""
    from scipy.spatial import ConvexHull

    points = np.random.default_rng(n).normal(size=(n, 2))
    assert hull_area(points) == pytest.approx(ConvexHull(points).volume, rel=1e-12)
    assert hull_area(np.repeat(np.arange(float(n)), 2).reshape(n, 2)) == 0


def along(vertices, n=20):
    """Points along a chain."""
    t = np.linspace(0, 1, n)[:, None]
    return np.concatenate([a + t * (b - a) for a, b in itertools.pairwise(vertices)])


def completed(vertices, leaves=SEEN, left=1.0, closed=False):
    vertices = np.array(vertices, dtype=float)
    return whole_outline(vertices, along(vertices), closed, leaves, left)


def same_corners(one, other):
    return len(one) == len(other) and all(np.abs(np.asarray(other) - p).max(axis=1).min() < 1e-9 for p in one)


class TestOutlines:
    @pytest.mark.parametrize("seed", range(5))
    def test_two_sides_tell_the_other_two(self, seed):
        random = np.random.default_rng(seed)
        square, shear = np.array([[0, 0], [1, 0], [1, 1], [0, 1.0]]), np.eye(2) + random.uniform(-0.4, 0.4, (2, 2))
        corners = square @ shear + random.normal(size=2)
        assert same_corners(completed(corners[:3]), corners)

    def test_three_sides_of_a_rectangle_tell_the_fourth(self):
        corners = np.array([[0, 0], [4, 0], [4, 1], [0, 1.0]])
        assert same_corners(completed(corners), corners)

    @pytest.mark.parametrize("turned", [False, True])
    def test_half_a_rim_tells_the_circle(self, turned):
        angle = np.linspace(0.3, 3.0, 9)
        chain = np.column_stack([2 + 3 * np.cos(angle), -1 + 3 * np.sin(angle)])[:: -1 if turned else 1]
        fine = np.linspace(0.3, 3.0, 80)
        points = np.column_stack([2 + 3 * np.cos(fine), -1 + 3 * np.sin(fine)])[:: -1 if turned else 1]
        outline = whole_outline(chain, points, False, SEEN, 1.0)
        assert np.allclose(np.hypot(*(outline - [2, -1]).T), 3)
        assert (signed_area(outline) < 0) == turned, "the outline is walked like the chain"

    @pytest.mark.parametrize("left", [1.0, -1.0])
    def test_a_square_lies_behind_a_single_edge(self, left):
        assert same_corners(completed([[0, 0], [2, 0]], left=left), [[0, 0], [2, 0], [2, 2 * left], [0, 2 * left]])

    def test_an_edge_that_leaves_the_picture_goes_on(self):
        strip = completed([[0, 0], [2, 0]], leaves=(False, True))
        assert strip[:, 0].min() == 0
        assert strip[:, 0].max() > 20
        assert strip[:, 1].max() > 20
        corner = completed([[0, 1], [0, 0], [2, 0]], leaves=(False, True))
        assert corner[:, 1].min() == 0
        assert corner[:, 1].max() == 1
        assert corner[:, 0].max() > 20

    @pytest.mark.parametrize(
        ("vertices", "leaves"),
        [
            ([[0, 0], [1, 0]], (True, True)),
            ([[0, 0], [1, 0], [1.01, 0.01]], SEEN),
            ([[0, 0], [np.nan, 0], [1, 1]], SEEN),
            ([[1, 1], [1, 1]], SEEN),
        ],
        ids=["both ends leave", "sliver", "not a number", "a point"],
    )
    def test_nothing_is_guessed_from_too_little(self, vertices, leaves):
        assert completed(vertices, leaves) is None


class TestRidges:
    def test_ridges_follow_each_other(self):
        corners = np.array([[0, 0], [0, 20], [20, 20], [20, 0.0]])
        order = [2, 0, 1]
        begin, end = corners[:-1][order], corners[1:][order]
        runs = list(_runs(begin, end))
        assert [([order[k] for k in run], closed) for run, closed in runs] == [([0, 1, 2], False)]

    def test_ridges_close(self):
        corners = np.array([[0, 0], [0, 20], [20, 20], [20, 0.0]])
        ((run, closed),) = _runs(corners, np.roll(corners, -1, axis=0))
        assert closed
        assert run.tolist() == [0, 1, 2, 3]

    def test_something_before_an_edge_does_not_end_it(self):
        begin, end = np.array([[0, 0], [0, 30.0]]), np.array([[0, 20], [0, 60.0]])
        ((run, closed),) = _runs(begin, end)
        assert run.tolist() == [0, 1]
        assert not closed
        aside = np.array([[0, 0], [9, 30.0]]), np.array([[0, 20], [9, 60.0]])
        assert len(list(_runs(*aside))) == 2


@pytest.fixture(scope="module")
def table():
    """A table on a floor: its top and the floor are one component."""
    scene = scenes.random("tabletop", 0)
    return scene, absorbed(QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", check=False))


class TestFaces:
    def test_components_are_on_the_left_of_their_ridges(self, table):
        _, graph = table
        judged = Judgement.of(graph, graph.filled())
        chains = list(ridge_chains(judged.borders, judged.facts, judged.contact, np.ones(graph.n_components, bool)))
        assert chains
        labels = graph.label_image()
        agree = []
        for chain in chains:
            for a, b in itertools.pairwise(chain.vertices):
                if np.hypot(*(b - a)) > 15:
                    down, right = (b - a) / np.hypot(*(b - a))
                    row, column = np.round(0.5 * (a + b) + 2 * np.array([-right, down])).astype(int)
                    if 0 <= row < labels.shape[0] and 0 <= column < labels.shape[1]:
                        agree.append(labels[row, column] == chain.component)
        assert np.mean(agree) > 0.7

    def test_a_table_top_is_no_floor(self, table):
        scene, graph = table
        filled = graph.filled()
        judged = Judgement.of(graph, filled)
        faces = hidden_faces(graph, judged.borders, judged.facts, judged.contact, judged.front, judged.tolerance)
        divided = faces.divide(graph)
        assert divided.n_components > graph.n_components
        into = np.zeros(divided.n_components, dtype=int)
        into[divided.labels] = graph.labels
        assert np.array_equal(into[divided.labels], graph.labels), "components are only divided, never joined"
        largest = np.argmax(np.bincount(faces.face)[1:]) + 1
        top = graph.pixels.map.image(faces.face == largest, False).astype(bool)
        assert faces.rank[largest] == 1
        floor = graph.pixels.map.image(faces.face == 0, False).astype(bool) & (
            graph.label_image() == graph.labels[np.argmax(faces.face == largest)]
        )
        height = scene.camera.points(scene.depth) @ np.median(scene.normals[top], axis=0)
        assert np.mean(np.abs(height[top] - np.median(height[top])) < 0.02) > 0.9, "the top is one face"
        assert np.mean(np.abs(height[floor] - np.median(height[top])) > 0.1) > 0.9, "and nothing else belongs to it"

    @pytest.mark.parametrize(("kind", "seed", "bound"), [("tabletop", 0, 0.01), ("heap", 2, 0.01), ("curved", 1, 0.04)])
    def test_what_stands_on_a_floor_is_placed_above_it(self, kind, seed, bound):
        scene = scenes.random(kind, seed)
        graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", check=False)
        result = graph.optimize()
        ground = isinstance(scene.camera, Orthographic)
        assert relative_error(result.depth, scene.depth, offset=ground) < bound
        for fine, coarse in itertools.pairwise(result.levels):
            into = np.zeros(fine.n_components, dtype=int)
            into[fine.labels] = coarse.labels
            assert np.array_equal(into[fine.labels], coarse.labels)
