"""Backends by name: `register`, `get`, `available`, and those that other packages add by entry point.

A backend is any class whose instances have ``solve(system) -> Solution``; its constructor takes its options as
keywords. Another package adds one by declaring an entry point in the group ``quotientgraph.solvers``. A backend is given
systems of numpy arrays, unless its class says ``on_device = True``: then it is given them as they are, which may be on the
GPU. It may have ``prepare(pattern)``, to begin with what depends on the pattern alone, but must be able to solve without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from .backends.auto import Auto
from .core.arrays import gpu_problem
from .solution import Solution
from .system import LaplacianSystem

ENTRY_POINT_GROUP = "quotientgraph.solvers"


@runtime_checkable
class Solver(Protocol):
    """Anything that solves a `LaplacianSystem`."""

    def solve(self, system: LaplacianSystem) -> Solution:
        """The solution whose mean over each connected piece is zero; see `laplacians.system` for the contract."""
        ...


@dataclass(frozen=True)
class Backend:
    """An entry of the registry.

    Attributes
    ----------
    name : str
    factory : callable
        Makes the solver from its options.
    problem : str, optional
        Why it cannot be used here; None if it can be.
    version : str
        Version of the package that it is built on.
    """

    name: str
    factory: Callable[..., Solver]
    problem: str | None = None
    version: str = ""


# For each backend of this package, its "module:class" and the package that it is built on. A module is imported when its
# backend is first asked about.
_BUILT_IN = {
    "cupy": ("cupy_cg:CupyCG", "cupy"),
    "direct": ("direct:Direct", "numba"),
    "multigrid": ("multigrid:Multigrid", "numba"),
    "numba": ("numba_cg:NumbaCG", "numba"),
    "pyamg": ("pyamg_cg:PyamgCG", "pyamg"),
    "scipy": ("scipy_cg:ScipyCG", "scipy"),
}
# How to install what this package does not require.
_INSTALL = {"pyamg": 'pip install "quotientgraph[amg]"'}
_registered: dict[str, Callable[..., Solver]] = {}


def register(name: str, factory: Callable[..., Solver]) -> None:
    """Make a backend of one's own available by name, in this process.

    Parameters
    ----------
    name : str
        A name that is registered already is replaced.
    factory : callable
        ``factory(**options)`` returns a solver; usually its class.

    Examples
    --------
    >>> from quotientgraph import solvers
    >>> solvers.register("mine", MySolver)  # doctest: +SKIP
    >>> solvers.get("mine", rtol=1e-9).solve(system)  # doctest: +SKIP
    """
    if not name or not isinstance(name, str):
        raise ValueError(f"name: a backend needs a non-empty name, got {name!r}")
    if not callable(factory):
        raise ValueError(f"factory: expected a class or function that makes a solver, got {factory!r}")
    _registered[name] = factory


def backends() -> list[Backend]:
    """All known backends sorted by name, including those that cannot be used on this machine.

    Returns
    -------
    list of Backend

    Examples
    --------
    >>> from quotientgraph import solvers
    >>> [b.name for b in solvers.backends() if b.name in ("cupy", "scipy")]
    ['cupy', 'scipy']
    """
    from importlib.metadata import entry_points  # it takes a tenth of the time in which this project is imported

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
    """Names of the backends that can be used on this machine.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from quotientgraph import solvers
    >>> {"direct", "multigrid", "numba", "scipy"} <= set(solvers.available())
    True
    """
    return [backend.name for backend in backends() if backend.problem is None]


def get(name: str, **options: Any) -> Solver:
    """Make a solver.

    Parameters
    ----------
    name : str
        A name from `available`, or "auto", which chooses a backend for each system.
    **options
        What the backend takes, for instance ``rtol=1e-8``.

    Returns
    -------
    Solver

    Raises
    ------
    ValueError
        If there is no such backend, if it cannot be used here, or if an option has a wrong value.

    Examples
    --------
    >>> from quotientgraph import solvers
    >>> solvers.get("scipy", rtol=1e-8)
    ScipyCG(rtol=1e-08, maxiter=5000)
    """
    if name == "auto":
        return Auto(**options)
    known = {backend.name: backend for backend in backends()}
    if name not in known:
        raise ValueError(f"solver={name!r} is not known; available here: {', '.join(available())}")
    if known[name].problem:
        raise ValueError(f"solver={name!r} cannot be used: {known[name].problem}")
    return known[name].factory(**options)


def name_of(solver: Any) -> str:
    """The name under which the class of a solver is registered, or else its own ``name``, or else that of the class."""
    names = [("auto", Auto), *((backend.name, backend.factory) for backend in backends())]
    own = getattr(solver, "name", None)
    known = (name for name, factory in names if factory is type(solver))
    return next(known, own if isinstance(own, str) else type(solver).__name__)


def _built_in(name: str) -> Backend:
    """The registry entry of a backend of this package."""
    home, package = _BUILT_IN[name]
    module, kind = home.split(":")
    problem, version = _status(package)
    return Backend(name, getattr(import_module(f"{__package__}.backends.{module}"), kind), problem, version)


def _status(package: str) -> tuple[str | None, str]:
    """Why a package cannot be used here, or None, and its version."""
    if package == "cupy":  # its distributions have one name per CUDA version, and it needs a GPU
        problem = gpu_problem()
        return problem, "" if problem else import_module("cupy").__version__
    from importlib import metadata

    try:
        return None, metadata.version(package)
    except metadata.PackageNotFoundError:
        return f"{package} is not installed; install it with: {_INSTALL.get(package, f'pip install {package}')}", ""


def _unusable(**options: Any) -> Solver:
    raise ValueError("this backend cannot be used here")
