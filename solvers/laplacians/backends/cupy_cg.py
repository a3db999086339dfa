"""Conjugate gradients on the GPU, as one body over an array namespace: CuPy runs it there, numpy runs it in the tests.

Nothing but two numbers every few iterations leaves the device. The preconditioner is either the diagonal ("jacobi") or
the diagonals of a whole sequence of contracted graphs added up ("contraction"): unknowns are grouped with their
strongest neighbours, groups with theirs, and so on; a residual is summed over the groups of a level, divided by the
weight that leaves the group, and spread over the group again. That carries information across a large graph in one
step, and takes sums and gathers only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import array_namespace, gpu_problem, namespace, sums, to_host
from ..core.stopping import MARGIN, IterativeOptions
from ..system import LaplacianSystem, Solution

_CHECK_EVERY = 10  # iterations between two looks at the residual, each of which waits for the device
_FEWEST = 8  # groups below which contracting further gains nothing


def status() -> tuple[str | None, str]:
    problem = gpu_problem()
    if problem is not None:
        return problem, ""
    import cupy

    return None, cupy.__version__


@dataclass(frozen=True)
class CupyCG(IterativeOptions):
    """CG on the GPU.

    Attributes
    ----------
    preconditioner : "contraction" or "jacobi"
    device : "cuda", "cpu" or "auto"
        Where to run; "cpu" is the same body on numpy.
    """

    preconditioner: str = "contraction"
    device: str = "cuda"

    on_device = True  # a system may come with its arrays on the GPU, and x stays there

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.preconditioner not in PRECONDITIONERS:
            raise ValueError(f"preconditioner={self.preconditioner!r} is not known; use {', '.join(PRECONDITIONERS)}")

    def solve(self, system: LaplacianSystem) -> Solution:
        if system.settled:
            return system.nothing()
        here = array_namespace(system.weight)
        there = system.to(here if here is not np else namespace(self.device))
        x, iterations = conjugate_gradients(
            there.matrix, there.rhs, PRECONDITIONERS[self.preconditioner](there), self.rtol, self.maxiter
        )
        residual = there.residual(x)
        x = there.centred(x)
        return Solution(to_host(x) if here is np else x, residual <= self.rtol, iterations, residual)


def conjugate_gradients(
    matrix: Any, rhs: Any, precondition: Callable[[Any], Any], rtol: float, maxiter: int
) -> tuple[Any, int]:
    """CG from zero; returns x and the iterations. All scalars but the ones looked at stay on the device."""
    xp = array_namespace(rhs)
    x, r = xp.zeros_like(rhs), rhs.copy()
    z = precondition(r)
    p, rz, goal = z.copy(), r @ z, (MARGIN * rtol) ** 2 * float(rhs @ rhs)
    least = 1e-30 * rz  # steps after the solution is reached, to rounding, change nothing
    for iteration in range(maxiter):
        if iteration % _CHECK_EVERY == 0 and float(r @ r) <= goal:
            return x, iteration
        q = matrix @ p
        pq, going = p @ q, rz > least
        alpha = xp.where(going, rz / xp.where(pq > 0, pq, 1.0), 0.0)
        x += alpha * p
        r -= alpha * q
        z = precondition(r)
        before, rz = rz, r @ z
        p = z + xp.where(going, rz / xp.where(going, before, 1.0), 0.0) * p
    return x, maxiter


def jacobi(system: LaplacianSystem) -> Callable[[Any], Any]:
    """Division by the diagonal."""
    inverse = _inverse(system.diagonal)
    return lambda r: inverse * r


def contraction(system: LaplacianSystem) -> Callable[[Any], Any]:
    """Division by the diagonals of the graph and of its contractions, added up."""
    levels = [(group, n, _inverse(leaving)) for group, n, leaving in contractions(system)]
    inverse = _inverse(system.diagonal)

    def precondition(r: Any) -> Any:
        # Down: sums of sums. Up: each level's share is spread together with those above it.
        parts = [r]
        for group, n, _ in levels:
            parts.append(sums(group, parts[-1], n))
        spread = 0.0
        for (group, _, coarse), part in zip(reversed(levels), reversed(parts)):
            spread = (coarse * part + spread)[group]
        return inverse * r + spread

    return precondition


def _inverse(values: Any) -> Any:
    """1/values, zero where they are."""
    xp = array_namespace(values)
    return xp.where(values > 0, 1.0 / xp.where(values > 0, values, 1.0), 0.0)


PRECONDITIONERS = {"contraction": contraction, "jacobi": jacobi}


def contractions(system: LaplacianSystem) -> list[tuple[Any, int, Any]]:
    """Ever more contracted graphs: the group of each unknown of the level below, how many, the weight leaving each."""
    xp = array_namespace(system.weight)
    n, used = system.n, xp.flatnonzero(system.weight > 0)
    tail, head, weight = system.pattern.tail[used], system.pattern.head[used], system.weight[used]
    levels = []
    while n > _FEWEST and len(weight):
        group, n_groups = strongest_groups(n, tail, head, weight)
        tail, head = group[tail], group[head]
        key = xp.minimum(tail, head).astype(np.int64) * n_groups + xp.maximum(tail, head)
        between = tail != head
        key, pair = xp.unique(key[between], return_inverse=True)
        weight = sums(pair, weight[between], len(key))
        tail, head = key // n_groups, key % n_groups
        n = n_groups
        levels.append((group, n, sums(tail, weight, n) + sums(head, weight, n)))
    return levels


def strongest_groups(n: int, tail: Any, head: Any, weight: Any) -> tuple[Any, int]:
    """Groups of unknowns: pairs that are each other's strongest neighbour, and those whose strongest is in such a pair.

    Returns (n,) int64 groups and their number. At least one pair is found if there is an edge.
    """
    xp = array_namespace(weight)
    # Among equal weights chance decides, or a uniform grid would be contracted along one long path.
    order = xp.argsort(weight * (1 + 0.1 * _scattered(xp, len(weight))), kind="stable")
    rank = xp.empty(len(order), dtype=np.int32)
    rank[order] = xp.arange(len(order), dtype=np.int32)
    best = xp.full(n, -1, dtype=np.int32)
    xp.maximum.at(best, tail, rank)
    xp.maximum.at(best, head, rank)
    node = xp.arange(n)
    edge = order[best]  # of an unknown without edges: any, and not used
    partner = xp.where(best >= 0, tail[edge] + head[edge] - node, node)
    mutual = partner[partner] == node
    root = xp.where(mutual, xp.minimum(node, partner), node)
    root = xp.where(mutual[partner], root[partner], root)
    is_root = root == node
    number = xp.cumsum(is_root) - 1
    return number[root], int(is_root.sum())


def _scattered(xp: Any, n: int) -> Any:
    """(n,) float64 in [0, 1) without pattern, the same each time."""
    return (xp.arange(n, dtype=np.int64) * 2654435761 % 2**32) / 2.0**32
