"""`Hierarchy`: the merge tree of components, from those of Q0 up to whole pieces of the surface.

Merging is contraction, so every component of Qm+1 is a union of components of Qm. The hierarchy writes this down as merges
of two clusters at a time: which two, over which edge of G0, at what residual, and on which level. Above the last level the
merges go on in the order of the residuals that the reconstruction leaves, so that the tree always ends at one cluster for
each connected piece. It is a dendrogram, and goes to SciPy, Newick and higra as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Generic, Self, TypeVar

import numpy as np

from laplacians.core.edges import root_of
from laplacians.core.jit import kernel
from laplacians.system import Pattern

from ..graph.quotient import Quotient
from .dendrograms import cluster_sums, linkage, newick, to_higra

G = TypeVar("G", bound=Quotient)


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy(Generic[G]):
    """A forest of merges over the components of a graph.

    Clusters are numbered: 0 … n_leaves − 1 are the components of `base`, and merge i makes cluster n_leaves + i.

    Attributes
    ----------
    base : QuotientGraph
        The graph whose components are the leaves, usually Q0.
    first, second : (n_merges,) int32
        The two clusters that each merge joins.
    edge : (n_merges,) int32
        The edge of G0 over which they were joined.
    residual : (n_merges,) float64
        |φ_tail − φ_head − jump| at which they were joined, as a length in pixels: that of the contracted edge for merges of
        the optimisation, the mean of the border for those above the last level.
    level : (n_merges,) int32
        The index of the level that has the two clusters in one component; `n_levels` for merges above the last one.
    n_levels : int
        Number of levels that the optimisation left, Q0 included.

    Examples
    --------
    >>> from quotientgraph import QuotientGraph, scenes
    >>> scene = scenes.make("spheres", shape=(40, 50))
    >>> result = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv").optimize(merge_every=5)
    >>> tree = result.hierarchy
    >>> [tree.cut(level=m).n_components == level.n_components for m, level in enumerate(result.levels)][:2]
    [True, True]
    >>> tree.cut(n_components=3).n_components
    3
    """

    base: G
    first: np.ndarray
    second: np.ndarray
    edge: np.ndarray
    residual: np.ndarray
    level: np.ndarray
    n_levels: int

    @classmethod
    def from_levels(cls, levels: Sequence[G], potential: np.ndarray) -> Self:
        """The merge tree of nested decompositions.

        Parameters
        ----------
        levels : sequence of Quotient
            Each is a coarser division of the same pixels than the one before, as `Reconstruction.levels`.
        potential : (n_pixels,) float64
            Where the residuals above the last level are taken, and those of contracted edges that nobody remembered.

        Returns
        -------
        Hierarchy
        """
        base, pixels = levels[0], levels[0].pixels
        n = base.n_components
        root, cluster = np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32)
        rows: list[tuple[np.ndarray, ...]] = []
        n_merges = 0
        steps = [_contracted(below, above, potential) for below, above in pairwise(levels)]
        for index, (edge, size) in enumerate([*steps, _above(levels[-1], potential)], start=1):
            order = np.argsort(size, kind="stable")
            edge, size = edge[order], size[order]
            made = np.empty((3, len(edge)), dtype=np.int32)
            count = _merge_in_order(
                base.labels[pixels.tail[edge]], base.labels[pixels.head[edge]], root, cluster, n + n_merges, made
            )
            chosen = made[2, :count]
            rows.append((made[0, :count], made[1, :count], edge[chosen], size[chosen], np.full(count, index)))
            n_merges += count
        first, second, edge, size, level = (np.concatenate(column) for column in zip(*rows))
        return cls(base, first, second, edge.astype(np.int32), size, level.astype(np.int32), len(levels))

    @property
    def n_leaves(self) -> int:
        """Number of components of `base`."""
        return self.base.n_components

    @property
    def n_merges(self) -> int:
        return len(self.first)

    @cached_property
    def altitude(self) -> np.ndarray:
        """(n_leaves + n_merges,) float64 of every cluster: the largest residual of the merges that made it, 0 for leaves.

        Unlike the residual it never falls from a cluster to the one that holds it, as dendrograms need it.
        """
        out = np.zeros(self.n_leaves + self.n_merges)
        _raise(self.first, self.second, self.residual, out)
        return out

    @cached_property
    def size(self) -> np.ndarray:
        """(n_leaves + n_merges,) int64 number of pixels of every cluster."""
        return cluster_sums(self, np.bincount(self.base.labels, minlength=self.n_leaves))

    @cached_property
    def n_leaves_of(self) -> np.ndarray:
        """(n_leaves + n_merges,) int64 number of leaves of every cluster."""
        return cluster_sums(self, np.ones(self.n_leaves, dtype=np.int64))

    @cached_property
    def parent(self) -> np.ndarray:
        """(n_leaves + n_merges,) int32 cluster that each cluster was merged into; −1 for the roots."""
        out = np.full(self.n_leaves + self.n_merges, -1, dtype=np.int32)
        made = np.arange(self.n_leaves, self.n_leaves + self.n_merges, dtype=np.int32)
        out[self.first] = made
        out[self.second] = made
        return out

    def cut(self, *, n_components: int | None = None, residual: float | None = None, level: int | None = None) -> G:
        """The decomposition that the tree gives when it is cut; exactly one of the arguments says where.

        Parameters
        ----------
        n_components : int
            Undo the last merges until there are so many components.
        residual : float
            Keep the clusters whose altitude is at most this length in pixels.
        level : int
            The components of this level: exactly `levels[level]`.

        Returns
        -------
        QuotientGraph
            `base` with other components.
        """
        if (n_components is not None) + (residual is not None) + (level is not None) != 1:
            raise ValueError("cut: say either n_components, residual or level")
        if n_components is not None:
            least = self.n_leaves - self.n_merges
            if not least <= n_components <= self.n_leaves or n_components % 1:
                raise ValueError(
                    f"n_components={n_components} must be a whole number between {least}, the number of pieces, "
                    f"and {self.n_leaves}, the components of the first level"
                )
            keep = np.arange(self.n_merges) < self.n_leaves - n_components
        elif residual is not None:
            if residual != residual:  # NaN
                raise ValueError(f"residual={residual} must be a length in pixels")
            keep = self.altitude[self.n_leaves :] <= residual
        else:
            if not 0 <= level < self.n_levels:  # type: ignore[operator]
                raise ValueError(f"level={level} must lie between 0 and {self.n_levels - 1}, the levels that there are")
            keep = self.level <= level
        if not keep.any():
            return self.base
        graph = self.base.contract(self.edge[keep], self.residual[keep] / self.base.pixels.focal_at(self.edge[keep]))
        return replace(graph, level=self.base.level + int(self.level[keep].max()))

    def linkage(self, height: str = "residual", apart: float = np.inf) -> np.ndarray:
        """(n_leaves − 1, 4) float64 linkage matrix for `scipy.cluster.hierarchy`.

        Parameters
        ----------
        height : "residual" or "level"
            What the heights of the dendrogram are: the altitudes in pixels, or the levels.
        apart : float
            The height at which separate pieces of the surface are joined, which SciPy asks for.
        """
        return linkage(self, height, apart)

    def newick(self) -> str:
        """The tree in Newick's notation. Leaves are named by their component; lengths are differences of altitude.

        Separate pieces hang on one root, without a length.
        """
        return newick(self)

    def to_higra(self, leaves: str = "components") -> tuple[Any, np.ndarray]:
        """A higra `Tree` and the altitude of its nodes, linked to its leaf graph; higra's own functions take both.

        Parameters
        ----------
        leaves : "components" or "pixels"
            "components": leaf c is component c, and the leaf graph joins adjacent components. "pixels": leaves are all
            pixels of the image, joined as a 4-connected grid, for saliency maps; pixels without a normal form one region
            that joins the rest last.
        """
        return to_higra(self, leaves)

    def table(self) -> dict[str, np.ndarray]:
        """The merges as columns: `first`, `second`, `made`, `edge`, `residual`, `altitude`, `level`, `size`."""
        made = np.arange(self.n_leaves, self.n_leaves + self.n_merges)
        return {
            "first": self.first, "second": self.second, "made": made, "edge": self.edge, "residual": self.residual,
            "altitude": self.altitude[made], "level": self.level, "size": self.size[made],
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"<Hierarchy: {self.n_merges} merges of {self.n_leaves} components, {self.n_levels} levels>"


def _contracted(below: Quotient, above: Quotient, potential: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges whose contraction leads from one level to the next, and their |residual| in pixels."""
    if above.below is below:
        edge, at = above.contracted, above.contracted_at
        at = np.where(np.isnan(at), below.residual(potential, edge), at)
    else:
        edge = below.cut[above.labels[below.pixels.tail[below.cut]] == above.labels[below.pixels.head[below.cut]]]
        at = below.residual(potential, edge)
    return edge, np.abs(at) * below.pixels.focal_at(edge)


