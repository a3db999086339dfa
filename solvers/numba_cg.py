"""Conjugate gradients fused into one Numba kernel, matrix-free on the graph, on all cores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .jit import kernel, prange
from .options import IterativeOptions
from .system import LaplacianSystem, Solution


def status() -> tuple[str | None, str]:
    from importlib.metadata import version

    return None, version("numba")


@dataclass(frozen=True)
class NumbaCG(IterativeOptions):
    """Jacobi-preconditioned CG. Sums are taken over fixed blocks, so the result does not depend on the threads."""

    def solve(self, system: LaplacianSystem) -> Solution:
        start, neighbour, pair = system.pattern.adjacency
        x = np.zeros(system.n)
        iterations, residual = conjugate_gradients(
            start, neighbour, system.weight[pair], system.diagonal, system.rhs.copy(), x, self.rtol, self.maxiter
        )
        return Solution(system.centred(x), residual <= self.rtol, iterations, residual)


@kernel(parallel=True)
def conjugate_gradients(start, neighbour, weight, diagonal, r, x, rtol, maxiter):
    """CG on L x = b from the x given; on entry r is b − L x, on exit the last residual. Returns iterations, ‖r‖/‖b‖."""
    n = len(x)
    n_blocks = min(64, n)
    part = np.zeros((2, 64))
    p = np.zeros(n)
    q = np.zeros(n)
    rz = 0.0
    bb = 0.0
    for block in prange(n_blocks):
        s, t = 0.0, 0.0
        for i in range(block * n // n_blocks, (block + 1) * n // n_blocks):
            p[i] = r[i] / diagonal[i] if diagonal[i] > 0 else 0.0
            s += r[i] * p[i]
            t += r[i] * r[i]
        part[0, block] = s
        part[1, block] = t
    rz, bb = part[0].sum(), part[1].sum()
    if bb == 0.0:
        return 0, 0.0
    rr = bb
    iteration = 0
    while rr > rtol * rtol * bb and iteration < maxiter:
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
                if diagonal[i] > 0:
                    s += r[i] * r[i] / diagonal[i]
            part[0, block] = s
            part[1, block] = t
        beta = part[0].sum() / rz
        rz, rr = part[0].sum(), part[1].sum()
        for block in prange(n_blocks):
            for i in range(block * n // n_blocks, (block + 1) * n // n_blocks):
                p[i] = (r[i] / diagonal[i] if diagonal[i] > 0 else 0.0) + beta * p[i]
    return iteration, np.sqrt(rr / bb)
