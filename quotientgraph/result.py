"""`Reconstruction`, what integration returns, and `Step`, what one iteration did."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .graph.quotient import QuotientGraph

if TYPE_CHECKING:
    from .geometry.mesh import Mesh
    from .report import Fragment

# A residual longer than this many pixels is a discontinuity: the surface is cut there.
CUT_LENGTH = 3.77


@dataclass(frozen=True)
class Step:
    """One iteration of the relative-scale optimisation."""

    iteration: int
    level: int
    n_components: int
    energy: float
    solver_iterations: int
    seconds: float


@dataclass(frozen=True)
class Reconstruction:
    """A surface integrated from normals.

    Attributes
    ----------
    graph : QuotientGraph
        The last Qm.
    potential : (n_pixels,) float64
        φ of each valid pixel, of zero mean over each connected piece.
    levels : list of QuotientGraph
        Q0, Q1, …, the last of which is `graph`.
    history : list of Step
    seconds : dict
        Time by stage: "graph", "components", "filling", "scales".
    converged : bool
    warnings : list of str
        What a user should know: pixels left out, pieces, non-convergence.
    device : str
        "cpu" or "cuda": where the scales were optimised.
    evidence : dict
        How well each start that was tried explains the cut edges; the highest was kept. See `quotientgraph.beyond.contacts`.
    """

    graph: QuotientGraph
    potential: np.ndarray
    levels: list[QuotientGraph]
    history: list[Step] = field(repr=False)
    seconds: dict[str, float]
    converged: bool
    warnings: list[str]
    device: str = "cpu"
    evidence: dict[str, float] = field(default_factory=dict)

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
        pixels = self.graph.pixels
        focal = pixels.focal if np.ndim(pixels.focal) == 0 else np.asarray(pixels.focal)[pixels.tail]
        return self.graph.residual(self.potential, np.arange(pixels.n_edges)) * focal

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
        request, from the components of Q0; see `quotientgraph.beyond.contacts.confidence`.
        """
        from .beyond.contacts import confidence

        first = self.levels[0]
        return first.pixels.map.image(confidence(first, self.potential)[first.labels])

    @property
    def broken(self) -> np.ndarray:
        """(n_edges,) bool: edges of G0 across which the surface is cut."""
        return np.abs(self.residual) > CUT_LENGTH

    def mesh(self) -> Mesh:
        """Triangles over the valid pixels, cut at the `broken` edges, with the given normals; OpenCV frame."""
        from .geometry.mesh import Cuts, triangulate

        pixels = self.graph.pixels
        position, shape = pixels.map.position, pixels.map.shape
        cuts = Cuts.from_edges(shape, position[pixels.tail], position[pixels.head], self.broken)
        return triangulate(self.depth, pixels.map.camera, cuts=cuts, normals=self.normals)

    def save(self, path: Path | str) -> None:
        """Write by suffix: the depth (.npy .exr .tiff .png …), the mesh (.ply .obj .glb .stl) or the report (.html)."""
        from . import io, report

        suffix = Path(path).suffix.lower()
        if suffix in (".html", ".htm"):
            report.write_report(self, path)
        elif suffix in (".ply", ".obj", ".glb", ".stl"):
            io.write_mesh(path, self.mesh())
        else:
            io.write_depth(path, self.depth)

    def show(self) -> Fragment | None:
        """Show the maps and the convergence: in windows, or in a notebook as a picture with a few numbers."""
        from .report import show

        return show(self)

    def _repr_html_(self) -> str:
        from .report import html_fragment

        return html_fragment(self)
