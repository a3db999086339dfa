"""What is known of depth beside the normals: a coarse depth prior and anchor pixels, as edges to ground nodes.

Two nodes are added to the quotient graph. The *anchor* node stands for absolute depth: an anchor pixel ties its component
to it. The *prior* node stands for the prior's unknown scale (central cameras) or offset (orthographic): every component
is tied to it by what the prior says over its pixels, and the node itself is free. The systems remain graph Laplacians,
so every solver backend works as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from laplacians.system import LaplacianSystem, Pattern

from ..graph.quotient import Quotient
from ..graph.selection import connected_components
from ..method.weights import DOUBT, TEAR

# Weight of one pixel of the prior against one cut edge, when components are first aligned: there it must overrule edges
# that are wrong. Later the weights are as the squares of the errors, that of an edge being about `DOUBT`.
_PRIOR_AT_FIRST = 1e-2
_PRIOR_ERROR = 0.01
_ANCHOR = 1e3
# An offset this large against the depth, or a factor this far from one, is an error of the prior and not of the surface,
# which the size of the pixels can make; once there is one, it is followed further.
_WRONG, _STILL_WRONG = 0.02, 0.005
_SURE = 2.0  # standard errors
_MOST = 0.9
_DEVIATION = 1.48  # standard deviation of normal errors over the median of their size
_STANDS_OUT = 6.0  # deviations
_STRAIGHTENINGS = 4  # rounds in which a prior is fitted to the depth found with it


@dataclass(frozen=True)
class Ground:
    """Wanted potentials of some pixels.

    Attributes
    ----------
    anchor_pixel, anchor_potential : (n_anchors,)
    prior_pixel, prior_potential : (n_prior,)
    prior_weight : float
    """

    anchor_pixel: np.ndarray
    anchor_potential: np.ndarray
    prior_pixel: np.ndarray
    prior_potential: np.ndarray
    prior_weight: float = 1.0

    @classmethod
    def from_depth(
        cls,
        graph: Quotient,
        prior: ArrayLike | None = None,
        prior_weight: float = 1.0,
        anchors: Sequence[tuple[float, float, float]] | None = None,
    ) -> Ground | None:
        """Check and convert what a user passes; None if there is nothing."""
        if prior is None and not anchors:
            return None
        normal_map = graph.pixels.map
        if not (np.isfinite(prior_weight) and prior_weight > 0):
            raise ValueError(f"prior_weight={prior_weight!r} must be a positive number")
        wanted = np.full(graph.pixels.n_pixels, np.nan)
        if prior is not None:
            depth = np.asarray(prior, dtype=np.float64)
            if depth.shape != normal_map.shape:
                raise ValueError(f"prior: its shape {depth.shape} differs from the normals' {normal_map.shape}")
            wanted = normal_map.camera.potential(depth.ravel()[normal_map.position])
            if not np.isfinite(wanted).any():
                raise ValueError(
                    "prior: it has no usable depth at any valid pixel; depths are positive, NaN if unknown"
                )
        pixel, potential = _anchors(graph, anchors or ())
        use = np.flatnonzero(np.isfinite(wanted)).astype(np.int32)
        return cls(pixel, potential, use, wanted[use], float(prior_weight))

    def separated(self, graph: Quotient) -> Quotient:
        """The graph with components split where the prior jumps and no normal says so, as from a table top to the floor.

        A jump counts if it is a tear by its length and stands out of the noise of the prior, once that is smoothed by
        the median of 3×3 pixels, which keeps jumps. Where the prior has holes nothing is split.
        """
        if not len(self.prior_pixel):
            return graph
        pixels = graph.pixels
        said = np.full(pixels.n_pixels, np.nan)
        said[self.prior_pixel] = self.prior_potential
        smooth = np.where(np.isnan(said), np.nan, _smoothed(pixels.map.image(said)).ravel()[pixels.map.position])
        residual = np.abs(graph.tear(smooth))
        same = graph.labels[pixels.tail] == graph.labels[pixels.head]
        known = same & np.isfinite(residual)
        if not known.any():
            return graph
        torn = known & (residual > max(TEAR, _STANDS_OUT * _DEVIATION * float(np.median(residual[known]))))
        if not torn.any():
            return graph
        whole = same & ~torn
        labels = connected_components(pixels.n_pixels, pixels.tail[whole], pixels.head[whole])
        return graph.divided(labels)

    def ties(self, graph: Quotient, potential: np.ndarray, pattern: Pattern) -> GroundEdges:
        """The edges from a graph's components to the ground nodes."""
        return GroundEdges.from_graph(self, graph, potential, pattern)

    def revised(self, potential: np.ndarray, graph: Quotient, attempt: int) -> Ground | None:
        """The same with an affine error of the prior taken out; None if there is no significant one.

        A predicted depth map is often right up to a factor and an offset. A central camera's prior node takes care of
        the factor and an orthographic camera's of the offset. The other one shows in the surfaces found: between its
        tears the normals have given a surface its shape, so it is fitted with a free factor (or offset) for each
        surface, whose places may still be the prior's mistake.
        """
        if len(self.prior_pixel) < 3 or attempt >= _STRAIGHTENINGS:
            return None
        camera = graph.pixels.map.camera
        surface = _surfaces(graph, potential)[self.prior_pixel]
        found, said = camera.depth(potential[self.prior_pixel]), camera.depth(self.prior_potential)
        own, shared = (found, np.ones_like(found)) if camera.central else (np.ones_like(found), found)
        value, error = _shared(surface, own, shared, said)
        wrong, size = (value, np.median(said)) if camera.central else (value - 1, 1.0)
        if not abs(wrong) > max((_STILL_WRONG if attempt else _WRONG) * size, _SURE * error) or (
            not camera.central and value <= 0
        ):
            return None
        straight = camera.potential(said - value if camera.central else said / value)
        use = np.isfinite(straight)
        if use.mean() < _MOST:  # that would put much of the scene behind the camera
            return None
        return replace(self, prior_pixel=self.prior_pixel[use], prior_potential=straight[use])

    def settle(self, potential: np.ndarray, pieces: np.ndarray) -> np.ndarray:
        """Move the potential to the anchors' depth, else to the prior's; pieces that neither reaches have zero mean."""
        said = np.concatenate([self.anchor_pixel, self.prior_pixel])
        n_pieces = int(pieces.max()) + 1
        known = np.bincount(pieces[said], minlength=n_pieces) > 0
        mean = np.bincount(pieces, potential) / np.bincount(pieces)
        if len(self.anchor_pixel):
            return potential - np.where(known, 0.0, mean)[pieces]
        offset = np.median(self.prior_potential - potential[self.prior_pixel])
        return potential + np.where(known, offset, -mean)[pieces]


