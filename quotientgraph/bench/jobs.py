"""What to measure: a case, a method and its settings."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from ..integration import integrate
from ..result import Reconstruction
from .cases import Case, Maps
from .papercg import NAME as PAPER_SOLVER
from .papercg import PaperCG

Record = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """What to measure.

    Attributes
    ----------
    case : Case
    method : str
        A name of `quotientgraph.integration.METHODS`.
    settings : dict
        `angle`, `connectivity` and the settings of the method; only what JSON can hold.
    trace : bool
        Whether to measure also what was reached at each level of merging, by running again up to the end of each.
    repeat : int
        How often to run; the median time counts.
    """

    case: Case
    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    trace: bool = False
    repeat: int = 1

    @property
    def key(self) -> str:
        """A text that is the same for the same measurement."""
        content = [self.case.source, self.case.frame, self.method, self.settings, self.trace, self.repeat]
        return json.dumps(content, sort_keys=True)

    def to_json(self) -> Record:
        return {**asdict(self), "case": {name: getattr(self.case, name) for name in ("name", "source", "frame")}}

    @classmethod
    def from_json(cls, content: Record) -> Job:
        return cls(**{**content, "case": Case(**content["case"])})


def run_method(job: Job, maps: Maps) -> Reconstruction:
    """Integrate the maps of a job by its method and settings, and return the reconstruction."""
    settings = dict(job.settings)
    if settings.get("solver") == PAPER_SOLVER:
        settings["solver"] = PaperCG()
    return integrate(maps.normals, maps.mask, maps.camera, frame=maps.frame, method=job.method, **settings)
