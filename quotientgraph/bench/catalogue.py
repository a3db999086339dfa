"""All tables by name: what ``quotientgraph bench --table NAME`` can make."""

from __future__ import annotations

from . import errors, history, speed, stages, unseen
from .tables import Table

TABLES: dict[str, Table] = {
    "main": errors.MAIN,
    "connectivity": errors.CONNECTIVITY,
    "convergence": errors.CONVERGENCE,
    "reweighting": errors.REWEIGHTING,
    "components": errors.COMPONENTS,
    "merging": errors.MERGING,
    "bini": errors.BINI,
    "speed": speed.SPEED,
    "profile": stages.PROFILE,
    "large": stages.LARGE,
    "unseen": unseen.UNSEEN,
    "watch": history.WATCH,
}


def register(name: str, table: Table) -> None:
    """Make a table of your own available as ``--table NAME``; a module named by ``--plugin`` may call this."""
    TABLES[name] = table
