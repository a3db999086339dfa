"""Bend: the smooth error of a depth prior, as an unknown of its own.

Depth maps of networks and of stereo are off by some per cent that change slowly over the image. Within one surface the
normals know the shape, so the change of the offset over it is the prior's error, not the surface's. The error is a sum of
cubic B-splines on a coarse grid, with a Gaussian process as what is expected of it beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy

from laplacians.core.jit import kernel

_ROUNDS = 12  # of reweighting, at most
_SETTLED = 1e-3  # mean change of the weights at which they have settled
_PARTS = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01, 0.003)  # of the largest size of the smooth error, from which one is chosen
_PARSIMONY = 3.0  # log-odds that a larger smooth error must gain
_OUTLIER = 2.5  # standard deviations beyond which a difference between two cells is taken for a jump


@dataclass(frozen=True)
class Bend:
    """A space of smooth functions over the image.

    Attributes
    ----------
    shape : (int, int)
        Of the image.
    size : float
        Standard deviation that is expected of the error.
    length : float
        Distance over which it changes, as a part of the longer side of the image.
    n_steps : int
        Intervals of the grid along the longer side.
    """

    shape: tuple[int, int]
    size: float
    length: float
    n_steps: int

    @property
    def step(self) -> float:
        """Pixels between grid points."""
        return max(self.shape) / self.n_steps

    @property
    def n_rows(self) -> int:
        return int(np.ceil((self.shape[0] - 1) / self.step)) + 3 if self.shape[0] > 1 else 4

    @property
    def n_columns(self) -> int:
        return int(np.ceil((self.shape[1] - 1) / self.step)) + 3 if self.shape[1] > 1 else 4

    def at(self, row: np.ndarray, column: np.ndarray) -> scipy.sparse.csr_matrix:
        """(n, n_coefficients) the splines at places of the image."""
        first_row, by_row = _splines(row / self.step, self.n_rows)
        first_column, by_column = _splines(column / self.step, self.n_columns)
        place = np.arange(len(first_row))
        entries = [(place, (first_row + i) * self.n_columns + first_column + j, by_row[i] * by_column[j])
                   for i in range(4) for j in range(4)]  # fmt: skip
        where, which, value = (np.concatenate(part) for part in zip(*entries, strict=True))
        return scipy.sparse.csr_matrix((value, (where, which)), shape=(len(place), self.n_rows * self.n_columns))

    def image(self, coefficients: np.ndarray) -> np.ndarray:
        """(H, W) the function with the given coefficients."""
        rows, columns = (
            _dense(np.arange(side) / self.step, n)
            for side, n in zip(self.shape, (self.n_rows, self.n_columns), strict=True)
        )
        return rows @ coefficients.reshape(self.n_rows, self.n_columns) @ columns.T

    @cached_property
    def precision(self) -> np.ndarray:
        """(n_coefficients, n_coefficients) inverse covariance of the coefficients (Matérn 5/2)."""
        row, column = (index.ravel() * self.step for index in np.indices((self.n_rows, self.n_columns)))
        distance = np.hypot(row[:, None] - row, column[:, None] - column) / (self.length * max(self.shape))
        scaled = np.sqrt(5) * distance
        covariance = (1 + scaled + scaled**2 / 3) * np.exp(-scaled)
        return np.linalg.inv(self.size**2 * (covariance + 1e-4 * np.eye(len(covariance))))


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients fitted to differences.

    Attributes
    ----------
    coefficients : (n_coefficients,) float64
    covariance : (n_coefficients, n_coefficients) float64
    evidence : float
        Logarithm of the probability of the differences, up to a term that does not depend on what was expected of the
        coefficients; comparable between fits of the same weights.
    weight : (n,) float64
        1 for a difference that fits, 0 for a jump.
    """

    coefficients: np.ndarray
    covariance: np.ndarray
    evidence: float
    weight: np.ndarray


