"""Real systems to files, and backends timed on such files."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .core.arrays import to_host
from .registry import available, backends, get
from .system import LaplacianSystem, Pattern, Solution


@dataclass
class Dumping:
    """A solver that saves each system it is given, as ``0000.npz``, ``0001.npz``, …, and has another one solve it.

    >>> import solvers, tempfile
    >>> system = solvers.LaplacianSystem.from_edges(2, [0], [1], [1.0], [2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     x = Dumping(solvers.get("direct"), folder).solve(system).x
    ...     sorted(os.listdir(folder)), x.tolist()
    (['0000.npz'], [1.0, -1.0])
    """

    solver: Any
    folder: str | os.PathLike[str]
    count: int = field(default=0, init=False)

    @property
    def on_device(self) -> bool:
        return getattr(self.solver, "on_device", False)

    def solve(self, system: LaplacianSystem) -> Solution:
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


def bench(
    files: Iterable[str | os.PathLike[str]], names: Iterable[str] | None = None, repeats: int = 3
) -> list[Timing]:
    """Time backends on dumped systems; by default all that are available here, and "auto".

    Each solve is repeated and the least time counts, so that neither compilation nor other programs do.
    """
    names = ["auto", *available()] if names is None else list(names)
    rows = []
    for file in files:
        system = LaplacianSystem.load(file)
        exact = get("direct").solve(system).x
        for name in names:
            try:
                rows.append(_timing(os.fspath(file), name, system, exact, repeats))
            except Exception as error:  # one broken backend must not hide the others' figures
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
        solution = solver.solve(fresh.pattern.system(fresh.weight, fresh.flow))
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
    return Pattern(system.n, system.pattern.tail, system.pattern.head).system(system.weight, system.flow)


def rows(timings: Iterable[Timing]) -> list[dict[str, Any]]:
    """Timings as plain dictionaries, for JSON."""
    return [asdict(timing) for timing in timings]


def table(timings: Iterable[Timing]) -> str:
    """Timings as text, one line each."""
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
