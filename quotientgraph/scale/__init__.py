"""Maps beyond one machine's memory: tiles on Zarr stores, on one machine or on a Dask cluster.

Needs ``pip install "quotientgraph[scale]"``. Nothing of it is imported unless this package is.
"""

from __future__ import annotations

from .cameras import RayFormula
from .integration import integrate
from .report import Report

__all__ = ["RayFormula", "Report", "integrate"]
