"""Placement: where a depth prior puts the surfaces that normals alone cannot place against each other.

Normals decide what they know. Components that touch are put together as a rigid *group*, by the offset that the edges of
their border agree on. The prior decides only whether they touch and where a group lies. Whether they touch is a question of
probability: the edges vote for one offset, and the prior agrees with that offset or does not, when it is asked on both sides
of the border, where its smooth error is the same. The surest pairs are joined first, and the groups that result know more
than their parts. A group lies where the prior says, without the smooth error of the prior, which is estimated together with
the places of all groups, and with little regard to pixels near tears, where the prior is blurred.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import ndimage, sparse

from ..graph.quotient import Quotient
from ..graph.selection import connected_components
from ..method.filling import along_trees
from .prior_bend import Bend
from .prior_borders import Contacts, CutIntervals
from .prior_cells import Cells, medians
from .prior_regions import merged, unique_pairs


@dataclass(frozen=True)
class Constants:
    """Chosen on three real views (a living room, a bathroom, a car) and the tune seeds of the random scenes.

    Errors are relative for central cameras, and parts of the range of the prior for orthographic ones.
    """

    bend_size: float = 0.03  # expected smooth error of the prior
    bend_length: float = 0.4  # distance over which it changes, in image widths
    bend_steps: int = 8  # grid intervals of its splines over the longer side of the image
    cell_error: float = 0.005  # error of the prior that neighbouring cells do not share, beside noise
    part_error: float = 0.005  # error of the prior that one component has as a whole
    side_error: float = 0.004  # error of the comparison of the two sides of a border, beside noise
    group_error: float = 0.012  # error of the comparison of two whole groups
    span: float = 0.3  # range of the offsets at tears
    wrong: float = 0.001  # probability that the prior is wrong about a pair altogether
    tolerance: float = 0.15  # pixels by which an edge may miss the offset of its contact
    vote: float = 0.06  # log-odds for contact of a unit of evidence that agrees
    most: float = 5.0  # log-odds that all votes of a border can give: a border may fit by chance as a whole
    objection: float = 0.008  # log-odds against contact of a unit of evidence that does not agree
    blurring: float = 0.5  # part of the change by blur that a blurred cell may be off
    fit: float = 0.5  # pixels of gap up to which components of a given reconstruction touch
    reliable: float = 0.01  # mean deviation from the prior up to which a given reconstruction is used at all
    vague: float = 0.002  # deviation above which the place of a component is too uncertain to be compared
    adopted: float = 2.5  # deviations up to which the prior does not object to two components that touch in it
    known: float = 0.015  # deviation up to which a group has a place of its own
    blur: float = 4.0  # pixels by which the prior is taken to be blurred
    expelled: float = 3.0  # deviations beyond which a component leaves its group
    outlier: float = 3.0  # deviations beyond which a cell counts for less
    rounds: tuple[float, ...] = (6.0, 5.0, 4.0, 3.0)  # log-odds above which pairs are joined
    lost: tuple[float, ...] = (2.0, 1.0, 0.0, -4.0)  # and those for groups of which the prior says nothing at all


_BLOCK = 4.0, 32.0  # pixels a side of a block of vague components, at least and at most
CHOSEN = Constants()


@dataclass(frozen=True)
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
    variance : (n_groups,) float64
        Of the place of each group; infinite for one of which the prior says nothing.
    """

    move: np.ndarray
    weight: np.ndarray
    coefficients: np.ndarray
    variance: np.ndarray


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
    bend : Bend
    coefficients : (n_coefficients,) float64
        A first estimate of its smooth error.
    unit : float
        What relative errors are multiplied by.
    constants : Constants
    """

    def __init__(
        self,
        graph: Quotient,
        potential: np.ndarray,
        cells: Cells,
        bend: Bend,
        coefficients: np.ndarray,
        unit: float,
        constants: Constants = CHOSEN,
    ) -> None:
        self.graph, self.potential, self.cells, self.bend, self.unit, self.constants = (
            graph, potential, cells, bend, unit, constants,
        )  # fmt: skip
        self.cut = CutIntervals.from_graph(graph, potential)
        self.basis = bend.at(cells.row, cells.column)
        self.base = 1 / (cells.variance + (constants.cell_error * unit) ** 2)
        self.weight = self.base
        self.group = np.arange(graph.n_components)
        self.joined = np.zeros(len(self.cut.number), dtype=bool)
        self.coefficients = coefficients
        self.shift = self._means()
        self.doubt = np.zeros(graph.n_components)

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

    def reweigh(self) -> None:
        """Lower the weight of cells that the prior blurs, and of those that disagree with their group."""
        c, cells, n = self.constants, self.cells, self.graph.n_components
        place = self.potential + self.shift[self.graph.labels]
        change = cells.over(_blurred(self.graph, place, c.blur) - place)
        # Components that were placed one by one have noise, which blur changes as well.
        part = np.bincount(cells.component, self.base, n)
        noise = (np.bincount(self.group, part) + 1e-12)[self.group[cells.component]] ** -1.0
        blurred = self._blur(change, part) * np.sqrt(np.maximum(change**2 - 4 * noise, 0.0))
        self.blurred = blurred
        weight = self.base / (1 + self.base * blurred**2) ** 2
        residual = self.cells.offset - self.shift[self.cells.component] - self.basis @ self.coefficients
        self.clear = weight
        self.weight = weight / (1 + weight * (residual / c.outlier) ** 2)

    def _blur(self, change: np.ndarray, part: np.ndarray) -> float:
        """How much of the change by blur the prior shows, 0 … 1, from components of several cells."""
        cells = self.cells
        rest = cells.offset - self.basis @ self.coefficients
        wide = (self.base < 0.3 * part[cells.component]) & (self.base > 0)
        if not wide.any():
            return 0.0
        n = self.graph.n_components
        flat = wide & (np.abs(change) < 2e-3 * self.unit)
        level = medians(cells.component[flat], rest[flat], self.base[flat], n)[cells.component]
        known = wide & np.isfinite(level) & (np.abs(change) > self.constants.side_error * self.unit)
        if np.count_nonzero(known) < 8:
            return 0.0
        ratio, size = (rest - level)[known] / change[known], np.abs(change[known]) * self.base[known]
        slope = medians(np.zeros(len(ratio), dtype=np.int64), ratio, size, 1)[0]
        return float(np.clip(slope, 0.0, 1.0))

    def level(self) -> Level:
        """Place all groups and estimate the smooth error, in one linear solve."""
        cells, group, basis = self.cells, self.group, self.basis
        n, n_groups = self.graph.n_components, int(self.group.max()) + 1
        rest = cells.offset - self.shift[cells.component]
        by_part = sparse.csr_matrix(
            (self.weight, (cells.component, np.arange(cells.n_cells))), shape=(n, cells.n_cells)
        )
        part = np.asarray(by_part.sum(axis=1)).ravel()
        safe = np.maximum(part, 1e-300)
        held = 1 / (1 / safe + (self.constants.part_error * self.unit) ** 2) * (part > 0)
        part_rest = (by_part @ rest) / safe
        part_basis = sparse.diags(1 / safe) @ (by_part @ basis)
        strange = held * (part_rest - part_basis @ self.coefficients) ** 2 / self.constants.outlier**2
        held = held / (1 + strange) ** 2
        by_group = sparse.csr_matrix((held, (group, np.arange(n))), shape=(n_groups, n))
        whole = np.asarray(by_group.sum(axis=1)).ravel()
        safe = np.maximum(whole, 1e-300)
        group_rest = (by_group @ part_rest) / safe
        group_basis = sparse.diags(1 / safe) @ (by_group @ part_basis)
        normal, right = self.bend.precision.copy(), np.zeros(basis.shape[1])
        for rows, value, factor in (
            (basis, rest, self.weight),
            (part_basis, part_rest, held - part),
            (group_basis, group_rest, -whole),
        ):
            scaled = sparse.diags(factor) @ rows
            normal += (rows.T @ scaled).toarray()
            right += scaled.T @ value
        covariance = np.linalg.inv(normal)
        coefficients = covariance @ right
        move = np.where(whole > 0, group_rest - group_basis @ coefficients, 0.0)
        shared = np.asarray(group_basis.multiply(group_basis @ covariance).sum(axis=1)).ravel()
        with np.errstate(divide="ignore"):
            variance = 1 / whole + shared
        return Level(move, whole, coefficients, variance)

    def run(self, shift: np.ndarray, whole: np.ndarray) -> np.ndarray:
        """Place everything; see `adopt` for the parameters.

        Returns
        -------
        (n_groups,) float64
            Variance of the place of each group.
        """
        for _ in range(3):
            self.settle()
        self.adopt(shift, whole)
        for least in (None, *self.constants.rounds):
            if least is not None:
                self.join(least)
            self.settle()
            self.expel()
            level = self.settle()
        for least in self.constants.lost:
            while self.join(least, lost=True):
                level = self.settle()
        return level.variance

    def settle(self) -> Level:
        """Reweigh the cells and move the groups to where the prior puts them."""
        self.reweigh()
        level = self.level()
        self.shift = self.shift + level.move[self.group]
        self.coefficients = level.coefficients
        return level

    def adopt(self, shift: np.ndarray, whole: np.ndarray) -> None:
        """Take over those parts of a reconstruction by normals alone to which the prior does not object.

        Components that touch in that reconstruction become one group as long as the prior, without its smooth error, puts
        them in the same relative places within its noise.

        Parameters
        ----------
        shift : (n_components,) float64
            Shift of each component in that reconstruction.
        whole : (n_components,) integers
            Components of the graph before it was split by the prior: parts of one of them are not joined.
        """
        c, cells, cut, n = self.constants, self.cells, self.cut, self.graph.n_components
        fits = cut.gaps(shift) < c.fit
        key = np.minimum(cut.one, cut.other).astype(np.int64) * n + np.maximum(cut.one, cut.other)
        _, pair = np.unique(key, return_inverse=True)
        share = np.bincount(pair, cut.length * fits) / np.bincount(pair, cut.length)
        fits &= (share[pair] >= 0.5) & (whole[cut.one] != whole[cut.other])
        rest = cells.offset - shift[cells.component] - self.basis @ self.coefficients
        share = cells.weight * self.clear / np.maximum(self.base, 1e-300)
        middle = medians(np.zeros(cells.n_cells, dtype=np.int64), rest, share, 1)[0]
        off = np.average(np.abs(rest - middle), weights=share + 1e-300)
        if off > c.reliable * self.unit + np.average(np.sqrt(cells.variance[share > 0]), weights=share[share > 0]):
            return
        total = np.bincount(cells.component, self.clear, n)
        mean = np.bincount(cells.component, self.clear * rest, n) / np.maximum(total, 1e-300)
        variance = 1 / np.maximum(total, 1e-12)
        least = c.part_error * self.unit
        together = fits & self._in_one_block(variance, max(least, c.vague * self.unit))
        region = connected_components(n, cut.one[together], cut.other[together])
        precision = np.bincount(region, 1 / variance)
        level = np.bincount(region, mean / variance) / precision
        one, other = unique_pairs(region[cut.one[fits]], region[cut.other[fits]], len(level))
        region = merged(one, other, level, 1 / precision, least, c.adopted)[region]
        precision = 1 / (1 / np.maximum(total, 1e-12) + (c.part_error * self.unit) ** 2)
        level = np.bincount(region, precision * mean) / np.bincount(region, precision)
        several = np.bincount(region)[region] > 1
        self.shift = np.where(several, shift + level[region], self.shift)
        self.joined = fits & (region[cut.one] == region[cut.other])
        self.group = connected_components(n, cut.one[self.joined], cut.other[self.joined])

    def _in_one_block(self, variance: np.ndarray, vague: float) -> np.ndarray:
        """(n_cut,) whether both components of an edge are too vague to be compared and lie in the same block of the image.

        If vague components were put together by the similarity of what the prior says of them, noise would decide:
        those with errors of one sign would come together, and even the mean over many of them would be wrong.
        """
        cells, cut, n = self.cells, self.cut, self.graph.n_components
        side = np.clip(cells.noise / vague * 1.25, _BLOCK[0], _BLOCK[1])
        count = np.bincount(cells.component, minlength=n)
        row, column = (np.bincount(cells.component, at, n) / count // side for at in (cells.row, cells.column))
        both = (variance > vague**2)[cut.one] & (variance > vague**2)[cut.other]
        return both & (row[cut.one] == row[cut.other]) & (column[cut.one] == column[cut.other])

    def expel(self) -> int:
        """Take components out of their group of which the prior surely says another place; returns how many."""
        cells, n = self.cells, self.graph.n_components
        rest = cells.offset - self.shift[cells.component] - self.basis @ self.coefficients
        total = np.bincount(cells.component, self.clear, n)
        mean = np.bincount(cells.component, self.clear * rest, n) / np.maximum(total, 1e-300)
        variance = 1 / np.maximum(total, 1e-12) + (self.constants.part_error * self.unit) ** 2
        size = np.bincount(self.graph.labels, minlength=n)
        share = np.bincount(self.group, size)[self.group]
        precise = total > 1 / (self.constants.known * self.unit) ** 2
        out = precise & (mean**2 > self.constants.expelled**2 * variance) & (size < 0.5 * share)
        if not out.any():
            return 0
        self.joined &= ~(out[self.cut.one] | out[self.cut.other])
        self.shift = np.where(out, self.shift + mean, self.shift)
        kept = np.flatnonzero(self.joined)
        self.group = connected_components(n, self.cut.one[kept], self.cut.other[kept])
        return int(out.sum())

    def join(self, least: float, lost: bool = False) -> int:
        """Put pairs of groups together whose log-odds for contact exceed `least`; returns how many.

        Each group of which the prior does not say where it lies joins the group it most surely touches. Groups that the
        prior places themselves join each other only: else two of them could be joined by a crumb between them, though
        the prior says that they are far apart. With `lost`, only groups of which the
        prior says nothing at all are joined to others.
        """
        contacts = Contacts.between(
            self.cut, self.shift, self.group, self.constants.tolerance, self.constants.span * self.unit
        )
        if not len(contacts.one):
            return 0
        odds, known, nowhere = self._odds(contacts)
        good = np.flatnonzero(odds > least)
        if not len(good):
            return 0
        one, other = contacts.one[good], contacts.other[good]
        if lost:
            free_one, free_other = nowhere[one], nowhere[other]
        else:
            free_one, free_other = ~known[one] | known[other], ~known[other] | known[one]
        best = np.full(len(known), -np.inf)
        np.maximum.at(best, one[free_one], odds[good][free_one])
        np.maximum.at(best, other[free_other], odds[good][free_other])
        picked = (free_one & (odds[good] == best[one])) | (free_other & (odds[good] == best[other]))
        good = good[picked]
        one, other = contacts.one[good], contacts.other[good]
        move = along_trees(
            len(known),
            one.astype(np.int32),
            other.astype(np.int32),
            np.ones(len(one), np.float32),
            contacts.offset[good],
        )
        size = np.bincount(self.group[self.graph.labels], minlength=len(known))
        smaller = np.where(size[one] < size[other], one, other)
        doubt = np.zeros(len(known))
        np.maximum.at(doubt, smaller, 1 / (1 + np.exp(odds[good])))
        self.doubt = 1 - (1 - self.doubt) * (1 - doubt[self.group])
        self.shift = self.shift + move[self.group]
        chosen = np.zeros(len(contacts.one), dtype=bool)
        chosen[good] = True
        self.joined[contacts.edge[contacts.agrees & chosen[contacts.pair]]] = True
        self.group = connected_components(len(known), one, other)[self.group]
        return len(good)

    def _odds(self, contacts: Contacts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(n_pairs,) log-odds for contact; (n_groups,) whether the prior says where a group lies, and if it says nothing."""
        c, unit, cells = self.constants, self.unit, self.cells
        n_cells, group = cells.n_cells, self.group[cells.component]
        rest = cells.offset - self.shift[cells.component] - self.basis @ self.coefficients
        one, other = self.neighbours
        same = group[one] == group[other]
        one, other = one[same], other[same]
        ring = sparse.csr_matrix((np.ones(len(one)), (one, other)), shape=(n_cells, n_cells))
        ring = ring + ring.T + sparse.identity(n_cells)
        near = ring @ self.weight
        around = ring @ near
        local = (ring @ (ring @ (self.weight * rest))) / np.maximum(around, 1e-300)
        # what the prior says of the two sides of the border, along the edges that agree
        pixels, number = self.graph.pixels, self.cut.number[contacts.edge]
        tail, head = cells.of[pixels.tail[number]], cells.of[pixels.head[number]]
        tail, head = np.where(contacts.turned, head, tail), np.where(contacts.turned, tail, head)
        n_pairs = len(contacts.one)
        say = np.where(contacts.agrees, np.minimum(around[tail], around[head]), 0.0)
        said = np.bincount(contacts.pair, say * (local[tail] - local[head]), n_pairs)
        said = said / np.maximum(np.bincount(contacts.pair, say, n_pairs), 1e-300)
        variance = (c.side_error * unit) ** 2 + sum(
            1 / np.maximum(_distinct_sums(contacts, side, near, n_pairs), 1e-12) for side in (tail, head)
        )
        # and of the two groups as wholes, where that is more precise
        total, plain = np.bincount(group, self.weight), np.bincount(group, self.base)
        mean = np.bincount(group, self.weight * rest) / np.maximum(total, 1e-300)
        blurred = np.bincount(group, self.base * self.blurred) / np.maximum(plain, 1e-300)
        place = np.minimum(1 / np.maximum(total, 1e-12), 1 / np.maximum(plain, 1e-12) + (c.blurring * blurred) ** 2)
        whole = (c.group_error * unit) ** 2 + place[contacts.one] + place[contacts.other]
        said = np.where(whole < variance, mean[contacts.one] - mean[contacts.other], said)
        variance = np.minimum(whole, variance)
        spread = 2 * np.pi * variance / (c.span * unit) ** 2
        agreement = np.log(np.exp(-0.5 * (said - contacts.offset) ** 2 / variance) * np.sqrt(1 + 1 / spread) + c.wrong)
        votes = c.vote * (contacts.votes - contacts.beside) - c.objection * contacts.against
        votes = np.clip(votes, -c.most, c.most)
        return agreement + votes, total > 1 / (c.known * unit) ** 2, place > (c.span * unit) ** 2


def _distinct_sums(contacts: Contacts, cell: np.ndarray, value: np.ndarray, n_pairs: int) -> np.ndarray:
    """(n_pairs,) sum of a value over the different cells along the edges of each pair that agree."""
    key = np.unique(contacts.pair[contacts.agrees] * len(value) + cell[contacts.agrees])
    return np.bincount(key // len(value), value[key % len(value)], n_pairs)


def _blurred(graph: Quotient, potential: np.ndarray, sigma: float) -> np.ndarray:
    """(n_pixels,) the potential averaged over a Gaussian window, over valid pixels only."""
    image = graph.pixels.map.image(potential)
    valid = np.isfinite(image)
    share = ndimage.gaussian_filter(valid.astype(np.float64), sigma)
    smooth = ndimage.gaussian_filter(np.where(valid, image, 0.0), sigma) / np.maximum(share, 1e-9)
    return smooth.ravel()[graph.pixels.map.position]
