"""Conjugate gradients for the pixel-level methods, on the pixel grid itself.

The unknowns of a pixel-level system are pixels and its edges join neighbours, so the matrix needs no lists of indices. Each
direction of edges (right, down, and with eight neighbours the two diagonals) is one array of weights over the bounding box
of the valid pixels, with a margin of one pixel. A product with the matrix then reads memory in order, and compilers turn
it into vector instructions.

The preconditioner is the diagonal. How a solve stops is part of the methods that use it (`quotientgraph.baselines.irls`), so
the iterates are those of plain preconditioned conjugate gradients, up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laplacians.core.jit import kernel

from ..graph.pixels import PixelGraph

_BLOCK = 4096  # pixels that one step of the fused loop works on


@dataclass(frozen=True)
class PixelGrid:
    """Where pixels and edges lie in arrays over the bounding box.

    Attributes
    ----------
    stride : int
        Length of a row, margin included.
    size : int
        Number of cells.
    place : (n_pixels,) int64
        The cell of each pixel.
    direction : (n_edges,) int64
        The direction of each edge: its head lies 1, `stride`, `stride` + 1 or `stride` − 1 cells behind its tail.
    tail : (n_edges,) int64
        The cell of each edge's tail.
    n_directions : int
        2 without diagonals, otherwise 4.
    """

    stride: int
    size: int
    place: np.ndarray
    direction: np.ndarray
    tail: np.ndarray
    n_directions: int

    @classmethod
    def from_pixels(cls, pixels: PixelGraph) -> PixelGrid | None:
        """Return the grid of a pixel graph, or None if an edge joins pixels that are not neighbours in the image."""
        row, column = np.divmod(pixels.map.position.astype(np.int64), pixels.map.shape[1])
        row, column = row - row.min(), column - column.min()
        stride = int(column.max()) + 3
        place = (row + 1) * stride + column + 1
        apart = place[pixels.head] - place[pixels.tail]
        direction = np.full(len(apart), -1)
        for number, step in enumerate((1, stride, stride + 1, stride - 1)):
            direction[apart == step] = number
        if (direction < 0).any():
            return None
        n_directions = 2 if pixels.connectivity == 4 else 4
        return cls(stride, (int(row.max()) + 3) * stride, place, direction, place[pixels.tail], n_directions)

    def solve(self, weight: np.ndarray, rhs: np.ndarray, rtol: float, maxiter: int) -> tuple[np.ndarray, int]:
        """Solve L x = rhs from zero until the residual is `rtol` times the right-hand side.

        Parameters
        ----------
        weight : (n_edges,) float64, ≥ 0
            Weights of the edges, from which L is made.
        rhs : (n_pixels,) float64
        rtol : float
        maxiter : int

        Returns
        -------
        x : (n_pixels,) float64
        iterations : int
            `maxiter` if the tolerance was not reached.
        """
        weights = np.zeros((self.n_directions, self.size))
        weights[self.direction, self.tail] = weight
        left, x = np.zeros(self.size), np.zeros(self.size)
        left[self.place] = rhs
        used = _conjugate_gradients(self.stride, weights, left, x, rtol, maxiter, _BLOCK)
        return x[self.place], used


_FAST = {"contract", "reassoc", "nsz"}  # lets sums be vectorised


@kernel(error_model="numpy", fastmath=_FAST)
def _diagonal(stride, weights, diagonal, inverse):
    """Write the diagonal of L and its inverse (0 where the diagonal is 0); both arrays cover the whole grid."""
    steps = (1, stride, stride + 1, stride - 1)
    for i in range(len(diagonal)):
        diagonal[i] = 0.0
    for d in range(len(weights)):
        step = steps[d]
        for i in range(len(diagonal) - step):
            diagonal[i] += weights[d, i]
            diagonal[i + step] += weights[d, i]
    for i in range(len(diagonal)):
        inverse[i] = 1.0 / diagonal[i] if diagonal[i] > 0.0 else 0.0


@kernel(error_model="numpy", fastmath=_FAST)
def _product(stride, weights, diagonal, p, q, begin, end):
    """Write q = L p for the cells begin:end and return p·q over them. Assumes a margin of stride + 1 cells on both sides."""
    own, out, main = p[begin:end], q[begin:end], diagonal[begin:end]
    right, left = p[begin + 1 : end + 1], p[begin - 1 : end - 1]
    below, above = p[begin + stride : end + stride], p[begin - stride : end - stride]
    to_right, to_left = weights[0, begin:end], weights[0, begin - 1 : end - 1]
    to_below, to_above = weights[1, begin:end], weights[1, begin - stride : end - stride]
    total = 0.0
    for k in range(end - begin):
        value = main[k] * own[k] - to_right[k] * right[k] - to_left[k] * left[k]
        value -= to_below[k] * below[k] + to_above[k] * above[k]
        out[k] = value
        total += value * own[k]
    for d in range(2, len(weights)):
        step = stride + 1 if d == 2 else stride - 1
        ahead, behind = p[begin + step : end + step], p[begin - step : end - step]
        to_ahead, to_behind = weights[d, begin:end], weights[d, begin - step : end - step]
        for k in range(end - begin):
            value = to_ahead[k] * ahead[k] + to_behind[k] * behind[k]
            out[k] -= value
            total -= value * own[k]
    return total


@kernel(error_model="numpy", fastmath=_FAST)
def _conjugate_gradients(stride, weights, r, x, rtol, maxiter, block):
    """Solve L x = r from x = 0; r shrinks to `rtol` of its size. Returns the number of iterations.

    Cells outside the valid pixels have no weight and r = 0 there; they stay 0. The new direction p, the update of x with the
    old one, and the product L p are one pass over memory: p is renewed a row and a block ahead of the product.
    """
    n = len(r)
    first, last = stride + 1, n - stride - 1
    diagonal, inverse, p, q = np.empty(n), np.empty(n), np.zeros(n), np.zeros(n)
    _diagonal(stride, weights, diagonal, inverse)
    rz, rr = 0.0, 0.0
    for i in range(n):
        rr += r[i] * r[i]
        rz += r[i] * r[i] * inverse[i]
    goal = rtol * rtol * rr
    n_blocks = (last - first + block - 1) // block
    ahead = stride // block + 2
    alpha, beta, iteration = 0.0, 0.0, 0
    while rr > goal and iteration < maxiter:
        iteration += 1
        pq = 0.0
        for b in range(n_blocks + ahead):
            if b < n_blocks:
                begin = first + b * block
                end = min(begin + block, last)
                old, found, left, scale = p[begin:end], x[begin:end], r[begin:end], inverse[begin:end]
                for k in range(end - begin):
                    found[k] += alpha * old[k]
                    old[k] = left[k] * scale[k] + beta * old[k]
            if b >= ahead:
                begin = first + (b - ahead) * block
                pq += _product(stride, weights, diagonal, p, q, begin, min(begin + block, last))
        if not pq > 0.0:
            return iteration
        alpha = rz / pq
        before, rz, rr = rz, 0.0, 0.0
        for i in range(n):
            value = r[i] - alpha * q[i]
            r[i] = value
            rr += value * value
            rz += value * value * inverse[i]
        beta = rz / before
    for i in range(n):
        x[i] += alpha * p[i]
    return iteration
