"""Whatever a user passes as normals, as a mask or as a camera: paths, images, arrays, tensors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ..geometry.camera import Camera, Pinhole, RayMap
from .camera_files import far_from_the_middle, intrinsics, read_camera
from .conventions import frame_axes
from .decode import decode_mask, decode_normals, pick
from .formats import InputError, read_arrays
from .normal_files import NormalInput, read_normals
from .orientation import about_normals, like_the_map, stated_orientation

_EXAMPLE = "Pinhole.from_fov(60, normals.shape[:2])"
MASK_NAMES = ("mask", "arr_0", "")
# An array is a picture of a mask, as compression or resizing leave it, if its largest value is at least the first number,
# fewer of its values lie between than half of the black and of the white ones, and more of those differ than labels would.
_BRIGHT, _NEARLY, _BETWEEN, _LABELS = 100, 0.1, 0.5, 8


def as_normals(thing: Any, frame: str | None = None, *, beside: bool = True) -> NormalInput:
    """Understand what a user passes as normals.

    Parameters
    ----------
    thing : path, PIL image, array or tensor
        A path is read as by `read_normals`. Arrays may be (H, W, 3), channels first (3, H, W), or with a leading 1;
        a fourth channel is a mask; two channels are x and y. uint8 and uint16 are decoded as 2·value/max − 1, and so are
        floats in [0, 1] or [0, 255], with a warning. Tensors of PyTorch may require gradients and lie on a GPU.
    frame : str, optional
        The frame that the user states; decides the sign of z where only x and y are given.
    beside : bool
        For a path: whether the mask and the camera that stand beside the file are used.

    Returns
    -------
    NormalInput
        With `normals` (H, W, 3) as floats, `mask` and `camera` if they came along, `notes` and `warnings`.

    Examples
    --------
    >>> image = np.full((4, 5, 3), [128, 128, 255], dtype=np.uint8)
    >>> found = as_normals(image)
    >>> found.normals.shape, found.dtype
    ((4, 5, 3), 'uint8')
    >>> as_normals(image / 255).warnings[0][:42]
    'normals: all values lie in [0, 1], as in a'
    """
    if isinstance(thing, str | os.PathLike):
        return read_normals(thing if isinstance(thing, str) else Path(thing), beside=beside, frame=frame)
    if isinstance(thing, NormalInput):
        return thing
    array = to_array(thing, "normals")
    if _are_vectors(array):
        return NormalInput(None, array, None, None, str(array.dtype), ())
    found = decode_normals("normals", array, z_forward=_z_forward(frame))
    turned = about_normals(stated_orientation(thing), "normals") if _is_pil(thing) else []
    return NormalInput(
        None,
        found.normals,
        found.alpha,
        None,
        found.dtype,
        tuple(found.notes),
        (*turned, *found.warnings),
        mask_from="" if found.alpha is None else "the alpha channel",
    )


def _are_vectors(array: np.ndarray) -> bool:
    """Whether an array is what most users pass, unit vectors as (H, W, 3) floats, judged by some of its rows.

    Anything else takes the slower way through `decode_normals`, which looks at every value.
    """
    if array.ndim != 3 or array.shape[2] != 3 or array.dtype not in (np.float32, np.float64) or not array.size:
        return False
    some = array[:: max(1, len(array) // 32)].reshape(-1, 3)
    x, y, z = some.T
    with np.errstate(over="ignore", invalid="ignore"):
        square = x * x + y * y + z * z
    unit = np.abs(square - 1) < 0.02
    negative = np.minimum(np.minimum(x, y), z) < -0.05
    return bool(np.count_nonzero(unit) > 0.99 * np.count_nonzero(square > 0) and (negative & unit).any())


def as_mask(thing: Any, shape: tuple[int, int]) -> np.ndarray | None:
    """Understand what a user passes as a mask; the first result of `understand_mask`."""
    return understand_mask(thing, shape)[0]


def understand_mask(thing: Any, shape: tuple[int, int], what: str = "mask") -> tuple[np.ndarray | None, list[str]]:
    """Understand what a user passes as a mask: a path, an image, an array, a tensor or None.

    Parameters
    ----------
    thing : path, PIL image, array, tensor or None
    shape : (int, int)
        Height and width of the normal map.
    what : str
        What the picture is called in messages.

    Returns
    -------
    mask : (H, W) bool array or None
        Files and images are True where they are brighter than half of their brightest value; arrays of numbers are
        True where they are not 0. Floats between 0 and 1 are as in files, and so are the grey values of a picture, which
        are black and white but for a few at edges; NaN is False.
    warnings : list of str
        An orientation that the picture states and that was not applied, see `quotientgraph.io.orientation`; negative values.

    Examples
    --------
    >>> understand_mask([[0, 1], [1, 1]], (2, 2))[0].tolist()
    [[False, True], [True, True]]
    """
    if thing is None:
        return None, []
    if isinstance(thing, str | os.PathLike):
        file = Path(thing)
        source: Path | str = file
        array = pick(file, read_arrays(file), MASK_NAMES, "mask")
    else:
        source, array = "mask", to_array(thing, "mask")
        if array.ndim < 2:
            raise InputError(
                f"mask: expected an image of {shape[0]}×{shape[1]}, got shape {array.shape}; pass (H, W) truth values"
            )
        if not _is_pil(thing) and array.ndim == 2:
            if array.shape != tuple(shape):
                raise InputError(
                    f"mask: its shape {array.shape} differs from the normals' {tuple(shape)}; both are (H, W)"
                )
            return _chosen(array), _about_values(array)
    orientation = stated_orientation(thing) if source != "mask" or _is_pil(thing) else 1
    array, _, warning = like_the_map(array, orientation, shape, source)
    return decode_mask(source, array, shape, what), [warning] if warning else []


def _chosen(array: np.ndarray) -> np.ndarray:
    """What an array of numbers selects."""
    if array.dtype == bool or array.dtype.kind not in "uif":
        return array.astype(bool)
    known = np.where(np.isnan(array), 0, array) if array.dtype.kind == "f" else array
    low, high = known.min(initial=0), known.max(initial=0)
    if low >= 0 and (_is_grey(known, high) if high > 1 else array.dtype.kind == "f"):
        return known > high / 2
    return known.astype(bool)


def _is_grey(array: np.ndarray, high: float) -> bool:
    """Whether numbers are the grey values of a picture, mostly black and white, and no labels or other numbers."""
    if not _BRIGHT <= high < np.inf:
        return False
    between = array[(array > 0) & (array < high * (1 - _NEARLY))]
    dark, bright = np.count_nonzero(array == 0), np.count_nonzero(array) - len(between)
    return bool(len(between) < _BETWEEN * min(dark, bright) and len(np.unique(between)) > _LABELS)


def _about_values(array: np.ndarray) -> list[str]:
    """A warning about numbers that a mask does not have."""
    if array.dtype.kind not in "if" or not (array < 0).any():
        return []
    share = float(np.mean(array < 0))
    return [
        f"mask: {share:.0%} of its values are negative, and select their pixels as all numbers but 0 do; "
        "pass mask > 0 if they are outside"
    ]


def understand_camera(thing: Any, shape: tuple[int, int]) -> tuple[Camera | None, list[str]]:
    """Understand what a user passes as a camera.

    Parameters
    ----------
    thing : Camera, path, array, tensor or None
        A 3×3 matrix, also transposed; the four numbers fx, fy, cx, cy; or an (H, W, 3) array of rays. Paths are read by
        `read_camera`.
    shape : (int, int)
        Height and width of the normal map.

    Returns
    -------
    camera : Camera or None
    warnings : list of str
        What was corrected in it.

    Examples
    --------
    >>> understand_camera([[500, 0, 0], [0, 500, 0], [40, 30, 1]], (60, 80))[0]
    Pinhole(fx=500.0, fy=500.0, cx=40.0, cy=30.0)
    """
    if thing is None or isinstance(thing, Camera):
        return thing, far_from_the_middle(thing.matrix, shape) if isinstance(thing, Pinhole) else []
    if isinstance(thing, str | os.PathLike):
        return read_camera(Path(thing), shape)
    if isinstance(thing, type):
        raise InputError(f"camera: got the class {thing.__name__}; make a camera of it, for instance {_EXAMPLE}")
    values = to_array(thing, "camera")
    if values.ndim == 0:
        raise InputError(f"camera: got one number, {values.item():g}; if it is a field of view, pass {_EXAMPLE}")
    if values.shape == (1, 3, 3):
        values = values[0]
    if values.ndim == 3:
        return RayMap(values), []
    matrix, notes = intrinsics(values.astype(np.float64), shape, Path("camera"))
    return Pinhole.from_matrix(matrix), [text.replace("camera: camera ", "camera: K ") for text in notes]


def to_array(thing: Any, name: str) -> np.ndarray:
    """A NumPy array from an image, a tensor of any common library, or nested lists.

    What a masked array hides becomes NaN in floats and 0 in others.

    Raises
    ------
    InputError
        If there are no numbers in it; the message says how to convert.
    """
    if _is_pil(thing):
        if thing.mode in ("P", "PA", "CMYK", "YCbCr", "LAB", "HSV"):
            thing = thing.convert("RGBA" if "transparency" in thing.info or thing.mode == "PA" else "RGB")
        return np.asarray(thing)
    try:
        if hasattr(thing, "detach"):  # PyTorch: cut off gradients, copy from the GPU
            thing = thing.detach().cpu()
            if str(getattr(thing, "dtype", "")).endswith("bfloat16"):
                thing = thing.float()
            thing = thing.numpy()
        elif hasattr(thing, "__cuda_array_interface__") and hasattr(thing, "get"):  # CuPy
            thing = thing.get()
        elif isinstance(thing, np.ma.MaskedArray):  # what is masked has no value
            thing = thing.filled(np.nan if thing.dtype.kind == "f" else 0)
        array = np.asarray(thing)
    except Exception as error:
        text = " ".join(str(error).split())[:120]
        raise InputError(
            f"{name}: a {type(thing).__name__} cannot be made a NumPy array ({text}); pass numpy.asarray(...) of it"
        ) from None
    if array.dtype.kind not in "buif":
        raise InputError(f"{name}: values of type {array.dtype} are not real numbers; pass an array of floats or uint8")
    return array


def _is_pil(thing: Any) -> bool:
    return hasattr(thing, "getbands") and hasattr(thing, "mode") and hasattr(thing, "convert")


def _z_forward(frame: str | None) -> bool:
    """Whether a surface that faces the camera has a negative z in this frame."""
    return frame is not None and frame != "auto" and bool(frame_axes(frame)[2, 2] > 0)
