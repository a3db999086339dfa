"""Common planes: parts of one plane that something before them divides are placed by that plane."""

from __future__ import annotations

import numpy as np
import pytest

from quotientgraph import Orthographic, Pinhole, QuotientGraph, integrate
from quotientgraph.bench.context_fit import medians, true_potential
from quotientgraph.bench.plane_fit import fitted
from quotientgraph.beyond.common_planes import FlatFaces, PlanePairs
from quotientgraph.beyond.joining import Judgement, Witnesses, places

SHAPE = (120, 160)
POST = slice(70, 96)  # columns


def divided_room(camera, noise=0.0):
    """Normals and depth of a wall and a floor, before which a post goes through the whole picture."""
    v, u = np.mgrid[: SHAPE[0], : SHAPE[1]].astype(float)
    planes = [((0.0, -0.96, -0.28), -1.4), ((0.1, 0.25, -0.9), -4.0), ((-0.5, 0.1, -1.0), -1.3)]
    depths, normals = [], []
    for normal, height in planes:
        n = np.array(normal) / np.linalg.norm(normal)
        if camera.central:
            rays = camera.rays(SHAPE)
            toward = rays @ n
            depths.append(np.where(toward < 0, height / np.minimum(toward, -1e-9), np.inf))
        else:
            depths.append((10 * height - n[0] * (u - 80) - n[1] * (v - 60)) / n[2])
        normals.append(n)
    surface = np.argmin(depths[:2], axis=0)
    surface[:, POST] = 2
    depth = np.choose(surface, depths)
    found = np.array(normals)[surface]
    if noise:
        found = found + np.random.default_rng(0).normal(0, noise, found.shape)
        found /= np.linalg.norm(found, axis=2, keepdims=True)
    return found, depth, surface


def judged_room(camera):
    normals, depth, _ = divided_room(camera)
    graph = QuotientGraph.from_normals(normals, None, camera, "opencv", check=False)
    return Judgement.of(graph, graph.filled()), depth


CAMERAS = [Pinhole.from_fov(60, SHAPE), Orthographic()]


@pytest.mark.parametrize("camera", CAMERAS, ids=["pinhole", "orthographic"])
def test_the_offset_of_two_parts_is_that_of_their_plane(camera):
    judged, depth = judged_room(camera)
    pairs = PlanePairs.of(judged, Witnesses.from_pieces(judged))
    assert len(pairs.left) == 2, "the wall and the floor"
    shift = medians(true_potential(judged.graph, depth) - judged.potential, judged.graph.labels)
    np.testing.assert_allclose(shift[pairs.left] - shift[pairs.right], pairs.offset, atol=1e-6 * judged.span)


def test_curved_components_are_no_faces():
    v, u = np.mgrid[:80, :80] / 40 - 1
    normals = np.dstack([0.5 * u, 0.5 * v, -np.sqrt(1 - 0.25 * (u * u + v * v))])
    normals[:, 38:42] = (0.6, 0.0, -0.8)
    graph = QuotientGraph.from_normals(normals, None, None, "opencv", angle=3.0, check=False)
    faces = FlatFaces.of(Judgement.of(graph, graph.filled()))
    assert set(faces.component) <= {int(graph.label_image()[40, 40])}


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_what_a_post_divides_stays_one_room(noise):
    """The post seems to touch both parts, so that the descent moves them a little after joining has placed them."""
    normals, depth, surface = divided_room(CAMERAS[0], noise)
    result = integrate(normals, None, CAMERAS[0], "opencv", check=False)
    room = surface < 2
    found = result.depth[room] / depth[room]
    assert np.abs(found / np.median(found) - 1).mean() < 0.02


def test_borders_alone_do_not_tell_it():
    judged, depth = judged_room(CAMERAS[0])
    shift = medians(true_potential(judged.graph, depth) - judged.potential, judged.graph.labels)
    left, right = judged.graph.label_image()[100, [5, -5]]

    def miss(witnesses):
        vars(judged)["witnesses"] = witnesses
        found = places(judged)
        return abs((found - shift)[left] - (found - shift)[right])

    pieces = Witnesses.from_pieces(judged)
    assert miss(Witnesses.from_judgement(judged)) < 1e-3 < 0.02 < miss(pieces)


def test_the_odds_do_not_depend_on_which_face_is_called_left():
    judged, _ = judged_room(CAMERAS[0])
    pairs = PlanePairs.of(judged, Witnesses.from_pieces(judged))
    exchanged = PlanePairs(pairs.right, pairs.left, -pairs.offset, pairs.turned, pairs.cues, pairs.names)
    np.testing.assert_allclose(exchanged.odds()[0], pairs.odds()[0])
    np.testing.assert_allclose(exchanged.odds()[1], -pairs.odds()[1])


def test_planes_move_with_their_components():
    judged, _ = judged_room(CAMERAS[0])
    shift = places(judged)
    moved = judged.at(judged.potential + shift[judged.graph.labels])
    again = Judgement.of(judged.graph, moved.potential)
    planes = slice(len(moved.witnesses.piece), None)
    assert len(moved.witnesses.left[planes])
    np.testing.assert_allclose(moved.witnesses.offset[planes], again.witnesses.offset[planes], atol=1e-9)


def test_a_fit_tells_near_from_far():
    rng = np.random.default_rng(0)
    cues = rng.normal(size=(400, 3))
    turned = cues[:, [1, 0, 2]]
    truth = np.where(cues[:, 2] > 0, 0, np.where(cues[:, 0] < cues[:, 1], 1, 2))
    none = np.zeros(400, dtype=int)
    pairs = PlanePairs(none, none, np.zeros(400), cues, turned, ["one_left", "one_right", "both"])
    one_plane, left_nearer = pairs.odds(fitted([(pairs, truth)], hidden=8, networks=1, epochs=400))
    assert np.mean((one_plane > 0) == (truth == 0)) > 0.95
    apart = truth > 0
    assert np.mean((left_nearer > 0)[apart] == (truth == 1)[apart]) > 0.95
