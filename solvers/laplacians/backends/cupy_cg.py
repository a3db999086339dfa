"""Conjugate gradients on the GPU, as one body over an array namespace: CuPy runs it there, numpy runs it in the tests.

Every few iterations one number leaves the device, and nothing else. The preconditioner is either the inverse of the
diagonal ("jacobi") or the sum of the inverse diagonals of a sequence of contracted graphs ("contraction"): unknowns are
grouped with their strongest neighbours, groups with theirs, and so on; on each level a residual is summed over the groups,
divided by the weight that leaves the group, and spread over the group again. This carries information across a large graph
in one step, and takes nothing but sums and gathers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.arrays import array_namespace, namespace, sums, to_host
from ..solution import Solution
from ..system import LaplacianSystem
from .iterative import Corrector, Iterative

_CHECK_EVERY = 10  # iterations between two looks at the residual, each of which waits for the device
_FEWEST = 8  # groups below which contracting further gains nothing


@dataclass(frozen=True)
class CupyCG(Iterative):
    """CG on the GPU; ``pip install "quotientgraph[cuda12]"``.

    Attributes
    ----------
    preconditioner : "contraction" or "jacobi"
    device : "cuda", "cpu" or "auto"
        Where to solve systems whose arrays are on the host; "cpu" runs the same body on numpy.
    """

    preconditioner: str = "contraction"
    device: str = "cuda"

    on_device = True  # a system may come with its arrays on the GPU, and x stays there

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.preconditioner not in PRECONDITIONERS:
            raise ValueError(f"preconditioner={self.preconditioner!r} is not known; use {', '.join(PRECONDITIONERS)}")

    def solve(self, system: LaplacianSystem) -> Solution:
        """Solve a system where its arrays are or, if they are on the host, on `device`; x is returned where they are."""
        here = array_namespace(system.weight)
        solution = super().solve(system.to(here if here is not np else namespace(self.device)))
        return replace(solution, x=to_host(solution.x)) if here is np else solution

    def corrector(self, system: LaplacianSystem) -> Corrector:
        """Conjugate gradients with the chosen preconditioner."""
        matrix, precondition = system.matrix, PRECONDITIONERS[self.preconditioner](system)

        def correct(left: Any, x: Any, goal: float, limit: int) -> int:
            return conjugate_gradients(matrix, left, precondition, x, goal, limit)

        return correct


def conjugate_gradients(
    matrix: Any, r: Any, precondition: Callable[[Any], Any], x: Any, rtol: float, maxiter: int
) -> int:
    """Improve x by conjugate gradients until r has shrunk by the factor rtol.

    All scalars stay on the device except the one that is looked at every few iterations.

    Parameters
    ----------
    matrix : (n, n) sparse matrix
    r : (n,) float64
        b − `matrix` @ x on entry; overwritten.
    precondition : callable
        Applies an approximate inverse of the matrix to a vector.
    x : (n,) float64
        Changed in place.
    rtol, maxiter : float, int

    Returns
    -------
    int
        The number of iterations.
    """
    xp = array_namespace(r)
    z = precondition(r)
    p, rz, goal = z.copy(), r @ z, rtol**2 * float(r @ r)
    least = 1e-30 * rz  # once the solution is reached to rounding, steps change nothing
    for iteration in range(maxiter):
        if iteration % _CHECK_EVERY == 0 and float(r @ r) <= goal:
            return iteration
        q = matrix @ p
        pq, going = p @ q, rz > least
        alpha = xp.where(going, rz / xp.where(pq > 0, pq, 1.0), 0.0)
        x += alpha * p
        r -= alpha * q
        z = precondition(r)
        before, rz = rz, r @ z
        p = z + xp.where(going, rz / xp.where(going, before, 1.0), 0.0) * p
    return maxiter


def jacobi(system: LaplacianSystem) -> Callable[[Any], Any]:
    """A function that divides by the diagonal of L."""
    inverse = _inverse(system.diagonal)
    return lambda r: inverse * r


def contraction(system: LaplacianSystem) -> Callable[[Any], Any]:
    """A function that divides by the diagonals of the graph and of its contractions, and adds up the quotients."""
    levels = [(group, n, _inverse(leaving)) for group, n, leaving in contractions(system)]
    inverse = _inverse(system.diagonal)

    def precondition(r: Any) -> Any:
        # On the way down the sums of each level are added up to the next. On the way up the share of each level is
        # spread together with the shares of all coarser ones.
        parts = [r]
        for group, n, _ in levels:
            parts.append(sums(group, parts[-1], n))
        spread = 0.0
        for (group, _, coarse), part in zip(reversed(levels), reversed(parts)):
            spread = (coarse * part + spread)[group]
        return inverse * r + spread

    return precondition


def _inverse(values: Any) -> Any:
    """1/values, and zero where the values are zero."""
    xp = array_namespace(values)
    return xp.where(values > 0, 1.0 / xp.where(values > 0, values, 1.0), 0.0)


PRECONDITIONERS = {"contraction": contraction, "jacobi": jacobi}


def contractions(system: LaplacianSystem) -> list[tuple[Any, int, Any]]:
    """Contract the graph of a system again and again, until few groups are left.

    Returns
    -------
    list of (group, n_groups, leaving)
        For each level the group of each unknown of the level before it, the number of groups, and the sum of the weights
        that leave each group.
    """
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
    """Group unknowns that are each other's strongest neighbour, and those whose strongest neighbour is in such a pair.

    Parameters
    ----------
    n : int
    tail, head, weight : (n_edges,) arrays
        Edges of positive weight. If there is one, at least one pair is found.

    Returns
    -------
    group : (n,) int64
    n_groups : int
    """
    xp = array_namespace(weight)
    # Equal weights are put into a scattered order; otherwise a uniform grid would be contracted along one long path.
    order = xp.argsort(weight * (1 + 0.1 * _scattered(xp, len(weight))), kind="stable")
    rank = xp.empty(len(order), dtype=np.int32)
    rank[order] = xp.arange(len(order), dtype=np.int32)
    best = xp.full(n, -1, dtype=np.int32)
    xp.maximum.at(best, tail, rank)
    xp.maximum.at(best, head, rank)
    node = xp.arange(n)
    edge = order[best]  # arbitrary, and not used, for an unknown without edges
    partner = xp.where(best >= 0, tail[edge] + head[edge] - node, node)
    mutual = partner[partner] == node
    root = xp.where(mutual, xp.minimum(node, partner), node)
    root = xp.where(mutual[partner], root[partner], root)
    is_root = root == node
    number = xp.cumsum(is_root) - 1
    return number[root], int(is_root.sum())


def _scattered(xp: Any, n: int) -> Any:
    """(n,) float64 in [0, 1) without a visible pattern, but the same every time."""
    return (xp.arange(n, dtype=np.int64) * 2654435761 % 2**32) / 2.0**32
