"""Exports of graphs: what the columns mean, and that nothing is lost on the way to other libraries and back."""

import igraph
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quotientgraph import Orthographic, Pinhole, QuotientGraph, RayMap, io, scenes
from quotientgraph.analysis import GraphTables, component_tables, edge_tables, pixel_tables
from quotientgraph.analysis.tables import pixel_areas

lawful = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
seeds = st.integers(0, 2**31)


def same(a, b, about=True, types=True):
    """Both hold the same nodes, edges and attributes, in the same order and to the last digit."""
    assert (a.n_nodes, a.n_edges) == (b.n_nodes, b.n_edges)
    np.testing.assert_array_equal(a.tail, b.tail)
    np.testing.assert_array_equal(a.head, b.head)
    for one, other in ((a.nodes, b.nodes), (a.edges, b.edges)):
        assert list(one) == list(other)
        for name in other:
            np.testing.assert_array_equal(one[name], other[name])
            assert one[name].dtype == other[name].dtype or not types
    if about:
        assert a.about == b.about


def all_tables(graph, seed=0):
    potential = np.random.default_rng(seed).normal(size=graph.pixels.n_pixels)
    return [component_tables(graph, potential), edge_tables(graph, potential), pixel_tables(graph, potential)]


@lawful
@given(seeds, st.sampled_from([None, 12.0, 30.0]), st.sampled_from([4, 8]))
def test_round_trips_through_igraph_and_networkx(noisy_graph, seed, angle, connectivity):
    """Nodes, parallel edges and attributes of quotient graphs and of G0 come back as they went."""
    for tables in all_tables(noisy_graph(seed, angle=angle, connectivity=connectivity), seed):
        same(tables, GraphTables.from_igraph(tables.to_igraph()))
        same(tables, GraphTables.from_networkx(tables.to_networkx()))
        same(tables, GraphTables.from_networkx(tables.to_networkx(multi=True)))


@pytest.mark.parametrize("suffix", [".graphml", ".csv", ".parquet"])
def test_round_trips_through_files(noisy_graph, tmp_path, suffix):
    """The same holds for files; CSV keeps the tables and neither the facts about the whole nor the types of columns."""
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
        pytest.importorskip("pandas")
    alone = QuotientGraph.from_normals(np.tile([0, 0, 1.0], (4, 5, 1)))  # one component, no edges
    for k, tables in enumerate(all_tables(noisy_graph(3, shape=(14, 17))) + all_tables(alone)):
        files = io.write_tables(tmp_path / f"graph{k}{suffix}", tables)
        assert all(file.exists() for file in files)
        same(tables, io.read_tables(tmp_path / f"graph{k}{suffix}"), about=suffix != ".csv", types=suffix != ".csv")


def test_round_trip_through_a_file_of_igraph(noisy_graph, tmp_path):
    """igraph writes all numbers as floating-point ones, and adds a text to each node."""
    for k, tables in enumerate(all_tables(noisy_graph(3, shape=(14, 17)))):
        path = str(tmp_path / f"graph{k}.graphml")
        tables.to_igraph().write_graphml(path)
        graph = igraph.Graph.Read_GraphML(path)
        del graph.vs["id"]
        back = GraphTables.from_igraph(graph)
        for table, known in ((back.nodes, tables.nodes), (back.edges, tables.edges)):
            assert {name: x.dtype for name, x in table.items()} == {name: x.dtype for name, x in known.items()}


def test_a_graph_without_edges_keeps_its_columns(tmp_path):
    """One component has no borders; the columns of borders are there all the same, with their types."""
    tables = QuotientGraph.from_normals(np.tile([0, 0, 1.0], (4, 5, 1))).tables()
    assert tables.n_edges == 0
    (file,) = io.write_tables(tmp_path / "one.graphml", tables)
    for back in (
        GraphTables.from_networkx(tables.to_networkx()),
        GraphTables.from_networkx(tables.to_networkx(multi=True)),
        GraphTables.from_igraph(tables.to_igraph()),
        io.read_tables(file),
    ):
        same(tables, back)
        assert back.laplacian("length").nnz == 0


