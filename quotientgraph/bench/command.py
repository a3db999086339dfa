"""``quotientgraph bench``: what is done with its arguments."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..integration import METHODS, keywords_of
from . import show
from .cases import find
from .journal import Journal, machine
from .measure import METRICS, Job, Record
from .runs import run as run_jobs
from .tables import TABLES

_COLUMNS = {
    "made": "MADE",
    "relative_error": "RE",
    "normal_error": "normals °",
    "least_made": "least MADE",
    "components": "components",
    "iterations": "iterations",
    "seconds": "seconds",
    "peak_bytes": "peak MB",
}
JOURNAL = "journal.jsonl"
Plan = list[tuple[str, list[Job]]]


def run(args: argparse.Namespace, groups: Plan) -> list[str]:
    """Measure the groups of jobs, print and write their tables; a line for each cell that failed."""
    journal_path = args.out / JOURNAL
    if args.fresh:
        journal_path.unlink(missing_ok=True)
    journal = Journal(journal_path, args.any_code)
    jobs = [job for _, some in groups for job in some]
    isolate = args.isolate or args.timeout is not None
    records = run_jobs(
        jobs, journal, isolate=isolate, timeout=args.timeout, plugins=tuple(args.plugin), progress=not args.quiet
    )
    colour = args.color == "always" or (args.color == "auto" and sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    for name, some in groups:
        own = [journal.records[key] for key in dict.fromkeys(job.key for job in some)]
        sys.stdout.write(_report(name, own, args.out, colour) + "\n\n")
        for path in _drawn(name, own, args.out):
            sys.stdout.write(f"{path}\n")
    _write_all(args.out, records)
    if args.plots:
        from .plots import draw_all

        for path in draw_all(records, args.out):
            sys.stdout.write(f"{path}\n")
    failed = [record for record in records if record["status"] != "ok"]
    return [f"{record['case']['name']} {record['method']}: {record['error']}" for record in failed]


def plan(args: argparse.Namespace) -> Plan:
    """Named groups of jobs: the tables that were asked for, or else methods × settings × cases."""
    cases = find(args.data, args.frame)
    extra = _settings(args.set)
    if not cases and "speed" not in (args.table or ()):
        raise ValueError("name a folder with normal maps, or scene:NAME; only --speed has scenes of its own")
    if args.table:
        names = list(TABLES) if "all" in args.table else args.table
        unknown = [name for name in names if name not in TABLES]
        if unknown:
            raise ValueError(f"--table: {', '.join(unknown)} not known; use {', '.join(TABLES)} or all")
        fixed = {name: values[0] for name, values in extra.items()}
        groups: Plan = []
        for name in names:
            jobs = [
                Job(job.case, job.method, {**job.settings, **fixed}, job.trace, max(job.repeat, args.repeat))
                for job in TABLES[name].jobs(cases)
            ]
            if jobs:
                groups.append((name, jobs))
        if not groups:
            known = ", ".join(case.name for case in cases)
            raise ValueError(f"--table {', '.join(names)}: no use for {known}; the tables are of DiLiGenT's objects")
        return groups
    methods = list(METHODS) if args.methods == "all" else args.methods.split(",")
    unknown = [name for name in methods if name not in METHODS]
    if unknown:
        raise ValueError(f"--methods: {', '.join(unknown)} not known; use {', '.join(METHODS)}")
    combinations = [dict(zip(extra, values)) for values in itertools.product(*extra.values())]
    jobs = [
        Job(case, method, _understood(method, settings), repeat=args.repeat)
        for case in cases
        for method in methods
        for settings in combinations
    ]
    return [("", jobs)]


def _understood(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that mean something to a method: varying the others would measure the same thing again."""
    known = {"connectivity", *keywords_of(name), *(["angle"] if METHODS[name].joins_pixels else [])}
    return {key: value for key, value in settings.items() if key in known}


def _settings(texts: Sequence[str]) -> dict[str, list[Any]]:
    """{"angle": [2, 3.5]} from ["angle=2,3.5"]."""
    out = {}
    for text in texts:
        name, sign, values = text.partition("=")
        if not sign or not values:
            raise ValueError(f"--set {text}: expected NAME=VALUE or NAME=VALUE,VALUE")
        out[name.replace("-", "_")] = [_value(value) for value in values.split(",")]
    return out


def _value(text: str) -> Any:
    try:
        return json.loads({"None": "null", "True": "true", "False": "false"}.get(text, text))
    except json.JSONDecodeError:
        return text


def _report(name: str, records: list[Record], out: Path, colour: bool) -> str:
    """The text of a table for the terminal; it is also written as Markdown and CSV."""
    if not name:
        return _long_table(records, out)
    table = TABLES[name]
    entries = table.entries(records)
    text = [show.grid(entries), show.summary(entries), table.note]
    (out / f"table-{name}.md").write_text(
        f"# {table.title}\n\n{show.grid(entries, markdown=True)}\n\n{show.summary(entries)}\n\n{table.note}\n"
    )
    (out / f"table-{name}.csv").write_text(show.to_csv(entries))
    text[0] = show.grid(entries, colour)
    return "\n\n".join(part for part in [table.title, *text] if part)


def _drawn(name: str, records: list[Record], out: Path) -> list[Path]:
    """The plots of a table; without matplotlib none, which is said."""
    draw = TABLES[name].draw if name else None
    try:
        return draw(records, out) if draw else []
    except ValueError as error:
        sys.stderr.write(f"bench: {error}\n")
        return []


def _long_table(records: list[Record], out: Path) -> str:
    """A line for each cell."""
    chosen = {**_COLUMNS, **{name: name for name in METRICS if name not in _KNOWN}}
    used = [name for name in chosen if any(record.get(name) is not None for record in records)]
    body = []
    for record in records:
        settings = " ".join(f"{key}={value}" for key, value in record["settings"].items())
        values = [
            show.number(record[name] / 1e6 if name == "peak_bytes" else record[name]) if record.get(name) is not None
            else ("failed" if record["status"] != "ok" and name == used[0] else "")
            for name in used
        ]  # fmt: skip
        if record["repeat"] > 1 and record["status"] == "ok" and "seconds" in used:
            at = used.index("seconds")
            values[at] += f" ({show.number(record['seconds_low'])}–{show.number(record['seconds_high'])})"
        body.append([record["case"]["name"], record["method"], settings, *values])
    head = ["case", "method", "settings", *(chosen[name] for name in used)]
    (out / "results.md").write_text(show.text_table(head, body, markdown=True) + "\n")
    return show.text_table(head, body)


_KNOWN = set(METRICS)  # those that a plugin adds get a column of their own


def _write_all(out: Path, records: list[Record]) -> None:
    """All records as JSON, with the machine, and their numbers as CSV."""
    import csv

    (out / "results.json").write_text(json.dumps({"machine": machine(), "records": records}, indent=1) + "\n")
    names = ["status", "seconds", "seconds_low", "seconds_high", "peak_bytes", *METRICS, "error"]
    stages = sorted({stage for record in records for stage in record.get("stages", {})})
    with (out / "results.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["case", "method", "settings", *names, *(f"seconds_{stage}" for stage in stages)])
        for record in records:
            writer.writerow(
                [
                    record["case"]["name"],
                    record["method"],
                    json.dumps(record["settings"]),
                    *(record.get(name) for name in names),
                    *(record.get("stages", {}).get(stage) for stage in stages),
                ]
            )
