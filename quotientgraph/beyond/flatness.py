"""How flat the large components of a map are: those of a room are flat, those of a statue are not.

Noise scatters the normals of a flat face, but that shows between neighbours too, and is no reason to doubt the face. The
smooth errors of a network do not show there. They bend faces, and their borders then ask for offsets that drift.

Noise also makes leaks: over a few noisy edges a component joins a face to something else. A hundredth of its pixels are
then enough to make its normals differ by more on average than those of a flat face may. So a face may have stray pixels,
and is judged by its core if it would not be flat otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from laplacians.core.arrays import weighted_median
from laplacians.core.jit import kernel

from ..graph.quotient import Quotient

# A face has at least this share of the pixels and this many. Faces are notable from this share of the pixels on: DiLiGenT
# objects have 0, rooms, streets and real views 0.4 to 1.
LARGE, FEWEST, _NOTABLE = 0.005, 100, 0.25
# One minus the length of the mean normal of a face is half of the mean square of the angles by which it is bent. At most so
# much, beside what noise makes of it: flat; bent by 0.25°, or by a part of the noise, which is as good as not at all; by 8°.
_SCATTER, _EXACT, _GENTLE = 1e-4, 0.5 * np.radians(0.25) ** 2, 0.5 * np.radians(8.0) ** 2
# Noise that sways decisions, of 0.4°: structure in faces of clean maps makes up to 0.3° of it.
_NOISY = 0.5 * np.radians(0.4) ** 2
# The core of a face are the pixels whose normals are within 8° of the mean; at most a tenth of all may be stray.
_CORE, _STRAY = np.cos(np.radians(8.0)), 0.1
_UNTOLD = 0.1  # part of the noise: the noise of neighbours is known no better
_SAMPLE = 200_000  # edges that noise is estimated from


@dataclass(frozen=True)
class NormalSums:
    """What tells how flat components are; sums over tiles may be added up.

    Attributes
    ----------
    size : (n,) integers
        Pixels of each component.
    total : (3, n) float64
        The sums of their normals.
    noise : (n,) float64
        The mean of a quarter of the squared difference of neighbouring normals.
    """

    size: np.ndarray
    total: np.ndarray
    noise: np.ndarray

    @classmethod
    def of_graph(cls, graph: Quotient, wanted: np.ndarray) -> Self:
        """Of the components of a graph; the noise is known of the wanted (n_components,) ones."""
        return cls(graph.sizes, *_sums(graph, wanted))

    @classmethod
    def of_sums(cls, size: np.ndarray, total: np.ndarray, noise: np.ndarray) -> Self:
        """With the noise as `normal_sums` returns it."""
        return cls(size, total, noise[0] / np.maximum(noise[1], 1))

    @property
    def bend(self) -> np.ndarray:
        """(n,) half of the mean square of the angles by which components are bent, if these are small."""
        return 1 - np.linalg.norm(self.total, axis=0) / self.size

    def flat(self, scatter: float) -> np.ndarray:
        """(n,) bool: whether components are flat; see `are_flat`."""
        return are_flat(self.size, self.total, self.noise, scatter)

    def of(self, chosen: np.ndarray) -> Self:
        """Those of chosen components."""
        return type(self)(self.size[chosen], self.total[:, chosen], self.noise[chosen])

    def axes(self, n_pixels: int) -> np.ndarray | None:
        """(3, n) mean directions of the components whose cores may be flat, though they are not; 0 for all others.

        None if they and the flat ones do not have a notable part of the pixels, so that nobody need ask.
        """
        large, flat = self.size >= _least(n_pixels), self.flat(_SCATTER)
        # A tenth of the normals at right angles to the others makes their mean shorter by a tenth.
        doubtful = large & ~flat & (self.bend < _STRAY)
        if not doubtful.any() or self.size[large & (flat | doubtful)].sum() < _NOTABLE * n_pixels:
            return None
        return np.where(doubtful, self.total / np.maximum(np.linalg.norm(self.total, axis=0), 1e-9), 0.0)

    def forgiving(self, cores: NormalSums) -> Self:
        """The sums of the cores of those components that have few stray pixels, and of all pixels of the others."""
        few = cores.size >= (1 - _STRAY) * self.size
        own, core = (self.size, self.total, self.noise), (cores.size, cores.total, cores.noise)
        return type(self)(*(np.where(few, new, old) for old, new in zip(own, core)))


@dataclass(frozen=True)
class Faces:
    """Shares of the pixels, 0 … 1, that lie in large components of some flatness.

    If those in flat ones are not notable, components with few stray pixels are counted by their cores.

    Attributes
    ----------
    exact : float
        Flat to within a quarter of a degree.
    flat : float
        Flat to within 0.8°, or what noise makes of that.
    gentle : float
        Bent by at most 8° in the root mean square.
    noise : float
        Of the normals of flat faces: half of the mean square of their angles, as it is on most of the flat pixels.
    """

    exact: float = 0.0
    flat: float = 0.0
    gentle: float = 0.0
    noise: float = 0.0

    @classmethod
    def of_components(cls, sums: NormalSums, n_pixels: int) -> Self:
        """From the sums of the large components of a map with so many pixels; others may be among them."""
        large = sums.of(sums.size >= _least(n_pixels))
        size, noise, bend = large.size, large.noise, large.bend
        kinds = (
            bend - noise < np.maximum(_EXACT, _UNTOLD * noise),
            large.flat(_SCATTER),
            bend - noise < _GENTLE,
        )
        exact, flat, gentle = (float(size[kind].sum() / n_pixels) for kind in kinds)
        of_flat = weighted_median(noise[kinds[1]], size[kinds[1]]) if flat else 0.0
        return cls(exact, flat, gentle, of_flat)

    @classmethod
    def of_graph(cls, graph: Quotient) -> Self:
        """Of the components of a graph; all are 0 if too few of its pixels lie in large components."""
        n_pixels, large = len(graph.labels), large_components(graph)
        if graph.sizes[large].sum() < _NOTABLE * n_pixels:
            return cls()
        sums = NormalSums.of_graph(graph, large)
        faces, axis = cls.of_components(sums, n_pixels), sums.axes(n_pixels)
        if faces.notable or axis is None:
            return faces
        pixels, step = graph.pixels, sampling_step(graph.pixels.n_edges)
        cores = core_sums(pixels.map.normals, graph.labels, axis, pixels.tail, pixels.head, step)
        return cls.of_components(sums.forgiving(NormalSums.of_sums(*cores)), n_pixels)

    @property
    def notable(self) -> bool:
        """Whether a notable part of the pixels lies in large flat faces, as in a room; it is next to none on a statue."""
        return self.flat >= _NOTABLE

    @property
    def bent(self) -> bool:
        """Whether a notable part of the pixels lies in large faces that are nearly flat, but next to none in flat ones."""
        return self.exact < _NOTABLE <= self.gentle

    @property
    def noisy(self) -> bool:
        """Whether the normals of flat faces scatter by more than 0.4° between neighbours, so that noise sways decisions."""
        return bool(self.noise > _NOISY)


def flat_components(graph: Quotient, least: float, scatter: float) -> tuple[np.ndarray, np.ndarray]:
    """(n_components,) bool: components of at least so many pixels whose normals are all equal but for noise.

    One minus the length of their mean normal is at most `scatter`, beside what noise makes of it. The second result is
    (3, n_components), the sums of the normals of all components.
    """
    large = graph.sizes >= least
    total, noise = _sums(graph, large)
    return large & are_flat(graph.sizes, total, noise, scatter), total


def normal_sums(
    normals: np.ndarray, labels: np.ndarray, wanted: np.ndarray, tail: np.ndarray, head: np.ndarray, step: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Add up the normals of components, and how much they scatter between neighbours.

    Parameters
    ----------
    normals : (n_pixels, 3) float64
    labels : (n_pixels,) int32
    wanted : (n,) bool
        The components whose scatter is of interest.
    tail, head : (n_edges,) int32
        Edges, of which every `step`-th is looked at.

    Returns
    -------
    total : (3, n) float64
    noise : (2, n) float64
        Of the edges inside wanted components: the sum of a quarter of the squared difference of their normals, the mean
        of which is the noise, and how many they are.
    """
    total, noise = np.zeros((3, len(wanted))), np.zeros((2, len(wanted)))
    _add_normals(normals, labels, wanted, tail, head, step, total, noise)
    return total, noise


