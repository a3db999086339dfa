"""`Reconstruction`, what integration returns: depth, points, mesh, and what to know about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cached_property
from os import PathLike
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from . import io, report
from .analysis.hierarchy import Hierarchy
from .analysis.resistance import resistances
from .beyond.alternatives import Alternative, alternatives
from .beyond.confidence import confidence
from .beyond.doubts import judged
from .beyond.settling import Contact, settled, taken
from .beyond.standing import Standing
from .geometry.mesh import Mesh, triangulate
from .geometry.reduction import check_limits, reduce_mesh
from .method.outcome import Outcome, Step
from .method.weights import TEAR

if TYPE_CHECKING:
    from .quotient_graph import QuotientGraph

__all__ = ["Alternative", "Reconstruction", "Step"]


class Reconstruction(Outcome):
    """A surface integrated from normals.

    Attributes
    ----------
    graph : QuotientGraph
        The last Qm.
    potential : (n_pixels,) float64
        φ of each valid pixel: log-depth for a central camera, depth in pixels for an orthographic one.
    levels : list of QuotientGraph
        Q0, Q1, …, the last of which is `graph`.
    history : list of Step
        What each iteration did.
    seconds : dict
        Time by stage: "graph", "components", "filling", "scales".
    converged : bool
    warnings : list of str
        What to know about the result: pixels left out, separate pieces, non-convergence.
    device : str
        "cpu" or "cuda": where the scales were optimised.
    taken : tuple of str
        What was settled or taken after the integration, in words.
    """

    graph: QuotientGraph
    levels: list[QuotientGraph]

    @classmethod
    def from_outcome(cls, outcome: Outcome) -> Self:
        """The same with what users do to it."""
        return cls(**{one.name: getattr(outcome, one.name) for one in fields(Outcome)})

    @cached_property
    def depth(self) -> np.ndarray:
        """(H, W) float64 depth, NaN outside the valid pixels.

        Central cameras: of geometric mean 1 over each piece; z, or the distance where the camera sees all around.
        Orthographic: of mean 0, in the unit of the pixel size.
        """
        normal_map = self.graph.pixels.map
        depth = normal_map.image(normal_map.camera.depth(self.potential))
        return depth + self._ramp(depth.shape) if normal_map.keeps_slope else depth

    @property
    def slope(self) -> tuple[float, float]:
        """The net slope around a wrapped image, to the right and downwards, depth by length; 0 where it does not wrap.

        It was removed from the surface unless ``slope="keep"`` was asked for; see `QuotientGraph.from_normals`.
        """
        return self.graph.pixels.map.slope

    def _ramp(self, shape: tuple[int, ...]) -> np.ndarray:
        """(H, W) depth of a plane of the net slope, 0 in the middle of the image."""
        (right, down), m = self.slope, self.graph.pixels.map
        v, u = (np.arange(n) - (size - 1) / 2 for n, size in zip(shape, m.shape, strict=True))
        return m.camera.depth(down * v[:, None] + right * u)

    @property
    def distance(self) -> np.ndarray:
        """(H, W) float64 distance from the camera along the ray, NaN outside; for parallel rays the depth."""
        return self.graph.pixels.map.camera.distance(self.depth)

    @property
    def points(self) -> np.ndarray:
        """(H, W, 3) float64 surface points in the OpenCV camera frame, NaN outside."""
        return self.graph.pixels.map.camera.points(self.depth)

    @property
    def normals(self) -> np.ndarray:
        """(H, W, 3) float64 unit normals that were integrated, OpenCV frame, NaN outside."""
        return self.graph.pixels.map.image(self.graph.pixels.map.normals)

    @property
    def n_pieces(self) -> int:
        """Number of connected pieces of the valid pixels; the normals do not determine the depth between them."""
        return self.graph.pixels.n_pieces

    @property
    def pieces(self) -> np.ndarray:
        """(H, W) int32 piece of each pixel, −1 outside."""
        return self.graph.pixels.map.image(self.graph.pixels.pieces, -1).astype(np.int32)

    @cached_property
    def residual(self) -> np.ndarray:
        """(n_edges,) float64: φ_tail − φ_head − jump of every edge of G0, in pixels (at the surface, laterally)."""
        return self.graph.tear(self.potential)

    @property
    def discontinuity(self) -> np.ndarray:
        """(H, W) float64: the largest |residual| of each pixel's edges, in pixels; NaN outside."""
        pixels, size = self.graph.pixels, np.abs(self.residual)
        largest = np.zeros(pixels.n_pixels)
        np.maximum.at(largest, pixels.tail, size)
        np.maximum.at(largest, pixels.head, size)
        return pixels.map.image(largest)

    @cached_property
    def confidence(self) -> np.ndarray:
        """(H, W) float64 in [0, 1]: how sure the depth of each pixel is, relative to the rest of its piece; NaN outside.

        In scenes with flat faces, and with a depth prior, it is the probability that the depth is right within 2 %
        (orthographic: of its range), calibrated on random scenes; see `quotientgraph.beyond.certainty`. Elsewhere, as on
        curved objects and with ``preset="paper"``, it tells how firmly the component of the pixel is held in its place: ½
        means by as much as ten edges that fit; see `quotientgraph.beyond.confidence`.
        """
        if self.certainty is not None:
            return self.graph.pixels.map.image(self.certainty)
        first = self.levels[0]
        held = confidence(first, self.potential, settled=self.settled)
        return first.pixels.map.image(held[first.labels])

    @cached_property
    def uncertainty(self) -> np.ndarray:
        """(H, W) float64 standard deviation of the scale of each pixel's component; NaN outside.

        A length in pixels at the surface; over the focal length in pixels it is one of log-depth. See
        `quotientgraph.analysis.resistance`. Computed on request, from the components of Q0.
        """
        first = self.levels[0]
        return first.pixels.map.image(resistances(first, self.potential).uncertainty[first.labels])

    @cached_property
    def _standing(self) -> Standing:
        return Standing.from_outcome(self)

    @cached_property
    def alternatives(self) -> tuple[Alternative, ...]:
        """Parts that could sit elsewhere, the most plausible first; computed on request.

        Each has the pixels that would move, by how much, how much worse it explains the borders, and a sentence. `take`
        moves it. What anchors, contacts or a depth prior have settled is not listed.
        """
        return alternatives(self._standing)

    def take(self, alternative: Alternative) -> Self:
        """The reconstruction with one of its `alternatives` in place, which is settled from then on.

        The `alternatives` of what is returned are those that are left, and `taken` tells what was taken.
        """
        if not any(alternative is one for one in self.alternatives):
            raise ValueError("alternative: it is not one of this reconstruction; take one of its own `alternatives`")
        return self._judged(taken(self, self._standing, alternative))

    def settle(
        self,
        contacts: Sequence[Contact] | None = None,
        anchors: Sequence[tuple[float, float, float]] | None = None,
    ) -> Self:
        """The reconstruction with what is known of some pixels: that surfaces touch there, or how deep they are.

        Parameters
        ----------
        contacts : sequence of ((u, v), (u, v)), optional
            Pairs of neighbouring pixels, column and row, on two sides of a border where the two surfaces touch.
        anchors : sequence of (u, v, depth), optional
            Known depths: column, row, depth. They fix the absolute scale, and two or more move parts against each other.

        Returns
        -------
        Reconstruction
            What hangs on these pixels more than on the rest has moved with them. What is settled stays so in further
            calls of `settle` and `take`.
        """
        return self._judged(settled(self, self._standing, contacts, anchors))

    def _judged(self, outcome: Outcome) -> Self:
        """What was made of this reconstruction, with its confidence if this one has one."""
        return self.from_outcome(outcome if self.certainty is None else judged(outcome))

    @cached_property
    def hierarchy(self) -> Hierarchy[QuotientGraph]:
        """The merge tree of the components: those of Q0, merged along `levels` and then by the residuals that are left."""
        return Hierarchy.from_levels(self.levels, self.potential)

    @property
    def broken(self) -> np.ndarray:
        """(n_edges,) bool: edges of G0 across which the surface is cut."""
        return np.abs(self.residual) > TEAR

    def mesh(self, max_faces: float | None = None, max_error: float | None = None) -> Mesh:
        """Triangles over the valid pixels, cut at the `broken` edges, with the given normals; OpenCV frame.

        Parameters
        ----------
        max_faces : float, optional
            At most so many triangles, fewer where the surface is plain; see `reduce_mesh`.
        max_error : float, optional
            Largest distance from the surface in pixels, along each pixel's ray. By default every pixel is a vertex.

        Returns
        -------
        Mesh
        """
        check_limits(max_faces, max_error)
        pixels = self.graph.pixels
        camera, cuts, wrap = pixels.map.camera, pixels.cuts(self.broken, around=True), pixels.map.wrap
        rise = (0.0, 0.0)
        if pixels.map.keeps_slope:
            right, down = camera.depth(np.array(self.slope) * pixels.map.shape[::-1])
            rise = float(right), float(down)
        full = triangulate(self.depth, camera, cuts=cuts, normals=self.normals, wrap=wrap, rise=rise)
        torn = cuts.diagonal | cuts.antidiagonal
        return reduce_mesh(full, camera, max_faces=max_faces, max_error=max_error, torn=torn, wrap=wrap)

    def save(
        self, path: Path | str, *, max_faces: float | Iterable[float] | None = None, max_error: float | None = None
    ) -> None:
        """Write by suffix: the depth (.npy .exr .tiff .png …), the mesh (.ply .obj .glb .stl) or the report (.html).

        `max_faces` and `max_error` limit a mesh as in `mesh`. Several numbers of faces are levels of detail, which a .glb
        can hold.
        """
        if not isinstance(path, str | PathLike):
            raise ValueError(f"path: expected the name of a file, got {path!r}")
        suffix = Path(path).suffix.lower()
        known = [".html", ".htm", *io.mesh_suffixes(), *io.writable()]
        if suffix not in known:
            raise io.OutputError(f"path: the suffix of {str(path)!r} is not known; use one of {' '.join(known)}")
        if suffix in io.mesh_suffixes():
            given = max_faces.tolist() if isinstance(max_faces, np.ndarray) else max_faces
            several: list[Any] = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
            if not several:
                raise ValueError("max_faces: got no number; give one, several for levels of detail, or None")
            for number in several:
                check_limits(number, max_error)
            several.sort(key=lambda number: np.inf if number is None else number, reverse=True)
            finest, *coarser = (self.mesh(number, max_error) for number in several)
            io.write_mesh(path, finest, coarser=coarser)
        elif max_faces is not None or max_error is not None:
            raise ValueError(f"max_faces, max_error: they limit a mesh, and {str(path)!r} is none; leave them out")
        elif suffix in (".html", ".htm"):
            report.write_report(self, path)
        else:
            io.write_depth(path, self.depth)

    def show(self, image: np.ndarray | None = None) -> report.Fragment | None:
        """Show the surface: in a notebook with the views of the report, elsewhere as maps in windows.

        `image` is a photograph of the scene, (H, W, 3) or (H, W).
        """
        return report.show(self, image)

    def _repr_html_(self) -> str:
        return report.html_fragment(self)

    def __repr__(self) -> str:
        height, width = self.graph.pixels.map.shape
        state = "converged" if self.converged else "NOT converged"
        lines = [
            f"<Reconstruction of {self.graph.pixels.n_pixels} pixels ({height}×{width} image): "
            f"{state} after {len(self.history)} iterations, {sum(self.seconds.values()):.2f} s",
            f" {self.graph!r}",
            *(f" warning: {shorten(text, 108, placeholder=' …')}" for text in self.warnings),
        ]
        return "\n".join(lines) + ">"
