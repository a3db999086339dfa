"""`QuotientGraph`, the graphs Qm: components of pixels, and the edges of G0 that run between them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from laplacians.system import Pattern

from ..geometry.camera import Camera
from ..geometry.jumps import Continuity, PlanarJumps, planar
from ..geometry.normals import NormalMap
from .pixels import PixelGraph
from .selection import connected_components, similar_edges, suitable_angle

if TYPE_CHECKING:
    import igraph
    import networkx

    from ..result import Reconstruction

# Beyond this many edges of G0 their jumps are computed when needed and not kept; results are the same.
LEAN_EDGES = 2**24


@dataclass(frozen=True)
class QuotientGraph:
    """G0 with some of its edges contracted: components are the nodes, cut edges join them.

    Attributes
    ----------
    pixels : PixelGraph
        G0.
    jump : (n_edges,) or (2, n_edges) float64
        Predicted φ_tail − φ_head of every edge of G0; see `quotientgraph.geometry.jumps`.
    labels : (n_pixels,) int32
        Component of each pixel, π_m, numbered by their first pixel.
    cut : (n_cut,) int32
        Edges of G0, by number, whose ends lie in different components. Those between parallel faces that were set apart
        (`quotientgraph.beyond.parallel_faces`) are not among them: they say nothing of the jump.
    level : int
        m: how often components were merged.
    angle : float or None
        θ_c it was formed with, in degrees; None if it was not formed by angle.
    seconds : dict
        Time spent on making it, by stage.
    """

    pixels: PixelGraph
    jump: np.ndarray | PlanarJumps
    labels: np.ndarray
    cut: np.ndarray
    level: int = 0
    angle: float | None = None
    seconds: dict[str, float] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_normals(
        cls,
        normals: ArrayLike,
        mask: ArrayLike | None = None,
        camera: Camera | ArrayLike | None = None,
        frame: str = "opengl",
        angle: float | str | None = "auto",
        connectivity: int = 8,
        continuity: Continuity = planar,
    ) -> QuotientGraph:
        """Q0 of a normal map: pixels joined while neighbouring normals differ by less than `angle`.

        Parameters
        ----------
        normals : (H, W, 3) float array
            Rescaled to unit length; a non-finite or zero normal makes its pixel invalid.
        mask : (H, W) bool array, optional
        camera : Pinhole, Orthographic, RayMap or 3×3 intrinsic matrix, optional
            None is ``Orthographic()``.
        frame : str
            "opengl" (x right, y up, z to the viewer), "opencv" (x right, y down, z forward), "dsine" (x left, y up,
            z to the viewer) or "directx" (x right, y down, z to the viewer).
        angle : float, "auto" or None
            θ_c in degrees; "auto" is 2, more under noise or for fine structure (see
            `quotientgraph.graph.selection.suitable_angle`); None makes every pixel a component of its own.
        connectivity : 4 or 8
        continuity : callable
            Model of continuity, `quotientgraph.geometry.jumps.planar` or `bini`.

        Examples
        --------
        >>> import numpy as np
        >>> graph = QuotientGraph.from_normals(np.tile([0.0, 0.0, 1.0], (4, 5, 1)))
        >>> graph.n_components, graph.pixels.n_pixels, graph.pixels.n_edges
        (1, 20, 55)
        """
        if angle is not None and angle != "auto" and not (isinstance(angle, Real) and 0 < angle <= 180):
            raise ValueError(
                f'angle={angle!r} must be between 0 and 180 degrees, "auto", or None for one component a pixel'
            )
        began = time.perf_counter()
        pixels = PixelGraph.from_map(NormalMap.from_array(normals, mask, camera, frame), connectivity)
        lean = continuity is planar and pixels.n_edges > LEAN_EDGES
        jump = PlanarJumps(pixels) if lean else continuity(pixels)
        formed = time.perf_counter()
        chosen = suitable_angle(pixels) if isinstance(angle, str) else angle
        labels = _formed(pixels, chosen)
        cut = np.flatnonzero(labels[pixels.tail] != labels[pixels.head]).astype(np.int32)
        seconds = {"graph": formed - began, "components": time.perf_counter() - formed}
        return cls(pixels, jump, labels, cut, angle=chosen, seconds=seconds)

    @classmethod
    def from_labels(cls, pixels: PixelGraph, jump: np.ndarray | PlanarJumps, labels: ArrayLike) -> QuotientGraph:
        """The quotient of G0 by one's own segmentation: one whole number per valid pixel.

        A component is connected: pixels that share a number but not a path of it become components of their own.
        """
        given = np.asarray(labels)
        if given.shape != (pixels.n_pixels,) or given.dtype.kind not in "iub":
            raise ValueError(
                f"labels: expected one whole number per valid pixel, {pixels.n_pixels}, "
                f"got {given.dtype} {given.shape}; take a label image's values at pixels.map.position"
            )
        apart = given[pixels.tail] != given[pixels.head]
        parts = connected_components(pixels.n_pixels, pixels.tail[~apart], pixels.head[~apart])
        return cls(pixels, jump, parts, np.flatnonzero(apart).astype(np.int32))

    @cached_property
    def n_components(self) -> int:
        return int(self.labels.max()) + 1

    @property
    def tail(self) -> np.ndarray:
        """(n_cut,) int32 component at the tail of each cut edge."""
        return self.labels[self.pixels.tail[self.cut]]

    @property
    def head(self) -> np.ndarray:
        """(n_cut,) int32 component at the head of each cut edge."""
        return self.labels[self.pixels.head[self.cut]]

    def label_image(self) -> np.ndarray:
        """(H, W) int32 component of each pixel, −1 outside."""
        return self.pixels.map.image(self.labels, -1).astype(np.int32)

    def contract(self, edges: ArrayLike) -> QuotientGraph:
        """The quotient graph one level up, with the given edges contracted.

        Parameters
        ----------
        edges : integers or booleans
            Numbers of edges of G0 (as in `cut`), or one boolean per cut edge. Edges inside a component change nothing.
        """
        chosen = self._edge_numbers(edges)
        tail, head = self.labels[self.pixels.tail[chosen]], self.labels[self.pixels.head[chosen]]
        merged = connected_components(self.n_components, tail, head)
        labels = merged[self.labels]
        keep = merged[self.tail] != merged[self.head]
        return QuotientGraph(self.pixels, self.jump, labels, self.cut[keep], self.level + 1, self.angle)

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

    def to_igraph(self, potential: np.ndarray | None = None) -> igraph.Graph:
        """An igraph `Graph` of the components, with the attributes of `node_table` and `edge_table`."""
        import igraph

        nodes, (tail, head, edges) = self.node_table(), self.edge_table(potential)
        return igraph.Graph(
            self.n_components,
            edges=np.column_stack([tail, head]),
            vertex_attrs={name: values.tolist() for name, values in nodes.items()},
            edge_attrs={name: values.tolist() for name, values in edges.items()},
        )

    def to_networkx(self, potential: np.ndarray | None = None) -> networkx.Graph:
        """A networkx `Graph` of the components, with the attributes of `node_table` and `edge_table`."""
        import networkx

        nodes, (tail, head, edges) = self.node_table(), self.edge_table(potential)
        graph = networkx.Graph(level=self.level)
        columns = [values.tolist() for values in nodes.values()]
        graph.add_nodes_from((c, dict(zip(nodes, row))) for c, row in enumerate(zip(*columns)))
        columns = [values.tolist() for values in edges.values()]
        graph.add_edges_from(
            (t, h, dict(zip(edges, row))) for t, h, *row in zip(tail.tolist(), head.tolist(), *columns)
        )
        return graph

    def node_table(self) -> dict[str, np.ndarray]:
        """Per component: `size` in pixels and its bounding box `top`, `left`, `bottom`, `right` (inclusive)."""
        v, u = np.divmod(self.pixels.map.position, self.pixels.map.shape[1])
        table = {"size": np.bincount(self.labels, minlength=self.n_components)}
        for name, coordinate, reduce, start in (
            ("top", v, np.minimum, np.iinfo(np.int32).max),
            ("left", u, np.minimum, np.iinfo(np.int32).max),
            ("bottom", v, np.maximum, -1),
            ("right", u, np.maximum, -1),
        ):
            table[name] = np.full(self.n_components, start, dtype=np.int32)
            reduce.at(table[name], self.labels, coordinate)
        return table

    def edge_table(self, potential: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Per pair of adjacent components: tail, head, `n_edges` of G0 between them and their mean `residual`.

        The residual φ_tail − φ_head − jump is taken at `potential` (n_pixels,), by default the components as they are
        filled, each on its own: it then is minus the offset that would align the two.
        """
        tail, head = self.tail, self.head
        pattern, order, start = Pattern.from_edges(self.n_components, tail, head)
        residual = np.where(tail < head, 1.0, -1.0) * self.residual(self.filled() if potential is None else potential)
        count = np.diff(start)
        total = np.add.reduceat(residual[order], start[:-1]) if len(order) else np.zeros(0)
        return pattern.tail, pattern.head, {"n_edges": count, "residual": total / count}

    def residual(self, potential: np.ndarray, edges: np.ndarray | None = None) -> np.ndarray:
        """φ_tail − φ_head − jump at the given edges of G0, by default the cut ones."""
        edges = self.cut if edges is None else edges
        jump = self.jump[edges] if self.jump.ndim == 1 else self.jump[:, edges].mean(axis=0)
        return potential[self.pixels.tail[edges]] - potential[self.pixels.head[edges]] - jump

    def filled(self, solver: Any = "auto") -> np.ndarray:
        """(n_pixels,) potential of each component integrated on its own, of zero mean over each."""
        from ..method.filling import fill

        return fill(self, solver).potential

    def optimize(self, **settings: Any) -> Reconstruction:
        """Integrate the components and find their relative scales; see `quotientgraph.method.optimize.optimize`."""
        from ..method.optimize import optimize

        return optimize(self, **settings)


def _formed(pixels: PixelGraph, angle: float | None) -> np.ndarray:
    """(n_pixels,) int32 components of Q0."""
    if angle is None:
        return np.arange(pixels.n_pixels, dtype=np.int32)
    edges = similar_edges(pixels, angle)
    return connected_components(pixels.n_pixels, pixels.tail[edges], pixels.head[edges])
