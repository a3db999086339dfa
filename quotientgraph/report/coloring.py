"""Colours for components such that neighbours differ: a graph colouring with a palette that is easy to tell apart."""

from __future__ import annotations

import numpy as np

from laplacians.core.jit import kernel
from laplacians.system import Pattern

from .color import rgb_from_oklch
from .pictures import WHITE

N_COLORS = 21
_STRIDE = 8  # places in the palette from one try to the next; 8 and 21 share no factor, so all are tried


def palette() -> np.ndarray:
    """(21, 3) uint8: seven hues in three lightnesses, of which consecutive ones differ in both."""
    i = np.arange(N_COLORS)
    return rgb_from_oklch(
        0.55 + 0.145 * (i % 3), np.full(N_COLORS, 0.115), 20 + 360 * ((3 * i) % 7) / 7 + 17.0 * (i % 3)
    )


def component_picture(labels: np.ndarray, *, background: int = WHITE) -> np.ndarray:
    """Show each label in a colour that none of its neighbours has.

    Parameters
    ----------
    labels : (H, W) integers
        Negative outside the valid pixels, as in `QuotientGraph.label_image`. A label has its own favourite colour and
        leaves it only where a larger neighbour has it, so that pictures of similar decompositions look alike.
    background : int
        Grey value outside the valid pixels.

    Returns
    -------
    (H, W, 3) uint8

    Examples
    --------
    >>> picture = component_picture(np.array([[0, 21, -1]]))
    >>> bool((picture[0, 0] == picture[0, 1]).all())  # both would like the first colour
    False
    """
    labels = np.asarray(labels)
    if labels.ndim != 2:
        raise ValueError(f"labels: expected a label image of shape (H, W), got {labels.shape}")
    out = np.full((*labels.shape, 3), background, dtype=np.uint8)
    inside = labels >= 0
    if inside.any():
        names, place = np.unique(labels[inside], return_inverse=True)
        number = np.full(labels.shape, -1, dtype=np.int32)
        number[inside] = place
        out[inside] = palette()[colors_of(number, names % N_COLORS)[place]]
    return out


def colors_of(number: np.ndarray, favourite: np.ndarray) -> np.ndarray:
    """(n,) int64 places in the palette for the regions 0 … n − 1 of an image, −1 outside: neighbours differ.

    Regions are served by size. A region takes its favourite unless a neighbour that was served before has it, and then the
    next one that is free.
    """
    pairs = []
    for dv, du in ((0, 1), (1, 0), (1, 1), (1, -1)):
        a = number[: number.shape[0] - dv, max(0, -du) : number.shape[1] - max(0, du)]
        b = number[dv:, max(0, du) : number.shape[1] - max(0, -du)]
        apart = (a >= 0) & (b >= 0) & (a != b)
        pairs.append(np.stack([a[apart], b[apart]]))
    tail, head = np.concatenate(pairs, axis=1)
    pattern, _, _ = Pattern.from_edges(len(favourite), np.ascontiguousarray(tail), np.ascontiguousarray(head))
    start, neighbour, _ = pattern.adjacency
    order = np.argsort(-np.bincount(number[number >= 0], minlength=len(favourite)), kind="stable")
    color = np.full(len(favourite), -1, dtype=np.int64)
    _serve(order, start, neighbour, np.asarray(favourite, dtype=np.int64), N_COLORS, _STRIDE, color)
    return color


@kernel
def _serve(order, start, neighbour, favourite, n_colors, stride, color):
    """Write the colour of each region. Assumes −1 in `color` and favourites in [0, n_colors)."""
    used = np.zeros(n_colors, dtype=np.int64)
    for turn in range(len(order)):
        i = order[turn]
        for k in range(start[i], start[i + 1]):
            if color[neighbour[k]] >= 0:
                used[color[neighbour[k]]] = turn + 1
        c = favourite[i]
        for _ in range(n_colors):
            if used[c] != turn + 1:
                break
            c = (c + stride) % n_colors
        color[i] = c
