"""Plots of benchmark records and of error maps; needs matplotlib, ``pip install "quotientgraph[plots]"``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .. import metrics
from .jobs import Job, Record, run_method


def needs_matplotlib() -> None:
    """Raise a `ValueError` with the remedy if there is no matplotlib."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ValueError('plots need matplotlib; install it with: pip install "quotientgraph[plots]"') from None


def _figure(width: float = 7, height: float = 4.5, **grid: Any) -> tuple[Any, Any]:
    """Return a figure that needs no display and no global state, and its axes."""
    needs_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(**grid)


def error_maps(job: Job, methods: Iterable[str], path: Path) -> Path:
    """Draw |depth error| of several methods on one case, side by side with one scale of colours.

    The job gives the case, and the settings of its own method; the others run with their defaults. Returns `path`.
    """
    maps, names = job.case.maps, list(methods)
    if maps.truth is None:
        raise ValueError(f"{job.case.name}: no true depth, so no error map")
    offset = not maps.camera.central
    errors = []
    for name in names:
        settings = job.settings if name == job.method else {}
        depth = run_method(Job(job.case, name, settings), maps).depth
        errors.append(np.abs(metrics.aligned(depth, maps.truth, offset) - maps.truth))
    top = float(np.nanpercentile(np.stack(errors), 98)) or 1.0
    figure, axes = _figure(3.2 * len(names), 3.2, ncols=len(names), squeeze=False)
    for axis, name, error in zip(axes[0], names, errors):
        image = axis.imshow(error, vmin=0, vmax=top, cmap="inferno")
        axis.set_title(f"{name}: {np.nanmean(error):.3g}")
        axis.set_axis_off()
    figure.colorbar(image, ax=axes[0].tolist(), label="|depth error|", extend="max")
    figure.savefig(path, dpi=130)
    return path


def error_against_time(records: Iterable[Record], path: Path) -> Path:
    """Draw MADE against seconds, with a point for each cell and a colour for each method; returns `path`."""
    figure, axis = _figure()
    groups: dict[str, list[tuple[float, float]]] = {}
    for record in records:
        if record["status"] == "ok" and record.get("made"):
            groups.setdefault(record["method"], []).append((record["seconds"], record["made"]))
    for name, points in groups.items():
        axis.plot(*np.array(points).T, "o", label=name, alpha=0.7)
    axis.set(xscale="log", yscale="log", xlabel="seconds", ylabel="MADE")
    if groups:
        axis.legend()
    figure.savefig(path, dpi=130)
    return path


def growth(records: Iterable[Record], path: Path) -> Path:
    """Draw seconds and peak memory against pixels, with the exponent fitted for each method; returns `path`."""
    done = [record for record in records if record["status"] == "ok"]
    figure, axes = _figure(10, 4.5, ncols=2)
    for axis, field, label in ((axes[0], "seconds", "seconds"), (axes[1], "peak_bytes", "peak memory, bytes")):
        for name in dict.fromkeys(record["method"] for record in done):
            points = sorted((r["pixels"], r[field]) for r in done if r["method"] == name and r[field] > 0)
            if not points:
                continue
            x, y = np.array(points, dtype=float).T
            exponent = fitted_exponent(x, y)
            axis.plot(x, y, "o-", label=name if exponent is None else f"{name}: pixels^{exponent:.2f}")
        axis.set(xscale="log", yscale="log", xlabel="pixels", ylabel=label)
        axis.legend()
    figure.savefig(path, dpi=130)
    return path


def fitted_exponent(x: np.ndarray, y: np.ndarray) -> float | None:
    """Return p of y ∝ x^p, by least squares on logarithms; None if x does not vary.

    >>> round(fitted_exponent(np.array([1.0, 10.0, 100.0]), np.array([2.0, 40.0, 800.0])), 2)
    1.3
    """
    if len(x) < 2 or np.ptp(x) == 0:
        return None
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def merging(record: Record, path: Path) -> Path:
    """Draw components, least achievable and reached MADE at each level of merging.

    The record is that of a job with `trace`. Returns `path`.
    """
    m = [level["level"] for level in record["levels"]]
    figure, axis = _figure()
    axis.plot(m, [level["components"] for level in record["levels"]], "k.-", label="components")
    axis.set(yscale="log", xlabel="merges m", ylabel="components", title=record["case"]["name"])
    other = axis.twinx()
    other.plot(m, [level["least_made"] or np.nan for level in record["levels"]], "C0s-", label="least achievable MADE")
    other.plot(m, [level["made"] or np.nan for level in record["levels"]], "C1o-", label="MADE reached")
    other.set(yscale="log", ylabel="MADE")
    figure.legend(loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=130)
    return path


def draw_all(records: list[Record], out: Path) -> list[Path]:
    """Draw all plots that these records allow, as PNG files in the folder `out`, and return their paths."""
    out.mkdir(parents=True, exist_ok=True)
    done = [record for record in records if record["status"] == "ok"]
    plans: list[tuple[bool, Callable[[], Path]]] = [
        (any(r.get("made") for r in done), lambda: error_against_time(done, out / "error-time.png")),
        (len({r["pixels"] for r in done}) > 2, lambda: growth(done, out / "growth.png")),
    ]
    paths = [draw() for wanted, draw in plans if wanted]
    paths += [merging(r, out / f"merging-{_safe(r['case']['name'])}.png") for r in done if r.get("levels")]
    for source in dict.fromkeys(r["case"]["source"] for r in done if r.get("made") is not None):
        own = [Job.from_json(_job(r)) for r in done if r["case"]["source"] == source]
        methods = list(dict.fromkeys(job.method for job in own))
        paths.append(error_maps(own[0], methods, out / f"error-map-{_safe(own[0].case.name)}.png"))
    return paths


def _job(record: Record) -> Record:
    return {name: record[name] for name in ("case", "method", "settings", "trace", "repeat")}


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
