"""From the arguments of ``quotientgraph bench`` to what is measured."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ..integration import METHODS, keywords_of
from .cases import find
from .catalogue import TABLES
from .jobs import Job
from .pages import has_place
from .plots import needs_matplotlib
from .settings_text import settings_grid
from .tables import Table
from .unseen import VARIANTS, unseen_cases, unseen_table, variations


@dataclass(frozen=True)
class Group:
    """The jobs of one table, or with no table, of a free comparison of methods and settings."""

    name: str
    table: Table | None
    jobs: list[Job]


def make_plan(args: argparse.Namespace) -> list[Group]:
    """Return the groups of jobs that the arguments ask for; a `ValueError` says what is wrong with them."""
    if args.plots:
        needs_matplotlib()
    if args.timeout is not None and args.processes > 1:
        raise ValueError("--processes does not go with --timeout; leave one of them out")
    return _tables(args) if args.table else [_comparison(args)]


def _tables(args: argparse.Namespace) -> list[Group]:
    names = list(TABLES) if "all" in args.table else list(dict.fromkeys(args.table))
    unknown = [name for name in names if name not in TABLES]
    if unknown:
        raise ValueError(f"--table: {', '.join(unknown)} not known; use {', '.join(TABLES)} or all")
    if args.into is not None:
        if not args.into.is_file():
            raise ValueError(f"--into {args.into}: there is no such page")
        lost = [name for name in names if not has_place(args.into, name)]
        if lost:
            raise ValueError(f"--into {args.into}: the page has no lines <!-- bench:{lost[0]} --> and its end")
    tables = {name: TABLES[name] for name in names}
    cases = find(args.data, args.frame) if args.data and names != ["unseen"] else []
    if not cases and any(table.needs_data for table in tables.values()):
        raise ValueError(
            "name a folder with normal maps; only the tables speed, unseen and watch have cases of their own"
        )
    if "unseen" in names:
        tables["unseen"] = unseen_table(_unseen_rows(args))
        cases = [*cases, *unseen_cases(args.split, args.limit, args.data)]
    fixed = {name: values[0] for name, values in settings_grid(args.set).items()}
    _check_settings("--set", fixed, list(METHODS))
    groups = []
    for name, table in tables.items():
        jobs = [
            replace(job, settings={**job.settings, **fixed}, repeat=max(job.repeat, args.repeat))
            for job in table.jobs(cases)
        ]
        if jobs:
            groups.append(Group(name, table, jobs))
    if not groups:
        known = ", ".join(case.name for case in cases)
        raise ValueError(f"--table {', '.join(names)}: no use for {known}; the tables are of DiLiGenT's objects")
    return groups


def _unseen_rows(args: argparse.Namespace) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the rows of the table of unseen scenes: the usual ones, or an ablation; other methods are added to both."""
    others = [name for name in _methods(args.methods) if name != "components"]
    if args.vary:
        rows = variations(args.vary, others)
        _check_settings("--vary", [name for _, settings in rows.values() for name in settings], ["components"])
        return rows
    return {**VARIANTS, **{name: (name, {}) for name in others}}


def _comparison(args: argparse.Namespace) -> Group:
    cases = find(args.data, args.frame)
    if not cases:
        raise ValueError("name a folder with normal maps, or scene:NAME; or a table that has scenes of its own")
    grid = settings_grid(args.set)
    combinations = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
    methods = _methods(args.methods)
    _check_settings("--set", grid, methods)
    return Group(
        "",
        None,
        [
            Job(case, method, _understood(method, settings), repeat=args.repeat)
            for case in cases
            for method in methods
            for settings in combinations
        ],
    )


def _methods(text: str) -> list[str]:
    names = list(METHODS) if text == "all" else text.split(",")
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise ValueError(f"--methods: {', '.join(unknown)} not known; use {', '.join(METHODS)}")
    return names


def _understood(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that a method has; varying the others would measure the same thing again."""
    known = _settings_of(name)
    return {key: value for key, value in settings.items() if key in known}


def _settings_of(method: str) -> list[str]:
    return [*keywords_of(method), "connectivity", *(["angle"] if METHODS[method].joins_pixels else [])]


def _check_settings(option: str, names: Iterable[str], methods: list[str]) -> None:
    """Raise a `ValueError` for a setting that none of the methods has, which is most likely misspelt."""
    known = list(dict.fromkeys(name for method in methods for name in _settings_of(method)))
    for name in names:
        if name not in known:
            raise ValueError(
                f"{option} {name}: {', '.join(methods)} has no such setting; use one of {', '.join(known)}"
            )
