"""Multigrid by contraction: conjugate gradients preconditioned by solves on ever more contracted graphs.

Contracting groups of strongly joined unknowns and adding up the weights between groups gives a smaller graph whose
Laplacian is the Galerkin coarse operator for piecewise constant interpolation. Levels are built until the graph is small
enough for a direct solve. A cycle smooths with Gauss-Seidel, solves the coarse problem by one or two steps of conjugate
gradients preconditioned by the cycle below (the K-cycle, which keeps the number of iterations independent of the size),
and smooths back. Work is split into fixed blocks of rows, so the result does not depend on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .cholesky import Factor, factorise
from .jit import kernel, prange
from .options import IterativeOptions
from .system import LaplacianSystem, Pattern, Solution, apply_laplacian

_BLOCK = 8192  # rows that one task smooths or aggregates on its own
_GROUP = 4  # unknowns contracted into one, at most about


def status() -> tuple[str | None, str]:
    from importlib.metadata import version

    return None, version("numba")


@dataclass(frozen=True)
class Multigrid(IterativeOptions):
    """CG with a contraction-multigrid preconditioner: few iterations at any size, for the largest systems.

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
        x = np.zeros(system.n)
        if not system.rhs.any():
            return Solution(x, True, 0, 0.0)
        hierarchy = Hierarchy.from_system(system, self.coarsest)
        iterations, residual, enough = hierarchy.conjugate_gradients(x, self.rtol, self.maxiter, self.energy_tol)
        return Solution(system.centred(x), enough, iterations, residual)


@dataclass(frozen=True)
class Level:
    """A graph of the hierarchy, as neighbour lists with weights, and the group that each unknown is contracted into."""

    start: np.ndarray
    neighbour: np.ndarray
    weight: np.ndarray
    diagonal: np.ndarray
    group: np.ndarray
    n_groups: int

    @property
    def n(self) -> int:
        return len(self.diagonal)

    def apply(self, x: np.ndarray, out: np.ndarray) -> float:
        """out = L x; returns x·L x."""
        return _apply(self.start, self.neighbour, self.weight, self.diagonal, x, out)


@dataclass(frozen=True)
class Hierarchy:
    """Levels from fine to coarse, and the factor of the coarsest graph."""

    system: LaplacianSystem
    levels: list[Level]
    factor: Factor

    @classmethod
    def from_system(cls, system: LaplacianSystem, coarsest: int) -> Hierarchy:
        start, neighbour, pair = system.pattern.adjacency
        weight = system.weight[pair].astype(np.float32)
        diagonal = _row_sums(start, weight)
        levels: list[Level] = []
        while len(diagonal) > coarsest:
            group = np.empty(len(diagonal), dtype=np.int32)
            n_groups = _aggregate(start, neighbour, weight, group, _BLOCK, _GROUP)
            if n_groups > 0.8 * len(diagonal):
                break
            levels.append(Level(start, neighbour, weight, diagonal, group, n_groups))
            start, neighbour, weight, diagonal = _contract(start, neighbour, weight, group, n_groups)
        return cls(system, levels, _factor(start, neighbour, weight, diagonal))

    def conjugate_gradients(
        self, x: np.ndarray, rtol: float, maxiter: int, energy_tol: float | None = None
    ) -> tuple[int, float, bool]:
        """Flexible CG from zero, written to x. Returns the iterations, ‖r‖/‖b‖ and whether a tolerance was reached."""
        system, r = self.system, self.system.rhs.copy()
        if not self.levels:
            x[:] = self.factor.solve(r)
            return 1, system.residual(x), True
        size = np.sqrt(_dot(r, r))
        energy = system.energy if energy_tol is not None else np.nan
        p, q, before = np.zeros(system.n), np.empty(system.n), np.zeros(system.n)
        rr, rz = size * size, 1.0
        for iteration in range(1, maxiter + 1):
            z = self.cycle(0, r)
            new_rz = _dot(r, z)
            if energy_tol is not None and new_rz <= energy_tol * energy:
                return iteration - 1, float(np.sqrt(rr) / size), True
            beta = (new_rz - _dot(before, z)) / rz if iteration > 1 else 0.0
            _combine(p, z, beta)
            apply_laplacian(*system.pattern.adjacency, system.weight, p, q)
            alpha = new_rz / _dot(p, q)
            before[:] = r
            rr = _update(x, r, p, q, alpha)
            rz = new_rz
            energy -= alpha * new_rz
            if np.sqrt(rr) <= rtol * size:
                return iteration, float(np.sqrt(rr) / size), True
        return maxiter, float(np.sqrt(rr) / size), False

    def cycle(self, depth: int, r: np.ndarray) -> np.ndarray:
        """An approximate solution of the level's L z = r: smooth, correct from the coarser level, smooth back."""
        if depth == len(self.levels):
            return self.factor.solve(r)
        level = self.levels[depth]
        z, coarse = np.empty(level.n), np.zeros(level.n_groups)
        _forward(level.start, level.neighbour, level.weight, level.diagonal, r, z, _BLOCK)
        _restrict(level.start, level.neighbour, level.weight, level.diagonal, r, z, level.group, coarse)
        correction = self.coarse_solve(depth + 1, coarse)
        _backward(level.start, level.neighbour, level.weight, level.diagonal, r, z, correction, level.group, _BLOCK)
        return z

    def coarse_solve(self, depth: int, r: np.ndarray) -> np.ndarray:
        """One or two steps of CG preconditioned by the cycle of this level; exact on the coarsest."""
        first = self.cycle(depth, r)
        if depth == len(self.levels):
            return first
        level = self.levels[depth]
        a_first = np.empty(level.n)
        rho = level.apply(first, a_first)
        alpha = _dot(first, r)
        if rho <= 0:
            return first
        left = r - (alpha / rho) * a_first
        if _dot(left, left) <= 0.0625 * _dot(r, r):
            return (alpha / rho) * first
        second = self.cycle(depth, left)
        a_second = np.empty(level.n)
        beta = level.apply(second, a_second)
        gamma = _dot(second, a_first)
        alpha2 = _dot(second, left)
        rho2 = beta - gamma * gamma / rho
        if rho2 <= 0:
            return (alpha / rho) * first
        return (alpha / rho - gamma * alpha2 / (rho * rho2)) * first + (alpha2 / rho2) * second