def core_sums(
    normals: np.ndarray, labels: np.ndarray, axis: np.ndarray, tail: np.ndarray, head: np.ndarray, step: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pixels (n,) of the cores of components with the given axes (3, n), and `normal_sums` of them.

    A component whose axis is 0 has no core.
    """
    n = axis.shape[1]
    cosine = sum(normals[:, i] * axis[i].take(labels) for i in range(3))
    core = np.where(cosine > _CORE, labels, n).astype(np.int32)
    total, noise = normal_sums(normals, core, np.arange(n + 1) < n, tail, head, step)
    return np.bincount(core, minlength=n + 1)[:n], total[:, :n], noise[:, :n]


def sampling_step(n_edges: int) -> int:
    """One in so many of the edges of G0 is looked at to estimate noise."""
    return max(1, n_edges // _SAMPLE)


def are_flat(size: np.ndarray, total: np.ndarray, noise: np.ndarray, scatter: float) -> np.ndarray:
    """(n,) bool: whether components are flat, from their pixels (n,), the sums (3, n) of their normals, and noise (n,).

    Noise is the mean of a quarter of the squared difference of neighbouring normals.
    """
    return 1 - np.linalg.norm(total, axis=0) / size < scatter + 1.2 * noise


def large_components(graph: Quotient) -> np.ndarray:
    """(n_components,) bool: the components that are large enough to be a face."""
    return graph.sizes >= _least(len(graph.labels))


def _least(n_pixels: int) -> float:
    """Pixels that a large component has at least, in a map of so many."""
    return max(FEWEST, LARGE * n_pixels)


def _sums(graph: Quotient, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(3, n) sums of the normals of all components, and (n,) the noise of the wanted ones."""
    pixels = graph.pixels
    step = sampling_step(pixels.n_edges)
    total, noise = normal_sums(pixels.map.normals, graph.labels, wanted, pixels.tail, pixels.head, step)
    return total, noise[0] / np.maximum(noise[1], 1)


@kernel
def _add_normals(normals, labels, wanted, tail, head, step, total, noise):
    """Add up in order, without copies of rows; see `normal_sums`. `total` and `noise` are zero on entry."""
    # The sums of a component are handed on as numbers while its pixels come in a row: to write them and read them again
    # would take longer than to add.
    now = np.uint32(0)
    x, y, z = 0.0, 0.0, 0.0
    for i in range(np.uint64(len(labels))):
        label = np.uint32(labels[i])
        if label != now:
            total[0, now], total[1, now], total[2, now] = x, y, z
            x, y, z, now = total[0, label], total[1, label], total[2, label], label
        x += normals[i, 0]
        y += normals[i, 1]
        z += normals[i, 2]
    total[0, now], total[1, now], total[2, now] = x, y, z
    now = np.uint32(0)
    scatter, count = 0.0, 0.0
    for e in range(0, len(tail), step):
        a, b = np.uint32(tail[e]), np.uint32(head[e])  # unsigned: Numba need not look for negative ones
        label = np.uint32(labels[a])
        if wanted[label] and np.uint32(labels[b]) == label:
            if label != now:
                noise[0, now], noise[1, now] = scatter, count
                scatter, count, now = noise[0, label], noise[1, label], label
            square = 0.0
            for axis in range(3):
                difference = normals[a, axis] - normals[b, axis]
                square += difference * difference
            scatter += 0.25 * square
            count += 1.0
    noise[0, now], noise[1, now] = scatter, count
