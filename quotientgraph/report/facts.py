"""What a report states in words and numbers about a result."""

from __future__ import annotations

import platform
import re
from importlib import metadata
from typing import TYPE_CHECKING

import numpy as np

from ..geometry.normals import LEFT_OUT
from .charts import clock
from .color import brief

if TYPE_CHECKING:
    from ..result import Reconstruction


def n_components(result: Reconstruction) -> tuple[int, int]:
    """Return the numbers of components of the first and of the last level."""
    levels = list(result.levels) or [result.graph]
    return int(levels[0].n_components), int(levels[-1].n_components)


def headline(result: Reconstruction) -> list[tuple[str, str]]:
    """Return the few numbers that everybody wants, as pairs of name and value."""
    height, width = result.depth.shape
    first, last = n_components(result)
    return [
        ("Image", f"{width} × {height}"),
        ("Valid pixels", brief(int(np.isfinite(result.depth).sum()))),
        ("Components", brief(first) if first == last else f"{brief(first)} → {brief(last)}"),
        ("Iterations", brief(len(result.history))),
        ("Time", clock(sum(result.seconds.values()))),
    ]


def verdict(result: Reconstruction) -> str:
    """Return one sentence on convergence."""
    n = len(result.history)
    if n == 0:
        return "No iteration was run."
    times = f"{brief(n)} iteration{'s' if n != 1 else ''}"
    if result.converged:
        return f"Converged after {times}."
    return f"Stopped after {times} before convergence; the depth may still improve with more iterations."


def fact_rows(result: Reconstruction) -> list[tuple[str, str]]:
    """Return all rows of the table of facts, as pairs of name and value."""
    source = result.graph.pixels.map
    height, width = result.depth.shape
    finite = result.depth[np.isfinite(result.depth)]
    share = 100 * finite.size / max(1, height * width)
    first, last = n_components(result)
    counts = getattr(source, "dropped", {}).items()
    dropped = [f"{brief(n)} {LEFT_OUT.get(why, why)}" for why, n in counts if n]
    energies = [s.energy for s in result.history if s.energy is not None and np.isfinite(s.energy)]
    camera = re.sub(r"\d+\.\d{3,}", lambda m: f"{float(m[0]):.7g}", str(source.camera))
    rows = [
        ("Image", f"{width} × {height} pixels"),
        ("Valid pixels", f"{brief(finite.size)} ({share:.1f} %)"),
        ("Left out inside the mask", ", ".join(dropped) or "none"),
        ("Camera", camera if len(camera) <= 120 else camera[:117] + "…"),
        ("Depth", f"{brief(float(finite.min()))} to {brief(float(finite.max()))}" if finite.size else "none"),
        ("Components at the first level", brief(first)),
        ("Components at the last level", brief(last)),
        ("Levels", brief(max(1, len(result.levels)))),
        ("Iterations", brief(len(result.history))),
        ("Solver iterations", brief(sum(int(s.solver_iterations or 0) for s in result.history))),
        ("Converged", "yes" if result.converged else "no"),
        ("Last energy", brief(float(energies[-1])) if energies else "–"),
        ("Time", clock(sum(result.seconds.values()))),
    ]
    return [*rows, ("Software", versions())]


def versions() -> str:
    """Return the versions of this package and of the packages that it computes with."""
    from .. import __version__

    found = [f"quotientgraph {__version__}"]
    for name in ("numpy", "scipy", "numba", "igraph"):
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    found += [f"Python {platform.python_version()}", f"{platform.system()} {platform.machine()}"]
    return ", ".join(found)