def _above(graph: Quotient, potential: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each pair of components its edge of least residual, and the mean |residual| of all its edges in pixels."""
    if not len(graph.cut):
        return np.zeros(0, dtype=np.int32), np.zeros(0)
    _, order, start = Pattern.from_edges(graph.n_components, graph.tail, graph.head)
    size = (np.abs(graph.residual(potential)) * graph.pixels.focal_at(graph.cut))[order]
    count = np.diff(start)
    pair = np.repeat(np.arange(len(count)), count)
    least = np.lexsort((size, pair))[start[:-1]]
    return graph.cut[order[least]], np.add.reduceat(size, start[:-1]) / count


@kernel
def _merge_in_order(tail, head, root, cluster, first_new, made):
    """Join the leaves at the two ends of each edge in turn; write the two clusters and the edge of every true merge.

    `root` is a union-find forest over the leaves and `cluster` the present cluster of each root; both are kept up to date.
    Returns the number of merges.
    """
    count = 0
    for e in range(len(tail)):
        i, j = root_of(root, tail[e]), root_of(root, head[e])
        if i == j:
            continue
        low, high = min(i, j), max(i, j)
        made[0, count], made[1, count], made[2, count] = cluster[low], cluster[high], e
        root[high] = low
        cluster[low] = first_new + count
        count += 1
    return count


@kernel
def _raise(first, second, residual, altitude):
    """Write the altitude of each merge; those of the leaves are there already."""
    n = len(altitude) - len(first)
    for i in range(len(first)):
        altitude[n + i] = max(residual[i], max(altitude[first[i]], altitude[second[i]]))
