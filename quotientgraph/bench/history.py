"""The stored history of the benchmark, with which ``quotientgraph bench --compare`` compares the present code.

A handful of built-in scenes is measured, which takes about a minute and needs no data. What is stored is independent of the
machine, as far as that is possible: times as multiples of `yardstick`, memory in bytes a pixel, errors in per cent.
``--record LABEL`` adds the present figures to the file.
"""

from __future__ import annotations

import csv
import json
from datetime import date
from pathlib import Path
from typing import Any

from .cases import Case
from .jobs import Job, Record
from .tables import Entry, Table
from .yardstick import processor_yardstick, yardstick

HISTORY = Path(__file__).with_name("history.csv")
_SHAPE = (512, 608)
_SIZE = "x".join(map(str, _SHAPE))
_MERGING = {"angle": 2.0, "merge_every": 5, "max_iterations": 15}
# name -> scene, method and settings
_WATCHED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "smooth": ("bumps", "components", {}),
    "boxes": ("boxes", "components", {}),
    "boxes, paper": ("boxes", "components", {"preset": "paper"}),
    "balls": ("spheres", "components", {}),
    "occlusions, merging": ("occlusions", "components", _MERGING),
    "textured room, merging": ("textured_room", "components", _MERGING),
}
# column of the file -> name of the block, and how to find the figure in a record
_FIGURES = {
    "units_of_y": "time, units of Y",
    "processor_units_of_y": "processor time of all threads, units of Y",
    "bytes_per_pixel": "peak memory, bytes a pixel",
    "error_percent": "relative error, %",
}


def _jobs(cases: list[Case]) -> list[Job]:
    return [
        Job(Case(name, f"scene:{scene}?shape={_SIZE}", "opencv"), method, settings, repeat=3)
        for name, (scene, method, settings) in _WATCHED.items()
    ]


def figures_of(record: Record) -> dict[str, float | None]:
    """Return the figures of a record that the history keeps."""
    error = record.get("relative_error")
    return {
        "units_of_y": record["seconds_low"] / yardstick(*_SHAPE),
        "processor_units_of_y": record["processor_seconds"] / processor_yardstick(*_SHAPE),
        "bytes_per_pixel": record["peak_bytes"] / record["pixels"],
        "error_percent": None if error is None else 100 * error,
    }


def stored(path: Path | None = None) -> dict[str, dict[str, str]]:
    """Return the latest stored row of each watched case, by its name; empty if there is no history.

    >>> sorted(stored(Path("nowhere.csv")))
    []
    """
    path = path or HISTORY
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {row["case"]: row for row in csv.DictReader(file)}


def append(label: str, records: list[Record], path: Path | None = None) -> None:
    """Add the figures of some records to the history, under a label such as a version or a commit."""
    columns = ["date", "label", "case", "settings", *_FIGURES]
    path = path or HISTORY
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        if new:
            writer.writeheader()
        for record in records:
            found = {name: "" if x is None else f"{x:.4g}" for name, x in figures_of(record).items()}
            settings = json.dumps(record["settings"], sort_keys=True)
            day = date.today().isoformat()
            row = {"date": day, "label": label, "case": record["case"]["name"], "settings": settings}
            writer.writerow({**row, **found})


def _entries(records: list[Record]) -> list[Entry]:
    before, out = stored(), []
    for record in records:
        name = record["case"]["name"]
        if record["status"] != "ok":
            out += [Entry(block, name, "now", None, failed=record["error"]) for block in _FIGURES.values()]
            continue
        for column, value in figures_of(record).items():
            block, past = _FIGURES[column], before.get(name, {}).get(column)
            out.append(Entry(block, name, "now", value))
            if past and value is not None:
                out.append(Entry(block, name, "stored", float(past)))
                if float(past) > 0:
                    out.append(Entry(block, name, "change, %", 100 * (value / float(past) - 1)))
    return out


WATCH_TABLE = Table(
    "Now, against the stored history",
    _jobs,
    _entries,
    "Y: one FFT integration of the same size. On a busy machine compare processor times; errors do not vary.",
    needs_data=False,
)