def _factor(start: np.ndarray, neighbour: np.ndarray, weight: np.ndarray, diagonal: np.ndarray) -> Factor:
    n = len(diagonal)
    row = np.repeat(np.arange(n, dtype=np.int32), np.diff(start))
    upper = row < neighbour
    pattern = Pattern(n, row[upper], neighbour[upper])
    positive = weight[upper].astype(np.float64)
    ground = np.zeros(n)
    first = np.unique(pattern.pieces, return_index=True)[1]
    ground[first] = np.maximum(diagonal[first], 1e-300) if n else 0
    ground[diagonal <= 0] = 1.0
    return factorise(pattern, positive, ground)


def _contract(start: Any, neighbour: Any, weight: Any, group: Any, n_groups: int) -> tuple[Any, Any, Any, Any]:
    member_start, member, room = _members(start, group, n_groups)
    columns, values = np.empty(room[-1], dtype=np.int32), np.empty(room[-1], dtype=np.float32)
    count = np.empty(n_groups, dtype=np.int32)
    diagonal = np.empty(n_groups)
    _gather(start, neighbour, weight, group, member_start, member, room, columns, values, count, diagonal)
    new_start = np.zeros(n_groups + 1, dtype=start.dtype)
    np.cumsum(count, out=new_start[1:])
    new_columns, new_values = np.empty(new_start[-1], dtype=np.int32), np.empty(new_start[-1], dtype=np.float32)
    _pack(room, count, new_start, columns, values, new_columns, new_values)
    return new_start, new_columns, new_values, diagonal


@kernel(parallel=True)
def _row_sums(start, weight):
    out = np.empty(len(start) - 1)
    for i in prange(len(out)):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            total += weight[k]
        out[i] = total
    return out


@kernel(parallel=True)
def _aggregate(start, neighbour, weight, group, block, size):
    """Group unknowns with their strongest neighbours, within blocks of rows; returns the number of groups."""
    n = len(group)
    n_blocks = (n + block - 1) // block
    made = np.zeros(n_blocks + 1, dtype=np.int32)
    for b in prange(n_blocks):
        lo, hi = b * block, min(n, (b + 1) * block)
        room = np.empty(hi - lo, dtype=np.int8)
        count = 0
        for i in range(lo, hi):
            group[i] = -1
        for i in range(lo, hi):
            if group[i] >= 0 or start[i] == start[i + 1]:  # grouped already, or joined to nothing: solved as it is
                continue
            best, partner = 0.0, -1
            joined, host = 0.0, -1
            for k in range(start[i], start[i + 1]):
                j = neighbour[k]
                if j < lo or j >= hi:
                    continue
                if group[j] < 0:
                    if weight[k] > best:
                        best, partner = weight[k], j
                elif room[group[j]] > 0 and weight[k] > joined:
                    joined, host = weight[k], group[j]
            if partner < 0 and host >= 0:
                group[i] = host
                room[host] -= 1
                continue
            group[i] = count
            room[count] = size - 1
            # Grow by the strongest free neighbours of the pair, so that groups are compact.
            while partner >= 0 and room[count] > 0:
                group[partner] = count
                room[count] -= 1
                best, following = 0.0, -1
                for node in (i, partner):
                    for k in range(start[node], start[node + 1]):
                        j = neighbour[k]
                        if lo <= j < hi and group[j] < 0:
                            inside = 0.0
                            for m in range(start[j], start[j + 1]):
                                if group[neighbour[m]] == count and lo <= neighbour[m] < hi:
                                    inside += weight[m]
                            if inside > best:
                                best, following = inside, j
                partner = following
            count += 1
        made[b + 1] = count
    for b in range(n_blocks):
        made[b + 1] += made[b]
    for b in prange(n_blocks):
        for i in range(b * block, min(n, (b + 1) * block)):
            if group[i] >= 0:
                group[i] += made[b]
    return made[n_blocks]


