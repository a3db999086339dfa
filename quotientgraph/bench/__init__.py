"""The laboratory: methods × settings × scenes, measured, next to the figures of the paper.

``quotientgraph bench DATA --table main`` is `command.run`; from Python:

>>> from quotientgraph.bench import Job, find, measure
>>> [case] = find(["scene:plane?shape=24x32"])
>>> record = measure(Job(case, "poisson"))
>>> record["status"], record["made"] < 1e-9
('ok', True)
"""

from .cases import Case, find
from .command import add_arguments, run
from .journal import Journal, machine
from .measure import METRICS, Job, measure
from .tables import TABLES, Entry, Table, register

__all__ = [
    "METRICS",
    "TABLES",
    "Case",
    "Entry",
    "Job",
    "Journal",
    "Table",
    "add_arguments",
    "find",
    "machine",
    "measure",
    "register",
    "run",
]
