"""The sparsity of a family of systems: which unknowns are joined, and what follows from that alone.

A method that reweights its equations solves many systems whose weights differ while their graph stays the same. Neighbour
lists, connected pieces, elimination orders and the like depend on the graph only, so they are kept with its `Pattern` and
computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .core.arrays import array_namespace, gathered, to_device
from .core.edges import connected_labels, group_edges, neighbour_lists, with_diagonal


@dataclass(frozen=True, eq=False)
class Pattern:
    """Pairs of joined unknowns. The arrays belong to numpy or, after `to`, to cupy.

    Attributes
    ----------
    n : int
        Number of unknowns.
    tail, head : (n_pairs,) int32
        The joined pairs, each once, with tail < head, sorted by (tail, head).
    memo : dict
        A place where backends keep what depends on the pattern only (an elimination order, say), under their own name.

    Examples
    --------
    >>> pattern, order, start = Pattern.from_edges(3, np.array([1, 0, 1]), np.array([0, 1, 2]))
    >>> pattern.tail.tolist(), pattern.head.tolist()
    ([0, 1], [1, 2])
    """

    n: int
    tail: np.ndarray
    head: np.ndarray
    memo: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_edges(cls, n: int, tail: np.ndarray, head: np.ndarray) -> tuple[Pattern, np.ndarray, np.ndarray]:
        """Make the pattern of edges that may be parallel and may have any direction.

        Parameters
        ----------
        n : int
            Number of unknowns.
        tail, head : (n_edges,) integers in [0, n)
            Ends of the edges. No edge may join an unknown to itself.

        Returns
        -------
        pattern : Pattern
        order : (n_edges,) int32
            The edges sorted by pair.
        start : (n_pairs + 1,) int64
            The edges ``order[start[p]:start[p+1]]`` belong to pair p. Those with tail > head run against the direction
            of their pair.
        """
        xp = array_namespace(tail)
        order = group_edges(n, tail, head)
        lo, hi = (gathered(end(tail, head), order) for end in (xp.minimum, xp.maximum))
        new = xp.ones(len(order) + 1, dtype=bool)  # the end counts as one more beginning
        new[1:-1] = (lo[1:] != lo[:-1]) | (hi[1:] != hi[:-1])
        start = xp.flatnonzero(new) if len(order) else xp.zeros(1, dtype=np.int64)
        return cls(n, lo[start[:-1]], hi[start[:-1]]), order, start

    @property
    def n_pairs(self) -> int:
        """Number of joined pairs."""
        return len(self.tail)

    @cached_property
    def adjacency(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Neighbour lists without the diagonal: `start` (n + 1,), `neighbour` and `pair` (2·n_pairs,) int32.

        Row i is ``start[i]:start[i+1]``. It lists the unknowns joined to i in increasing order, and the number of the
        pair that joins each of them to i.
        """
        return self._made_on_host(lambda host: neighbour_lists(host.n, host.tail, host.head))

    @cached_property
    def csr(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The lists of `adjacency` with the diagonal in its sorted place, where the number of the pair is n_pairs."""
        return self._made_on_host(lambda host: with_diagonal(host.n, *host.adjacency))

    @cached_property
    def pieces(self) -> np.ndarray:
        """(n,) int32 label of the connected piece that each unknown belongs to if all weights are positive."""
        return self._made_on_host(lambda host: (connected_labels(host.n, host.tail, host.head),))[0]

    @cached_property
    def firsts(self) -> np.ndarray:
        """(n_pieces,) int64 first unknown of each of the `pieces`, on the host."""
        return first_of_each(self.to(np).pieces)

    def to(self, xp: Any) -> Pattern:
        """This pattern with its arrays in the namespace `xp`, numpy or cupy. It is moved once and then kept."""
        here = array_namespace(self.tail)
        if xp is here:
            return self
        if xp.__name__ not in self.memo:
            there = Pattern(self.n, to_device(self.tail, xp), to_device(self.head, xp), {here.__name__: self})
            self.memo[xp.__name__] = there
        return self.memo[xp.__name__]

    def _made_on_host(self, make: Callable[[Pattern], tuple[np.ndarray, ...]]) -> Any:
        """Compute arrays from the pattern on the host, and move them to where this pattern is."""
        xp = array_namespace(self.tail)
        return tuple(to_device(array, xp) for array in make(self.to(np)))


def first_of_each(labels: np.ndarray) -> np.ndarray:
    """(n_labels,) int64 the first place at which each label 0, 1, 2, … occurs.

    >>> first_of_each(np.array([0, 1, 0, 2])).tolist()
    [0, 1, 3]
    """
    n = len(labels)
    first = np.zeros(int(labels.max()) + 1 if n else 0, dtype=np.int64)
    first[labels[::-1]] = np.arange(n - 1, -1, -1)  # of equal indices the last one counts
    return first
