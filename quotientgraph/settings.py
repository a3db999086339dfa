"""`Settings`: every choice of the method in one place, and the presets BEST and PAPER, which are instances of it.

The command line's options, the keywords of `integrate` and `QuotientGraph.optimize`, the laboratory and the reference in the
documentation are all checked against, or generated from, the fields of this class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, Self


def _choice(default: str, help: str, *values: str) -> Any:
    return field(default=default, metadata={"help": help, "choices": values})


def _value(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class Settings:
    """What steers the method. Each field's help text and choices are in its metadata.

    Attributes
    ----------
    angle : float, "auto" or None
        θ_c in degrees: neighbouring pixels belong to one component while their normals differ by less. "auto" chooses it
        from the normals; None makes every pixel a component of its own.
    reweighting : "soft", "hard" or "none"
        Outlier reweighting of the cut edges, with the thresholds `lower` and `upper`.
    thresholds : "natural" or "absolute"
        Whether the thresholds are scaled with the focal length, so that they are lengths in pixels, or are log-depths.
    filling : "contracted" or "induced"
        Whether components are filled without the depth jumps hidden in them, or over all their edges.
    creases : "anywhere" or "midway"
        Where two components meet between two pixels: anywhere, with the edges of a border deciding together, or midway.
    joining : "certain" or "none"
        Whether, in scenes that have flat faces, components are placed against each other by the borders that are most
        certainly contacts, before the reweighted descent places the rest.
    sharpening : "edges" or "none"
        Whether, in scenes that have flat faces and components formed by the automatic angle, blurred edges of the normals
        are made sharp before components are joined.
    straightening : "smooth" or "none"
        Whether a smooth error that bends flat faces is taken out of the normals before components are joined.
    axes : "shared" or "none"
        Whether parts of a turned body that hide one another are placed by their common axis.

    Examples
    --------
    >>> BEST.changed(filling="induced").filling
    'induced'
    >>> PAPER.angle
    3.5
    """

    angle: float | str | None = _value("auto", 'angle between normals of one component: degrees, "auto" or none')
    solver: Any = _value("auto", "backend for the scale systems, see `quotientgraph solvers`")
    fill_solver: Any = _value("auto", "backend for the filling systems, which are larger and better conditioned")
    reweighting: str = _choice("soft", "outlier reweighting of the cut edges", "soft", "hard", "none")
    lower: float = _value(1e-5, "residual up to which a cut edge is an inlier")
    upper: float = _value(1e-3, "residual from which on a cut edge is an outlier")
    thresholds: str = _choice(
        "natural", "thresholds as lengths in pixels, or as absolute log-depths", "natural", "absolute"
    )
    max_iterations: int = _value(150, "iterations after which the scales are taken as they are")
    energy_tol: float = _value(1e-3, "relative change of the energy below which the scales have converged")
    merge_every: int | None = _value(None, "merge components every so many iterations, and whenever converged")
    device: str = _choice("auto", "where the scales are computed", "auto", "cpu", "cuda")
    filling: str = _choice(
        "contracted", "fill components without the jumps hidden in them, or over all edges", "contracted", "induced"
    )
    creases: str = _choice("anywhere", "where components meet between two pixels", "anywhere", "midway")
    joining: str = _choice(
        "certain", "in scenes with flat faces, place components by their most certain borders first", "certain", "none"
    )
    sharpening: str = _choice(
        "edges", "make blurred edges of the normals sharp, as of networks and resampling", "edges", "none"
    )
    straightening: str = _choice(
        "smooth", "take out a smooth error that bends flat faces, as of networks", "smooth", "none"
    )
    axes: str = _choice(
        "shared", "place parts of a turned body that hide one another by their common axis", "shared", "none"
    )
    prior_weight: float = _value(1.0, "trust in the depth prior; its errors are taken to be smaller by the square root")
    prior_kind: str = _choice(
        "auto", "what the depth prior is", "auto", "depth", "disparity", "affine", "affine-disparity"
    )

    def __post_init__(self) -> None:
        for one in fields(self):
            value, choices = getattr(self, one.name), one.metadata.get("choices")
            if choices and value not in choices:
                raise ValueError(f"{one.name}={value!r} is not known; use {', '.join(map(repr, choices))}")
        check_angle(self.angle)
        for name in ("max_iterations", "merge_every"):
            value = getattr(self, name)
            if value is None and name == "merge_every":
                continue
            if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name}={value!r} must be a positive whole number")
        for name in ("energy_tol", "prior_weight", "lower", "upper"):
            if not hasattr(getattr(self, name), "__float__"):
                raise ValueError(f"{name}={getattr(self, name)!r} must be a positive number")
        for name in ("energy_tol", "prior_weight"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name}={getattr(self, name)!r} must be a positive number")
        if not 0 < self.lower < self.upper < float("inf"):
            raise ValueError(f"lower={self.lower} and upper={self.upper} must satisfy 0 < lower < upper")

    @classmethod
    def from_preset(cls, preset: str, **given: Any) -> Self:
        """The settings of a preset, with the given ones in their place; None stands for the preset's own choice.

        Parameters
        ----------
        preset : "best" or "paper"
        **given
            Fields of this class.
        """
        if preset not in PRESETS:
            raise ValueError(f"preset={preset!r} is not known; use {', '.join(map(repr, PRESETS))}")
        return PRESETS[preset].changed(**{name: value for name, value in given.items() if value is not None})

    def changed(self, **given: Any) -> Any:
        """The same settings with some of them replaced; a name that does not exist raises a `ValueError`."""
        for name in given:
            if name not in FIELDS:
                raise ValueError(f"{name!r} is not a setting; use one of {', '.join(FIELDS)}")
        return replace(self, **given)


def check_angle(angle: Any) -> None:
    """Raise a `ValueError` unless this is an angle that components can be formed with."""
    if angle is None or (isinstance(angle, str) and angle == "auto"):
        return
    if isinstance(angle, bool) or not isinstance(angle, Real) or not 0 < float(angle) <= 180:
        raise ValueError(
            f'angle={angle!r} must be between 0 and 180 degrees, "auto", or None for one component a pixel'
        )


FIELDS: Mapping[str, Field[Any]] = MappingProxyType({one.name: one for one in fields(Settings)})
BEST = Settings()
PAPER = Settings(
    angle=3.5,
    thresholds="absolute",
    filling="induced",
    creases="midway",
    joining="none",
    sharpening="none",
    straightening="none",
    axes="none",
)
PRESETS: Mapping[str, Settings] = MappingProxyType({"best": BEST, "paper": PAPER})
