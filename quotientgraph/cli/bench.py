"""``quotientgraph bench``: the arguments of the benchmark, which itself is loaded when it runs."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from .arguments import as_path, not_empty, number, whole
from .messages import UsageError, error, tell

# Repeated here for the help, because the registries are slow to load. A test compares the two.
METHODS = ("components", "pixels", "logdepth", "logdepth-d", "bini", "poisson", "fft")
TABLES = ("main", "connectivity", "convergence", "reweighting", "components", "merging", "bini", "speed", "profile",
          "large", "unseen", "watch")  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "quotientgraph bench DATA... [options]"
    parser.allow_abbrev = False
    parser.add_argument(
        "data", nargs="*", type=not_empty, metavar="DATA", help="folder, folder of folders, or scene:NAME?shape=512x608"
    )
    parser.add_argument("--table", action="append", metavar="NAME", help=f"re-make one of {', '.join(TABLES)}, or all")
    parser.add_argument("--speed", action="append_const", dest="table", const="speed", help="the same as --table speed")
    parser.add_argument(
        "--compare",
        action="append_const",
        dest="table",
        const="watch",
        help="measure a few built-in scenes and compare with the stored history; the same as --table watch",
    )
    parser.add_argument("--record", metavar="LABEL", help="with --compare: add the figures to the history")
    parser.add_argument("--split", default="tune", choices=["tune", "validate", "test"],
                        help="seeds of the random scenes of --table unseen (tune)")  # fmt: skip
    parser.add_argument(
        "--limit", type=whole(1), default=4, metavar="N", help="with --table unseen: seeds of each kind of scene (4)"
    )
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="NAME=V;NAME=V",
        help="with --table unseen: a row with other settings, for an ablation; may be repeated",
    )
    parser.add_argument("--into", type=as_path, metavar="PAGE", help="also write the tables into a Markdown page")
    parser.add_argument(
        "--methods",
        default="components",
        metavar="LIST",
        help=f"comma-separated, of {', '.join(METHODS)}, or all (components)",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=V1,V2", help="a setting; several values are all tried"
    )
    parser.add_argument(
        "--out", type=as_path, default=Path("bench"), metavar="DIR", help="folder for journal, tables and plots (bench)"
    )
    parser.add_argument(
        "--frame", default="opengl", metavar="FRAME", help="frame of normals in files, or auto (opengl)"
    )
    parser.add_argument(
        "--repeat", type=whole(1), default=1, metavar="N", help="runs of each cell; the median time is reported (1)"
    )
    parser.add_argument("--isolate", action="store_true", help="run each cell in a process of its own")
    parser.add_argument(
        "--processes", type=whole(1), default=1, metavar="N", help="cells that run at once, each on one thread (1)"
    )
    parser.add_argument(
        "--timeout",
        type=number(0),
        metavar="S",
        help="stop a cell after S seconds; each then runs in a process of its own",
    )
    parser.add_argument("--fresh", action="store_true", help="measure again what the journal has already")
    parser.add_argument("--any-code", action="store_true", help="keep cells that another version of the code measured")
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="MODULE",
        help="module that registers methods, metrics or tables; may be repeated",
    )
    parser.add_argument("--plots", action="store_true", help="also draw plots (needs matplotlib)")
    parser.add_argument(
        "--color", choices=["auto", "always", "never"], default="auto", help="colours in the tables (auto)"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """Run the command; 0, or 1 if a cell failed."""
    from importlib import import_module

    from ..bench import command, plan

    for place in (args.out, *args.out.parents):
        if place.exists() and not place.is_dir():
            raise UsageError(f"argument --out: {place} is a file, a folder was expected; name another one")
    sys.path.insert(0, os.getcwd())  # a plugin is most likely here
    for plugin in args.plugin:
        try:
            import_module(plugin)
        except ImportError as problem:
            raise UsageError(f"argument --plugin: {problem}") from None
    try:
        groups = plan.make_plan(args)
    except ValueError as problem:
        raise UsageError(problem) from None
    try:
        failed = command.run_plan(args, groups, tell)
    except KeyboardInterrupt:
        error(f"interrupted; the same command continues where it stopped ({args.out / command.JOURNAL})")
        return 130
    for text in failed:
        error(text)
    return 1 if failed else 0
