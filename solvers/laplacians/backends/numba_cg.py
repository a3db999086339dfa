"""Conjugate gradients fused into one Numba kernel, matrix-free on the graph, on all cores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.jit import kernel, prange
from ..system import LaplacianSystem
from .iterative import Corrector, Iterative


@dataclass(frozen=True)
class NumbaCG(Iterative):
    """CG with a Jacobi preconditioner. Its sums are made over fixed blocks, so the threads do not change the result.

    Examples
    --------
    >>> from quotientgraph import solvers
    >>> system = solvers.LaplacianSystem.from_edges(2, [0], [1], [1.0], [2.0])
    >>> NumbaCG().solve(system).iterations
    1
    """

    def corrector(self, system: LaplacianSystem) -> Corrector:
        """Rounds of the kernel below."""
        start, neighbour, pair = system.pattern.adjacency
        weight, diagonal = system.weight[pair], system.diagonal

        def correct(left: np.ndarray, x: np.ndarray, goal: float, limit: int) -> int:
            return conjugate_gradients(start, neighbour, weight, diagonal, left, x, goal, limit)

        return correct


@kernel
def _added(values):
    """The sum of a vector, from first to last: in a parallel kernel the order of ``values.sum()`` depends on the threads."""
    total = 0.0
    for i in range(len(values)):
        total += values[i]
    return total


@kernel(parallel=True)
def conjugate_gradients(start, neighbour, weight, diagonal, r, x, rtol, maxiter):
    """Improve x by conjugate gradients until r = b − L x has shrunk by the factor rtol; returns the iterations.

    Assumes the lists of `Pattern.adjacency` with one weight per entry, the diagonal of L, and r = b − L x. Writes x and r.
    """
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
    rz, rr = _added(part[0]), _added(part[1])
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
        pq = _added(part[0])
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
        beta = _added(part[0]) / rz
        rz, rr = _added(part[0]), _added(part[1])
        for block in prange(n_blocks):
            for i in range(block * n // n_blocks, (block + 1) * n // n_blocks):
                p[i] = r[i] * inverse[i] + beta * p[i]
    return iteration
