"""Steadiness: what stands where it does by a hair moves when the evidence is disturbed, what is held firmly does not."""

from types import SimpleNamespace

import numpy as np
import pytest

from quotientgraph import integrate, scenes
from quotientgraph.beyond.joining import Witnesses
from quotientgraph.beyond.steadiness import unsteadiness


def components(*sizes, piece=None):
    """Components of so many pixels, one after the other, as far as steadiness needs to know them."""
    labels, of = (
        np.repeat(np.arange(len(sizes)), sizes),
        np.zeros(len(sizes), int) if piece is None else np.array(piece),
    )
    pixels, first = SimpleNamespace(pieces=of[labels]), np.cumsum([0, *sizes[:-1]])
    return SimpleNamespace(
        graph=SimpleNamespace(labels=labels, sizes=np.array(sizes), pixels=pixels, first_pixels=first), span=1.0
    )


def told(*rows):
    """Witnesses from rows of left, right, offset, weight and log-odds of contact; fronts are equally likely."""
    left, right, offset, weight, odds = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    touch, torn = -np.logaddexp(0, -odds), -np.logaddexp(0, odds) - np.log(2)
    ends = left.astype(np.int64), right.astype(np.int64)
    return Witnesses(*ends, offset, np.full(len(left), 1e-3), weight, touch, torn, torn, np.arange(len(left)))


FIRM, CLOSE = (0, 1, 0.0, 6.0, 4.0), [(1, 2, 0.0, 1.0, 1.0), (1, 2, 0.3, 1.0, 0.9)]


def test_a_close_decision_is_unsteady_and_a_firm_one_is_not():
    """Two borders of the last component ask for different places, and are nearly as likely as each other."""
    found = unsteadiness(components(500, 400, 100), told(FIRM, *CLOSE))
    for share in found:
        np.testing.assert_array_equal(share[:2], 0)
        assert share[2] > 0.1


def test_what_is_held_better_withstands_little_and_gives_way_to_much():
    """The last component has a border with each of the others; they ask for different places, one clearly likelier."""
    better = [(1, 2, 0.0, 1.0, 2.0), (0, 2, 0.3, 1.0, -2.0)]
    little, much = unsteadiness(components(500, 400, 100), told(FIRM, *better))
    assert little[2] == 0 < much[2]


def test_what_hangs_on_an_unsteady_component_is_unsteady_with_it():
    found = unsteadiness(components(500, 400, 100, 50), told(FIRM, *CLOSE, (2, 3, 0.0, 6.0, 4.0)))
    for share in found:
        assert share[3] == share[2] > 0.1


def test_pieces_are_each_judged_by_themselves():
    """Whichever part of the larger piece moves, it has nothing to say of the smaller one, nor a face that spans the gap."""
    left, right = told(FIRM, *CLOSE), told(*[(3 + a, 3 + b, *rest) for a, b, *rest in (FIRM, *CLOSE)])
    for gap in ((), ((2, 3, 0.0, 6.0, 4.0),)):
        given = (left, right, told(*gap)) if gap else (left, right)
        both = Witnesses(**{name: np.concatenate([vars(one)[name] for one in given]) for name in vars(left)})
        found = unsteadiness(components(500, 400, 100, 50, 40, 10, piece=(0, 0, 0, 1, 1, 1)), both)
        for share in found:
            np.testing.assert_array_equal(share[[0, 1, 3, 4]], 0)
            assert share[2] > 0.1
            assert share[5] > 0.1


def test_what_is_settled_stays():
    """The pixels 0 and 950 belong to the first and the last component."""
    found = unsteadiness(components(500, 400, 100), told(FIRM, *CLOSE), settled=((0, 950),))
    np.testing.assert_array_equal(found, 0)


def test_a_crumb_stays_with_the_neighbour_that_it_touches():
    """The crumb is number 3. It touches the unsteady component, and has its longer border with another one."""
    crumb = [(3, 2, 0.0, 0.1, 0.0), (3, 0, 0.5, 0.4, 0.0)]
    found = unsteadiness(components(50_000, 40_000, 10_000, 3), told(FIRM, *CLOSE, *crumb))
    for share in found:
        assert share[3] == share[2] > 0.1


@pytest.mark.parametrize("sizes", [(7,), (7, 5)])
def test_without_borders_nothing_is_unsteady(sizes):
    none = np.zeros(0)
    ends = none.astype(np.int64)
    found = unsteadiness(components(*sizes), Witnesses(ends, ends, none, none, none, none, none, none))
    np.testing.assert_array_equal(found, np.zeros((2, len(sizes))))


def test_it_is_the_same_in_every_run():
    scene = scenes.random("heap", 1, shape=(120, 160))
    first, second = (integrate(scene.normals, scene.mask, scene.camera, "opencv", check=False) for _ in range(2))
    np.testing.assert_array_equal(first.confidence, second.confidence)
