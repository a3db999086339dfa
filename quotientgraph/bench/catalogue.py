"""All tables by name: what ``quotientgraph bench --table NAME`` can make."""

from __future__ import annotations

from . import errors, history, speed, stages, unseen
from .tables import Table

TABLES: dict[str, Table] = {
    "main": errors.MAIN_TABLE,
    "connectivity": errors.CONNECTIVITY_TABLE,
    "convergence": errors.CONVERGENCE_TABLE,
    "reweighting": errors.REWEIGHTING_TABLE,
    "components": errors.COMPONENTS_TABLE,
    "merging": errors.MERGING_TABLE,
    "bini": errors.BINI_TABLE,
    "speed": speed.SPEED_TABLE,
    "profile": stages.PROFILE_TABLE,
    "large": stages.LARGE_TABLE,
    "unseen": unseen.UNSEEN_TABLE,
    "watch": history.WATCH_TABLE,
}


def register(name: str, table: Table) -> None:
    """Make a table of your own available as ``--table NAME``; a module named by ``--plugin`` may call this."""
    TABLES[name] = table
