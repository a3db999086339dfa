"""The paper's tables of time: where it goes, and how the methods compare on large scenes."""

from __future__ import annotations

from typing import Any

from .cases import Case
from .jobs import Job, Record
from .tables import Entry, Table, entry, in_diligent, paper_figures, paper_job, solves

# Profile and large scenes --------------------------------------------------------------------------------------------

# These tables are about time, not precision, so each method uses the library's own solvers and is as fast as it can be.
_LARGE: dict[str, Any] = {"max_iterations": solves(15), "solver": "auto"}
_STAGES = ("graph", "components", "filling", "iteration 0", "iteration 1", "iteration 2", "convergence", "iterations")


def _profile_jobs(cases: list[Case]) -> list[Job]:
    large = {fact["scene"] for fact in paper_figures("fig_large_scenes")}
    small = {fact["scene"] for fact in paper_figures("profile")} - large
    return [paper_job(case, solver="auto") for case in cases if case.name in small] + [
        paper_job(case, "2.0", merge_every=5, **_LARGE) for case in cases if case.name in large
    ]


def _profile_entries(records: list[Record]) -> list[Entry]:
    known = {(fact["scene"], fact["stage"]): float(fact["value"]) for fact in paper_figures("profile")}
    out = []
    for record in records:
        name = record["case"]["name"]
        if record["status"] != "ok":
            out.append(Entry("seconds from the start", "graph", name, None, None, None, record["error"]))
            continue
        so_far, ours = 0.0, {}
        for stage in ("graph", "components", "filling"):
            so_far += record["stages"].get(stage, 0.0)
            ours[stage] = so_far
        for i, seconds in enumerate(record["step_seconds"][:3]):
            ours[f"iteration {i}"] = so_far + seconds
        ours["convergence"] = so_far + record["stages"]["scales"]
        for stage in _STAGES[:-1]:
            if stage in ours:
                out.append(Entry("seconds from the start", stage, name, ours[stage], known.get((name, stage))))
        iterations = known.get((name, "iterations"))
        out.append(Entry("iterations", "scales", name, record["iterations"], iterations))
        out.append(Entry("peak memory, MB", "resident", name, record["peak_bytes"] / 1e6))
    return out


PROFILE_TABLE = Table("Where the time goes", _profile_jobs, _profile_entries, "Paper: RTX 3080 laptop.")

_LARGE_ROWS = {
    "components θ 2°, merging": ("components_merge", "2.0", "components", {"merge_every": 5, **_LARGE}),
    "pixels, merging": ("pixel_merge", "None", "pixels", {"merge_every": 5, **_LARGE}),
    "pixels": ("pixel_nomerge", "None", "pixels", _LARGE),
    "log-depth ND": ("milano2025", "N/A", "milano2025_ND", _LARGE),
    "log-depth D": ("", "N/A", "milano2025_D", _LARGE),
}


def _large_jobs(cases: list[Case]) -> list[Job]:
    known = {fact["scene"] for fact in paper_figures("fig_large_scenes")}
    chosen = [case for case in cases if case.name in known or not in_diligent(case)]
    jobs = [
        paper_job(case, theta, method, **settings)
        for case in chosen
        for _, theta, method, settings in _LARGE_ROWS.values()
    ]
    return jobs + [Job(case, method) for case in chosen for method in ("bini", "poisson", "fft")]


def _large_entries(records: list[Record]) -> list[Entry]:
    known = {fact["scene"]: fact for fact in paper_figures("fig_large_scenes")}
    fastest: dict[str, float] = {}
    out = []
    for record in records:
        name, settings = record["case"]["name"], record["settings"]
        row, column = record["method"], ""
        for label, (prefix, theta, method, extra) in _LARGE_ROWS.items():
            wanted = paper_job(Case(**record["case"]), theta, method, **extra)
            if wanted.method == record["method"] and wanted.settings == settings:
                row, column = label, prefix
        fact = known.get(name, {}) if column else {}
        re, t = fact.get(f"{column}_RE_percent"), fact.get(f"{column}_seconds")
        ours = record.get("relative_error")
        near = "components" if record["method"] == "components" else "pixel level"
        out.append(
            Entry(
                "relative error, %",
                row,
                name,
                None if ours is None else 100 * ours,
                float(re) if re else None,
                near if re else None,
                record.get("error", ""),
            )
        )
        out.append(entry("seconds (paper: RTX 3080 laptop)", row, name, record, "seconds", float(t) if t else None))
        if record["method"] == "components" and record["status"] == "ok":
            fastest[name] = record["seconds"]
        if record["status"] == "ok":
            out.append(Entry("peak memory, MB", row, name, record["peak_bytes"] / 1e6))
        if record["status"] == "ok" and name in fastest:
            out.append(Entry("times the seconds of components", row, name, record["seconds"] / fastest[name]))
    return out


LARGE_TABLE = Table("Large scenes, T = 15", _large_jobs, _large_entries)
