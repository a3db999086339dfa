"""Alternatives: what could sit elsewhere is listed, can be taken, and is settled by contacts and anchors."""

from __future__ import annotations

import numpy as np
import pytest

from quotientgraph import Orthographic, Pinhole, RayMap, integrate, scenes
from quotientgraph.beyond.region_words import elsewhere, part_of, resting_on
from quotientgraph.metrics import relative_error

SHAPE = (96, 120)
UP, FRONT, TILTED = np.array([0.0, -0.8, -0.6]), np.array([0.0, 0.0, -1.0]), np.array([0.5, 0.0, -np.sqrt(0.75)])


def stage():
    """Normals of a floor before a wall, and of a tilted board that hides a part of both and touches neither for sure."""
    normals = np.empty((*SHAPE, 3))
    normals[:60], normals[60:] = FRONT, UP
    board = np.zeros(SHAPE, dtype=bool)
    board[25:75, 40:80] = True
    normals[board] = TILTED
    return normals, board


def error(result, scene):
    return 100 * relative_error(result.depth, scene.depth, offset=isinstance(scene.camera, Orthographic))


def reconstructed(scene, **settings):
    return integrate(scene.normals, scene.mask, scene.camera, "opencv", check=False, **settings)


@pytest.fixture(scope="module")
def street():
    return scenes.random("street", 0)


@pytest.fixture(scope="module")
def found(street):
    return reconstructed(street)


@pytest.fixture(scope="module", params=["pinhole", "orthographic", "paper", "panorama", "tile"])
def any_result(request):
    normals, board = stage()
    if request.param == "panorama":
        view = {"camera": RayMap.equirectangular(SHAPE)}
        rays = np.stack(np.broadcast_arrays(*view["camera"].coordinates(SHAPE)), axis=-1)
        normals = np.where(board[..., None], -rays - 0.4 * np.array([0.0, 1.0, 0.0]), -rays)
    else:
        view = {
            "camera": Orthographic(0.5) if request.param in ("orthographic", "tile") else Pinhole.from_fov(50, SHAPE)
        }
    settings = {"paper": {"preset": "paper"}, "tile": {"wrap": "x"}}.get(request.param, {})
    return integrate(normals, frame="opencv", check=False, **view, **settings), board


class TestList:
    def test_each_says_what_moves_and_by_how_much(self, found):
        assert len(found.alternatives) >= 2
        for one in found.alternatives:
            share = one.mask.mean()
            assert one.mask.shape == found.depth.shape
            assert one.mask.dtype == bool
            assert 0.01 <= share < 1
            assert one.factor == pytest.approx(np.exp(one.offset))
            assert 0 < one.probability < 1
            assert "% of the pixels" in one.text
            assert abs(one.factor - 1) > 0.004

    def test_better_explained_is_more_probable(self, found):
        listed = sorted(found.alternatives, key=lambda one: one.worse)
        chance = [one.probability for one in listed]
        assert chance == sorted(chance, reverse=True)

    def test_no_two_are_about_the_same_part(self, found):
        masks = [one.mask for one in found.alternatives]
        for k, one in enumerate(masks):
            assert all((one & other).sum() <= 0.71 * (one | other).sum() for other in masks[:k])

    def test_nothing_is_computed_before_it_is_asked_for(self, street):
        result = reconstructed(street)
        assert not {"alternatives", "_standing"} & set(vars(result))

    def test_one_component_has_none(self):
        assert integrate(np.tile([0.0, 0.1, 1.0], (9, 7, 1)), check=False).alternatives == ()

    def test_the_contact_is_a_border_that_is_torn_at_present(self, found):
        torn = found.discontinuity
        for one in found.alternatives:
            (u, v), (x, y) = one.contact
            assert max(abs(u - x), abs(v - y)) == 1
            assert torn[v, u] > 0.3


class TestTake:
    def test_the_part_moves_by_the_offset_and_the_rest_stays(self, found):
        for one in found.alternatives[:3]:
            moved = found.take(one)
            ratio = np.log(moved.depth / found.depth)
            rest = np.median(ratio[~one.mask & np.isfinite(ratio)])
            assert np.allclose(ratio[~one.mask & np.isfinite(ratio)], rest, atol=0.011)
            assert np.median(ratio[one.mask]) - rest == pytest.approx(one.offset, abs=0.011)

    def test_two_pixels_that_would_touch_do(self, found):
        for one in found.alternatives[:3]:
            (u, v), (x, y) = one.contact
            moved = found.take(one)
            step = abs(np.log(moved.depth[v, u] / moved.depth[y, x]))
            before = abs(np.log(found.depth[v, u] / found.depth[y, x]))
            assert step < before

    def test_it_is_remembered_and_not_offered_again(self, found):
        first = found.alternatives[0]
        moved = found.take(first)
        assert moved.taken == (first.text,)
        back = [
            one for one in moved.alternatives if (one.mask & first.mask).sum() > 0.9 * (one.mask | first.mask).sum()
        ]
        assert all(abs(one.offset + first.offset) > 0.01 for one in back)
        if moved.alternatives:
            again = moved.take(moved.alternatives[0])
            assert again.taken[0] == first.text
            assert len(again.taken) == 2

    def test_all_else_works_on_what_was_taken(self, found, tmp_path):
        moved = found.take(found.alternatives[0])
        assert moved.confidence.shape == moved.depth.shape
        assert len(moved.mesh().faces) > 0
        assert not np.array_equal(moved.broken, found.broken)
        moved.save(tmp_path / "moved.html")
        assert "it could also be" in (tmp_path / "moved.html").read_text()

    def test_what_is_not_offered_is_refused(self, found):
        other = found.take(found.alternatives[0])
        with pytest.raises(ValueError, match="not one of this reconstruction"):
            other.take(found.alternatives[0])

    def test_some_scenes_are_mended_by_one(self):
        scene = scenes.random("stairwell", 0)
        result = reconstructed(scene)
        best = min(error(result.take(one), scene) for one in result.alternatives[:3])
        assert best < 0.75 * error(result, scene)


