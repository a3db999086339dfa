"""The switch between numpy and cupy: which of the two an array belongs to, how to move it, and what both can do.

Code that takes its array functions from `array_namespace` runs on the host and on the GPU with one body.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from .lookups import added_up, counted, taken

# Entries of a vector of many millions that are worked on at a time, so that what is made on the way stays in the caches. A
# system takes longer to hand out new memory than it takes to fill it.
BLOCK = 2**16

# Multiplications of a product of two matrices, and of a matrix and a vector, up to which BLAS starts no thread.
_ONE_THREAD = 2**18, 2**13

INSTALL = 'pip install "quotientgraph[cuda12]"'


def gpu_problem() -> str | None:
    """Why no GPU can be used, or None if one can."""
    try:
        import cupy
    except ImportError:
        return f"CuPy is not installed; install it with: {INSTALL}"
    try:
        if cupy.is_available():
            return None
    except Exception as error:  # a broken driver raises CUDA's own exception types
        return f"CuPy {cupy.__version__} cannot reach a GPU: {error}; its libraries come with: {INSTALL}"
    return f"CuPy {cupy.__version__} finds no working CUDA GPU"


def namespace(device: str) -> ModuleType:
    """The array module of a device.

    Parameters
    ----------
    device : "cpu", "cuda" or "auto"
        "auto" means "cuda" where a GPU can be used, and "cpu" elsewhere.

    Returns
    -------
    module
        numpy or cupy. ValueError says why "cuda" cannot be used.

    Examples
    --------
    >>> namespace("cpu").__name__
    'numpy'
    """
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f'device={device!r} is not known; use "auto", "cpu" or "cuda"')
    problem = gpu_problem() if device != "cpu" else "not asked for"
    if problem is None:
        import cupy

        return cupy
    if device == "cuda":
        raise ValueError(f'device="cuda" cannot be used: {problem}. Use device="cpu" otherwise')
    return np


def array_namespace(array: Any) -> ModuleType:
    """The module (numpy or cupy) that `array` belongs to."""
    if isinstance(array, np.ndarray):
        return np
    import cupy

    return cupy.get_array_module(array)


def to_host(array: Any) -> np.ndarray:
    """`array` as a numpy array, copied from the GPU if it lives there."""
    return array if isinstance(array, np.ndarray) else array.get()


def to_device(array: Any, xp: ModuleType) -> Any:
    """`array` in the namespace `xp`; the same object if it is there already."""
    return to_host(array) if xp is np else xp.asarray(array)


def sums(index: Any, values: Any, n: int) -> Any:
    """Add up `values` by `index`, which lies in [0, n); returns (n,) float64.

    >>> sums(np.array([0, 2, 2]), np.array([1.0, 2.0, 3.0]), 4).tolist()
    [1.0, 0.0, 5.0, 0.0]
    """
    xp = array_namespace(index)
    if xp is np:
        return added_up(index, values, n)
    return xp.bincount(index, values, n).astype(np.float64, copy=False)  # without any values they are integers


def counts(index: np.ndarray, n: int) -> np.ndarray:
    """How often each number occurs in `index`, which lies in [0, n); returns (n,) integers."""
    return counted(index, n)


def blocks(n: int, size: int = BLOCK) -> Iterator[slice]:
    """The parts of a vector of n entries, one after another."""
    return (slice(begin, begin + size) for begin in range(0, n, size))


def gathered(values: Any, *lists: Any) -> Any:
    """``values[index]``, or with two lists ``values[one[other]]``; by a kernel where there is much of it.

    >>> gathered(np.array([5.0, 7.0]), np.array([1, 0, 1]), np.array([2, 1])).tolist()
    [7.0, 5.0]
    """
    xp, (*through, index) = array_namespace(values), lists
    for one in (*reversed(through), values):
        index = taken(one, index) if xp is np else one[index]
    return index


def centred(x: Any, labels: Any) -> Any:
    """x less its mean over each label, as a new array.

    Parameters
    ----------
    x : (n,) float64
    labels : (n,) integers ≥ 0
        Every label up to the largest must occur.

    Returns
    -------
    (n,) float64

    Examples
    --------
    >>> centred(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1])).tolist()
    [-1.0, 1.0, 0.0]
    """
    xp = array_namespace(x)
    size = counts(labels, int(labels.max(initial=-1)) + 1) if xp is np else xp.bincount(labels)
    return x - gathered(sums(labels, x, len(size)) / size, labels)


def norm(values: Any) -> float:
    """The Euclidean norm."""
    # Not `linalg.norm`: BLAS starts threads for it, and that takes longer than the sum.
    return float((values * values).sum()) ** 0.5


def product(rows: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The product of a matrix (n, k) with few columns and a matrix (k, m) or vector (k,), on the calling thread alone.

    BLAS would share a large product with threads of its own. Small as ours are, they gain nothing. Such a thread keeps a
    core busy for hundredths of a second after its work, and the last digit would depend on how many there are.

    >>> product(np.eye(3), np.arange(6.0).reshape(3, 2)).tolist()
    [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    """
    out = np.empty((len(rows), *other.shape[1:]))
    for part in blocks(len(rows), max(8, _ONE_THREAD[other.ndim == 1] // max(1, other.size) & -8)):
        np.matmul(rows[part], other, out=out[part])
    return out


def weighted_median(values: np.ndarray, weight: np.ndarray) -> float:
    """The least of the values (n,), at least one, up to which half of all weight (n,) lies.

    >>> weighted_median(np.array([3.0, 1.0, 2.0]), np.array([5.0, 1.0, 1.0]))
    3.0
    """
    order = np.argsort(values)
    so_far = np.cumsum(weight[order])
    return float(values[order[np.searchsorted(so_far, 0.5 * so_far[-1])]])


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product of two vectors (3,) that is at right angles to both; `np.cross` takes ten times as long.

    >>> cross(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])).tolist()
    [0.0, 0.0, 1.0]
    """
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def csr_matrix(values: Any, column: Any, start: Any) -> Any:
    """The square CSR matrix of `scipy.sparse` or, for arrays on the GPU, of `cupyx.scipy.sparse`."""
    if array_namespace(values) is np:
        from scipy.sparse import csr_array as make
    else:
        from cupyx.scipy.sparse import csr_matrix as make
    return make((values, column, start), shape=(len(start) - 1, len(start) - 1))
