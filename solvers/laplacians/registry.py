"""Backends by name: `register`, `get`, `available`, and third-party ones by entry point.

A backend is any class whose instances have ``solve(system) -> Solution``; its constructor takes its options as
keywords. Another package adds one by declaring an entry point in the group ``quotientgraph.solvers``. Systems come with
numpy arrays, unless the class says ``on_device = True``: then they come as they are, which may be on the GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Protocol, runtime_checkable

from .backends.auto import Auto
from .system import LaplacianSystem, Solution

ENTRY_POINT_GROUP = "quotientgraph.solvers"


@runtime_checkable
class Solver(Protocol):
    """Anything that solves a `LaplacianSystem`; see the conventions of `laplacians.system`."""

    def solve(self, system: LaplacianSystem) -> Solution: ...


@dataclass(frozen=True)
class Backend:
    """A registry entry: how to make the solver, and why it cannot be used here, if so."""

    name: str
    factory: Callable[..., Solver]
    problem: str | None = None
    version: str = ""


# name -> "module:class" of this package; a module is imported when its backend is first asked about.
_BUILT_IN = {
    "cupy": "cupy_cg:CupyCG",
    "direct": "direct:Direct",
    "multigrid": "multigrid:Multigrid",
    "numba": "numba_cg:NumbaCG",
    "pyamg": "pyamg_cg:PyamgCG",
    "scipy": "scipy_cg:ScipyCG",
}
_registered: dict[str, Callable[..., Solver]] = {}


def register(name: str, factory: Callable[..., Solver]) -> None:
    """Make `factory(**options)` available under `name`; a name may be registered again, replacing the former."""
    if not name or not isinstance(name, str):
        raise ValueError(f"name: a backend needs a non-empty name, got {name!r}")
    if not callable(factory):
        raise ValueError(f"factory: expected a class or function that makes a solver, got {factory!r}")
    _registered[name] = factory


def backends() -> list[Backend]:
    """All known backends, usable here or not, sorted by name."""
    found = {name: _built_in(name) for name in _BUILT_IN}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            found[point.name] = Backend(point.name, point.load(), version=point.dist.version if point.dist else "")
        except Exception as error:  # a broken third-party package must not take the others down
            found[point.name] = Backend(point.name, _unusable, f"its entry point {point.value} failed: {error}")
    for name, factory in _registered.items():
        found[name] = Backend(name, factory)
    return [found[name] for name in sorted(found)]


def available() -> list[str]:
    """Names of the backends that can be used on this machine."""
    return [backend.name for backend in backends() if backend.problem is None]


def get(name: str, **options: Any) -> Solver:
    """Make the backend `name` with the given options, e.g. ``get("scipy", rtol=1e-8)``; "auto" picks one per system."""
    if name == "auto":
        return Auto(**options)
    known = {backend.name: backend for backend in backends()}
    if name not in known:
        raise ValueError(f"solver={name!r} is not known; available here: {', '.join(available())}")
    if known[name].problem:
        raise ValueError(f"solver={name!r} cannot be used: {known[name].problem}")
    return known[name].factory(**options)


def name_of(solver: Any) -> str:
    """The name a solver's class is registered under, else the name of its class."""
    kind = type(solver)
    if kind is Auto:
        return "auto"
    return next((backend.name for backend in backends() if backend.factory is kind), kind.__name__)


def _built_in(name: str) -> Backend:
    module_name, class_name = _BUILT_IN[name].split(":")
    try:
        module = import_module(f"{__package__}.backends.{module_name}")
    except ImportError as error:
        return Backend(name, _unusable, str(error))
    problem, version = module.status() if hasattr(module, "status") else (None, "")
    return Backend(name, getattr(module, class_name), problem, version)


def _unusable(**options: Any) -> Solver:
    raise ValueError("this backend cannot be used here")
