"""``quotientgraph data``: tell where the benchmark data come from, fetch them or check them."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from .arguments import as_path
from .messages import UsageError, tell, write

HOME = "QUOTIENTGRAPH_DATA"  # environment variable: the folder that holds `diligent` and `scenes`


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=["explain", "check", "fetch"],
        default="explain",
        help="explain (default) where the data come from, check a copy by its hashes, or fetch one",
    )
    parser.add_argument(
        "folder", nargs="?", type=as_path, help=f"where the data are, or are to be put (default: ${HOME})"
    )


def run(args: argparse.Namespace) -> int:
    """Run the command; 1 if files are missing or differ, or cannot be fetched."""
    from ..bench import downloads

    if args.action == "explain":
        write(downloads.ABOUT, sys.stdout)
        return 0
    folder = args.folder or (Path(os.environ[HOME]) if os.environ.get(HOME) else None)
    if folder is None:
        raise UsageError(f"name a folder, or set {HOME}")
    if args.action == "fetch":
        for got in downloads.fetch(folder):
            tell(f"{got}")
    states = downloads.check_files(folder)
    for path, state in states:
        tell(f"{state:14s} {path}")
    bad = sum(state != "ok" for _, state in states)
    tell(f"{len(states) - bad} of {len(states)} known files are in {folder}")
    return 1 if bad else 0