class TestEveryKindOfResult:
    def test_alternatives_can_be_taken(self, any_result):
        result, _ = any_result
        assert result.alternatives, "a board before a wall could stand elsewhere"
        for one in result.alternatives:
            moved = result.take(one)
            assert np.isfinite(moved.depth).all()
            central = result.graph.pixels.map.camera.central
            step = np.log(moved.depth / result.depth) if central else moved.depth - result.depth
            unit = 0.01 if central else 0.01 * np.ptp(result.depth)
            assert np.median(step[one.mask]) - np.median(step[~one.mask]) == pytest.approx(one.offset, abs=1.5 * unit)

    def test_a_contact_is_made(self, any_result):
        result, _ = any_result
        contact = ((60, 24), (60, 25))
        moved = result.settle(contacts=[contact])
        edges = result.graph.pixels
        (u, v), (x, y) = contact
        a, b = edges.map.index[v, u], edges.map.index[y, x]
        edge = np.flatnonzero(((edges.tail == a) & (edges.head == b)) | ((edges.tail == b) & (edges.head == a)))
        assert abs(moved.residual[edge[0]]) < 0.6, "within half a pixel, wherever the crease is"
        assert moved.taken == ("the surfaces touch at (60, 24) and (60, 25)",)

    def test_what_is_settled_stays(self, any_result):
        result, _ = any_result
        contact = ((60, 24), (60, 25))
        moved = result.settle(contacts=[contact])
        for one in moved.alternatives:
            assert one.mask[24, 60] == one.mask[25, 60]


class TestSettle:
    def test_anchors_are_met(self, found, street):
        places = [(200, 250), (30, 60), (370, 120)]
        anchors = [(u, v, float(street.depth[v, u])) for u, v in places]
        settled = found.settle(anchors=anchors)
        for u, v, depth in anchors:
            assert settled.depth[v, u] == pytest.approx(depth, rel=2e-3)
        assert error(settled, street) < error(found, street)

    def test_anchors_from_the_start_are_the_same(self, found, street):
        anchors = [(u, v, float(street.depth[v, u])) for u, v in [(200, 250), (30, 60)]]
        assert np.allclose(
            reconstructed(street, anchors=anchors).depth, found.settle(anchors=anchors).depth, equal_nan=True
        )

    def test_contacts_from_the_start_are_the_same(self, found, street):
        contact = found.alternatives[0].contact
        assert np.allclose(
            reconstructed(street, contacts=[contact]).depth, found.settle(contacts=[contact]).depth, equal_nan=True
        )

    def test_a_prior_leaves_little_open(self, street):
        with_prior = reconstructed(street, prior=street.coarse_depth())
        sure = with_prior.confidence > 0.5
        for one in with_prior.alternatives:
            assert not (one.mask & sure).sum() > 0.5 * one.mask.sum()
            moved = with_prior.take(one)
            assert np.allclose(moved.depth[~one.mask], with_prior.depth[~one.mask], rtol=0.006)

    @pytest.mark.parametrize(
        ("contact", "message"),
        [
            (((5, 5), (6, 5)), "lie in one component"),
            (((5, 5), (6, 95)), "share no border"),
            (((5, 5), (6, 500)), "outside"),
            ((5, 5), "expected two pixels"),
        ],
    )
    def test_wrong_contacts_are_explained(self, contact, message):
        normals, _ = stage()
        normals[70:72] = np.nan  # the floor before the gap is another component than the wall
        result = integrate(normals, camera=Pinhole.from_fov(50, SHAPE), frame="opencv", check=False)
        with pytest.raises(ValueError, match=message):
            result.settle(contacts=[contact])


class TestWords:
    @pytest.mark.parametrize(
        ("rows", "columns", "where"),
        [
            (slice(0, 20), slice(0, 20), "at the upper left"),
            (slice(40, 60), slice(50, 70), "in the middle"),
            (slice(80, 96), slice(50, 70), "at the bottom"),
            (slice(40, 60), slice(100, 120), "on the right"),
        ],
    )
    def test_places(self, found, rows, columns, where):
        normal_map = integrate(np.tile(FRONT, (*SHAPE, 1)), frame="opencv", check=False).graph.pixels.map
        inside = np.zeros(SHAPE, dtype=bool)
        inside[rows, columns] = True
        assert where in part_of(normal_map, inside.ravel()[normal_map.position])

    def test_what_it_hangs_on_and_where_else_it_could_be(self):
        assert resting_on(0, 0) == "hangs on no border that touches"
        assert resting_on(1, 12) == "hangs on one border of 12 px"
        assert resting_on(3, 40) == "hangs on 3 borders of 40 px"
        assert elsewhere(np.log(1.14), 1.14) == "it could also be 14 % farther"
        assert elsewhere(np.log(0.9), 0.9) == "it could also be 10 % nearer"
        assert elsewhere(-2.5, None) == "it could also be 2.5 nearer"