def test_columns_that_were_changed_elsewhere_keep_their_values(noisy_graph):
    """A column gets its former type back only if that holds its values."""
    tables = noisy_graph().tables()
    graph = tables.to_networkx()
    for node, data in graph.nodes(data=True):
        data["top"], data["left"], data["size"] = 2**40 + node, 0.5, data["size"] > 3
    back = GraphTables.from_networkx(graph)
    assert back.nodes["top"].tolist() == [2**40 + node for node in range(tables.n_nodes)]
    assert set(back.nodes["left"]) == {0.5}
    np.testing.assert_array_equal(back.nodes["size"], tables.nodes["size"] > 3)
    assert back.nodes["size"].dtype == bool
    assert back.nodes["right"].dtype == np.int32
    for wrong in ("soup", "[]", '{"nodes": {}, "edges": {"length": "object"}}'):
        graph.graph["column_types"] = wrong
        with pytest.raises(ValueError, match="column_types"):
            GraphTables.from_networkx(graph)


def test_round_trip_through_pandas(noisy_graph):
    """Two pandas tables hold the same, and pandas can work on them."""
    pytest.importorskip("pandas")
    graph = noisy_graph(1)
    for tables in all_tables(graph):
        same(tables, GraphTables.from_pandas(*tables.to_pandas()))
    nodes, edges = graph.to_pandas()
    assert nodes["size"].sum() == graph.pixels.n_pixels
    assert edges.groupby("occlusion")["n_edges"].sum().sum() == len(graph.cut)


@pytest.mark.parametrize("damage", ["cut", "text", "missing", "suffix", "rows"])
def test_damaged_files_are_refused(noisy_graph, tmp_path, damage):
    """`InputError` names the file."""
    path = tmp_path / "g.csv"
    files = io.write_tables(path, all_tables(noisy_graph())[0])
    if damage == "cut":
        path = tmp_path / "g.graphml"
        (file,) = io.write_tables(path, all_tables(noisy_graph())[0])
        file.write_bytes(file.read_bytes()[:-200])
    elif damage == "text":
        files[0].write_text("size\nmany\n")
    elif damage == "missing":
        files[1].unlink()
    elif damage == "rows":
        files[1].write_text("tail,head\n0,1\n2\n")
    else:
        path = tmp_path / "g.docx"
    with pytest.raises(io.InputError, match="g"):
        io.read_tables(path)


def test_matrices(noisy_graph):
    """L = Bᵀ W B = D − A, and B φ are the differences along the edges."""
    tables = component_tables(noisy_graph(2), noisy_graph(2).filled())
    incidence, weight = tables.incidence(), tables.edges["n_edges"]
    x = np.random.default_rng(0).normal(size=tables.n_nodes)
    np.testing.assert_allclose(incidence @ x, x[tables.tail] - x[tables.head])
    laplacian = incidence.T @ (weight[:, None] * incidence.toarray())
    np.testing.assert_allclose(tables.laplacian("n_edges").toarray(), laplacian)
    np.testing.assert_allclose(tables.adjacency("n_edges").toarray(), np.diag(np.diag(laplacian)) - laplacian)
    np.testing.assert_allclose(tables.laplacian(weight).toarray(), laplacian)
    for wrong in ("none", weight[:-1]):
        with pytest.raises(ValueError, match="weight"):
            tables.laplacian(wrong)


def test_parallel_edges_are_those_of_the_pairs(noisy_graph):
    """The export with parallel edges has every cut edge once; summed up by pair it is the export by pairs."""
    graph = noisy_graph(7)
    potential = np.random.default_rng(1).normal(size=graph.pixels.n_pixels)
    many, pairs = edge_tables(graph, potential), component_tables(graph, potential)
    np.testing.assert_array_equal(np.sort(many.edges["number"]), graph.cut)
    assert (many.tail < many.head).all()
    np.testing.assert_array_equal(many.adjacency().toarray(), pairs.adjacency("n_edges").toarray())
    total = many.adjacency("residual").toarray() / np.maximum(many.adjacency().toarray(), 1)
    np.testing.assert_allclose(total, pairs.adjacency("residual").toarray(), atol=1e-12)
    with pytest.raises(ValueError, match="parallel"):
        many.to_networkx(multi=False)


