"""Measure every method on the same maps, for docs/which_method.md: python docs/measure_methods.py [DATA]

Relative depth error and time, the time as a multiple of one Fourier integration of a map of the same size. Embedded scenes
are always measured; objects of the folder DATA are added where it is given.
"""

import sys
import time
from pathlib import Path

import numpy as np

from quotientgraph import integrate, io, metrics, scenes
from quotientgraph.integration import METHODS

PAGE = Path(__file__).parent / "which_method.md"
START, END = "<!-- methods: start -->", "<!-- methods: end -->"
EMBEDDED = ("bumps", "sphere", "stairs", "room")
OBJECTS = ("diligent/bear", "diligent/harvest")


def cases(data):
    """Name, normals, mask, camera, frame and true depth of each map."""
    for name in EMBEDDED:
        scene = scenes.make(name, shape=(400, 500))
        yield name, scene.normals, scene.mask, scene.camera, "opencv", scene.depth
    for name in OBJECTS if data else ():
        found = io.read_normals(data / name)
        yield name.rpartition("/")[2], found.normals, found.mask, found.camera, "opengl", found.read_truth()


def timed(normals, mask, camera, frame, method):
    """A result, and the seconds that it took once the kernels are compiled."""
    for attempt in range(2):
        began = time.process_time()
        result = integrate(normals, mask, camera, frame, method=method, check=False)
        seconds = time.process_time() - began
        if attempt == 0 and seconds > 30:
            break
    return result, seconds


def main():
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    names, table, times = [], {m: [] for m in METHODS}, {m: [] for m in METHODS}
    for name, normals, mask, camera, frame, truth in cases(data):
        names.append(name)
        unit = timed(normals, mask, camera, frame, "fft")[1]
        for method in METHODS:
            result, seconds = timed(normals, mask, camera, frame, method)
            offset = not result.graph.pixels.map.camera.central
            table[method].append(100 * metrics.relative_error(result.depth, truth, offset))
            times[method].append(seconds / unit)
            print(name, method, f"{table[method][-1]:.3g} %, {times[method][-1]:.3g} FFT", flush=True)
    rows = ["| | " + " | ".join(names) + " | time |", "|---|" + "---|" * (len(names) + 1)]
    best = np.min([table[m] for m in METHODS], axis=0)
    for method in METHODS:
        cells = [f"**{x:.2g}**" if x <= 1.05 * b else f"{x:.2g}" for x, b in zip(table[method], best)]
        spent = np.exp(np.mean(np.log(times[method])))
        rows.append(f"| `{method}` | " + " | ".join(cells) + f" | {spent:.2g} |")
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(START)
    PAGE.write_text("\n".join([before + START, "", *rows, "", END]) + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
