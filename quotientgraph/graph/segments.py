"""Segmentations of others as components: label images and stacks of masks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .pixels import PixelGraph
from .selection import connected_components, similar_edges


def components_by_labels(
    pixels: PixelGraph, labels: ArrayLike, angle: float | None, alike: np.ndarray | None = None
) -> np.ndarray:
    """Components from a segmentation: connected pixels of the same label.

    Parameters
    ----------
    pixels : PixelGraph
    labels : (H, W) integers or (n, H, W) bool
        A label image, or masks; see `label_image_of`.
    angle : float or None
        Pixels with a negative label are joined where their normals differ by less than this, in degrees; None leaves each
        of them alone.
    alike : (n_edges,) bool, optional
        Edges that may join pixels of the same label.

    Returns
    -------
    (n_pixels,) int32
        Numbered by first pixel.
    """
    given = label_image_of(labels, pixels.map.shape).ravel()[pixels.map.position]
    tail, head = given[pixels.tail], given[pixels.head]
    joined = (tail == head) & (tail >= 0)
    loose = (tail < 0) & (head < 0)
    if loose.any():
        joined |= loose & similar_edges(pixels, angle)
    if alike is not None:
        joined &= alike
    return connected_components(pixels.n_pixels, pixels.tail[joined], pixels.head[joined])


def label_image_of(labels: ArrayLike, shape: tuple[int, int]) -> np.ndarray:
    """(H, W) int64 labels, negative where there is none, from what users have.

    Parameters
    ----------
    labels : (H, W) integers or (n, H, W) bool
        A label image; or masks that may overlap, as automatic segmentation gives them, of which the smaller ones lie on
        top.
    shape : (H, W)

    Examples
    --------
    >>> masks = np.array([[[True, True, False]], [[True, False, False]]])
    >>> label_image_of(masks, (1, 3)).tolist()
    [[1, 0, -1]]
    """
    given = np.asarray(labels)
    if given.ndim == 2 and given.shape == shape and given.dtype.kind in "iub":
        return given.astype(np.int64)
    if given.ndim == 3 and given.shape[1:] == shape and given.dtype == bool:
        out = np.full(shape, -1, dtype=np.int64)
        for k in np.argsort(-given.sum(axis=(1, 2)), kind="stable"):
            out[given[k]] = k
        return out
    raise ValueError(
        f"labels: expected whole numbers (H, W) or truth values (n, H, W) with the size of the normals, {shape}, "
        f"got {given.dtype} {given.shape}"
    )
