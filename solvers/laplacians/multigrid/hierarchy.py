"""Multigrid by contraction: the preconditioner behind the backend `multigrid`.

Contracting groups of strongly joined unknowns and adding up the weights between groups gives a smaller graph whose
Laplacian is the Galerkin coarse operator for piecewise constant interpolation. Levels are built until the graph is small
enough for a direct solve. A cycle smooths with Gauss-Seidel, solves the coarse problem by one or two steps of conjugate
gradients preconditioned by the cycle below (the K-cycle, which keeps the number of iterations independent of the size),
and smooths back.

Rows are worked on in fixed blocks: groups never straddle two blocks, and a sweep sees the other blocks as they were
before it. So both cores can work and the result does not depend on how many there are. A preconditioner need not be
exact: it is kept in single precision, which halves the memory that every cycle reads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.jit import kernel, prange
from ..direct.cholesky import Factor, factorise
from ..system import Pattern
from .lists import PARALLEL_FROM, Lists, dot

_GROUP = 4  # unknowns contracted into one, at most


def _block(n: int) -> int:
    """Rows that one task works on: large blocks smooth better, but every core should have several."""
    return max(8192, -(-n // 64))


@dataclass(frozen=True)
class Hierarchy:
    """Graphs from fine to coarse, the group that each unknown is contracted into, and the factor of the coarsest."""

    levels: list[Lists]
    groups: list[np.ndarray]
    factor: Factor

    @classmethod
    def from_lists(cls, graph: Lists, coarsest: int) -> Hierarchy:
        """Contract until at most `coarsest` unknowns are left, or contraction no longer pays."""
        levels, groups = [], []
        while graph.n > coarsest:
            group = np.empty(graph.n, dtype=np.int32)
            block = _block(graph.n)
            block_start = np.zeros(-(-graph.n // block) + 1, dtype=np.int32)
            _aggregate(graph.start, graph.neighbour, graph.weight, group, block_start, block, _GROUP)
            if block_start[-1] > 0.8 * graph.n:
                break
            levels.append(graph)
            groups.append(group)
            graph = _contracted(graph, group, block_start)
        return cls(levels, groups, _factor(graph))

    @property
    def n_entries(self) -> int:
        """Neighbour-list entries of all levels and non-zeros of the factor: what a cycle reads, roughly."""
        return sum(len(graph.neighbour) for graph in self.levels) + self.factor.analysis.n_nonzeros

    def cycle(self, depth: int, r: np.ndarray) -> np.ndarray:
        """An approximate solution of the level's L z = r: smooth, correct from the coarser level, smooth back."""
        if depth == len(self.levels):
            return self.factor.solve(r.astype(np.float64)).astype(np.float32)
        graph, group = self.levels[depth], self.groups[depth]
        z = np.empty(graph.n, dtype=np.float32)
        n_coarse = self.levels[depth + 1].n if depth + 1 < len(self.levels) else len(self.factor.pivots)
        coarse = np.zeros(n_coarse, dtype=np.float32)
        _smooth_and_restrict(*graph.fields, r, group, z, coarse, _block(graph.n))
        correction = self._coarse_solution(depth + 1, coarse)
        _correct_and_smooth(*graph.fields, r, group, correction, z, _block(graph.n))
        return z

    def _coarse_solution(self, depth: int, r: np.ndarray) -> np.ndarray:
        """One or two steps of CG preconditioned by the cycle of this level; exact on the coarsest."""
        first = self.cycle(depth, r)
        if depth == len(self.levels):
            return first
        graph = self.levels[depth]
        a_first = np.empty_like(first)
        rho = graph.apply(first, a_first)
        if not rho > 0:
            return first
        step = dot(first, r) / rho
        left = r - np.float32(step) * a_first
        if dot(left, left) <= 0.0625 * dot(r, r):
            return np.float32(step) * first
        second = self.cycle(depth, left)
        a_second = np.empty_like(second)
        overlap = dot(second, a_first)
        curvature = graph.apply(second, a_second) - overlap * overlap / rho
        if not curvature > 0:
            return np.float32(step) * first
        step2 = dot(second, left) / curvature
        return np.float32(step - overlap * step2 / rho) * first + np.float32(step2) * second


