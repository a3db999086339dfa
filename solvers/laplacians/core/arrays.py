"""The numpy/cupy switch: which namespace an array belongs to, moving it there and back, and what the two call alike."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

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
        return f"CuPy {cupy.__version__} cannot reach a GPU: {error}"
    return f"CuPy {cupy.__version__} finds no working CUDA GPU"


def namespace(device: str) -> ModuleType:
    """The array module of a device: numpy for "cpu", cupy for "cuda", the better that works for "auto"."""
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f'device={device!r} is not known; use "auto", "cpu" or "cuda"')
    problem = gpu_problem() if device != "cpu" else "not asked for"
    if problem is None:
        import cupy

        return cupy
    if device == "cuda":
        raise ValueError(f'device="cuda" cannot be used: {problem}. Use device="cpu", or install: {INSTALL}')
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
    """(n,) float64 sums of `values` by `index`."""
    # Of no values at all both numpy and cupy return integers.
    return array_namespace(index).bincount(index, values, n).astype(np.float64, copy=False)


def norm(values: Any) -> float:
    """Euclidean norm. Not `linalg.norm`: BLAS starts threads for it, which costs more than the sum."""
    return float((values * values).sum()) ** 0.5


def csr_matrix(values: Any, column: Any, start: Any) -> Any:
    """The square CSR matrix of `scipy.sparse` or, for arrays on the GPU, of `cupyx.scipy.sparse`."""
    if array_namespace(values) is np:
        from scipy.sparse import csr_array as make
    else:
        from cupyx.scipy.sparse import csr_matrix as make
    return make((values, column, start), shape=(len(start) - 1, len(start) - 1))
