"""The vector operations of multigrid, each in one pass, with sums that do not depend on the number of threads.

They are told which spans of a vector hold nodes, and pass over the others, which are zero and stay so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.jit import WHOLE, kernel, portion

# Kernels use threads from this number of entries on. To wake a sleeping thread takes a quarter of a millisecond on a busy
# machine, in which this many entries can be processed twice; and the coarser levels are visited often.
PARALLEL_FROM = 2**17
# Sums are made in this number of parts, whatever the number of threads is, so that threads do not change the result.
N_BLOCKS = 64


class Spans(NamedTuple):
    """The parts of a vector that hold nodes, in blocks of equal length.

    Attributes
    ----------
    first : (N_BLOCKS + 1,) int64
        The spans of block b are first[b] to first[b + 1].
    begin, end : (n_spans + 1,) int64
        Each lies within its block; an empty one comes last.
    """

    first: np.ndarray
    begin: np.ndarray
    end: np.ndarray

    @classmethod
    def from_runs(cls, n: int, begin: np.ndarray, end: np.ndarray) -> Spans:
        """The spans of a vector of n entries, from increasing runs of entries, which are divided where blocks begin.

        >>> [part[:3].tolist() for part in Spans.from_runs(640, np.array([0, 15]), np.array([4, 30]))]
        [[0, 1, 2], [0, 15, 20], [4, 20, 30]]
        """
        block = np.arange(N_BLOCKS + 1) * n // N_BLOCKS
        before = np.searchsorted(begin, block) - 1  # the last run that begins before the block does
        within = np.unique(block[(before >= 0) & (block < end[before])]) if len(begin) else block[:0]
        begin, end = (np.sort(np.concatenate([one, within])) for one in (begin, end))
        return cls(np.searchsorted(begin, block), np.append(begin, n), np.append(end, n))


def round_to(r: np.ndarray, out: np.ndarray, spans: Spans) -> None:
    """Write r in single precision to `out`."""
    if len(r) < PARALLEL_FROM:
        np.copyto(out, r, casting="same_kind")
    else:
        _round(r, out, spans)


def dot(x: np.ndarray, y: np.ndarray, spans: Spans) -> float:
    """The scalar product x·y in double precision."""
    part = np.zeros(N_BLOCKS)
    _dot(x, y, spans, part)
    return float(part.sum())


def combine(p: np.ndarray, z: np.ndarray, beta: float, spans: Spans) -> None:
    """Set p to z + beta·p, in place."""
    _combine(p, z, beta, spans)


def advance(x: np.ndarray, r: np.ndarray, p: np.ndarray, q: np.ndarray, alpha: float, spans: Spans) -> float:
    """Set x to x + alpha·p and r to r − alpha·q, in place; returns r·r."""
    part = np.zeros(N_BLOCKS)
    _advance(x, r, p, q, alpha, spans, part)
    return float(part.sum())


def subtract(r: np.ndarray, q: np.ndarray, alpha: float, left: np.ndarray, spans: Spans) -> float:
    """Write r − alpha·q to `left` in single precision; returns its product with itself."""
    part = np.zeros(N_BLOCKS)
    _subtract(r, q, alpha, left, spans, part)
    return float(part.sum())


@kernel(parallel_from=PARALLEL_FROM)
def _dot(x, y, spans, part, share=WHOLE):
    """Write the scalar product of each block into `part`. Assumes x and y of one length, and an even number of blocks.

    An addition takes several cycles, and the next one to the same sum waits for it, so two blocks are added up side by side.
    """
    first, begin, end = spans
    for two in portion(len(part) // 2, share):
        a, b, stop = first[2 * two], first[2 * two + 1], first[2 * two + 2]
        middle, i, j, s, t = b, np.uint64(begin[a]), np.uint64(begin[b]), 0.0, 0.0
        while a < middle or b < stop:
            one, other = np.uint64(end[a]) - i, np.uint64(end[b]) - j
            n = min(one, other) if a < middle and b < stop else np.uint64(0)
            for k in range(n):
                s += x[i + k] * y[i + k]
                t += x[j + k] * y[j + k]
            i, j = i + n, j + n
            if b >= stop:  # the rest of one of them alone
                for k in range(one):
                    s += x[i + k] * y[i + k]
                i += one
            if a >= middle:
                for k in range(other):
                    t += x[j + k] * y[j + k]
                j += other
            if a < middle and i == np.uint64(end[a]):
                a += 1
                i = np.uint64(begin[a])
            if b < stop and j == np.uint64(end[b]):
                b += 1
                j = np.uint64(begin[b])
        part[2 * two], part[2 * two + 1] = s, t


@kernel(parallel_from=PARALLEL_FROM)
def _round(r, out, spans, share=WHOLE):
    """Write r to `out`. Assumes two vectors of one length."""
    first, begin, end = spans
    for b in portion(len(first) - 1, share):
        for k in range(first[b], first[b + 1]):
            for i in range(np.uint64(begin[k]), np.uint64(end[k])):
                out[i] = r[i]


@kernel(parallel_from=PARALLEL_FROM)
def _combine(p, z, beta, spans, share=WHOLE):
    """Write p = z + beta·p. Assumes p and z of one length."""
    first, begin, end = spans
    for b in portion(len(first) - 1, share):
        for k in range(first[b], first[b + 1]):
            for i in range(np.uint64(begin[k]), np.uint64(end[k])):
                p[i] = z[i] + beta * p[i]


@kernel(parallel_from=PARALLEL_FROM)
def _advance(x, r, p, q, alpha, spans, part, share=WHOLE):
    """Write x += alpha·p, r −= alpha·q, and r·r of each block into `part`. Assumes four vectors of one length."""
    first, begin, end = spans
    for b in portion(len(part), share):
        s = 0.0
        for k in range(first[b], first[b + 1]):
            for i in range(np.uint64(begin[k]), np.uint64(end[k])):
                x[i] += alpha * p[i]
                r[i] -= alpha * q[i]
                s += r[i] * r[i]
        part[b] = s


@kernel(parallel_from=PARALLEL_FROM)
def _subtract(r, q, alpha, left, spans, part, share=WHOLE):
    """Write left = r − alpha·q, and its square of each block into `part`. Assumes three vectors of one length."""
    first, begin, end = spans
    for b in portion(len(part), share):
        s = 0.0
        for k in range(first[b], first[b + 1]):
            for i in range(np.uint64(begin[k]), np.uint64(end[k])):
                left[i] = r[i] - alpha * q[i]
                s += left[i] * left[i]
        part[b] = s
