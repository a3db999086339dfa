"""What a table is: the jobs that it needs, and its entries next to the paper's figures.

A table is two functions. One takes the cases at hand and returns the jobs to measure; the other takes the records of
these jobs and returns `Entry` values. `quotientgraph.bench.catalogue` lists all tables by name. The figures that the
paper prints are stored in ``paper/*.csv``.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from ..settings import PAPER
from .cases import Case
from .jobs import Job, Record
from .papercg import NAME as PAPER_SOLVER

# The settings that all experiments of the paper share unless they vary them.
_SHARED = ("reweighting", "lower", "upper", "thresholds", "max_iterations", "energy_tol")
_PAPER_SETTINGS = {"angle": PAPER.angle, "connectivity": 8, **{name: getattr(PAPER, name) for name in _SHARED}}
_METHODS = {"milano2025_D": "logdepth-d", "milano2025_ND": "logdepth"}
# How far a figure may be from the paper's and still count as near: an absolute and a relative bound, the larger holds.
NEAR = {
    "components": (0.03, 0.08),
    "pixel level": (0.05, 0.15),
    "bini": (0.0, 0.03),
    "exact": (2.0, 0.002),
    "loose": (0.0, 0.2),
}


@dataclass(frozen=True)
class Entry:
    """One number of a table: ours, and the paper's if it has one.

    Attributes
    ----------
    quantity : str
        What the number measures; all entries of one quantity are printed as one block.
    row, column : str
        Where in the block the number stands.
    ours, paper : float or None
    near : str or None
        The key of `NEAR` that says how near ours should be. None if the two should not be compared, as for seconds.
    failed : str
        The reason why there is no number of ours, or how many of its parts failed.
    spread : float, optional
        The standard error of ours.
    """

    quantity: str
    row: str
    column: str
    ours: float | None
    paper: float | None = None
    near: str | None = None
    failed: str = ""
    spread: float | None = None

    @property
    def within(self) -> bool | None:
        """Whether ours is near the paper's; None if the two are not compared."""
        if self.paper is None or self.near is None:
            return None
        if self.ours is None:
            return False
        absolute, relative = NEAR[self.near]
        return abs(self.ours - self.paper) <= max(absolute, relative * abs(self.paper)) + 1e-9


@dataclass(frozen=True)
class Table:
    """How a table is made.

    Attributes
    ----------
    title : str
    jobs : callable
        Takes the cases at hand and returns the jobs whose records the table needs. It ignores cases of no use to it.
    entries : callable
        Takes the records of those jobs and returns the entries of the table.
    note : str
        A sentence that is printed below the table.
    draw : callable, optional
        Takes the records and a folder, writes the plots that belong to the table, and returns their paths.
    needs_data : bool
        Whether the table is made from cases that the caller names; if not, it has cases of its own.
    """

    title: str
    jobs: Callable[[list[Case]], list[Job]]
    entries: Callable[[list[Record]], list[Entry]]
    note: str = ""
    draw: Callable[[list[Record], Path], list[Path]] | None = None
    needs_data: bool = True


@cache
def paper_figures(name: str) -> list[dict[str, str]]:
    """Return the rows of one of the CSV files that hold the paper's figures.

    >>> paper_figures("bini")[0]["object"]
    'bear'
    """
    text = resources.files(__package__).joinpath(f"paper/{name}.csv").read_text()
    return list(csv.DictReader(text.splitlines()))


def paper_job(case: Case, theta: str = "3.5", method: str = "components", **settings: Any) -> Job:
    """Return a job with the paper's settings.

    Parameters
    ----------
    case : Case
    theta : str
        The angle θ_c as the paper's tables print it; "None" and "N/A" mean a method at pixel level.
    method : str
        The name of a peer in the paper's tables, or "components".
    **settings
        Settings that this experiment varies.
    """
    merged: dict[str, Any] = {**_PAPER_SETTINGS, **settings}
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
    """Return the entry whose number of ours is one field of a record; parameters as in `Entry`."""
    return Entry(quantity, row, column, record.get(field), paper, near, record.get("error", ""))


def in_diligent(case: Case) -> bool:
    """Tell by its name whether a case is one of the nine objects of DiLiGenT."""
    return case.name in {fact["object"] for fact in paper_figures("table1_diligent")}


def solves(last: int) -> int:
    """Return the number of solves that the paper's T stands for.

    The paper numbers its iterations from 0, so T = 5 means six solves. The error of buddha at T = 5 shows it: 0.15 mm in
    the paper, 0.20 mm after five solves and 0.14 mm after six. T = 150 is hardly ever reached and stays 150.
    """
    return last if last >= 150 else last + 1
