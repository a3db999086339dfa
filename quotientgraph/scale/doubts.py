"""What some windows of a map in tiles tell: doubts about what a user states of it, and whether its edges are blurred."""

from __future__ import annotations

import logging

import numpy as np

from .. import io
from ..beyond.sharpening import calm_if_blurred, windows
from ..geometry.camera import Camera
from .cameras import window_camera
from .sources import Source
from .tiling import Box
from .window import Job, normal_map

logger = logging.getLogger(__name__)

_SIDE = 512  # pixels along the side of a window that is looked at
_ENOUGH = 2000  # valid pixels of a window for it to say something
_WINDOWS = 12  # that are looked at until one says something


def doubts(source: Source, camera: Camera, frame: str) -> list[str]:
    """Warnings about a frame or a camera that the normals of one window of the map contradict.

    The window in the middle is asked first, then others, until one has enough valid pixels.

    Raises
    ------
    ValueError
        If the values are those of an image that were made floats without being decoded.
    """
    for box in _windows(source.shape):
        normals, mask = source.read(box)
        seen = np.isfinite(normals).all(axis=-1) & (np.abs(normals).max(axis=-1) > 0)
        if np.count_nonzero(seen if mask is None else seen & mask) < min(_ENOUGH, normals[..., 0].size // 4):
            continue
        read = io.as_normals(np.where(seen[..., None], normals, 0))
        for text in read.warnings:
            raise ValueError(
                f"{text.partition(';')[0]}; a map in tiles is not decoded on the way, so pass vectors, or uint8"
            )
        texts = io.check_conventions(normals, mask, window_camera(camera, source.shape, box), frame)
        # The principal point of a window lies anywhere, so the order of K is judged by the whole map.
        texts = [text for text in texts if not text.startswith("camera:")]
        for text in texts:
            logger.warning(text)
        return texts
    return []


def edges_are_blurred(job: Job) -> bool:
    """Whether memory would sharpen the edges of the normals; it looks at the same windows."""
    boxes = (Box(down.start, along.start, down.stop, along.stop) for down, along in windows(job.tiling.shape))
    seen = [normal_map(job, box) for box in boxes]
    return calm_if_blurred([(one, one.index) for one in seen]) is not None


def _windows(shape: tuple[int, int]) -> list[Box]:
    """Windows on a grid, the middle one first."""
    tops, lefts = (np.unique(np.linspace(0, max(n - _SIDE, 0), 5).astype(int)) for n in shape)
    boxes = [
        Box(int(t), int(s), int(min(t + _SIDE, shape[0])), int(min(s + _SIDE, shape[1]))) for t in tops for s in lefts
    ]
    middle = shape[0] / 2, shape[1] / 2

    def far(box: Box) -> float:
        return abs((box.top + box.bottom) / 2 - middle[0]) + abs((box.left + box.right) / 2 - middle[1])

    return sorted(boxes, key=far)[:_WINDOWS]
