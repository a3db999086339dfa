"""Draw the pictures of docs/beyond.md and docs/confidence.md: python docs/accuracy_images.py (needs matplotlib)."""

from pathlib import Path

import matplotlib
import numpy as np

from quotientgraph import QuotientGraph, integrate, scenes
from quotientgraph.bench.limits import contact_groups
from quotientgraph.beyond.creases import residual_range
from quotientgraph.geometry.camera import REFERENCE_FOCAL
from quotientgraph.method.cutedges import CutEdges
from quotientgraph.metrics import aligned

matplotlib.use("Agg")
import matplotlib.pyplot as plt

IMAGES = Path(__file__).parent / "images"
INK, NEAR, FAR = "#2b2b2b", "#c05030", "#3060a0"


def crease() -> None:
    """From the side: where two planes may meet between the rays of two pixels, and the jumps that follow."""
    figure, axes = plt.subplots(figsize=(7.2, 3.2))
    a, b, slope_a, slope_b = 0.0, 1.0, -0.25, 0.75
    x = np.linspace(-0.7, 1.7, 2)
    axes.plot(x, 1.6 + slope_a * (x - a), color=NEAR, lw=2)
    axes.text(-0.68, 1.84, "plane of $a$", color=NEAR)
    for at, style in ((0.0, ":"), (0.5, "-"), (1.0, "--")):
        top = 1.6 + slope_a * (at - a)
        axes.plot(x, top + slope_b * (x - at), color=FAR, lw=1.6, ls=style)
        axes.plot(at, top, "o", color=INK, ms=5, zorder=3)
    words = "plane of $b$, for a crease\nat $a$ (dotted), midway,\nat $b$ (dashed)"
    axes.text(0.05, 2.94, words, color=FAR, va="top")
    low, high = 1.6 + slope_a, 1.6 + slope_b
    axes.plot([b, b], [low, high], color=INK, lw=5, alpha=0.35, solid_capstyle="butt")
    axes.text(b + 0.06, 1.08, "grey: where the surface\nmay be at $b$", color=INK, va="top")
    for at, name, beside, side in ((a, "$a$", -0.03, "right"), (b, "$b$", 0.03, "left")):
        axes.axvline(at, color=INK, lw=0.7, alpha=0.5)
        axes.text(at + beside, 0.56, f"ray of {name}", color=INK, ha=side)
    axes.set(xlim=(-0.72, 1.9), ylim=(0.5, 3.0), xticks=[], yticks=[])
    axes.set_ylabel("depth")
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    save(figure, "contact_interval.png")


def borders() -> None:
    """Along a border of two surfaces that touch, and of two of which one hides the other: the offset each edge asks for."""
    scene = scenes.make("boxes", (256, 320))
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv")
    potential = scene.camera.potential(scene.depth).ravel()[graph.pixels.map.position]
    cut = CutEdges.from_graph(graph, potential, graph.pixels.map.focal / REFERENCE_FOCAL)
    pixel = cut.unit * REFERENCE_FOCAL
    low, high = residual_range(graph, cut) * pixel
    chi = cut.residuals(np.zeros(graph.n_components)) * pixel
    low, high = low - chi, high - chi  # the shift of the tail's component against the head's; the true one is 0
    share = np.add.reduceat((low <= 0.02) & (high >= -0.02), cut.start[:-1]) / np.diff(cut.start)
    long = np.diff(cut.start) > 100
    touching = np.argmax(np.where(long, share, -1))
    hiding = np.argmin(np.where(long, share, 2))
    figure, axes = plt.subplots(1, 2, figsize=(9, 3))
    for panel, p, title in zip(axes, (touching, hiding), ("two faces that touch", "one hides the other")):
        here = slice(cut.start[p], cut.start[p + 1])
        u = np.argsort(graph.pixels.map.position[graph.pixels.tail[cut.number[here]]], kind="stable")
        span = np.stack([low[here], high[here]])[:, u]
        panel.vlines(np.arange(span.shape[1]), *span, color=FAR, lw=1)
        panel.axhline(0, color=NEAR, lw=1.2)
        panel.set(title=title, xlabel="edges along the border")
    axes[0].set_ylabel("offset that makes\nthem touch (pixels)")
    save(figure, "contact_borders.png")


def errors() -> None:
    """What is left of the error on three scenes, by the paper's preset and by default, and the confidence."""
    figure, axes = plt.subplots(3, 4, figsize=(9.6, 5.6), layout="constrained")
    for row, (name, params) in zip(axes, (("room", {}), ("torus", {}), ("stairs", {"view": "front"}))):
        scene = scenes.make(name, (192, 240), **params)
        row[0].imshow(np.where(scene.mask[..., None], 0.5 - 0.5 * np.nan_to_num(scene.normals), 1))
        arguments = (scene.normals, scene.mask, scene.camera, "opencv")
        best = integrate(*arguments)
        for panel, result in ((row[1], integrate(*arguments, preset="paper")), (row[2], best)):
            error = 100 * np.abs(aligned(result.depth, scene.depth) / scene.depth - 1)
            shown = panel.imshow(error, vmin=0, vmax=15, cmap="magma_r")
            panel.set_xlabel(f"{np.nanmean(error):.2g} %")
        sure = row[3].imshow(best.confidence, vmin=0, vmax=1, cmap="viridis")
        row[0].set_ylabel(name)
    for panel, title in zip(axes[0], ("normals", "error, paper", "error, default", "confidence")):
        panel.set_title(title)
    for panel in axes.ravel():
        panel.set(xticks=[], yticks=[])
    figure.colorbar(shown, ax=axes[:, 2], label="per cent of depth", shrink=0.6)
    figure.colorbar(sure, ax=axes[:, 3], shrink=0.6)
    save(figure, "accuracy_errors.png")


def undetermined() -> None:
    """Two surfaces with the same normals: the truth, and one with the figure nearer by a third."""
    scene = scenes.random("figures", 1)
    judged = integrate(scene.normals, scene.mask, scene.camera, "opencv").judged
    group = contact_groups(judged, scene.depth)[2][judged.graph.labels]
    loose = np.bincount(group).argsort()[-2]  # the largest is the room, the next one the figure
    position = judged.graph.pixels.map.position[group == loose]
    other = scene.depth.copy()
    other.flat[position] *= 2 / 3
    figure, axes = plt.subplots(1, 3, figsize=(9.6, 2.6), layout="constrained")
    axes[0].imshow(np.where(scene.mask[..., None], 0.5 - 0.5 * np.nan_to_num(scene.normals), 1))
    limits = np.nanmin(other), np.nanmax(scene.depth)
    for panel, depth in zip(axes[1:], (scene.depth, other)):
        shown = panel.imshow(depth, vmin=limits[0], vmax=limits[1], cmap="viridis_r")
    for panel, title in zip(axes, ("normals of both", "one surface", "another")):
        panel.set(xticks=[], yticks=[], title=title)
    figure.colorbar(shown, ax=axes[1:], label="depth")
    save(figure, "undetermined.png")


def save(figure: plt.Figure, name: str) -> None:
    figure.savefig(IMAGES / name, dpi=90, bbox_inches="tight")
    plt.close(figure)
    print(f"{name}: {(IMAGES / name).stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    crease()
    borders()
    errors()
    undetermined()
