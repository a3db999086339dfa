"""What borders can say at all, compared with the truth."""

import numpy as np
import pytest

from quotientgraph import integrate, scenes
from quotientgraph.bench.limits import contact_groups, limits


@pytest.fixture(scope="module")
def crowd():
    scene = scenes.random("figures", 1, shape=(120, 160))
    return integrate(scene.normals, scene.mask, scene.camera, "opencv", check=False), scene


def test_each_thing_that_is_known_helps(crowd):
    result, scene = crowd
    found = limits(result.judged, scene.depth)
    assert found.placed <= found.grouped + 0.1
    assert found.grouped <= found.known + 0.1
    assert found.known <= found.judged + 0.1
    assert found.placed < 1
    assert 5 < found.loose < 50
    assert found.n_loose >= 1


def test_groups_that_touch_nothing_can_be_anywhere(crowd):
    """Moved along their rays they are still groups, and what is within them does not change."""
    result, scene = crowd
    judged = result.judged
    _, right, group = contact_groups(judged, scene.depth)
    loose = np.bincount(group[judged.graph.labels]).argsort()[-2]
    position = judged.graph.pixels.map.position[(group == loose)[judged.graph.labels]]
    moved = scene.depth.copy()
    moved.flat[position] *= 0.8
    _, after, groups = contact_groups(judged, moved)
    assert np.allclose((after - right)[group == loose], np.log(0.8))
    assert len(set(groups[group == loose])) == 1
    assert np.array_equal(after[group != loose], right[group != loose])