def sized_bend(
    bend: Bend, rows: scipy.sparse.csr_matrix, difference: np.ndarray, variance: np.ndarray, other: float | None = None
) -> tuple[Bend, Fit]:
    """Choose the size of the smooth error: the least that explains the differences well enough.

    Parameters
    ----------
    bend : Bend
        Of the largest size.
    rows, difference, variance
        As in `bend_from_differences`.
    other : float, optional
        If given, the last column of `rows` is another function, of which this standard deviation is expected.
    """

    def precision(sized: Bend) -> np.ndarray:
        return sized.precision if other is None else scipy.linalg.block_diag(sized.precision, 1 / other**2)

    weight = bend_from_differences(rows, precision(bend), difference, variance).weight
    sizes = [replace(bend, size=bend.size * part) for part in _PARTS]
    products = gram(rows, weight / variance)
    fits = [bend_from_differences(rows, precision(sized), difference, variance, weight, products) for sized in sizes]
    enough = max(fit.evidence for fit in fits) - _PARSIMONY
    return next((sized, fit) for sized, fit in reversed(list(zip(sizes, fits, strict=True))) if fit.evidence >= enough)


def bend_from_differences(
    rows: scipy.sparse.csr_matrix,
    precision: np.ndarray,
    difference: np.ndarray,
    variance: np.ndarray,
    weight: np.ndarray | None = None,
    products: np.ndarray | None = None,
) -> Fit:
    """Fit functions to differences of the offset between neighbouring cells of one component.

    Where two parallel surfaces share a component the difference is a jump. Jumps are few, so they are found as outliers.

    Parameters
    ----------
    rows : (n, n_coefficients) sparse
        Difference of each function between the two cells.
    precision : (n_coefficients, n_coefficients)
        Inverse covariance expected of the coefficients.
    difference, variance : (n,)
        Difference of the offsets, and its variance by noise.
    weight : (n,), optional
        Weights to use instead of finding jumps.
    products : (n_coefficients, n_coefficients), optional
        What `gram` gives for these weights.

    Returns
    -------
    Fit
    """
    given = weight
    weight = np.ones(len(difference)) if given is None else given
    for _ in range(_ROUNDS if given is None else 1):
        known = weight / variance
        squares = gram(rows, known) if products is None else products
        normal, right = squares + precision, rows.T @ (known * difference)
        coefficients = np.linalg.solve(normal, right)
        if given is None:
            ratio = (difference - rows @ coefficients) / (_OUTLIER * np.sqrt(variance))
            before, weight = weight, 1 / (1 + ratio**2) ** 2
            if np.abs(weight - before).mean() < _SETTLED:
                break
    evidence = 0.5 * (np.linalg.slogdet(precision)[1] - np.linalg.slogdet(normal)[1] + right @ coefficients)
    return Fit(coefficients, np.linalg.inv(normal), float(evidence), weight)


def gram(rows: scipy.sparse.csr_matrix, weight: np.ndarray) -> np.ndarray:
    """(n_columns, n_columns) rowsᵀ · diag(weight) · rows."""
    out = np.zeros((rows.shape[1], rows.shape[1]))
    _add_products(rows.indptr, rows.indices, rows.data, weight, out)
    return out + out.T - np.diag(out.diagonal())


@kernel
def _add_products(start, column, value, weight, out):
    """Add the products of any two entries of a row of a sparse matrix, times the weight of the row, to `out`, once each."""
    for row in range(len(start) - 1):
        if weight[row] == 0:
            continue
        for a in range(start[row], start[row + 1]):
            scaled = weight[row] * value[a]
            for b in range(a, start[row + 1]):
                out[column[a], column[b]] += scaled * value[b]


def _splines(at: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The first of the four cubic B-splines at each place, and the values of the four, (4, len(at))."""
    first = np.clip(at.astype(np.int64), 0, n - 4)
    t = at - first
    return first, np.stack([(1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3]) / 6


def _dense(at: np.ndarray, n: int) -> np.ndarray:
    """(len(at), n) the values of all splines along one axis."""
    first, value = _splines(at, n)
    out = np.zeros((len(at), n))
    for i in range(4):
        out[np.arange(len(at)), first + i] = value[i]
    return out
