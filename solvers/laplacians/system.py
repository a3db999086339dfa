"""The one linear problem of this package, as data: a weighted graph Laplacian made from edges.

    minimise over x   Σ_e  w_e (x_tail(e) − x_head(e) − target_e)²

Its normal equations are L x = b with L = Σ w (e_t − e_h)(e_t − e_h)ᵀ and b = Σ w·target (e_t − e_h). Parallel edges add
up, so a system keeps one weight and one flow (Σ w·target) per *pair* of unknowns.

L is singular: x is determined up to one constant per connected piece of the positive weights. The contract of every
backend is to return the solution whose mean over each piece is zero. An unknown without a positive weight is a piece of
its own and comes out as zero.

The arrays of a system belong to one namespace, numpy or cupy; `LaplacianSystem.to` moves them. A system is never changed:
`weight`, `flow`, `totals` and `ground` are read-only, and `rhs`, `diagonal` and `matrix` are copies.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .core.arrays import array_namespace, centred, csr_matrix, norm, sums, to_device
from .core.edges import checked_edges, connected_labels
from .core.jit import WHOLE, kernel, portion
from .pattern import Pattern, first_of_each
from .solution import Solution

# Up to this number of pairs, array expressions are as quick as a kernel, which would have to be compiled first.
_FEW_PAIRS = 1024


@dataclass(frozen=True, eq=False)
class LaplacianSystem:
    """Weights and flows on a `Pattern`: the problem that a backend is given.

    Attributes
    ----------
    pattern : Pattern
    weight : (n_pairs,) float64, ≥ 0
        Read-only, like `flow`.
    flow : (n_pairs,) float64
        Weight times target, in the direction tail − head.
    energy : float
        Σ w·target², the value of the objective at x = 0, or NaN if it is unknown. A backend may use it to decide when to
        stop.

    Examples
    --------
    >>> s = LaplacianSystem.from_edges(3, [0, 1], [1, 2], [1.0, 1.0], [2.0, 1.0])
    >>> s.matrix.toarray()
    array([[ 1., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  1.]])
    >>> s.rhs
    array([ 2., -1., -1.])
    """

    pattern: Pattern
    weight: np.ndarray
    flow: np.ndarray
    energy: float = float("nan")

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", _read_only(self.weight))
        object.__setattr__(self, "flow", _read_only(self.flow))

    @classmethod
    def from_edges(cls, n: int, tail: Any, head: Any, weight: Any, target: Any) -> LaplacianSystem:
        """Make a system from weighted edges in any order and direction; parallel edges and loops are allowed.

        Parameters
        ----------
        n : int
            Number of unknowns.
        tail, head : (n_edges,) integers in [0, n)
            Ends of the edges. An edge from an unknown to itself says nothing and is left out.
        weight : (n_edges,) float, ≥ 0
        target : (n_edges,) float
            Wanted value of x_tail − x_head.

        Returns
        -------
        LaplacianSystem

        Examples
        --------
        >>> LaplacianSystem.from_edges(2, [0, 1], [1, 0], [1.0, 3.0], [2.0, -2.0]).weight
        array([4.])
        """
        n, tail, head, weight, target = checked_edges(n, tail, head, weight, target)
        keep = tail != head
        tail, head, weight, target = tail[keep], head[keep], weight[keep], target[keep]
        pattern, order, start = Pattern.from_edges(n, tail, head)
        signed = np.where(tail < head, weight * target, -weight * target)
        if not len(order):
            return cls(pattern, np.zeros(0), np.zeros(0), 0.0)
        totals = [np.add.reduceat(values[order], start[:-1]) for values in (weight, signed)]
        return cls(pattern, totals[0], totals[1], float(np.sum(weight * target**2)))

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return self.pattern.n

    @property
    def edges(self) -> tuple[Any, Any, Any, Any]:
        """The system as weighted edges, one per pair: tail, head, weight, target. `from_edges` takes these."""
        xp = array_namespace(self.weight)
        target = self.flow / xp.where(self.weight > 0, self.weight, 1.0)
        return self.pattern.tail, self.pattern.head, self.weight, target

    @cached_property
    def totals(self) -> Any:
        """(3, n) for each unknown Σ weight, Σ ±flow and Σ |flow| over its pairs: diagonal, right-hand side, and its size.

        Read-only; to take a row of it costs no copy.
        """
        p, xp = self.pattern, array_namespace(self.weight)
        if xp is np and p.n_pairs > _FEW_PAIRS:
            out = np.empty((3, p.n))
            _add_up(*p.adjacency, self.weight, self.flow, out)
            return _read_only(out)
        values = self.weight, self.flow, abs(self.flow)
        tail, head = ([sums(end, v, p.n) for v in values] for end in (p.tail, p.head))
        return _read_only(xp.stack([tail[0] + head[0], tail[1] - head[1], tail[2] + head[2]]))

    @property
    def diagonal(self) -> np.ndarray:
        """(n,) diagonal of L, a copy."""
        return self.totals[0].copy()

    @property
    def rhs(self) -> np.ndarray:
        """(n,) right-hand side b, a copy: conjugate gradients usually begin with it and change it."""
        return self.totals[1].copy()

    def to(self, xp: Any) -> LaplacianSystem:
        """This system with its arrays in the namespace `xp`, numpy or cupy; the same object if they are there already."""
        if xp is array_namespace(self.weight):
            return self
        return LaplacianSystem(self.pattern.to(xp), to_device(self.weight, xp), to_device(self.flow, xp), self.energy)

    @property
    def matrix(self) -> Any:
        """L as a `scipy.sparse` CSR matrix (`cupyx.scipy.sparse` on the GPU).

        The sparsity is computed once for all systems of a pattern, but the arrays of the matrix are copies that the
        caller may change. `refill` writes the values of another system into the same matrix.
        """
        start, column, _ = self.pattern.csr
        return csr_matrix(self._values(), column.copy(), start.copy())

    def refill(self, matrix: Any) -> None:
        """Write the values of L into `matrix`, the CSR matrix of another system of this pattern, in place."""
        matrix.data[:] = self._values()

    def _values(self) -> Any:
        """The values of L in the order of `Pattern.csr`."""
        xp, pair = array_namespace(self.weight), self.pattern.csr[2]
        values = xp.concatenate([-self.weight, xp.zeros(1)])[pair]
        values[xp.flatnonzero(pair == self.pattern.n_pairs)] = self.totals[0]
        return values

    @property
    def operator(self) -> Any:
        """L as a `scipy.sparse.linalg.LinearOperator` that never forms the matrix."""
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator((self.n, self.n), matvec=self.apply, rmatvec=self.apply, dtype=np.float64)

    def apply(self, x: np.ndarray) -> np.ndarray:
        """The product L x, as a new (n,) float64 array."""
        p = self.pattern
        if array_namespace(self.weight) is np:
            x = np.ravel(x).astype(np.float64, copy=False)
        if array_namespace(self.weight) is not np or p.n_pairs <= _FEW_PAIRS:
            flow = self.weight * (x[p.tail] - x[p.head])
            return sums(p.tail, flow, p.n) - sums(p.head, flow, p.n)
        out = np.empty(self.n)
        _apply(*p.adjacency, self.weight, x, out)
        return out

    @cached_property
    def noise(self) -> float:
        """The size that b may have from rounding alone where the flows cancel; a residual below it means nothing."""
        return 1e-14 * norm(self.totals[2])

    def residual(self, x: np.ndarray) -> float:
        """‖b − L x‖ / ‖b‖, or zero where the numerator is nothing but rounding."""
        return self.relative(self.totals[1] - self.apply(x))

    def relative(self, left: np.ndarray) -> float:
        """‖left‖ / ‖b‖ for a residual vector `left` = b − L x, or 0 where `left` is rounding; infinite if only b is zero."""
        size, whole = norm(left), norm(self.totals[1])
        return 0.0 if size <= self.noise else size / whole if whole else float("inf")

    @cached_property
    def settled(self) -> bool:
        """Whether b is zero or nothing but rounding. The solution is x = 0 then."""
        return norm(self.totals[1]) <= self.noise

    def nothing(self) -> Solution:
        """The solution of a settled system: zeros."""
        return Solution(array_namespace(self.weight).zeros(self.n), True, 0, 0.0)

    @cached_property
    def pieces(self) -> np.ndarray:
        """(n,) int32 label of the connected piece of each unknown, where only positive weights connect."""
        xp, used = array_namespace(self.weight), self.weight > 0
        if used.all():
            return self.pattern.pieces
        if xp is not np:
            return to_device(self.to(np).pieces, xp)
        return connected_labels(self.n, self.pattern.tail[used], self.pattern.head[used])

    @cached_property
    def ground(self) -> np.ndarray:
        """(n,) values that make L positive definite when they are added to its diagonal.

        They tie down one unknown of each piece. Because b sums to zero over a piece, the solution stays the same up to
        the constant of the piece. Read-only.
        """
        ground, pieces, diagonal = np.zeros(self.n), self.pieces, self.totals[0]
        first = self.pattern.firsts if pieces is self.pattern.pieces else first_of_each(pieces)
        ground[first] = np.where(diagonal[first] > 0, diagonal[first], 1.0)
        return _read_only(ground)

    def centred(self, x: np.ndarray) -> np.ndarray:
        """x less its mean over each piece: the representative that the contract asks for."""
        return centred(x, self.pieces)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the system as ``.npz`` with the arrays n, tail, head, weight, target, to exactly this path."""
        tail, head, weight, target = self.to(np).edges
        with open(path, "wb") as file:  # given a path, numpy would append ".npz" to it
            np.savez_compressed(file, n=self.n, tail=tail, head=head, weight=weight, target=target)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LaplacianSystem:
        """Read what `save` wrote, or any ``.npz`` with the same five arrays; ValueError says what is wrong with it."""
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
        try:
            return cls.from_edges(*(found[name] for name in names))
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None


