"""Measure the errors of the paper's preset and of the default on all scenes, cameras and kinds of noise.

    python docs/accuracy_table.py accuracy.csv

writes one line for each case (scene × camera × noise × seed) and puts the tables into docs/accuracy.md. Cases that the file
holds already are not measured again. Errors are relative, in per cent: of depth for a perspective camera, of the depth
range for an orthographic one.
"""

from __future__ import annotations

import argparse
import csv
import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from quotientgraph import QuotientGraph, scenes
from quotientgraph.bench.pages import replaced
from quotientgraph.metrics import relative_error

SCENES = {
    "room": {}, "stairs (front)": {"view": "front"}, "stairs (above)": {"view": "above"},
    "stairs (side)": {"view": "side"}, "boxes": {}, "step": {}, "ramp": {}, "tube": {}, "torus": {}, "spheres": {},
    "bumps": {}, "sphere": {}, "plane": {},
}  # fmt: skip
NOISE = {"exact": 0.0, "8 bit": 0.0, "0.5°": 0.5, "1°": 1.0, "2°": 2.0, "4°": 4.0}
STARTS = {
    "paper": {"preset": "paper"},
    "creases midway": {"creases": "midway"},
    "consensus": {"alignment": "consensus"},
    "best": {},
}
# The choice of a start is right if no other ends more than 2 % lower, or lower by an amount that nobody would see.
MARGIN, INVISIBLE = 1.02, 0.005
FIELDS = ["scene", "camera", "noise", "seed", *STARTS, "right"]


def cases() -> Iterator[tuple[str, str, str, int]]:
    for camera in ("perspective", "orthographic"):
        for name in SCENES:
            for noise, degrees in NOISE.items():
                for seed in (0, 1) if degrees else (0,):
                    yield name, camera, noise, seed


def measure(name: str, camera: str, noise: str, seed: int, shape: tuple[int, int]) -> dict[str, object]:
    scene = scenes.make(name.split(" ")[0], shape, camera, **SCENES[name])
    truth = scene.depth
    scene = scene.quantised() if noise == "8 bit" else scene.with_noise(NOISE[noise], seed)
    error = {}
    for start, settings in STARTS.items():
        angle = {"angle": 3.5} if start == "paper" else {}
        graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv", **angle)
        depth = graph.optimize(**settings).depth
        error[start] = 100 * relative_error(depth, truth, offset=camera == "orthographic")
    lowest = min(error["uniform"], error["consensus"])
    right = error["best"] <= max(MARGIN * lowest, lowest + INVISIBLE)
    return {"scene": name, "camera": camera, "noise": noise, "seed": seed, **error, "right": right}


def tables(rows: list[dict[str, str]]) -> str:
    """Return Markdown tables, one for each camera: error of the paper's preset → of the default, the mean over seeds."""
    out = []
    for camera in ("perspective", "orthographic"):
        out += [f"**{camera.capitalize()} camera**", "", "| scene | " + " | ".join(NOISE) + " |"]
        out += ["|---|" + "---|" * len(NOISE)]
        for name in SCENES:
            cells = []
            for noise in NOISE:
                here = [r for r in rows if (r["scene"], r["camera"], r["noise"]) == (name, camera, noise)]
                paper, best = (np.mean([float(r[key]) for r in here]) if here else np.nan for key in ("paper", "best"))
                cells.append(f"{paper:.3g} → {best:.3g}" if paper >= 0.0005 else f"{paper:.3f} → {best:.3f}")
            out.append(f"| {name} | " + " | ".join(cells) + " |")
        out.append("")
    right = [r["right"] == "True" for r in rows]
    worse = [float(r["best"]) > 1.05 * float(r["paper"]) + INVISIBLE for r in rows]
    out.append(f"{len(rows)} cases; the choice of start is right in {np.mean(right):.1%} of them; ")
    out.append(f"the default is worse than the paper's preset by more than 5 % in {np.mean(worse):.1%}.")
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path, help="CSV file to write or to go on with")
    parser.add_argument("--shape", type=int, nargs=2, default=(256, 320), metavar=("ROWS", "COLUMNS"))
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    done = list(csv.DictReader(args.file.open())) if args.file.exists() else []
    known = {(r["scene"], r["camera"], r["noise"], int(r["seed"])) for r in done}
    with args.file.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not done:
            writer.writeheader()
        for case in cases():
            if case not in known:
                writer.writerow(measure(*case, tuple(args.shape)))
                file.flush()
    text = tables(list(csv.DictReader(args.file.open())))
    page = Path(__file__).with_name("accuracy.md")
    page.write_text(replaced(page.read_text(encoding="utf-8"), "accuracy", text), encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
