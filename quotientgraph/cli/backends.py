"""``quotientgraph solvers``: list the backends, and time them on real systems."""

from __future__ import annotations

import argparse

from .messages import UsageError, print_json, tell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bench", nargs="+", metavar="FILE", help="time them on systems from `integrate --dump-systems DIR`"
    )
    parser.add_argument("--solver", action="append", metavar="NAME", help="time only this backend; may be repeated")
    parser.add_argument("--repeat", type=int, metavar="N", help="solve N times and report the fastest (3)")
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(args: argparse.Namespace) -> int:
    from laplacians import comparison

    if args.bench:
        return _bench(args)
    for option, value in (("--solver", args.solver), ("--repeat", args.repeat)):
        if value is not None:
            raise UsageError(f"argument {option}: it does nothing without --bench FILE; add that, or leave it out")
    rows = comparison.listing()
    if args.json:
        print_json(rows)
        return 0
    table = [("backend", "usable", "version, or what is missing")]
    table += [(row["name"], "yes" if row["available"] else "no", row["reason"] or row["version"]) for row in rows]
    for name, usable, text in table:
        tell(f"{name:12} {usable:8} {text}".rstrip())
    tell("The default, auto, picks one of the usable ones for each system.")
    return 0


def _bench(args: argparse.Namespace) -> int:
    import laplacians
    from laplacians import comparison

    repeat = 3 if args.repeat is None else args.repeat
    if repeat < 1:
        raise UsageError(f"argument --repeat: {repeat} must be at least 1")
    known = ["auto", *laplacians.available()]
    for name in args.solver or ():
        if name not in known:
            raise UsageError(f"argument --solver: {name!r} cannot be used here; use one of {', '.join(known)}")
    timings = comparison.compare(args.bench, args.solver, repeat)
    if args.json:
        print_json(comparison.rows(timings))
    else:
        tell(comparison.timing_table(timings))
    return 1 if any(timing.problem for timing in timings) else 0
