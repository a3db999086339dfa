"""Whether contacts speak for the truth or for what was found."""

from dataclasses import replace

import numpy as np
import pytest

from quotientgraph import integrate, scenes
from quotientgraph.bench.explained import KINDS, explained
from quotientgraph.metrics import relative_error


def integrated(scene):
    return integrate(scene.normals, scene.mask, scene.camera, "opencv", check=False)


@pytest.fixture(scope="module")
def crowd():
    scene = scenes.random("figures", 1, shape=(120, 160))
    return integrated(scene), scene


@pytest.fixture(scope="module")
def stairs():
    scene = scenes.make("stairs", (96, 128), view="front")
    return integrated(scene), scene


def moved(result, inside, by):
    """The reconstruction with some of its pixels farther along their rays."""
    return replace(result, potential=result.potential + by * inside)


def test_parts_add_up_to_the_error(crowd):
    result, scene = crowd
    found = explained(result, scene.depth)
    assert found.error == pytest.approx(100 * relative_error(result.depth, scene.depth))
    assert found.error == pytest.approx(found.of("inside") + sum(found.of(kind) for kind in KINDS))
    assert sum(part.pixels for part in found.parts) == pytest.approx(100)
    assert found.of("inside") < 0.5


def test_a_figure_whose_foot_is_out_of_view_is_open(crowd):
    """Whether it is put nearer or farther: in neither place it touches anything in view."""
    result, scene = crowd
    figure = max(explained(result, scene.depth).parts, key=lambda part: part.error)
    assert figure.kind == "open"
    assert figure.true < 0.05 * figure.border
    inside = explained(result, scene.depth).number
    largest = np.bincount(inside).argsort()[-2]
    for by in (-0.3, 0.3):
        elsewhere = explained(moved(result, inside == largest, by), scene.depth)
        assert elsewhere.of("open") > 0.95 * elsewhere.error


def test_what_stands_in_view_is_missed_where_it_is_torn_off(stairs):
    """A face with true contacts, moved away from them."""
    result, scene = stairs
    before = explained(result, scene.depth)
    graph = result.judged.graph if result.joined else result.graph
    face = np.argsort(graph.sizes)[-3]
    after = explained(moved(result, graph.labels == face, 0.15), scene.depth)
    assert after.of("missed") > 5 * (before.error + 0.1)
    assert after.of("missed") > 0.9 * (after.error - before.error)
    part = max(after.parts, key=lambda part: part.error)
    assert part.shift == pytest.approx(-15, abs=1)
    assert part.true > 2 * part.found
    assert part.torn_true < part.torn_found


def test_the_truth_has_no_part_that_is_off(stairs):
    result, _ = stairs
    found = explained(result, result.depth)
    assert found.error == pytest.approx(0, abs=1e-9)
    assert {part.kind for part in found.parts} == {""}
