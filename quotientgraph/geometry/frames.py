"""Frames of normals, by their names and by the directions of their axes."""

from __future__ import annotations

import numpy as np

# What each axis of a frame is in the OpenCV frame: rows are the signed permutation taking a normal there.
FRAMES: dict[str, np.ndarray] = {
    "opencv": np.diag([1.0, 1.0, 1.0]),  # x right, y down, z forward: MoGe, Omnidata
    "opengl": np.diag([1.0, -1.0, -1.0]),  # x right, y up, z to the viewer: BiNI, DiLiGenT, Marigold
    "dsine": np.diag([-1.0, -1.0, -1.0]),  # x left, y up, z to the viewer: DSINE, StableNormal
    "directx": np.diag([1.0, 1.0, -1.0]),  # x right, y down, z to the viewer: DirectX textures
}
_RIGHTWARD = {0: ("right", "left"), 1: ("down", "up"), 2: ("forward", "viewer")}


def frame_axes(frame: str) -> np.ndarray:
    """The signed permutation that takes a normal from `frame` to OpenCV.

    `frame` is a name from `FRAMES` or three directions for x, y and z, out of right, left, up, down, viewer,
    forward.

    >>> bool((frame_axes("right,up,viewer") == frame_axes("opengl")).all())
    True
    """
    if frame in FRAMES:
        return FRAMES[frame]
    axes = np.zeros((3, 3))
    words = str(frame).replace(",", " ").split()
    for column, word in enumerate(words[:3]):
        for row, (plus, minus) in _RIGHTWARD.items():
            axes[row, column] = (word == plus) - (word == minus)
    if len(words) != 3 or not np.array_equal(np.abs(axes).sum(axis=0) * np.abs(axes).sum(axis=1), np.ones(3)):
        raise ValueError(
            f"frame={frame!r} is not known; use one of {', '.join(FRAMES)}, "
            "or the directions of x, y, z such as 'right,up,viewer'"
        )
    return axes


def frame_name(axes: np.ndarray) -> str:
    """The inverse of `frame_axes`."""
    for name, known in FRAMES.items():
        if np.array_equal(known, axes):
            return name
    rows = np.abs(axes).argmax(axis=0)
    return ",".join(_RIGHTWARD[int(row)][int(axes[row, column] < 0)] for column, row in enumerate(rows))
