"""Draw the pictures and print the figures of docs/harvest.md: python docs/harvest_images.py FOLDER_OF_HARVEST"""

import sys
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from quotientgraph import QuotientGraph, analysis, metrics, report
from quotientgraph.bench.explained import explained
from quotientgraph.bench.touching import Borders
from quotientgraph.beyond.contacts import gaps
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
    bodies = rigid_bodies(graph, held, 0.05)
    body = np.zeros(graph.n_components, dtype=int)
    body[graph.labels] = bodies.labels
    whole = np.bincount(bodies.labels)
    print(f"{bodies.n_components} bodies; the largest hold {[int(n) for n in np.sort(whole)[::-1][:8]]} pixels")
    for b in np.argsort(-whole)[:8]:
        inside = (body == b) & known
        mean = np.average(own[inside], weights=size[inside])
        spread = np.sqrt(np.average((own[inside] - mean) ** 2, weights=size[inside]))
        row, column = (np.average(tables.nodes[name][inside], weights=size[inside]) for name in ("row", "column"))
        print(f"body of {whole[b]} pixels in {inside.sum()} components at row {row:.0f}, column {column:.0f}: "
              f"error {1000 * mean:+.2f} per mille, inside {1000 * spread:.2f}")  # fmt: skip
    merged = graph.optimize(merge_every=5)
    print(
        f"merging: {[level.n_components for level in merged.levels]}, MADE {metrics.made(merged.depth, truth):.2f} mm"
    )
    tree = merged.hierarchy
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

    print_other_places(folder, truth)

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
            report.component_picture(np.where(whole[bodies.label_image()] >= 100, bodies.label_image(), -1)),
        ],
    }
    for name, panels in rows.items():
        write_image(IMAGES / f"{name}.png", np.hstack([x for p in panels for x in (p[crop], gap)][:-1]))
    (IMAGES / "harvest_tree.svg").write_text(report.dendrogram_svg(tree, most=40) + "\n", encoding="utf-8")


def print_other_places(folder: Path, truth: np.ndarray) -> None:
    """By default: the part that adds most to the error, moved to other places, and what its borders say of each."""
    result = QuotientGraph.from_normals(folder).optimize()
    found = explained(result, truth, same=2e-4)
    most = max(range(len(found.parts)), key=lambda k: found.parts[k].error)
    part, inside = found.parts[most], found.number == most
    print(f"by default {metrics.made(result.depth, truth):.3f} mm; {inside.sum()} pixels at row {part.row:.0f}, column "
          f"{part.column:.0f} have {100 * part.error / found.error:.0f} % of the error; with everything in its place they "
          f"touch {part.true:.0f} px, as found {part.found:.0f}: {part.kind}")  # fmt: skip
    seen, borders = result.graph.pixels.map, Borders.of(result.graph, inside.astype(np.int64), 2e-4)
    outline = borders.along(borders.between)[1]
    for permille in (0.5, 0, -0.25, -0.5, -1, -1.35, -1.7, -3):
        potential = result.potential + 1e-3 * permille * inside
        made = metrics.made(seen.image(seen.camera.depth(potential)), truth)
        torn = gaps(result.graph, potential) > 0.1
        print(f"  moved by {permille:+.2f} per mille: {made:.3f} mm, touches {borders.along(~torn)[1]:.0f} of "
              f"{outline:.0f} px, torn in all {borders.length[torn].sum():.0f}")  # fmt: skip


def rigid_bodies(graph: QuotientGraph, held: analysis.Resistances, pixels: float) -> QuotientGraph:
    """Components joined along all borders whose offset is known better than this, other ways included."""
    firm = {pair for pair in zip(held.tail[held.resistance < pixels**2], held.head[held.resistance < pixels**2])}
    tail, head = np.minimum(graph.tail, graph.head), np.maximum(graph.tail, graph.head)
    return graph.contract(np.array([pair in firm for pair in zip(tail, head)]))


def read_error(graph: QuotientGraph, result, truth: np.ndarray) -> np.ndarray:
    """(n_components,) error of the mean log-depth of each component, after alignment by the median; NaN if unknown."""
    off = result.potential - np.log(truth.ravel()[graph.pixels.map.position])
    known = np.isfinite(off)
    off = np.where(known, off - np.median(off[known]), 0.0)
    count = np.bincount(graph.labels, known, graph.n_components)
    return np.where(count > 0, np.bincount(graph.labels, off, graph.n_components) / np.maximum(count, 1), np.nan)


if __name__ == "__main__":
    main()
