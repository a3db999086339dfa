"""Parallel faces that share a component, and what tells them apart."""

from dataclasses import replace

import numpy as np
import pytest

from quotientgraph import QuotientGraph, integrate, scenes
from quotientgraph.beyond.parallel_faces import separated
from quotientgraph.method.weights import Outliers
from quotientgraph.metrics import relative_error


def graph_of(scene, angle=2.0):
    return QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=angle)


def cut_apart(graph, labels=None):
    """Its faces separated; `labels` number the components otherwise."""
    potential = graph.filled()
    graph = graph if labels is None else replace(graph, labels=labels)
    return separated(graph, potential, Outliers().scale(graph.pixels.map))[0]


def parted(scene):
    graph = graph_of(scene)
    return graph, cut_apart(graph)


def test_treads_seen_from_above_are_set_apart():
    """Eight levels of the stairs are one component; the walls on both sides tell them apart."""
    scene = scenes.make("stairs", (256, 320), view="above")
    before, after = parted(scene)
    assert (before.n_components, after.n_components) == (3, 10)
    errors = [
        100
        * relative_error(integrate(scene.normals, scene.mask, scene.camera, "opencv", faces=faces).depth, scene.depth)
        for faces in ("joined", "separate")
    ]
    assert errors[0] > 7
    assert errors[1] < 0.1


@pytest.mark.parametrize("camera", ["perspective", "orthographic"])
def test_tops_of_boxes_stand_out_of_the_floor(camera):
    """Each box shows two sides, which stand on the floor and hold a top: the floor's component gives up the tops."""
    scene = scenes.make("boxes", (256, 320), camera)
    before, after = parted(scene)
    assert 4 <= after.n_components - before.n_components <= 12
    truth = scene.camera.potential(scene.depth).ravel()[before.pixels.map.position]
    filled = before.filled()

    def off(labels):
        """Mean distance from the truth if every component is at its best place."""
        apart = truth - filled
        best = np.array([np.median(apart[labels == c]) for c in range(labels.max() + 1)])
        return np.abs(apart - best[labels]).mean()

    assert off(after.labels) < 0.35 * off(before.labels)


def test_edges_between_faces_have_no_say():
    """All edges between components are cut edges; those between parts of one former component are the silent ones."""
    before, after = parted(scenes.make("stairs", (256, 320), view="above"))
    np.testing.assert_array_equal(before.cut, after.telling)
    apart = np.flatnonzero(after.labels[after.pixels.tail] != after.labels[after.pixels.head])
    np.testing.assert_array_equal(after.cut, apart)
    np.testing.assert_array_equal(np.sort(np.append(after.telling, after.silent)), after.cut)
    assert len(after.silent)
    again = QuotientGraph.from_labels(after.pixels, after.jump, after.labels)
    np.testing.assert_array_equal(again.cut, after.cut)
    np.testing.assert_array_equal(again.labels, after.labels)


@pytest.mark.parametrize("name", ["sphere", "spheres", "torus", "bumps", "tube", "plane", "step"])
def test_nothing_is_torn_apart_without_reason(name):
    """Where no component holds parallel faces, the graph comes back as it was."""
    before, after = parted(scenes.make(name, (128, 160)))
    assert after is before


def test_numbering_does_not_matter():
    """The same parts come out when the components are numbered the other way round."""
    graph, after = parted(scenes.make("stairs", (256, 320), view="above"))
    mirrored = cut_apart(graph, (graph.n_components - 1 - graph.labels).astype(np.int32))
    assert mirrored.n_components == after.n_components
    pairs = np.unique(np.stack([after.labels, mirrored.labels]), axis=1)
    assert pairs.shape[1] == after.n_components


def test_faces_is_checked(toy):
    with pytest.raises(ValueError, match="faces='both' is not known"):
        integrate(**toy("plane").arguments, faces="both")
