"""Placement: the state of a placement of surfaces by a depth prior, and where the prior puts them.

A *group* is a set of components that are put together as a rigid whole. A group lies where the prior says, without the
smooth error of the prior, which is estimated together with the places of all groups, and with little regard to pixels near
tears, where the prior is blurred. `quotientgraph.beyond.prior.joining` decides which components form a group.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy

from ...graph.quotient import Quotient
from .bend import Bend, gram
from .blur import Blur
from .bodies import Bodies
from .borders import CutIntervals
from .cells import Cells
from .constants import Constants
from .ties import Ties


@dataclass(frozen=True, eq=False)
class Level:
    """Where the prior puts each group, given the present relative places inside groups.

    Attributes
    ----------
    move : (n_groups,) float64
        By how much to move each group; 0 for one of which the prior says nothing.
    weight : (n_groups,) float64
        Precision of that, apart from the smooth error.
    coefficients : (n_coefficients,) float64
        Of the smooth error.
    """

    move: np.ndarray
    weight: np.ndarray
    coefficients: np.ndarray


class Placing:
    """The state of a placement: the shift of each component, and the groups that are put together so far.

    Parameters
    ----------
    graph : Quotient
        The components, split where the prior jumps.
    potential : (n_pixels,) float64
        Each component integrated on its own.
    cells : Cells
        What the prior says.
    blur : Blur
        The window that it is averaged over.
    bend : Bend
        What its smooth error is made of.
    coefficients : (n_coefficients,) float64
        A first estimate of it.
    unit : float
        What relative errors are multiplied by.
    constants : Constants
    bodies : Bodies
        Components that are placed as a whole.
    """

    def __init__(
        self,
        graph: Quotient,
        potential: np.ndarray,
        cells: Cells,
        blur: Blur,
        bend: Bend,
        coefficients: np.ndarray,
        unit: float,
        constants: Constants,
        bodies: Bodies,
    ) -> None:
        self.graph, self.potential, self.cells, self.unit, self.constants = graph, potential, cells, unit, constants
        self.blur, self.told = blur, cells.offset
        self.cut = CutIntervals.from_graph(graph, potential)
        self.basis, self.precision = bend.at(cells.row, cells.column), bend.precision
        self.base = 1 / (cells.variance + (constants.cell_error * unit) ** 2)
        self.weight = self.base
        self.bodies = bodies
        self.group = np.arange(graph.n_components)
        self.joined = np.zeros(len(self.cut.number), dtype=bool)
        self.coefficients = coefficients
        self.shift = self._means()
        self.start = self.shift  # where normals alone put each component, as soon as that is known
        self.ties: Ties  # found when what normals alone say is adopted

    def _means(self) -> np.ndarray:
        """(n_components,) weighted mean offset of each component without the smooth error; the median for none."""
        offset = self.cells.offset - self.basis @ self.coefficients
        n = self.graph.n_components
        total = np.bincount(self.cells.component, self.base, n)
        mean = np.bincount(self.cells.component, self.base * offset, n) / np.maximum(total, 1e-300)
        known = self.cells.weight > 0
        return np.where(total > 0, mean, np.median(offset[known]))

    @cached_property
    def neighbours(self) -> tuple[np.ndarray, np.ndarray]:
        return self.cells.neighbours(self.graph.pixels, np.arange(self.graph.pixels.n_edges))

    def meeting(self, shift: np.ndarray) -> float:
        """Share of the length of all borders along which components meet at the given places (n_components,), 0 … 1."""
        meet = self.cut.gaps(shift) < self.constants.fit
        return float(np.sum(self.cut.length[meet]) / max(np.sum(self.cut.length), 1e-300))

    @property
    def pixel_group(self) -> np.ndarray:
        """(n_pixels,) group of each pixel."""
        return self.group[self.graph.labels]

    def regroup(self) -> None:
        """Form the groups anew, of what is joined and of what is one body."""
        kept = np.flatnonzero(self.joined)
        self.group = self.bodies.united(self.cut.one[kept], self.cut.other[kept])

    def begin(self, shift: np.ndarray) -> None:
        """Begin from where normals put the components (n_components,): each body is put together as they say."""
        self.start = shift
        tied = self.bodies.tied
        if tied.any():
            self.regroup()
            said = np.bincount(self.cells.component, self.base, self.graph.n_components)
            told = np.maximum(np.bincount(self.group, said), 1e-300)
            move = np.bincount(self.group, said * (self.shift - shift)) / told
            self.shift = np.where(tied, shift + move[self.group], self.shift)

    def reweigh(self) -> None:
        """Lower the weight of cells that the prior blurs, and of those that disagree with their group."""
        c, cells, n = self.constants, self.cells, self.graph.n_components
        place = self.potential + self.shift[self.graph.labels]
        change = cells.over(self.blur.change(place)) * (cells.weight > 0)
        if self.blur.measured:
            self.cells = cells = replace(cells, offset=self.told - change)
        # Components that were placed one by one have noise, which blur changes as well.
        part = np.bincount(cells.component, self.base, n)
        noise = (np.bincount(self.group, part) + 1e-12)[self.group[cells.component]] ** -1.0
        blurred = (c.unblurred if self.blur.measured else c.unmeasured) * np.sqrt(
            np.maximum(change**2 - 4 * noise, 0.0)
        )
        self.blurred = blurred
        weight = self.base / (1 + self.base * blurred**2) ** 2
        residual = self.cells.offset - self.shift[self.cells.component] - self.basis @ self.coefficients
        self.clear = weight
        self.weight = weight / (1 + weight * (residual / c.outlier) ** 2)

    def level(self) -> Level:
        """Place all groups and estimate the smooth error, in one linear solve."""
        cells, group, basis = self.cells, self.group, self.basis
        n, n_groups = self.graph.n_components, int(self.group.max()) + 1
        rest = cells.offset - self.shift[cells.component]
        by_part = scipy.sparse.csr_matrix(
            (self.weight, (cells.component, np.arange(cells.n_cells))), shape=(n, cells.n_cells)
        )
        part = np.asarray(by_part.sum(axis=1)).ravel()
        safe = np.maximum(part, 1e-300)
        held = 1 / (1 / safe + (self.constants.part_error * self.unit) ** 2) * (part > 0)
        part_rest = (by_part @ rest) / safe
        part_basis = scipy.sparse.diags(1 / safe) @ (by_part @ basis)
        strange = held * (part_rest - part_basis @ self.coefficients) ** 2 / self.constants.outlier**2
        held = held / (1 + strange) ** 2
        by_group = scipy.sparse.csr_matrix((held, (group, np.arange(n))), shape=(n_groups, n))
        whole = np.asarray(by_group.sum(axis=1)).ravel()
        safe = np.maximum(whole, 1e-300)
        group_rest = (by_group @ part_rest) / safe
        group_basis = scipy.sparse.diags(1 / safe) @ (by_group @ part_basis)
        normal, right = self.precision.copy(), np.zeros(basis.shape[1])
        for rows, value, factor in (
            (basis, rest, self.weight),
            (part_basis, part_rest, held - part),
            (group_basis, group_rest, -whole),
        ):
            normal += gram(rows, factor)
            right += rows.T @ (factor * value)
        coefficients = np.linalg.solve(normal, right)
        move = np.where(whole > 0, group_rest - group_basis @ coefficients, 0.0)
        return Level(move, whole, coefficients)

    def settle(self) -> Level:
        """Reweigh the cells and move the groups to where the prior puts them."""
        self.reweigh()
        level = self.level()
        self.shift = self.shift + level.move[self.group]
        self.coefficients = level.coefficients
        return level
