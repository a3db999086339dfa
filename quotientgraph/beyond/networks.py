"""Small networks with fixed weights that turn cues about two components into log-odds, and the cues that they are given.

A network is evaluated twice, with left and right exchanged, so that the result does not depend on which of the two
components is called left.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from laplacians.core.arrays import product

_FARTHEST = 4.0  # spreads of a cue beyond which more of it says no more


@dataclass(frozen=True, eq=False)
class Network:
    """A network of one hidden layer, fitted by `quotientgraph.bench.context_fit` or `plane_fit`.

    Attributes
    ----------
    mean, spread : (n_cues,) float64
        Of the cues that it was fitted on.
    inner : (n_cues + 1, n_hidden) float64
        Weights of the cues, and in the last row the constants.
    outer : (n_hidden + 1, 2) float64
        Weights of the hidden values for the two log-odds, and in the last row the constants.
    """

    mean: np.ndarray
    spread: np.ndarray
    inner: np.ndarray
    outer: np.ndarray

    def odds(self, cues: np.ndarray, turned: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Two log-odds (n_pieces,) from cues (n_pieces, n_cues) and the same cues with left and right exchanged.

        The first does not change when left and right are exchanged, the second changes its sign.
        """
        one, other = (self._half(self.scaled(x)) for x in (cues, turned))
        return 0.5 * (one[:, 0] + other[:, 0]), 0.5 * (one[:, 1] - other[:, 1])

    def scaled(self, cues: np.ndarray) -> np.ndarray:
        return np.clip((cues - self.mean) / self.spread, -_FARTHEST, _FARTHEST)

    def _half(self, x: np.ndarray) -> np.ndarray:
        hidden = product(x, self.inner[:-1])
        hidden += self.inner[-1]
        return product(np.tanh(hidden, out=hidden), self.outer[:-1]) + self.outer[-1]


def stored_networks(file: str) -> tuple[Network, ...]:
    """The networks in a file of this package."""
    text = (files(__package__) / file).read_text(encoding="utf-8")
    fields = "mean", "spread", "inner", "outer"
    return tuple(Network(*(np.array(stored[name]) for name in fields)) for stored in json.loads(text)["networks"])


class Cues:
    """Cues by name, as they are and with left and right exchanged."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.plain: list[np.ndarray] = []
        self.turned: list[np.ndarray] = []

    def even(self, name: str, cue: np.ndarray) -> None:
        self._add(name, cue, cue)

    def odd(self, name: str, cue: np.ndarray) -> None:
        self._add(name, cue, -cue)

    def both(self, name: str, left: np.ndarray, right: np.ndarray) -> None:
        self._add(f"{name}_left", left, right)
        self._add(f"{name}_right", right, left)

    def columns(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Two matrices (n, n_cues), as they are and with left and right exchanged."""
        none = np.empty((n, 0))
        return np.column_stack([none, *self.plain]), np.column_stack([none, *self.turned])

    def _add(self, name: str, plain: np.ndarray, turned: np.ndarray) -> None:
        self.names.append(name)
        self.plain.append(plain)
        self.turned.append(turned)
