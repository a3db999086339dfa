"""Maps beyond one machine's memory: tiles on Zarr stores, on one machine or on a Dask cluster.

Needs ``pip install "quotientgraph[scale]"``. Nothing of it is imported unless this package is.

A map's way through the modules:

======================  ==================================================================================================
the call                `integration`, then `run` with its stages; `report`
tiles and their files   `tiling`, `window`, `sources`, `cameras`, `work`, `journal`, `outputs`, `ownership`
where tasks run         `pool`, and what they take, `memory`
groups of tiles         `groups`, `uniting`
before components       `doubts`, `angle`, `sampling`; for textures `slope`, `continuous`, `nearest`
components              `components`, `numbering`; `crumbs`
hidden depth jumps      `hidden`, `forest`, `leftout`
filling                 `filling`, `seams`, then `rounds` on a `field`; coarse grid: `coarse`, `coarse_system`, `blocks`
joining                 `joining` on a `band`, `faces`
scales                  `borders`, `scales`
======================  ==================================================================================================
"""

from __future__ import annotations

from .cameras import RayFormula
from .integration import integrate
from .report import Report

__all__ = ["RayFormula", "Report", "integrate"]
