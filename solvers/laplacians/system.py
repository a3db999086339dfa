"""The one linear problem of the project, as data: a weighted graph Laplacian made from edges.

    minimise over x   Σ_e  w_e (x_tail(e) − x_head(e) − target_e)²

Its normal equations are L x = b with L = Σ w (e_t − e_h)(e_t − e_h)ᵀ and b = Σ w·target (e_t − e_h). Parallel edges add
up, so a system keeps one weight and one flow (Σ w·target) per *pair* of unknowns.

L is singular: x is determined up to one constant per connected piece of the positive weights. The contract of every
backend is to return the solution whose mean over each piece is zero; an unknown without a positive weight is a piece of
its own and comes out as zero.

The arrays of a pattern and of a system belong to one namespace, numpy or cupy; `to` moves them.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .core.arrays import array_namespace, csr_matrix, norm, sums, to_device
from .core.edges import adjacency, connected_labels, group_edges, with_diagonal
from .core.jit import kernel, prange

# Up to so many, array expressions are as quick as a kernel, which would have to be compiled first.
_FEW_PAIRS = 1024


@dataclass(frozen=True, eq=False)
class Pattern:
    """The sparsity of a family of systems: which unknowns are joined. Computed once, refilled many times.

    Attributes
    ----------
    n : int
        Number of unknowns.
    tail, head : (n_pairs,) int32
        The joined pairs, each once, tail < head, sorted by (tail, head).
    memo : dict
        Where backends keep what depends on the pattern only (an ordering, aggregates), under their own name.
    """

    n: int
    tail: np.ndarray
    head: np.ndarray
    memo: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_edges(cls, n: int, tail: np.ndarray, head: np.ndarray) -> tuple[Pattern, np.ndarray, np.ndarray]:
        """The pattern of possibly parallel edges, and how to sum over them.

        Returns the pattern, `order` (n_edges,) which sorts the edges by pair, and `start` (n_pairs + 1,): the edges
        ``order[start[p]:start[p+1]]`` belong to pair p. Edges with tail > head run against their pair's direction.
        """
        xp = array_namespace(tail)
        order = group_edges(n, tail, head)
        lo, hi = xp.minimum(tail, head)[order], xp.maximum(tail, head)[order]
        new = xp.ones(len(order) + 1, dtype=bool)  # the end counts as one more beginning
        new[1:-1] = (lo[1:] != lo[:-1]) | (hi[1:] != hi[:-1])
        start = xp.flatnonzero(new) if len(order) else xp.zeros(1, dtype=np.int64)
        return cls(n, lo[start[:-1]], hi[start[:-1]]), order, start

    @property
    def n_pairs(self) -> int:
        return len(self.tail)

    @cached_property
    def adjacency(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """CSR neighbour lists without the diagonal: `start` (n + 1,), `neighbour` and `pair` (2·n_pairs,) int32.

        Row i lists the unknowns joined to i in increasing order, and the pair that joins them.
        """
        return self._made_on_host(lambda host: adjacency(host.n, host.tail, host.head))

    @cached_property
    def csr(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same with the diagonal put in its sorted place: `start`, `column`, `pair`, n_pairs on the diagonal."""
        return self._made_on_host(lambda host: with_diagonal(host.n, *host.adjacency))

    @cached_property
    def pieces(self) -> np.ndarray:
        """(n,) int32 label of the connected piece of each unknown, were all weights positive."""
        return self._made_on_host(lambda host: (connected_labels(host.n, host.tail, host.head),))[0]

    def to(self, xp: Any) -> Pattern:
        """This pattern with its arrays in the namespace `xp`; moved once and kept."""
        here = array_namespace(self.tail)
        if xp is here:
            return self
        if xp.__name__ not in self.memo:
            there = Pattern(self.n, to_device(self.tail, xp), to_device(self.head, xp), {here.__name__: self})
            self.memo[xp.__name__] = there
        return self.memo[xp.__name__]

    def _made_on_host(self, make: Callable[[Pattern], tuple[np.ndarray, ...]]) -> Any:
        xp = array_namespace(self.tail)
        return tuple(to_device(array, xp) for array in make(self.to(np)))

    def system(self, weight: np.ndarray, flow: np.ndarray, energy: float = float("nan")) -> LaplacianSystem:
        """A system on this pattern: one weight ≥ 0 and one flow (Σ w·target) per pair."""
        return LaplacianSystem(self, weight, flow, energy)


