"""Straight pieces of borders as lines in space: where two faces meet, their normals tell the direction of the crease.

The crease of two planes is parallel to the cross product of their normals, and it lies in the plane through the viewer and
the line that is seen. On exact maps the two agree to the precision of the pixels wherever the faces touch, which is certain
on ridges, where both are seen to fall away from the border. By how much they miss each other tells how wrong the normals
are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laplacians.core.arrays import weighted_median

from ..graph.quotient import Quotient
from .border_facts import PieceFacts
from .border_pieces import BorderPieces
from .face_planes import rays_between

_FEWEST, _LARGE = 10, 1 / 800  # sides of a piece, and share of the pixels of the components beside it
_CREASED = 20.0  # degrees between the normals; the direction of a blunter crease is uncertain
_SURE = np.radians(0.1)  # how well the directions of long lines agree with exact normals
_LEANS = 3.0  # degrees by which both normals of a ridge lean away from the border, at least


@dataclass(frozen=True, eq=False)
class CreaseLines:
    """The straight pieces of borders between large components whose normals differ clearly.

    Attributes
    ----------
    row, column : (n,) float64
        Their middles.
    left, right : (n, 3) float64
        Mean normals beside them, of unit length.
    across : (n, 3) float64
        Unit vector at right angles to the viewing rays of the piece.
    sides : (n,) float64
        Number of pixel sides.
    ridge : (n,) bool
        Whether both normals lean away from the border.
    """

    row: np.ndarray
    column: np.ndarray
    left: np.ndarray
    right: np.ndarray
    across: np.ndarray
    sides: np.ndarray
    ridge: np.ndarray

    @classmethod
    def from_graph(cls, graph: Quotient) -> CreaseLines:
        """The pieces of the borders of a graph."""
        normal_map, borders = graph.pixels.map, BorderPieces.from_graph(graph)
        facts = PieceFacts.measure(graph, np.zeros(normal_map.n_pixels), borders)
        large = np.append(graph.sizes >= _LARGE * normal_map.n_pixels, False)
        chosen = large[facts.left] & large[facts.right] & (facts.n >= _FEWEST) & (facts.angle > _CREASED)
        inside = np.flatnonzero(chosen[borders.piece])
        piece = borders.piece[inside]

        def normals_at(side: np.ndarray) -> np.ndarray:
            own = normal_map.normals.take(side[inside], axis=0)
            total = np.stack([np.bincount(piece, own[:, axis], borders.n_pieces) for axis in range(3)], axis=1)
            return total / np.maximum(np.linalg.norm(total, axis=1), 1e-12)[:, None]

        if normal_map.camera.central:
            rays = normal_map.camera.coordinates(normal_map.shape)
            one, other = (
                rays_between(rays, facts.row + at * facts.down, facts.column + at * facts.along)
                for at in (facts.first, facts.last)
            )
            across = np.cross(one, other)
        else:
            across = np.stack([-facts.down, facts.along, np.zeros(len(facts.n))], axis=1)
        length = np.linalg.norm(across, axis=1)
        chosen &= length > 0  # not where a ray is missing
        across = across / np.where(chosen, length, 1.0)[:, None]
        ridge = np.maximum(facts.lean_left, facts.lean_right) < -_LEANS
        of_pieces = facts.row, facts.column, normals_at(borders.left), normals_at(borders.right), across, facts.n, ridge
        return cls(*(values[chosen] for values in of_pieces))

    @property
    def misses(self) -> np.ndarray:
        """(n,) sine of the angle by which the crease that the normals tell misses the plane of the line."""
        crease = np.cross(self.left, self.right)
        return np.einsum("ij,ij->i", self.across, crease) / np.linalg.norm(crease, axis=1)

    @property
    def error(self) -> np.ndarray:
        """(n,) how well the direction of each line is known, in radians; pixels are steps of its sides."""
        return _SURE + self.sides**-1.5

    def misdirection(self, misses: np.ndarray) -> float:
        """Median over the sides of all ridges of how many errors they miss their planes by; 0 if there are no ridges."""
        if not self.ridge.any():
            return 0.0
        return weighted_median((np.abs(misses) / self.error)[self.ridge], self.sides[self.ridge])