def _contracted(graph: Lists, group: np.ndarray, block_start: np.ndarray) -> Lists:
    n_groups, block = int(block_start[-1]), _block(graph.n)
    columns, values = np.empty_like(graph.neighbour), np.empty_like(graph.weight)
    start = np.zeros(n_groups + 1, dtype=graph.start.dtype)
    inverse = np.empty(n_groups, dtype=np.float32)
    _gather(graph.start, graph.neighbour, graph.weight, group, block_start, columns, values, start, inverse, block)
    count = start[1:].copy()
    np.cumsum(count, out=start[1:])
    neighbour, weight = np.empty(start[-1], dtype=np.int32), np.empty(start[-1], dtype=np.float32)
    _pack(graph.start, block_start, columns, values, count, start, neighbour, weight, block)
    return Lists(start, neighbour, weight, inverse)


def _factor(graph: Lists) -> Factor:
    row = np.repeat(np.arange(graph.n, dtype=np.int32), np.diff(graph.start))
    upper = row < graph.neighbour
    tail, head, weight = row[upper], graph.neighbour[upper], graph.weight[upper].astype(np.float64)
    pattern = Pattern(graph.n, tail, head)
    return factorise(pattern, weight, pattern.system(weight, weight).ground)


@kernel(parallel=True, parallel_from=PARALLEL_FROM)
def _aggregate(start, neighbour, weight, group, block_start, block, size):
    """Group unknowns with their strongest neighbours inside their block; −1 for those joined to nothing.

    `block_start` receives the first group of each block; groups are numbered block after block.
    """
    n = len(group)
    for b in prange(len(block_start) - 1):
        lo, hi = b * block, min(n, (b + 1) * block)
        room = np.empty(hi - lo, dtype=np.int8)
        inside = np.empty(hi - lo, dtype=np.float32)
        count = 0
        for i in range(lo, hi):
            group[i] = -1
            inside[i - lo] = 0
        for i in range(lo, hi):
            if group[i] >= 0 or start[i] == start[i + 1]:
                continue
            best, partner = np.float32(0), -1
            strongest, host = np.float32(0), -1
            for k in range(start[i], start[i + 1]):
                j = neighbour[k]
                if lo <= j < hi:
                    if group[j] < 0:
                        inside[j - lo] = weight[k]
                        if weight[k] > best:
                            best, partner = weight[k], j
                    elif room[group[j]] > 0 and weight[k] > strongest:
                        strongest, host = weight[k], group[j]
            if partner < 0 and host >= 0:
                group[i] = host
                room[host] -= 1
                continue
            group[i] = count
            room[count] = size - 1
            # Grow by the free neighbour of i that is joined most strongly to the group so far: groups come out compact.
            while partner >= 0:
                group[partner] = count
                room[count] -= 1
                if room[count] == 0:
                    break
                for k in range(start[partner], start[partner + 1]):
                    j = neighbour[k]
                    if lo <= j < hi and group[j] < 0 and inside[j - lo] > 0:
                        inside[j - lo] += weight[k]
                best, partner = np.float32(0), -1
                for k in range(start[i], start[i + 1]):
                    j = neighbour[k]
                    if lo <= j < hi and group[j] < 0 and inside[j - lo] > best:
                        best, partner = inside[j - lo], j
            for k in range(start[i], start[i + 1]):
                j = neighbour[k]
                if lo <= j < hi:
                    inside[j - lo] = 0
            count += 1
        block_start[b + 1] = count
    for b in range(len(block_start) - 1):
        block_start[b + 1] += block_start[b]
    for b in prange(len(block_start) - 1):
        for i in range(b * block, min(n, (b + 1) * block)):
            if group[i] >= 0:
                group[i] += block_start[b]


