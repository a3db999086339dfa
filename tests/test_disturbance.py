"""Disturbance: components stand in the middle of the likeliest arrangement and some others."""

from dataclasses import replace

import numpy as np
import pytest

from quotientgraph import QuotientGraph, scenes
from quotientgraph.beyond.disturbance import CLEAN, NOISY, disturbed, typical_places
from quotientgraph.beyond.flatness import Faces
from quotientgraph.beyond.joining import Witnesses, join


def told(*rows):
    """Witnesses from rows of left, right, offset, weight and log-odds of contact; fronts are equally likely."""
    left, right, offset, weight, odds = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    touch, torn = -np.logaddexp(0, -odds), -np.logaddexp(0, odds) - np.log(2)
    ends = left.astype(np.int64), right.astype(np.int64)
    return Witnesses(*ends, offset, np.full(len(left), 1e-3), weight, touch, torn, torn)


def typical(witnesses, size, middle=CLEAN):
    """Places relative to the first component."""
    size = np.array(size, dtype=float)
    shift = typical_places(witnesses, size, lambda one: join(len(size), one, size), middle)
    return shift - shift[0]


SIZE = 500, 400, 100


def test_the_evidence_of_a_pair_is_disturbed_as_one():
    """Pieces of one pair see the same numbers, whichever side is called left, and states stay probabilities."""
    given = told((0, 1, 0.0, 1.0, 1.0), (1, 0, 0.2, 1.0, 1.0), (1, 2, 0.0, 1.0, 1.0))
    found = list(disturbed(given, np.arange(3), 5, 1.0))
    assert len(found) == 5
    for one in found:
        np.testing.assert_allclose(sum(np.exp(state) for state in one.states), 1)
        assert one.touch[0] == pytest.approx(one.touch[1]) != pytest.approx(one.touch[2])
        assert one.left_front[0] == pytest.approx(one.right_front[1])
    assert len({one.touch[0] for one in found}) == 5


def test_firm_borders_place_components_where_they_say():
    firm = told((0, 1, 0.1, 6.0, 4.0), (1, 2, -0.3, 6.0, 4.0))
    np.testing.assert_allclose(typical(firm, SIZE), join(3, firm, np.array(SIZE, dtype=float)) - [0.0], atol=1e-12)


def test_a_place_that_most_arrangements_agree_on_wins_over_the_likeliest():
    """One pair is likelier by a hair than each of three others, which agree with one another."""
    rows = [(0, 1, 0.5, 1.0, 1.55)]
    for between in (2, 3, 4):  # three ways around, each of which says 0
        rows += [(0, between, 0.0, 6.0, 4.0), (between, 1, 0.0, 0.8, 1.5)]
    given, size = told(*rows), np.array([900.0, 100, 200, 201, 202])
    assert abs(typical(given, size, NOISY)[1]) < 1e-3


def test_the_likeliest_place_stands_where_others_disagree():
    """Of two places for a thing one is a little likelier: not nearly all of the arrangements say the other."""
    given = told((0, 1, 0.5, 1.0, 1.2), (0, 1, 0.0, 1.0, 1.0))
    assert typical(given, (900, 100))[1] == pytest.approx(-0.5)


def test_places_do_not_depend_on_the_numbers_of_components():
    rng = np.random.default_rng(1)
    n = 12
    pairs = [(a, b) for a in range(n) for b in range(a) if rng.random() < 0.4]
    rows = [(a, b, rng.normal(), rng.uniform(0.5, 3), rng.normal()) for a, b in pairs for _ in range(2)]
    size, given = rng.permutation(np.arange(1.0, n + 1)) * 100, told(*rows)
    order = rng.permutation(n)  # the new number of each component
    turned = np.empty(n)
    turned[order] = size
    other = replace(given, left=order[given.left], right=order[given.right])
    one = typical_places(given, size, lambda w: join(n, w, size), CLEAN)
    two = typical_places(other, turned, lambda w: join(n, w, turned), CLEAN)[order]
    np.testing.assert_allclose(one - one[0], two - two[0], atol=1e-9)


@pytest.mark.parametrize(("worse", "noisy"), [(None, False), ("8 bit", False), (0.25, False), (1.0, True)])
def test_noise_is_noticed(worse, noisy):
    scene = scenes.random("closed_room", 3, shape=(120, 160))
    if worse == "8 bit":
        scene = scene.quantised(8)
    elif worse is not None:
        scene = scene.with_noise(worse, 1)
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", check=False)
    faces = Faces.of_graph(graph)
    assert faces.noisy is noisy
    if noisy:
        assert np.degrees(np.sqrt(2 * faces.noise)) == pytest.approx(worse, rel=0.05)
