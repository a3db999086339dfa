"""Common planes in the descent: faces stay in the plane that joining put them into."""

import numpy as np
import pytest

from laplacians import Pattern
from quotientgraph import integrate, metrics, scenes
from quotientgraph.beyond.held_planes import HeldPlanes
from quotientgraph.beyond.joining import Witnesses, places


def one_pair(offset, piece=()):
    """A witness that is a pair of faces, behind those of the given pieces."""
    n = len(piece) + 1
    values = np.full(n, offset), np.full(n, 1e-3), *np.zeros((4, n))
    return Witnesses(np.full(n, 2), np.zeros(n, dtype=int), *values, piece=np.array(piece, dtype=int))


def test_what_was_put_into_one_plane_is_held():
    """The offset is that of the smaller number against the larger one, and what is left of it if components have moved."""
    shift = np.array([0.1, 5.0, 0.4])
    still, moved = (HeldPlanes.of(one_pair(0.3005), shift, moved) for moved in (False, True))
    assert (still.left.tolist(), still.right.tolist()) == ([0], [2])
    assert still.offset == pytest.approx(-0.3005)
    assert moved.offset == pytest.approx(-0.0005)


def test_pieces_and_planes_that_were_not_followed_are_not_held():
    assert HeldPlanes.of(one_pair(0.2), np.zeros(3), True) is None
    assert len(HeldPlanes.of(one_pair(0.0, piece=(0, 1)), np.zeros(3), True).left) == 1


@pytest.mark.parametrize("adjacent", [True, False])
def test_a_tie_keeps_its_pair_together(adjacent):
    """Whether the pair also has a border or not; a torn border with little weight moves both alike."""
    tail, head = np.array([0, 0, 1] if adjacent else [0, 1], dtype=np.int32), [1, 2, 2] if adjacent else [1, 2]
    pattern = Pattern(3, tail, np.array(head, dtype=np.int32))
    held = HeldPlanes(np.array([0]), np.array([2]), np.array([0.25]))
    weight = np.full(pattern.n_pairs, 1e-3)
    system = held.ties(None, np.zeros(0), pattern).system(weight, 0.5 * weight, np.zeros(3), False, 1.0)
    assert system.pattern.n_pairs == 3
    x = np.linalg.lstsq(system.matrix.toarray(), system.rhs, rcond=None)[0]
    assert x[0] - x[2] == pytest.approx(0.25, abs=1e-3)


def test_the_descent_does_not_tear_a_plane():
    """The halves of a stairwell hang on nothing but the plane of its landing. Without ties one half doubled its distance."""
    scene = scenes.random("stairwell", 78)
    result = integrate(scene.normals, scene.mask, scene.camera, "opencv", check=False)
    told, shift = result.judged.witnesses, places(result.judged)
    held = HeldPlanes.of(told, shift, True)
    potential = scene.camera.potential(result.depth.ravel()[result.judged.graph.pixels.map.position])
    first = result.judged.graph.first_pixels
    moved = (potential - result.judged.potential)[first] - shift
    assert len(held.left) >= 1
    np.testing.assert_allclose(moved[held.left] - moved[held.right], held.offset, atol=1e-3)
    assert metrics.relative_error(result.depth, scene.depth) < 0.03
