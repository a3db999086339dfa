"""The table of unseen scenes: how right a method is on random scenes and real views that it was not tuned on.

Every scene is integrated with exact normals and with each degradation, and parts of real views with exact normals. The
paper's preset is always among the rows, because one column counts how often a row is clearly worse than it. Each figure
comes with its standard error, found by drawing scenes with replacement: scenes of other seeds would give figures about that
far away.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from .. import scenes
from .cases import RANDOM, VIEW, Case
from .degrade import DEGRADATIONS
from .jobs import Job, Record
from .parts import PARTS
from .settings_text import setting
from .tables import Entry, Table

LIMIT = 4  # seeds of each kind, if the caller does not say how many
PAPER_ROW = "paper"
# label -> method and settings of a row
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "default": ("components", {}),
    "filled over all edges": ("components", {"filling": "induced"}),
    PAPER_ROW: ("components", {"preset": "paper"}),
}
_GOOD = 0.5  # per cent of depth: a scene below this counts as right
_WORSE, _NOTICED = 1.05, 0.005  # worse than the paper: by this factor, and by so many percentage points
_DRAWS = 400
_ALL = "all"
_REAL, _PART = "real", "part of a real view"


def unseen_cases(split: str, limit: int = LIMIT, folders: Iterable[str | Path] = ()) -> list[Case]:
    """Return the cases of the table: random scenes of a split and stored views with all degradations, and parts of views.

    Parameters
    ----------
    split : str
        One of `quotientgraph.scenes.SPLITS`.
    limit : int
        How many seeds of each kind of scene.
    folders : paths
        Folders with views as ``*.npz`` in them or in a folder ``real`` below. If none is named, the folder of the
        environment variable QUOTIENTGRAPH_DATA is searched.

    Returns
    -------
    list of Case

    Examples
    --------
    >>> len(unseen_cases("tune", limit=1)) >= len(scenes.KINDS) * len(DEGRADATIONS)
    True
    """
    names = [f"{RANDOM}{kind}?seed={seed}" for kind, seed in scenes.cases(split, limit)]
    places = list(folders) or list(filter(None, [os.environ.get("QUOTIENTGRAPH_DATA")]))
    for folder in map(Path, places):
        found = sorted((folder / "real").glob("*.npz")) or sorted(folder.glob("*.npz"))
        names += [f"{VIEW}{path.resolve()}?" for path in found]
    out = []
    for name in names:
        for label, text in DEGRADATIONS.items():
            source = f"{name}&{text}".replace("?&", "?").rstrip("?&")
            out.append(Case(f"{_stem(name)} {label}", source, "opencv"))
    parts = [(name, part) for name in names if name.startswith(VIEW) for part in PARTS]
    return out + [Case(f"{_stem(name)} {part}", f"{name}part={part}", "opencv") for name, part in parts]


def _stem(source: str) -> str:
    """The kind or the file that a source names."""
    return Path(source.partition(":")[2].partition("?")[0]).stem


def unseen_table(variants: dict[str, tuple[str, dict[str, Any]]] = VARIANTS) -> Table:
    """Return the table with a row for each variant; the paper's preset is added if it is not among them."""
    rows = {**variants, PAPER_ROW: VARIANTS[PAPER_ROW]}

    def jobs(cases: list[Case]) -> list[Job]:
        wanted = [case for case in cases if case.source.startswith((RANDOM, VIEW))]
        return [Job(case, method, settings) for case in wanted for method, settings in rows.values()]

    return Table(
        "Unseen scenes: relative depth error",
        jobs,
        lambda records: _entries(records, rows),
        "Errors in per cent of depth (orthographic: of its range), ± the standard error over scenes. Rows are compared best "
        "by the change against the paper's preset, which is found scene by scene. "
        f"Right: below {_GOOD} %. Worse: more than 5 % above the error of the paper's preset on the same normals.",
        needs_data=False,
    )