@dataclass(frozen=True)
class GroundEdges:
    """The edges from the components of one Qm to the two ground nodes, n (anchors) and n + 1 (prior).

    Attributes
    ----------
    pattern : Pattern
        The graph's pattern with the ground edges added.
    order : (n_pairs + n_ground,) int64
        Sorts the graph's pairs, followed by the ground edges, into the pattern.
    component : (n_ground,) int32
    target : (n_ground,) float64
        Wanted shift of the component, at the potential the object was made for.
    weight : (2, n_ground) float64
        Against a cut edge of weight one, when components are first aligned and later.
    """

    pattern: Pattern
    order: np.ndarray
    component: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    anchored: bool

    @classmethod
    def from_graph(cls, ground: Ground, graph: Quotient, potential: np.ndarray, pattern: Pattern) -> GroundEdges:
        n, labels = graph.n_components, graph.labels
        by_anchor = _means(labels[ground.anchor_pixel], ground.anchor_potential - potential[ground.anchor_pixel], n)
        by_prior = _medians(labels[ground.prior_pixel], ground.prior_potential - potential[ground.prior_pixel], n)
        component = np.concatenate([by_anchor[0], by_prior[0]]).astype(np.int32)
        node = np.repeat([n, n + 1], [len(by_anchor[0]), len(by_prior[0])]).astype(np.int32)
        trust = ground.prior_weight * by_prior[2]
        later = min(_PRIOR_AT_FIRST, _relative_weight(ground, graph))
        fixed = _ANCHOR * by_anchor[2]
        weight = np.stack([np.concatenate([fixed, _PRIOR_AT_FIRST * trust]), np.concatenate([fixed, later * trust])])
        tail, head = np.concatenate([pattern.tail, component]), np.concatenate([pattern.head, node])
        order = np.lexsort((head, tail))
        extended = Pattern(n + 2, tail[order], head[order])
        target = np.concatenate([by_anchor[1], by_prior[1]])
        return cls(extended, order, component, target, weight, len(by_anchor[0]) > 0)

    def system(self, weight: Any, flow: Any, shift: Any, first: bool, unit: float) -> LaplacianSystem:
        """The graph's system (weight and flow per pair) with the ground edges, whose weights are in units of `unit`."""
        own = unit * self.weight[0 if first else 1]
        pull = own * (self.target - shift[self.component])
        weight, flow = np.concatenate([weight, own]), np.concatenate([flow, pull])
        return LaplacianSystem(self.pattern, weight[self.order], flow[self.order])

    def components(self, x: np.ndarray) -> np.ndarray:
        """The shift of the components in a solution: relative to the anchors, if there are any."""
        return x[:-2] - (x[-2] if self.anchored else 0.0)


