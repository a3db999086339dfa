"""Time every backend on the systems of the benchmark objects.

    python docs/measure_solvers.py DATA        # takes some minutes; without DATA the stored figures are shown again

writes docs/solvers.csv, docs/images/solvers.png and the table in docs/solvers.md. A case is the first systems of a run,
solved one after the other as the pipeline does, so that a backend gains from what it keeps of their pattern. Times are
processor times of one thread, the least of some runs, divided by the processor time of one FFT integration of that size.
"""

import csv
import os
import sys
import time
from pathlib import Path

os.environ.update({name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")})

import numpy as np

from quotientgraph import QuotientGraph, solvers
from quotientgraph.bench.pages import replaced
from quotientgraph.bench.yardstick import processor_yardstick
from quotientgraph.io import read_normals

HERE = Path(__file__).parent
CASES = [(name, angle) for name in ("bear", "buddha", "cat", "harvest", "goblet") for angle in (2.0, 3.5, 5.0, None)]
CASES += [("bedroom", 2.0), ("bedroom", None)]
SYSTEMS = 4  # how many systems of a case are solved
PATIENCE = 5.0  # seconds after which a case is not repeated


class Recording:
    """Solves directly, and keeps the systems."""

    def __init__(self):
        self.systems = []

    def solve(self, system):
        self.systems.append(system)
        return solvers.get("multigrid" if system.n > 100_000 else "direct").solve(system)


def systems_of(folder, angle):
    """Return the first systems of a run on one normal map, and the shape of the image."""
    found = read_normals(folder)
    graph = QuotientGraph.from_normals(found.normals, found.mask, found.camera, "opengl", angle)
    recording = Recording()
    graph.optimize(solver=recording, max_iterations=SYSTEMS)
    return recording.systems, graph.pixels.map.shape


def seconds(solver, systems):
    """Return the processor time of solving systems of one new pattern in a row, and the largest residual."""
    pattern = solvers.Pattern(systems[0].n, systems[0].pattern.tail, systems[0].pattern.head)
    began = time.process_time()
    solutions = [solver.solve(solvers.LaplacianSystem(pattern, s.weight, s.flow)) for s in systems]
    return time.process_time() - began, max(s.residual(a.x) for s, a in zip(systems, solutions))


def least_seconds(solver, systems):
    spent, repeats, least = 0.0, 0, np.inf
    while repeats < 3 and (repeats == 0 or spent < PATIENCE):
        now, residual = seconds(solver, systems)
        least, spent, repeats = min(least, now), spent + now, repeats + 1
    return least, residual


def measure(data):
    rows = []
    names = ["auto", *solvers.available()]
    for name, angle in CASES:
        folder = next(data.glob(f"*/{name}"))
        systems, shape = systems_of(folder, angle)
        unit = processor_yardstick(*shape)
        for backend in names:
            spent, residual = least_seconds(solvers.get(backend), systems[:2] if systems[0].n > 100_000 else systems)
            count = 2 if systems[0].n > 100_000 else len(systems)
            rows.append(
                {
                    "object": name, "angle": angle or "none", "unknowns": systems[0].n,
                    "pairs": systems[0].pattern.n_pairs, "backend": backend,
                    "milliseconds": round(1e3 * spent / count, 3), "ratio": round(spent / count / unit, 3),
                    "residual": f"{residual:.1e}",
                }
            )  # fmt: skip
            print(*rows[-1].values(), flush=True)
    return rows


def plot(rows, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for backend in sorted({row["backend"] for row in rows} - {"auto"}):
        points = sorted((int(r["unknowns"]), float(r["milliseconds"])) for r in rows if r["backend"] == backend)
        axes.loglog(*zip(*points), marker="o", markersize=4, linewidth=1, label=backend)
    points = sorted((int(r["unknowns"]), float(r["milliseconds"])) for r in rows if r["backend"] == "auto")
    axes.loglog(*zip(*points), "x", color="black", markersize=6, label="auto")
    axes.set(xlabel="unknowns", ylabel="milliseconds per system (one thread)")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=110)


def table(rows):
    """Return the Markdown table of the documentation: time for each system in units of the yardstick."""
    names = list(dict.fromkeys(row["backend"] for row in rows))
    lines = ["| case | unknowns | " + " | ".join(names) + " |", "|---|---:|" + "---:|" * len(names)]
    cases = dict.fromkeys((row["object"], row["angle"], row["unknowns"]) for row in rows)
    for case in cases:
        found = {r["backend"]: float(r["ratio"]) for r in rows if (r["object"], r["angle"], r["unknowns"]) == case}
        values = " | ".join(f"{found[name]:.2f}" for name in names)
        kind = "a component per pixel" if case[1] == "none" else f"θ = {case[1]}°"
        lines.append(f"| {case[0]}, {kind} | {case[2]} | {values} |")
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        rows = measure(Path(sys.argv[1]))
        with open(HERE / "solvers.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    with open(HERE / "solvers.csv") as file:
        rows = list(csv.DictReader(file))
    (HERE / "images").mkdir(exist_ok=True)
    plot(rows, HERE / "images" / "solvers.png")
    page = HERE / "solvers.md"
    page.write_text(replaced(page.read_text(encoding="utf-8"), "solvers", table(rows)), encoding="utf-8")
    print(table(rows))
