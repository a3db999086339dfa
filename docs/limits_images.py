"""Draw the picture of what is left of the error, and print its figures: python docs/limits_images.py FOLDER_OF_DATA

Needs matplotlib. The folder holds `real/livingroom3_1.npz`, `real/barcelona_0.npz` and `scenes/bedroom`.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np

from quotientgraph.bench.cases import find
from quotientgraph.bench.explained import KINDS, explained
from quotientgraph.bench.limits import integrated
from quotientgraph.metrics import aligned

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import Patch

IMAGES = Path(__file__).parent / "images"
COLOURS = {"": "#dddddd", "open": "#3060a0", "imitated": "#e0a030", "mixed": "#805090", "missed": "#c04030"}
ROWS = {
    "living room": "view:{}/real/livingroom3_1.npz",
    "hall": "view:{}/real/barcelona_0.npz",
    "bedroom": "{}/scenes/bedroom",
    "figures, seed 1": "random:figures?seed=1",
}


def main() -> None:
    folder = sys.argv[1]
    figure, axes = plt.subplots(len(ROWS), 4, figsize=(9.6, 8.6), layout="constrained")
    for row, (title, source) in zip(axes, ROWS.items()):
        ((_, result, truth),) = integrated(find([source.format(folder)]))
        found = explained(result, truth)
        print(f"{title}: {found.error:.2f} %", {kind: round(found.of(kind), 2) for kind in ("inside", *KINDS)})
        for part in sorted(found.parts, key=lambda part: -part.error)[:6]:
            print(" ", part.text)
        seen = result.graph.pixels.map
        row[0].imshow(np.where(seen.index[..., None] >= 0, 0.5 - 0.5 * np.nan_to_num(result.normals), 1))
        log = [np.log(depth) for depth in (aligned(result.depth, truth), np.where(seen.index >= 0, truth, np.nan))]
        low, high = np.nanquantile(log[1], [0.01, 0.99])
        for panel, depth in zip(row[1:], log):
            panel.imshow(depth, vmin=low, vmax=high, cmap="viridis_r")
        colour = np.array([matplotlib.colors.to_rgb(COLOURS[part.kind]) for part in found.parts])
        row[3].imshow(np.dstack([seen.image(colour[found.number][:, k], 1.0) for k in range(3)]))
        row[0].set_ylabel(title)
        row[1].set_xlabel(f"{found.error:.1f} %")
    for panel, title in zip(axes[0], ("normals of both", "found", "true", "parts that are off")):
        panel.set_title(title)
    for panel in axes.ravel():
        panel.set(xticks=[], yticks=[])
    names = [Patch(color=colour, label=kind or "in place") for kind, colour in COLOURS.items()]
    figure.legend(handles=names, loc="outside lower right", ncols=5, frameon=False)
    figure.savefig(IMAGES / "explained.png", dpi=75, bbox_inches="tight")
    print(f"explained.png: {(IMAGES / 'explained.png').stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
