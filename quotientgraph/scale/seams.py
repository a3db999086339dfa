"""What the driver does between rounds of filling: it aligns the parts of tiles, and solves the coarse system."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import laplacians
from laplacians import LaplacianSystem

from .coarse import CoarseSystem, n_nodes, nodes_across
from .components import Components
from .window import Job
from .work import Lookup, Work


def choose_coarse(job: Job, components: Components) -> None:
    """Choose the components that get coarse functions, and write ``coarse.rank``.

    A component that fits into the overlap of windows needs none: each tile that has a part of it sees all of it.
    """
    box = components.box
    reach = np.maximum(box[2] - box[0], box[3] - box[1]) + 1
    wide = components.crossing & (reach > job.tiling.overlap - 2)
    rank = np.append(np.where(wide, np.cumsum(wide) - 1, -1), -1)
    job.work.write("coarse.rank", None, rank.astype(np.int64))


@dataclass(frozen=True, eq=False)
class Seams:
    """The edges inside components that run between tiles, and the coarse system.

    Attributes
    ----------
    components : Components
    tail, head : (n,) int64
        Their ends in the ring.
    weight, jump : (n,) float64
    ring : (n_ring,) float64
        The potential in the ring at the start.
    part : (n_ring,) int64
        Connected part of each pixel of the ring, counted over all tiles.
    parts : (n_tiles + 1,) int64
        Where the parts of each tile begin.
    system : CoarseSystem or None
    corners : Corners
        The coarse functions at the pixels of the ring.
    """

    components: Components
    tail: np.ndarray
    head: np.ndarray
    weight: np.ndarray
    jump: np.ndarray
    ring: np.ndarray
    part: np.ndarray
    parts: np.ndarray
    system: CoarseSystem | None
    corners: Corners

    @classmethod
    def from_tables(cls, job: Job, components: Components) -> Seams:
        """From the tables ``start`` of all tiles."""
        tables = job.work.tables("start")
        tail, head = (components.ring.find(np.concatenate([t[end] for t in tables])) for end in ("tail", "head"))
        weight, jump, ring = (np.concatenate([t[name] for t in tables]) for name in ("weight", "jump", "ring"))
        parts = np.append(0, np.cumsum([int(t["n_parts"]) for t in tables]))
        part = np.concatenate([t["part"] + base for t, base in zip(tables, parts)])
        row, column, value = (np.concatenate([t[name] for t in tables]) for name in ("row", "column", "value"))
        system = CoarseSystem.from_entries(row, column, value, n_nodes(job.tiling.shape, job.spacing))
        corners = Corners.from_ring(job, components)
        return cls(components, tail, head, weight, jump, ring, part, parts, system, corners)

    def align(self, work: Work) -> np.ndarray:
        """Shift the parts of tiles so that they fit at the seams; write ``offsets``, and return the ring after it."""
        system = LaplacianSystem.from_edges(
            int(self.parts[-1]), self.part[self.tail], self.part[self.head], self.weight, self._misfit(self.ring)
        )
        offset = laplacians.get("auto").solve(system).x
        work.write_lookup("offsets", Lookup(self.parts, offset))
        return self.ring + offset[self.part]

    def totals(self, s: np.ndarray, p: np.ndarray) -> np.ndarray:
        """(5,) what the edges between tiles add to the sums of `quotientgraph.scale.rounds`, for values in the ring."""
        ds, dp = (values[self.tail] - values[self.head] for values in (s, p))
        return np.array([float(np.sum(self.weight * a * b)) for a, b in ((ds, ds), (ds, dp), (dp, dp))] + [0.0, 0.0])

    def coarse(self, ring: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """(n_coarse,) values of the coarse correction.

        Parameters
        ----------
        ring : (n_ring,) float64
            The potential in the ring.
        residual : (n_coarse,) float64
            What the edges inside the tiles leave of the coarse equations.
        """
        if self.system is None:
            return np.zeros(0)
        flow, n = self.weight * self._misfit(ring), len(ring)
        pull = np.bincount(self.tail, flow, n) - np.bincount(self.head, flow, n)
        at_seams = np.zeros_like(residual)
        for key, share in self.corners:
            at_seams += self.system.gathered(key, share * pull[self.corners.pixel])
        return self.system.solve(residual + at_seams)

    def _misfit(self, ring: np.ndarray) -> np.ndarray:
        return self.jump - (ring[self.tail] - ring[self.head])


@dataclass(frozen=True, eq=False)
class Corners:
    """The four coarse functions at each pixel of the ring that has any, in 20 bytes a pixel.

    Attributes
    ----------
    pixel : (n,) int64
        Which pixels of the ring.
    first : (n,) int64
        Key of the node above and to the left.
    down, right : (n,) int16
        Pixels from that node.
    across, spacing : int
        Nodes in a row of the coarse grid, and pixels between nodes.
    """

    pixel: np.ndarray
    first: np.ndarray
    down: np.ndarray
    right: np.ndarray
    across: int
    spacing: int

    @classmethod
    def from_ring(cls, job: Job, components: Components) -> Corners:
        """For the ring of all tiles."""
        shape, spacing, ring = job.tiling.shape, job.spacing, components.ring
        rank = job.work.read("coarse.rank")[components.ring_label]
        pixel = np.flatnonzero(rank >= 0)
        position = np.empty_like(ring.position)
        position[ring.order] = ring.position
        row, column = np.divmod(position[pixel], shape[1])
        across = nodes_across(shape, spacing)
        first = rank[pixel] * n_nodes(shape, spacing) + row // spacing * across + column // spacing
        down, right = ((x % spacing).astype(np.int16) for x in (row, column))
        return cls(pixel, first, down, right, across, spacing)

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Keys and values of the functions, one corner after the other."""
        p, q = self.down / self.spacing, self.right / self.spacing
        yield self.first, (1 - p) * (1 - q)
        yield self.first + 1, (1 - p) * q
        yield self.first + self.across, p * (1 - q)
        yield self.first + self.across + 1, p * q