def test_planes_have_their_normal_area_and_centroid(plane_of):
    """A plane is one component of planarity 1 whose normal and area are those of the plane."""
    toy = plane_of((24, 32), Orthographic(0.5), (0.3, -0.5, -0.8))
    graph = QuotientGraph.from_normals(**toy.arguments)
    result = graph.optimize()
    row = {name: column[0] for name, column in graph.node_table(result.potential).items()}
    n = toy.normals[0, 0]
    np.testing.assert_allclose([row["normal_x"], row["normal_y"], row["normal_z"]], n, atol=1e-12)
    assert row["planarity"] == pytest.approx(1)
    assert row["area"] == pytest.approx(24 * 32 * 0.25 / abs(n[2]))
    np.testing.assert_allclose([row["x"], row["y"], row["z"]], np.nanmean(result.points, axis=(0, 1)), atol=1e-9)
    assert (row["row"], row["column"]) == (11.5, 15.5)


def test_area_of_a_sphere_before_a_pinhole(toy):
    """The areas of pixels add up to that of the mesh, up to the width of its border."""
    scene = toy("sphere")
    graph = QuotientGraph.from_normals(**scene.arguments, angle=40.0)
    potential = np.log(scene.depth.ravel()[graph.pixels.map.position])
    result = graph.optimize()
    whole = pixel_areas(graph, potential)
    mesh = result.mesh()
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    flat = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()
    scale = np.exp(np.mean(potential) - np.mean(result.potential)) ** 2
    assert whole.sum() == pytest.approx(flat * scale, rel=0.12)


def sphere_around(camera, shape):
    """Areas (H, W) of a sphere of radius 1 around the camera, as each pixel shows them."""
    unit = camera.directions / np.linalg.norm(camera.directions, axis=-1, keepdims=True)
    graph = QuotientGraph.from_normals(-unit, None, camera, "opencv", angle=180.0, check=False)
    depth = np.ones(shape) if camera.spherical else unit[..., 2]
    potential = np.log(depth.ravel()[graph.pixels.map.position])
    assert graph.node_table(potential)["area"].sum() == pytest.approx(pixel_areas(graph, potential).sum())
    return graph.pixels.map.image(pixel_areas(graph, potential))


def test_area_of_a_sphere_around_a_panorama():
    """The pixels of a panorama cover 4π together, each in proportion to the cosine of its latitude; so do a cube's."""
    shape = (60, 120)
    areas = sphere_around(RayMap.equirectangular(shape), shape)
    latitude = np.radians(90 - (np.arange(60) + 0.5) * 3)[:, None]
    np.testing.assert_allclose(areas, np.cos(latitude) * np.radians(3) ** 2 * np.ones(shape), rtol=2e-3)
    assert areas.sum() == pytest.approx(4 * np.pi, rel=1e-3)
    assert sphere_around(RayMap.cubemap(30), shape).sum() == pytest.approx(4 * np.pi, rel=0.03)


@pytest.mark.parametrize("degrees", [100, 170, 240])
def test_area_of_a_sphere_around_a_fisheye(degrees):
    """A pixel at the angle θ to the axis covers sin θ/θ times the solid angle of the middle one."""
    shape = (60, 80)
    areas = sphere_around(RayMap.fisheye(degrees, shape), shape)
    step = np.radians(degrees) / 60
    v, u = np.indices(shape)
    theta = np.hypot(u - 39.5, v - 29.5) * step
    seen = np.isfinite(areas) & (theta < 0.8 * np.pi)
    assert seen.sum() > 3000
    ratio = areas * theta / (step**2 * np.sin(theta))
    np.testing.assert_allclose(ratio[seen], 1, rtol=0.05)  # at the ends of the image steps are one-sided
    np.testing.assert_allclose(ratio[1:-1, 1:-1][seen[1:-1, 1:-1]], 1, rtol=0.01)


