"""Draw the pictures and print the figures of docs/harvest.md: python docs/harvest_images.py FOLDER_OF_HARVEST"""

import sys
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from quotientgraph import QuotientGraph, analysis, metrics, report
from quotientgraph.io import read_depth, write_image
from quotientgraph.report.color import Scale, colorize
from quotientgraph.report.pictures import crop_of

IMAGES = Path(__file__).parent / "images"


def main() -> None:
    folder = Path(sys.argv[1])
    graph = QuotientGraph.from_normals(folder, angle=3.5)
    truth = read_depth(folder / "depth_gt.npz")
    result = graph.optimize()
    size = np.bincount(graph.labels)
    print(f"MADE {metrics.made(result.depth, truth):.2f} mm, {graph.n_components} components, "
          f"{(size == 1).sum()} of one pixel, {(size >= 100).sum()} of 100 or more")  # fmt: skip
    own = read_error(graph, result, truth)
    tables = graph.tables(result.potential)
    print(f"{tables.n_edges} borders, {100 * tables.edges['occlusion'].mean():.0f} % occlusions, "
          f"{100 * (tables.edges['outlier'] > 0.5).mean():.0f} % hold")  # fmt: skip
    found = analysis.bridges(graph, result.potential)
    print("bridges:", len(found.pair), "carrying", found.carries[:8].tolist(), "edges", found.n_edges[:8].tolist())
    print("articulation components:", len(analysis.articulation(graph, result.potential)))
    held = analysis.resistances(graph, result.potential)
    print(f"leverage above 0.9: {(held.leverage > 0.9).sum()} borders")
    known = np.isfinite(own)
    print(f"Spearman {spearmanr(held.uncertainty[known], np.abs(own[known]))[0]:.3f} over all components")
    big = known & (size >= 10)
    print(f"Spearman {spearmanr(held.uncertainty[big], np.abs(own[big]))[0]:.3f} over those of 10 pixels or more")
    tree = result.hierarchy
    for count in (2, 3, 5, 10, 20):
        parts = np.sort(np.bincount(tree.cut(n_components=count).labels))[::-1]
        print(f"cut into {count}: {parts[:8].tolist()}")
    largest = np.argsort(-size)[:8]
    for c in largest:
        print(f"component {c}: {size[c]} pixels, row {tables.nodes['row'][c]:.0f}, column {tables.nodes['column'][c]:.0f}, "
              f"error {1000 * own[c]:+.2f} per mille, uncertainty {held.uncertainty[c]:.2f} pixels")  # fmt: skip
    for k in range(4):
        for j in range(k):
            a, b = int(largest[k]), int(largest[j])
            print(f"  {a} – {b}: offset known to {analysis.connection(graph, result.potential, a, b) ** -0.5:.2f} pixels, "
                  f"true error of the offset {1000 * (own[a] - own[b]):+.2f} per mille")  # fmt: skip

    crop = crop_of(result)
    gap = np.full((*result.depth[crop].shape, 3), 255, dtype=np.uint8)[:, :8]
    error = np.abs(metrics.aligned(result.depth, truth) - truth)
    shown = np.where(np.isfinite(error)[..., None], colorize(error, Scale(0.0, 3.0), "residual"), 255).astype(np.uint8)
    closing = np.abs(analysis.face_residuals(graph))
    faces = np.pad(closing, ((0, 1), (0, 1)), constant_values=np.nan)
    rows = {
        "harvest_graph": [
            report.component_picture(graph.label_image()),
            report.border_picture(graph, result.potential),
            report.residual_picture(faces),
        ],
        "harvest_errors": [
            shown,
            report.uncertainty_picture(result.uncertainty),
            report.component_picture(tree.cut(n_components=12).label_image()),
        ],
    }
    for name, panels in rows.items():
        write_image(IMAGES / f"{name}.png", np.hstack([x for p in panels for x in (p[crop], gap)][:-1]))
    (IMAGES / "harvest_tree.svg").write_text(report.dendrogram_svg(tree, most=40) + "\n", encoding="utf-8")


def read_error(graph: QuotientGraph, result, truth: np.ndarray) -> np.ndarray:
    """(n_components,) error of the mean log-depth of each component, after alignment by the median; NaN if unknown."""
    off = result.potential - np.log(truth.ravel()[graph.pixels.map.position])
    known = np.isfinite(off)
    off = np.where(known, off - np.median(off[known]), 0.0)
    count = np.bincount(graph.labels, known, graph.n_components)
    return np.where(count > 0, np.bincount(graph.labels, off, graph.n_components) / np.maximum(count, 1), np.nan)


if __name__ == "__main__":
    main()
