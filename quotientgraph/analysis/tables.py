"""What is known about components and the borders between them, as `GraphTables`.

component_tables(graph, potential)   one row per component, one per pair of adjacent components
edge_tables(graph, potential)        the same nodes, one row per cut edge of G0: parallel edges
pixel_tables(graph, potential)       G0 itself: one row per pixel, one per neighbour pair
"""

from __future__ import annotations

import numpy as np

from laplacians.system import Pattern

from ..beyond.contacts import gaps, support
from ..geometry.camera import Pinhole
from ..geometry.focal import footprints
from ..geometry.sphere import unit_coordinates
from ..graph.quotient import Quotient
from ..graph.tables import GraphTables, Table
from ..method.cutedges import CutEdges
from ..method.weights import Outliers, bilateral_share
from .borders import lengths, straightness


def component_tables(graph: Quotient, potential: np.ndarray) -> GraphTables:
    """The quotient graph with attributes: a node per component, an edge per pair of adjacent ones.

    Parameters
    ----------
    graph : Quotient
    potential : (n_pixels,) float64
        Where areas, points, residuals and weights are taken. At the potential of components that were filled each on its
        own, the mean residual of a pair is minus the offset that would align the two.

    Returns
    -------
    GraphTables
        Node columns are those of `node_columns`, edge columns those of `pair_columns`.
    """
    pattern, _, _ = Pattern.from_edges(graph.n_components, graph.tail, graph.head)
    return GraphTables(
        node_columns(graph, potential), pattern.tail, pattern.head, pair_columns(graph, potential), _about(graph)
    )


def edge_tables(graph: Quotient, potential: np.ndarray) -> GraphTables:
    """The quotient graph with every cut edge of G0 kept: parallel edges where two components touch along a border.

    Edge columns are `number` (of the edge in G0), `pixel_tail` and `pixel_head` (the two pixels), `residual`, `pixels` (the
    residual as a length in pixels), `bilateral`, `outlier` and `contact`, as in `pair_columns`. Edges run from the smaller
    component to the larger.
    """
    order, _, columns = _cut_columns(graph, potential)
    number = graph.cut[order]
    tail, head = graph.pixels.tail[number], graph.pixels.head[number]
    turned = graph.labels[tail] > graph.labels[head]
    tail, head = np.where(turned, head, tail), np.where(turned, tail, head)
    columns = {"number": number, "pixel_tail": tail, "pixel_head": head, **columns}
    labels = graph.labels
    return GraphTables(node_columns(graph, potential), labels[tail], labels[head], columns, _about(graph))


def pixel_tables(graph: Quotient, potential: np.ndarray | None = None) -> GraphTables:
    """G0 with its decomposition: `PixelGraph.tables` with the component of each pixel and the jump of each edge.

    Node columns gain `component` and, if a potential is given, `potential`; edge columns gain `jump`, `cut` and, if a
    potential is given, `residual`.
    """
    plain = graph.pixels.tables()
    nodes: Table = {**plain.nodes, "component": graph.labels}
    jump = np.asarray(graph.jump)
    edges: Table = {**plain.edges, "jump": jump if jump.ndim == 1 else jump.mean(axis=0)}
    edges["cut"] = np.zeros(graph.pixels.n_edges, dtype=bool)
    edges["cut"][graph.cut] = True
    if potential is not None:
        nodes["potential"] = potential
        edges["residual"] = graph.residual(potential, np.arange(graph.pixels.n_edges))
    return GraphTables(nodes, plain.tail, plain.head, edges, {**plain.about, **_about(graph)})


def node_columns(graph: Quotient, potential: np.ndarray | None = None) -> Table:
    """Columns with one entry per component.

    Returns
    -------
    dict of (n_components,) arrays
        Without a potential: `size` in pixels; the bounding box `top`, `left`, `bottom`, `right`, which includes its last
        row and column; the centroid `row`, `column`; the mean normal `normal_x`, `normal_y`, `normal_z` (OpenCV frame,
        unit length); `planarity`, the length of the mean of the unit normals, 1 for a plane. With a potential also:
        `scale`, the depth at the mean potential; `area` of the surface; the mean point `x`, `y`, `z`.
    """
    n, labels, source = graph.n_components, graph.labels, graph.pixels.map
    v, u = np.divmod(source.position, source.shape[1])
    size = np.bincount(labels, minlength=n)
    table: Table = {"size": size}
    for name, coordinate, reduce, start in (
        ("top", v, np.minimum, np.iinfo(np.int32).max),
        ("left", u, np.minimum, np.iinfo(np.int32).max),
        ("bottom", v, np.maximum, -1),
        ("right", u, np.maximum, -1),
    ):
        table[name] = np.full(n, start, dtype=np.int32)
        reduce.at(table[name], labels, coordinate)

    def mean(values: np.ndarray) -> np.ndarray:
        return np.bincount(labels, values, n) / size

    table["row"], table["column"] = mean(v), mean(u)
    normal = np.stack([mean(source.normals[:, k]) for k in range(3)])
    length = np.linalg.norm(normal, axis=0)
    normal /= np.maximum(length, 1e-300)
    table |= {f"normal_{axis}": normal[k] for k, axis in enumerate("xyz")}
    table["planarity"] = length
    if potential is not None:
        camera = source.camera
        depth = camera.depth(potential)
        table["scale"] = camera.depth(mean(potential))
        table["area"] = np.bincount(labels, pixel_areas(graph, potential), n)
        points = camera.points(source.image(depth)).reshape(-1, 3)[source.position]
        table |= {axis: mean(points[:, k]) for k, axis in enumerate("xyz")}
    return table


