"""Comparing backends: write the systems of a real run to files, and time solvers on such files."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .core.arrays import to_host
from .pattern import Pattern
from .registry import available, backends, get, name_of
from .solution import Solution
from .system import LaplacianSystem


@dataclass
class Dumping:
    """A solver that saves each system it is given, as ``0000.npz``, ``0001.npz``, …, and lets another one solve it.

    Attributes
    ----------
    solver : Solver
        The solver that does the work.
    folder : path
        Where the files go. It is made when the first system comes.
    count : int
        Number of systems saved so far.

    Examples
    --------
    >>> import tempfile
    >>> from quotientgraph import solvers
    >>> system = solvers.LaplacianSystem.from_edges(2, [0], [1], [1.0], [2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     x = solvers.Dumping(solvers.get("direct"), folder).solve(system).x
    ...     sorted(os.listdir(folder)), x.tolist()
    (['0000.npz'], [1.0, -1.0])
    """

    solver: Any
    folder: str | os.PathLike[str]
    count: int = field(default=0, init=False)

    @property
    def name(self) -> str:
        """The name of the solver that does the work."""
        return name_of(self.solver)

    @property
    def on_device(self) -> bool:
        """Whether the solver that does the work takes systems on the GPU."""
        return getattr(self.solver, "on_device", False)

    def solve(self, system: LaplacianSystem) -> Solution:
        """Save a system and solve it."""
        Path(self.folder).mkdir(parents=True, exist_ok=True)
        system.save(Path(self.folder) / f"{self.count:04d}.npz")
        self.count += 1
        return self.solver.solve(system)


@dataclass(frozen=True)
class Timing:
    """One backend on one system.

    Attributes
    ----------
    file, backend : str
    n, n_pairs : int
        Unknowns and pairs of joined unknowns.
    first, again : float
        Seconds of a solve on a new pattern, and of one on a pattern the backend has seen: what later iterations cost.
    iterations : int
    residual : float
        ‖b − L x‖ / ‖b‖, computed here and not by the backend.
    error : float
        Distance to the solution of "direct" in the energy norm, relative to the size of that solution.
    converged : bool
    problem : str
        What was raised, if anything; the numbers are then NaN.
    """

    file: str
    backend: str
    n: int
    n_pairs: int
    first: float = float("nan")
    again: float = float("nan")
    iterations: int = 0
    residual: float = float("nan")
    error: float = float("nan")
    converged: bool = False
    problem: str = ""


def listing() -> list[dict[str, Any]]:
    """All known backends, as rows of name, available, version, reason (why it is not available)."""
    return [
        {"name": b.name, "available": b.problem is None, "version": b.version, "reason": b.problem or ""}
        for b in backends()
    ]


def compare(
    files: Iterable[str | os.PathLike[str]], names: Iterable[str] | None = None, repeats: int = 3
) -> list[Timing]:
    """Time backends on systems that `Dumping` has saved.

    Each solve is repeated and the least time counts, so that compilation and other programs do not.

    Parameters
    ----------
    files : iterable of paths
    names : iterable of str, optional
        Backends to time. The default is "auto" and every backend that can be used here.
    repeats : int

    Returns
    -------
    list of Timing
        One for each file and backend. A backend that fails is listed with its error.

    Examples
    --------
    >>> import tempfile
    >>> from quotientgraph import solvers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     solvers.LaplacianSystem.from_edges(2, [0], [1], [1.0], [2.0]).save(f"{folder}/tiny.npz")
    ...     [timing.backend for timing in solvers.compare([f"{folder}/tiny.npz"], ["direct", "scipy"])]
    ['direct', 'scipy']
    """
    names = ["auto", *available()] if names is None else list(names)
    rows = []
    for file in files:
        system = LaplacianSystem.load(file)
        exact = get("direct").solve(system).x
        for name in names:
            try:
                rows.append(_timing(os.fspath(file), name, system, exact, repeats))
            except Exception as error:  # a broken backend must not hide the figures of the others
                reason = f"{type(error).__name__}: {error}"
                rows.append(Timing(os.fspath(file), name, system.n, system.pattern.n_pairs, problem=reason))
    return rows


def _timing(file: str, name: str, system: LaplacianSystem, exact: np.ndarray, repeats: int) -> Timing:
    solver = get(name)
    first = again = float("inf")
    for _ in range(repeats):
        fresh = _copy(system)
        began = time.perf_counter()
        solver.solve(fresh)
        between = time.perf_counter()
        solution = solver.solve(LaplacianSystem(fresh.pattern, fresh.weight, fresh.flow))
        first, again = min(first, between - began), min(again, time.perf_counter() - between)
    x = to_host(solution.x)
    return Timing(
        file, name, system.n, system.pattern.n_pairs, first, again, solution.iterations,
        system.residual(x), energy_error(system, x, exact), solution.converged,
    )  # fmt: skip


def energy_error(system: LaplacianSystem, x: np.ndarray, exact: np.ndarray) -> float:
    """‖x − exact‖ / ‖exact‖ in the norm xᵀ L x."""
    off, size = ((v[system.pattern.tail] - v[system.pattern.head]) ** 2 @ system.weight for v in (x - exact, exact))
    return float(np.sqrt(off / size)) if size > 0 else float(np.sqrt(off))


def _copy(system: LaplacianSystem) -> LaplacianSystem:
    """The same system on a pattern that no backend has seen."""
    pattern = Pattern(system.n, system.pattern.tail, system.pattern.head)
    return LaplacianSystem(pattern, system.weight, system.flow)


def rows(timings: Iterable[Timing]) -> list[dict[str, Any]]:
    """Timings as plain dictionaries, for JSON."""
    return [asdict(timing) for timing in timings]


def timing_table(timings: Iterable[Timing]) -> str:
    """Timings as a table of text with one line for each.

    Parameters
    ----------
    timings : iterable of Timing

    Returns
    -------
    str

    Examples
    --------
    >>> print(timing_table([Timing("a.npz", "scipy", 2, 1, problem="out of order")]).splitlines()[1])
    a                        scipy              2         1 out of order
    """
    numbers = ("unknowns", "pairs", "first", "again")
    lines = [
        " ".join([f"{'system':24} {'backend':10}", *(f"{word:>9}" for word in numbers), " iter.  residual     error"])
    ]
    for t in timings:
        start = f"{Path(t.file).stem[-24:]:24} {t.backend:10} {t.n:9d} {t.n_pairs:9d} "
        if t.problem:
            lines.append(start + t.problem)
            continue
        mark = "" if t.converged else "  not converged"
        figures = f"{1e3 * t.first:7.1f}ms {1e3 * t.again:7.1f}ms {t.iterations:6d} {t.residual:9.1e} {t.error:9.1e}"
        lines.append(start + figures + mark)
    return "\n".join(lines)
