"""`Reconstruction`, what integration returns: depth, points, mesh, and what to know about them."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from . import io, report
from .analysis.hierarchy import Hierarchy
from .analysis.resistance import resistances
from .beyond.confidence import confidence
from .geometry.mesh import Cuts, Mesh, triangulate
from .method.outcome import Outcome, Step
from .method.weights import TEAR

if TYPE_CHECKING:
    from .quotient_graph import QuotientGraph

__all__ = ["Reconstruction", "Step"]


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
    """

    graph: QuotientGraph
    levels: list[QuotientGraph]

    @classmethod
    def from_outcome(cls, outcome: Outcome) -> Self:
        """The same with what users do to it."""
        return cls(**vars(outcome))

    @cached_property
    def depth(self) -> np.ndarray:
        """(H, W) float64 depth, NaN outside the valid pixels.

        Central cameras: of geometric mean 1 over each piece. Orthographic: of mean 0, in the unit of the pixel size.
        """
        normal_map = self.graph.pixels.map
        return normal_map.image(normal_map.camera.depth(self.potential))

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
        """(H, W) float64 in [0, 1]: how firmly the component of each pixel is held in its place; NaN outside.

        ½ means that it hangs on the rest by as much as ten edges that fit; below, its depth is a guess. Computed on
        request, from the components of Q0; see `quotientgraph.beyond.confidence`. With a depth prior it is the
        probability that the depth is right within 2 % (orthographic: of the range of the prior).
        """
        if self.certainty is not None:
            return self.graph.pixels.map.image(self.certainty)
        first = self.levels[0]
        return first.pixels.map.image(confidence(first, self.potential)[first.labels])

    @cached_property
    def uncertainty(self) -> np.ndarray:
        """(H, W) float64 standard deviation of the scale of each pixel's component; NaN outside.

        A length in pixels at the surface; over the focal length in pixels it is one of log-depth. See
        `quotientgraph.analysis.resistance`. Computed on request, from the components of Q0.
        """
        first = self.levels[0]
        return first.pixels.map.image(resistances(first, self.potential).uncertainty[first.labels])

    @cached_property
    def hierarchy(self) -> Hierarchy[QuotientGraph]:
        """The merge tree of the components: those of Q0, merged along `levels` and then by the residuals that are left."""
        return Hierarchy.from_levels(self.levels, self.potential)

    @property
    def broken(self) -> np.ndarray:
        """(n_edges,) bool: edges of G0 across which the surface is cut."""
        return np.abs(self.residual) > TEAR

    def mesh(self) -> Mesh:
        """Triangles over the valid pixels, cut at the `broken` edges, with the given normals; OpenCV frame."""
        pixels = self.graph.pixels
        position, shape = pixels.map.position, pixels.map.shape
        gone = pixels.removed  # neighbours that are not joined: the surface is cut there as well
        tail, head = np.append(pixels.tail, gone[:, 0]), np.append(pixels.head, gone[:, 1])
        broken = np.append(self.broken, np.ones(len(gone), dtype=bool))
        cuts = Cuts.from_edges(shape, position[tail], position[head], broken)
        return triangulate(self.depth, pixels.map.camera, cuts=cuts, normals=self.normals)

    def save(self, path: Path | str) -> None:
        """Write by suffix: the depth (.npy .exr .tiff .png …), the mesh (.ply .obj .glb .stl) or the report (.html)."""
        suffix = Path(path).suffix.lower()
        if suffix in (".html", ".htm"):
            report.write_report(self, path)
        elif suffix in io.mesh_suffixes():
            io.write_mesh(path, self.mesh())
        elif suffix in io.writable():
            io.write_depth(path, self.depth)
        else:
            known = [".html", *io.mesh_suffixes(), *io.writable()]
            raise io.OutputError(f"path: the suffix of {str(path)!r} is not known; use one of {' '.join(known)}")

    def show(self) -> report.Fragment | None:
        """Show the maps and the convergence: in windows, or in a notebook as a picture with a few numbers."""
        return report.show(self)

    def _repr_html_(self) -> str:
        return report.html_fragment(self)

    def __repr__(self) -> str:
        height, width = self.graph.pixels.map.shape
        state = "converged" if self.converged else "NOT converged"
        lines = [
            f"<Reconstruction of {self.graph.pixels.n_pixels} pixels ({height}×{width} image): "
            f"{state} after {len(self.history)} iterations, {sum(self.seconds.values()):.2f} s",
            f" {self.graph!r}",
            *(f" warning: {text}" for text in self.warnings),
        ]
        return "\n".join(lines) + ">"
