"""What a pattern alone determines of its factorisation. It is found once per pattern and serves all its systems."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..core.sharing import Later
from ..pattern import Pattern
from .fronts import entries_of_fronts, fronts_of_tree
from .ordering import minimum_degree
from .tree import factor_pattern


@dataclass(frozen=True)
class Analysis:
    """The pattern of a factor L and the fronts that compute it.

    Attributes
    ----------
    order : (n,) int32
        Unknowns in the order of elimination.
    start, rows : (n + 1,) int64, (n_nonzeros,) int32
        Column j of L has the rows ``rows[start[j]:start[j+1]]``, which increase.
    front : (n_fronts + 1,) int32
        Front s eliminates the columns front[s]:front[s+1]; its rows are these and the rows of its first column.
    first, after : (n_fronts,) int32
        The first of the fronts whose updates a front takes, and the next one that the same front takes; −1 at the end.
    offset : (n_fronts,) int64
        Where the update of each front is put, as an upper triangle row by row.
    schedule, part : (n_fronts,) int32, (n_parts + 2,) int64
        Fronts sorted into parts that do not depend on each other, ``schedule[part[i]:part[i+1]]``. The last part holds
        the fronts that depend on several others.
    room : (n_parts + 1,) int64
        Number of rows of the largest front of each part.
    n_updates : int
        Number of values of all updates that exist at the same time.
    entry_start, entry_at, entry_pair : (n_fronts + 1,) int64, (n_pairs,) int32, (n_pairs,) int32
        For each front, the places in its matrix, counted row by row, where entries of the system belong, and their pairs.
    taken_start, taken_at : (n_fronts + 1,) int64, (n_taken,) int32
        For each front, the rows of the front that takes its update to which the rows of the update belong.
    """

    order: np.ndarray
    start: np.ndarray
    rows: np.ndarray
    front: np.ndarray
    first: np.ndarray
    after: np.ndarray
    offset: np.ndarray
    schedule: np.ndarray
    part: np.ndarray
    room: np.ndarray
    n_updates: int
    entry_start: np.ndarray
    entry_at: np.ndarray
    entry_pair: np.ndarray
    taken_start: np.ndarray
    taken_at: np.ndarray

    @cached_property
    def memory(self) -> np.ndarray:
        """(n_parts + 1,) int64 where the working memory of each part begins, and the end: room for its largest front."""
        return np.append(0, np.cumsum(self.room**2))

    @classmethod
    def from_pattern(cls, pattern: Pattern) -> Analysis:
        """Order the unknowns of a pattern and lay out its factorisation."""
        order, parent, start, rows = factor_pattern(pattern, minimum_degree(*pattern.adjacency[:2]))
        front, first, after, *shared = fronts_of_tree(parent, np.diff(start))
        entries = entries_of_fronts(pattern, order, start, rows, front, first, after)
        return cls(order, start, rows, front, first, after, *shared, *entries)

    @property
    def n_nonzeros(self) -> int:
        """Number of non-zeros of L below its diagonal."""
        return len(self.rows)


def analyse(pattern: Pattern) -> Analysis:
    """The analysis of a pattern, kept in the pattern's memo."""
    found = pattern.memo.get("cholesky")
    if isinstance(found, Analysis):
        return found
    pattern.memo["cholesky"] = made = Analysis.from_pattern(pattern) if found is None else found.result()
    return made


def analyse_ahead(pattern: Pattern) -> None:
    """Have a pattern analysed while the caller goes on; `analyse` waits for the result."""
    if "cholesky" not in pattern.memo:
        pattern.memo["cholesky"] = Later(Analysis.from_pattern, pattern)
