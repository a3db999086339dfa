"""One real analysis with each library on our exports: communities, a minimum cut, saliency, a normalised cut, a picture."""

import os
import sys

import igraph
import networkx
import numpy as np
import pytest

from quotientgraph import QuotientGraph, scenes
from quotientgraph.analysis import coarsened


@pytest.fixture(scope="module")
def two_balls():
    """Balls before a plane, solved; and which ball, or none, each component belongs to."""
    scene = scenes.make("spheres", shape=(72, 96))
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=3.5)
    return scene, graph, graph.optimize()


def purity(graph, membership):
    """Share of the pixels whose class holds mostly their own side of the largest component, which is the plane."""
    plane = graph.labels == np.bincount(graph.labels).argmax()
    found = np.asarray(membership)[graph.labels]
    return sum(max(plane[found == c].sum(), (~plane)[found == c].sum()) for c in np.unique(found)) / len(found)


def test_networkx_finds_communities(two_balls):
    """Louvain communities of the borders that hold are pure: plane and balls fall apart. The way back is `coarsened`."""
    _, graph, result = two_balls
    net = graph.to_networkx(result.potential)
    for _, _, data in net.edges(data=True):
        data["weight"] = data["n_edges"] * data["outlier"]
    found = networkx.community.louvain_communities(net, seed=0)
    membership = np.empty(graph.n_components, int)
    for k, members in enumerate(found):
        membership[list(members)] = k
    assert 2 < len(found) < graph.n_components / 10
    assert purity(graph, membership) > 0.9
    joined = coarsened(graph, membership)
    assert len(found) <= joined.n_components < graph.n_components


def test_igraph_finds_the_minimum_cut_between_two_regions(two_balls):
    """The weakest set of borders between the plane and a ball; its value is the sum of the strengths that it cuts."""
    _, graph, result = two_balls
    net = graph.to_igraph(result.potential)
    net.es["capacity"] = [n * w + 1e-9 for n, w in zip(net.es["n_edges"], net.es["outlier"])]
    size = np.array(net.vs["size"])
    plane, ball = np.argsort(-size)[:2].tolist()
    cut = net.mincut(source=plane, target=ball, capacity="capacity")
    assert plane in cut.partition[0]
    assert ball in cut.partition[1]
    assert cut.value == pytest.approx(sum(net.es["capacity"][e] for e in cut.cut))
    assert cut.value <= sum(net.es["capacity"][e] for e in net.incident(ball)) + 1e-9
    assert igraph.Graph.is_simple(net)


def test_higra_draws_a_saliency_map(two_balls):
    """Saliency is large where the ball hides the plane; a horizontal cut of higra is our cut."""
    hg = pytest.importorskip("higra")
    scene, _, result = two_balls
    tree, altitudes = result.hierarchy.to_higra("pixels")
    saliency = hg.saliency(tree, altitudes)
    grid = hg.get_4_adjacency_graph(scene.mask.shape)
    a, b = grid.edge_list()
    jump = np.abs(np.log(scene.depth.ravel()[a] / scene.depth.ravel()[b]))
    torn, smooth = jump > 0.1, jump < 0.02
    assert np.median(saliency[torn]) > 10 * max(np.median(saliency[smooth]), 1e-3)
    small, altitudes = result.hierarchy.to_higra("components")
    for height in (0.1, 1.0):
        flat = hg.labelisation_horizontal_cut_from_threshold(small, altitudes, height)
        assert len(np.unique(flat)) == result.hierarchy.cut(residual=height).n_components
    filtered = hg.attribute_area(tree)
    assert filtered[-1] == scene.mask.size


def test_scikit_image_makes_a_normalised_cut(two_balls):
    """`cut_normalized` and `cut_threshold` run on our graph and give fewer, pure regions."""
    skg = pytest.importorskip("skimage.graph")
    _, graph, result = two_balls
    labels = graph.label_image() + 1
    rag = graph.to_rag(result.potential)
    assert sorted(rag.nodes) == list(range(1, graph.n_components + 1))
    found = skg.cut_normalized(labels, rag, thresh=0.05, num_cuts=5, rng=0, in_place=False)
    membership = np.zeros(graph.n_components, int)
    membership[graph.labels] = found.ravel()[graph.pixels.map.position]
    assert 1 < len(np.unique(membership)) < graph.n_components / 3
    assert purity(graph, membership) > 0.85
    merged = skg.cut_threshold(labels, graph.to_rag(result.potential, weight="distance"), 0.5)
    assert 1 < len(np.unique(merged)) < graph.n_components
    with pytest.raises(ValueError, match="weight"):
        graph.to_rag(result.potential, weight="size")


def test_napari_has_labels_and_features(two_balls):
    """The layer holds label + 1 with the node table as features; row i belongs to label i."""
    pytest.importorskip("napari")
    _, graph, result = two_balls
    layer = graph.to_napari(result.potential, opacity=0.5)
    np.testing.assert_array_equal(layer.data, graph.label_image() + 1)
    assert len(layer.features) == graph.n_components + 1
    size = layer.features["size"].to_numpy()
    np.testing.assert_array_equal(size[1:], np.bincount(graph.labels))
    assert layer.opacity == 0.5
    # What a user does with it: show a column on the picture.
    weak = layer.features["planarity"].to_numpy()[layer.data]
    assert np.nanmin(weak) > 0.5


def test_napari_makes_a_screenshot(tmp_path):
    """Offscreen, in a process of its own, because a window system that fails ends the process.

    The window is drawn with the thumbnail of the layer; the canvas needs OpenGL, which an offscreen system may not have.
    """
    pytest.importorskip("napari")
    import subprocess

    program = f"""
import numpy as np, napari
from quotientgraph import QuotientGraph, scenes
scene = scenes.make("spheres", shape=(72, 96))
graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", angle=3.5)
viewer = napari.Viewer(show=True)
layer = viewer.add_layer(graph.to_napari())
shot = viewer.screenshot(canvas_only=False, flash=False)
np.savez({str(tmp_path / "shot.npz")!r}, shot=shot, thumbnail=layer.thumbnail)
viewer.close()
"""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "NAPARI_ASYNC": "0"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300)
    if not (tmp_path / "shot.npz").exists():
        pytest.skip(f"no window system for napari: {done.stderr.strip().splitlines()[-1:]}")
    with np.load(tmp_path / "shot.npz") as found:
        shot, thumbnail = found["shot"], found["thumbnail"]
    assert shot.ndim == 3
    assert min(shot.shape[:2]) > 100
    colours = np.unique(thumbnail.reshape(-1, 4)[:, :3], axis=0)
    assert len(colours) > 3  # plane and balls
    seen = {tuple(colour) for colour in np.unique(shot.reshape(-1, shot.shape[-1])[:, :3], axis=0)}
    assert len(seen) > 100


@pytest.mark.parametrize(
    ("module", "extra", "call"),
    [
        ("pandas", "graphs", lambda g, r: g.to_pandas()),
        ("skimage.graph", "graphs", lambda g, r: g.to_rag()),
        ("higra", "graphs", lambda g, r: r.hierarchy.to_higra()),
        ("napari.layers", "napari", lambda g, r: g.to_napari()),
    ],
)
def test_a_missing_library_is_named_with_its_extra(two_balls, monkeypatch, module, extra, call):
    """Without the library the message says what to install."""
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"quotientgraph\[{extra}\]"):
        call(two_balls[1], two_balls[2])