def pixel_areas(graph: Quotient, potential: np.ndarray) -> np.ndarray:
    """(n_pixels,) area of the surface that each pixel shows, in squares of the unit of depth.

    A pixel that covers the area a in the plane z = 1, or the solid angle a of a camera that sees all around, shows
    z²·a/|n·ray| of a surface at depth z. For an orthographic camera it is the area of the pixel over |n_z|.
    """
    source = graph.pixels.map
    camera = source.camera
    if not camera.central:
        return camera.depth(np.ones(1)) ** 2 / np.abs(source.facing)
    if isinstance(camera, Pinhole):
        per_pixel: float | np.ndarray = 1 / (camera.fx * camera.fy)
    else:
        unit = np.stack(unit_coordinates(camera.rays(source.shape)), axis=-1)
        solid = footprints(unit) / (1 if camera.spherical else unit[..., 2] ** 3)
        covered = solid.ravel()[source.position]
        # In a single row or column the rays tell one of the two widths.
        per_pixel = np.where(np.isfinite(covered), covered, 1 / np.square(source.focal))
    return np.square(camera.depth(potential)) * per_pixel / np.abs(source.facing)


def pair_columns(graph: Quotient, potential: np.ndarray) -> Table:
    """Columns with one entry per pair of adjacent components, in the order of `Pattern.from_edges`.

    Returns
    -------
    dict of (n_pairs,) arrays
        `n_edges` of G0 between the two; `length` of the border in pixels and its `straightness`; the mean `residual`
        φ_tail − φ_head − jump and its standard deviation `spread`; `pixels`, the mean |residual| as a length in pixels; the
        mean `bilateral` and `outlier` weights, each 0 … 1; `contact`, the mean share of its edges at which the two
        surfaces can touch; and `occlusion`, whether that is less than half: the depth jumps, and the border is not a
        crease.
    """
    order, start, per_edge = _cut_columns(graph, potential)
    count = np.diff(start)

    def mean(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, start[:-1]) / count if len(order) else np.zeros(0)

    residual = mean(per_edge["residual"])
    centred = per_edge["residual"] - np.repeat(residual, count)
    table: Table = {
        "n_edges": count,
        "length": lengths(graph, order, start),
        "straightness": straightness(graph, order, start),
        "residual": residual,
        "spread": np.sqrt(mean(centred**2)),
        "pixels": mean(np.abs(per_edge["pixels"])),
    }
    table |= {name: mean(per_edge[name]) for name in ("bilateral", "outlier", "contact")}
    table["occlusion"] = table["contact"] < 0.5
    return table


def _cut_columns(graph: Quotient, potential: np.ndarray) -> tuple[np.ndarray, np.ndarray, Table]:
    """The order of the cut edges by pair, where each pair starts, and columns with one entry per cut edge in that order."""
    _, order, start = Pattern.from_edges(graph.n_components, graph.tail, graph.head)
    outliers = Outliers()
    cut = CutEdges.from_graph(graph, potential, outliers.scale(graph.pixels.map))
    contrast = np.where(cut.beyond_component >= 0, cut.beyond**2 - cut.difference**2, 0.0)
    share = bilateral_share(cut.gamma_squared, contrast)
    residual = 0.5 * (cut.residual + cut.residual_back)
    return (
        order,
        start,
        {
            "residual": residual,
            "pixels": residual * graph.pixels.focal_at(cut.number),
            "bilateral": share.mean(axis=0),
            "outlier": outliers.weight(residual * cut.unit),
            "contact": support(gaps(graph, potential, cut.number)),
        },
    )


def _about(graph: Quotient) -> dict[str, int | float]:
    """Level and angle of a graph; the angle is left out where the components were not formed by one."""
    return {"level": graph.level} | ({} if graph.angle is None else {"angle": float(graph.angle)})
