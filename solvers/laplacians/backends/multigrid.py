"""Conjugate gradients preconditioned by multigrid: few iterations at any size, for the largest systems."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..core.jit import kernel, prange
from ..core.stopping import IterativeOptions
from ..multigrid.hierarchy import Hierarchy
from ..multigrid.lists import N_BLOCKS, PARALLEL_FROM, Lists, dot
from ..system import LaplacianSystem, Solution


def status() -> tuple[str | None, str]:
    from importlib.metadata import version

    return None, version("numba")


@dataclass(frozen=True)
class Multigrid(IterativeOptions):
    """CG with a contraction-multigrid preconditioner; see `laplacians.hierarchy`.

    The hierarchy's weights are rounded to single precision; the residual is that of the system as it is.

    Attributes
    ----------
    coarsest : int
        Graphs with at most this many unknowns are solved directly.
    energy_tol : float, optional
        Also stop when the energy still to be gained is estimated to be below this fraction of the energy, for systems
        that say what their energy is: the equations then contradict each other far more than the solution is off.
    """

    coarsest: int = 4000
    energy_tol: float | None = None

    def solve(self, system: LaplacianSystem) -> Solution:
        if system.settled:
            return system.nothing()
        pattern, x = system.pattern, np.zeros(system.n)
        scale = system.weight.max()  # keeps the rounded weights within the range of single precision
        graph = Lists.from_edges(system.n, pattern.tail, pattern.head, system.weight / scale)
        iterations, residual, enough = 0, 1.0, False
        # What the rounding of the weights cost is mended by solving for what is left, twice at most.
        for _ in range(3):
            inner = replace(self, rtol=max(1e-10, 0.9 * self.rtol / residual), maxiter=self.maxiter - iterations)
            left = (system.rhs - system.apply(x)) / scale
            more, _, enough = inner.solve_lists(graph, left, x, system.energy / scale)
            iterations += more
            residual = system.residual(x)
            if residual <= self.rtol or self.energy_tol is not None or iterations >= self.maxiter:
                break
        reached = residual <= self.rtol or (self.energy_tol is not None and enough)
        return Solution(system.centred(x), reached, iterations, residual)

    def solve_lists(self, graph: Lists, r: np.ndarray, x: np.ndarray, energy: float) -> tuple[int, float, bool]:
        """Flexible CG from zero, added to x; r is b on entry and the residual on exit.

        Returns the iterations, ‖r‖/‖b‖ and whether a tolerance was reached.
        """
        size = np.sqrt(dot(r, r))
        if size == 0:
            return 0, 0.0, True
        hierarchy = Hierarchy.from_lists(graph, self.coarsest)
        if not hierarchy.levels:
            x += hierarchy.factor.solve(r)
            return 1, 0.0, True
        target = -1.0 if self.energy_tol is None or not energy > 0 else self.energy_tol
        p, q = np.zeros(graph.n), np.empty(graph.n)
        rr, rz, alpha = size * size, 1.0, 0.0
        for iteration in range(1, self.maxiter + 1):
            z = hierarchy.cycle(0, r)
            new_rz = dot(r, z)
            if new_rz <= target * energy:
                return iteration - 1, float(np.sqrt(rr) / size), True
            # r·z of the last residual: it was r + αq, so the flexible formula needs no copy of it.
            beta = -alpha * dot(q, z) / rz if iteration > 1 else 0.0
            _combine(p, z, beta)
            alpha = new_rz / graph.apply(p, q)
            part = np.zeros(N_BLOCKS)
            _advance(x, r, p, q, alpha, part)
            rr = float(part.sum())
            rz = new_rz
            energy -= alpha * new_rz
            if np.sqrt(rr) <= self.rtol * size:
                return iteration, float(np.sqrt(rr) / size), True
        return self.maxiter, float(np.sqrt(rr) / size), False


@kernel(parallel=True, parallel_from=PARALLEL_FROM)
def _combine(p, z, beta):
    for i in prange(len(p)):
        p[i] = z[i] + beta * p[i]


@kernel(parallel=True, parallel_from=PARALLEL_FROM)
def _advance(x, r, p, q, alpha, part):
    """x += αp, r −= αq; part: r·r over each of some blocks."""
    n, n_blocks = len(x), len(part)
    for b in prange(n_blocks):
        s = 0.0
        for i in range(b * n // n_blocks, (b + 1) * n // n_blocks):
            x[i] += alpha * p[i]
            r[i] -= alpha * q[i]
            s += r[i] * r[i]
        part[b] = s