def variations(texts: Iterable[str], methods: Iterable[str] = ()) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return rows for an ablation: the default, one row for each text of settings, and one for each further method.

    Parameters
    ----------
    texts : texts
        ``NAME=VALUE``, or several of them joined by ``;``.
    methods : names
        Peers to show as rows of their own.

    Examples
    --------
    >>> variations(["angle=2;filling=induced"], ["bini"])["angle=2;filling=induced"]
    ('components', {'angle': 2, 'filling': 'induced'})
    """
    rows: dict[str, tuple[str, dict[str, Any]]] = {"default": VARIANTS["default"]}
    for text in texts:
        rows[text] = ("components", dict(setting(part) for part in text.split(";")))
    return {**rows, **{name: (name, {}) for name in methods if name != "components"}}


@dataclass(frozen=True)
class _Cell:
    """One measured error: which row, scene (with its kind) and degradation it belongs to; NaN if the method failed."""

    row: str
    scene: str
    kind: str
    degradation: str
    error: float


def _cells(records: Iterable[Record], rows: dict[str, tuple[str, dict[str, Any]]]) -> list[_Cell]:
    out = []
    names = {text: label for label, text in DEGRADATIONS.items()}
    for record in records:
        prefix, _, rest = record["case"]["source"].partition(":")
        name, _, query = rest.partition("?")
        options = dict(parse_qsl(query))
        seed, part = options.pop("seed", ""), options.pop("part", "")
        worse = names["&".join(f"{key}={value}" for key, value in options.items())]
        kind = name if f"{prefix}:" == RANDOM else _PART if part else _REAL
        error = record.get("relative_error") if record["status"] == "ok" else None
        label = next(k for k, (m, s) in rows.items() if m == record["method"] and s == record["settings"])
        value = np.nan if error is None else 100 * error
        # The parts of one view are not independent: they are drawn together for the standard error.
        out.append(_Cell(label, f"{Path(name).stem} {seed}".strip(), kind, part or worse, value))
    return out


def _entries(records: list[Record], rows: dict[str, tuple[str, dict[str, Any]]]) -> list[Entry]:
    cells = _cells(records, rows)
    real, parts = ([cell for cell in cells if cell.kind == kind] for kind in (_REAL, _PART))
    drawn = [cell for cell in cells if cell.kind not in (_REAL, _PART)]
    out = _blocks("random scenes", drawn, lambda cell: cell.degradation)
    kinds = list(dict.fromkeys(cell.kind for cell in drawn))
    if len(kinds) > 1:
        out += _blocks("random scenes by kind", drawn, lambda cell: cell.kind, ("mean",))
    out += _blocks("real views", real, lambda cell: cell.degradation)
    out += _blocks("parts of real views, exact normals", parts, lambda cell: cell.degradation)
    exact = [cell for cell in real if cell.degradation == "clean"]
    return out + [Entry("real views, exact normals: error, %", cell.row, cell.scene, cell.error) for cell in exact]


_STATISTICS: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], float]]] = {
    "mean": ("mean error, %", lambda error, paper: float(np.mean(error))),
    "change": (
        "mean change against the paper's preset, percentage points",
        lambda error, paper: float(np.mean(error - paper)),
    ),
    "median": ("median error, %", lambda error, paper: float(np.median(error))),
    "right": (f"right (below {_GOOD} %), % of scenes", lambda error, paper: 100 * float(np.mean(error < _GOOD))),
    "worse": (
        "worse than the paper's preset, % of scenes",
        lambda error, paper: 100 * float(np.mean(error > _WORSE * paper + _NOTICED)),
    ),
}


def _blocks(
    title: str, cells: list[_Cell], column: Callable[[_Cell], str], which: Iterable[str] = tuple(_STATISTICS)
) -> list[Entry]:
    """Return the statistics of each row and column, and of all columns together."""
    paper = {(cell.scene, cell.kind, cell.degradation): cell.error for cell in cells if cell.row == PAPER_ROW}
    rows = list(dict.fromkeys(cell.row for cell in cells))
    columns = list(dict.fromkeys(column(cell) for cell in cells))
    out = []
    for key in which:
        name, statistic = _STATISTICS[key]
        for row in rows:
            own = [cell for cell in cells if cell.row == row]
            for label in [*columns, _ALL]:
                chosen = [cell for cell in own if label in (_ALL, column(cell))]
                failed = sum(np.isnan(cell.error) for cell in chosen)
                sound = [cell for cell in chosen if not np.isnan(cell.error)]
                value, spread = _with_spread(sound, paper, statistic)
                words = f"{failed} failed" if failed else ""
                out.append(Entry(f"{title}: {name}", row, label, value, spread=spread, failed=words))
    return out


def _with_spread(
    cells: list[_Cell], paper: dict[tuple[str, str, str], float], statistic: Callable[[np.ndarray, np.ndarray], float]
) -> tuple[float | None, float | None]:
    """Return a statistic of the cells and its standard error, by drawing scenes with all their cells with replacement."""
    if not cells:
        return None, None
    error = np.array([cell.error for cell in cells])
    beside = np.array([paper.get((cell.scene, cell.kind, cell.degradation), np.nan) for cell in cells])
    _, scene = np.unique([f"{cell.kind} {cell.scene}" for cell in cells], return_inverse=True)
    value = statistic(error, beside)
    n = int(scene.max()) + 1
    if n < 2:
        return value, None
    members = [np.flatnonzero(scene == k) for k in range(n)]
    random = np.random.default_rng(0)
    again = []
    for _ in range(_DRAWS):
        use = np.concatenate([members[k] for k in random.integers(n, size=n)])
        again.append(statistic(error[use], beside[use]))
    return value, float(np.std(again))


UNSEEN_TABLE = unseen_table()
