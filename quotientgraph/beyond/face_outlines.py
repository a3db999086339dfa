"""The outline of a face, from pixels that are known to lie on it.

A component is laid flat: its points, in the plane that fits them best. There the pixels at which something touches a face
enclose it, or half of it, and what is convex or symmetric in space is so on the sheet, whatever the camera.
"""

from __future__ import annotations

import numpy as np

from ..graph.quotient import Quotient

_SAMPLE = 50_000  # pixels that stand for a component where areas are estimated
_AROUND = 8  # pixels around what is known of a face in which the rest of it is looked for
_LEAST_AREA = 3.0  # pixels enclosed for each seed: fewer are no area but a line
_LEAST_WIDTH = 0.05  # of a set of seeds against its length
_STRAY = 0.2  # seeds of others that may lie inside, for each own one
_NARROWING = 0.75  # width at three quarters of the height, against the open side, below which a hull is mirrored


class Sheet:
    """A component in its plane.

    Parameters
    ----------
    potential : (n_pixels,) float64
        Each component filled on its own.
    members : (n,) int64
        Pixels of the component, sorted. Pixels are known by their place in it.
    """

    def __init__(self, graph: Quotient, potential: np.ndarray, members: np.ndarray) -> None:
        self.graph, self.potential, self.members = graph, potential, members
        row, column = np.divmod(graph.pixels.map.position[members], graph.pixels.map.shape[1])
        self.row, self.column = row - row.min(), column - column.min()
        few = slice(None, None, max(1, len(members) // _SAMPLE))
        points = self._points(few)
        self._centre = points.mean(axis=0)
        self._axes = np.linalg.svd(points[:: max(1, len(points) // 2000)] - self._centre, full_matrices=False)[2][:2]
        self._sample, self._every = self.flat(few), few.step
        across = np.column_stack([self.column[few], self.row[few], np.ones(len(points))])
        # The size of a pixel, where it is largest.
        self.step = float(np.linalg.norm(np.linalg.lstsq(across, self._sample, rcond=None)[0][:2], 2))

    def _points(self, chosen: np.ndarray | slice) -> np.ndarray:
        at, pixels = self.graph.pixels.map, self.members[chosen]
        return at.camera.locate(at.position[pixels], at.camera.depth(self.potential[pixels]), at.shape)

    def flat(self, chosen: np.ndarray | slice) -> np.ndarray:
        """(n, 2) coordinates of some pixels in the plane."""
        return (self._points(chosen) - self._centre) @ self._axes.T

    def outline(self, seeds: np.ndarray, foreign: np.ndarray) -> np.ndarray | None:
        """(n, 2) convex outline of the face that seeds enclose without foreign ones in it; None if there is none."""
        from scipy.spatial import ConvexHull

        own, others = self.flat(seeds), self.flat(foreign)
        spread = np.linalg.svd(own - own.mean(axis=0), compute_uv=False)
        if len(spread) < 2 or spread[1] < _LEAST_WIDTH * spread[0]:
            return None
        hull = own[ConvexHull(own).vertices]
        if within(hull, self._sample, 0.5 * self.step).sum() * self._every < _LEAST_AREA * len(own):
            return None
        for polygon in (mirrored(hull, own, self.step), hull):
            # Seeds of others may lie on the outline, not inside.
            if polygon is not None and within(polygon, others, -1.2 * self.step).sum() <= _STRAY * len(own):
                return polygon
        return None

    def inside(self, outline: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """Pixels inside an outline that hang together with its seeds in the image."""
        # The seeds, and what of the sample lies inside, tell where in the image to look.
        known = np.concatenate([seeds, self._every * np.flatnonzero(within(outline, self._sample, self.step))])
        (top, bottom), (left, right) = ((at.min(), at.max()) for at in (self.row[known], self.column[known]))
        first, last = np.searchsorted(self.row, [top - _AROUND, bottom + _AROUND + 1])
        column, aside = self.column[first:last], _AROUND + self._every
        chosen = first + np.flatnonzero((column >= left - aside) & (column <= right + aside))
        chosen = chosen[within(outline, self.flat(chosen), 0.5 * self.step)]
        pieces = self._pieces(chosen)[0]
        return chosen[np.isin(pieces, pieces[np.isin(chosen, seeds)])]

    def nearest(self, part: np.ndarray) -> np.ndarray:
        """Parts (0 for none, 1, 2, …) so that each pixel of none is in the nearest in the image."""
        from scipy.ndimage import distance_transform_edt

        image = np.zeros((self.row.max() + 1, self.column.max() + 1), dtype=np.int32)
        image[self.row, self.column] = part
        near = distance_transform_edt(image == 0, return_distances=False, return_indices=True)
        return image[tuple(near)][self.row, self.column]

    def connected(self, part: np.ndarray) -> np.ndarray:
        """Parts numbered from 0 so that each hangs together in the image."""
        out, n = np.empty(len(part), dtype=np.int32), 0
        for k in range(int(part.max()) + 1):
            chosen = np.flatnonzero(part == k)
            pieces, count = self._pieces(chosen)
            out[chosen] = n + pieces
            n += count
        return out

    def _pieces(self, chosen: np.ndarray) -> tuple[np.ndarray, int]:
        """(n,) which piece of some pixels each belongs to, and how many pieces they form in the image."""
        from scipy.ndimage import label

        if not len(chosen):
            return np.empty(0, dtype=np.int32), 0
        row, column = self.row[chosen], self.column[chosen]
        row, column = row - row.min(), column - column.min()
        image = np.zeros((row.max() + 1, column.max() + 1), dtype=bool)
        image[row, column] = True
        pieces, count = label(image, self._neighbours)
        return pieces[row, column] - 1, count

    @property
    def _neighbours(self) -> np.ndarray:
        """Which of 3×3 pixels are joined to the middle one."""
        near = np.ones((3, 3), dtype=bool)
        if self.graph.pixels.connectivity == 4:
            near[::2, ::2] = False
        return near


def within(polygon: np.ndarray, points: np.ndarray, margin: float) -> np.ndarray:
    """(n,) bool: points of a convex polygon (its vertices anticlockwise), or up to `margin` outside."""
    x, y = points.T
    (left, low), (right, high) = polygon.min(axis=0) - margin, polygon.max(axis=0) + margin
    out = (x >= left) & (x <= right) & (y >= low) & (y <= high)
    chosen = np.flatnonzero(out)
    x, y = x[chosen], y[chosen]
    inside = np.ones(len(chosen), dtype=bool)
    for a, b in zip(polygon, np.roll(polygon, -1, axis=0)):
        along = (b - a) / np.linalg.norm(b - a)
        inside &= along[0] * (y - a[1]) - along[1] * (x - a[0]) >= -margin
    out[chosen] = inside
    return out


def mirrored(hull: np.ndarray, seeds: np.ndarray, step: float) -> np.ndarray | None:
    """A hull with one side open and narrowing away from it, with its mirror image at the middle of that side."""
    from scipy.spatial import ConvexHull

    after = np.roll(hull, -1, axis=0)
    sides = [k for k in range(len(hull)) if _is_open(hull[k], after[k], seeds, step)]
    if len(sides) != 1:
        return None
    a, b = hull[sides[0]], after[sides[0]]
    length = np.linalg.norm(b - a)
    along = (b - a) / length
    high = (hull - a) @ np.array([-along[1], along[0]])
    level = 0.75 * high.max()
    crossed = [
        (p + (level - h) / (g - h) * (q - p) - a) @ along
        for p, q, h, g in zip(hull, after, high, np.roll(high, -1))
        if (h - level) * (g - level) < 0
    ]
    if max(crossed) - min(crossed) > _NARROWING * length:
        return None
    both = np.concatenate([hull, a + b - hull])
    return both[ConvexHull(both).vertices]


def _is_open(a: np.ndarray, b: np.ndarray, seeds: np.ndarray, step: float) -> bool:
    """Whether more than half of the side from a to b has no seed near it, all in one stretch."""
    length = np.linalg.norm(b - a)
    if length < 6 * step:
        return False
    along = (b - a) / length
    away = np.abs(along[0] * (seeds[:, 1] - a[1]) - along[1] * (seeds[:, 0] - a[0]))
    at = np.sort((seeds[away < 2.5 * step] - a) @ along)
    return bool(np.diff(np.concatenate([[0.0], at, [length]])).max() > 0.5 * length)
