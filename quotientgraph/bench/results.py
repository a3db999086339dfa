"""What a benchmark writes besides its tables: one line for each cell, all records as JSON and as CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from .jobs import Record
from .journal import machine
from .measure import METRICS
from .table_text import short_number, text_table

# field of a record -> heading and factor
_COLUMNS: dict[str, tuple[str, float]] = {
    "made": ("MADE", 1.0),
    "relative_error": ("RE, %", 100.0),
    "normal_error": ("normals, °", 1.0),
    "least_made": ("least MADE", 1.0),
    "components": ("components", 1),
    "iterations": ("iterations", 1),
    "seconds": ("seconds", 1.0),
    "peak_bytes": ("peak MB", 1e-6),
}
_OWN_METRICS = frozenset(METRICS)  # a metric that a plugin adds gets a column of its own


def cell_table(records: list[Record], out: Path) -> str:
    """Return a table with a line for each cell, and write it to ``results.md`` in the folder `out`."""
    chosen = {**_COLUMNS, **{name: (name, 1) for name in METRICS if name not in _OWN_METRICS}}
    used = [name for name in chosen if any(record.get(name) is not None for record in records)]
    body = []
    for record in records:
        settings = " ".join(f"{key}={value}" for key, value in record["settings"].items())
        values = [_cell(record, name, chosen[name][1]) for name in used]
        if used and record["status"] != "ok":
            values[0] = "failed"
        if record["repeat"] > 1 and record["status"] == "ok" and "seconds" in used:
            low, high = (short_number(record[f"seconds_{end}"]) for end in ("low", "high"))
            values[used.index("seconds")] += f" ({low}–{high})"
        body.append([record["case"]["name"], record["method"], settings, *values])
    head = ["case", "method", "settings", *(chosen[name][0] for name in used)]
    (out / "results.md").write_text(text_table(head, body, markdown=True) + "\n", encoding="utf-8")
    return text_table(head, body)


def _cell(record: Record, name: str, factor: float) -> str:
    value = record.get(name)
    if value is None:
        return ""
    return short_number(value if factor == 1 or isinstance(value, str) else value * factor)


def write_records(out: Path, records: list[Record]) -> None:
    """Write ``results.json``, all records with the machine, and ``results.csv``, their figures."""
    content = {"machine": machine(), "records": records}
    (out / "results.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    names = ["status", "seconds", "seconds_low", "seconds_high", "peak_bytes", *METRICS, "error"]
    stages = sorted({stage for record in records for stage in record.get("stages", {})})
    with (out / "results.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["case", "method", "settings", *names, *(f"seconds_{stage}" for stage in stages)])
        for record in records:
            own = [record.get("stages", {}).get(stage) for stage in stages]
            settings = json.dumps(record["settings"])
            name = record["case"]["name"]
            writer.writerow([name, record["method"], settings, *(record.get(key) for key in names), *own])
