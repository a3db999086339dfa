"""``quotientgraph bench``: measure what was planned, print the tables and write them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from . import history
from .jobs import Record
from .journal import Journal
from .pages import write_into
from .plan import Group
from .plots import draw_all
from .results import cell_table, write_records
from .runs import run_jobs
from .table_text import grid, summary, to_csv

JOURNAL = "journal.jsonl"


def run_plan(args: argparse.Namespace, groups: list[Group], tell: Callable[[str], None]) -> list[str]:
    """Measure the groups of jobs, tell and write their tables, and return a line for each cell that failed.

    Parameters
    ----------
    args : argparse.Namespace
        The arguments of ``quotientgraph bench``.
    groups : list of Group
    tell : callable
        Is given the text of the tables and the paths of plots, to be printed.
    """
    args.out.mkdir(parents=True, exist_ok=True)
    journal_path = args.out / JOURNAL
    if args.fresh:
        journal_path.unlink(missing_ok=True)
    journal = Journal(journal_path, args.any_code)
    records = run_jobs(
        [job for group in groups for job in group.jobs],
        journal,
        isolate=args.isolate or args.timeout is not None,
        timeout=args.timeout,
        processes=args.processes,
        plugins=tuple(args.plugin),
        progress=not args.quiet,
    )
    colour = args.color == "always" or (args.color == "auto" and sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    for group in groups:
        own = [journal.records[key] for key in dict.fromkeys(job.key for job in group.jobs)]
        tell(_show(group, own, args, colour) + "\n")
        for path in _drawn(group, own, args.out, tell):
            tell(f"{path}")
        if group.name == "watch" and args.record:
            history.append(args.record, [record for record in own if record["status"] == "ok"])
            tell(f"{history.HISTORY}: added as {args.record}")
    write_records(args.out, records)
    if args.plots:
        for path in draw_all(records, args.out):
            tell(f"{path}")
    failed = [record for record in records if record["status"] != "ok"]
    return [f"{record['case']['name']} {record['method']}: {record['error']}" for record in failed]


def _show(group: Group, records: list[Record], args: argparse.Namespace, colour: bool) -> str:
    """Return the text of a table for the terminal; it is also written as Markdown and CSV, and into a page if asked."""
    table = group.table
    if table is None:
        return cell_table(records, args.out)
    entries = table.entries(records)
    near = summary(entries)
    page = [f"# {table.title}", grid(entries, markdown=True), near, table.note]
    text = "\n\n".join(part for part in page if part)
    (args.out / f"table-{group.name}.md").write_text(text + "\n", encoding="utf-8")
    (args.out / f"table-{group.name}.csv").write_text(to_csv(entries), encoding="utf-8")
    if args.into is not None:
        write_into(args.into, group.name, table, entries)
    return "\n\n".join(part for part in [table.title, grid(entries, colour), near, table.note] if part)


def _drawn(group: Group, records: list[Record], out: Path, tell: Callable[[str], None]) -> list[Path]:
    """Return the plots of a table; without matplotlib there are none, and a line says so."""
    draw = group.table.draw if group.table else None
    try:
        return draw(records, out) if draw else []
    except ValueError as error:
        tell(str(error))
        return []
