"""`PixelGraph`: the edges of G0, their opposite neighbours, and the pieces."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quotientgraph import Orthographic, Pinhole, RayMap
from quotientgraph.geometry.normals import NormalMap
from quotientgraph.graph.pixels import PixelGraph

masks = arrays(bool, st.tuples(st.integers(1, 7), st.integers(1, 7))).filter(np.any)


def grid(mask, connectivity=8):
    """G0 of a flat surface seen through a mask."""
    normals = np.tile([0.0, 0.0, -1.0], (*mask.shape, 1))
    return PixelGraph.from_map(NormalMap.from_array(normals, mask, frame="opencv"), connectivity)


def neighbours(mask, connectivity):
    """All pairs of valid neighbours, found the slow way, as pairs of flat positions."""
    valid = [tuple(p) for p in np.argwhere(mask)]
    pairs = set()
    for v, u in valid:
        for w, x in valid:
            far = max(abs(v - w), abs(u - x)) if connectivity == 8 else abs(v - w) + abs(u - x)
            if far == 1 and (v, u) < (w, x):
                pairs.add((v * mask.shape[1] + u, w * mask.shape[1] + x))
    return pairs


@settings(max_examples=60, deadline=None)
@given(masks, st.sampled_from([4, 8]))
def test_every_pair_of_neighbours_once(mask, connectivity):
    """The edges are exactly the pairs of neighbouring valid pixels, each once, tail < head, sorted by tail."""
    graph = grid(mask, connectivity)
    place = graph.map.position
    found = list(zip(place[graph.tail].tolist(), place[graph.head].tolist()))
    assert len(found) == len(set(found))
    assert set(found) == neighbours(mask, connectivity)
    assert (graph.tail < graph.head).all()
    assert (np.diff(graph.tail) >= 0).all()
    assert graph.tail.dtype == graph.head.dtype == np.int32


@settings(max_examples=60, deadline=None)
@given(masks, st.sampled_from([4, 8]))
def test_opposite_neighbours(mask, connectivity):
    """The pixel beyond a as seen from b lies at 2a − b, and beyond b at 2b − a; −1 where none is valid."""
    graph = grid(mask, connectivity)
    width = mask.shape[1]
    beyond_tail, beyond_head = graph.opposites(np.arange(graph.n_edges))
    for e in range(graph.n_edges):
        a, b = (np.array(divmod(int(graph.map.position[i]), width)) for i in (graph.tail[e], graph.head[e]))
        for place, found in ((2 * a - b, beyond_tail[e]), (2 * b - a, beyond_head[e])):
            inside = (place >= 0).all() and (place < mask.shape).all()
            assert found == (graph.map.index[tuple(place)] if inside else -1)


def test_opposites_of_some_edges(noisy_graph):
    """Asking for some edges gives the same as asking for all and picking."""
    graph = noisy_graph().pixels
    some = np.array([7, 3, 3, 20])
    for part, whole in zip(graph.opposites(some), graph.opposites(np.arange(graph.n_edges))):
        np.testing.assert_array_equal(part, whole[some])


@pytest.mark.parametrize(("connectivity", "edges"), [(4, 2), (8, 4)])
def test_memory_per_pixel(connectivity, edges):
    """A large image takes 8 bytes an edge and 32 bytes a pixel: 48 with 4-connectivity, 64 with 8."""
    graph = grid(np.ones((200, 300), dtype=bool), connectivity)
    assert graph.nbytes == 8 * graph.n_edges + 32 * graph.n_pixels
    assert graph.nbytes / graph.n_pixels <= 8 * edges + 32


def test_pieces(toy):
    """The pieces are the connected components of G0: three islands, numbered by their first pixel."""
    scene = toy("disconnected")
    graph = PixelGraph.from_map(NormalMap.from_array(scene.normals, scene.mask, scene.camera, "opencv"))
    assert graph.n_pieces == 3
    image = graph.map.image(graph.pieces, -1)
    assert (image[2:9, 1:8] == 0).all()
    assert (image[3:14, 11:19] == 1).all()
    assert image[13, 2] == 2


def test_diagonal_touch_joins_with_eight_only():
    """Two pixels that share a corner are neighbours with 8-connectivity and two pieces with 4."""
    mask = np.eye(2, dtype=bool)
    assert grid(mask, 8).n_pieces == 1
    assert grid(mask, 4).n_pieces == 2
    assert grid(mask, 4).n_edges == 0


@pytest.mark.parametrize("camera", [Pinhole(50.0, 50.0, 4, 3), Orthographic(2.0), RayMap.fisheye(100, (7, 9))])
def test_confidence(camera):
    """γ² = (f·n·ray)² with f in pixels for a central camera and f = 1 for an orthographic one."""
    normals = np.tile([0.1, 0.2, -1.0], (7, 9, 1))
    graph = PixelGraph.from_map(NormalMap.from_array(normals, None, camera, "opencv"))
    unit = np.array([0.1, 0.2, -1.0]) / np.linalg.norm([0.1, 0.2, -1.0])
    rays = camera.rays((7, 9)) if camera.central else np.tile([0.0, 0.0, 1.0], (7, 9, 1))
    facing = (rays @ unit).ravel()
    np.testing.assert_allclose(graph.map.facing, facing, rtol=1e-13)
    assert (graph.map.facing < 0).all()
    np.testing.assert_allclose(graph.gamma_squared, (graph.map.focal * facing) ** 2, rtol=1e-12)
    assert np.ndim(graph.map.focal) == (1 if isinstance(camera, RayMap) else 0)
