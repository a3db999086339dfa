"""Decompositions of one's own: segmentations, colours, lines, absorbed and joined components."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quotientgraph import QuotientGraph, integrate, metrics, scenes
from quotientgraph.analysis import absorb_small, coarsened, split_at_lines, split_by_image
from quotientgraph.graph.colours import oklab

lawful = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
seeds = st.integers(0, 2**31)


def connected(graph):
    """Every component is connected, and they are numbered by first pixel."""
    again = type(graph).from_labels(graph.pixels, graph.jump, graph.labels)
    np.testing.assert_array_equal(again.labels, graph.labels)


def nested(fine, coarse):
    return len(set(zip(fine.labels.tolist(), coarse.labels.tolist()))) == fine.n_components


# ---- labels ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", ["auto", 3.5])
def test_labels_of_q0_give_the_same_depth(angle):
    """The label image of Q0, fed back, is Q0: the depth is the same to 1e-12."""
    scene = scenes.make("spheres", shape=(60, 80))
    known = {"normals": scene.normals, "mask": scene.mask, "camera": scene.camera, "frame": "opencv", "angle": angle}
    graph = QuotientGraph.from_normals(**known)
    again = QuotientGraph.from_normals(**known, labels=graph.label_image())
    np.testing.assert_array_equal(again.labels, graph.labels)
    np.testing.assert_allclose(again.optimize().depth, graph.optimize().depth, rtol=1e-12)
    shifted = integrate(**known, labels=graph.label_image() + 1)  # 0 outside the mask, as others have it
    np.testing.assert_allclose(shifted.depth, graph.optimize().depth, rtol=1e-12)


def test_labels_in_any_form(toy):
    """Masks that overlap, unsigned numbers, labels that are not connected, and pixels without a label."""
    scene = toy("plane")
    image = np.zeros(scene.mask.shape, dtype=np.uint16)
    image[:, 20:] = 7
    graph = QuotientGraph.from_normals(**scene.arguments, labels=image)
    assert graph.n_components == 2
    image[:, 10:12] = 7
    assert QuotientGraph.from_normals(**scene.arguments, labels=image).n_components == 4
    masks = np.zeros((2, *image.shape), dtype=bool)
    masks[0], masks[1, 3:9, 4:8] = True, True
    graph = QuotientGraph.from_normals(**scene.arguments, labels=masks)
    assert sorted(np.bincount(graph.labels)) == [24, image.size - 24]
    # A plane is one component by angle, so what has no label is one.
    loose = np.where(masks[1], 3, -1)
    graph = QuotientGraph.from_normals(**scene.arguments, labels=loose)
    assert sorted(np.bincount(graph.labels)) == [24, image.size - 24]
    alone = QuotientGraph.from_normals(**scene.arguments, labels=loose, angle=None)
    assert alone.n_components == image.size - 23
    assert metrics.relative_error(graph.optimize().depth, scene.depth) < 1e-9


@pytest.mark.parametrize("labels", [np.zeros((3, 3), int), np.full((24, 32), 0.5), np.zeros((2, 24, 32), int), "a"])
def test_labels_that_cannot_be_are_refused(toy, labels):
    with pytest.raises(ValueError, match="labels"):
        QuotientGraph.from_normals(**toy("plane").arguments, labels=labels)


# ---- colours -----------------------------------------------------------------------------------------------


def painted(shape, dtype):
    image = np.zeros((*shape, 3))
    image[:, : shape[1] // 2] = [0.8, 0.2, 0.2]
    image[:, shape[1] // 2 :] = [0.2, 0.2, 0.8]
    image += 0.01 * np.random.default_rng(0).random(image.shape)
    return image if dtype is float else (image * np.iinfo(dtype).max).astype(dtype)


@pytest.mark.parametrize("dtype", [float, np.uint8, np.uint16])
def test_colours_divide_what_normals_do_not(toy, dtype):
    """A plane painted in two colours is two components, from the start or afterwards; noise divides nothing."""
    scene = toy("plane")
    image = painted(scene.mask.shape, dtype)
    graph = QuotientGraph.from_normals(**scene.arguments, image=image)
    assert graph.n_components == 2
    assert (graph.label_image()[:, :16] == 0).all()
    later = split_by_image(QuotientGraph.from_normals(**scene.arguments), image)
    np.testing.assert_array_equal(later.labels, graph.labels)
    grey = image.mean(axis=-1).astype(image.dtype)
    assert QuotientGraph.from_normals(**scene.arguments, image=grey * 0 + grey[0, 0]).n_components == 1
    assert metrics.relative_error(graph.optimize().depth, scene.depth) < 1e-9
    assert metrics.relative_error(integrate(**scene.arguments, image=image).depth, scene.depth) < 1e-9


def test_colours_and_normals_compose(noisy_graph):
    """With an image components lie inside those by angle and inside those by colour."""
    graph = noisy_graph(3, hole=0.0)
    image = (np.indices(graph.pixels.map.shape).sum(axis=0) // 5 % 2).astype(float)
    both = split_by_image(graph, image)
    assert nested(both, graph)
    assert nested(both, split_by_image(coarsened(graph, np.zeros(graph.n_components, int)), image))
    connected(both)


@pytest.mark.parametrize(
    "image", [np.zeros((3, 3)), np.full((24, 32), 7.0), np.zeros((24, 32, 2)), np.zeros((24, 32), int)]
)
def test_images_that_cannot_be_are_refused(toy, image):
    with pytest.raises(ValueError, match="image"):
        QuotientGraph.from_normals(**toy("plane").arguments, image=image)


def test_oklab_is_what_it_should_be():
    """White, mid grey and pure red, as Ottosson gives them."""
    colours = np.array([[[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]])
    np.testing.assert_allclose(oklab(colours, (1, 2))[0], [[1, 0, 0], [0.628, 0.225, 0.126]], atol=1e-3)
    with pytest.raises(ValueError, match="step"):
        split_by_image(QuotientGraph.from_normals(np.tile([0.0, 0.0, 1.0], (2, 2, 1))), np.zeros((2, 2)), 0.0)


# ---- lines -------------------------------------------------------------------------------------------------


def crossings(graph):
    """Columns of the pixels that are joined across columns 7 | 8 of a graph of width 32."""
    u = graph.pixels.map.position % 32
    a, b = u[graph.pixels.tail], u[graph.pixels.head]
    return int(((a <= 7) != (b <= 7)).sum())


def test_polylines_cut_the_edges_that_cross_them(toy):
    """A line between two columns over the whole height makes two pieces; half of it makes none."""
    scene = toy("plane")
    whole = QuotientGraph.from_normals(**scene.arguments, forbidden=[[(7.5, -1), (7.5, 24)]])
    assert (crossings(whole), whole.pixels.n_pieces, whole.n_components) == (0, 2, 2)
    half = QuotientGraph.from_normals(**scene.arguments, forbidden=[[(7.5, -1), (7.5, 10.5)]])
    assert 0 < crossings(half) < 24 + 2 * 23
    assert (half.pixels.n_pieces, half.n_components) == (1, 1)
    slanted = QuotientGraph.from_normals(**scene.arguments, forbidden=[[(-1, 3), (8, 9.3), (40, 20)]])
    assert slanted.pixels.n_pieces == 2
    full = QuotientGraph.from_normals(**scene.arguments)
    assert len(whole.pixels.removed) + whole.pixels.n_edges == full.pixels.n_edges
    np.testing.assert_array_equal(split_at_lines(full, [[(7.5, -1), (7.5, 24)]]).labels, whole.labels)


@pytest.mark.parametrize("shape", ["vertical", "diagonal", "other diagonal", "thick", "stairs"])
def test_drawn_lines_divide(toy, shape):
    """A drawn line from border to border leaves two pieces, whatever its direction, and no pixel alone."""
    scene = toy("plane")
    v, u = np.indices(scene.mask.shape)
    drawn = {
        "vertical": u == 9,
        "diagonal": u == v + 3,
        "other diagonal": u == 26 - v,
        "thick": np.abs(u - v - 3) <= 2,
        "stairs": (u == v // 2 + 5) | ((u == v // 2 + 6) & (v % 2 == 1)),
    }[shape]
    graph = QuotientGraph.from_normals(**scene.arguments, forbidden=drawn)
    assert graph.pixels.n_pieces == 2
    assert np.bincount(graph.pixels.pieces).min() > 60
    sides = (u < np.where(drawn.any(axis=1), drawn.argmax(axis=1), 99)[:, None]).ravel()[graph.pixels.map.position]
    outside = ~drawn.ravel()[graph.pixels.map.position]
    for piece in (0, 1):
        assert len(set(sides[outside & (graph.pixels.pieces == piece)])) == 1


def test_a_drawn_jump_is_kept_open():
    """Two parallel planes at different depths: the normals say nothing, a line keeps them apart in depth and mesh."""
    normals = np.tile([0.0, 0.0, -1.0], (20, 30, 1))
    plain = QuotientGraph.from_normals(normals, frame="opencv")
    line = [[(14.5, -1), (14.5, 21)]]
    graph = QuotientGraph.from_normals(normals, frame="opencv", forbidden=line)
    result, whole = integrate(normals, frame="opencv", forbidden=line), plain.optimize()
    assert result.n_pieces == 2
    assert any("separate pieces" in text for text in result.warnings)
    assert len(result.mesh().faces) == len(whole.mesh().faces) - 2 * 19
    assert graph.n_components == 2


@pytest.mark.parametrize(
    "lines", [np.zeros((3, 3), bool), np.zeros((24, 32)), [[(1, 2)]], [[(1, 2, 3), (1, 2, 3)]], [[(0, np.nan), (1, 1)]]]
)
def test_lines_that_cannot_be_are_refused(toy, lines):
    with pytest.raises(ValueError, match="forbidden"):
        QuotientGraph.from_normals(**toy("plane").arguments, forbidden=lines)


# ---- absorbed and joined -----------------------------------------------------------------------------------


@lawful
@given(seeds, st.integers(1, 12))
def test_large_components_never_join(noisy_graph, seed, size):
    """Of two components that were large, none are in one; partitions only coarsen."""
    graph = noisy_graph(seed, angle=6.0)
    absorbed = absorb_small(graph, size)
    assert nested(graph, absorbed)
    connected(absorbed)
    large = np.flatnonzero(np.bincount(graph.labels) >= size)
    became = np.zeros(graph.n_components, int)
    became[graph.labels] = absorbed.labels
    assert len(set(became[large])) == len(large)


def test_absorbing_takes_nothing_from_the_depth():
    """On a smooth surface nearly all components go, and the depth is as good; the joined ones are not filled again."""
    scene = scenes.make("bumps", shape=(120, 150))
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=2.0)
    absorbed = absorb_small(graph)
    assert 10 * absorbed.n_components < graph.n_components
    before, after = (metrics.relative_error(g.optimize().depth, scene.depth) for g in (graph, absorbed))
    assert after < 1.03 * before + 1e-6
    assert absorbed.inside is not None
    assert absorbed.contract([]).inside is None
    inner = absorbed.filled()
    np.testing.assert_allclose(np.bincount(absorbed.labels, inner), 0, atol=1e-9 * absorbed.pixels.n_pixels)
    with pytest.raises(ValueError, match="fit"):
        absorb_small(graph, fit=0.0)


def test_joining_by_membership(noisy_graph):
    """One class is one component for each piece; classes of their own change nothing; other lengths are refused."""
    graph = noisy_graph(4)
    np.testing.assert_array_equal(coarsened(graph, np.zeros(graph.n_components, int)).labels, graph.pixels.pieces)
    np.testing.assert_array_equal(coarsened(graph, np.arange(graph.n_components)).labels, graph.labels)
    for wrong in (np.zeros(3, int), np.zeros(graph.n_components)):
        with pytest.raises(ValueError, match="membership"):
            coarsened(graph, wrong)