@kernel(parallel=True, parallel_from=PARALLEL_FROM)
def _gather(start, neighbour, weight, group, block_start, columns, values, count, inverse, block):
    """Sorted neighbour lists of the contracted graph: those of a block lie one after the other from where its rows begin.

    count[g + 1] receives the length of the list of group g.
    """
    n = len(group)
    for b in prange(len(block_start) - 1):
        lo, hi, first = b * block, min(n, (b + 1) * block), block_start[b]
        n_own = block_start[b + 1] - first
        head = np.empty(n_own, dtype=np.int32)  # members of a group as a linked list
        for g in range(n_own):
            head[g] = -1
        after = np.empty(hi - lo, dtype=np.int32)
        for i in range(hi - 1, lo - 1, -1):
            if group[i] >= 0:
                after[i - lo] = head[group[i] - first]
                head[group[i] - first] = i
        at = start[lo]
        for g in range(n_own):
            begin, total = at, np.float32(0)
            i = head[g]
            while i >= 0:
                for k in range(start[i], start[i + 1]):
                    other = group[neighbour[k]]
                    if other == first + g:
                        continue
                    total += weight[k]
                    place = at
                    while place > begin and columns[place - 1] > other:
                        place -= 1
                    if place > begin and columns[place - 1] == other:
                        values[place - 1] += weight[k]
                        continue
                    for later in range(at, place, -1):
                        columns[later] = columns[later - 1]
                        values[later] = values[later - 1]
                    columns[place] = other
                    values[place] = weight[k]
                    at += 1
                i = after[i - lo]
            count[first + g + 1] = at - begin
            inverse[first + g] = np.float32(1) / total if total > 0 else np.float32(0)


@kernel(parallel=True, parallel_from=PARALLEL_FROM)
def _pack(fine_start, block_start, columns, values, count, start, neighbour, weight, block):
    """Move the lists of each block to their final place."""
    for b in prange(len(block_start) - 1):
        at = fine_start[b * block]
        for g in range(block_start[b], block_start[b + 1]):
            for k in range(count[g]):
                neighbour[start[g] + k] = columns[at]
                weight[start[g] + k] = values[at]
                at += 1


@kernel(parallel=True, parallel_from=PARALLEL_FROM)
def _smooth_and_restrict(start, neighbour, weight, inverse, r, group, z, coarse, block):
    """z: one Gauss-Seidel sweep from zero; coarse: its residual r − L z added up over the groups.

    After the sweep a row's own equation holds but for the neighbours that were not known yet when it was met: those that
    come after it, and those of blocks before its own.
    """
    n = len(z)
    n_blocks = (n + block - 1) // block
    for b in prange(n_blocks):
        lo, hi = b * block, min(n, (b + 1) * block)
        for i in range(lo, hi):
            total = np.float32(r[i])
            k, end = start[i], start[i + 1]
            while k < end and neighbour[k] < i:
                if neighbour[k] >= lo:
                    total += weight[k] * z[neighbour[k]]
                k += 1
            z[i] = total * inverse[i]
    for b in prange(n_blocks):
        lo, hi = b * block, min(n, (b + 1) * block)
        for i in range(lo, hi):
            if group[i] >= 0:
                left = np.float32(0)
                k = start[i + 1] - 1
                while k >= start[i] and neighbour[k] > i:
                    left += weight[k] * z[neighbour[k]]
                    k -= 1
                k = start[i]
                while neighbour[k] < lo and k < start[i + 1]:
                    left += weight[k] * z[neighbour[k]]
                    k += 1
                coarse[group[i]] += left


@kernel(parallel=True, parallel_from=PARALLEL_FROM)
def _correct_and_smooth(start, neighbour, weight, inverse, r, group, correction, z, block):
    """Add the coarse correction to z, then one backward Gauss-Seidel sweep; other blocks count as they were."""
    n = len(z)
    old = np.empty(n, dtype=np.float32)
    n_blocks = (n + block - 1) // block
    for b in prange(n_blocks):
        for i in range(b * block, min(n, (b + 1) * block)):
            old[i] = z[i] + correction[group[i]] if group[i] >= 0 else z[i]
            z[i] = old[i]
    for b in prange(n_blocks):
        lo, hi = b * block, min(n, (b + 1) * block)
        for i in range(hi - 1, lo - 1, -1):
            total = np.float32(r[i])
            for k in range(start[i], start[i + 1]):
                j = neighbour[k]
                total += weight[k] * (z[j] if lo <= j < hi else old[j])
            z[i] = total * inverse[i]