@kernel
def _members(start, group, n_groups):
    """Members of each group, as lists, and how many entries their rows have together."""
    member_start = np.zeros(n_groups + 1, dtype=np.int32)
    room = np.zeros(n_groups + 1, dtype=np.int64)
    for i in range(len(group)):
        if group[i] >= 0:
            member_start[group[i] + 1] += 1
            room[group[i] + 1] += start[i + 1] - start[i]
    for g in range(n_groups):
        member_start[g + 1] += member_start[g]
        room[g + 1] += room[g]
    cursor = member_start[:-1].copy()
    member = np.empty(len(group), dtype=np.int32)
    for i in range(len(group)):
        if group[i] >= 0:
            member[cursor[group[i]]] = i
            cursor[group[i]] += 1
    return member_start, member, room


@kernel(parallel=True)
def _gather(start, neighbour, weight, group, member_start, member, room, columns, values, count, diagonal):
    """Neighbour lists of the contracted graph, each with room to spare."""
    for g in prange(len(count)):
        at, found = room[g], 0
        total = 0.0
        for m in range(member_start[g], member_start[g + 1]):
            i = member[m]
            for k in range(start[i], start[i + 1]):
                other = group[neighbour[k]]
                if other == g:
                    continue
                total += weight[k]
                place = 0
                while place < found and columns[at + place] != other:
                    place += 1
                if place == found:
                    columns[at + place] = other
                    values[at + place] = weight[k]
                    found += 1
                else:
                    values[at + place] += weight[k]
        count[g] = found
        diagonal[g] = total


@kernel(parallel=True)
def _pack(room, count, new_start, columns, values, new_columns, new_values):
    for g in prange(len(count)):
        for k in range(count[g]):
            new_columns[new_start[g] + k] = columns[room[g] + k]
            new_values[new_start[g] + k] = values[room[g] + k]


@kernel(parallel=True)
def _forward(start, neighbour, weight, diagonal, r, z, block):
    """One Gauss-Seidel sweep from zero; entries of other blocks count as zero."""
    n = len(z)
    for b in prange((n + block - 1) // block):
        lo, hi = b * block, min(n, (b + 1) * block)
        for i in range(lo, hi):
            total = r[i]
            for k in range(start[i], start[i + 1]):
                j = neighbour[k]
                if lo <= j < i:
                    total += weight[k] * z[j]
            z[i] = total / diagonal[i] if diagonal[i] > 0 else 0.0


@kernel(parallel=True)
def _restrict(start, neighbour, weight, diagonal, r, z, group, coarse):
    """Add up the residual r − L z over the groups."""
    n = len(z)
    left = np.empty(n)
    for i in prange(n):
        total = r[i] - diagonal[i] * z[i]
        for k in range(start[i], start[i + 1]):
            total += weight[k] * z[neighbour[k]]
        left[i] = total
    for i in range(n):
        if group[i] >= 0:
            coarse[group[i]] += left[i]


@kernel(parallel=True)
def _backward(start, neighbour, weight, diagonal, r, z, correction, group, block):
    """Add the coarse correction, then one backward Gauss-Seidel sweep; other blocks count as they were."""
    n = len(z)
    old = np.empty(n)
    for i in prange(n):
        if group[i] >= 0:
            z[i] += correction[group[i]]
        old[i] = z[i]
    for b in prange((n + block - 1) // block):
        lo, hi = b * block, min(n, (b + 1) * block)
        for i in range(hi - 1, lo - 1, -1):
            total = r[i]
            for k in range(start[i], start[i + 1]):
                j = neighbour[k]
                total += weight[k] * (z[j] if lo <= j < hi else old[j])
            z[i] = total / diagonal[i] if diagonal[i] > 0 else 0.0


@kernel(parallel=True)
def _apply(start, neighbour, weight, diagonal, x, out):
    n = len(x)
    part = np.zeros(64)
    for b in prange(64):
        s = 0.0
        for i in range(b * n // 64, (b + 1) * n // 64):
            total = diagonal[i] * x[i]
            for k in range(start[i], start[i + 1]):
                total -= weight[k] * x[neighbour[k]]
            out[i] = total
            s += total * x[i]
        part[b] = s
    return part.sum()


@kernel(parallel=True)
def _dot(x, y):
    n = len(x)
    part = np.zeros(64)
    for b in prange(64):
        s = 0.0
        for i in range(b * n // 64, (b + 1) * n // 64):
            s += x[i] * y[i]
        part[b] = s
    return part.sum()


@kernel(parallel=True)
def _combine(p, z, beta):
    for i in prange(len(p)):
        p[i] = z[i] + beta * p[i]


@kernel(parallel=True)
def _update(x, r, p, q, alpha):
    n = len(x)
    part = np.zeros(64)
    for b in prange(64):
        s = 0.0
        for i in range(b * n // 64, (b + 1) * n // 64):
            x[i] += alpha * p[i]
            r[i] -= alpha * q[i]
            s += r[i] * r[i]
        part[b] = s
    return part.sum()
