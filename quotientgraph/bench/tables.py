"""What a table is: which jobs it needs, and its entries next to the paper's figures.

A table is two functions: from cases to jobs, and from records to `Entry` values. `TABLES` holds them by name; add your
own with `register`. The paper's figures are facts in ``paper/*.csv``; its tables are in `errors` and `stages`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from .cases import Case
from .measure import Job, Record
from .papercg import NAME as PAPER_SOLVER

# What all of the paper's experiments share unless they vary it.
PAPER = {
    "angle": 3.5,
    "connectivity": 8,
    "reweighting": "soft",
    "lower": 1e-5,
    "upper": 1e-3,
    "thresholds": "absolute",
    "max_iterations": 150,
    "energy_tol": 1e-3,
}
_METHODS = {"milano2025_D": "logdepth-d", "milano2025_ND": "logdepth"}
# How near is near: absolute, or relative.
NEAR = {
    "components": (0.03, 0.08),
    "pixel level": (0.05, 0.15),
    "bini": (0.0, 0.03),
    "exact": (2.0, 0.002),
    "loose": (0.0, 0.2),
}


@dataclass(frozen=True)
class Entry:
    """A number of a table: ours, and the paper's where it has one.

    Attributes
    ----------
    quantity : str
        What it is; each has its own block.
    row, column : str
    ours, paper : float or None
    near : str or None
        Key of `NEAR` that says how near ours should be; None where there is no point in comparing, as with seconds.
    failed : str
        Why there is no number of ours.
    """

    quantity: str
    row: str
    column: str
    ours: float | None
    paper: float | None = None
    near: str | None = None
    failed: str = ""

    @property
    def within(self) -> bool | None:
        """Whether ours is near the paper's; None where that is not asked."""
        if self.paper is None or self.near is None:
            return None
        if self.ours is None:
            return False
        absolute, relative = NEAR[self.near]
        # The paper rounds: half a unit of its last digit is not a difference.
        return abs(self.ours - self.paper) <= max(absolute, relative * abs(self.paper)) + 1e-9


@dataclass(frozen=True)
class Table:
    """How a table is made.

    Attributes
    ----------
    jobs : callable
        From the cases at hand to the jobs whose records it needs; cases it has no use for give none.
    entries : callable
        From those records to its entries.
    draw : callable, optional
        Writes the plots that belong to it into a folder and returns their paths.
    """

    title: str
    jobs: Callable[[list[Case]], list[Job]]
    entries: Callable[[list[Record]], list[Entry]]
    note: str = ""
    draw: Callable[[list[Record], Path], list[Path]] | None = None


TABLES: dict[str, Table] = {}


def register(name: str, table: Table) -> None:
    """Make a table available as ``--table NAME``."""
    TABLES[name] = table


@cache
def facts(name: str) -> list[dict[str, str]]:
    """Rows of one of the CSV files of the paper's figures."""
    text = resources.files(__package__).joinpath(f"paper/{name}.csv").read_text()
    return list(csv.DictReader(text.splitlines()))


def paper_job(case: Case, theta: str = "3.5", method: str = "components", **settings: Any) -> Job:
    """A job with the paper's settings; a theta of "None" or "N/A" means pixel level."""
    merged: dict[str, Any] = {**PAPER, **settings}
    merged["angle"] = None if theta in ("None", "N/A") else float(theta)
    method = _METHODS.get(method, "pixels" if theta == "None" else "components")
    if method in ("pixels", "components"):
        merged = {"preset": "paper", "solver": PAPER_SOLVER, **merged}
    if merged.get("solver") == "auto":
        del merged["solver"]
    return Job(case, method, {key: value for key, value in merged.items() if key != "angle" or value is not None})


def entry(
    quantity: str,
    row: str,
    column: str,
    record: Record,
    field: str,
    paper: float | None = None,
    near: str | None = None,
) -> Entry:
    """An entry from a field of a record."""
    return Entry(quantity, row, column, record.get(field), paper, near, record.get("error", ""))


def in_diligent(case: Case) -> bool:
    """Whether a case is one of the benchmark's nine objects, by its name."""
    return case.name in {fact["object"] for fact in facts("table1_diligent")}


def solves(last: int) -> int:
    """How many solves the paper's T stands for: its iterations are numbered from 0, so T = 5 is six of them.

    Buddha after T = 5 tells (0.15 mm in the paper; 0.20 after five solves, 0.14 after six). T = 150 is hardly ever
    reached and stays 150.
    """
    return last if last >= 150 else last + 1
