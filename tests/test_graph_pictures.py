"""Pictures of decompositions as graphs."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quotientgraph import QuotientGraph, report, scenes
from quotientgraph.report.coloring import N_COLORS, colors_of, palette


@pytest.fixture(scope="module")
def solved():
    scene = scenes.make("spheres", shape=(60, 80))
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=3.5)
    return scene, graph, graph.optimize(merge_every=5)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 30))
def test_neighbours_have_different_colours(seed, n):
    """Whatever the regions: no two that touch share a colour, and a lonely one has its favourite."""
    number = np.random.default_rng(seed).integers(-1, n, (12, 15))
    names, place = np.unique(number[number >= 0], return_inverse=True)
    number[number >= 0] = place
    color = colors_of(number, names % N_COLORS)
    assert ((color >= 0) & (color < N_COLORS)).all()
    apart = 0
    for dv, du in ((0, 1), (1, 0)):
        a, b = number[: 12 - dv, : 15 - du], number[dv:, du:]
        touching = (a >= 0) & (b >= 0) & (a != b)
        apart += int((color[a[touching]] == color[b[touching]]).sum())
    assert apart == 0 or len(names) > N_COLORS  # random noise can have regions with more neighbours than colours


def test_colours_are_easy_to_tell_apart():
    """No two colours of the palette are closer than 25 of 441 in RGB."""
    colors = palette().astype(float)
    distance = np.linalg.norm(colors[:, None] - colors, axis=-1) + 999 * np.eye(N_COLORS)
    assert distance.min() > 25


def test_component_picture_shows_borders(solved):
    """In the picture of a real decomposition every border is a change of colour; outside is background."""
    _, graph, _ = solved
    labels = graph.label_image()
    picture = report.component_picture(labels, background=7)
    apart = labels[:, 1:] != labels[:, :-1]
    changes = (picture[:, 1:] != picture[:, :-1]).any(axis=-1)
    assert changes[apart].all()
    assert not changes[~apart].any()
    with pytest.raises(ValueError, match="labels"):
        report.component_picture(labels[0])


def test_border_picture_marks_what_is_torn(solved):
    """Pixels away from borders stay pale; the darkest are at the occluding outline."""
    scene, graph, result = solved
    picture = report.border_picture(graph, result.potential)
    assert picture.shape == (60, 80, 3)
    beside = np.zeros(graph.pixels.n_pixels, bool)
    beside[graph.pixels.tail[graph.cut]] = beside[graph.pixels.head[graph.cut]] = True
    image = graph.pixels.map.image(beside, False).astype(bool)
    assert picture[~image].min() > 160
    dark = picture.sum(axis=-1) <= np.sort(picture.sum(axis=-1), axis=None)[20]
    step = np.abs(np.diff(np.log(scene.depth), axis=1, prepend=np.nan)) > 0.05
    near = step | np.roll(step, -1, axis=1) | np.roll(step, 1, axis=0) | np.roll(step, -1, axis=0)
    assert near[dark].mean() > 3 * near[image & ~dark].mean()
    photo = np.full((60, 80, 3), 200, np.uint8)
    assert len(np.unique(report.border_picture(graph, result.potential, image=photo)[~image])) == 1
    with pytest.raises(ValueError, match="image"):
        report.border_picture(graph, result.potential, image=photo[:3])


def test_graph_picture_draws_nodes_and_edges(solved):
    """Discs at centroids, lines between them; as large as asked for."""
    _, graph, result = solved
    picture = report.graph_picture(graph, result.potential, zoom=3, most=50)
    assert picture.shape == (180, 240, 3)
    nodes = graph.node_table()
    largest = int(nodes["size"].argmax())
    v, u = (round(3 * (nodes[name][largest] + 0.5) - 0.5) for name in ("row", "column"))
    assert picture[v, u].tolist() == [40, 44, 60]
    plain = report.graph_picture(graph, result.potential, zoom=3, most=1)
    assert (plain != picture).any(axis=-1).sum() > 300
    with pytest.raises(ValueError, match="zoom"):
        report.graph_picture(graph, result.potential, zoom=0)


def test_uncertainty_picture(solved):
    """Dark is uncertain."""
    _, _, result = solved
    picture = report.uncertainty_picture(result.uncertainty).astype(int).sum(axis=-1)
    values = result.uncertainty
    assert picture[values >= np.quantile(values, 0.99)].mean() < picture[values <= np.quantile(values, 0.5)].mean()
    with pytest.raises(ValueError, match="uncertainty"):
        report.uncertainty_picture(values.ravel())


@pytest.mark.parametrize("name", ["disconnected", "single_pixel", "step", "plane"])
def test_dendrograms_are_drawings(toy, solved, name):
    """Well-formed SVG with finite coordinates, for one leaf, for many and for several pieces."""
    results = [solved[2], QuotientGraph.from_normals(**toy(name).arguments, angle=None).optimize()]
    for result in results:
        root = ET.fromstring(report.dendrogram_svg(result.hierarchy, most=20))
        lines = [e for e in root.iter() if e.tag.endswith("line")]
        assert lines
        assert all(np.isfinite(float(line.get(key))) for line in lines for key in ("x1", "x2", "y1", "y2"))
        assert len(lines) < 120
    with pytest.raises(ValueError, match="most"):
        report.dendrogram_svg(solved[2].hierarchy, most=1)


def test_the_report_shows_uncertainty(solved, tmp_path):
    """One more picture on the page."""
    path = report.write_report(solved[2], tmp_path / "page.html")
    assert "picture-uncertainty" in path.read_text()