def _read_only(array: Any) -> Any:
    """A view of a numpy array that cannot be written to; CuPy has none, so its arrays are returned as they are."""
    if isinstance(array, np.ndarray):
        array = array.view()
        array.flags.writeable = False
    return array


@kernel(parallel_from=2**18)
def _add_up(start, neighbour, pair, weight, flow, out, share=WHOLE):
    """Write Σ weight, Σ ±flow and Σ |flow| of each row to the rows of `out`. Assumes the lists of `Pattern.adjacency`."""
    for i in portion(out.shape[1], share):
        total, net, gross = 0.0, 0.0, 0.0
        for k in range(np.uint64(start[i]), np.uint64(start[i + 1])):
            p = np.uint32(pair[k])
            total += weight[p]
            net += flow[p] if neighbour[k] > i else -flow[p]
            gross += abs(flow[p])
        out[0, i] = total
        out[1, i] = net
        out[2, i] = gross


@kernel(parallel_from=2**18)
def _apply(start, neighbour, pair, weight, x, out, share=WHOLE):
    """Write out = L x, one row at a time.

    Assumes the lists of `Pattern.adjacency`, one weight per pair, and x and out of length n.
    """
    for i in portion(len(out), share):
        total = 0.0
        for k in range(np.uint64(start[i]), np.uint64(start[i + 1])):  # unsigned: Numba need not look for negative ones
            total += weight[np.uint32(pair[k])] * (x[i] - x[np.uint32(neighbour[k])])
        out[i] = total
