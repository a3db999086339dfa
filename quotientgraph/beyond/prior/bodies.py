"""Bodies: components whose places against each other normals know though no border tells them, as those on a shared axis.

For a prior such a body is one surface. It shows the prior's smooth error, is placed as a whole, and is not taken apart by
errors of the prior that are larger than the body is deep. Its parts are what surely touches; one that the prior plainly
puts elsewhere leaves the body, and does so as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...graph.quotient import Quotient
from ...graph.selection import connected_components
from ...method.optimize import Shared


@dataclass(frozen=True, eq=False)
class Bodies:
    """The part and the body that each component belongs to; most components are a part and a body of their own.

    Attributes
    ----------
    part, body : (n_components,) integers
        Numbers that are equal within a part, or a body; that of the component itself if it is one.
    """

    part: np.ndarray
    body: np.ndarray

    @classmethod
    def of(cls, graph: Quotient, split: Quotient, shared: Shared | None) -> Bodies:
        """The bodies of a graph after some of its components were `split`; the largest piece of each stays in its body."""
        own = np.arange(split.n_components)
        if shared is None:
            return cls(own, own)
        whole = graph.labels[split.first_pixels]
        order = np.lexsort((split.sizes, whole))
        tied = np.zeros(len(own), dtype=np.bool_)
        tied[order[np.flatnonzero(np.diff(whole[order], append=-1))]] = True
        tied &= shared.body[whole] >= graph.n_components
        return cls(*(np.where(tied, len(own) + of[whole], own) for of in (shared.part, shared.body)))

    @property
    def tied(self) -> np.ndarray:
        """(n_components,) bool: whether a component belongs to a part or a body of several."""
        return self.body != np.arange(len(self.body))

    @cached_property
    def links(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of components that connect each body."""
        order = np.argsort(self.body, kind="stable")
        same = np.flatnonzero(np.diff(self.body[order]) == 0)
        return order[same], order[same + 1]

    @cached_property
    def number(self) -> np.ndarray:
        """(n_components,) part of each component, numbered from 0."""
        return np.unique(self.part, return_inverse=True)[1]

    def united(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """(n_components,) groups of components that pairs (n,) or bodies connect."""
        first, second = self.links
        return connected_components(len(self.body), np.append(one, first), np.append(other, second))

    def without(self, out: np.ndarray) -> Bodies:
        """The bodies after components (n_components,) bool, which are whole parts, have left theirs."""
        return replace(self, body=np.where(out, self.part, self.body)) if out[self.tied].any() else self

    def kept(self, shared: Shared | None, labels: np.ndarray) -> Shared | None:
        """What is left of what places parts, if pixels belong to components `labels`; None if there is nothing."""
        pairs = [] if shared is None else [pair for pair in shared.pairs if np.ptp(self.body[labels[list(pair)]]) == 0]
        return replace(shared, pairs=tuple(pairs)) if shared is not None and pairs else None


def surfaces(
    graph: Quotient, filled: np.ndarray, found: np.ndarray, shared: Shared | None
) -> tuple[np.ndarray, np.ndarray]:
    """(n_pixels,) a potential that is right within each surface, and the surface: a component, or a body of several.

    Parameters
    ----------
    graph : Quotient
    filled : (n_pixels,) float64
        Each component integrated on its own.
    found : (n_pixels,) float64
        The reconstruction from normals alone.
    shared : Shared, optional
        What places the parts of bodies.
    """
    return (filled, graph.labels) if shared is None else (found, shared.body[graph.labels])
