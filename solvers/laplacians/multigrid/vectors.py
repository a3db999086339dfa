"""The vector operations of multigrid, each in one pass, with sums that do not depend on the number of threads."""

from __future__ import annotations

import numpy as np

from ..core.jit import WHOLE, kernel, portion

# Kernels use threads from this number of entries on. To wake a sleeping thread takes a quarter of a millisecond on a busy
# machine, in which this many entries can be processed twice; and the coarser levels are visited often.
PARALLEL_FROM = 2**17
# Sums are made in this number of parts, whatever the number of threads is, so that threads do not change the result.
N_BLOCKS = 64


def dot(x: np.ndarray, y: np.ndarray) -> float:
    """The scalar product x·y in double precision."""
    part = np.zeros(N_BLOCKS)
    _dot(x, y, part)
    return float(part.sum())


def combine(p: np.ndarray, z: np.ndarray, beta: float) -> None:
    """Set p to z + beta·p, in place."""
    _combine(p, z, beta)


def advance(x: np.ndarray, r: np.ndarray, p: np.ndarray, q: np.ndarray, alpha: float) -> float:
    """Set x to x + alpha·p and r to r − alpha·q, in place; returns r·r."""
    part = np.zeros(N_BLOCKS)
    _advance(x, r, p, q, alpha, part)
    return float(part.sum())


@kernel(parallel_from=PARALLEL_FROM)
def _dot(x, y, part, share=WHOLE):
    """Write the scalar product of each block into `part`. Assumes x and y of one length, and an even number of blocks.

    An addition takes several cycles, and the next one to the same sum waits for it, so two blocks are added up side by side.
    """
    n, n_blocks = len(x), len(part)
    least = np.uint64(n // n_blocks)  # entries of a block; some have one more
    for two in portion(n_blocks // 2, share):
        b = 2 * two
        i, j, end = np.uint64(b * n // n_blocks), np.uint64((b + 1) * n // n_blocks), np.uint64((b + 2) * n // n_blocks)
        s, t = 0.0, 0.0
        for k in range(least):
            s += x[i + k] * y[i + k]
            t += x[j + k] * y[j + k]
        part[b] = s + x[i + least] * y[i + least] if j - i > least else s
        part[b + 1] = t + x[j + least] * y[j + least] if end - j > least else t


@kernel(parallel_from=PARALLEL_FROM)
def _combine(p, z, beta, share=WHOLE):
    """Write p = z + beta·p. Assumes p and z of one length."""
    for i in portion(len(p), share):
        p[i] = z[i] + beta * p[i]


@kernel(parallel_from=PARALLEL_FROM)
def _advance(x, r, p, q, alpha, part, share=WHOLE):
    """Write x += alpha·p, r −= alpha·q, and r·r of each block into `part`. Assumes four vectors of one length."""
    n, n_blocks = len(x), len(part)
    for b in portion(n_blocks, share):
        s = 0.0
        for i in range(b * n // n_blocks, (b + 1) * n // n_blocks):
            x[i] += alpha * p[i]
            r[i] -= alpha * q[i]
            s += r[i] * r[i]
        part[b] = s
