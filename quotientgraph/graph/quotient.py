"""`Quotient`, the graphs Qm: components of pixels, and the edges of G0 that run between them.

This class knows the graph and nothing of any method. `quotientgraph.QuotientGraph` is the same object with what users do to
it: make it from normals, integrate it, export it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from laplacians.core.arrays import counts, gathered
from laplacians.core.lookups import first_places

from ..geometry.jumps import Continuity, PlanarJumps, planar
from ..geometry.normals import rows_and_columns
from .pixels import PixelGraph
from .selection import connected_components, cut_edges, equal_parts

# Above this many edges of G0 their jumps are computed when they are needed instead of being kept. Results are the same.
LEAN_EDGES = 2**24
# The cut edges are a large part of those of G0 if so many times their number is more.
_MANY_CUT = 8


@dataclass(frozen=True, eq=False, repr=False)
class Quotient:
    """G0 with some of its edges contracted: the components are the nodes, the cut edges join them.

    Attributes
    ----------
    pixels : PixelGraph
        G0.
    jump : (n_edges,) or (2, n_edges) float64
        Predicted φ_tail − φ_head of every edge of G0; see `quotientgraph.geometry.jumps`.
    labels : (n_pixels,) int32
        Component of each pixel, π_m. Components are numbered by their first pixel.
    cut : (n_cut,) int32
        Numbers of the edges of G0 whose ends lie in different components.
    level : int
        m, the number of times components were merged.
    angle : float or None
        θ_c in degrees that the components, or pixels without a label, were formed with; it also tells which edges inside a
        component surely follow the surface. None makes every pixel a component.
    preset : str or None
        The preset that it was made with, which `optimize` uses unless told otherwise.
    formed_by_preset : bool
        Whether that preset formed the components, so that they are formed anew for another one. What a user has chosen,
        contracted or divided stays.
    seconds : dict
        Time spent on making it, by stage.
    warnings : tuple of str
        What a user should know about the normals that it was made from.
    below : Quotient or None
        Qm−1, from which it was contracted; None for Q0.
    contracted : (n,) int32
        Numbers of the edges of G0 that were contracted to come here from the graph below.
    contracted_at : (n,) float64
        Their residuals then; NaN where nobody told.
    inside : (n_pixels,) float64 or None
        The potential inside each component where it is known already, right but for one constant per component; None if it
        is yet to be found by filling.
    """

    pixels: PixelGraph
    jump: np.ndarray | PlanarJumps
    labels: np.ndarray
    cut: np.ndarray
    level: int = 0
    angle: float | None = None
    preset: str | None = None
    formed_by_preset: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    below: Self | None = None
    contracted: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    contracted_at: np.ndarray = field(default_factory=lambda: np.zeros(0))
    inside: np.ndarray | None = None

    @classmethod
    def from_components(cls, pixels: PixelGraph, jump: np.ndarray | PlanarJumps, labels: np.ndarray) -> Self:
        """The quotient of G0 by connected components that are numbered by their first pixel."""
        return cls(pixels, jump, labels, cut_edges(pixels, labels))

    @classmethod
    def from_labels(cls, pixels: PixelGraph, jump: np.ndarray | PlanarJumps, labels: ArrayLike) -> Self:
        """The quotient of G0 by a segmentation of one's own: one whole number per valid pixel.

        A component is connected: pixels that share a number but are not joined by a path of that number become
        components of their own.
        """
        given = np.asarray(labels)
        if given.shape != (pixels.n_pixels,) or given.dtype.kind not in "iub":
            raise ValueError(
                f"labels: expected one whole number per valid pixel, {pixels.n_pixels}, "
                f"got {given.dtype} {given.shape}; take a label image's values at pixels.map.position"
            )
        number = np.unique(given, return_inverse=True)[1] if given.dtype != np.int32 else given
        return cls.from_components(pixels, jump, equal_parts(pixels, number.astype(np.int32, copy=False)))

    def divided(self, labels: np.ndarray) -> Self:
        """The same graph with other components (n_pixels,) int32; level and angle stay.

        They have to be connected and numbered by their first pixel, as those of `from_labels` are.
        """
        if labels.shape != (self.pixels.n_pixels,):
            raise ValueError(
                f"labels: expected one for each of {self.pixels.n_pixels} pixels, got shape {labels.shape}"
            )
        cut = cut_edges(self.pixels, labels)
        none = np.zeros(0, dtype=np.int32)
        return replace(
            self,
            labels=labels,
            cut=cut,
            formed_by_preset=False,
            below=None,
            contracted=none,
            contracted_at=np.zeros(0),
            inside=None,
        )

    @property
    def levels(self) -> tuple[Self, ...]:
        """Q0, Q1, … up to this graph, as far as it was contracted from graphs below it."""
        found = [self]
        while found[-1].below is not None:
            found.append(found[-1].below)
        return tuple(reversed(found))

    @cached_property
    def n_components(self) -> int:
        return int(self.labels.max()) + 1

    @cached_property
    def sizes(self) -> np.ndarray:
        """(n_components,) int64 number of pixels of each component."""
        return counts(self.labels, self.n_components)

    @cached_property
    def first_pixels(self) -> np.ndarray:
        """(n_components,) int64 first pixel of each component; they increase."""
        return first_places(self.labels, self.n_components)

    @property
    def tail(self) -> np.ndarray:
        """(n_cut,) int32 component at the tail of each cut edge."""
        return gathered(self.labels, self.pixels.tail, self.cut)

    @property
    def head(self) -> np.ndarray:
        """(n_cut,) int32 component at the head of each cut edge."""
        return gathered(self.labels, self.pixels.head, self.cut)

    @property
    def at_rim(self) -> np.ndarray:
        """(n_components,) bool: the components with a pixel in the outermost rows or columns of the image."""
        index = self.pixels.map.index
        rim = np.concatenate([index[0], index[-1], index[:, 0], index[:, -1]])
        return np.bincount(self.labels[rim[rim >= 0]], minlength=self.n_components) > 0

    def sides(self) -> tuple[np.ndarray, np.ndarray]:
        """Sides of pixels on borders, as flat positions: of the pixels that differ from what is above, and to the left."""
        labels = self.label_image()
        below, width = np.flatnonzero(labels[1:] != labels[:-1]), labels.shape[1]
        row, column = rows_and_columns(np.flatnonzero(labels[:, 1:] != labels[:, :-1]), max(width - 1, 1))
        return below + width, row * width + column + 1

    def pixels_at(self, position: np.ndarray) -> np.ndarray:
        """(n,) int32 numbers of the pixels at flat positions in the image, −1 where none is valid."""
        return self.pixels.map.index.reshape(-1)[position]

    def label_image(self) -> np.ndarray:
        """(H, W) int32 component of each pixel, −1 outside the valid pixels."""
        return self.pixels.map.image(self.labels, np.int32(-1))

    def contract(self, edges: ArrayLike, residual: ArrayLike | None = None) -> Self:
        """The quotient graph one level up, with the given edges contracted.

        Parameters
        ----------
        edges : integers or booleans
            Numbers of edges of G0 (as in `cut`), or one boolean per cut edge. Edges inside a component change nothing.
        residual : floats, optional
            The residuals of these edges, to be remembered: the hierarchy of the components tells at what residual they
            were merged.

        Returns
        -------
        Quotient
        """
        chosen = self._edge_numbers(edges)
        tail, head = (gathered(self.labels, end, chosen) for end in (self.pixels.tail, self.pixels.head))
        at = np.full(len(chosen), np.nan) if residual is None else np.atleast_1d(np.asarray(residual, dtype=np.float64))
        if at.shape != chosen.shape:
            raise ValueError(f"residual: expected one value for each of the {len(chosen)} edges, got shape {at.shape}")
        merged = connected_components(self.n_components, tail, head)
        labels = gathered(merged, self.labels)
        # One pass over all edges of G0 is quicker than to look up both components of a large part of them.
        many = _MANY_CUT * len(self.cut) > self.pixels.n_edges
        return replace(
            self,
            labels=labels,
            cut=cut_edges(self.pixels, labels)
            if many
            else self.cut[np.flatnonzero(merged[self.tail] != merged[self.head])],
            level=self.level + 1,
            formed_by_preset=False,
            seconds={},
            below=self,
            contracted=chosen.astype(np.int32, copy=False),
            contracted_at=at,
            inside=None,
        )

    def residual(self, potential: np.ndarray, edges: np.ndarray | None = None) -> np.ndarray:
        """φ_tail − φ_head − jump at the given edges of G0, by default at the cut edges.

        Parameters
        ----------
        potential : (n_pixels,) float64
        edges : (n,) integers, optional

        Returns
        -------
        (n,) float64
        """
        edges = self.cut if edges is None else edges
        jump = self.jump[edges] if self.jump.ndim == 1 else self.jump[:, edges].mean(axis=0)
        return potential[self.pixels.tail[edges]] - potential[self.pixels.head[edges]] - jump

    def tear(self, potential: np.ndarray) -> np.ndarray:
        """(n_edges,) float64 residual of every edge of G0 at a potential, in pixels (sideways, at the surface)."""
        return self.residual(potential, np.arange(self.pixels.n_edges)) * self.pixels.focal_at()

    def __repr__(self) -> str:
        height, width = self.pixels.map.shape
        formed = "" if self.angle is None else f", formed with angle {self.angle:g}°"
        return (
            f"<{type(self).__name__} Q{self.level}: {self.n_components} components of {self.pixels.n_pixels} pixels "
            f"({height}×{width} image), {len(self.cut)} of {self.pixels.n_edges} edges cut{formed}>"
        )

    def _edge_numbers(self, edges: ArrayLike) -> np.ndarray:
        chosen = np.atleast_1d(np.asarray(edges))
        if chosen.size == 0:
            return np.zeros(0, dtype=np.int32)
        if chosen.dtype == bool:
            if chosen.shape != self.cut.shape:
                raise ValueError(f"edges: a mask needs one entry per cut edge, {len(self.cut)}, got {chosen.shape}")
            return self.cut[chosen]
        if chosen.dtype.kind not in "iu" or chosen.ndim != 1:
            raise ValueError(f"edges: expected edge numbers or a mask over `cut`, got {chosen.dtype} {chosen.shape}")
        if chosen.min() < 0 or chosen.max() >= self.pixels.n_edges:
            raise ValueError(f"edges: numbers must lie in [0, {self.pixels.n_edges}), as those in `cut` do")
        return chosen


def jumps_of(pixels: PixelGraph, continuity: Continuity) -> np.ndarray | PlanarJumps:
    """The jumps of all edges of G0, computed on demand where keeping the planar ones would take much memory."""
    if continuity is planar and pixels.n_edges > LEAN_EDGES:
        return PlanarJumps(pixels.map, pixels.tail, pixels.head)
    return continuity(pixels.map, pixels.tail, pixels.head)
