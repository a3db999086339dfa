"""`PixelGraph`, the graph G0: valid pixels and their neighbour pairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from laplacians.core.edges import connected_labels
from laplacians.core.jit import WHOLE, kernel, portion

from ..geometry.mesh import Cuts
from ..geometry.normals import NormalMap, row_and_column
from ..geometry.wrapping import neighbour, pixel_beyond
from .tables import GraphTables

# Steps (dv, du) from the tail of an edge to its head: each neighbour pair once, tail before head in row-major order.
_STEPS = {
    4: np.array([[0, 1], [1, 0]]),
    8: np.array([[0, 1], [1, -1], [1, 0], [1, 1]]),
}
# Around the border the head may come first in the image, so there all neighbours are looked at.
_ALL_STEPS = {n: np.concatenate([steps, -steps]) for n, steps in _STEPS.items()}

# A grid that holds all pixels is worth its memory while it has at most this many cells for each of them.
_EMPTIEST = 2.5


@dataclass(frozen=True, eq=False)
class PixelGraph:
    """Valid pixels and their neighbour pairs, each pair stored once.

    Memory: 8 bytes an edge, so 16 bytes a pixel with 4-connectivity and 32 with 8, beside the `NormalMap`
    (24 for the normal, 4 for its position, 4 an image pixel for the index).

    Attributes
    ----------
    map : NormalMap
    connectivity : 4 or 8
    tail, head : (n_edges,) int32
        Pixels of each edge, tail < head, sorted by tail.
    removed : (n_removed, 2) int32
        Neighbour pairs that are not joined because a user drew a line of discontinuity between them.
    """

    map: NormalMap
    connectivity: int
    tail: np.ndarray
    head: np.ndarray
    removed: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int32))

    @classmethod
    def from_map(cls, normal_map: NormalMap, connectivity: int = 8) -> PixelGraph:
        """G0 of a normal map with 4- or 8-connectivity."""
        if connectivity not in _STEPS:
            raise ValueError(f"connectivity={connectivity!r} must be 4 or 8")
        if normal_map.wrap:
            return cls(normal_map, connectivity, *_wrapped_edges(normal_map, _ALL_STEPS[connectivity]))
        steps = _STEPS[connectivity]
        start = np.concatenate([[0], np.cumsum(_edges_per_row(normal_map.index >= 0, steps))])
        tail, head = np.empty(start[-1], dtype=np.int32), np.empty(start[-1], dtype=np.int32)
        _list_edges(normal_map.index, steps, start, tail, head)
        return cls(normal_map, connectivity, tail, head)

    @property
    def n_pixels(self) -> int:
        return self.map.n_pixels

    @property
    def n_edges(self) -> int:
        return len(self.tail)

    @property
    def nbytes(self) -> int:
        """Bytes held by the edge list and the normal map."""
        m = self.map
        return sum(a.nbytes for a in (self.tail, self.head, m.normals, m.index, m.position))

    def focal_at(self, edges: np.ndarray | slice = slice(None)) -> np.ndarray:
        """How many pixels one unit of the potential is at the given edges, by default all: (n,), the mean of both ends."""
        focal = np.asarray(self.map.focal)
        if focal.ndim == 0:
            return np.broadcast_to(focal, self.tail[edges].shape if isinstance(edges, slice) else np.shape(edges))
        return 0.5 * (focal[self.tail[edges]] + focal[self.head[edges]])

    @property
    def gamma_squared(self) -> np.ndarray:
        """(n_pixels,) γ² = (f·n·ray)², BiNI's confidence of a pixel (f = 1 for an orthographic camera)."""
        out = self.map.facing
        out *= self.map.focal
        return np.square(out, out=out)

    def cells(self) -> tuple[tuple[int, int], np.ndarray] | None:
        """Where the pixels lie on the smallest grid that holds them, in a frame of empty cells.

        Returns
        -------
        shape : height, width
            Of the grid with its frame; both are even.
        cell : (n_pixels,) int32
            Position of each pixel, counted row by row.

        None if an edge joins pixels that are not neighbours on the grid, as in an image that wraps, or if most cells would
        be empty.
        """
        if self.map.wrap:
            return None
        index, position = self.map.index, self.map.position
        top, bottom = (int(position[k]) // index.shape[1] for k in (0, -1))
        left, right = 0, index.shape[1] - 1
        if index[:, left].max() < 0 or index[:, right].max() < 0:
            left, right = np.flatnonzero(index.max(axis=0) >= 0)[[0, -1]].tolist()
        height, width = bottom - top + 3, right - left + 3
        shape = height + height % 2, width + width % 2
        if shape[0] * shape[1] > _EMPTIEST * (self.n_pixels + 1000):
            return None
        cell = np.empty(self.n_pixels, dtype=np.int32)
        _place_in_frame(position, index.shape[1], top, left, shape[1], cell)
        return shape, cell

    def cuts(self, broken: np.ndarray, around: bool = False) -> Cuts:
        """The edges that `broken` (n_edges,) chooses, and the `removed` neighbour pairs, as images.

        With `around`, those of an image that wraps have its first column and row repeated at the end, as `triangulate` takes
        them; otherwise edges around its border are left out.
        """
        tail, head = np.append(self.tail[broken], self.removed[:, 0]), np.append(self.head[broken], self.removed[:, 1])
        at = self.map.position
        (h, w), wrap = self.map.shape, self.map.wrap
        found = Cuts.from_edges((h, w), at[tail], at[head], np.ones(len(tail), dtype=bool), wrap)
        if around or not wrap:
            return found
        corners = found.diagonal[: h - 1, : w - 1], found.antidiagonal[: h - 1, : w - 1]
        return Cuts(found.right[:h, : w - 1], found.down[: h - 1, :w], *corners)

    @cached_property
    def pieces(self) -> np.ndarray:
        """(n_pixels,) int32 label of the connected piece of each pixel; depth between pieces is undetermined."""
        return connected_labels(self.n_pixels, self.tail, self.head)

    @property
    def n_pieces(self) -> int:
        return int(self.pieces.max()) + 1

    def tables(self) -> GraphTables:
        """The graph as columns, for igraph, networkx, pandas and `scipy.sparse`.

        Node columns: `row`, `column`, `normal_x`, `normal_y`, `normal_z` (OpenCV frame). Edge column: `angle` between the
        two normals in degrees.
        """
        row, column = np.divmod(self.map.position, self.map.shape[1])
        normals = self.map.normals
        chord = np.linalg.norm(normals[self.tail] - normals[self.head], axis=1)
        nodes = {"row": row, "column": column, **{f"normal_{axis}": normals[:, k] for k, axis in enumerate("xyz")}}
        angle = np.degrees(2 * np.arcsin(np.minimum(0.5 * chord, 1.0)))
        return GraphTables(nodes, self.tail, self.head, {"angle": angle}, {"connectivity": self.connectivity})

    def opposites(self, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each given edge (a, b): the pixel beyond a as seen from b, and the pixel beyond b as seen from a.

        Two int32 arrays as long as `edges`; −1 where there is no valid pixel.
        """
        beyond_tail, beyond_head = np.empty(len(edges), dtype=np.int32), np.empty(len(edges), dtype=np.int32)
        _opposites(
            self.map.index,
            self.map.position,
            self.tail,
            self.head,
            edges,
            self.map.wrap.flags,
            beyond_tail,
            beyond_head,
        )
        return beyond_tail, beyond_head

    def steps(self, edges: np.ndarray | slice = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """(dv, du) in pixels from the tail to the head of the given edges, the short way around; see `Wrap.steps`."""
        at = self.map.position
        return self.map.wrap.steps(self.map.shape, at[self.tail[edges]], at[self.head[edges]])


def _edges_per_row(valid: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """(H,) how many edges have their tail in each row."""
    height, width = valid.shape
    out = np.zeros(height, dtype=np.int64)
    for down, right in steps.tolist():
        left = max(0, -right)
        tails = valid[: height - down, left : width - max(0, right)]
        heads = valid[down:, left + right : width - max(0, right) + right]
        out[: height - down] += np.count_nonzero(tails & heads, axis=1)
    return out


@kernel(parallel_from=2**19)
def _place_in_frame(position, width, top, left, framed_width, cell, share=WHOLE):
    """Write the cell of each pixel: its position on a grid that begins a row above `top` and a column before `left`."""
    for i in portion(len(cell), share):
        v, u = row_and_column(position[i], width)
        cell[i] = (v - top + 1) * framed_width + (u - left + 1)


@kernel(parallel_from=2**19)
def _list_edges(index, steps, start, tail, head, share=WHOLE):
    height, width = index.shape
    for v in portion(height, share):
        e = start[v]
        for u in range(width):
            if index[v, u] >= 0:
                for k in range(len(steps)):
                    vv, uu = v + steps[k, 0], u + steps[k, 1]
                    if vv < height and 0 <= uu < width and index[vv, uu] >= 0:
                        tail[e] = index[v, u]
                        head[e] = index[vv, uu]
                        e += 1


def _wrapped_edges(normal_map: NormalMap, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tail and head of every pair of neighbours of an image that wraps, in the order of `PixelGraph`."""
    index, flags = normal_map.index, normal_map.wrap.flags
    start, none = np.zeros(len(index) + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
    _list_wrapped_edges(index, steps, flags, start, none, none)
    start = np.cumsum(start)
    tail, head = np.empty(start[-1], dtype=np.int32), np.empty(start[-1], dtype=np.int32)
    _list_wrapped_edges(index, steps, flags, start, tail, head)
    return tail, head


@kernel(parallel_from=2**19)
def _list_wrapped_edges(index, steps, flags, start, tail, head, share=WHOLE):
    """Write the edges; with an empty `tail` count those of each row v into start[v + 1] instead."""
    height, width = index.shape
    for v in portion(height, share):
        e = start[v] if len(tail) > 0 else 0
        for u in range(width):
            here = index[v, u]
            if here >= 0:
                for k in range(len(steps)):
                    there = neighbour(index, v, u, steps[k, 0], steps[k, 1], flags)
                    if there > here:
                        if len(tail) > 0:
                            tail[e] = here
                            head[e] = there
                        e += 1
        if len(tail) == 0:
            start[v + 1] = e


@kernel
def _opposites(index, position, tail, head, edges, flags, beyond_tail, beyond_head):
    for k in range(len(edges)):
        e = np.uint64(edges[k])
        a = row_and_column(position[np.uint32(tail[e])], index.shape[1])
        b = row_and_column(position[np.uint32(head[e])], index.shape[1])
        beyond_tail[k] = pixel_beyond(index, b, a, flags)
        beyond_head[k] = pixel_beyond(index, a, b, flags)
