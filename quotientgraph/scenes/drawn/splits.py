"""The division of seeds: which random scenes may be looked at, and which are kept back.

*tune*: look as much as you like; constants are fitted here. *validate*: look at means only; an addition to
the method earns its place here. *test*: run once at the end and report. The seeds are stated in `SPLITS`
alone. All splits have the same kinds.
"""

from __future__ import annotations

from collections.abc import Iterator

from .draw import KINDS

SPLITS: dict[str, range] = {
    "tune": range(0, 1000),
    "validate": range(1000, 2000),
    "test": range(2000, 3000),
}


def cases(split: str, per_kind: int = 12, kinds: tuple[str, ...] = KINDS) -> Iterator[tuple[str, int]]:
    """The cases of a split: pairs of kind and seed for `random`, seed by seed, so that a part has all kinds.

    Parameters
    ----------
    split : str
        One of `SPLITS`.
    per_kind : int
        How many seeds are taken, from the first of the split on.
    kinds : tuple of str

    Yields
    ------
    kind, seed : str, int

    Examples
    --------
    >>> list(cases("validate", 2, ("heap", "street")))
    [('heap', 1000), ('street', 1000), ('heap', 1001), ('street', 1001)]
    """
    if split not in SPLITS:
        raise ValueError(f"split={split!r} is not known; use one of {', '.join(SPLITS)}")
    seeds = SPLITS[split]
    if not 1 <= per_kind <= len(seeds):
        raise ValueError(f"per_kind={per_kind} must lie between 1 and {len(seeds)}, the seeds of {split!r}")
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(f"kinds: {kind!r} is not a kind of random scene; use some of {', '.join(KINDS)}")
    return ((kind, seed) for seed in seeds[:per_kind] for kind in kinds)
