"""The command line of the campaign."""

from __future__ import annotations

import argparse
import json
import sys
import time

from . import ATTACKS
from .trial import Outcome


def main() -> int:
    """Run the attacks and print a table; 1 if anything was not survived."""
    parser = argparse.ArgumentParser(prog="python -m quotientgraph.campaign", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, metavar="X", help="try this part of the cases (1)")
    parser.add_argument(
        "--only", action="append", metavar="NAME", choices=list(ATTACKS), help="one attack; may be repeated"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="for other random cases (0)")
    parser.add_argument("--minutes", type=float, default=15.0, metavar="M", help="at most, for each attack (15)")
    parser.add_argument("--show", type=int, default=5, metavar="N", help="failures to show of each attack (5)")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    args = parser.parse_args()
    outcomes: dict[str, tuple[Outcome, float]] = {}
    for name in args.only or ATTACKS:
        attack = ATTACKS[name]
        began = time.monotonic()
        n_cases = max(1, round(attack.n_cases * args.scale))
        outcome = attack.run(n_cases, args.seed, began + 60 * args.minutes)
        outcomes[name] = outcome, time.monotonic() - began
        if not args.json:
            sys.stdout.write(_line(name, outcome, outcomes[name][1], first=len(outcomes) == 1))
            sys.stdout.write("".join(f"    {failure[:300]}\n" for failure in outcome.failures[: args.show]))
            sys.stdout.flush()
    if args.json:
        document = {
            name: {"tried": o.tried, "survived": o.survived, "seconds": round(seconds, 1), "failures": o.failures}
            for name, (o, seconds) in outcomes.items()
        }
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
    return int(any(outcome.survived < outcome.tried or not outcome.tried for outcome, _ in outcomes.values()))


def _line(name: str, outcome: Outcome, seconds: float, first: bool) -> str:
    head = f"{'attack':24}{'tried':>8}{'survived':>10}{'seconds':>9}\n" if first else ""
    return f"{head}{name:24}{outcome.tried:8,}{outcome.survived:10,}{seconds:9.0f}\n"


if __name__ == "__main__":
    sys.exit(main())
