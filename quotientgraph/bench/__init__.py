"""The laboratory: methods × settings × scenes, measured, next to the figures of the paper.

``quotientgraph bench DATA --table main`` is `plan` and `command`; `catalogue` lists the tables. From Python:

>>> from quotientgraph.bench import Job, find, measure
>>> [case] = find(["scene:plane?shape=24x32"])
>>> record = measure(Job(case, "poisson"))
>>> record["status"], record["made"] < 1e-9
('ok', True)
"""

from .cases import Case, find
from .catalogue import TABLES, register
from .jobs import Job
from .journal import Journal, machine
from .measure import METRICS, measure
from .runs import run_jobs
from .tables import Entry, Table

__all__ = [
    "METRICS",
    "TABLES",
    "Case",
    "Entry",
    "Job",
    "Journal",
    "Table",
    "find",
    "machine",
    "measure",
    "register",
    "run_jobs",
]