def test_areas_before_a_pinhole_do_not_depend_on_how_it_is_given(plane_of):
    """A map of the rays of a pinhole whose pixels are not square gives the areas of the pinhole; also a single row of it."""
    for shape, error in (((48, 64), 0.02), ((1, 64), 0.3)):
        camera = Pinhole(70.0, 90.0, 32.0, 24.0)
        toy, given = plane_of(shape, camera), RayMap(3 * camera.rays(shape))
        graphs = [QuotientGraph.from_normals(toy.normals, None, c, "opencv") for c in (camera, given)]
        potential = np.log(toy.depth.ravel())
        np.testing.assert_allclose(*(pixel_areas(graph, potential) for graph in graphs), rtol=error)


@pytest.mark.parametrize("connectivity", [4, 8])
def test_borders_have_their_length_and_are_straight(connectivity):
    """A vertical border of 40 pixels is 40 long with 8-connectivity and straight; 4-connectivity is right on average."""
    normals = np.where((np.arange(30) < 15)[None, :, None], [0.0, 0.6, -0.8], [0.0, -0.6, -0.8])
    graph = QuotientGraph.from_normals(np.tile(normals, (40, 1, 1)), frame="opencv", connectivity=connectivity)
    _, _, edges = graph.edge_table()
    expected = 40 * np.pi / 4 if connectivity == 4 else (40 + 2 * 39 / np.sqrt(2)) / (1 + np.sqrt(2))
    assert edges["length"] == pytest.approx([expected])
    assert edges["straightness"] > 0.9


def test_creases_and_occlusions_are_told_apart():
    """Of balls before a plane some borders hide depth, and there the residuals are large; on others surfaces go on."""
    scene = scenes.make("spheres", shape=(60, 80))
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv")
    _, _, edges = graph.edge_table(np.log(scene.depth.ravel()[graph.pixels.map.position]))
    torn = edges["occlusion"]
    assert 0 < torn.mean() < 0.5
    assert np.median(edges["pixels"][torn]) > 20 * np.median(edges["pixels"][~torn])


def test_a_fold_is_a_crease():
    """Two planes that meet in an edge: large angle, no jump."""
    normals = np.where((np.arange(30) < 15)[None, :, None], [0.6, 0.0, -0.8], [-0.6, 0.0, -0.8])
    graph = QuotientGraph.from_normals(np.tile(normals, (20, 1, 1)), frame="opencv")
    _, _, edges = graph.edge_table(graph.optimize().potential)
    assert edges["contact"] > 0.99
    assert not edges["occlusion"].any()


def test_tables_that_cannot_be_are_refused():
    """`ValueError` names the column, or what is wrong with the graph of another library."""
    one, ends = {"size": np.arange(2)}, np.array([0])
    for nodes, head, edges in (
        ({"size": np.arange(2), "row": np.arange(3)}, np.array([1]), {}),
        (one, np.array([2]), {}),
        (one, np.array([1]), {"length": np.arange(3)}),
    ):
        with pytest.raises(ValueError, match=r"nodes|edges|tail"):
            GraphTables(nodes, ends, head, edges)
    graph = GraphTables(one, ends, np.array([1]), {}).to_networkx()
    graph.nodes[0]["name"] = "a"
    with pytest.raises(ValueError, match="attributes"):
        GraphTables.from_networkx(graph)
    graph.nodes[1]["name"] = "b"
    with pytest.raises(ValueError, match="name"):
        GraphTables.from_networkx(graph)
    graph.add_node("x")
    with pytest.raises(ValueError, match=r"invalid literal|nodes must be"):
        GraphTables.from_networkx(graph)


def test_potentials_must_fit(noisy_graph):
    """A potential has one value per valid pixel."""
    with pytest.raises(ValueError, match="potential"):
        noisy_graph().to_networkx(np.zeros(3))