@dataclass(frozen=True, eq=False)
class LaplacianSystem:
    """Weights and flows on a `Pattern`: what a solver backend is given.

    >>> s = LaplacianSystem.from_edges(3, [0, 1], [1, 2], [1.0, 1.0], [2.0, 1.0])
    >>> s.matrix.toarray()
    array([[ 1., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  1.]])
    >>> s.rhs
    array([ 2., -1., -1.])

    Attributes
    ----------
    pattern : Pattern
    weight : (n_pairs,) float64, ≥ 0
    flow : (n_pairs,) float64
        Weight times target, in the direction tail − head.
    energy : float
        Σ w·target², the value of the objective at x = 0; NaN if unknown. Some backends use it in their stopping rule.
    """

    pattern: Pattern
    weight: np.ndarray
    flow: np.ndarray
    energy: float = float("nan")

    @classmethod
    def from_edges(cls, n: int, tail: Any, head: Any, weight: Any, target: Any) -> LaplacianSystem:
        """From weighted edges in any order and direction, parallel ones included.

        Parameters
        ----------
        n : int
        tail, head : (n_edges,) integers in [0, n)
        weight : (n_edges,) float, ≥ 0
        target : (n_edges,) float
            Wanted x_tail − x_head.
        """
        tail, head = np.asarray(tail, dtype=np.int32), np.asarray(head, dtype=np.int32)
        weight, target = np.asarray(weight, dtype=np.float64), np.asarray(target, dtype=np.float64)
        if not len(tail) == len(head) == len(weight) == len(target):
            raise ValueError(
                "tail, head, weight, target must be equally long, "
                f"got {len(tail)}, {len(head)}, {len(weight)}, {len(target)}"
            )
        if len(tail) and (min(tail.min(), head.min()) < 0 or max(tail.max(), head.max()) >= n):
            raise ValueError(f"tail and head must lie in [0, {n})")
        if not (weight >= 0).all() or not np.isfinite(weight).all() or not np.isfinite(target).all():
            raise ValueError("weight must be finite and ≥ 0, target finite")
        keep = tail != head
        tail, head, weight, target = tail[keep], head[keep], weight[keep], target[keep]
        pattern, order, start = Pattern.from_edges(n, tail, head)
        signed = np.where(tail < head, weight * target, -weight * target)
        if not len(order):
            return pattern.system(np.zeros(0), np.zeros(0), 0.0)
        totals = [np.add.reduceat(values[order], start[:-1]) for values in (weight, signed)]
        return pattern.system(totals[0], totals[1], float(np.sum(weight * target**2)))

    @property
    def n(self) -> int:
        return self.pattern.n

    @property
    def edges(self) -> tuple[Any, Any, Any, Any]:
        """The system as weighted edges, one per pair: tail, head, weight, target; what `from_edges` takes."""
        xp = array_namespace(self.weight)
        target = self.flow / xp.where(self.weight > 0, self.weight, 1.0)
        return self.pattern.tail, self.pattern.head, self.weight, target

    @cached_property
    def diagonal(self) -> np.ndarray:
        """(n,) diagonal of L."""
        p = self.pattern
        return sums(p.tail, self.weight, p.n) + sums(p.head, self.weight, p.n)

    @cached_property
    def rhs(self) -> np.ndarray:
        """(n,) right-hand side b."""
        p = self.pattern
        return sums(p.tail, self.flow, p.n) - sums(p.head, self.flow, p.n)

    def to(self, xp: Any) -> LaplacianSystem:
        """This system with its arrays in the namespace `xp`, numpy or cupy; itself if they are there already."""
        if xp is array_namespace(self.weight):
            return self
        return LaplacianSystem(self.pattern.to(xp), to_device(self.weight, xp), to_device(self.flow, xp), self.energy)

    @property
    def matrix(self) -> Any:
        """L as a `scipy.sparse` CSR matrix (`cupyx.scipy.sparse` on the GPU).

        The sparsity is computed once for all systems of a pattern; the arrays are the caller's own, to change at will.
        `refill` puts the values of the next system into the same matrix.
        """
        start, column, _ = self.pattern.csr
        return csr_matrix(self._values(), column.copy(), start.copy())

    def refill(self, matrix: Any) -> None:
        """Write the values of L into `matrix`, the CSR matrix of another system of this pattern, in place."""
        matrix.data[:] = self._values()

    def _values(self) -> Any:
        """Values of L in the order of `Pattern.csr`."""
        xp, pair = array_namespace(self.weight), self.pattern.csr[2]
        values = xp.concatenate([-self.weight, xp.zeros(1)])[pair]
        values[xp.flatnonzero(pair == self.pattern.n_pairs)] = self.diagonal
        return values

    @property
    def operator(self) -> Any:
        """L as a `scipy.sparse.linalg.LinearOperator` that never forms the matrix."""
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator((self.n, self.n), matvec=self.apply, rmatvec=self.apply, dtype=np.float64)

    def apply(self, x: np.ndarray) -> np.ndarray:
        """L x."""
        p = self.pattern
        if array_namespace(self.weight) is np:
            x = np.ravel(x).astype(np.float64, copy=False)
        if array_namespace(self.weight) is not np or p.n_pairs <= _FEW_PAIRS:
            flow = self.weight * (x[p.tail] - x[p.head])
            return sums(p.tail, flow, p.n) - sums(p.head, flow, p.n)
        out = np.empty(self.n)
        apply_laplacian(*p.adjacency, self.weight, x, out)
        return out

    @cached_property
    def noise(self) -> float:
        """Size of what rounding leaves of b where the flows cancel: a residual below it means nothing."""
        p, gross = self.pattern, abs(self.flow)
        return 1e-14 * norm(sums(p.tail, gross, p.n) + sums(p.head, gross, p.n))

    def residual(self, x: np.ndarray) -> float:
        """‖b − L x‖ / ‖b‖; zero where the numerator is but rounding."""
        left = norm(self.rhs - self.apply(x))
        return 0.0 if left <= self.noise else left / norm(self.rhs)

    @cached_property
    def settled(self) -> bool:
        """Whether b is zero, or nothing but rounding: x = 0 is the solution then."""
        return norm(self.rhs) <= self.noise

    def nothing(self) -> Solution:
        """The solution of a settled system."""
        return Solution(array_namespace(self.weight).zeros(self.n), True, 0, 0.0)

    @cached_property
    def pieces(self) -> np.ndarray:
        """(n,) int32 label of the connected piece of each unknown, by positive weights."""
        xp, used = array_namespace(self.weight), self.weight > 0
        if used.all():
            return self.pattern.pieces
        if xp is not np:
            return to_device(self.to(np).pieces, xp)
        return connected_labels(self.n, self.pattern.tail[used], self.pattern.head[used])

    @cached_property
    def ground(self) -> np.ndarray:
        """(n,) to add to the diagonal to make L positive definite: it ties down one unknown of each piece.

        b sums to zero over a piece, so the solution stays what it is, up to the constant of the piece.
        """
        ground = np.zeros(self.n)
        first = np.unique(self.pieces, return_index=True)[1]
        ground[first] = np.where(self.diagonal[first] > 0, self.diagonal[first], 1.0)
        return ground

    def centred(self, x: np.ndarray) -> np.ndarray:
        """x less its mean over each piece: the representative that the contract asks for."""
        size = array_namespace(x).bincount(self.pieces)
        return x - (sums(self.pieces, x, len(size)) / size)[self.pieces]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the system as ``.npz``: n, tail, head, weight, target."""
        tail, head, weight, target = self.to(np).edges
        np.savez_compressed(path, n=self.n, tail=tail, head=head, weight=weight, target=target)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LaplacianSystem:
        """Read what `save` wrote, or any ``.npz`` with the same five arrays."""
        names = ("n", "tail", "head", "weight", "target")
        with open(path, "rb") as file:
            if file.read(2) != b"PK":
                raise ValueError(f"{os.fspath(path)}: not a dumped system, which is an .npz archive")
        try:
            with np.load(path, allow_pickle=False) as data:
                missing = sorted(set(names) - set(data.files))
                found = {name: data[name] for name in names if name in data.files}
        except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(f"{os.fspath(path)}: not a dumped system, or a damaged one ({error})") from None
        if missing:
            raise ValueError(f"{os.fspath(path)}: not a dumped system, it has no {', '.join(missing)}")
        return cls.from_edges(int(found["n"]), *(found[name] for name in names[1:]))


class SolverError(RuntimeError):
    """A backend failed, or returned what cannot be a solution."""


@dataclass(frozen=True, eq=False)
class Solution:
    """What a backend returns.

    Attributes
    ----------
    x : (n,) float64
        Solution of zero mean over each piece.
    converged : bool
        Whether the backend's own tolerance was reached.
    iterations : int
        1 for a direct solve, 0 if there was nothing to do.
    residual : float
        ‖b − L x‖ / ‖b‖; zero where the numerator is but rounding (`LaplacianSystem.residual`).
    """

    x: np.ndarray
    converged: bool
    iterations: int
    residual: float


@kernel(parallel=True, parallel_from=2**18)
def apply_laplacian(start, neighbour, pair, weight, x, out):
    """out = L x, a row at a time."""
    for i in prange(len(out)):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            total += weight[pair[k]] * (x[i] - x[neighbour[k]])
        out[i] = total
