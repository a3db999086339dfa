"""Conjugate gradients fused into one Numba kernel, matrix-free on the graph, on all cores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.jit import kernel, prange
from ..core.stopping import MARGIN, IterativeOptions
from ..system import LaplacianSystem, Solution


def status() -> tuple[str | None, str]:
    from importlib.metadata import version

    return None, version("numba")


@dataclass(frozen=True)
class NumbaCG(IterativeOptions):
    """Jacobi-preconditioned CG. Sums are taken over fixed blocks, so the result does not depend on the threads."""

    def solve(self, system: LaplacianSystem) -> Solution:
        if system.settled:
            return system.nothing()
        start, neighbour, pair = system.pattern.adjacency
        weight, diagonal, rhs = system.weight[pair], system.diagonal, system.rhs
        x, iterations, residual = np.zeros(system.n), 0, 1.0
        # The residual that CG updates drifts from the true one; while that is too large, CG goes on from x.
        while residual > self.rtol and iterations < self.maxiter:
            left = rhs - system.apply(x)
            goal = MARGIN * self.rtol / residual
            more = conjugate_gradients(start, neighbour, weight, diagonal, left, x, goal, self.maxiter - iterations)
            iterations += more
            residual = system.residual(x)
            if more == 0:
                break
        return Solution(system.centred(x), residual <= self.rtol, iterations, residual)


@kernel(parallel=True)
def conjugate_gradients(start, neighbour, weight, diagonal, r, x, rtol, maxiter):
    """CG from the x given; r is b − L x, and has shrunk by rtol on exit. Returns the iterations."""
    n = len(x)
    n_blocks = min(64, n)  # fixed, so that sums come out the same on any number of threads
    part = np.zeros((2, 64))
    p = np.empty(n)
    q = np.empty(n)
    inverse = np.empty(n)
    for block in prange(n_blocks):
        s, t = 0.0, 0.0
        for i in range(block * n // n_blocks, (block + 1) * n // n_blocks):
            inverse[i] = 1.0 / diagonal[i] if diagonal[i] > 0 else 0.0
            p[i] = r[i] * inverse[i]
            s += r[i] * p[i]
            t += r[i] * r[i]
        part[0, block] = s
        part[1, block] = t
    rz, rr = part[0].sum(), part[1].sum()
    goal = rtol * rtol * rr
    iteration = 0
    while rr > goal and iteration < maxiter:
        iteration += 1
        for block in prange(n_blocks):
            s = 0.0
            for i in range(block * n // n_blocks, (block + 1) * n // n_blocks):
                total = diagonal[i] * p[i]
                for k in range(start[i], start[i + 1]):
                    total -= weight[k] * p[neighbour[k]]
                q[i] = total
                s += total * p[i]
            part[0, block] = s
        pq = part[0].sum()
        if pq <= 0.0:
            break
        alpha = rz / pq
        for block in prange(n_blocks):
            s, t = 0.0, 0.0
            for i in range(block * n // n_blocks, (block + 1) * n // n_blocks):
                x[i] += alpha * p[i]
                r[i] -= alpha * q[i]
                t += r[i] * r[i]
                s += r[i] * r[i] * inverse[i]
            part[0, block] = s
            part[1, block] = t
        beta = part[0].sum() / rz
        rz, rr = part[0].sum(), part[1].sum()
        for block in prange(n_blocks):
            for i in range(block * n // n_blocks, (block + 1) * n // n_blocks):
                p[i] = r[i] * inverse[i] + beta * p[i]
    return iteration
