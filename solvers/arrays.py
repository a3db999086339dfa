"""The numpy/cupy switch: which namespace an array belongs to, and moving it there and back."""

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
