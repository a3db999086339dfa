"""The laboratory: methods × settings × scenes, measured, next to the figures of the paper.

``quotientgraph bench DATA --table main`` is `command`; from Python:

>>> from quotientgraph.bench import Job, find, measure
>>> [case] = find(["scene:plane?shape=24x32"])
>>> record = measure(Job(case, "poisson"))
>>> record["status"], record["made"] < 1e-9
('ok', True)
"""

from . import errors as _errors  # noqa: F401  (registers the paper's tables of errors)
from . import speed as _speed  # noqa: F401  (and those of time)
from . import stages as _stages  # noqa: F401
from .cases import Case, find
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
    "find",
    "machine",
    "measure",
    "register",
]
