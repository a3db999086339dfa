"""What users pass beside the normals: depth priors, confidences, labels, photographs and anchors.

Like normals and masks they may be paths, images, arrays of any common library, or tensors that require gradients.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .decode import pick
from .depth_files import known_depth, read_labels, read_prior
from .formats import InputError, read_arrays
from .normal_arrays import to_array, understand_mask
from .orientation import like_the_map, stated_orientation

Shape = tuple[int, int]

_CONFIDENCE_NAMES = ("prior_confidence", "confidence", "conf", "arr_0", "")
_FEW_LEVELS = 10  # whole numbers below this are levels, as 0, 1 and 2 of some depth cameras, and no parts of 255


def as_depth(thing: Any, shape: Shape, name: str = "prior") -> np.ndarray:
    """(H, W) float64 from what a user passes as depth; the first result of `understand_depth`.

    Examples
    --------
    >>> as_depth(np.array([[[0, 1500]]], dtype=np.uint16), (1, 2)).tolist()
    [[nan, 1500.0]]
    """
    return understand_depth(thing, shape, name)[0]


def understand_depth(thing: Any, shape: Shape, name: str = "prior") -> tuple[np.ndarray, list[str]]:
    """(H, W) float64 from what a user passes as depth, and warnings about it; a path is read by `read_depth`.

    Parameters
    ----------
    thing : path, PIL image, array or tensor
        (H, W), or with further dimensions of 1. As in files, 0 in an array of unsigned numbers means that there is no depth,
        and so does the largest number of their type if it has 16 bits or more and stands apart from the others.
    shape : (int, int)
        Height and width of the normal map.
    name : str
        What the argument is called in messages.

    Examples
    --------
    >>> understand_depth(np.array([[0, 1500]], dtype=np.uint16), (1, 2))[1]
    []
    """
    about: list[str] = []
    if _is_path(thing):
        with _named(name):
            found, about = read_prior(Path(thing))
    else:
        array = to_array(thing, name)
        if array.dtype == bool:
            raise InputError(f"{name}: truth values are no depth; pass numbers, NaN where it is unknown")
        found = array.astype(np.float64)
        if array.dtype.kind == "u":
            found, about = known_depth(array, name)
        found[np.ma.getmask(thing)] = np.nan  # nowhere, if it is no masked array
    return _of_shape(found, shape, name), about


def as_confidence(thing: Any, shape: Shape, name: str = "prior_confidence") -> np.ndarray:
    """(H, W) float64 between 0 and 1, 0 for NaN.

    Whole numbers without sign are parts of the largest that their type has, unless all are below 10.

    Examples
    --------
    >>> as_confidence(np.array([[0, 51, 255]], dtype=np.uint8), (1, 3)).tolist()
    [[0.0, 0.2, 1.0]]
    """
    if _is_path(thing):
        with _named(name):
            array = pick(Path(thing), read_arrays(Path(thing)), _CONFIDENCE_NAMES, "confidence")
    else:
        array = to_array(thing, name)
    found = np.nan_to_num(_of_shape(array, shape, name).astype(np.float64))
    high = found.max(initial=0.0)
    if array.dtype.kind == "u" and high >= _FEW_LEVELS:
        found /= np.iinfo(array.dtype).max
    elif found.min(initial=0.0) < 0 or high > 1:
        raise InputError(
            f"{name}: values must lie between 0 and 1, got {found.min():g} to {high:g}; divide by the largest there can be"
        )
    if not high > 0:
        raise InputError(f"{name}: it is 0 at all pixels, so the prior would say nothing; leave both out, or check it")
    return found


def as_labels(thing: Any, shape: Shape) -> np.ndarray:
    """(H, W) integers or (n, H, W) bool, as `quotientgraph.graph.segments` takes them.

    Further dimensions of 1 are dropped, and floats that are whole numbers are taken as such.

    Examples
    --------
    >>> as_labels([[[0.0], [3.0]]], (1, 2)).tolist()
    [[0, 3]]
    """
    if _is_path(thing):
        with _named("labels"):
            array = read_labels(Path(thing))
    else:
        array = to_array(thing, "labels")
        if np.ma.getmask(thing).any() and array.dtype != bool:
            array = np.where(np.ma.getmask(thing), np.int64(-1), array)
    if array.ndim == 3 and array.dtype == bool and array.shape[1:] == tuple(shape):
        return array
    array = _of_shape(array, shape, "labels", " or, as truth values, (n, H, W)")
    if array.dtype.kind != "f":
        return array
    if not (np.isfinite(array) & (array == np.rint(array)) & (np.abs(array) < 2**53)).all():
        raise InputError(
            "labels: some are not whole numbers; pass integers, negative where there is no label, for instance "
            "numpy.nan_to_num(labels, nan=-1).astype(int)"
        )
    return array.astype(np.int64)


def as_picture(thing: Any, shape: Shape) -> tuple[np.ndarray, list[str]]:
    """(H, W) or (H, W, channels) from what a user passes as a photograph, channels last, and warnings about it.

    Examples
    --------
    >>> as_picture(np.zeros((3, 5, 7)), (5, 7))[0].shape
    (5, 7, 3)
    """
    if _is_path(thing):
        file = Path(thing)
        with _named("image"):
            stored = next(iter(read_arrays(file).values()))
            picture, _, warning = like_the_map(stored, stated_orientation(file), shape, file)
        return picture, [warning] if warning else []
    array = to_array(thing, "image")
    if array.ndim == 4 and array.shape[0] == 1:
        array = array[0]
    if array.ndim == 3 and array.shape[1:] == tuple(shape) and array.shape[0] in (1, 3, 4):
        array = np.moveaxis(array, 0, -1)
    return array, []


def as_lines(thing: Any, shape: Shape) -> Any:
    """Lines of discontinuity as `quotientgraph.graph.lines` takes them: a path is read as an image of drawn pixels.

    Examples
    --------
    >>> as_lines([[(0, 0), (3, 4)]], (5, 7))
    [[(0, 0), (3, 4)]]
    """
    if not _is_path(thing):
        return thing
    with _named("forbidden"):
        return understand_mask(thing, shape, "image of lines")[0]


def as_anchors(thing: Any) -> Sequence[tuple[float, float, float]]:
    """A sequence of (column, row, depth) from a sequence, an array or a tensor of three columns.

    Examples
    --------
    >>> as_anchors(np.array([[3, 4, 1.5]]))
    [(3.0, 4.0, 1.5)]
    """
    if isinstance(thing, list | tuple):
        return thing
    what = "anchors: expected a sequence of (column, row, depth)"
    if isinstance(thing, str | os.PathLike | dict):
        raise InputError(f"{what}, got a {type(thing).__name__}; pass for instance [(120, 80, 1.5)]")
    array = to_array(thing, "anchors")
    if array.ndim != 2 or array.shape[1] != 3:
        raise InputError(f"{what}, got an array of shape {array.shape}; each row is one anchor, so the shape is (n, 3)")
    return [(float(u), float(v), float(depth)) for u, v, depth in array]


@contextmanager
def _named(argument: str) -> Iterator[None]:
    """Let messages about a file say which argument named it."""
    try:
        yield
    except InputError as problem:
        raise InputError(f"{argument}: {problem}") from problem


def _is_path(thing: Any) -> bool:
    return isinstance(thing, str | os.PathLike)


def _of_shape(array: np.ndarray, shape: Shape, name: str, also: str = "") -> np.ndarray:
    """The array without dimensions of 1 that the normal map does not have."""
    if array.ndim > 2 and array.shape != tuple(shape):
        outer = array.ndim - 2
        for first in range(outer + 1):
            rest = array.shape[:first] + array.shape[first + 2 :]
            if array.shape[first : first + 2] == tuple(shape) and all(n == 1 for n in rest):
                return array.reshape(shape)
    if array.shape != tuple(shape):
        turned = "; it seems to be transposed" if array.shape == (shape[1], shape[0]) else ""
        raise InputError(
            f"{name}: its shape {array.shape} differs from the normals' {tuple(shape)}{turned}; pass (H, W){also}, resized "
            "to the normal map without blending"
        )
    return array