def _relative_weight(ground: Ground, graph: Quotient) -> float:
    """(error of an edge / error of a prior of 1 %)²; for an orthographic camera 1 % of the range of the prior."""
    camera = graph.pixels.map.camera
    prior_error = _PRIOR_ERROR
    if not camera.central and len(ground.prior_pixel):
        prior_error *= max(1.0, float(np.ptp(np.percentile(ground.prior_potential, [5, 95]))))
    return (DOUBT / float(np.mean(graph.pixels.map.focal)) / prior_error) ** 2


def _smoothed(image: np.ndarray) -> np.ndarray:
    """The median of 3×3 pixels; unknown ones have the value of the nearest known one."""
    from scipy import ndimage

    nearest = ndimage.distance_transform_edt(np.isnan(image), return_distances=False, return_indices=True)
    return ndimage.median_filter(image[tuple(nearest)], 3)


def _surfaces(graph: Quotient, potential: np.ndarray) -> np.ndarray:
    """(n_pixels,) number of the surface of each pixel: what hangs together without a tear."""
    pixels = graph.pixels
    whole = np.abs(graph.tear(potential)) <= TEAR
    return connected_components(pixels.n_pixels, pixels.tail[whole], pixels.head[whole])


def _shared(group: np.ndarray, own: np.ndarray, shared: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """b of the fit y = a·own + b·shared, where a differs from group to group, and its standard error.

    The sum of |errors| is minimised, by reweighting.
    """
    weight, value, error = np.ones_like(y), 0.0, np.inf
    for _ in range(20):
        total = np.bincount(group, weight * own * own)
        along = (np.bincount(group, weight * own * shared) / np.maximum(total, 1e-300))[group]
        level = (np.bincount(group, weight * own * y) / np.maximum(total, 1e-300))[group]
        free, rest = shared - along * own, y - level * own
        spread = np.sum(weight * free * free)
        if not spread > 0:
            return value, error
        value = float(np.sum(weight * free * rest) / spread)
        left = np.abs(rest - value * free)
        # The standard error of a median regression is 1.25 of that of least squares.
        error = float(1.25 * _DEVIATION * np.median(left) / np.sqrt(np.sum(free * free)))
        weight = 1 / np.maximum(left, 1e-3 * np.median(left) + 1e-300)
    return value, error


def _anchors(graph: Quotient, anchors: Sequence[tuple[float, float, float]]) -> tuple[np.ndarray, np.ndarray]:
    normal_map = graph.pixels.map
    height, width = normal_map.shape
    pixel, potential = [], []
    for anchor in anchors:
        try:
            u, v, depth = (float(value) for value in anchor)
        except (TypeError, ValueError):
            raise ValueError(f"anchors: expected (u, v, depth), got {anchor!r}") from None
        column, row = round(u), round(v)
        if not (0 <= column < width and 0 <= row < height):
            raise ValueError(
                f"anchors: ({u:g}, {v:g}) lies outside the {width}×{height} image; u is the column, v the row"
            )
        number = int(normal_map.index[row, column])
        if number < 0:
            raise ValueError(
                f"anchors: the pixel ({column}, {row}) is not valid, so its depth says nothing of the surface"
            )
        value = float(normal_map.camera.potential(np.array(depth)))
        if not np.isfinite(value):
            raise ValueError(f"anchors: the depth at ({column}, {row}) must be positive and finite, got {depth:g}")
        pixel.append(number)
        potential.append(value)
    return np.array(pixel, dtype=np.int32), np.array(potential)


def _means(labels: np.ndarray, values: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels that occur, the mean of their values, and how many they are."""
    count = np.bincount(labels, minlength=n)
    seen = np.flatnonzero(count)
    return seen, np.bincount(labels, values, n)[seen] / count[seen], count[seen].astype(np.float64)


def _medians(labels: np.ndarray, values: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    order = np.lexsort((values, labels))
    seen, first, count = np.unique(labels[order], return_index=True, return_counts=True)
    ranked = values[order]
    return seen, 0.5 * (ranked[first + (count - 1) // 2] + ranked[first + count // 2]), count.astype(np.float64)
